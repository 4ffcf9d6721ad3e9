# Metadata frames in streamed and prepared transactions, over a replication
# connection, in other encodings, and with what only some majors have.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use MetadataFrames;
use PgoutputExt;
use ReplicationClient;
use Test::More;

my $node = new_node('main', conf => q{logical_decoding_work_mem = '64kB'});
my $dbh = $node->{dbh};
my $other = connect_db($node);
my @all = (empty_transactions => 'skip', map { ("${_}_metadata" => 'on') } qw(relation type transaction publication));

$dbh->do(q{CREATE TYPE mood AS ENUM ('one')});
$dbh->do('CREATE TABLE t (id int PRIMARY KEY, m mood, filler text)');
$dbh->do('CREATE PUBLICATION p FOR TABLE t');
$dbh->do('CREATE SEQUENCE ids');

sub create_slot
{
	my ($name, $two_phase) = @_;
	$dbh->do('SELECT pg_create_logical_replication_slot(?, ?, false, ?)', undef, $name, plugin_name(), $two_phase ? 't' : 'f');
	return;
}

sub stream
{
	my ($slot, %params) = @_;
	my $result = read_slot($dbh, $slot,
		options => [ standard_options('p', proto_version => max_protocol(), @all, %{ $params{options} || {} }) ],
		get => $params{get});
	BAIL_OUT("cannot read slot $slot: $result->{error}{message_primary}") if $result->{error};
	return parse_stream(map { $_->[2] } @{ $result->{rows} });
}

my %streaming = (options => { streaming => 'on' });

# One row, and so many that the transaction is streamed.
sub insert_one { return $_[0]->do(q{INSERT INTO t VALUES (nextval('ids'), NULL, 'one')}) }
sub insert_many { return $_[0]->do(q{INSERT INTO t SELECT nextval('ids'), NULL, repeat('x', 500) FROM generate_series(1, 400)}) }

sub top_xid { return $_[0]->selectrow_array('SELECT pg_current_xact_id()') }

# The last labels that were told, per message stream.
sub labels { return [ map { $_->{labels} } frames_of('type', @_) ] }

my $announced = 'Y M:type R M:relation';

# ---- one streamed transaction with a subtransaction

create_slot('streamed');
$dbh->begin_work;
insert_one($dbh);
my $xid = top_xid($dbh);
$dbh->do('SAVEPOINT s');
insert_many($dbh);
$dbh->commit;
insert_one($dbh);

my @messages = stream('streamed', %streaming);
my $outline = outline(@messages);
like($outline, qr/^S M:transaction M:publications $announced I\+ E (?:S I\+ E )*c B M:transaction I C$/,
	'frames behind the first Stream Start and each Type and Relation, and nothing twice');
