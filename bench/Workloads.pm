package Workloads;

# The benchmark's workloads.  bench/run uses them: for each it makes a database,
# runs `setup`, creates the slots, runs `wal` and decodes what that wrote.
#
#   name      as --workloads takes it
#   title     as the tables show it
#   setup     SQL before the slots exist; makes publication "bench"
#   wal       SQL whose WAL is decoded
#   options   pgoutput's options, beside proto_version and publication_names
#   settings  the decoding process's settings
#   target    [plugin time, walsender CPU] to reach, relative to pgoutput
#   decode    { major => CPU to reach with messages discarded, null included }
#
# Both SQL texts come from a function that is given the scale (1 is full size)
# and the number of relations for those that are about relations.

use strict;
use warnings;

# Run statement, with %d as the first row's number of each batch, in
# transactions of $batch rows.
sub batches
{
	my ($rows, $batch, $statement) = @_;
	$batch = $rows if $batch > $rows;
	my $count = int($rows / $batch) || 1;
	return <<"EOS";
DO \$bench\$
DECLARE lo int;
BEGIN
	FOR batch IN 0 .. $count - 1 LOOP
		lo := batch * $batch;
		$statement;
		COMMIT;
	END LOOP;
END \$bench\$;
EOS
}

# One of these for every number of a batch: series($batch) is its FROM.
sub series
{
	my ($rows, $batch) = @_;
	$batch = $rows if $batch > $rows;
	return "generate_series(lo + 1, lo + $batch) i";
}

sub inserts
{
	my ($rows, $batch, $table, $expressions) = @_;
	return batches($rows, $batch,
		"INSERT INTO $table SELECT $expressions FROM " . series($rows, $batch));
}

my @wide = (
	[ 'int', 'i' ],
	[ 'int', 'i * 7' ],
	[ 'int', 'CASE WHEN i % 10 = 0 THEN NULL ELSE i % 1000 END' ],
	[ 'int', '-i' ],
	[ 'bigint', 'i::bigint * 1000003' ],
	[ 'bigint', 'i::bigint' ],
	[ 'bigint', '-i::bigint * 77777' ],
	[ 'smallint', '(i % 30000)::smallint' ],
	[ 'numeric(12,2)', '(i % 1000000) * 1.37' ],
	[ 'numeric(20,6)', 'i * 3.141593' ],
	[ 'numeric', '(i * 12345.678901)::numeric' ],
	[ 'text', 'md5(i::text)' ],
	[ 'text', q{'row number ' || i || ' of a table with thirty columns'} ],
	[ 'varchar(40)', q{'varchar ' || i} ],
	[ 'varchar(80)', q{'customer-' || i % 5000 || '@example.com'} ],
	[ 'char(8)', q{to_char(i % 100000000, 'FM00000000')} ],
	[ 'timestamptz', q{timestamptz '2024-01-01 00:00:00+00' + i * interval '1.234567 s'} ],
	[ 'timestamptz', q{timestamptz '2020-02-29 12:00:00+00' + i * interval '61 s'} ],
	[ 'timestamp', q{timestamp '2024-01-01 00:00:00' + i * interval '1.5 s'} ],
	[ 'timestamp', q{timestamp '1999-12-31 23:59:59' + i * interval '1 min'} ],
	[ 'date', q{date '2000-01-01' + i % 20000} ],
	[ 'bool', 'i % 2 = 0' ],
	[ 'bool', 'i % 3 = 0' ],
	[ 'uuid', 'md5(i::text)::uuid' ],
	[ 'uuid', q{md5('b' || i)::uuid} ],
	[ 'jsonb', q{jsonb_build_object('id', i, 'name', 'item ' || i, 'tags', jsonb_build_array('a', 'b', i % 10), 'ok', i % 2 = 0)} ],
	[ 'float8', 'i / 7.0::float8' ],
	[ 'float8', 'i * 1000.5::float8' ],
	[ 'float4', '(i % 1000 / 8.0)::float4' ],
	[ 'bytea', q{decode(md5(i::text), 'hex')} ],
);

sub wide_columns
{
	my $n = 0;
	return join ', ', map { sprintf 'c%02d %s', ++$n, $_->[0] } @wide;
}

sub wide_values { return join ', ', map { $_->[1] } @wide }

my $publication = "CREATE PUBLICATION bench FOR TABLE t;\n";

# A mixed table with a key, for updates and deletes.
my $keyed = <<'EOS';
CREATE TABLE t (id int PRIMARY KEY, n int, amount numeric(12,2), name text,
	changed timestamptz, ok bool, big bigint, note varchar(60));
