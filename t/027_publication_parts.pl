# Row filters, column lists and schemas of publications, case by case: how several
# combine, and their changes between two changes of the data.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use Test::More;

plan skip_all => 'row filters, column lists and publications of schemas came with 15' if server_major() < 15;

my $node = new_node('main');
my $dbh = $node->{dbh};
my $results;

# ---- several at once -----------------------------------------------------------

$results = run_case($dbh, 'filters combine', [ 'flow', 'fhigh' ],
	[ 'CREATE TABLE filters (a int PRIMARY KEY)', 'CREATE PUBLICATION flow FOR TABLE filters WHERE (a < 3)', 'CREATE PUBLICATION fhigh FOR TABLE filters WHERE (a > 7) WITH (publish = insert)' ],
	[ 'INSERT INTO filters SELECT generate_series(1, 9)', 'DELETE FROM filters WHERE a IN (2, 5, 8)' ]);
is(changes_text($results->{text}), <<'END', 'filters are OR-ed, each for its actions');
RELATION "public"."filters" identity=d (*"a")
INSERT N:('1')
INSERT N:('2')
INSERT N:('8')
INSERT N:('9')
DELETE K:('2')
END

$results = run_case($dbh, 'a filter beside none', [ 'flow', 'fall' ],
	['CREATE PUBLICATION fall FOR TABLE filters'], [ 'INSERT INTO filters VALUES (50)', 'DELETE FROM filters WHERE a = 50' ]);
like(changes_text($results->{text}), qr/INSERT N:\('50'\)\nDELETE K:\('50'\)\n\z/, 'a publication without a filter lets all through');

foreach my $beside ('FOR ALL TABLES', 'FOR TABLES IN SCHEMA public')
{
	$results = run_case($dbh, "a filter beside $beside", [ 'flow', 'fwide' ],
		["CREATE PUBLICATION fwide $beside"], [ 'INSERT INTO filters VALUES (60)', 'DROP PUBLICATION fwide', "CREATE PUBLICATION fwide $beside", 'DELETE FROM filters WHERE a = 60' ]);
	like(changes_text($results->{text}), qr/INSERT N:\('60'\)\nDELETE K:\('60'\)|INSERT N:\('60'\)/, "$beside lets all through");
	$dbh->do('DROP PUBLICATION fwide');
}

$results = run_case($dbh, 'the same column lists', [ 'ca', 'cb' ],
	[ 'CREATE TABLE columns (a int PRIMARY KEY, b int, c int)', 'CREATE PUBLICATION ca FOR TABLE columns (a, b)', 'CREATE PUBLICATION cb FOR TABLE columns (b, a)', 'CREATE PUBLICATION cc FOR TABLE columns (a, c)',
		'CREATE PUBLICATION call FOR TABLE columns', 'CREATE PUBLICATION cfull FOR TABLE columns (a, b, c)' ],
	['INSERT INTO columns VALUES (1, 2, 3)']);
is(changes_text($results->{text}), qq{RELATION "public"."columns" identity=d (*"a"; "b")\nINSERT N:('1', '2')\n}, 'the order of a list does not matter');

foreach my $with ('cc', 'call')
{
	$results = run_case($dbh, "column lists that differ: $with", [ 'ca', $with ], [], ['INSERT INTO columns VALUES (' . ($with eq 'cc' ? 2 : 3) . ', 2, 3)']);
	is(changes_text($results->{text}), qq{ERROR 0A000 cannot use different column lists for table "public.columns" in different publications\n}, "the server's error: $with");
}
$results = run_case($dbh, 'a list of all columns beside none', [ 'cfull', 'call' ], [], ['INSERT INTO columns VALUES (4, 5, 6)']);
is(changes_text($results->{text}), qq{RELATION "public"."columns" identity=d (*"a"; "b"; "c")\nINSERT N:('4', '5', '6')\n}, 'they agree');

# ---- row filters ---------------------------------------------------------------

$results = run_case($dbh, 'an UPDATE that crosses the filter', 'cross',
	[ 'CREATE TABLE crossing (a int PRIMARY KEY, b text)', 'CREATE PUBLICATION "cross" FOR TABLE crossing WHERE (a > 10)', q{INSERT INTO crossing VALUES (1, 'x'), (11, 'y')} ],
	[ 'UPDATE crossing SET a = 12 WHERE a = 1', 'UPDATE crossing SET a = 2 WHERE a = 11', 'UPDATE crossing SET a = 13 WHERE a = 12', 'UPDATE crossing SET a = 3 WHERE a = 2', q{UPDATE crossing SET b = 'z'} ]);
