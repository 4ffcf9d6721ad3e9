# psycopg 3 over one WAL, by libpq's functions and in SQL: the same messages through the server's
# pgoutput, through a slot of pgoutput_ext, and through one of pgoutput that the role has from us.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientTest;
use PgoutputExt;
use Test::More;

my $python = '/usr/bin/python3';
skip_unless_program('psycopg 3', $python, '-c', 'import psycopg');

my $node = client_node('main');

workload($node->{dbh});
my @program = ($python, "$FindBin::RealBin/clients/psycopg3_client.py");
foreach my $set (own_options())
{
	my ($name, $options) = @$set;
	my $lines = compare_client($node, \@program, $name, $options);
	is_deeply([ missing_types($options, map { chr hex substr((split / /)[2], 0, 2) } @$lines) ], [], "$name: every kind of message");
}
my $lines = compare_client($node, \@program, 'own options',
	{ proto_version => 1, publication_names => 'pub,via', unchanged_toast => 'fill', relation_metadata => 'on' },
	ours => 1);
ok((grep { / 4d/ } @$lines), 'own options: they have an effect');

# By the SQL functions it is the session's process that decodes.
@program = ($python, "$FindBin::RealBin/clients/psycopg3_sql.py");
foreach my $set ((own_options())[1, -1])
{
	my ($name, $options) = @$set;
	compare_client($node, \@program, "SQL, $name", $options);
}
$node->{dbh}->disconnect;
$node->stop;
done_testing();