EOS
my $keyed_values = q{i, i % 100, i * 1.25, 'name ' || i, timestamptz '2024-01-01 00:00:00+00' + i * interval '1.5 s', i % 2 = 0, i::bigint * 1000, 'note on row ' || i};

sub rows { my ($base, $scale) = @_; my $n = int($base * $scale); return $n < 100 ? 100 : $n }

sub relations
{
	my ($n, $partition) = @_;
	my $text = '';
	for (my $lo = 0; $lo < $n; $lo += 500)
	{
		my $hi = $lo + 499 < $n - 1 ? $lo + 499 : $n - 1;
		$text .= "DO \$bench\$ BEGIN FOR i IN $lo .. $hi LOOP "
		  . "EXECUTE format('CREATE TABLE r%s (a int, b text, c timestamptz)', i); "
		  . "EXECUTE format('ALTER PUBLICATION bench ADD TABLE r%s', i); END LOOP; END \$bench\$;\n";
	}
	return $text;
}

# A row into each of n relations, twice; after every so many rows one of two
# statements in turn.
sub churn
{
	my ($n, $every, $one, $other) = @_;
	my $last = 2 * $n - 1;
	return <<"EOS";
DO \$bench\$
DECLARE turn bool := true;
BEGIN
	FOR i IN 0 .. $last LOOP
		EXECUTE format('INSERT INTO r%s VALUES (1, ''one'', ''2024-01-01'')', i % $n);
		COMMIT;
		IF (i + 1) % $every = 0 THEN
			IF turn THEN $one; ELSE $other; END IF;
			turn := NOT turn;
			COMMIT;
		END IF;
	END LOOP;
END \$bench\$;
EOS
}