is(changes_text($results->{text}), <<'END', 'it becomes an Insert, a Delete, stays, or is left out');
RELATION "public"."crossing" identity=d (*"a"; "b")
INSERT N:('12', 'x')
DELETE K:('11', n)
UPDATE K:('12', n) N:('13', 'x')
UPDATE N:('13', 'z')
END

my $big = q{(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 300) i)};
$results = run_case($dbh, 'toasted columns and filters', 'toasted',
	[ 'CREATE TABLE toasted (a int PRIMARY KEY, t text, b int)', 'ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL', 'ALTER TABLE toasted REPLICA IDENTITY FULL',
		'CREATE PUBLICATION toasted FOR TABLE toasted WHERE (length(t) > 100 AND b > 0)', "INSERT INTO toasted VALUES (1, $big, 0), (2, $big, 5)" ],
	[ 'UPDATE toasted SET b = 1 WHERE a = 1', 'UPDATE toasted SET b = 6 WHERE a = 2', 'UPDATE toasted SET b = 0 WHERE a = 2', q{UPDATE toasted SET t = 'short' WHERE a = 1}, "UPDATE toasted SET t = $big WHERE a = 1", 'DELETE FROM toasted' ]);
is(join("\n", map { s/'[0-9a-f]{60}\.\.\.\[9600 bytes\]'/BIG/gr } split /\n/, changes_text($results->{text})) . "\n", <<'END', 'an unchanged value is taken from the old tuple');
RELATION "public"."toasted" identity=f (*"a"; *"t"; *"b")
INSERT N:('1', BIG, '1')
UPDATE O:('2', BIG, '5') N:('2', u, '6')
DELETE O:('2', BIG, '6')
DELETE O:('1', BIG, '1')
INSERT N:('1', BIG, '1')
DELETE O:('1', BIG, '1')
END

$results = run_case($dbh, 'a filter that fails', 'failing',
	[ 'CREATE TABLE failing (a int PRIMARY KEY)', 'CREATE PUBLICATION failing FOR TABLE failing WHERE (100 / a > 0)' ],
	[ 'INSERT INTO failing VALUES (1)', 'INSERT INTO failing VALUES (0)', 'INSERT INTO failing VALUES (2)' ]);
is(changes_text($results->{text}), "ERROR 22012 division by zero\n", 'its error');

$results = run_case($dbh, 'filters over nulls and types', 'nulls',
	[ q{CREATE TABLE nulls (a int PRIMARY KEY, t text, d date, b bool, n numeric, ar int[])}, 'ALTER TABLE nulls REPLICA IDENTITY FULL',
		q{CREATE PUBLICATION nulls FOR TABLE nulls WHERE (b OR t IS NULL AND d > '2024-01-01' OR n = 'NaN' OR ar @> '{1}' OR CASE WHEN a > 100 THEN true END)} ],
	[ 'INSERT INTO nulls (a) VALUES (1)', 'INSERT INTO nulls (a, b) VALUES (2, true), (3, false)', q{INSERT INTO nulls (a, d) VALUES (4, 'infinity')}, q{INSERT INTO nulls (a, n) VALUES (5, 'NaN'), (6, 1)},
		q{INSERT INTO nulls (a, t, ar) VALUES (7, '', '{1,2}'), (8, '', '{}'), (101, '', NULL)} ]);
