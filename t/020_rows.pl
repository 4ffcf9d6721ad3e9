# Rows and columns, case by case: replica identities, TOAST, odd values and
# types, wide and empty tables. Each is compared with pgoutput, and what makes
# the case is asserted.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use Test::More;

my $node = new_node('main', conf => q{logical_decoding_work_mem = '64MB'});
my $dbh = $node->{dbh};

sub run_rows { return run_case($dbh, $_[0], 'all', @_[ 1, 2 ]) }
sub text { return changes_text($_[0]{text}) }

$dbh->do('CREATE PUBLICATION "all" FOR ALL TABLES');

# ---- replica identities --------------------------------------------------------

my $results = run_rows('a column added with a default to a row under FULL',
	[ 'CREATE TABLE fast_default (id int PRIMARY KEY, t text)', 'ALTER TABLE fast_default REPLICA IDENTITY FULL', q{INSERT INTO fast_default VALUES (1, 'x')} ],
	[ q{ALTER TABLE fast_default ADD COLUMN added int DEFAULT 42 NOT NULL}, q{UPDATE fast_default SET t = 'y'}, 'DELETE FROM fast_default' ]);
is(text($results), <<'END', 'the old tuple holds the default');
RELATION "public"."fast_default" identity=f (*"id"; *"t"; *"added")
UPDATE O:('1', 'x', '42') N:('1', 'y', '42')
DELETE O:('1', 'y', '42')
END

# From 18 on such an UPDATE is only possible where generated columns are published.
my $generated = server_major() >= 18;
$dbh->do('ALTER PUBLICATION "all" SET (publish_generated_columns = stored)') if $generated;
$results = run_rows('dropped and generated columns under FULL',
	[ 'CREATE TABLE holes (gone int, id int PRIMARY KEY, gen int GENERATED ALWAYS AS (id * 2) STORED, t text, gone2 text)',
		'ALTER TABLE holes REPLICA IDENTITY FULL', 'ALTER TABLE holes DROP COLUMN gone, DROP COLUMN gone2',
		q{INSERT INTO holes (id, t) VALUES (1, 'a')} ],
	[ q{UPDATE holes SET t = 'b'}, 'DELETE FROM holes', q{INSERT INTO holes (id, t) VALUES (2, NULL)} ]);
is(text($results), ($generated ? <<'PUBLISHED' : <<'END'), 'columns agree in Relation, old and new tuple');
RELATION "public"."holes" identity=f (*"id"; *"gen"; *"t")
UPDATE O:('1', '2', 'a') N:('1', '2', 'b')
DELETE O:('1', '2', 'b')
INSERT N:('2', '4', n)
PUBLISHED
RELATION "public"."holes" identity=f (*"id"; *"t")
UPDATE O:('1', 'a') N:('1', 'b')
DELETE O:('1', 'b')
INSERT N:('2', n)
END
$dbh->do('ALTER PUBLICATION "all" SET (publish_generated_columns = none)') if $generated;

$results = run_rows('the default identity',
	[ 'CREATE TABLE keyed (a text, id int PRIMARY KEY, b text)', q{INSERT INTO keyed VALUES ('a', 1, 'b')} ],
	[ q{UPDATE keyed SET a = 'c'}, 'UPDATE keyed SET id = 2', 'DELETE FROM keyed' ]);
is(text($results), <<'END', 'an old tuple only where the key changed, others in it are null');
RELATION "public"."keyed" identity=d ("a"; *"id"; "b")
UPDATE N:('c', '1', 'b')
UPDATE K:(n, '1', n) N:('c', '2', 'b')
DELETE K:(n, '2', n)
END

$results = run_rows('identity by index, switched in the middle of a transaction',
	[ 'CREATE TABLE switched (a int NOT NULL UNIQUE, b int NOT NULL UNIQUE, c text)', 'ALTER TABLE switched REPLICA IDENTITY USING INDEX switched_a_key',
		q{INSERT INTO switched VALUES (1, 2, 'c')} ],
	[ 'BEGIN', 'UPDATE switched SET a = 10', 'UPDATE switched SET b = 20', 'ALTER TABLE switched REPLICA IDENTITY USING INDEX switched_b_key',
		'UPDATE switched SET a = 11', 'UPDATE switched SET b = 21', 'ALTER TABLE switched REPLICA IDENTITY FULL', 'UPDATE switched SET a = 12',
		'ALTER TABLE switched REPLICA IDENTITY NOTHING', 'ALTER PUBLICATION "all" SET (publish = \'insert, delete, truncate\')', 'UPDATE switched SET a = 13', 'INSERT INTO switched VALUES (5, 6)', 'COMMIT',
		'ALTER TABLE switched REPLICA IDENTITY USING INDEX switched_b_key', q{ALTER PUBLICATION "all" SET (publish = 'insert, update, delete, truncate')}, 'DELETE FROM switched' ]);
