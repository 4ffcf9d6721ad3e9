# Every finding of pgoutput_ext_check about publications and tables: made, asked
# of the server, mended as the remedy says, and gone.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CheckUp;
use PgoutputExt;
use Test::More;

my $node = new_node('main');
my $dbh = $node->{dbh};
my $major = server_major();

$dbh->do('CREATE EXTENSION pgoutput_ext');
$dbh->do('SET client_min_messages = error');
$dbh->do('CREATE FOREIGN DATA WRAPPER nowhere');
$dbh->do('CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere');

# What a slot made now sends of the statements.
sub sent
{
	my ($publications, @statements) = @_;
	$dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, 'truth', plugin_name());
	run_each($dbh, @statements);
	my $text = changes_text(read_slot($dbh, 'truth', options => [ standard_options($publications) ]));
	$dbh->do(q{SELECT pg_drop_replication_slot('truth')});
	return $text;
}

# No finding that the server refuses anything, and it does not.
sub check_none
{
	my ($name, $setup, @statements) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	fresh_schema($dbh);
	run_each($dbh, @$setup);
	is(sqlstate($dbh, $_), '00000', "$name: the server does it: $_") foreach @statements;
	is_deeply([ map { "$_->{object} $_->{finding}" } grep { $_->{number} >= 40 && $_->{number} <= 48 } check_rows($dbh) ],
		[], "$name: nothing found");
	return;
}

my @both = map { ("$_" => '55000', '00000') } 'UPDATE c.t SET a = 2', 'DELETE FROM c.t';
my @column = map { ("$_" => '42P10', '00000') } 'UPDATE c.t SET a = 2', 'DELETE FROM c.t';
my $publication = 'CREATE PUBLICATION p FOR TABLE c.t';

# ---- no replica identity --------------------------------------------------------

check_case($dbh, 'no key',
	number => 40, severity => 'error', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int)', $publication ],
	finding => 'has no primary key to be the replica identity, so that UPDATE and DELETE fail',
	remedy => 'ALTER TABLE c.t ADD PRIMARY KEY (...), or ALTER TABLE c.t REPLICA IDENTITY FULL',
	server => \@both, fill => [ ['a'], [] ]);
check_case($dbh, 'no key, UPDATE published',
	number => 40, severity => 'error', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int)', "$publication WITH (publish = 'insert, update')" ],
	finding => 'has no primary key to be the replica identity, so that UPDATE fails',
	remedy => 'ALTER TABLE c.t ADD PRIMARY KEY (...), or ALTER TABLE c.t REPLICA IDENTITY FULL',
	server => [ 'UPDATE c.t SET a = 2' => '55000', '00000', 'DELETE FROM c.t' => '00000', '00000' ], fill => [ ['a'] ]);
check_case($dbh, 'no key, DELETE published',
	number => 40, severity => 'error', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int)', "$publication WITH (publish = 'delete')" ],
	finding => 'has no primary key to be the replica identity, so that DELETE fails',
	remedy => 'ALTER TABLE c.t ADD PRIMARY KEY (...), or ALTER TABLE c.t REPLICA IDENTITY FULL',
	server => [ 'UPDATE c.t SET a = 2' => '00000', '00000', 'DELETE FROM c.t' => '55000', '00000' ], fill => [ ['a'] ]);
check_none('no key, only INSERT published',
	[ 'CREATE TABLE c.t (a int)', "$publication WITH (publish = 'insert, truncate')" ], 'UPDATE c.t SET a = 2', 'DELETE FROM c.t');
check_case($dbh, 'deferrable primary key',
	number => 40, severity => 'error', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int PRIMARY KEY DEFERRABLE, b int NOT NULL UNIQUE)', $publication ],
	finding => 'has a primary key that is DEFERRABLE, which the server does not use as replica identity, so that UPDATE and DELETE fail',
	remedy => 'ALTER TABLE c.t REPLICA IDENTITY USING INDEX ... (unique, not deferrable, of NOT NULL columns), or ALTER TABLE c.t REPLICA IDENTITY FULL',
	server => \@both, fill => [ ['t_b_key'], [] ]);
check_case($dbh, 'NOTHING, with a primary key',
	number => 40, severity => 'error', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int PRIMARY KEY)', 'ALTER TABLE c.t REPLICA IDENTITY NOTHING', $publication ],
	finding => 'has REPLICA IDENTITY NOTHING, so that UPDATE and DELETE fail',
	remedy => 'ALTER TABLE c.t REPLICA IDENTITY DEFAULT, or ALTER TABLE c.t REPLICA IDENTITY FULL',
	server => \@both, fill => [ [], [] ]);
check_case($dbh, 'NOTHING, without a primary key',
	number => 40, severity => 'error', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int)', 'ALTER TABLE c.t REPLICA IDENTITY NOTHING', $publication ],
	finding => 'has REPLICA IDENTITY NOTHING, so that UPDATE and DELETE fail',
	remedy => 'ALTER TABLE c.t ADD PRIMARY KEY (...), REPLICA IDENTITY DEFAULT, or ALTER TABLE c.t REPLICA IDENTITY FULL',
	server => \@both, fill => [ ['a'], [] ]);
check_case($dbh, 'an index that is gone',
	number => 40, severity => 'error', object => 'table c.t',
	setup => [
		'CREATE TABLE c.t (a int PRIMARY KEY, b int NOT NULL UNIQUE)', 'ALTER TABLE c.t REPLICA IDENTITY USING INDEX t_b_key',
		'ALTER TABLE c.t DROP CONSTRAINT t_b_key', $publication ],
	finding => 'has a replica identity by an index that is gone, so that UPDATE and DELETE fail',
	remedy => 'ALTER TABLE c.t REPLICA IDENTITY DEFAULT, or ALTER TABLE c.t REPLICA IDENTITY FULL',
	server => \@both, fill => [ [], [] ]);
