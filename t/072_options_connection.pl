# Options over replication connections, where settings come from the server, the
# database, the role and the client; what is sent before an error; and changes
# that no server should have let through.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use OptionStream;
use PgoutputExt;
use ReplicationClient;
use Test::More;

my $node = new_node('connection', conf => 'track_commit_timestamp = on');
my $dbh = $node->{dbh};

$dbh->do($_) foreach (
	'CREATE TABLE fine (a int PRIMARY KEY, b text)',
	'CREATE TABLE bad (a int PRIMARY KEY, b text)',
	'CREATE TABLE texts (id int PRIMARY KEY, at timestamptz, took interval, raw bytea, f float8, o regclass)',
	'CREATE PUBLICATION pub FOR TABLE fine, bad, texts');

sub create_slot
{
	my ($name, $two_phase) = @_;
	$dbh->do(q{SELECT pg_create_logical_replication_slot(?, 'pgoutput_ext', false, ?)}, undef, $name, $two_phase // 0);
	return;
}

# Waits until a slot has lost its connection.
sub wait_inactive
{
	my ($name) = @_;
	$node->poll_query_until('postgres', "SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$name'")
	  or die "slot $name stays active\n";
	return;
}

# What is sent up to an error or a given number of Commits: (stream's messages,
# error).
sub receive
{
	my ($client, $commits) = @_;
	my @data;
	while ($commits > 0)
	{
		my $message = $client->next_message(60) or die "nothing came in time\n";
		return (\@data, $message->{error}) if $message->{type} eq 'E';
		next if $message->{type} ne 'd' || $message->{kind} ne 'w';
		push @data, $message->{data};
		$commits-- if $message->{data} =~ /^[CcPpK]/;
	}
	return (\@data, undef);
}

my %standard = (proto_version => 1, publication_names => 'pub');

# ---- refused at the start ---------------------------------------------------

create_slot('refused');
$dbh->do(q{INSERT INTO fine VALUES (1, 'one')});
my $position = 'SELECT restart_lsn, confirmed_flush_lsn, active FROM pg_replication_slots WHERE slot_name = ';
my $before = $dbh->selectrow_arrayref("$position 'refused'");
my $client = ReplicationClient->new($node);
my @refused = (
	[ unchanged_toast => 'yes' ], [ include_tables => 'fine' ], [ exclude_columns => '' ], [ message_prefixes => 'a' ],
	[ split_key_updates => '2' ], [ no_such_option => 'on' ]);
foreach my $option (@refused)
{
	my $answer = eval { $client->start('refused', %standard, @$option); 'started' } // $@;
	like($answer, qr/^server: (22023|42601|XX000) /, "$option->[0] '$option->[1]' is refused before anything is sent");
	# the connection is ready for the next command
	while (my $message = $client->next_message(60)) { last if $message->{type} eq 'Z' }
}
is_deeply($dbh->selectrow_arrayref("$position 'refused'"), $before, 'the slot is as it was');
$client->start('refused', %standard);
my ($data, $error) = receive($client, 1);
is(join('', map { substr $_, 0, 1 } @$data), 'BRIC', 'and can be read, over the same connection');
$client->close;
wait_inactive('refused');
$dbh->do(q{SELECT pg_drop_replication_slot('refused')});

# ---- an excluded key --------------------------------------------------------

foreach my $mode ([ 'plain', {} ], [ 'streamed', { proto_version => 2, streaming => 'on' } ])
{
	my ($name, $options) = @$mode;
	next if $name eq 'streamed' && server_major() < 16;

	create_slot('key');
	$dbh->do(q{INSERT INTO fine VALUES (2, 'two')});
	$dbh->begin_work;
	$dbh->do(q{INSERT INTO fine VALUES (3, 'three')});
	$dbh->do(q{INSERT INTO bad VALUES (1, 'never')});
	$dbh->commit;
	$client = ReplicationClient->new($node, $name eq 'streamed' ? (options => '-c debug_logical_replication_streaming=immediate') : ());
	$client->start('key', %standard, %$options, exclude_columns => '*.bad.a');
	($data, $error) = receive($client, 100);
	like($error, qr/^22023 column "a" of relation "public\.bad" cannot be left out/, "$name: an excluded key is an error");
	unlike(join('', @$data), qr/bad|never/, "$name: nothing of its relation was sent");
	like(join('', map { substr $_, 0, 1 } @$data), $name eq 'plain' ? qr/^BRIC/ : qr/^SRIES?/, "$name: what came before was");
	$client->close;
	wait_inactive('key');
	$dbh->do(q{SELECT pg_drop_replication_slot('key')});
	$dbh->do('DELETE FROM fine');
	$dbh->do('DELETE FROM bad');
}

# ---- values in one format ---------------------------------------------------

create_slot('formats');
$dbh->do(q{INSERT INTO texts VALUES (1, '2026-11-30 12:00:00.25+00', '-1 day 90 minutes', '\x005cff', 0.1::float8 + 0.2, 'texts')});
$dbh->do($_) foreach (
	q{ALTER SYSTEM SET extra_float_digits = -3},
	q{ALTER DATABASE postgres SET TimeZone = 'Asia/Kathmandu'},
	q{ALTER DATABASE postgres SET search_path = 'public'},
	q{CREATE ROLE odd SUPERUSER REPLICATION LOGIN},
	q{ALTER ROLE odd SET DateStyle = 'German'},
	q{ALTER ROLE odd IN DATABASE postgres SET IntervalStyle = 'iso_8601'},
	q{SELECT pg_reload_conf()});
$node->poll_query_until('postgres', q{SELECT setting = '-3' FROM pg_settings WHERE name = 'extra_float_digits'})
  or die "the setting does not come\n";
my %settings = (
	'as the server has them' => {},
	'of a role' => { user => 'odd' },
	'of a client' => { user => 'odd', options => '-c bytea_output=escape -c DateStyle=SQL,DMY -c TimeZone=America/Caracas -c quote_all_identifiers=on' });
my %session;
foreach my $name (sort keys %settings)
{
	foreach my $format (qw(session canonical))
	{
		$client = ReplicationClient->new($node, %{ $settings{$name} });
		$client->start('formats', %standard, value_format => $format);
		($data, $error) = receive($client, 1);
		$client->close;
		wait_inactive('formats');
		my $line = OptionStream::item_line(OptionStream->read(@$data)->{transactions}[0]{items}[0]);
		$session{$line}++ if $format eq 'session';
		is($line,
			q{  I public.texts new (at='2026-11-30 12:00:00.25+00', f='0.30000000000000004', id='1', o='public.texts', raw='\x005cff', took='-1 days +01:30:00')},
			"canonical, settings $name") if $format eq 'canonical';
	}
}
is(scalar keys %session, 3, 'and as many formats without');
$dbh->do($_) foreach (
	q{SELECT pg_drop_replication_slot('formats')}, q{ALTER SYSTEM RESET ALL}, q{ALTER DATABASE postgres RESET ALL},
	q{ALTER ROLE odd IN DATABASE postgres RESET ALL}, q{DROP ROLE odd}, q{SELECT pg_reload_conf()});

# ---- a publication that is too young ----------------------------------------

create_slot('young');
$dbh->do(q{INSERT INTO fine VALUES (20, 'before')});
$dbh->do('CREATE PUBLICATION young FOR TABLE fine');
my ($xid, $time) = $dbh->selectrow_array(q{SELECT xmin, to_char(pg_xact_commit_timestamp(xmin), 'YYYY-MM-DD HH24:MI:SS') FROM pg_publication WHERE pubname = 'young'});
my @young = (proto_version => 1, publication_names => 'young', missing_publication => 'error');
my $read = read_slot($dbh, 'young', options => \@young);
is($read->{error}{sqlstate} . ' ' . $read->{error}{message_primary}, '42704 publication "young" does not exist', 'a publication younger than a change');
my ($said, $query) = $read->{error}{message_hint} =~ /^(.*?): move .* with (SELECT .*?), which/;
like($said, qr/^It exists now, since transaction $xid at the latest, committed at \Q$time\E\.\d+\+00$/, 'the hint says since when it exists');
$dbh->do($query);
$dbh->do(q{INSERT INTO fine VALUES (21, 'after')});
is_deeply([ OptionStream->read(map { $_->[2] } @{ read_slot($dbh, 'young', options => \@young)->{rows} })->lines ],
	[ 'transaction of here', q{  I public.fine new (a='21', b='after')} ], 'and how to get there');
$dbh->do($_) foreach (q{SELECT pg_drop_replication_slot('young')}, 'DROP PUBLICATION young');

# ---- names in another encoding ----------------------------------------------

# Lists come in the client's encoding, and names are in the database's.
$dbh->do(q{CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0});
my $latin = connect_db($node, dbname => 'latin');
my ($table, $other_table) = ("Gr\xc3\xb6\xc3\x9fe", "Gr\xc3\xb6\xc3\xa9e");
$latin->do($_) foreach (
	qq{CREATE TABLE "$table" (a int PRIMARY KEY, "\xc3\xa4" text)}, qq{CREATE TABLE "$other_table" (a int PRIMARY KEY)},
	qq{CREATE PUBLICATION "\xc3\xbc" FOR TABLE "$table", "$other_table"},
	q{SELECT pg_create_logical_replication_slot('latin', 'pgoutput_ext')},
	qq{INSERT INTO "$table" VALUES (1, '\xc3\xa9')}, qq{INSERT INTO "$other_table" VALUES (1)},
	qq{SELECT pg_logical_emit_message(true, 'prefix \xc3\xa9', '')}, qq{SELECT pg_logical_emit_message(true, 'prefix \xc3\xb6', '')});
my @latin = (proto_version => 1, publication_names => "\xc3\xbc", messages => 'on', empty_transactions => 'skip',
	include_tables => qq{public."$table"}, exclude_columns => qq{*.*."\xc3\xa4"}, message_prefixes => qq{"prefix \xc3\xa9"});
foreach my $encoding (qw(UTF8 LATIN1))
{
	$client = ReplicationClient->new($node, database => 'latin', client_encoding => $encoding);
	my @options = $encoding eq 'UTF8' ? @latin : map { s/\xc3(.)/chr(64 + ord $1)/ger } @latin;
	$client->start('latin', @options);
	($data, $error) = receive($client, 2);
	$client->close;
	wait_inactive('latin');
	my ($name, $prefix) = map { $encoding eq 'UTF8' ? $_ : s/\xc3(.)/chr(64 + ord $1)/ger } $table, "prefix \xc3\xa9";
	is_deeply([ OptionStream->read(@$data)->lines ],
		[ 'transaction of here', "  I public.$name new (a='1')", 'transaction of here', "  M $prefix " ],
		"lists of a client with $encoding");
}
$latin->do(q{SELECT pg_drop_replication_slot('latin')});
$latin->disconnect;

# ---- changes without a key --------------------------------------------------

# The server checks for a key when a statement begins. One that has not changed
# anything yet when its table comes into a publication, changes it without.
$dbh->do($_) foreach (
	'CREATE TABLE keyless (a int, b int)',
	q{CREATE FUNCTION wait(a int) RETURNS int LANGUAGE plpgsql AS $$
		BEGIN IF a = 1 THEN PERFORM pg_advisory_xact_lock(1); END IF; RETURN a; END $$},
	'INSERT INTO keyless VALUES (1, 0), (2, 0), (3, 0)');
foreach my $case ([ 'UPDATE', 'UPDATE keyless SET b = wait(a)' ], [ 'DELETE', 'DELETE FROM keyless WHERE wait(a) > 0' ])
{
	my ($command, $statement) = @$case;
	create_slot('keyless');
	$dbh->do('SELECT pg_advisory_lock(1)');
	my $other = connect_db($node);
	$other->do($statement, { pg_async => 1 });
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted})
	  or die "the statement does not wait\n";
	$dbh->do('CREATE PUBLICATION keyless_pub FOR TABLE keyless');
	$dbh->do('SELECT pg_advisory_unlock(1)');
	is($other->pg_result, 3, "$command of three rows");
	$other->disconnect;

	my $read = sub { read_slot($dbh, 'keyless', options => [ proto_version => 1, publication_names => 'keyless_pub', missing_publication => 'skip', @_ ]) };
	my $skip = $read->();
	my @lines = OptionStream->read(map { $_->[2] } @{ $skip->{rows} })->lines;
	is_deeply(\@lines, $command eq 'DELETE' ? [] : [ 'transaction of here', map { "  U public.keyless new (a='$_', b='$_')" } 1 .. 3 ],
		"$command: without a key as pgoutput sends it");
	is_deeply($skip->{warnings}, [], "$command: in silence");
	my $warn = $read->(missing_identity => 'warn');
	is_deeply($warn->{rows}, $skip->{rows}, "$command: the same with a warning");
	like("@{ $warn->{warnings} }", qr/^WARNING:  $command on relation "public\.keyless" carries no key\n(?!.*WARNING)/s, "$command: one for the relation");
	my $failed = $read->(missing_identity => 'error');
	is($failed->{error}{sqlstate} . ' ' . $failed->{error}{message_primary}, qq{55000 $command on relation "public.keyless" carries no key},
		"$command: an error");
	ok(!$read->(missing_identity => 'error', exclude_tables => '*.keyless')->{error}, "$command: not for what is left out");
	$dbh->do('DROP PUBLICATION keyless_pub');
	$dbh->do(q{SELECT pg_drop_replication_slot('keyless')});
}