is(text($results), <<'END', 'each change has the identity of its time');
RELATION "public"."switched" identity=i (*"a"; "b"; "c")
UPDATE K:('1', n, n) N:('10', '2', 'c')
UPDATE N:('10', '20', 'c')
RELATION "public"."switched" identity=i ("a"; *"b"; "c")
UPDATE N:('11', '20', 'c')
UPDATE K:(n, '20', n) N:('11', '21', 'c')
RELATION "public"."switched" identity=f (*"a"; *"b"; *"c")
UPDATE O:('11', '21', 'c') N:('12', '21', 'c')
RELATION "public"."switched" identity=n ("a"; "b"; "c")
INSERT N:('5', '6', n)
RELATION "public"."switched" identity=i ("a"; *"b"; "c")
DELETE K:(n, '21', n)
DELETE K:(n, '6', n)
END

# A transaction that deletes without an identity before a publication of deletes
# exists: the publication is in force when the change is decoded, as it becomes
# visible to transactions that are under way.
{
	$dbh->do('CREATE TABLE no_key (a int)');
	$dbh->do('ALTER PUBLICATION "all" RENAME TO other');
	$dbh->do('DROP PUBLICATION other');
	$dbh->do('INSERT INTO no_key VALUES (1), (2)');
	my $pair = create_slot_pair($dbh, 'no_key');
	my $second = connect_db($node);
	$dbh->do('BEGIN');
	$dbh->do('INSERT INTO no_key VALUES (3)');
	$dbh->do('DELETE FROM no_key WHERE a = 1');
	$second->do('CREATE PUBLICATION "all" FOR ALL TABLES');
	$dbh->do('INSERT INTO no_key VALUES (4)');
	$dbh->do('COMMIT');
	same_streams($dbh, $pair, 'DELETE with no key', 'all');
	drop_slot_pair($dbh, $pair);
	$second->disconnect;
}

# ---- tables of odd shapes ------------------------------------------------------

$results = run_rows('a table without columns',
	['CREATE TABLE empty ()'],
	[ 'INSERT INTO empty DEFAULT VALUES', 'TRUNCATE empty', 'ALTER TABLE empty ADD COLUMN a int', 'INSERT INTO empty VALUES (1)',
		'ALTER TABLE empty DROP COLUMN a', 'INSERT INTO empty DEFAULT VALUES' ]);
is(text($results), <<'END', 'no columns, one, and none again; Relation again for the new file of TRUNCATE');
RELATION "public"."empty" identity=d ()
INSERT N:()
RELATION "public"."empty" identity=d ()
TRUNCATE flags=0
RELATION "public"."empty" identity=d ("a")
INSERT N:('1')
RELATION "public"."empty" identity=d ()
INSERT N:()
END

my @many = map { "c$_" } 1 .. 1600;
$results = run_rows('1600 columns', [ 'CREATE TABLE wide (' . join(', ', map { "$_ int" } @many) . ')' ],
	[ 'INSERT INTO wide VALUES (' . join(', ', 1 .. 1600) . ')', 'INSERT INTO wide (c1600) VALUES (7)' ]);
like(text($results), qr/^INSERT N:\('1', .* '1600'\)\nINSERT N:\((?:n, ){1599}'7'\)$/m, 'all columns are there');

my $long = 'n' x 63;
my $odd = "\"a \"\"b\"\"\n\xc3\xa9\xe6\x97\xa5\"";
my $odd_type = "\"\n\"\"type\"";
$results = run_rows('names: 63 bytes, multibyte, quotes, newlines',
	[ "CREATE SCHEMA $odd", "CREATE TABLE $odd.$odd ($odd int PRIMARY KEY, $long text)", "CREATE TABLE $long ($long text)", "CREATE TYPE $odd.$odd_type AS ENUM ('x')",
		"ALTER TABLE $odd.$odd ADD COLUMN e $odd.$odd_type" ],
	[ "INSERT INTO $odd.$odd VALUES (1, 'x', 'x')", "INSERT INTO $long VALUES ('y')", "UPDATE $odd.$odd SET $long = 'z'" ]);