check_case($dbh, 'a partition without a key',
	number => 40, severity => 'error', object => 'table c.t_2',
	setup => [
		'CREATE TABLE c.t (a int PRIMARY KEY) PARTITION BY LIST (a)', map({ "CREATE TABLE c.t_$_ PARTITION OF c.t FOR VALUES IN ($_)" } 1 .. 3),
		'ALTER TABLE c.t_2 REPLICA IDENTITY NOTHING', $publication ],
	finding => 'has REPLICA IDENTITY NOTHING, so that UPDATE and DELETE fail',
	remedy => 'ALTER TABLE c.t_2 REPLICA IDENTITY DEFAULT, or ALTER TABLE c.t_2 REPLICA IDENTITY FULL',
	server => [ 'DELETE FROM c.t_2' => '55000', '00000', 'DELETE FROM c.t_1' => '00000', '00000' ], fill => [ [], [] ]);
foreach my $via (0, 1)
{
	my $count = $via ? 500 : 20;
	check_case($dbh, "$count partitions without a key" . ($via ? ', through the root' : ''),
		number => 40, severity => 'error', object => 'table c.t',
		setup => [
			'CREATE TABLE c.t (a int, b int) PARTITION BY LIST (a)',
			map({ "CREATE TABLE c.t_$_ PARTITION OF c.t FOR VALUES IN ($_)" } 1 .. $count),
			"$publication WITH (publish_via_partition_root = $via)" ],
		finding => "has $count partitions with no primary key to be the replica identity, so that UPDATE and DELETE fail: c.t_1, c.t_2, c.t_3, ...",
		remedy => 'for each of them: ALTER TABLE ... ADD PRIMARY KEY (...), or ALTER TABLE ... REPLICA IDENTITY FULL',
		server => [ 'DELETE FROM c.t_7' => '55000', '00000' ],
		each => [ map { "c.t_$_" } 1 .. $count ], fill => $via ? [ undef, [] ] : [ ['b'] ]);
}
my $index = 'CREATE UNIQUE INDEX i ON c.t (a) INCLUDE (b)';
check_none('an identity index with INCLUDE',
	[ 'CREATE TABLE c.t (a int NOT NULL, b int)', $index, 'ALTER TABLE c.t REPLICA IDENTITY USING INDEX i', $major < 15 ? $publication : "$publication (a)" ],
	'UPDATE c.t SET a = 2', 'DELETE FROM c.t');
check_none('a primary key with INCLUDE',
	[ 'CREATE TABLE c.t (a int, b int, PRIMARY KEY (a) INCLUDE (b))', $major < 15 ? $publication : "$publication (a)" ],
	'UPDATE c.t SET a = 2', 'DELETE FROM c.t');

# ---- column lists, row filters ---------------------------------------------------

