# examples/copy_table.mjs keeps a copy of a table through crashes and lost connections.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientTest;
use ExampleTest;
use JSON::PP ();
use PgoutputExt;
use PostgreSQL::Test::Utils ();
use Test::More;

local $ENV{NODE_PACKAGES} = node_package('pg-logical-replication');

my $node = new_node('main');
my $copy = PostgreSQL::Test::Utils::tempdir() . '/copy.json';
my $user = getpwuid $<;
my $url = sprintf 'postgresql://%s@%s:%d/postgres', $user, $node->host =~ s{([^A-Za-z0-9])}{sprintf '%%%02x', ord $1}ger, $node->port;

example_keeps_copy($node,
	[ 'node', "$FindBin::RealBin/../examples/copy_table.mjs", $url, $copy, 'account' ],
	sub {
		my $stored = JSON::PP::decode_json(PgoutputExt::read_text($copy));
		return [ map { my $row = $_->[1]; join '|', map { $row->{$_} // '(null)' } qw(a b n long) } @{ $stored->{rows} } ];
	});
$node->{dbh}->disconnect;
$node->stop;
done_testing();
