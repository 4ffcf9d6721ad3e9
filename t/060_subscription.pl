# A subscription on a slot of pgoutput_ext: whatever it asks for, the subscriber's
# tables become equal to the publisher's, through crashes and lost connections,
# with no row missing and none twice.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgoutputExt;
use Test::More;

my $publisher = new_node('publisher', conf => "logical_decoding_work_mem = '64kB'");
my $subscriber = new_node('subscriber', conf => q{
max_logical_replication_workers = 12
max_sync_workers_per_subscription = 4
wal_retrieve_retry_interval = '100ms'
});
my $source = $publisher->{dbh};
my $target = $subscriber->{dbh};

# keyless has no identity: a row that arrives twice is there twice.
my @tables = qw(plain toasted part keyless whole);
my $schema = q{
	CREATE TABLE plain (a int PRIMARY KEY, t text, n numeric, at timestamptz, j jsonb, f float8, b bool);
	CREATE TABLE toasted (a int PRIMARY KEY, long text, short int);
	ALTER TABLE toasted ALTER long SET STORAGE EXTERNAL;
	CREATE TABLE part (a int, b text, PRIMARY KEY (a)) PARTITION BY RANGE (a);
	CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (MINVALUE) TO (1000);
	CREATE TABLE part_high (b text, a int NOT NULL);
	ALTER TABLE part ATTACH PARTITION part_high FOR VALUES FROM (1000) TO (MAXVALUE);
	CREATE TABLE keyless (n int, t text);
	CREATE TABLE whole (a int, b text, c uuid);
	ALTER TABLE whole REPLICA IDENTITY FULL;
};

foreach my $dbh ($source, $target)
{
	$dbh->do($schema);
}
$source->do('CREATE PUBLICATION pub FOR TABLE ' . join ', ', @tables);

# All rows of all tables, as sorted text.
sub contents
{
	my ($dbh) = @_;
	return { map {
		$_ => $dbh->selectcol_arrayref("SELECT r::text FROM $_ AS r ORDER BY 1")
	} @tables, 'part_low', 'part_high' };
}

# Compares all tables when the subscriber has caught up.
sub same_contents
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$publisher->wait_for_catchup('sub');
	my ($expected, $got) = map { contents($_) } $source, $target;
	my @different = grep { "@{ $expected->{$_} }" ne "@{ $got->{$_} }" } sort keys %$expected;
	is("@different", '', $name)
	  or diag map { sprintf "%s: publisher %d, subscriber %d rows\n", $_, map { scalar @{ $_->{ $different[0] } } } $expected, $got } $different[0];
	return;
}

# Makes a subscription "sub" on a new slot "slot".
sub subscribe
{
	my (%with) = @_;
	my $options = join ', ', "slot_name = 'slot'", 'create_slot = false',
	  map { "$_ = $with{$_}" } grep { $_ ne 'two_phase' || server_major() >= 15 } sort keys %with;

	$source->do(q{SELECT pg_create_logical_replication_slot('slot', ?)}, undef, plugin_name());
	$target->do(sprintf q{CREATE SUBSCRIPTION sub CONNECTION %s PUBLICATION pub WITH (%s)},
		$target->quote($publisher->connstr('postgres')), $options);
	return;
}

sub unsubscribe
{
	$target->do('DROP SUBSCRIPTION sub');
	is($source->selectrow_array('SELECT count(*) FROM pg_replication_slots'), 0, 'the slot is dropped with it');
	foreach my $dbh ($source, $target)
	{
		$dbh->do('TRUNCATE ' . join ', ', @tables);
	}
	return;
}

sub wait_until_ready
{
	$subscriber->poll_query_until('postgres',
		q{SELECT count(*) > 0 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel})
	  or die "the tables are not ready\n";
	return;
}

