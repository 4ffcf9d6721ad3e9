# Publications, case by case: how several combine, all tables, and their changes
# between two changes of the data. 027_publication_parts.pl has row filters, column
# lists and schemas.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use Test::More;

my $node = new_node('main');
my $dbh = $node->{dbh};
my $major = server_major();
my $results;

# ---- several at once -----------------------------------------------------------

$results = run_case($dbh, 'actions combine', [ 'pins', 'pdel' ],
	[ 'CREATE TABLE actions (a int PRIMARY KEY)', 'CREATE PUBLICATION pins FOR TABLE actions WITH (publish = insert)', 'CREATE PUBLICATION pdel FOR TABLE actions WITH (publish = delete)' ],
	[ 'INSERT INTO actions VALUES (1)', 'UPDATE actions SET a = 2', 'DELETE FROM actions', 'TRUNCATE actions' ]);
is(changes_text($results->{text}), <<'END', 'what either publishes');
RELATION "public"."actions" identity=d (*"a")
INSERT N:('1')
DELETE K:('2')
END

# ---- all tables ----------------------------------------------------------------

$results = run_case($dbh, 'all tables, and what is no table of theirs', 'alltables',
	[ 'CREATE PUBLICATION alltables FOR ALL TABLES' ],
	[ 'CREATE UNLOGGED TABLE un (a int)', 'INSERT INTO un VALUES (1)', 'CREATE TEMP TABLE te (a int)', 'INSERT INTO te VALUES (1)', 'CREATE MATERIALIZED VIEW mv AS SELECT 1 AS a', 'REFRESH MATERIALIZED VIEW mv',
		'CREATE SEQUENCE sq', q{SELECT nextval('sq')}, 'CREATE TABLE pl (a int)', 'INSERT INTO pl VALUES (1)', 'ALTER TABLE un SET LOGGED', 'INSERT INTO un VALUES (2)', 'ALTER TABLE pl SET UNLOGGED', 'INSERT INTO pl VALUES (2)',
		q{CREATE VIEW vi AS SELECT * FROM un}, 'INSERT INTO vi VALUES (3)', 'CREATE TABLE cta AS SELECT 1 AS a', 'SELECT 2 AS a INTO sel' ]);
is(changes_text($results->{text}), <<'END', 'permanent tables alone');
RELATION "public"."pl" identity=d ("a")
INSERT N:('1')
RELATION "public"."un" identity=d ("a")
INSERT N:('2')
INSERT N:('3')
RELATION "public"."cta" identity=d ("a")
INSERT N:('1')
RELATION "public"."sel" identity=d ("a")
INSERT N:('2')
END
$dbh->do('DROP PUBLICATION alltables');

# ---- publications that change, are missing, come and go ------------------------

# What is expected of a stream in which a table is announced again since a publication of
# others came: 14 forgets what it announced when the relation changes, and then alone;
# from 18 on only the tables that the publication is about are invalidated.
sub announced
{
	my ($text) = @_;
	return $major >= 15 && $major < 18 ? $text =~ s/^again: //gmr : $text =~ s/^again: .*\n//gmr;
}

$results = run_case($dbh, 'another publication that comes', 'mine',
	[ 'CREATE TABLE mine (a int PRIMARY KEY)', 'CREATE TABLE others (a int PRIMARY KEY)', 'CREATE PUBLICATION mine FOR TABLE mine' ],
	[ 'INSERT INTO mine VALUES (1)', 'CREATE PUBLICATION others FOR TABLE others', 'INSERT INTO mine VALUES (2)', 'ALTER TABLE mine ADD COLUMN b int', 'INSERT INTO mine VALUES (3)' ]);
is(changes_text($results->{text}), announced(<<'END'), 'the table is announced again, from 15 to 17, and when it changes itself');
RELATION "public"."mine" identity=d (*"a")
INSERT N:('1')
again: RELATION "public"."mine" identity=d (*"a")
INSERT N:('2')
RELATION "public"."mine" identity=d (*"a"; "b")
INSERT N:('3', n)
END

# What publications say of a table 14 asks again only when a publication changes.
$results = run_case($dbh, 'a table that becomes a published partition', 'parent',
	[ 'CREATE TABLE parent (a int PRIMARY KEY) PARTITION BY RANGE (a)', 'CREATE TABLE alone (a int PRIMARY KEY)', 'CREATE PUBLICATION parent FOR TABLE parent' ],
	[ 'INSERT INTO alone VALUES (1)', 'ALTER TABLE parent ATTACH PARTITION alone DEFAULT', 'INSERT INTO alone VALUES (2)', 'CREATE PUBLICATION another', 'INSERT INTO alone VALUES (3)', 'ALTER TABLE parent DETACH PARTITION alone', 'INSERT INTO alone VALUES (4)' ]);
is(join(' ', changes_text($results->{text}) =~ /INSERT N:\('(\d)'\)/g), $major >= 15 ? '2 3' : '3 4', 'what is published of it');