if ($major >= 15)
{
	check_case($dbh, 'a list without the key',
		number => 41, severity => 'error', object => 'table c.t',
		setup => [ 'CREATE TABLE c.t (a int, b int, "Key" int PRIMARY KEY)', 'CREATE PUBLICATION "P" FOR TABLE c.t (b) WHERE ("Key" > 1)' ],
		finding => 'has columns of its replica identity that are not in the column list of publication "P" ("Key"), so that UPDATE and DELETE fail',
		remedy => 'ALTER PUBLICATION "P" DROP TABLE c.t; ALTER PUBLICATION "P" ADD TABLE c.t (b, "Key") WHERE (("Key" > 1))',
		server => \@column,
		truth => sub {
			is($dbh->selectrow_array(q{SELECT attnames::text || rowfilter FROM pg_publication_tables WHERE pubname = 'P'}),
				$_[0] eq 'before' ? '{b}("Key" > 1)' : '{b,Key}("Key" > 1)', "the filter stays ($_[0])");
		});
	check_case($dbh, 'a list with INCLUDE and without the key',
		number => 41, severity => 'error', object => 'table c.t',
		setup => [ 'CREATE TABLE c.t (a int, b int, PRIMARY KEY (a) INCLUDE (b))', "$publication (b)" ],
		finding => 'has columns of its replica identity that are not in the column list of publication p (a), so that UPDATE and DELETE fail',
		remedy => 'ALTER PUBLICATION p DROP TABLE c.t; ALTER PUBLICATION p ADD TABLE c.t (a, b)',
		server => \@column);
	check_case($dbh, 'a list with FULL, in two publications',
		number => 41, severity => 'error', object => 'table c.t',
		setup => [
			'CREATE TABLE c.t (a int, b int)', 'CREATE TABLE c.child () INHERITS (c.t)', 'ALTER TABLE c.t REPLICA IDENTITY FULL',
			map { "CREATE PUBLICATION $_ FOR TABLE ONLY c.t (a)" } 'p', 'q' ],
		finding => 'has REPLICA IDENTITY FULL, with which the column list of publications p, q is not allowed, so that UPDATE and DELETE fail',
		remedy => join('; ', map { "ALTER PUBLICATION $_ DROP TABLE ONLY c.t; ALTER PUBLICATION $_ ADD TABLE ONLY c.t" } 'p', 'q'),
		server => [ 'UPDATE ONLY c.t SET a = 2' => '42P10', '00000' ],
		truth => sub { is($dbh->selectrow_array(q{SELECT count(*) FROM pg_publication_tables}), 2, 'the child stays out'); });
	check_case($dbh, 'a list of the root, the partition with another key and order of columns',
		number => 41, severity => 'error', object => 'table c.t_1',
		setup => [
			'CREATE TABLE c.t (a int, b int, c int) PARTITION BY LIST (a)', 'CREATE TABLE c.t_1 (c int NOT NULL UNIQUE, b int, a int)',
			'ALTER TABLE c.t ATTACH PARTITION c.t_1 FOR VALUES IN (1)', 'ALTER TABLE c.t_1 REPLICA IDENTITY USING INDEX t_1_c_key',
			"$publication (a) WITH (publish_via_partition_root)" ],
		finding => 'has columns of its replica identity that are not in the column list of publication p (c), so that UPDATE and DELETE fail',
		remedy => 'ALTER PUBLICATION p DROP TABLE c.t; ALTER PUBLICATION p ADD TABLE c.t (a, c)',
		server => \@column);
	check_none('a list, only INSERT published',
		[ 'CREATE TABLE c.t (a int PRIMARY KEY, b int)', "$publication (b) WHERE (b > 1) WITH (publish = 'insert')" ], 'UPDATE c.t SET a = 2', 'DELETE FROM c.t');

	check_case($dbh, 'a filter outside of the key',
		number => 42, severity => 'error', object => 'table c.t',
		setup => [ 'CREATE TABLE c.t (a int PRIMARY KEY, b int, "B" text)', qq{$publication WHERE (b > a AND length("B") = 2)} ],
		finding => 'has a row filter in publication p on columns outside of its replica identity ("B", b), so that UPDATE and DELETE fail',
		remedy => 'ALTER TABLE c.t REPLICA IDENTITY FULL, or ALTER PUBLICATION p DROP TABLE c.t; ALTER PUBLICATION p ADD TABLE c.t',
		server => \@column, fill => [ [], [] ]);
	check_case($dbh, 'a filter on a listed column outside of the key',
		number => 42, severity => 'error', object => 'table c.t',
		setup => [ 'CREATE TABLE c.t (a int PRIMARY KEY, b int)', "$publication (a, b) WHERE (b > 1) WITH (publish = 'delete')" ],
		finding => 'has a row filter in publication p on columns outside of its replica identity (b), so that DELETE fails',
		remedy => 'ALTER PUBLICATION p DROP TABLE c.t; ALTER PUBLICATION p ADD TABLE c.t (a, b)',
		server => [ 'UPDATE c.t SET a = 2' => '00000', '00000', 'DELETE FROM c.t' => '42P10', '00000' ]);
	check_none('a filter on the key, and a list beside it',
		[ 'CREATE TABLE c.t (a int PRIMARY KEY, b int)', "$publication (a, b) WHERE (a > 1)" ], 'UPDATE c.t SET a = 2', 'DELETE FROM c.t');
	check_none('a filter with FULL',
		[ 'CREATE TABLE c.t (a int, b int)', 'ALTER TABLE c.t REPLICA IDENTITY FULL', "$publication WHERE (b > 1)" ], 'UPDATE c.t SET a = 2');
	check_case($dbh, 'a filter of the root',
		number => 42, severity => 'error', object => 'table c.t',
		setup => [
			'CREATE TABLE c.t (a int PRIMARY KEY, b int) PARTITION BY LIST (a)', map({ "CREATE TABLE c.t_$_ PARTITION OF c.t FOR VALUES IN ($_)" } 1, 2),
			"$publication WHERE (b > 1) WITH (publish_via_partition_root)" ],
		finding => 'has 2 partitions with a row filter in publication p on columns outside of its replica identity (b), so that UPDATE and DELETE fail: c.t_1, c.t_2',
		remedy => 'for each of them: ALTER TABLE ... REPLICA IDENTITY FULL, or ALTER PUBLICATION p DROP TABLE c.t; ALTER PUBLICATION p ADD TABLE c.t',
		each => [ 'c.t_1', 'c.t_2' ], server => \@column,
		fill => [ [], sub { run_each($dbh, 'ALTER PUBLICATION p DROP TABLE c.t', 'ALTER PUBLICATION p ADD TABLE c.t') } ]);

	# what a client is told when it names both
	check_case($dbh, 'different lists',
		number => 44, severity => 'error', object => 'table c.t', publications => [ 'p', 'q' ],
		setup => [ 'CREATE TABLE c.t (a int PRIMARY KEY, b int)', "$publication (a)", 'CREATE PUBLICATION q FOR ALL TABLES' ],
		finding => 'is published with different column lists, which the server refuses to a client that names these publications together',
		remedy => 'make the column lists the same in p, q',
		fill => [ sub { run_each($dbh, 'ALTER PUBLICATION p DROP TABLE c.t', 'ALTER PUBLICATION p ADD TABLE c.t (a, b)') } ],
		truth => sub {
			like(sent([ 'p', 'q' ], 'INSERT INTO c.t VALUES (1, 1)'), $_[0] eq 'before' ? qr/^ERROR 0A000 cannot use different column lists/ : qr/^INSERT/m, "the stream ($_[0])");
			$dbh->do('DELETE FROM c.t');
		});
}

# ---- generated columns ---------------------------------------------------------------

my $generated = 'int GENERATED ALWAYS AS (a + 1) STORED';
my @with_key = ("CREATE TABLE c.t (a int, g $generated PRIMARY KEY)", $publication);
my @with_full = ("CREATE TABLE c.t (a int, g $generated)", 'ALTER TABLE c.t REPLICA IDENTITY FULL', $publication);