like(text($results), qr/RELATION "public"."$long" identity=d \("$long"\)/, 'a name of 63 bytes');
like(text($results), qr/TYPE "a "b"\\x0a\\xc3\\xa9\\xe6\\x97\\xa5"\."\\x0a"type"/, 'a type in a schema that needs quotes');

# ---- TOAST ---------------------------------------------------------------------

my $big = q{(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 300) i)};
foreach my $identity ('DEFAULT', 'FULL')
{
	my $table = "toast_\L$identity";
	$results = run_rows("TOAST, identity $identity",
		[ "CREATE TABLE $table (id int PRIMARY KEY, ext text, small text, compressed text, main text)", "ALTER TABLE $table ALTER ext SET STORAGE EXTERNAL, ALTER main SET STORAGE MAIN",
			"ALTER TABLE $table REPLICA IDENTITY $identity", "INSERT INTO $table VALUES (1, $big, 'small', repeat('c', 3000), repeat('m', 2500)), (2, $big, 's', repeat('d', 100000), repeat('m', 4000))" ],
		[ "UPDATE $table SET small = 'changed'", "UPDATE $table SET ext = 'x' || $big WHERE id = 1", "UPDATE $table SET id = 3 WHERE id = 2",
			"UPDATE $table SET ext = 'short'", "UPDATE $table SET compressed = repeat('e', 200)", "DELETE FROM $table",
			'BEGIN', "INSERT INTO $table SELECT i, $big, 'row ' || i, repeat('c', 3000), NULL FROM generate_series(10, 30) i", "UPDATE $table SET small = 'again'", 'COMMIT' ]);
	my @updates = grep { /^UPDATE/ } plain_stream($results->{text});
	if ($identity eq 'FULL')
	{
		like($updates[0], qr/^UPDATE O:\('1', '[0-9a-f]{60}...\[9600 bytes\]', 'small'.* N:\('1', u, 'changed'/, 'FULL: unchanged is u, the old tuple holds the value');
	}
	else
	{
		like($updates[0], qr/^UPDATE N:\('1', u, 'changed'/, 'DEFAULT: unchanged is u');
	}
	like($updates[2], qr/N:\('1', 'x[0-9a-f]{59}...\[9601 bytes\]'/, 'a changed value is there');
	is((() = join("\n", plain_stream($results->{streamed})) =~ /^STREAM START/mg) > 0, 1, 'it was streamed');
}

$results = run_rows('a toasted key',
	[ 'CREATE TABLE toasted_key (k text NOT NULL, v int)', 'ALTER TABLE toasted_key ALTER k SET STORAGE EXTERNAL', 'ALTER TABLE toasted_key REPLICA IDENTITY FULL',
		"INSERT INTO toasted_key VALUES ($big, 1)",
		'CREATE TABLE keyed_toast (k text PRIMARY KEY, v int)', 'ALTER TABLE keyed_toast ALTER k SET STORAGE EXTERNAL', q{INSERT INTO keyed_toast VALUES (repeat('k', 2600), 1)} ],
	[ 'UPDATE toasted_key SET v = 2', 'DELETE FROM toasted_key', 'UPDATE keyed_toast SET v = 2', q{UPDATE keyed_toast SET k = repeat('l', 2610)}, 'DELETE FROM keyed_toast' ]);
like(text($results), qr/UPDATE K:\('k{60}...\[2600 bytes\]', n\) N:\('l{60}...\[2610 bytes\]', '2'\)/, 'an external key is sent whole');

$results = run_rows('COPY with TOAST, and an old tuple larger than a page',
	[ 'CREATE TABLE copied (id int PRIMARY KEY, t text, u text)', 'ALTER TABLE copied ALTER t SET STORAGE EXTERNAL, ALTER u SET STORAGE EXTERNAL', 'ALTER TABLE copied REPLICA IDENTITY FULL' ],
	[ sprintf(q{COPY (SELECT i, %s || i, %s FROM generate_series(1, 12) i) TO '%s/copy'}, $big, $big, $node->data_dir),
		sprintf(q{COPY copied FROM '%s/copy'}, $node->data_dir), 'UPDATE copied SET id = id + 100', 'DELETE FROM copied WHERE id > 105' ]);
is((() = text($results) =~ /^INSERT N:\('\d+', '[0-9a-f]{60}...\[960\d bytes\]'/mg), 12, 'all rows of a multi-insert have their values');

# ---- values --------------------------------------------------------------------

my @values = (
	numeric => [ 'NaN', 'Infinity', '-Infinity', '0', '0.00', '-1.50', '1e130', '1e-130', '10000', '9999.99990000', '12345678901234567890.123456789' ],
	real => [ 'NaN', 'Infinity', '-Infinity', '-0', '1e-45', '3.4028235e38', '1e15', '0.1' ],
	float8 => [ 'NaN', 'Infinity', '-Infinity', '-0', '4.9e-324', '1.7976931348623157e308', '0.1', '1e22', '123456789012345678' ],
	date => [ 'infinity', '-infinity', '4714-11-24 BC', '0001-01-01 BC', '0001-01-01', '5874897-12-31', '2000-02-29' ],
	time => [ '00:00:00', '24:00:00', '23:59:59.999999', '01:02:03.4' ],
	timetz => [ '24:00:00-15:59', '00:00:00+15:59:59', '12:00:00.5+05:30' ],
	timestamp => [ 'infinity', '-infinity', '4714-11-24 00:00:00 BC', '294276-12-31 23:59:59.999999', '1999-12-31 23:59:59.999999' ],
	timestamptz => [ 'infinity', '-infinity', '4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59.999999+00', '2024-07-01 00:00:00+00' ],
	interval => [ '0', '1 year 2 mons -3 days +04:05:06.789', '-1 year -2 mons +3 days -04:05:06.000001', '-00:00:01', '178000000 years', '-178000000 years',
		server_major() >= 17 ? ('infinity', '-infinity') : () ],
	'int[]' => [ '{}', '{NULL}', '{1,NULL,-3}', '{{1,2},{3,4}}', '[0:1]={5,6}', '[-1:0][2:3]={{1,2},{3,4}}' ],
	'text[]' => [ '{}', '{""}', '{NULL,"NULL"}', '{"a\"b","c\\\\d","e f"}' ],
	text => [ '', ' ', "\n\t\\'\"", "\xc3\xa9\xf0\x9f\x90\x98" ],
	bytea => [ '\\x', '\\x00', '\\x0001ff27225c0a' ],
	money => [ '-92233720368547758.08', '0.01' ],
	bit => [ '1', '0' ], varbit => [ '', '10101010101' ], uuid => ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
	inet => [ '192.168.1.5/24', '::ffff:1.2.3.4' ], cidr => ['10/8'], macaddr => ['08:00:2b:01:02:03'],
	jsonb => [ '{"b":[1,{"c":null}],"a":1.50}', '"\\u00e9\\n"', '[]' ], json => ['{"a" : [ 1,2 ],"a":null}'], xml => [ '<a b="1">&lt;</a>', '' ],
	tsvector => [q{'a':1A,2B 'b c':3}], tsquery => [q{'a' & !'b':*C <-> 'd'}], point => ['(1e300,-0)'], polygon => ['((0,0),(1,1),(2,0))'],
	int4range => [ 'empty', '(,)', '[1,2)' ], tstzrange => ['["2024-01-01 00:00:00+00",infinity)'], nummultirange => [ '{}', '{[1.0,2.50),(3,4]}' ],
	'"char"' => [ '', 'x' ], name => ['n'], oid => ['4294967295'], pg_lsn => ['16/B374D848'], regtype => ['integer'], jsonpath => ['$."a"[*]'],
	int2vector => ['1 2'], xid8 => ['18446744073709551615']);
my (@columns, @rows);
while (my ($type, $list) = splice @values, 0, 2)
{
	push @columns, $type;
	push @rows, [ scalar @columns, $_ ] foreach @$list;
}
$dbh->do('CREATE TABLE every_type (id int PRIMARY KEY, ' . join(', ', map { "v$_ $columns[$_ - 1]" } 1 .. @columns) . ')');
my $pair = create_slot_pair($dbh, 'values_pair');
my $id = 0;
foreach my $row (@rows)
{
	$dbh->do("INSERT INTO every_type (id, v$row->[0]) VALUES (?, CAST(? AS text)::" . $columns[ $row->[0] - 1 ] . ')', undef, ++$id, $row->[1]);
}
foreach my $settings (
	[], [ DateStyle => 'German, DMY', IntervalStyle => 'sql_standard' ], [ DateStyle => 'SQL, MDY', IntervalStyle => 'iso_8601', TimeZone => 'America/New_York' ],
	[ DateStyle => 'Postgres, DMY', IntervalStyle => 'postgres_verbose', TimeZone => 'Asia/Kolkata' ], [ DateStyle => 'SQL, DMY', TimeZone => '<X>-01:02' ],
	(map { [ extra_float_digits => $_ ] } -15, -5, 0, 1, 3), [ bytea_output => 'escape', xmlbinary => 'hex' ], [ search_path => '' ])
{
	set_session($dbh, @$settings);
	same_stream($dbh, $pair, "values, @$settings, binary $_", options => [ standard_options('all', binary => $_) ]) foreach 'false', 'true';
	$dbh->do('RESET ALL');
}
my $stream = same_stream($dbh, $pair, 'values by default', options => [ standard_options('all') ]);
is((() = join("\n", plain_stream($stream)) =~ /^INSERT N:/mg), scalar @rows, 'a row for each value');
drop_slot_pair($dbh, $pair);

# ---- types ---------------------------------------------------------------------

$results = run_rows('types of one\'s own, changed while they are used',
	[ 'CREATE SCHEMA "Odd Schema"', q{CREATE TYPE "Odd Schema"."My Enum" AS ENUM ('one', 'two')}, 'CREATE TYPE no_label AS ENUM ()',
		'CREATE DOMAIN enum_domain AS "Odd Schema"."My Enum"', 'CREATE DOMAIN array_domain AS int[] CHECK (array_length(VALUE, 1) < 5)', 'CREATE DOMAIN positive AS int CHECK (VALUE > 0)',
		'CREATE TYPE inner_type AS (a int, b text)', 'CREATE TYPE outer_type AS (i inner_type, e "Odd Schema"."My Enum", n numeric[])',
		'CREATE TYPE textrange AS RANGE (subtype = text)',
		'CREATE TABLE own_types (id int PRIMARY KEY, e "Odd Schema"."My Enum", n no_label, ed enum_domain, ad array_domain, da positive[], o outer_type, r textrange, m textmultirange, ea "Odd Schema"."My Enum"[])' ],
	[ q{INSERT INTO own_types VALUES (1, 'one', NULL, 'two', '{1,2}', '{3,NULL}', '("(1,""x y"")",one,"{1.5,NaN}")', '[a,c)', '{[a,b),[c,d)}', '{one,NULL}')},
		q{ALTER TYPE "Odd Schema"."My Enum" ADD VALUE 'one and a half' AFTER 'one'}, q{INSERT INTO own_types (id, e) VALUES (2, 'one and a half')},
		q{ALTER TYPE "Odd Schema"."My Enum" RENAME VALUE 'one' TO 'uno'}, q{UPDATE own_types SET e = 'uno' WHERE id = 2}, q{UPDATE own_types SET id = 3 WHERE id = 1},
		'ALTER TYPE "Odd Schema"."My Enum" RENAME TO renamed', q{INSERT INTO own_types (id, e) VALUES (4, 'two')},
		'ALTER TYPE inner_type RENAME ATTRIBUTE b TO c CASCADE', q{INSERT INTO own_types (id, o) VALUES (5, '("(1,y)",two,)')},
		'BEGIN', 'ALTER TYPE "Odd Schema".renamed RENAME TO "again renamed"', q{INSERT INTO own_types (id, e) VALUES (6, 'uno')}, 'ALTER TYPE "Odd Schema"."again renamed" SET SCHEMA public', q{INSERT INTO own_types (id, e) VALUES (7, 'uno')}, 'COMMIT' ]);
like(text($results), qr/^INSERT N:\('1', 'one', n, 'two', '\{1,2\}', .*^INSERT N:\('2', 'one and a half'.*^UPDATE N:\('2', 'uno'.*^UPDATE K:.*N:\('3', 'uno'/ms, 'labels as they were');

{
	$results = run_rows('binary, and types without a send function',
		['CREATE TABLE no_send (id int PRIMARY KEY, a aclitem, t text)'],
		[ q{INSERT INTO no_send VALUES (1, makeaclitem(0, 10, 'SELECT', false), 't')}, q{INSERT INTO no_send VALUES (2, NULL, NULL)} ]);
	my ($line) = grep { /^INSERT/ } plain_stream($results->{binary});
	like($line, qr/^INSERT N:\(b:00000001, '=r\/[^']+', b:74\)$/, 'that column alone is text');
}

$node->{dbh}->disconnect;
$node->stop;
done_testing();
