# The JDBC driver over one WAL: the same messages through the server's pgoutput, through a slot of
# pgoutput_ext, and through one of pgoutput that the role has from us.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientTest;
use PgoutputExt;
use Test::More;

my $driver = '/usr/share/java/postgresql.jar';
skip_unless_program('a JDK, 17 or newer', 'javac', '--release', '17', '-version');
plan skip_all => 'the JDBC driver (libpostgresql-jdbc-java) is not installed' unless -e $driver;

my $classes = PostgreSQL::Test::Utils::tempdir();
is(system('javac', '-nowarn', '-cp', $driver, '-d', $classes, glob "$FindBin::RealBin/clients/*.java"), 0, 'the client compiles');

my $node = client_node('main');
my @program = ($^X, "$FindBin::RealBin/clients/jdbc_client.pl", "$classes:$driver");

workload($node->{dbh});
foreach my $set (own_options())
{
	my ($name, $options) = @$set;
	my $lines = compare_client($node, \@program, $name, $options);
	is_deeply([ missing_types($options, map { chr hex substr((split / /)[1], 0, 2) } @$lines) ], [], "$name: every kind of message");
}
my $lines = compare_client($node, \@program, 'own options',
	{ proto_version => 1, publication_names => 'pub,via', unchanged_toast => 'fill', relation_metadata => 'on' },
	ours => 1);
ok((grep { / 4d/ } @$lines), 'own options: they have an effect');

$node->{dbh}->disconnect;
$node->stop;
done_testing();