if ($major >= 18)
{
	my $set = 'ALTER PUBLICATION p SET (publish_generated_columns = stored)';
	my $finding = 'has generated columns in its replica identity that publication p does not publish (%s), so that UPDATE and DELETE fail';
	my %case = (number => 43, severity => 'error', object => 'table c.t', server => \@column);

	check_case($dbh, 'a generated key', %case, setup => \@with_key, finding => sprintf($finding, 'g'), remedy => $set);
	check_case($dbh, 'FULL with a generated column', %case, setup => \@with_full, finding => sprintf($finding, 'g'), remedy => $set);
	check_case($dbh, 'FULL with a virtual column', %case,
		setup => [ 'CREATE TABLE c.t (a int NOT NULL UNIQUE, g int GENERATED ALWAYS AS (a + 1) VIRTUAL)', 'ALTER TABLE c.t REPLICA IDENTITY FULL', $publication ],
		finding => sprintf($finding, 'g'),
		remedy => 'ALTER TABLE c.t REPLICA IDENTITY USING INDEX ... (unique, not deferrable, of NOT NULL columns)', fill => [ ['t_a_key'] ]);
	check_case($dbh, 'FULL with a virtual and a stored column', %case,
		setup => [
			"CREATE TABLE c.t (a int PRIMARY KEY, g int GENERATED ALWAYS AS (a + 1) VIRTUAL, h $generated)", 'ALTER TABLE c.t REPLICA IDENTITY FULL', $publication ],
		finding => sprintf($finding, 'g, h'), remedy => 'ALTER TABLE c.t REPLICA IDENTITY DEFAULT');
	check_case($dbh, 'no key, and a virtual column', number => 40, severity => 'error', object => 'table c.t',
		setup => [ 'CREATE TABLE c.t (a int, g int GENERATED ALWAYS AS (a + 1) VIRTUAL)', $publication ],
		finding => 'has no primary key to be the replica identity, so that UPDATE and DELETE fail',
		remedy => 'ALTER TABLE c.t ADD PRIMARY KEY (...)', server => \@both, fill => [ ['a'] ]);
	check_none('a generated key that is published', [ @with_key, $set ], 'UPDATE c.t SET a = 2');
	check_none('a generated key that is listed', [ $with_key[0], "$publication (g)" ], 'UPDATE c.t SET a = 2');

	check_case($dbh, 'different publish_generated_columns',
		number => 44, severity => 'error', object => 'table c.t', publications => [ 'p', 'q' ],
		setup => [ "CREATE TABLE c.t (a int PRIMARY KEY, g $generated)", $publication, 'CREATE PUBLICATION q FOR ALL TABLES WITH (publish_generated_columns = stored)' ],
		finding => 'is published with different values of publish_generated_columns, which the server refuses to a client that names these publications together',
		remedy => 'set publish_generated_columns to the same in p, q', fill => [ sub { $dbh->do($set) } ],
		truth => sub {
			like(sent([ 'p', 'q' ], 'INSERT INTO c.t VALUES (1)'), $_[0] eq 'before' ? qr/^ERROR 0A000 cannot use different values of publish_generated_columns/ : qr/^INSERT/m, "the stream ($_[0])");
			$dbh->do('DELETE FROM c.t');
		});
	check_case($dbh, 'a generated column', number => 49, severity => 'note', object => 'table c.t',
		setup => [ "CREATE TABLE c.t (a int PRIMARY KEY, g $generated)", $publication ],
		finding => 'has columns that publication p does not publish: g', remedy => "$set, if clients need them",
		truth => sub {
			is(sent('p', 'INSERT INTO c.t VALUES (1)') =~ /\(\*"a"; "g"\)/ ? 'after' : 'before', $_[0], "the stream ($_[0])");
			$dbh->do('DELETE FROM c.t');
		});
	check_case($dbh, 'a virtual column', number => 49, severity => 'note', object => 'table c.t',
		setup => [ 'CREATE TABLE c.t (a int PRIMARY KEY, g int GENERATED ALWAYS AS (a + 1) VIRTUAL)', "$publication WITH (publish_generated_columns = stored)" ],
		finding => 'has columns that publication p does not publish: g', remedy => 'have the client compute virtual columns, or make them stored',
		fill => [ undef, sub { run_each($dbh, 'ALTER TABLE c.t DROP COLUMN g', "ALTER TABLE c.t ADD g $generated") } ],
		truth => sub {
			is(sent('p', 'INSERT INTO c.t VALUES (1)') =~ /\(\*"a"; "g"\)/ ? 'after' : 'before', $_[0], "the stream ($_[0])");
			$dbh->do('DELETE FROM c.t');
		});
}
else
{
	check_case($dbh, 'a generated key', number => 43, severity => 'warning', object => 'table c.t', setup => \@with_key,
		finding => 'has generated columns in its replica identity that publication p does not publish (g), so that clients cannot find rows by it',
		remedy => 'ALTER TABLE c.t REPLICA IDENTITY FULL', server => [ 'UPDATE c.t SET a = 2' => '00000', '00000' ],
		truth => sub {
			like(sent('p', 'INSERT INTO c.t VALUES (1)', 'DELETE FROM c.t'), $_[0] eq 'before' ? qr/\("a"\)\n.*DELETE K:\(n\)/s : qr/\(\*"a"\)\n.*DELETE O:\('1'\)/s, "the stream ($_[0])");
		});
	check_none('FULL with a generated column', \@with_full, 'UPDATE c.t SET a = 2');
	check_case($dbh, 'a generated column', number => 49, severity => 'note', object => 'table c.t',
		setup => [ "CREATE TABLE c.t (a int PRIMARY KEY, g $generated)", $publication ],
		finding => 'has columns that publication p does not publish: g', remedy => 'use the option generated_columns, if clients need them',
		# the client's options are not known to the server: with the column, the row goes
		fill => [ sub { $dbh->do('ALTER TABLE c.t DROP COLUMN g') } ]);
	check_case($dbh, 'a list without a generated key', number => 41, severity => 'error', object => 'table c.t',
		setup => [ $with_key[0], "$publication (a)" ],
		finding => 'has columns of its replica identity that are not in the column list of publication p (g), so that UPDATE and DELETE fail',
		remedy => 'ALTER PUBLICATION p DROP TABLE c.t; ALTER PUBLICATION p ADD TABLE c.t', server => \@column) if $major >= 15;
}
check_case($dbh, 'a column left out of the list', number => 49, severity => 'note', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int PRIMARY KEY, b int, "C" int)', "$publication (a)" ],
	finding => 'has columns that publication p does not publish: b, "C"', remedy => 'add them to the column list, if clients need them',
	fill => [ sub { run_each($dbh, 'ALTER PUBLICATION p DROP TABLE c.t', 'ALTER PUBLICATION p ADD TABLE c.t (a, b, "C")') } ]) if $major >= 15;

