# The reader's functions in sessions of other encodings than the database's, after
# errors, and what pgoutput_ext_check says of the server's slots.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use ReplicationClient;
use Test::More;

my $node = new_node('main', conf => 'max_slot_wal_keep_size = 32MB');
my $dbh = $node->{dbh};

# Calls a statement that must fail; returns SQLSTATE and message.
sub failure
{
	my ($dbh, $sql, @values) = @_;
	local $dbh->{RaiseError} = 0;
	return ('no error', '') if defined $dbh->selectall_arrayref($sql, undef, @values);
	return ($dbh->state, $dbh->pg_error_field('pg_diag_message_primary'));
}

# ---- encodings --------------------------------------------------------------

# Per database: its encoding, and a letter in it. The euro sign is in none of the
# other encodings tried.
my @databases = (
	[ 'UTF8', "\xe2\x82\xac" ],
	[ 'LATIN1', "\xe9" ],
	[ 'EUC_JP', "\xa4\xa2" ],
	[ 'SQL_ASCII', "\xff\xe9" ]);

foreach my $case (@databases)
{
	my ($encoding, $letter) = @$case;
	my $name = lc "db_$encoding";
	$dbh->do("CREATE DATABASE $name TEMPLATE template0 ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C'");
	my $db = connect_db($node, dbname => $name, client_encoding => $encoding);
	$db->do($_) foreach 'CREATE EXTENSION pgoutput_ext', qq{CREATE TABLE "t$letter" ("c$letter" text PRIMARY KEY)},
	  'CREATE PUBLICATION p FOR ALL TABLES', (map { "SELECT pg_create_logical_replication_slot('${_}_$name', '$_')" } qw(pgoutput pgoutput_ext)),
	  qq{INSERT INTO "t$letter" VALUES ('v$letter')}, qq{SELECT pg_logical_emit_message(true, 'p$letter', 'm$letter')};

	my $expected = join ' ', map { unpack 'H*', $_ } qq{public."t$letter"}, "c$letter", "v$letter", "p$letter", "m$letter";
	my $sql = q{SELECT concat_ws(' ', %s) FROM
		(SELECT relation, key, value FROM pgoutput_ext_peek(?), jsonb_each_text(new)) r,
		(SELECT detail ->> 'prefix' AS prefix, detail ->> 'content' AS content FROM pgoutput_ext_peek(?) WHERE message = 'Message') m};
	$sql = sprintf $sql, join ', ', map { "encode(convert_to($_, getdatabaseencoding()), 'hex')" } qw(relation key value prefix content);

	foreach my $client ('UTF8', 'LATIN1', 'EUC_JP', 'SQL_ASCII')
	{
		# The server has no conversion between these.
		next if "$encoding $client" =~ /LATIN1 EUC_JP|EUC_JP LATIN1/;
		$db->do("SET client_encoding = '$client'");
		foreach my $slot ("pgoutput_$name", "pgoutput_ext_$name")
		{
			my ($got) = $db->selectrow_array($sql, undef, $slot, $slot);
			is($got, $expected, "$encoding database, $client client, $slot");
		}
		is($db->selectrow_array('SHOW client_encoding'), $client, "client_encoding is still $client");
	}

	next unless $encoding eq 'UTF8';

	# What a LATIN1 client cannot be sent is no reason not to read it.
	$db->do(q{SET client_encoding = 'LATIN1'});
	is((failure($db, q{SELECT * FROM pg_logical_slot_peek_binary_changes('pgoutput_db_utf8', NULL, NULL, 'proto_version', '1', 'publication_names', 'p')}))[0],
		'22P05', q{the server's own function converts to the client's encoding});

	# An error while decoding, and its text in the client's encoding.
	foreach my $slot ("pgoutput_$name", "pgoutput_ext_$name")
	{
		my @error = failure($db, 'SELECT * FROM pgoutput_ext_peek(?, NULL, NULL, ?, ?)', $slot, 'proto_version', "f\xfcnf");
		is($error[0], '22023', 'an error of the plugin');
		is($db->selectrow_array('SHOW client_encoding'), 'LATIN1', 'client_encoding is as before after an error');
		@error = failure($db, 'SELECT * FROM pgoutput_ext_peek(?, NULL, NULL, ?, ?)', $slot, "n\xfcll", '1');
		like($error[1], qr/"?n\xfcll/, 'its text is converted for the client');
	}
	$db->begin_work;
	$db->do('SAVEPOINT s');
	failure($db, q{SELECT * FROM pgoutput_ext_peek('pgoutput_ext_db_utf8', NULL, NULL, 'proto_version', '99')});
	$db->do('ROLLBACK TO s');
	is($db->selectrow_array('SHOW client_encoding'), 'LATIN1', 'and after a rolled back savepoint');
	my ($rows) = $db->selectrow_array(q{SELECT count(*) FROM pgoutput_ext_peek('pgoutput_ext_db_utf8')});
	ok($rows > 5, 'the next call starts clean');
	$db->commit;
	is($db->selectrow_array('SHOW client_encoding'), 'LATIN1', 'and at the end of the transaction');

	# Bytes that are no text in the database's encoding.
	$db->do(q{SET client_encoding = 'UTF8'});
	my @error = failure($db, q{SELECT pgoutput_ext_decode('\x49 00004001 4e 0001 74 00000001 ff')});
	is_deeply(\@error, [ '22021', 'invalid byte sequence for encoding "UTF8": 0xff' ], 'an invalid value');
	@error = failure($db, q{SELECT pgoutput_ext_decode('\x49 00004001 4e 0001 74 00000001 00')});
	is_deeply(\@error, [ '22021', 'invalid byte sequence for encoding "UTF8": 0x00' ], 'a zero byte');
	@error = failure($db, q{SELECT pgoutput_ext_decode('\x59 00004001 7300 ff00')});
	is($error[0], '22021', 'an invalid name');
	@error = failure($db, q{SELECT pgoutput_ext_decode_stream('{"\\\\x52 00004001 ff00 7400 64 0000"}')});
	is($error[0], '22021', 'an invalid name of a relation');
}

# ---- what is said of slots --------------------------------------------------

# The findings of the object, as severity and text.
sub found
{
	my ($slot, $object) = @_;
	return [ map { "$_->[0]: $_->[1]" } @{ $dbh->selectall_arrayref(
			q{SELECT severity, finding FROM pgoutput_ext_check(?) WHERE object = ? AND finding NOT LIKE 'has two_phase%'}, undef, $slot, $object) } ];
}

$dbh->do('CREATE EXTENSION pgoutput_ext');
is(found('pgoutput_db_utf8', 'slot pgoutput_db_utf8')->[0], 'error: belongs to database db_utf8', 'a slot of another database');

# The others would keep the age of publications from being known.
foreach my $case (@databases)
{
	connect_db($node, dbname => lc "db_$case->[0]")
	  ->do('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()');
}

$dbh->do('CREATE TABLE t (id int PRIMARY KEY)');
$dbh->do('CREATE PUBLICATION older FOR TABLE t');
$dbh->do(q{SELECT pg_create_logical_replication_slot('s', 'pgoutput_ext')});
$dbh->do('CREATE PUBLICATION younger FOR TABLE t');
is_deeply(found('s', 'publication older'), [], 'a publication older than the slot');
is_deeply(found('s', 'publication younger'),
	['warning: may be younger than the slot\'s position, and not exist for older changes'], 'one younger than it');

my $inactive = 'note: is inactive: no client reads from it, and it holds back WAL and VACUUM';
is_deeply(found('s', 'slot s'), [$inactive], 'an inactive slot');
my $client = ReplicationClient->new($node);
$client->start('s', proto_version => 1, publication_names => 'older');
$node->poll_query_until('postgres', q{SELECT active FROM pg_replication_slots WHERE slot_name = 's'});
is_deeply(found('s', 'slot s'), [], 'a slot in use');
$client->close;
$node->poll_query_until('postgres', q{SELECT NOT active FROM pg_replication_slots WHERE slot_name = 's'});

# Far behind is half of max_slot_wal_keep_size; then the WAL is gone.
$dbh->do(q{SELECT count(pg_logical_emit_message(false, 'filler', repeat('x', 1000000))) FROM generate_series(1, 20)});
my $found = found('s', 'slot s');
is(scalar @$found, 2, 'a slot far behind');
like($found->[0], qr/^warning: (?:1[89]|2\d) MB behind$/, 'says how far');
foreach my $round (1 .. 8)
{
	$dbh->do(q{SELECT pg_logical_emit_message(true, 'filler', 'x')});
	$dbh->do('SELECT pg_switch_wal()');
}
$dbh->do('CHECKPOINT');
is(found('s', 'slot s')->[0],
	'error: is invalid: ' . (server_major() >= 17 ? 'wal_removed' : 'the WAL it needs is gone'), 'a slot without its WAL');

$dbh->disconnect;
$node->stop('fast');
done_testing();
