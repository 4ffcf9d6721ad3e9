# What the metadata frames may not do: wait for a lock on a user's table, end
# decoding over a default that cannot be described, hide that a transaction has
# aborted.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use MetadataFrames;
use PgoutputExt;
use Test::More;

my $node = new_node('main', conf => q{logical_decoding_work_mem = '64kB'});
my $dbh = $node->{dbh};
my $other = connect_db($node);
my @all = map { ("${_}_metadata" => 'on') } qw(relation type transaction publication);

sub create_slot
{
	my ($name) = @_;
	$dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, $name, plugin_name());
	return;
}

sub result_of
{
	my ($slot, %options) = @_;
	return read_slot($dbh, $slot, options => [ standard_options('p', proto_version => 2, generated_columns => 'stored', empty_transactions => 'skip', @all, %options) ]);
}

sub messages_of
{
	my ($result) = @_;
	return parse_stream(map { $_->[2] } @{ $result->{rows} });
}

# ---- locks

$dbh->do('CREATE SEQUENCE s');
$dbh->do('CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS $$SELECT $1$$');
$dbh->do(q{CREATE TYPE pair AS (x int, y text)});
$dbh->do(q{CREATE TABLE root (id int DEFAULT nextval('s'), p pair, x int DEFAULT 1 + 1, g int GENERATED ALWAYS AS (f(id) + tableoid::int) STORED, PRIMARY KEY (id)) PARTITION BY RANGE (id)});
$dbh->do('CREATE TABLE leaf PARTITION OF root FOR VALUES FROM (0) TO (100)');
$dbh->do('CREATE PUBLICATION p FOR TABLE root WITH (publish_via_partition_root)');
create_slot('locks');
$dbh->do('INSERT INTO root DEFAULT VALUES');
$other->begin_work;
$other->do('LOCK TABLE root, leaf IN ACCESS EXCLUSIVE MODE');
$other->do('ALTER TYPE pair ADD ATTRIBUTE z int CASCADE');
$other->do('ALTER SEQUENCE s RESTART 10');
$dbh->do(q{SET lock_timeout = '1s'});
my $result = result_of('locks');
is($result->{error} && $result->{error}{message_primary}, undef, 'no lock on a table, a sequence or a type is waited for');
$dbh->do('RESET lock_timeout');
$other->rollback;
my ($told) = grep { $_->{name} eq 'leaf' } frames_of('relation', messages_of($result));
is_deeply(
	[ map { $_->{default} } @{ $told->{columns} } ],
	[ q{nextval('public.s'::regclass)}, undef, '(1 + 1)', '(public.f(id) + (tableoid)::integer)' ],
	'and all is described');
is_deeply($told->{root}{name}, 'root', 'also of whom it is a partition');

# ---- defaults that cannot be described

$dbh->do('CREATE FUNCTION broken() RETURNS int LANGUAGE sql AS $$SELECT 1$$');
$dbh->do('CREATE TABLE t (id int DEFAULT 1, b int DEFAULT broken(), c int DEFAULT 2, filler text)');
$dbh->do('ALTER PUBLICATION p SET TABLE t');
create_slot('broken');
$dbh->do(q{SET allow_system_table_mods = on});
$dbh->do(q{DELETE FROM pg_proc WHERE proname = 'broken'});
$dbh->do('RESET allow_system_table_mods');
$dbh->do('INSERT INTO t (b) VALUES (7)');
$result = result_of('broken');
is($result->{error} && $result->{error}{message_primary}, undef, 'decoding goes on');
is(outline(messages_of($result)), 'B M:transaction M:publications R M:relation I C', 'with all its messages');
my ($column_id, $column_b, $column_c) = map { @{ $_->{columns} } } frames_of('relation', messages_of($result));
is($column_id->{default}, '1', 'the column before is described');
ok(!exists $column_b->{default}, 'the default that cannot be described is left out');
is($column_b->{type}, 'integer', 'the rest of that column is not');
is($column_c->{default}, '2', 'the column behind is described');
is(scalar @{ $result->{warnings} }, 1, 'one warning');
like($result->{warnings}[0], qr/^WARNING:  could not describe the default of column "b" of relation "t"\nDETAIL:  cache lookup failed for function \d+/, 'it says which');

# In a streamed transaction too.
create_slot('streamed');
$dbh->begin_work;
$dbh->do(q{INSERT INTO t (b, filler) SELECT 8, repeat('x', 500) FROM generate_series(1, 400)});
$dbh->commit;
$dbh->do('INSERT INTO t (b) VALUES (9)');
$result = result_of('streamed', streaming => 'on');
is($result->{error} && $result->{error}{message_primary}, undef, 'streamed: decoding goes on');
like(outline(messages_of($result)), qr/^S M:transaction M:publications R M:relation I\+ E (?:S I\+ E )*c B M:transaction I C$/, 'streamed: all messages');

# ---- aborts

# A transaction that has aborted by the time that it is streamed ends where a
# catalog is looked at, before 18, which does not start to stream it.  Here that is for a default's function: all else is in
# the caches.  The abort is not taken for a default that cannot be described.
$dbh->do('CREATE TABLE u (id int DEFAULT f(1), filler text)');
$dbh->do('ALTER PUBLICATION p SET TABLE u');
create_slot('aborted');
$dbh->do('INSERT INTO u VALUES (1)');
$dbh->do('CREATE OR REPLACE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS $$SELECT $1$$');
$other->begin_work;
$other->do(q{INSERT INTO u SELECT 1, repeat('x', 500) FROM generate_series(1, 400)});
$other->rollback;
$dbh->do('INSERT INTO u VALUES (2)');
$result = result_of('aborted', streaming => 'on');
is($result->{error} && $result->{error}{message_primary}, undef, 'an abort is no error');
is_deeply($result->{warnings}, [], 'and no warning');
my $stream = server_major() < 18 ? 'S M:transaction R E A ' : '';
is(outline(messages_of($result)), "B M:transaction M:publications R M:relation I C ${stream}B M:transaction I C", 'but the end of the stream');

$other->disconnect;
$dbh->disconnect;
$node->stop;
done_testing();