# ---- partitions ------------------------------------------------------------------------

my $via = 'WITH (publish_via_partition_root)';
my @parted = ('CREATE TABLE c.t (a int PRIMARY KEY, b int) PARTITION BY LIST (a)', map { "CREATE TABLE c.t_$_ PARTITION OF c.t FOR VALUES IN ($_)" } 1 .. 5);
my @indexed = ('ALTER TABLE c.t_1 ALTER b SET NOT NULL', 'CREATE UNIQUE INDEX i ON c.t_1 (b)', 'ALTER TABLE c.t_1 REPLICA IDENTITY USING INDEX i');

check_case($dbh, 'a partition with another key', number => 45, severity => 'warning', object => 'table c.t_1',
	setup => [ @parted, @indexed, "$publication $via" ],
	finding => 'has a replica identity other than the one announced, that of c.t', remedy => 'ALTER TABLE c.t_1 REPLICA IDENTITY DEFAULT',
	truth => sub {
		like(sent('p', 'INSERT INTO c.t VALUES (1, 7)', 'DELETE FROM c.t'), $_[0] eq 'before' ? qr/\(\*"a"; "b"\)\n.*DELETE K:\(n, '7'\)/s : qr/\(\*"a"; "b"\)\n.*DELETE K:\('1', n\)/s, "the stream ($_[0])");
	});
check_case($dbh, 'partitions with a key, the root with FULL', number => 45, severity => 'warning', object => 'table c.t',
	setup => [ @parted, 'ALTER TABLE c.t REPLICA IDENTITY FULL', "$publication $via" ],
	finding => 'has 5 partitions with a replica identity other than the one announced, that of c.t: c.t_1, c.t_2, c.t_3, ...',
	remedy => 'for each of them: ALTER TABLE ... REPLICA IDENTITY FULL', each => [ map { "c.t_$_" } 1 .. 5 ],
	truth => sub {
		like(sent('p', 'INSERT INTO c.t VALUES (1, 7)', 'DELETE FROM c.t'), $_[0] eq 'before' ? qr/\(\*"a"; \*"b"\)\n.*DELETE O:\('1', n\)/s : qr/\(\*"a"; \*"b"\)\n.*DELETE O:\('1', '7'\)/s, "the stream ($_[0])");
	});
check_case($dbh, 'a root without a key to announce', number => 45, severity => 'warning', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int, b int) PARTITION BY LIST (a)', 'CREATE TABLE c.t_1 PARTITION OF c.t FOR VALUES IN (1)', @indexed, "$publication $via" ],
	finding => 'has no replica identity to announce for its partitions, so that clients cannot find rows by it',
	remedy => 'ALTER TABLE c.t ADD PRIMARY KEY (...), or ALTER TABLE c.t REPLICA IDENTITY FULL', fill => [ ['a'], [] ],
	truth => sub {
		like(sent('p', 'INSERT INTO c.t VALUES (1, 7)', 'DELETE FROM c.t'), $_[0] eq 'before' ? qr/\("a"; "b"\)\n/s : qr/\(\*"a"; \*?"b"\)\n/s, "the stream ($_[0])");
	});

# roots that have a primary key, which is not one to announce
my $none = 'has no replica identity to announce for its partitions, so that clients cannot find rows by it';
my @one = ('CREATE TABLE c.t (a int NOT NULL, b int NOT NULL UNIQUE) PARTITION BY LIST (b)', 'CREATE TABLE c.t_1 PARTITION OF c.t (PRIMARY KEY (a)) FOR VALUES IN (7)');
my $announced = sub {
	like(sent('p', 'INSERT INTO c.t VALUES (1, 7)'), $_[0] eq 'before' ? qr/^RELATION "c"\."t" identity=\w \("a"; "b"\)/m : qr/^RELATION "c"\."t" identity=\w \([^)]*\*"/m, "the stream ($_[0])");
	$dbh->do('DELETE FROM c.t');
};
my @invalid = ('CREATE TABLE c.t (a int, b int) PARTITION BY LIST (a)', 'CREATE TABLE c.t_1 PARTITION OF c.t (PRIMARY KEY (a)) FOR VALUES IN (1)', 'ALTER TABLE ONLY c.t ADD PRIMARY KEY (a)', "$publication $via");
if ($major >= 18)
{
	# it counts
	check_none('a root whose primary key is not valid', \@invalid, 'DELETE FROM c.t');
	$announced->('after');
}
else
{
	check_case($dbh, 'a root whose primary key is not valid', number => 45, severity => 'warning', object => 'table c.t',
		setup => \@invalid,
		finding => $none, remedy => 'ALTER INDEX c.t_pkey ATTACH PARTITION ... (the primary key of each partition that lacks it), or ALTER TABLE c.t REPLICA IDENTITY FULL',
		fill => [ ['c.t_1_pkey'], [] ], truth => $announced);
}
check_case($dbh, 'a root whose primary key is deferrable', number => 45, severity => 'warning', object => 'table c.t',
	setup => [ @one, 'ALTER TABLE c.t_1 DROP CONSTRAINT t_1_pkey', 'ALTER TABLE c.t ADD PRIMARY KEY (b) DEFERRABLE', 'ALTER TABLE c.t_1 REPLICA IDENTITY FULL', "$publication $via" ],
	finding => $none, remedy => 'ALTER TABLE c.t REPLICA IDENTITY USING INDEX ... (unique, not deferrable, of NOT NULL columns), or ALTER TABLE c.t REPLICA IDENTITY FULL',
	fill => [ ['t_b_key'], [] ], truth => $announced);
check_case($dbh, 'a root with NOTHING and a primary key', number => 45, severity => 'warning', object => 'table c.t',
	# with one partition, so that what FULL of the root alone leads to is a row of that partition
	setup => [ @parted[ 0, 1 ], 'ALTER TABLE c.t REPLICA IDENTITY NOTHING', "$publication $via" ],
	finding => $none, remedy => 'ALTER TABLE c.t REPLICA IDENTITY DEFAULT, or ALTER TABLE c.t REPLICA IDENTITY FULL',
	fill => [ [], [] ], truth => $announced);
check_case($dbh, 'a root with NOTHING and no key', number => 45, severity => 'warning', object => 'table c.t',
	setup => [ @one, 'ALTER TABLE c.t REPLICA IDENTITY NOTHING', "$publication $via" ],
	# the partition has a primary key of its own, which is in the way of one of the root
	finding => $none, remedy => 'ALTER TABLE c.t REPLICA IDENTITY FULL',
	server => [ 'ALTER TABLE c.t ADD PRIMARY KEY (b)' => '42P16', '42P16' ], fill => [ [] ], truth => $announced);
check_case($dbh, 'a root without a partition key', number => 45, severity => 'warning', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int, b int) PARTITION BY LIST (a)', 'CREATE TABLE c.t_1 PARTITION OF c.t FOR VALUES IN (1)', @indexed, 'ALTER TABLE c.t REPLICA IDENTITY NOTHING', "$publication $via" ],
	finding => $none, remedy => 'ALTER TABLE c.t ADD PRIMARY KEY (...), REPLICA IDENTITY DEFAULT, or ALTER TABLE c.t REPLICA IDENTITY FULL',
	fill => [ ['a'] ]);