my @list = (
	{
		name   => 'narrow', title => 'narrow insert', target => [ 0.30, 0.40 ],
		setup  => sub { "CREATE TABLE t (a int, b int, c int);\n$publication" },
		wal    => sub { inserts(rows(1_200_000, $_[0]), 5000, 't', 'i, i * 2, i % 1000') },
	},
	{
		name   => 'wide', title => 'wide insert', target => [ 0.22, 0.30 ],
		setup  => sub { 'CREATE TABLE t (' . wide_columns() . ");\n$publication" },
		wal    => sub { inserts(rows(100_000, $_[0]), 1000, 't', wide_values()) },
	},
	{
		name   => 'text', title => 'text', target => [ 0.35, 0.62 ],
		setup  => sub { "CREATE TABLE t (a text, b text, c text, d varchar(200));\n$publication" },
		wal    => sub { inserts(rows(400_000, $_[0]), 2000, 't',
			q{md5(i::text), repeat('some words in a row ', 1 + i % 8), 'short ' || i, repeat(md5(i::text), 1 + i % 3)}) },
	},
	{
		name   => 'update_key', title => 'update by key', target => [ 0.30, 0.45 ],
		setup  => sub { my $n = rows(300_000, $_[0]);
			"$keyed$publication" . "INSERT INTO t SELECT $keyed_values FROM generate_series(1, $n) i;\n" },
		wal    => sub { batches(rows(300_000, $_[0]), 2000,
			"UPDATE t SET n = n + 1, changed = changed + interval '1 h' WHERE id > lo AND id <= lo + 2000") },
	},
	{
		name   => 'update_full', title => 'update FULL', target => [ 0.18, 0.45 ],
		setup  => sub { my $n = rows(200_000, $_[0]);
			"$keyed$publication" . "ALTER TABLE t REPLICA IDENTITY FULL;\n"
			. "INSERT INTO t SELECT $keyed_values FROM generate_series(1, $n) i;\n" },
		wal    => sub { batches(rows(200_000, $_[0]), 2000,
			"UPDATE t SET n = n + 1, changed = changed + interval '1 h' WHERE id > lo AND id <= lo + 2000") },
	},
	{
		name   => 'delete', title => 'delete', target => [ 0.40, 0.50 ],
		setup  => sub { my $n = rows(1_000_000, $_[0]);
			"$keyed$publication" . "INSERT INTO t SELECT $keyed_values FROM generate_series(1, $n) i;\n" },
		wal    => sub { batches(rows(1_000_000, $_[0]), 5000,
			'DELETE FROM t WHERE id > lo AND id <= lo + 5000') },
	},
	{
		name   => 'one_row', title => 'one-row transactions', target => [ 0.40, 0.62 ],
		setup  => sub { "CREATE TABLE t (a int, b text, c timestamptz);\n$publication" },
		wal    => sub { batches(rows(200_000, $_[0]), 1,
			q{INSERT INTO t VALUES (lo, 'row ' || lo, timestamptz '2024-01-01 00:00:00+00' + lo * interval '1 s')}) },
	},
	{
		name   => 'toast', title => 'toast, 8 kB', target => [ 1, 0.64 ],
		setup  => sub { "CREATE TABLE t (a int, b text, c text);\n"
			. "ALTER TABLE t ALTER b SET STORAGE EXTERNAL;\n$publication" },
		wal    => sub { inserts(rows(60_000, $_[0]), 100, 't',
			q{i, repeat(md5(i::text), 250), repeat(md5(i::text), 20)}) },
	},
	{
		name   => 'inline_4k', title => '4 kB rows', target => [ 1, 0.64 ],
		setup  => sub { "CREATE TABLE t (a int, b text, c text);\n"
			. "ALTER TABLE t ALTER b SET STORAGE PLAIN, ALTER c SET STORAGE PLAIN;\n$publication" },
		wal    => sub { inserts(rows(100_000, $_[0]), 200, 't',
			q{i, repeat(md5(i::text), 62), repeat(md5(i::text), 62)}) },
	},
	{
		name   => 'many_tables', title => 'many tables, once each', target => [ 0.60, 0.65 ],
		setup  => sub { "CREATE PUBLICATION bench;\n" . relations($_[1]) },
		wal    => sub { my ($scale, $n) = @_; batches($n, 1,
			q{EXECUTE format('INSERT INTO r%s VALUES (1, ''one'', ''2024-01-01'')', lo)}) },
	},
	{
		name   => 'via_root', title => 'partitions via root', target => [ 0.50, 0.60 ],
		setup  => sub {
			my $text = "CREATE TABLE t (a int, b int, c text, d timestamptz) PARTITION BY RANGE (a);\n";
			for my $i (0 .. 63)
			{
				my ($lo, $hi) = ($i, $i + 1);
				# Every second partition has its columns in another order.
				$text .= $i % 2
				  ? "CREATE TABLE p$i (gone int, d timestamptz, c text, a int, b int); ALTER TABLE p$i DROP gone;\n"
				  . "ALTER TABLE t ATTACH PARTITION p$i FOR VALUES FROM ($lo) TO ($hi);\n"
				  : "CREATE TABLE p$i PARTITION OF t FOR VALUES FROM ($lo) TO ($hi);\n";
			}
			return $text . "CREATE PUBLICATION bench FOR TABLE t WITH (publish_via_partition_root = true);\n";
		},
		wal    => sub { inserts(rows(500_000, $_[0]), 2000, 't',
			q{i % 64, i, 'row ' || i, timestamptz '2024-01-01 00:00:00+00' + i * interval '1 s'}) },
	},
	{
		name   => 'root_once', title => 'many partitions via root, once each', target => [ 0.50, 0.60 ],
		setup  => sub {
			my ($scale, $n) = @_;
			$n = int($n / 10) || 1;
			my $text = "CREATE TABLE t (a int, b text, c timestamptz) PARTITION BY LIST (a);\n";
			for (my $lo = 0; $lo < $n; $lo += 500)
			{
				my $hi = $lo + 499 < $n - 1 ? $lo + 499 : $n - 1;
				$text .= "DO \$bench\$ BEGIN FOR i IN $lo .. $hi LOOP "
				  . "EXECUTE format('CREATE TABLE r%s (c timestamptz, b text, a int)', i); "
				  . "EXECUTE format('ALTER TABLE t ATTACH PARTITION r%s FOR VALUES IN (%s)', i, i); "
				  . "END LOOP; END \$bench\$;\n";
			}
			return $text . "CREATE PUBLICATION bench FOR TABLE t WITH (publish_via_partition_root = true);\n";
		},
		wal    => sub { my ($scale, $n) = @_; batches(int($n / 10) || 1, 1,
			q{EXECUTE format('INSERT INTO r%s VALUES (''2024-01-01'', ''one'', %s)', lo, lo)}) },
	},
	{
		name   => 'row_filter', title => 'row filter', target => [ 0.45, 0.65 ],
		setup  => sub { "CREATE TABLE t (a int, b text, c timestamptz, d int);\n"
			. "CREATE PUBLICATION bench FOR TABLE t WHERE (a % 2 = 0 AND d < 900) WITH (publish = 'insert');\n" },
		wal    => sub { inserts(rows(600_000, $_[0]), 5000, 't',
			q{i, 'row ' || i, timestamptz '2024-01-01 00:00:00+00' + i * interval '1 s', i % 1000}) },
	},
	{
		name   => 'column_list', title => 'column list', target => [ 0.22, 0.50 ],
		setup  => sub { 'CREATE TABLE t (' . wide_columns() . ");\n"
			. "CREATE PUBLICATION bench FOR TABLE t (c01, c05, c09, c12, c17, c24);\n" },
		wal    => sub { inserts(rows(200_000, $_[0]), 1000, 't', wide_values()) },
	},
	{
		name   => 'streamed', title => 'streamed', target => [ 0.30, 0.50 ],
		options => { proto_version => 2, streaming => 'on' },
		settings => { logical_decoding_work_mem => '256kB' },
		setup  => sub { "CREATE TABLE t (a int, b text, c timestamptz);\n$publication" },
		wal    => sub { inserts(rows(600_000, $_[0]), 100_000, 't',
			q{i, 'row ' || i, timestamptz '2024-01-01 00:00:00+00' + i * interval '1 s'}) },
	},
	{
		name   => 'spilled', title => 'spilled', target => [ 1, 1 ],
		settings => { logical_decoding_work_mem => '64kB' },
		setup  => sub { "CREATE TABLE t (a int, b text, c timestamptz);\n$publication" },
		wal    => sub { inserts(rows(600_000, $_[0]), 100_000, 't',
			q{i, 'row ' || i, timestamptz '2024-01-01 00:00:00+00' + i * interval '1 s'}) },
	},
	{
		name   => 'binary', title => 'binary, wide', target => [ 0.33, 0.40 ],
		options => { binary => 'true' },
		setup  => sub { 'CREATE TABLE t (' . wide_columns() . ");\n$publication" },
		wal    => sub { inserts(rows(200_000, $_[0]), 1000, 't', wide_values()) },
	},
	{
		name   => 'unpublished', title => 'unpublished', target => [ 1.02, 1.02 ],
		decode => { 15 => 1.02, 18 => 1.02 },
		setup  => sub { "CREATE TABLE t (a int, b int, c int);\nCREATE TABLE other (a int);\n"
			. "CREATE PUBLICATION bench FOR TABLE other;\n" },
		wal    => sub { inserts(rows(1_200_000, $_[0]), 5000, 't', 'i, i * 2, i % 1000') },
	},
	{
		# Each relation twice, an ALTER PUBLICATION after every half of them.
		name   => 'churn', title => 'cache churn', target => [ 1, 1 ],
		decode => { 15 => 0.06, 18 => 0.80 },
		setup  => sub { "CREATE PUBLICATION bench;\n" . relations($_[1]) },
		wal    => sub { churn($_[1], int($_[1] / 2) || 1,
			q{ALTER PUBLICATION bench SET (publish = 'insert')},
			q{ALTER PUBLICATION bench SET (publish = 'insert, update, delete, truncate')}) },
	},
	{
		name   => 'churn_often', title => 'cache churn, twenty times as often', target => [ 1, 1 ],
		decode => {},
		setup  => sub { "CREATE PUBLICATION bench;\nCREATE TABLE other (a int);\n" . relations($_[1]) },
		wal    => sub { churn($_[1], int($_[1] / 40) || 1,
			'ALTER PUBLICATION bench ADD TABLE other', 'ALTER PUBLICATION bench DROP TABLE other') },
	},
	{
		name   => 'many_streamed', title => 'many streamed transactions', target => [ 1, 1 ],
		options => { proto_version => 2, streaming => 'on' },
		settings => { logical_decoding_work_mem => '64kB' },
		setup  => sub { "CREATE PUBLICATION bench;\n" . relations(int($_[1] / 10) || 10) },
		wal    => sub {
			my ($scale, $n) = @_;
			$n = int($n / 10) || 10;
			my $count = rows(1500, $scale);
			# First every relation once, then transactions that each touch ten.
			return batches($n, 1,
				q{EXECUTE format('INSERT INTO r%s VALUES (1, ''one'', ''2024-01-01'')', lo)})
			  . batches($count, 1, "FOR j IN 0 .. 9 LOOP EXECUTE format('INSERT INTO r%s SELECT i, repeat(''x'', 500), "
				. "''2024-01-01'' FROM generate_series(1, 20) i', (lo * 10 + j) % $n); END LOOP");
		},
	},
);

sub all { return @list }

1;