$results = run_case($dbh, 'ALTER PUBLICATION between two changes of one transaction', 'altered',
	[ 'CREATE TABLE al1 (a int PRIMARY KEY)', 'CREATE TABLE al2 (a int PRIMARY KEY)', 'CREATE PUBLICATION altered FOR TABLE al1' ],
	[ 'BEGIN', 'INSERT INTO al1 VALUES (1)', 'INSERT INTO al2 VALUES (1)', 'ALTER PUBLICATION altered SET TABLE al2', 'INSERT INTO al1 VALUES (2)', 'INSERT INTO al2 VALUES (2)', q{ALTER PUBLICATION altered SET (publish = 'delete')},
		'INSERT INTO al2 VALUES (3)', 'DELETE FROM al2 WHERE a = 1', 'SAVEPOINT s', q{ALTER PUBLICATION altered SET (publish = 'insert')}, 'INSERT INTO al2 VALUES (4)', 'ROLLBACK TO s', 'INSERT INTO al2 VALUES (5)', 'DELETE FROM al2 WHERE a = 2', 'COMMIT' ]);
is(changes_text($results->{text}), <<'END', 'each change goes by the publication of its time; the table is announced again');
RELATION "public"."al1" identity=d (*"a")
INSERT N:('1')
RELATION "public"."al2" identity=d (*"a")
INSERT N:('2')
RELATION "public"."al2" identity=d (*"a")
DELETE K:('1')
DELETE K:('2')
END

{
	my $other = connect_db($node);
	$results = run_case($dbh, 'ALTER PUBLICATION while an older transaction is open', 'older',
		[ 'CREATE TABLE older1 (a int PRIMARY KEY)', 'CREATE TABLE older2 (a int PRIMARY KEY)', 'CREATE PUBLICATION older FOR TABLE older1' ],
		[ 'BEGIN', 'INSERT INTO older2 VALUES (1)', sub { $other->do('ALTER PUBLICATION older ADD TABLE older2') }, 'INSERT INTO older2 VALUES (2)',
			sub { $other->do('ALTER PUBLICATION older DROP TABLE older2') }, 'INSERT INTO older2 VALUES (3)', 'INSERT INTO older1 VALUES (4)', sub { $other->do(q{ALTER PUBLICATION older SET (publish = 'delete')}) }, 'INSERT INTO older1 VALUES (5)', 'DELETE FROM older1', 'COMMIT' ]);
	# The minor releases of May 2025 tell open transactions of it; before, a transaction
	# goes by what was published of a table at its first change.
	my $told = server_minor_from(14 => 18, 15 => 13, 16 => 9, 17 => 5);
	is(changes_text($results->{text}), $told ? <<'END' : <<'END_OF_OLD', 'it is in force for the changes after it');
RELATION "public"."older2" identity=d (*"a")
INSERT N:('2')
RELATION "public"."older1" identity=d (*"a")
INSERT N:('4')
RELATION "public"."older1" identity=d (*"a")
DELETE K:('4')
DELETE K:('5')
END
RELATION "public"."older1" identity=d (*"a")
INSERT N:('4')
INSERT N:('5')
DELETE K:('4')
DELETE K:('5')
END_OF_OLD
	$other->disconnect;
}

my $exists = 'INSERT INTO missing VALUES (%d)';
$results = run_case($dbh, 'a publication that does not exist yet', 'later',
	['CREATE TABLE missing (a int PRIMARY KEY)'], [ 'INSERT INTO missing VALUES (1)', 'CREATE PUBLICATION later FOR TABLE missing', 'INSERT INTO missing VALUES (2)' ]);
if ($major < 18)
{
	is(changes_text($results->{text}), qq{ERROR 42704 publication "later" does not exist\n}, 'an error up to 17');
}
else
{
	is(changes_text($results->{text}), qq{RELATION "public"."missing" identity=d (*"a")\nINSERT N:('2')\n}, 'skipped from 18 on');
	like($results->{text}{warnings}[0], qr/^WARNING:  skipped loading publication "later"\nDETAIL:  The publication does not exist at this point in the WAL\./, 'with a warning');
}
$results = run_case($dbh, 'one that is dropped and made again', 'later', [],
	[ 'INSERT INTO missing VALUES (3)', 'DROP PUBLICATION later', 'INSERT INTO missing VALUES (4)', 'CREATE PUBLICATION later FOR TABLE missing', 'INSERT INTO missing VALUES (5)' ]);
$results = run_case($dbh, 'one that is renamed', [ 'later', 'renamed' ], [],
	[ 'INSERT INTO missing VALUES (6)', 'ALTER PUBLICATION later RENAME TO renamed', 'INSERT INTO missing VALUES (7)' ]);
$results = run_case($dbh, 'renamed and back', ['renamed'], [],
	[ 'BEGIN', 'INSERT INTO missing VALUES (8)', 'ALTER PUBLICATION renamed RENAME TO elsewhere', 'ALTER PUBLICATION elsewhere RENAME TO renamed', 'INSERT INTO missing VALUES (9)', 'COMMIT' ]);
like(changes_text($results->{text}), qr/INSERT N:\('8'\)\n(?:RELATION.*\n)?INSERT N:\('9'\)\n\z/, 'both rows');

