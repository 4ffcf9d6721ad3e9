# A subscription made with its defaults - it makes its slot, copies the tables, and
# syncs each - by a role that has pgoutput from us, while pgbench writes: savepoints,
# prepared transactions, DDL, TRUNCATE.  In the end the tables are equal.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientTest;
use DropinServer;
use IPC::Run ();
use PgoutputExt;
use PostgreSQL::Test::Utils ();
use Test::More;

my $publisher = new_node('publisher', conf => "logical_decoding_work_mem = '64kB'");
my $subscriber = new_node('subscriber', conf => q{
max_logical_replication_workers = 12
max_sync_workers_per_subscription = 3
wal_retrieve_retry_interval = '100ms'
});
my ($source, $target) = map { $_->{dbh} } $publisher, $subscriber;
my @tables = qw(counter toasted keyless whole scrap grown part);

# keyless has no identity: a row that arrives twice is there twice.
foreach my $dbh ($source, $target)
{
	$dbh->do(q{
		CREATE TABLE counter (a int PRIMARY KEY, n bigint, at timestamptz, x numeric);
		CREATE TABLE toasted (a int PRIMARY KEY, long text, n int);
		ALTER TABLE toasted ALTER long SET STORAGE EXTERNAL;
		CREATE TABLE keyless (a int, t text);
		CREATE TABLE whole (a int, b text);
		ALTER TABLE whole REPLICA IDENTITY FULL;
		CREATE TABLE scrap (a int, t text);
		CREATE TABLE grown (a int PRIMARY KEY, t text);
		CREATE TABLE part (a int PRIMARY KEY, t text) PARTITION BY HASH (a);
		CREATE TABLE part_0 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 0);
		CREATE TABLE part_1 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	});
}
$source->do('CREATE PUBLICATION pub FOR TABLE ' . join ', ', @tables);
$source->do('CREATE ROLE dropin LOGIN REPLICATION');
$source->do("ALTER ROLE dropin SET dynamic_library_path = '" . dropin_path() . q{'});
$source->do('GRANT SELECT ON ALL TABLES IN SCHEMA public TO dropin');

my %scripts = (
	rows => q{
\set a random(1, 50)
UPDATE counter SET n = n + 1, at = now(), x = x * 1.01 WHERE a = :a;
UPDATE toasted SET n = n + 1 WHERE a = :a;
INSERT INTO keyless VALUES (:a, 'row');
UPDATE whole SET b = 'row ' || :a WHERE a = :a;
UPDATE part SET t = t || 'x' WHERE a = :a;
},
	savepoints => q{
\set a random(1, 50)
BEGIN;
INSERT INTO keyless SELECT i, 'before' FROM generate_series(1, 20) i;
SAVEPOINT one;
INSERT INTO keyless SELECT i, 'rolled back' FROM generate_series(1, 600) i;
UPDATE counter SET n = -1 WHERE a = :a;
ROLLBACK TO one;
SAVEPOINT two;
INSERT INTO keyless SELECT i, 'large, in a savepoint' FROM generate_series(1, 600) i;
UPDATE toasted SET long = repeat(md5(:a::text), 200) WHERE a = :a;
RELEASE two;
COMMIT;
},
	prepared => q{
\set a random(1, 50)
\set id random(1, 1000000000000)
BEGIN;
INSERT INTO keyless VALUES (:a, 'prepared');
UPDATE counter SET n = n + 100 WHERE a = :a;
PREPARE TRANSACTION 'one-:client_id-:id';
COMMIT PREPARED 'one-:client_id-:id';
BEGIN;
INSERT INTO keyless SELECT i, 'prepared and rolled back' FROM generate_series(1, 700) i;
PREPARE TRANSACTION 'two-:client_id-:id';
ROLLBACK PREPARED 'two-:client_id-:id';
},
	truncate => q{
\set a random(1, 50)
BEGIN;
TRUNCATE scrap;
INSERT INTO scrap VALUES (:a, 'after TRUNCATE');
COMMIT;
INSERT INTO scrap VALUES (:a, 'alone');
});
my $dir = PostgreSQL::Test::Utils::tempdir();
foreach my $name (keys %scripts)
{
	PostgreSQL::Test::Utils::append_to_file("$dir/$name.sql", $scripts{$name});
}

# All rows of all tables, as sorted text.
sub contents
{
	my ($dbh) = @_;
	return { map { $_ => $dbh->selectcol_arrayref("SELECT r::text FROM $_ AS r ORDER BY 1") } @tables };
}

# Starts the load: so many transactions of each of two connections.
sub start_load
{
	my ($count) = @_;
	my $out = '';
	my $run = IPC::Run::start(
		[   'pgbench', '-n', '-h', $publisher->host, '-p', $publisher->port, '-c', 2, '-t', $count, '--random-seed', 20261201,
			'-f', "$dir/rows.sql\@4", '-f', "$dir/savepoints.sql\@2", '-f', "$dir/prepared.sql\@2",
			'-f', "$dir/truncate.sql\@1", 'postgres' ],
		'<', \undef, '>&', \$out, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return sub {
		$run->finish;
		return is($run->result(0), 0, 'pgbench wrote all') || diag($out);
	};
}

# DDL while the load goes on.  What subscribers need they have first.
my $columns = 0;

sub some_ddl
{
	foreach (1 .. 4)
	{
		my $column = 'c' . ++$columns;
		$_->do("ALTER TABLE grown ADD $column int DEFAULT $columns") foreach $target, $source;
		$source->do("INSERT INTO grown SELECT 1000 * $columns + i, 'grown' FROM generate_series(1, 20) i");
		$source->do("UPDATE grown SET $column = 0 WHERE a % 7 = 0");
		$source->do('VACUUM FULL grown');
		$source->do("CREATE TABLE other_$columns AS SELECT * FROM grown");
		$source->do("DROP TABLE other_$columns");
		$source->do("ALTER TABLE part DETACH PARTITION part_0");
		$source->do("ALTER TABLE part ATTACH PARTITION part_0 FOR VALUES WITH (MODULUS 2, REMAINDER 0)");
	}
	return;
}

my @cases = ({}, { streaming => 'on', binary => 'true' });
push @cases, { streaming => 'on', two_phase => 'true' } if server_major() >= 15;
push @cases, { streaming => 'parallel', two_phase => 'true', origin => 'none' } if server_major() >= 16;

foreach my $with (@cases)
{
	my $options = join ', ', map { "$_ = $with->{$_}" } sort keys %$with;
	my $name = $options || 'defaults';

	$source->do('TRUNCATE ' . join ', ', @tables);
	$target->do('TRUNCATE ' . join ', ', @tables);
	$source->do(q{INSERT INTO counter SELECT i, 0, now(), 1 FROM generate_series(1, 50) i});
	$source->do(q{INSERT INTO toasted SELECT i, repeat(md5(i::text), 200), 0 FROM generate_series(1, 50) i});
	$source->do(q{INSERT INTO whole SELECT i, NULL FROM generate_series(1, 50) i});
	$source->do(q{INSERT INTO part SELECT i, '' FROM generate_series(1, 50) i});

	my $wait_for_load = start_load(150);
	{
		local $target->{PrintWarn} = 0;
		$target->do(sprintf 'CREATE SUBSCRIPTION sub CONNECTION %s PUBLICATION pub %s',
			$target->quote($publisher->connstr('postgres') . ' user=dropin'), $options ? "WITH ($options)" : '');
	}
	some_ddl();
	$subscriber->poll_query_until('postgres',
		q{SELECT count(*) > 0 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel})
	  or die "the tables are not ready\n";
	some_ddl();
	$wait_for_load->();
	if ($with->{two_phase})
	{
		$subscriber->poll_query_until('postgres', q{SELECT subtwophasestate = 'e' FROM pg_subscription})
		  or die "two_phase is not enabled\n";
		start_load(30)->();
	}
	$publisher->wait_for_catchup('sub');
	is($source->selectrow_array(q{SELECT plugin FROM pg_replication_slots}), 'pgoutput', "$name: one slot, of pgoutput");
	is(libraries($publisher, 'sub'), 'pgoutput_ext', "$name: decoded by pgoutput_ext");

	my ($expected, $got) = map { contents($_) } $source, $target;
	foreach my $table (@tables)
	{
		cmp_ok(scalar @{ $expected->{$table} }, '>', 0, "$name: $table has rows");
		is(ClientTest::first_difference($expected->{$table}, $got->{$table}), '', "$name: $table is equal");
	}
	$target->do('DROP SUBSCRIPTION sub');
}
is($source->selectrow_array('SELECT count(*) FROM pg_replication_slots'), 0, 'no slot is left');

$_->disconnect foreach $source, $target;
$subscriber->stop;
$publisher->stop;
done_testing();