if ($major >= 15)
{
	# FULL is not allowed beside a list
	check_case($dbh, 'a partition with another key, and a list', number => 45, severity => 'warning', object => 'table c.t_1',
		setup => [ 'CREATE TABLE c.t (a int, b int, x int, UNIQUE (a)) PARTITION BY LIST (a)', 'ALTER TABLE c.t ALTER a SET NOT NULL', 'CREATE TABLE c.t_1 PARTITION OF c.t FOR VALUES IN (1)',
			'ALTER TABLE ONLY c.t REPLICA IDENTITY USING INDEX t_a_key', @indexed, "$publication (a, b) $via" ],
		finding => 'has a replica identity other than the one announced, that of c.t',
		remedy => 'ALTER TABLE c.t_1 REPLICA IDENTITY USING INDEX ... (unique, not deferrable, of NOT NULL columns)', fill => [ ['t_1_a_key'] ],
		server => [ 'UPDATE c.t SET b = 2' => '00000', '00000' ]);
	check_case($dbh, 'partitions with a key, the root with FULL, and a list', number => 45, severity => 'warning', object => 'table c.t',
		setup => [ @parted, 'ALTER TABLE ONLY c.t REPLICA IDENTITY FULL', "$publication (a) $via" ],
		finding => 'has 5 partitions with a replica identity other than the one announced, that of c.t: c.t_1, c.t_2, c.t_3, ...',
		remedy => 'ALTER TABLE c.t REPLICA IDENTITY DEFAULT', server => [ 'UPDATE c.t SET a = 2' => '00000', '00000' ]);
}
check_none('partitions with FULL under a root with a key', [ @parted, 'ALTER TABLE c.t_1 REPLICA IDENTITY FULL', "$publication $via" ], 'UPDATE c.t SET b = 2');
check_none('partitions with another key, published as themselves', [ @parted, @indexed, $publication ], 'UPDATE c.t SET b = 2');

foreach my $for ('TABLE c.t', 'ALL TABLES', 'TABLE c.t_1')
{
	my $insert = 'INSERT INTO c.t VALUES (6, 0)';
	check_case($dbh, "an unlogged partition, FOR $for", number => 46, severity => 'warning', object => 'table c.t_6',
		setup => [ @parted, 'CREATE UNLOGGED TABLE c.t_6 PARTITION OF c.t FOR VALUES IN (6)', "CREATE PUBLICATION p FOR $for" ],
		finding => 'is unlogged, so that its changes are not published', remedy => 'ALTER TABLE c.t_6 SET LOGGED',
		truth => sub {
			unlike(sent('p', $insert), qr/INSERT/, 'nothing of it in the stream') if $_[0] eq 'before';
			$dbh->do('DELETE FROM c.t_6');
			like(sent('p', $insert), qr/INSERT/, 'all of it in the stream') if $_[0] eq 'after' && $for ne 'TABLE c.t_1';
		});
	check_case($dbh, "a foreign partition, FOR $for", number => 46, severity => 'warning', object => 'table c.t_6',
		setup => [ 'CREATE TABLE c.t (a int, b int) PARTITION BY LIST (a)', 'CREATE TABLE c.t_1 PARTITION OF c.t FOR VALUES IN (1)',
			'CREATE FOREIGN TABLE c.t_6 PARTITION OF c.t FOR VALUES IN (6) SERVER nowhere', "CREATE PUBLICATION p FOR $for" ],
		finding => 'is a foreign table, whose changes are not published', remedy => 'ALTER TABLE c.t DETACH PARTITION c.t_6',
		# publishing it, which was once the remedy, is refused; 14 and 15 differ in the SQLSTATE
		truth => sub { isnt(sqlstate($dbh, 'ALTER PUBLICATION p ADD TABLE c.t_6'), '00000', 'it cannot be published'); });
}
check_case($dbh, 'unlogged partitions', number => 46, severity => 'warning', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int, b int) PARTITION BY LIST (a)', map({ "CREATE UNLOGGED TABLE c.t_$_ PARTITION OF c.t FOR VALUES IN ($_)" } 1 .. 4), $publication ],
	finding => 'has 4 partitions that are unlogged, so that their changes are not published: c.t_1, c.t_2, c.t_3, ...',
	remedy => 'for each of them: ALTER TABLE ... SET LOGGED', each => [ map { "c.t_$_" } 1 .. 4 ]);