is(join(',', changes_text($results->{text}) =~ /INSERT N:\('(\d+)'/g), '2,4,5,7,101', 'null is not true');

$results = run_case($dbh, 'a filter changed between two changes', 'changing',
	[ 'CREATE TABLE changing (a int PRIMARY KEY)', 'CREATE PUBLICATION changing FOR TABLE changing WHERE (a < 5)' ],
	[ 'BEGIN', 'INSERT INTO changing VALUES (1), (10)', 'ALTER PUBLICATION changing SET TABLE changing WHERE (a > 5)', 'INSERT INTO changing VALUES (2), (11)', 'COMMIT', 'INSERT INTO changing VALUES (3), (12)' ]);
is(join(',', changes_text($results->{text}) =~ /INSERT N:\('(\d+)'/g), '1,11,12', 'each change goes by the filter of its time');

# ---- column lists --------------------------------------------------------------

$results = run_case($dbh, 'a column list changed between two changes', 'lists',
	[ 'CREATE TABLE lists (a int PRIMARY KEY, b int, c int)', 'CREATE PUBLICATION lists FOR TABLE lists (a, b)' ],
	[ 'BEGIN', 'INSERT INTO lists VALUES (1, 2, 3)', 'ALTER PUBLICATION lists SET TABLE lists (a, c)', 'INSERT INTO lists VALUES (2, 3, 4)', 'COMMIT', 'ALTER PUBLICATION lists SET TABLE lists', 'UPDATE lists SET a = a + 10' ]);
is(changes_text($results->{text}), <<'END', 'announced again');
RELATION "public"."lists" identity=d (*"a"; "b")
INSERT N:('1', '2')
RELATION "public"."lists" identity=d (*"a"; "c")
INSERT N:('2', '4')
RELATION "public"."lists" identity=d (*"a"; "b"; "c")
UPDATE K:('1', n, n) N:('11', '2', '3')
UPDATE K:('2', n, n) N:('12', '3', '4')
END

$results = run_case($dbh, 'a list of more than 100 columns', 'wide',
	[ 'CREATE TABLE wide (' . join(', ', map { "c$_ int" } 1 .. 300) . ')', 'CREATE PUBLICATION wide FOR TABLE wide (' . join(', ', map { 'c' . $_ * 2 } 1 .. 130) . ') WITH (publish = insert)' ],
	[ 'INSERT INTO wide VALUES (' . join(', ', 1 .. 300) . ')' ]);
like(changes_text($results->{text}), qr/^INSERT N:\('2', '4', .*, '258', '260'\)$/m, 'the 130 columns of the list');

$results = run_case($dbh, 'unchanged TOAST and a column list', 'listtoast',
	[ 'CREATE TABLE listtoast (a int PRIMARY KEY, x text, t text, b int)', 'ALTER TABLE listtoast ALTER t SET STORAGE EXTERNAL', 'ALTER TABLE listtoast DROP COLUMN x', "INSERT INTO listtoast VALUES (1, $big, 2)", 'CREATE PUBLICATION listtoast FOR TABLE listtoast (t, a)' ],
	['UPDATE listtoast SET b = 3']);
is(changes_text($results->{text}), qq{RELATION "public"."listtoast" identity=d (*"a"; "t")\nUPDATE N:('1', u)\n}, 'columns in the order of the table');

# ---- schemas -------------------------------------------------------------------

$results = run_case($dbh, 'a schema that is renamed, tables moved in and out', 'schemas',
	[ 'CREATE SCHEMA sa', 'CREATE SCHEMA sb', 'CREATE TABLE sa.t (a int PRIMARY KEY)', 'CREATE TABLE sb.u (a int PRIMARY KEY)', 'CREATE PUBLICATION schemas FOR TABLES IN SCHEMA sa' ],
	[ 'INSERT INTO sa.t VALUES (1)', 'INSERT INTO sb.u VALUES (1)', 'ALTER SCHEMA sa RENAME TO "s A"', 'INSERT INTO "s A".t VALUES (2)', 'ALTER TABLE sb.u SET SCHEMA "s A"', 'INSERT INTO "s A".u VALUES (2)',
		'BEGIN', 'INSERT INTO "s A".t VALUES (3)', 'ALTER TABLE "s A".t SET SCHEMA sb', 'INSERT INTO sb.t VALUES (4)', 'ALTER TABLE sb.t SET SCHEMA "s A"', 'INSERT INTO "s A".t VALUES (5)', 'COMMIT',
		'CREATE TABLE "s A".v (a int)', 'INSERT INTO "s A".v VALUES (1)', 'ALTER PUBLICATION schemas ADD TABLES IN SCHEMA sb', 'CREATE TABLE sb.w (a int)', 'INSERT INTO sb.w VALUES (1)', 'ALTER PUBLICATION schemas DROP TABLES IN SCHEMA sb', 'INSERT INTO sb.w VALUES (2)' ]);
# Whether a renamed schema is announced at once depends on the server's version.
my $text = changes_text($results->{text});
is(join(' ', $text =~ /INSERT N:\('(\d)'\)/g), '1 2 2 3 5 1 1', 'what was in the schema at its time');
like($text, qr/RELATION "s A"."u".*RELATION "s A"."v".*RELATION "sb"."w"/s, 'tables that came later');

$dbh->disconnect;
$node->stop;
done_testing();
