# Drop-in, switched on and back while pgbench writes and a client reads one slot:
# no change is lost, none comes twice, and none is different.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use DropinServer;
use IPC::Run ();
use PgoutputExt;
use PostgreSQL::Test::Utils ();
use ReplicationClient;
use Test::More;

my $node = new_node('main', conf => "logical_decoding_work_mem = '64kB'");
my $dbh = $node->{dbh};
my ($connections, $transactions, $rounds) = (2, 1500, 8);

$dbh->do('CREATE TABLE t (a bigserial PRIMARY KEY, b text)');
$dbh->do('CREATE PUBLICATION pub FOR TABLE t');
$dbh->do('CREATE ROLE consumer LOGIN REPLICATION');
$dbh->do(q{SELECT pg_create_logical_replication_slot('s', 'pgoutput')});
$dbh->do(q{SELECT pg_copy_logical_replication_slot('s', 'whole', false)});

# What a slot has for the server's pgoutput, in hexadecimal digits, without the empty
# transactions that 14 sends.
sub rows_left
{
	my ($slot) = @_;
	my $result = read_slot($dbh, $slot, options => [ standard_options('pub') ]);
	return map { unpack 'H*', $_->[2] } without_empty(sub { $_[0][2] }, @{ $result->{rows} });
}

my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
PostgreSQL::Test::Utils::append_to_file($script, q{
\set n random(1, 100)
BEGIN;
INSERT INTO t (b) VALUES ('alone');
SAVEPOINT s;
INSERT INTO t (b) SELECT 'gone' FROM generate_series(1, :n);
ROLLBACK TO s;
INSERT INTO t (b) SELECT 'row ' || i FROM generate_series(1, 3) i;
SELECT currval('t_a_seq') AS last \gset
UPDATE t SET b = b || '!' WHERE a = :last;
COMMIT;
});
my $out = '';
my $load = IPC::Run::start(
	[ 'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-c', $connections, '-t', $transactions, '-f', $script, 'postgres' ],
	'<', \undef, '>&', \$out, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));

# Each connection reads some transactions, confirms the last, and leaves in order.
# Meanwhile the role's setting changes, for the next.
my (@messages, %with);
my $left = $connections * $transactions;

for (my $round = 0; $left > 0; $round++)
{
	my $client = ReplicationClient->new($node, user => 'consumer');
	my $library = $round % 2 ? 'pgoutput_ext' : 'pgoutput';
	my $last;

	$client->start('s', proto_version => 1, publication_names => 'pub');
	is(process_libraries($client->pid), $library, "round $round: read by $library");
	$dbh->do($round % 2
		? 'ALTER ROLE consumer RESET dynamic_library_path'
		: "ALTER ROLE consumer SET dynamic_library_path = '" . dropin_path() . q{'});
	my $count = int($connections * $transactions / $rounds) + 1;
	$count = $left if $count > $left;
	while ($count > 0)
	{
		my @transaction = without_empty(sub { $_[0]{data} }, $client->read_until(sub { $last = $_[0]; $_[0]{data} =~ /^C/ })) or next;
		push @messages, @transaction;
		$count--;
		$left--;
		$with{$library}++;
	}
	$client->reply($last->{lsn});
	$client->stop;
	$client->close;
	$node->poll_query_until('postgres', q{SELECT NOT active FROM pg_replication_slots WHERE slot_name = 's'})
	  or die "the slot stays in use\n";
}
$load->finish;
is($load->result(0), 0, 'pgbench wrote all') or diag($out);

# All of it once more, at once, by the server's pgoutput. A connection is told
# relations anew; all else is the same.
my @want = grep { !/^52/ } rows_left('whole');
my @got = grep { !/^52/ } map { unpack 'H*', $_->{data} } @messages;
cmp_ok(scalar @want, '==', $connections * $transactions * 7, 'each transaction is Begin, four inserts, an update, Commit');
is(scalar @got, scalar @want, 'no message is missing, none is there twice');
my ($different) = grep { ($got[$_] // '') ne $want[$_] } 0 .. $#want;
is($different, undef, 'each message is the same');
cmp_ok($with{$_}, '>', $transactions / 2, "$_ read a good part") foreach qw(pgoutput pgoutput_ext);

# And nothing is left.
is_deeply([ rows_left('s') ], [], 'the slot is read to its end');

$dbh->disconnect;
$node->stop;
done_testing();