# Transactions of every form; the rows are different for each round.
sub workload
{
	my ($round, %with) = @_;
	my ($from, $to) = ($round * 10_000, $round * 10_000 + 2999);

	$source->do("INSERT INTO plain SELECT i, 'text ' || i, i / 7.0, '2001-01-01 UTC'::timestamptz + i * interval '1 s',
		jsonb_build_object('key', i), i / 3.0, i % 2 = 0 FROM generate_series($from + 5000, $from + 5009) i");
	$source->do("INSERT INTO plain VALUES ($from + 5010)");
	$source->do("INSERT INTO keyless SELECT i, 'single' FROM generate_series($from, $from + 9) i");

	# a large transaction with savepoints, one of them rolled back, one released
	$source->begin_work;
	$source->do("INSERT INTO plain (a, t) SELECT i, repeat('x', i % 50) FROM generate_series($from, $to) i");
	$source->do('SAVEPOINT gone');
	$source->do("INSERT INTO keyless SELECT i, 'rolled back' FROM generate_series($from, $to) i");
	$source->do("DELETE FROM plain WHERE a BETWEEN $from AND $to");
	$source->do('ROLLBACK TO gone');
	$source->do('SAVEPOINT kept');
	$source->do("INSERT INTO keyless SELECT i, 'large' FROM generate_series($from, $to) i");
	$source->do("UPDATE plain SET t = 'changed', n = 'NaN' WHERE a BETWEEN $from AND $from + 500");
	$source->do('RELEASE kept');
	$source->do("DELETE FROM plain WHERE a BETWEEN $from AND $from + 100");
	$source->commit;

	# one that is rolled back altogether
	$source->begin_work;
	$source->do("INSERT INTO keyless SELECT i, 'rolled back' FROM generate_series($from, $to) i");
	$source->rollback;

	# values out of line, kept in updates of other columns and of the key
	$source->do("INSERT INTO toasted SELECT i, repeat(md5(i::text), 300), 0 FROM generate_series($from, $from + 19) i");
	$source->do("UPDATE toasted SET short = short + 1 WHERE a < $from + 10");
	$source->do("UPDATE toasted SET a = a + 100 WHERE a = $from");
	$source->do("UPDATE toasted SET long = 'now short' WHERE a = $from + 1");

	# partitions, with rows that move
	$source->do("INSERT INTO part SELECT $round * 10 + i, 'low' FROM generate_series(0, 9) i");
	$source->do("UPDATE part SET a = a + 1000 * ($round + 1) WHERE a = $round * 10 + 3");
	$source->do("DELETE FROM part WHERE a = $round * 10 + 4");

	$source->do("INSERT INTO whole SELECT i % 5, 'row ' || i, md5(i::text)::uuid FROM generate_series($from, $from + 20) i");
	$source->do('UPDATE whole SET b = NULL WHERE a = 2');
	$source->do('DELETE FROM whole WHERE a = 3');

	prepared_transactions($from, $with{two_phase} eq 'on');
	return;
}

# Prepared transactions, small and large.  With two_phase the subscriber has
# prepared them, too, before their end.
sub prepared_transactions
{
	my ($from, $two_phase) = @_;
	my $number = 0;

	foreach my $rows (5, 3000)
	{
		foreach my $end ('COMMIT', 'ROLLBACK')
		{
			my $gid = "$end $rows";
			my $a = $from + 6000 + 100 * $number++;

			$source->do('BEGIN');
			$source->do("INSERT INTO plain (a, t) VALUES ($a, '$gid')");
			$source->do("INSERT INTO keyless SELECT i, 'prepared' FROM generate_series(1, $rows) i");
			$source->do("PREPARE TRANSACTION '$gid'");
			$publisher->wait_for_catchup('sub');
			my $prepared = $target->selectrow_array('SELECT count(*) FROM pg_prepared_xacts');
			is($prepared, $two_phase ? 1 : 0, "prepared on the subscriber: $prepared ($rows rows)");
			$source->do("$end PREPARED '$gid'");
		}
	}
	return;
}

# ---- what a subscription can ask for --------------------------------------------

my @cases = (
	{ streaming => 'off', two_phase => 'off', copy_data => 'true', binary => 'false' },
	{ streaming => 'on', two_phase => 'off', copy_data => 'false', binary => 'true' });
# 14 has no two_phase
push @cases, { streaming => 'on', two_phase => 'on', copy_data => 'true', binary => 'false' }
  if server_major() >= 15;
push @cases, { streaming => 'parallel', two_phase => 'on', copy_data => 'false', binary => 'false' }
  if server_major() >= 16;

foreach my $with (@cases)
{
	my $name = join ', ', map { "$_ $with->{$_}" } grep { $_ ne 'copy_data' } sort keys %$with;
	my $copy = $with->{copy_data} eq 'true';

	$source->do(q{INSERT INTO plain (a, t) VALUES (1, 'copied'); INSERT INTO keyless VALUES (1, 'copied')}) if $copy;
	subscribe(%$with);
	wait_until_ready();
	if ($with->{two_phase} eq 'on')
	{
		$subscriber->poll_query_until('postgres', q{SELECT subtwophasestate = 'e' FROM pg_subscription})
		  or die "two_phase is not enabled\n";
	}
	ok($publisher->poll_query_until('postgres', sprintf
			q{SELECT active AND plugin = '%s' FROM pg_replication_slots WHERE slot_name = 'slot'}, plugin_name()),
		"$name: it uses the slot");
	workload(1, %$with);
	same_contents("$name: same contents");
	if ($with->{streaming} ne 'off')
	{
		ok($publisher->poll_query_until('postgres',
				q{SELECT stream_txns > 0 FROM pg_stat_replication_slots WHERE slot_name = 'slot'}),
			"$name: transactions were streamed");
	}
	unsubscribe();
}

# ---- connected later --------------------------------------------------------------

$source->do(q{SELECT pg_create_logical_replication_slot('slot', ?)}, undef, plugin_name());
{
	local $target->{PrintWarn} = 0;
	$target->do(sprintf q{CREATE SUBSCRIPTION sub CONNECTION %s PUBLICATION pub WITH (connect = false)},
		$target->quote($publisher->connstr('postgres')));
}
$target->do(q{ALTER SUBSCRIPTION sub SET (slot_name = 'slot', streaming = on)});
$target->do('ALTER SUBSCRIPTION sub ENABLE');
$target->do('ALTER SUBSCRIPTION sub REFRESH PUBLICATION WITH (copy_data = false)');
wait_until_ready();
# Not before: a worker that starts ahead of the refresh knows no relation yet, and
# passes over what it is sent.
$source->do(q{INSERT INTO keyless VALUES (1, 'after the refresh')});
workload(1, two_phase => 'off');
same_contents('connected later: same contents');
unsubscribe();

# ---- crashes ----------------------------------------------------------------------

# The publisher crashes, loses its walsender, and the subscriber crashes, each with
# transactions on their way.  (A subscriber that does not wait for its own commits
# to be on disk can lose some in a crash, with pgoutput too: a restarted worker
# confirms what the one before it has applied, on disk or not.)
subscribe(streaming => 'on', copy_data => 'false', synchronous_commit => 'on');
wait_until_ready();
my $written = 0;

sub write_some
{
	my ($count) = @_;
	foreach (1 .. $count)
	{
		my $from = $written++ * 1000;
		my $size = $written % 5 == 0 ? 999 : 4;
		$source->begin_work;
		$source->do("INSERT INTO plain (a, t) SELECT i, 'crash $written' FROM generate_series($from, $from + $size) i");
		$source->do("INSERT INTO keyless SELECT i, 'crash' FROM generate_series($from, $from + $size) i");
		$source->commit;
	}
	return;
}

foreach my $round (1 .. 3)
{
	write_some(12);
	$source->disconnect;
	$publisher->stop('immediate');
	$publisher->start;
	$source = $publisher->{dbh} = connect_db($publisher);

	write_some(12);
	$source->do('SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active');
	write_some(12);
	$source->do('CHECKPOINT');

	$target->disconnect;
	$subscriber->stop('immediate');
	$subscriber->start;
	$target = $subscriber->{dbh} = connect_db($subscriber);
}
write_some(1);
same_contents('crashes and lost connections: same contents');
is($target->selectrow_array('SELECT count(*) FROM keyless'), $source->selectrow_array('SELECT count(*) FROM plain'),
	'no row is missing, and none is there twice');

# The subscription leaves with its slot, as any other does.
unsubscribe();
$source->disconnect;
$target->disconnect;
$subscriber->stop;
$publisher->stop;
done_testing();