# ---- names that change under a transaction ----------------------------------

# A schema can be renamed while a transaction has changed a table in it.
$dbh->do($_) foreach ('CREATE SCHEMA old', 'CREATE TABLE old.t (a int PRIMARY KEY)', 'CREATE PUBLICATION renamed FOR TABLE old.t');
create_slot('renamed');
my $other = connect_db($node);
$other->do($_) foreach ('BEGIN', 'INSERT INTO old.t VALUES (1)');
$dbh->do('ALTER SCHEMA old RENAME TO new');
$other->do($_) foreach ('INSERT INTO new.t VALUES (2)', 'COMMIT');
$other->disconnect;
# Before the minors of May 2025 an open transaction was not told of it.
my ($first, $second) = ("  I old.t new (a='1')", "  I new.t new (a='2')");
$second =~ s/new\.t/old.t/ if !server_minor_from(14 => 18, 15 => 13, 16 => 9, 17 => 5);
my @both = ($first, $second);
foreach my $case ([ 'old.*', grep { /old\.t/ } @both ], [ 'new.*', grep { /new\.t/ } @both ], [ '*.t', @both ])
{
	my ($pattern, @lines) = @$case;
	my $stream = OptionStream->read(map { $_->[2] }
		@{ read_slot($dbh, 'renamed', options => [ proto_version => 1, publication_names => 'renamed', include_tables => $pattern ])->{rows} });
	is_deeply([ $stream->lines ], [ @lines ? 'transaction of here' : (), @lines ], "a schema renamed under a transaction, seen as $pattern");
}
$dbh->do($_) foreach (q{SELECT pg_drop_replication_slot('renamed')}, 'DROP SCHEMA new CASCADE', 'DROP PUBLICATION renamed');