my ($frame, $plain) = frames_of('transaction', @messages);
is($frame->{xid}, $xid, 'streamed: the top transaction');
ok(!$frame->{complete}, 'streamed: more may follow');
cmp_ok($frame->{subtransactions}, '==', 1, 'streamed: its subtransaction is known');
cmp_ok($frame->{changes}, '>', 1, 'streamed: changes so far');
cmp_ok($frame->{changes}, '<', 401, 'streamed: not those to come');
cmp_ok($frame->{memory_bytes}, '>=', 64 * 1024, 'streamed: when it has outgrown the memory');
ok($plain->{complete}, 'a transaction that is sent at its end is complete');
my %xids = map { $_->{xid} // 0 => 1 } grep { $_->{frame} || $_->{type} eq 'I' } @messages;
my ($first) = grep { $_->{type} eq 'I' } @messages;
my ($relation) = grep { ($_->{frame} // '') eq 'relation' } @messages;
my ($transaction) = grep { ($_->{frame} // '') eq 'transaction' } @messages;
is($transaction->{xid}, $xid, q{a transaction's frame carries the transaction's id});
is($relation->{xid}, $first->{xid}, q{a relation's frame carries the id of the change behind it});
is_deeply([ map { $_->{flags} } grep { $_->{frame} } @messages ], [ (1) x grep { $_->{frame} } @messages ], 'frames are transactional');

my ($without) = map { outline(@$_) } [ parse_stream(map { $_->[2] }
	@{ read_slot($dbh, 'streamed', options => [ standard_options('p', proto_version => max_protocol(), streaming => 'on') ])->{rows} }) ];
(my $expected = $outline) =~ s/ M:\w+\+?//g;
is($without, $expected, 'without the options the same messages without the frames');

# The walsender gives the same messages as the SQL functions.
my $client = ReplicationClient->new($node);
$client->start('streamed', standard_options('p', proto_version => max_protocol(), streaming => 'on', @all));
my @sent = parse_stream(map { $_->{data} } $client->read_until(sub { substr($_[0]{data}, 0, 1) eq 'C' }));
$client->stop;
$client->close;
is_deeply(\@sent, \@messages, 'a replication connection carries the same frames');

# ---- what an aborted stream was told does not count, what a committed one was does

# Read while it happens: once a transaction has aborted, the server ends its
# stream at the first look at a catalog.
create_slot('told');
$client = ReplicationClient->new($node);
$client->start('told', standard_options('p', proto_version => max_protocol(), streaming => 'on', @all));
my @read;

# Reads up to the first message of a type.
sub read_to
{
	my ($type) = @_;
	push @read, map { $_->{data} } $client->read_until(sub { substr($_[0]{data}, 0, 1) eq $type });
	return;
}

# In a streamed transaction that aborts, and beside it.
insert_one($dbh);
$dbh->do(q{ALTER TYPE mood ADD VALUE 'two'});
$dbh->do(q{ALTER PUBLICATION p SET (publish = 'insert, update')});
$other->begin_work;
insert_many($other);
insert_one($dbh);
read_to('C') for 1 .. 2;
$other->rollback;
insert_one($dbh);
read_to('C');

# In a streamed transaction that aborts, only; the message has the server write
# out what WAL there is.
$dbh->do(q{ALTER TYPE mood ADD VALUE 'three'});
$other->begin_work;
insert_many($other);
$dbh->do(q{SELECT pg_logical_emit_message(true, 'flush', '')});
read_to('E');
$other->rollback;
insert_one($dbh);
read_to('C');

# In one that commits.
$dbh->do(q{ALTER TYPE mood ADD VALUE 'four'});
$dbh->do(q{ALTER PUBLICATION p SET (publish = 'insert, delete')});
$other->begin_work;
insert_many($other);
$other->commit;
insert_one($dbh);
read_to('C');
$client->stop;
$client->close;

@messages = parse_stream(@read);
is_deeply(
	labels(@messages),
	[   ['one'],
		[qw(one two)],	# in the stream that aborts
		[qw(one two)],	# beside it
		[qw(one two three)],	# in the stream that aborts
		[qw(one two three)],	# again, behind it
		[qw(one two three four)]	# in the stream that commits, and not again
	],
	'types are told again after a stream aborted, and not after it committed')
  or diag(outline(@messages));
is_deeply(
	[ map { $_->{publications}[0]{actions} } frames_of('publications', @messages) ],
	[   [qw(insert update delete truncate)], [qw(insert update)], [qw(insert update)], [qw(insert delete)] ],
	'and so are publications');

# A change of a type inside the streamed transaction is seen there, not outside.
create_slot('inside');
insert_one($dbh);
$other->begin_work;
$other->do(q{ALTER TYPE mood RENAME VALUE 'four' TO 'five'});
insert_many($other);
insert_one($dbh);
$other->do(q{ALTER TYPE mood RENAME VALUE 'five' TO 'six'});
insert_many($other);
$other->do('SAVEPOINT s');
$other->do(q{ALTER TYPE mood RENAME VALUE 'six' TO 'lost'});
insert_many($other);
$other->do('ROLLBACK TO s');
insert_many($other);
$other->commit;
insert_one($dbh);

@messages = stream('inside', %streaming);
my @last = map { $_->[-1] } @{ labels(@messages) };
is($last[0], 'four', 'told first as it was');
is($last[1], 'five', 'the renamed label is told inside the stream');
is((grep { $_ eq 'six' } @last) > 0, 1, 'and the next');
isnt($last[-1], 'lost', 'what a subtransaction took back is not told last');
my ($behind) = grep { $messages[$_]{type} eq 'c' } 0 .. $#messages;
is(outline(@messages[ 0 .. 6 ]), "B M:transaction M:publications $announced", 'the whole at first');
is(outline(@messages[ $behind + 1 .. $#messages ]), 'B M:transaction I C', 'nothing of it behind the commit that the client knows');

# A stream that was told before a change and commits behind it: the client has
# the older last, and is told again.
create_slot('overtaken');
$other->begin_work;
insert_many($other);
$dbh->do(q{ALTER TYPE mood ADD VALUE 'seven'});
insert_one($dbh);
$other->commit;
insert_one($dbh);
insert_one($dbh);

@messages = stream('overtaken', %streaming);
is_deeply([ map { $_->[-1] } @{ labels(@messages) } ], [qw(six seven seven)], 'what the client was told last is older: told again')
  or diag(outline(@messages));

# ---- prepared transactions

SKIP:
{
	skip 'prepared transactions are sent as such from 15 on', 1 if server_major() < 15;
	create_slot('prepared', 1);
	$dbh->do('BEGIN');
	insert_one($dbh);
	$xid = top_xid($dbh);
	$dbh->do(q{PREPARE TRANSACTION 'small'});
	$dbh->do(q{COMMIT PREPARED 'small'});
	$dbh->do('BEGIN');
	insert_many($dbh);
	$dbh->do(q{PREPARE TRANSACTION 'large'});
	$dbh->do(q{COMMIT PREPARED 'large'});
	insert_one($dbh);

	@messages = stream('prepared', options => { two_phase => 'on' });
	is(outline(@messages),
		"b M:transaction M:publications $announced I P K b M:transaction I+ P K B M:transaction I C",
		'frames behind Begin Prepare');
	($frame) = frames_of('transaction', @messages);
	is($frame->{xid}, $xid, 'prepared: its xid');
	ok($frame->{complete}, 'prepared: it is complete');

	@messages = stream('prepared', options => { two_phase => 'on', streaming => 'on' });
	like(outline(@messages),
		qr/^b M:transaction M:publications $announced I P K S M:transaction $announced I\+ E (?:S I\+ E )*p K B M:transaction M:type I C$/,
		'what a stream was told that is prepared is told again: nobody knows whether the client keeps it');
}

# ---- encodings: the content is in the server's

sub test_encoding
{
	my ($server, $client_encoding, $bytes) = @_;
	my $database = lc "${server}_$client_encoding";
	$dbh->do(qq{CREATE DATABASE $database ENCODING '$server' LOCALE 'C' TEMPLATE template0});
	my $db = connect_db($node, dbname => $database);
	$db->do(q{CREATE TYPE name AS ENUM (E'\u00e9\n"')});
	$db->do(q{CREATE TABLE t (id int, n public.name, d text DEFAULT E'\u00e9')});
	$db->do('CREATE PUBLICATION p FOR TABLE t');
	$db->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, $database, plugin_name());
	$db->do('INSERT INTO t VALUES (1)');
	$db->do("SET client_encoding = '$client_encoding'");
	my $result = read_slot($db, $database, options => [ standard_options('p', @all) ]);
	my ($type, $table) = map { my $f = $_; grep { ($_->{frame} // '') eq $f } parse_stream(map { $_->[2] } @{ $result->{rows} }) } qw(type relation);
	like($type->{raw}, qr/"labels":\["\Q$bytes\E\\n\\""\]/, "$server server, $client_encoding client: a label");
	like($table->{raw}, qr/"default":"'\Q$bytes\E'::text"/, "$server server, $client_encoding client: a default");
	$db->do('SELECT pg_drop_replication_slot(?)', undef, $database);
	$db->disconnect;
	return;
}
test_encoding('UTF8', 'UTF8', "\xc3\xa9");
test_encoding('UTF8', 'LATIN1', "\xc3\xa9");
test_encoding('LATIN1', 'UTF8', "\xe9");

# ---- string literals as the standard has them, whatever the session

if (server_major() < 19)
{
	$dbh->do('CREATE TABLE literal (a text DEFAULT $$\\$$)');
	$dbh->do('CREATE PUBLICATION literal FOR TABLE literal');
	create_slot('literal');
	$dbh->do('INSERT INTO literal DEFAULT VALUES');
	$dbh->do('SET standard_conforming_strings = off');
	my $result = read_slot($dbh, 'literal', options => [ standard_options('literal', relation_metadata => 'on') ]);
	my ($told) = frames_of('relation', parse_stream(map { $_->[2] } @{ $result->{rows} }));
	is($told->{columns}[0]{default}, q{'\'::text}, 'a literal with a backslash');
	is($dbh->selectrow_array('SHOW standard_conforming_strings'), 'off', 'the setting is as it was');
	$dbh->do('RESET standard_conforming_strings');
}

# ---- what only some majors have

sub publication_kinds
{
	my ($definition) = @_;
	$dbh->do("CREATE PUBLICATION q $definition");
	create_slot('kinds');
	insert_one($dbh);
	my $result = read_slot($dbh, 'kinds', options => [ standard_options([ 'p', 'q' ], publication_metadata => 'on') ]);
	$dbh->do(q{SELECT pg_drop_replication_slot('kinds')});
	$dbh->do('DROP PUBLICATION q');
	my ($told) = frames_of('publications', parse_stream(map { $_->[2] } @{ $result->{rows} }));
	return $told->{publications}[1];
}
is_deeply(publication_kinds('FOR ALL TABLES')->{kinds}, ['all tables'], 'all tables');
if (server_major() >= 18)
{
	is(publication_kinds('FOR TABLE t WITH (publish_generated_columns = stored)')->{generated_columns}, 'stored', 'generated columns: stored');
	is(publication_kinds('FOR TABLE t WITH (publish_generated_columns = none)')->{generated_columns}, 'none', 'generated columns: none');
	$dbh->do('CREATE TABLE v (id int, s int GENERATED ALWAYS AS (id + 1) STORED, v int GENERATED ALWAYS AS (id + 2) VIRTUAL)');
	$dbh->do('CREATE PUBLICATION v FOR TABLE v WITH (publish_generated_columns = stored)');
	create_slot('virtual');
	$dbh->do('INSERT INTO v VALUES (1)');
	my $result = read_slot($dbh, 'virtual', options => [ standard_options('v', relation_metadata => 'on') ]);
	my ($told) = frames_of('relation', parse_stream(map { $_->[2] } @{ $result->{rows} }));
	is_deeply([ map { [ @{$_}{qw(name generated default)} ] } @{ $told->{columns} } ],
		[ [ 'id', undef, undef ], [ 's', 'stored', '(id + 1)' ] ], 'a virtual column is not sent and not told of');
}
if (server_major() >= 19)
{
	is_deeply(publication_kinds('FOR ALL TABLES EXCEPT (TABLE public.t)')->{kinds}, [ 'all tables', 'except tables' ], 'all tables but some');
	is_deeply(publication_kinds('FOR ALL TABLES, ALL SEQUENCES')->{kinds}, [ 'all tables', 'all sequences' ], 'all sequences');
}

$other->disconnect;
$dbh->disconnect;
$node->stop;
done_testing();
