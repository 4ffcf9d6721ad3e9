# Starts JdbcClient.java, which reads no JSON: the class path, then what t/ClientTest.pm says.

use strict;
use warnings;

use JSON::PP ();

my ($path, $spec) = ($ARGV[0], JSON::PP::decode_json($ARGV[1]));
exec 'java', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', $path, 'JdbcClient',
  "$spec->{host}/.s.PGSQL.$spec->{port}", @$spec{qw(user dbname slot end)}, %{ $spec->{options} };