check_case($dbh, 'a partition beside published ones', number => 47, severity => 'warning', object => 'table c.t_5',
	setup => [ @parted, 'CREATE PUBLICATION p FOR TABLE ' . join ', ', map { "c.t_$_" } 1 .. 4 ],
	finding => 'is not published, but other partitions of c.t are',
	remedy => 'ALTER PUBLICATION p ADD TABLE c.t_5, or ALTER PUBLICATION p ADD TABLE c.t', fill => [ [], [] ],
	truth => sub {
		is(sent('p', 'INSERT INTO c.t VALUES (5, 0)') =~ /INSERT/ ? 'after' : 'before', $_[0], "the stream ($_[0])");
		$dbh->do('DELETE FROM c.t_5');
	});
check_case($dbh, 'partitions beside a published one', number => 47, severity => 'warning', object => 'table c.t',
	setup => [ @parted, 'CREATE PUBLICATION p FOR TABLE c.t_1' ],
	finding => 'has 4 partitions that are not published, but others are: c.t_2, c.t_3, c.t_4, ...',
	remedy => 'for each of them: ALTER PUBLICATION p ADD TABLE ..., or ALTER PUBLICATION p ADD TABLE c.t',
	each => [ map { "c.t_$_" } 2 .. 5 ], fill => [ [], sub { $dbh->do('ALTER PUBLICATION p ADD TABLE c.t') } ]);

# ---- inheritance ------------------------------------------------------------------------

foreach my $children (1, 3, 12)
{
	check_case($dbh, "children: $children", number => 48, severity => 'warning', object => 'table c.t',
		setup => [
			'CREATE TABLE c.t (a int PRIMARY KEY)', $publication, map({ "CREATE TABLE c.t_$_ (PRIMARY KEY (a)) INHERITS (c.t" . ($_ == 3 ? '_2' : '') . ')' } 1 .. $children) ],
		finding => "has $children " . ($children > 1 ? 'children' : 'child') . ' by inheritance that publication p does not have, nor will it have later ones',
		remedy => $children > 10 ? 'ALTER PUBLICATION p DROP TABLE ONLY c.t; ALTER PUBLICATION p ADD TABLE c.t'
		: 'ALTER PUBLICATION p ADD TABLE ' . join(', ', map { "ONLY c.t_$_" } 1 .. $children),
		truth => sub {
			is(sent('p', "INSERT INTO c.t_$children VALUES (5)") =~ /INSERT/ ? 'after' : 'before', $_[0], "the stream ($_[0])");
			$dbh->do('DELETE FROM c.t');
		});
}
if ($major >= 15)
{
	# the children get the list and the filter of their parent
	foreach my $children (1, 12)
	{
		my $part = '(a, "B") WHERE (("B" > 1))';
		check_case($dbh, "children of a table with a list and a filter: $children", number => 48, severity => 'warning', object => 'table c.t',
			setup => [
				'CREATE TABLE c.t (x int, a int PRIMARY KEY, "B" int)', 'CREATE PUBLICATION p FOR TABLE c.t (a, "B") WHERE ("B" > 1) WITH (publish = insert)',
				map({ "CREATE TABLE c.t_$_ (PRIMARY KEY (a)) INHERITS (c.t)" } 1 .. $children) ],
			finding => "has $children " . ($children > 1 ? 'children' : 'child') . ' by inheritance that publication p does not have, nor will it have later ones',
			remedy => $children > 10 ? "ALTER PUBLICATION p DROP TABLE ONLY c.t; ALTER PUBLICATION p ADD TABLE c.t $part"
			: "ALTER PUBLICATION p ADD TABLE ONLY c.t_1 $part",
			truth => sub {
				my $sent = sent('p', "INSERT INTO c.t_$children VALUES (1, 5, 2), (1, 6, 1)");
				is(join(' ', $sent =~ /^INSERT (.*)$/mg), $_[0] eq 'before' ? '' : "N:('5', '2')", "the stream ($_[0])");
				$dbh->do('DELETE FROM c.t');
			});
	}
}
check_none('children FOR ALL TABLES', [ 'CREATE TABLE c.t (a int PRIMARY KEY)', 'CREATE TABLE c.t_1 (PRIMARY KEY (a)) INHERITS (c.t)', 'CREATE PUBLICATION p FOR ALL TABLES' ], 'DELETE FROM c.t');
check_none('children that are named', [ 'CREATE TABLE c.t (a int PRIMARY KEY)', 'CREATE TABLE c.t_1 (PRIMARY KEY (a)) INHERITS (c.t)', $publication ], 'DELETE FROM c.t');
if ($major >= 19)
{
	# what EXCEPT leaves out is not missed; what it does not, is looked at
	check_none('EXCEPT a child', [ 'CREATE TABLE c.t (a int PRIMARY KEY)', 'CREATE TABLE c.t_1 () INHERITS (c.t)', 'CREATE PUBLICATION p FOR ALL TABLES EXCEPT (TABLE c.t_1)' ], 'UPDATE c.t_1 SET a = 2');
	check_none('EXCEPT a partitioned table without a key', [ 'CREATE TABLE c.t (a int) PARTITION BY LIST (a)', 'CREATE TABLE c.t_1 PARTITION OF c.t FOR VALUES IN (1)', 'CREATE PUBLICATION p FOR ALL TABLES EXCEPT (TABLE c.t)' ], 'DELETE FROM c.t');
	check_none('EXCEPT a table without a key', [ 'CREATE TABLE c.t (a int)', 'CREATE TABLE c.u (a int PRIMARY KEY)', 'CREATE PUBLICATION p FOR ALL TABLES EXCEPT (TABLE c.t)' ], 'DELETE FROM c.t');
	check_case($dbh, 'a table beside those of EXCEPT', number => 40, severity => 'error', object => 'table c.t',
		setup => [ 'CREATE TABLE c.t (a int)', 'CREATE TABLE c.u (a int)', 'CREATE PUBLICATION p FOR ALL TABLES EXCEPT (TABLE c.u)' ],
		finding => 'has no primary key to be the replica identity, so that UPDATE and DELETE fail',
		remedy => 'ALTER TABLE c.t ADD PRIMARY KEY (...), or ALTER TABLE c.t REPLICA IDENTITY FULL',
		server => [ @both, 'UPDATE c.u SET a = 2' => '00000', '00000' ], fill => [ ['a'], [] ]);
}
check_case($dbh, 'a foreign child', number => 46, severity => 'warning', object => 'table c.t_1',
	setup => [ 'CREATE TABLE c.t (a int PRIMARY KEY)', 'CREATE FOREIGN TABLE c.t_1 () INHERITS (c.t) SERVER nowhere', 'CREATE PUBLICATION p FOR TABLE ONLY c.t' ],
	finding => 'is a foreign table, whose changes are not published', remedy => 'ALTER TABLE c.t_1 NO INHERIT c.t');
