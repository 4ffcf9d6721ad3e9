# Transactions, case by case: empty ones, messages, savepoints while streamed,
# prepared transactions, origins, and very many tables.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use Test::More;

my $node = new_node('main', conf => q{logical_decoding_work_mem = '64kB'});
my $dbh = $node->{dbh};
my $major = server_major();
my $results;

$dbh->do($_) foreach (
	'CREATE TABLE t (a int PRIMARY KEY, b text)', 'CREATE TABLE u (a int PRIMARY KEY, b text)', 'CREATE TABLE unpublished (a int, b text)',
	'CREATE PUBLICATION p FOR TABLE t, u');

# A result's plain lines without the rows that only fill transactions.
sub lines { return grep { !/'fillfill/ } plain_stream($_[0]) }

# The same without empty transactions, which 14 sends, each with a newline.
sub not_empty { return join('', map { "$_\n" } plain_stream($_[0])) =~ s/^BEGIN\nCOMMIT flags=0\n//gmr }

# Reads a pair whose slots decode prepared transactions, or do not, in several
# ways; returns the plain lines of the last.
sub read_pair
{
	my ($pair, $name, @options) = @_;
	my $max = max_protocol();
	my $result;
	foreach my $streaming ($major >= 16 ? 'parallel' : (), 'on', 'off')
	{
		$result = same_stream($dbh, $pair, "$name, streaming $streaming",
			options => [ standard_options('p', proto_version => $max, streaming => $streaming, messages => 'true', @options) ]);
	}
	return join "\n", lines($result);
}

# ---- empty transactions --------------------------------------------------------

$results = run_case($dbh, 'transactions without published changes', 'p', [],
	[ 'INSERT INTO unpublished VALUES (1)', 'BEGIN', 'INSERT INTO t VALUES (1)', 'ROLLBACK', 'BEGIN', 'COMMIT', 'CREATE TABLE made (a int)', 'BEGIN', 'SAVEPOINT s', 'INSERT INTO t VALUES (2)', 'ROLLBACK TO s', 'INSERT INTO unpublished VALUES (3)', 'COMMIT',
		'UPDATE t SET b = b', 'DELETE FROM t', 'INSERT INTO t VALUES (3)' ]);
is(not_empty($results->{text}), "BEGIN\nRELATION \"public\".\"t\" identity=d (*\"a\"; \"b\")\nINSERT N:('3', n)\nCOMMIT flags=0\n", 'the one that has a change is sent');
cmp_ok(scalar(grep { $_ eq 'BEGIN' } plain_stream($results->{text})), $major >= 15 ? '==' : '>', 1, 'only that one, from 15 on');

if ($major >= 15)
{
	$results = run_case($dbh, 'a transaction that is filtered away', 'filtered', ['CREATE PUBLICATION filtered FOR TABLE t WHERE (a < 0)'],
		[ 'INSERT INTO t VALUES (4)', 'INSERT INTO t SELECT generate_series(1000, 3000)' ]);
	is(join("\n", plain_stream($results->{text})), '', 'nothing at all');
	$dbh->do('DROP PUBLICATION filtered');
}

# ---- messages ------------------------------------------------------------------

sub emit { return sprintf 'SELECT pg_logical_emit_message(%s)', join ', ', @_ }

$results = run_case($dbh, 'messages', 'p', [],
	[ emit('true', "'alone'", "'x'"), 'BEGIN', emit('true', "'first'", "'y'"), 'INSERT INTO t VALUES (11)', emit('false', "'inside, not transactional'", "'z'"), 'COMMIT', emit('false', "'between'", "''"),
		'BEGIN', 'SAVEPOINT s', emit('true', "'aborted'", "'a'"), emit('false', "'not aborted'", "'b'"), 'ROLLBACK TO s', 'INSERT INTO t VALUES (12)', 'COMMIT', 'BEGIN', emit('true', "'never'", "'c'"), 'ROLLBACK',
		emit('true', "''", "''"), emit('true', "'binary'", q{'\\x00ff0a00'::bytea}), emit('true', q{'pr"e''f\ix'}, "repeat('large ', 20000)"), emit('false', "repeat('p', 1000)", "'long prefix'") ]);
is(not_empty($results->{text}) =~ s/^RELATION.*\n//gmr =~ s/p{1000}/PREFIX/r, <<'END', 'each in its place');
BEGIN
MESSAGE flags=1 prefix="alone" 'x'
COMMIT flags=0
MESSAGE flags=0 prefix="inside, not transactional" 'z'
BEGIN
MESSAGE flags=1 prefix="first" 'y'
INSERT N:('11', n)
COMMIT flags=0
MESSAGE flags=0 prefix="between" ''
MESSAGE flags=0 prefix="not aborted" 'b'
BEGIN
INSERT N:('12', n)
COMMIT flags=0
BEGIN
MESSAGE flags=1 prefix="" ''
COMMIT flags=0
BEGIN
MESSAGE flags=1 prefix="binary" '\x00\xff\x0a\x00'
COMMIT flags=0
BEGIN
MESSAGE flags=1 prefix="pr"e'f\ix" 'large large large large large large large large large large ...[120000 bytes]'
COMMIT flags=0
MESSAGE flags=0 prefix="PREFIX" 'long prefix'
END

# ---- streamed: savepoints, DDL in them, aborts ---------------------------------

my $fill = q{INSERT INTO %s SELECT i, repeat('fill', 30) FROM generate_series(%d, %d) i};
my $from = 100_000;
sub fill
{
	my ($table) = @_;
	$from += 1000;
	return sprintf $fill, $table, $from, $from + 499;
}

$results = run_case($dbh, 'savepoints rolled back while streamed', 'p', [],
	[ 'BEGIN', fill('t'), 'SAVEPOINT s1', fill('u'), 'ROLLBACK TO s1', fill('t'), 'SAVEPOINT s2', fill('u'), 'SAVEPOINT s3', fill('u'), 'RELEASE s3', 'ROLLBACK TO s2', fill('u'), 'COMMIT' ]);
my @lines = lines($results->{streamed});
is(scalar(grep { /^STREAM ABORT/ } @lines), 3, 'an abort for each subtransaction');
my @described = describe_stream($results->{streamed});
my ($abort) = grep { /^STREAM ABORT/ } @described;
my ($xid, $subxid) = $abort =~ /xid=(\d+) subxid=(\d+)/;
cmp_ok($subxid, '>', $xid, 'of the subtransaction');
is(scalar(grep { /^STREAM ABORT.* (?:lsn|time)=/ } @described), 0, 'without position and time');
like(join("\n", @lines), qr/STREAM ABORT.*RELATION "public"."t".*STREAM ABORT.*RELATION "public"."u"/s, 'relations are announced again after an abort');
if ($major >= 16)
{
	@described = describe_stream($results->{parallel});
	is(scalar(grep { /^STREAM ABORT/ } @described), 3, 'in parallel too');
	is(scalar(grep { /^STREAM ABORT.* lsn=.* time=/ } @described), 3, 'with position and time');
}

$results = run_case($dbh, 'DDL in a savepoint that is rolled back, streamed', 'p', [],
	[ 'BEGIN', fill('t'), 'SAVEPOINT s1', 'ALTER TABLE t ADD COLUMN c int DEFAULT 5', fill('t'), 'ALTER TABLE t RENAME COLUMN b TO bb', fill('t'), 'ROLLBACK TO s1', fill('t'), 'ALTER TABLE t ADD COLUMN d int', fill('t'), 'COMMIT', 'INSERT INTO t VALUES (20)', 'ALTER TABLE t DROP COLUMN d' ]);
is(join(' / ', map { /\((.*)\)/ ? $1 : () } grep { /^RELATION/ } lines($results->{text})), '*"a"; "b" / *"a"; "b"; "d" / *"a"; "b"; "d"', 'not streamed: only what was committed');
# What was rolled back before it is read ends at the first look into a catalog,
# or in the server's error; 025_server.pl reads it in time.
like(join("\n", lines($results->{streamed}), $results->{streamed}{error}{message_primary} // ()),
	qr/could not map file|STREAM ABORT.*RELATION "public"."t" identity=d \(\*"a"; "b"\)\n.*RELATION "public"."t" identity=d \(\*"a"; "b"; "d"\)/s, 'streamed: announced again after the abort, and when it changed');

# Where in the stream the abort is noticed depends on what the publication says of
# the table: pgoutput leaves the table open where it looked for row filters or
# column lists, and an open table is read from the catalogs again at once. Another
# table is altered first, or the changes of catalogs would be looked up before that.
foreach my $definition (
	'FOR TABLE t',
	q{FOR TABLE t WITH (publish = 'insert, update')},
	q{FOR ALL TABLES WITH (publish = 'insert, update')},
	$major >= 15 ? ('FOR TABLE t (a, b)', 'FOR TABLE t WHERE (a > 0)', 'FOR TABLES IN SCHEMA public') : ())
{
	$results = run_case($dbh, "a savepoint rolled back that changed the table, $definition", 'q', ["CREATE PUBLICATION q $definition", 'CREATE TABLE altered (a int)'],
		[ 'ALTER TABLE altered ADD COLUMN c int DEFAULT 5', 'BEGIN', sprintf($fill, 't', ($from += 1000) + 1, $from + 100), 'SAVEPOINT s1', 'ALTER TABLE t ADD COLUMN c int DEFAULT 5', fill('t'), 'ROLLBACK TO s1', fill('t'), 'COMMIT' ]);
	like(join("\n", lines($results->{streamed})), qr/STREAM STOP\n(?:STREAM START.*STREAM STOP\n)?STREAM ABORT/s, "$definition: the abort is read");
	$dbh->do($_) foreach 'DROP PUBLICATION q', 'DROP TABLE altered';
}

$results = run_case($dbh, 'a streamed transaction that is aborted', 'p', [],
	[ 'BEGIN', fill('t'), fill('u'), 'ROLLBACK', 'INSERT INTO t VALUES (21)', 'BEGIN', fill('t'), 'SAVEPOINT s', fill('u'), 'ROLLBACK', 'INSERT INTO u VALUES (21)' ]);

{
	my @others = map { connect_db($node) } 1 .. 2;
	$results = run_case($dbh, 'two streamed transactions side by side', 'p', [],
		[ 'BEGIN', sub { $others[0]->do('BEGIN') }, fill('t'), sub { $others[0]->do(fill('t')) }, sub { $others[1]->do('INSERT INTO t VALUES (22)') }, fill('u'), sub { $others[0]->do(fill('u')); $others[0]->do('COMMIT') }, sub { $others[1]->do('ALTER PUBLICATION p SET (publish = insert)') },
			fill('t'), 'COMMIT', sub { $others[1]->do(q{ALTER PUBLICATION p SET (publish = 'insert, update, delete, truncate')}) } ]);
	cmp_ok(scalar(grep { /^STREAM COMMIT/ } lines($results->{streamed})), '==', 2, 'both are streamed');
	$results = run_case($dbh, 'a transaction that is still open', 'p', [], [ sub { $others[0]->do('BEGIN'); $others[0]->do(fill('t')); $others[0]->do(fill('t')) }, 'INSERT INTO u VALUES (23)' ]);
	like(join("\n", lines($results->{streamed})), qr/STREAM START.*STREAM STOP/s, 'its first part is streamed');
	unlike(join("\n", lines($results->{streamed})), qr/STREAM COMMIT/, 'and no end of it');
	$others[0]->do('ROLLBACK');
	$_->disconnect foreach @others;
}

$results = run_case($dbh, 'TRUNCATE, messages and updates in a streamed transaction', 'p', [],
	[ 'BEGIN', fill('u'), 'TRUNCATE t, u', emit('true', "'streamed'", "'m'"), emit('false', "'aside'", "'n'"), fill('t'), q{UPDATE t SET b = 'x'}, 'DELETE FROM t', 'COMMIT' ]);
like(join("\n", lines($results->{streamed})), qr/^TRUNCATE.*^MESSAGE flags=1 prefix="streamed"/ms, 'in the stream');

# ---- prepared ------------------------------------------------------------------

my %gid = (long => 'g' x 199, odd => q{o'd"d\\ } . "\xc3\xa9%s\n", plain => 'gid');
foreach my $two_phase (0, $major >= 15 ? 1 : ())
{
	my $slots = $two_phase ? 'two_phase slots' : 'plain slots';
	my $pair = create_slot_pair($dbh, "prepared$two_phase", two_phase => $two_phase);
	foreach my $name (sort keys %gid)
	{
		my $gid = $dbh->quote($gid{$name});
		my $n = ++$from;
		$dbh->do($_) foreach ('BEGIN', "INSERT INTO t VALUES ($n)", "PREPARE TRANSACTION $gid", "COMMIT PREPARED $gid", 'BEGIN', "INSERT INTO t VALUES (-$n)", "PREPARE TRANSACTION $gid", "ROLLBACK PREPARED $gid");
	}
	$dbh->do($_) foreach (
		# empty, not published, with DDL, large, and large with a savepoint
		'BEGIN', q{PREPARE TRANSACTION 'empty'}, q{COMMIT PREPARED 'empty'}, 'BEGIN', 'INSERT INTO unpublished VALUES (1)', q{PREPARE TRANSACTION 'unpublished'}, q{COMMIT PREPARED 'unpublished'},
		'BEGIN', 'INSERT INTO unpublished VALUES (1)', q{PREPARE TRANSACTION 'unpublished'}, q{ROLLBACK PREPARED 'unpublished'},
		'BEGIN', 'ALTER TABLE u ADD COLUMN IF NOT EXISTS c int', 'INSERT INTO u (a) VALUES (' . ++$from . ')', q{PREPARE TRANSACTION 'ddl'}, q{COMMIT PREPARED 'ddl'},
		'BEGIN', fill('t'), fill('u'), q{PREPARE TRANSACTION 'large'}, 'INSERT INTO unpublished VALUES (2)', q{COMMIT PREPARED 'large'},
		'BEGIN', fill('t'), 'SAVEPOINT s', fill('u'), 'ROLLBACK TO s', fill('t'), q{PREPARE TRANSACTION 'large'}, q{ROLLBACK PREPARED 'large'},
		'BEGIN', emit('true', "'in a prepared one'", "'m'"), q{PREPARE TRANSACTION 'message'}, q{COMMIT PREPARED 'message'},
		'BEGIN', 'INSERT INTO t VALUES (' . ++$from . ')', q{PREPARE TRANSACTION 'left open'});
	my $text = read_pair($pair, "$slots, two_phase not asked for");
	is(scalar(() = $text =~ /^(?:BEGIN PREPARE|PREPARE)/mg), $two_phase ? 2 * 10 : 0, "$slots: prepared transactions as such") if !$two_phase;
	$text = read_pair($pair, "$slots, two_phase false", two_phase => 'false');
	# on a slot without it, two_phase turns it on for good
	$text = read_pair($pair, "$slots, two_phase true", two_phase => 'true');
	if ($two_phase)
	{
		like($text, qr/^PREPARE flags=0 gid="$gid{long}"$/m, 'a GID of 199 bytes');
		like($text, qr/^ROLLBACK PREPARED flags=0 gid="o'd"d\\ \\xc3\\xa9%s\\x0a"$/m, 'an odd GID');
		like($text, qr/^PREPARE flags=0 gid="left open"$/m, 'one that is not ended');
		like($text, qr/^BEGIN PREPARE gid="empty"\nPREPARE flags=0 gid="empty"|\A(?!.*gid="empty")/ms, 'an empty one as the server does');
	}
	$text = read_pair($pair, "$slots, two_phase true, again", two_phase => 'true');
	$dbh->do($_) foreach (q{COMMIT PREPARED 'left open'}, 'BEGIN', 'INSERT INTO t VALUES (' . ++$from . ')', q{PREPARE TRANSACTION 'later'}, q{COMMIT PREPARED 'later'});
	$text = read_pair($pair, "$slots, two_phase true, after its end", two_phase => 'true');
	like($text, qr/^COMMIT PREPARED flags=0 gid="left open"$/m, 'its end') if $two_phase;
	drop_slot_pair($dbh, $pair);
}

# Prepared before two_phase was turned on: the whole transaction comes at its commit.
if ($major >= 15)
{
	my $pair = create_slot_pair($dbh, 'before');
	$dbh->do($_) foreach ('BEGIN', 'INSERT INTO t VALUES (' . ++$from . ')', q{PREPARE TRANSACTION 'before'});
	foreach my $slot (@$pair{qw(oracle ours)})
	{
		# consume what is there, so that two_phase starts behind the PREPARE
		$dbh->do('SELECT pg_replication_slot_advance(?, pg_current_wal_lsn())', undef, $slot);
	}
	read_pair($pair, 'two_phase turned on behind a PREPARE', two_phase => 'true');
	$dbh->do(q{COMMIT PREPARED 'before'});
	my $text = read_pair($pair, 'and after its COMMIT PREPARED', two_phase => 'true');
	like($text, qr/INSERT N:\('\d+', n\)/, 'its rows are there');
	drop_slot_pair($dbh, $pair);
}

# A relation told first in a streamed transaction that is prepared: whether it is told
# again in the next transaction depends on the server.
if ($major >= 15)
{
	my $pair = create_slot_pair($dbh, 'told', two_phase => 1);
	$dbh->do($_) foreach ('BEGIN', fill('t'), q{PREPARE TRANSACTION 'told'}, q{COMMIT PREPARED 'told'}, map { 'INSERT INTO t VALUES (' . ($from + $_) . ')' } 500, 501);
	my $text = read_pair($pair, 'told in a prepared stream', two_phase => 'true');
	is(scalar(() = $text =~ /^RELATION/mg), 1, 'told once where it was not streamed');
	drop_slot_pair($dbh, $pair);
}

# ---- origins -------------------------------------------------------------------

$dbh->do("SELECT pg_replication_origin_create('$_')") foreach 'origin one', "orig\xc3\xafn", 'dropped';
{
	my $pair = create_slot_pair($dbh, 'origins', two_phase => 1);
	my $n = 0;
	foreach my $origin ('origin one', "orig\xc3\xafn", 'dropped')
	{
		$n -= 10;
		my ($a, $b, $c, $d) = map { $n - $_ } 1 .. 4;
		$dbh->do($_) foreach (
			"SELECT pg_replication_origin_session_setup('$origin')", "INSERT INTO t VALUES ($a)", emit('true', "'o'", "'m'"),
			'BEGIN', q{SELECT pg_replication_origin_xact_setup('16/B374D848', '2024-01-01 00:00:00+00')}, "INSERT INTO t VALUES ($b)", 'COMMIT',
			'BEGIN', q{SELECT pg_replication_origin_xact_setup('16/B374D849', '2024-01-01 00:00:00+00')}, "INSERT INTO t VALUES ($c)", "PREPARE TRANSACTION 'origin'", "COMMIT PREPARED 'origin'",
			'BEGIN', fill('t'), fill('u'), 'COMMIT', 'BEGIN', "INSERT INTO unpublished VALUES ($d)", 'COMMIT',
			'SELECT pg_replication_origin_session_reset()');
	}
	$dbh->do('INSERT INTO t VALUES (-100)');
	my $text = read_pair($pair, 'origins');
	like($text, qr/^ORIGIN 16\/B374D848 "origin one"$/m, 'with the position of the transaction');
	like($text, qr/^ORIGIN .* "dropped"$/m, 'an origin that exists');
	$dbh->do(q{SELECT pg_replication_origin_drop('dropped')});
	$text = read_pair($pair, 'an origin dropped since');
	like($text, qr/^ORIGIN .* "dropped"$/m, 'it is named still: catalogs are read as of the change');
	read_pair($pair, 'origins and two_phase', two_phase => 'true');
	if ($major >= 16)
	{
		$text = read_pair($pair, 'origin none', origin => 'none');
		unlike($text, qr/ORIGIN/, 'nothing that has an origin');
		read_pair($pair, 'origin any', origin => 'any');
		read_pair($pair, 'origin none, two_phase', origin => 'none', two_phase => 'true');
		read_pair($pair, "origin $_", origin => $_) foreach '', 'None', 'other';
	}
	drop_slot_pair($dbh, $pair);
}

# ---- very many tables ----------------------------------------------------------

$results = run_case($dbh, 'eight hundred tables, made, used once and dropped', 'many',
	['CREATE PUBLICATION many FOR ALL TABLES'],
	[ map { my $k = $_; ('BEGIN', (map { my $i = $k * 100 + $_; ("CREATE TABLE many_$i (a int)", "INSERT INTO many_$i VALUES ($i)", $i % 3 ? "DROP TABLE many_$i" : ()) } 1 .. 100), 'COMMIT') } 0 .. 7 ]);
is((() = changes_text($results->{text}) =~ /^INSERT/mg), 800, 'all their rows');

$dbh->disconnect;
$node->stop;
done_testing();