foreach my $names ('"la""ter"', 'later,later', ' later , "renamed" ', 'RENAMED', '"later', 'later,', ',', '""', '"a b",c', 'a b', "later\t,\nrenamed")
{
	my $pair = create_slot_pair($dbh, 'names');
	$dbh->do('INSERT INTO missing SELECT max(a) + 1 FROM missing');
	same_stream($dbh, $pair, "publication_names $names", options => [ proto_version => 1, publication_names => $names ]);
	drop_slot_pair($dbh, $pair);
}

# ---- what newer servers have ---------------------------------------------------

SKIP:
{
	skip 'publications of generated columns came with 18', 1 if $major < 18;
	$results = run_case($dbh, 'generated columns', 'gen',
		[ 'CREATE TABLE gen (a int PRIMARY KEY, s int GENERATED ALWAYS AS (a * 2) STORED, v int GENERATED ALWAYS AS (a * 3) VIRTUAL, b int)', 'CREATE PUBLICATION gen FOR TABLE gen WITH (publish_generated_columns = stored)', 'CREATE PUBLICATION genlist FOR TABLE gen (a, s)', 'CREATE PUBLICATION gennone FOR TABLE gen' ],
		[ 'INSERT INTO gen (a, b) VALUES (1, 4)', 'UPDATE gen SET b = 5', 'ALTER PUBLICATION gen SET (publish_generated_columns = none)', 'INSERT INTO gen (a) VALUES (2)', 'ALTER PUBLICATION gen SET (publish_generated_columns = stored)', 'DELETE FROM gen WHERE a = 2' ]);
	is(changes_text($results->{text}), <<'END', 'stored ones, when the publication says so');
RELATION "public"."gen" identity=d (*"a"; "s"; "b")
INSERT N:('1', '2', '4')
UPDATE N:('1', '2', '5')
RELATION "public"."gen" identity=d (*"a"; "b")
INSERT N:('2', n)
RELATION "public"."gen" identity=d (*"a"; "s"; "b")
DELETE K:('2', n, n)
END
	$results = run_case($dbh, 'a generated column in a list', 'genlist', [], ['INSERT INTO gen (a) VALUES (3)']);
	is(changes_text($results->{text}), qq{RELATION "public"."gen" identity=d (*"a"; "s")\nINSERT N:('3', '6')\n}, 'it is sent');
	$results = run_case($dbh, 'publications that disagree', [ 'gen', 'gennone' ], [], ['INSERT INTO gen (a) VALUES (4)']);
	is(changes_text($results->{text}), qq{ERROR 0A000 cannot use different values of publish_generated_columns for table "public.gen" in different publications\n}, 'the server\'s error');
	$results = run_case($dbh, 'a list beside them', [ 'gen', 'genlist' ], [], ['INSERT INTO gen (a) VALUES (5)']);
}

SKIP:
{
	skip 'EXCEPT and ALL SEQUENCES came with 19', 1 if $major < 19;
	$results = run_case($dbh, 'EXCEPT', 'most',
		[ 'CREATE TABLE ex1 (a int PRIMARY KEY)', 'CREATE TABLE ex2 (a int PRIMARY KEY)', 'CREATE TABLE exroot (a int) PARTITION BY RANGE (a)', 'CREATE TABLE exleaf PARTITION OF exroot DEFAULT',
			'CREATE PUBLICATION most FOR ALL TABLES EXCEPT (TABLE ex1, TABLE exroot)' ],
		[ 'INSERT INTO ex1 VALUES (1)', 'INSERT INTO ex2 VALUES (1)', 'INSERT INTO exroot VALUES (1)', 'ALTER PUBLICATION most SET ALL TABLES EXCEPT (TABLE ex2)', 'INSERT INTO ex1 VALUES (2)', 'INSERT INTO ex2 VALUES (2)', 'INSERT INTO exroot VALUES (2)', 'TRUNCATE exroot, ex1, ex2' ]);
	is(join(' ', changes_text($results->{text}) =~ /RELATION "public"."(\w+)"/g), 'ex2 ex1 exleaf exleaf ex1', 'all others; the change of a publication and TRUNCATE have them announced again');
	$results = run_case($dbh, 'EXCEPT beside a publication of the table', [ 'most', 'ex2too' ], ['CREATE PUBLICATION ex2too FOR TABLE ex2 (a) WITH (publish = insert)'], [ 'INSERT INTO ex2 VALUES (3)', 'DELETE FROM ex2' ]);
	$results = run_case($dbh, 'ALL SEQUENCES', [ 'seqs', 'most' ], [ 'CREATE PUBLICATION seqs FOR ALL SEQUENCES', 'CREATE SEQUENCE exseq' ], [ q{SELECT nextval('exseq')}, q{SELECT setval('exseq', 100)}, 'INSERT INTO ex1 VALUES (9)' ]);
	like(changes_text($results->{text}), qr/\A(?:RELATION.*\n)?INSERT N:\('9'\)\n\z/, 'sequences are not in the stream');
}

$dbh->disconnect;
$node->stop;
done_testing();