check_case($dbh, 'a child in another schema', number => 48, severity => 'warning', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int PRIMARY KEY)', 'DROP SCHEMA IF EXISTS c2 CASCADE', 'CREATE SCHEMA c2', 'CREATE TABLE c2.t (PRIMARY KEY (a)) INHERITS (c.t)', 'CREATE PUBLICATION p FOR TABLES IN SCHEMA c' ],
	finding => 'has 1 child by inheritance that publication p does not have, nor will it have later ones',
	remedy => 'ALTER PUBLICATION p ADD TABLE ONLY c2.t') if $major >= 15;

# ---- unchanged values --------------------------------------------------------------------

check_case($dbh, 'a toasted value', number => 51, severity => 'note', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int PRIMARY KEY, b text, "C" bytea, d numeric)', 'ALTER TABLE c.t ALTER b SET STORAGE EXTERNAL', 'ALTER TABLE c.t ALTER d SET STORAGE PLAIN', $publication ],
	finding => 'has columns whose unchanged value an UPDATE may leave out: "C", b',
	remedy => 'keep the value the client has, or ALTER TABLE c.t REPLICA IDENTITY FULL and use the option unchanged_toast', fill => [ undef, [] ],
	truth => sub {
		$dbh->do(q{INSERT INTO c.t VALUES (1, repeat('x', 5000))});
		like(sent('p', 'UPDATE c.t SET d = 2'), $_[0] eq 'before' ? qr/^UPDATE N:\('1', u,/m : qr/^UPDATE O:\('1', 'x+\.\.\.\[5000 bytes\]'/m, "the stream ($_[0])");
		$dbh->do('DELETE FROM c.t');
	});
check_case($dbh, 'toasted values of partitions', number => 51, severity => 'note', object => 'table c.t',
	setup => [ 'CREATE TABLE c.t (a int PRIMARY KEY, b text) PARTITION BY LIST (a)', map({ "CREATE TABLE c.t_$_ PARTITION OF c.t FOR VALUES IN ($_)" } 1, 2), $publication ],
	finding => 'has 2 partitions with columns whose unchanged value an UPDATE may leave out: b: c.t_1, c.t_2',
	remedy => 'for each of them: keep the value the client has, or ALTER TABLE ... REPLICA IDENTITY FULL and use the option unchanged_toast',
	each => [ 'c.t_1', 'c.t_2' ], fill => [ undef, [] ]);

# ---- publications ---------------------------------------------------------------------------

check_case($dbh, 'no publication', number => 31, severity => 'error', object => 'database postgres', setup => [],
	finding => 'has no publication', remedy => 'CREATE PUBLICATION ...', fill => [ ['p'] ]);
check_case($dbh, 'an empty publication', number => 33, severity => 'warning', object => 'publication p',
	setup => [ 'CREATE TABLE c.t (a int)', 'CREATE PUBLICATION p' ], finding => 'publishes no table', remedy => 'ALTER PUBLICATION p ADD TABLE ...', fill => [ ['c.t'] ]);
check_case($dbh, 'all of no tables', number => 33, severity => 'warning', object => 'publication p',
	setup => ['CREATE PUBLICATION p FOR ALL TABLES'], finding => 'publishes no table', remedy => 'create a table', fill => [ sub { $dbh->do('CREATE TABLE c.t (a int)') } ]);
check_case($dbh, 'all tables but all', number => 33, severity => 'warning', object => 'publication p',
	setup => [ @parted, 'CREATE PUBLICATION p FOR ALL TABLES EXCEPT (TABLE c.t)' ], finding => 'publishes no table', remedy => 'create a table',
	truth => sub { is($dbh->selectrow_array(q{SELECT count(*) > 0 FROM pg_publication_tables WHERE pubname = 'p'}), $_[0] eq 'before' ? 0 : 1, "the server's list ($_[0])"); },
	fill => [ sub { $dbh->do('CREATE TABLE c.t2 (a int)') } ]) if $major >= 19;
check_case($dbh, 'an empty schema', number => 33, severity => 'warning', object => 'publication p',
	setup => ['CREATE PUBLICATION p FOR TABLES IN SCHEMA c'], finding => 'publishes no table', remedy => 'ALTER PUBLICATION p ADD TABLE ...',
	fill => [ sub { $dbh->do('CREATE TABLE c.t (a int)') } ]) if $major >= 15;

$_->disconnect foreach $dbh;
done_testing();
