# What the tests of examples/ share: an example keeps a copy of a table, is killed
# and started again, loses its connection, and has the table in the end.

package ExampleTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run ();
use PgoutputExt;
use PostgreSQL::Test::Utils ();
use Test::More;

our @EXPORT = qw(example_keeps_copy);

# Tests the example started by command; contents is a function that returns the
# copy's rows, each "a|b|n|long" with "(null)" for NULL, in any order.
sub example_keeps_copy
{
	my ($node, $command, $contents) = @_;
	my $dbh = $node->{dbh};
	my ($run, $out);

	$dbh->do('CREATE TABLE account (a int PRIMARY KEY, b text, n numeric, long text)');
	$dbh->do('ALTER TABLE account ALTER long SET STORAGE EXTERNAL');
	$dbh->do('CREATE PUBLICATION account FOR TABLE account');
	$dbh->do(q{SELECT pg_create_logical_replication_slot('account', 'pgoutput_ext')});

	my $start = sub {
		$out = '';
		$run = IPC::Run::start($command, '<', \undef, '>&', \$out);
		$node->poll_query_until('postgres', q{SELECT active FROM pg_replication_slots WHERE slot_name = 'account'})
		  or die "the example does not read: $out\n";
	};
	my $stop = sub {
		my ($signal) = @_;
		$run->signal($signal);
		eval { $run->finish };
		$node->poll_query_until('postgres', q{SELECT NOT active FROM pg_replication_slots WHERE slot_name = 'account'})
		  or die "the slot stays in use\n";
	};

	$start->();
	foreach my $round (1 .. 3)
	{
		some_changes($dbh, $round);
		# killed wherever it is; what it does not confirm comes again
		$stop->('KILL');
		$start->();
	}
	some_changes($dbh, 4);
	$dbh->do(q{SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = 'account'});
	eval { $run->finish };
	isnt($run->result(0), 0, 'without its connection it ends with an error');
	$start->();
	$dbh->do('TRUNCATE account');
	some_changes($dbh, 5);

	my $before = $dbh->selectrow_array('SELECT pg_current_wal_insert_lsn()');
	$dbh->do(q{INSERT INTO account VALUES (0, 'the last', 0)});
	$node->poll_query_until('postgres',
		"SELECT confirmed_flush_lsn > '$before' FROM pg_replication_slots WHERE slot_name = 'account'")
	  or die "the example does not confirm: $out\n";
	$stop->('TERM');
	is($run->result(0), 0, 'it ends in order');

	my $expected = $dbh->selectcol_arrayref(
		q{SELECT concat_ws('|', a, coalesce(b, '(null)'), coalesce(n::text, '(null)'), coalesce(long, '(null)')) FROM account});
	is_deeply([ sort @{ $contents->() } ], [ sort @$expected ], 'the copy is what the table is');
	cmp_ok(scalar @$expected, '>', 20, 'which has rows');
	return;
}

sub some_changes
{
	my ($dbh, $round) = @_;
	my $from = $round * 1000;

	$dbh->do("INSERT INTO account SELECT i, 'row ' || i, i / 8.0, repeat('long ' || i, 500) FROM generate_series($from, $from + 49) i");
	foreach my $a ($from .. $from + 9)
	{
		$dbh->do("UPDATE account SET b = b || '!' WHERE a = $a");
	}
	$dbh->do("UPDATE account SET a = a + 500 WHERE a = $from + 20");
	$dbh->do("UPDATE account SET b = NULL, n = 'NaN' WHERE a = $from + 21");
	$dbh->do("UPDATE account SET long = NULL WHERE a = $from + 22");
	$dbh->do("DELETE FROM account WHERE a BETWEEN $from + 30 AND $from + 39");
	return;
}

1;