# ---- origins of prepared and streamed transactions --------------------------

SKIP:
{
	skip 'prepared transactions are sent as such from 15 on, and streaming is forced from 16 on', 1 if server_major() < 15;
	create_slot('origins', 1);
	$dbh->do(q{SELECT pg_replication_origin_create('branch')});
	$dbh->do(q{SELECT pg_replication_origin_session_setup('branch')});
	$dbh->do($_) foreach ('BEGIN', q{INSERT INTO fine VALUES (10, 'ten')}, q{SELECT pg_logical_emit_message(true, 'branch', '')}, q{PREPARE TRANSACTION 'gid'}, q{COMMIT PREPARED 'gid'});
	$dbh->do(q{SELECT pg_replication_origin_session_reset()});
	$dbh->do(q{INSERT INTO fine VALUES (11, 'eleven')});
	my @prepared = (proto_version => 3, publication_names => 'pub', two_phase => 'on', messages => 'on');
	my $types = sub { join '', map { substr $_->[2], 0, 1 } @{ read_slot($dbh, 'origins', options => [ @prepared, @_ ])->{rows} } };
	is($types->(), 'bORIMPKBIC', 'a prepared transaction with an origin');
	is($types->(exclude_origins => 'branch'), 'bOPKBRIC', 'it is sent empty when the origin is left out');
	is($types->(include_origins => '""'), 'bOPKBRIC', 'also by naming others');
	is($types->(include_origins => 'branch'), 'bORIMPK', 'it is sent when it is named');
	# streaming can be forced from 16 on
	if (server_major() >= 16)
	{
		$dbh->do('SET debug_logical_replication_streaming = immediate');
		my @streamed = (streaming => 'on');
		my $without = sub { $types->(@streamed, @_) =~ tr/SEcpPbK//dr };
		is($without->(), 'ORIMRI', 'streamed, with its Message');
		is($without->(exclude_origins => 'branch'), 'ORI', 'the Message is left out by the origin of the change before it');
		is($without->(include_origins => 'branch'), 'ORIM', 'and sent by it');
		$dbh->do('RESET debug_logical_replication_streaming');
	}
	$dbh->do(q{SELECT pg_drop_replication_slot('origins')});
}

$dbh->disconnect;
$node->stop;
done_testing();
