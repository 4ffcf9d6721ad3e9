# What a client receives over a replication connection: the same messages in
# the same order with the same positions as from pgoutput, whatever ends or
# breaks the stream; and the same from SQL functions run over such a connection.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgoutputExt;
use ReplicationClient;
use Test::More;
use Time::HiRes qw(time);

use constant POSTGRES_EPOCH => 946_684_800;

my $node = new_node('main', conf => "logical_decoding_work_mem = '64kB'");
my $dbh = $node->{dbh};

# The messages of a transaction that ends with a logical message "end of ...".
sub is_marker { return $_[0]{data} =~ /^M.*pgoutput_test_end/s }

sub put_marker
{
	$dbh->do(q{SELECT pg_logical_emit_message(false, 'pgoutput_test_end', '')});
	return;
}

sub receive
{
	my ($slot, %options) = @_;
	my $client = ReplicationClient->new($node);

	$client->start($slot, publication_names => 'p', messages => 'true', %options);
	my @messages = $client->read_until(\&is_marker);
	$client->close;
	return @messages;
}

# One line for each message: positions and content, without the send time.
sub lines
{
	return [ map { sprintf '%X %X %s', $_->{lsn}, $_->{end}, unpack 'H*', $_->{data} } @_ ];
}

# Both lists are long: say where they differ only.
sub same_messages
{
	my ($got, $expected, $name) = @_;
	my ($ours, $theirs) = (lines(@$got), lines(@$expected));
	my $at = 0;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$at++ while $at < @$ours && $at < @$theirs && $ours->[$at] eq $theirs->[$at];
	return pass($name) if $at == @$ours && $at == @$theirs;
	fail($name);
	diag sprintf "message %d of %d (pgoutput: %d)\n  ours:     %.300s\n  pgoutput: %.300s",
	  $at + 1, scalar @$ours, scalar @$theirs, $ours->[$at] // '(none)', $theirs->[$at] // '(none)';
	return;
}

sub count_of
{
	my ($type, @messages) = @_;
	return scalar grep { substr($_->{data}, 0, 1) eq $type } @messages;
}

$dbh->do('CREATE TABLE narrow (a int PRIMARY KEY, b int)');
$dbh->do('CREATE TABLE wide (a int PRIMARY KEY, t text)');
$dbh->do('ALTER TABLE wide ALTER t SET STORAGE EXTERNAL');
$dbh->do('CREATE TABLE prepared (a int PRIMARY KEY)');
$dbh->do('CREATE TABLE risky (a int PRIMARY KEY, b int)');
$dbh->do('CREATE PUBLICATION p FOR TABLE narrow, wide, prepared');

# Transactions of every form: large and small, with rows shorter and longer than
# what the writer gathers, with messages inside and outside, rolled back in part.
sub workload
{
	my ($from) = @_;
	my $to = $from + 9999;

	foreach my $i (1 .. 50)
	{
		$dbh->do('INSERT INTO narrow VALUES (?, 0)', undef, $from + 10_000 + $i);
	}
	$dbh->do("INSERT INTO narrow SELECT i, i FROM generate_series($from, $to) i");
	$dbh->begin_work;
	$dbh->do("INSERT INTO wide SELECT $from + i, repeat('x', length)
		FROM unnest('{1, 100, 4000, 32000, 32700, 32768, 70000, 300000, 3}'::int[])
			WITH ORDINALITY AS l (length, i)");
	$dbh->do(q{SELECT pg_logical_emit_message(true, 'inside', repeat('m', 40000))});
	$dbh->do(q{SELECT pg_logical_emit_message(false, 'outside', 'but not waiting')});
	$dbh->do("UPDATE narrow SET b = b + 1 WHERE a BETWEEN $from AND $from + 2000");
	$dbh->do('SAVEPOINT s');
	$dbh->do("DELETE FROM narrow WHERE a BETWEEN $from AND $from + 3000");
	$dbh->do('ROLLBACK TO s');
	$dbh->do("DELETE FROM narrow WHERE a BETWEEN $from AND $from + 1000");
	$dbh->commit;
	$dbh->do('TRUNCATE prepared');
	put_marker();
	return;
}

my $pair = create_slot_pair($dbh, 's');
workload(1);

# ---- a plain stream ------------------------------------------------------------

my $started = time;
my @expected = receive($pair->{oracle}, proto_version => 1);
my @got = receive($pair->{ours}, proto_version => 1);
my $ended = time;

same_messages(\@got, \@expected, 'protocol 1: same messages in the same order');
is(count_of('I', @got), 50 + 10_000 + 9, 'protocol 1: all inserts');
is(count_of('C', @got), 50 + 1 + 1 + 1, 'protocol 1: all commits');

my @times = map { $_->{time} } @got;
is(scalar(grep { $times[ $_ - 1 ] > $times[$_] } 1 .. $#times), 0, 'send times never go back');

# A coarse clock may be a timer's tick behind (10 ms where it ticks slowest).
my ($first, $last) = map { $_ / 1e6 + POSTGRES_EPOCH } @times[ 0, -1 ];
ok($first > $started - 0.02 && $last < $ended, 'send times are the time of sending')
  or diag "started $started, first $first, last $last, ended $ended";

# The clock is read, and the message sent, for few of them.  Where one message
# was sent at a time, no two have the same time.
my %distinct = map { $_ => 1 } @times;
cmp_ok(keys %distinct, '<', @got / 10, 'messages are sent together');

# ---- streamed, and prepared ----------------------------------------------------

@expected = receive($pair->{oracle}, proto_version => 2, streaming => 'on');
@got = receive($pair->{ours}, proto_version => 2, streaming => 'on');
same_messages(\@got, \@expected, 'protocol 2: same messages in the same order');
cmp_ok(count_of('E', @got), '>', 2, 'protocol 2: transactions are streamed');
is(count_of('c', @got), 2, 'protocol 2: end of both');

SKIP:
{
	skip 'prepared transactions are sent as such from 15 on', 1 if server_major() < 15;
	my $two_phase = create_slot_pair($dbh, 'two_phase', two_phase => 1);

	# A large one that is known to be rolled back is streamed by some servers only.
	foreach my $case ([ 3, 'COMMIT' ], [ 3, 'ROLLBACK' ], [ 20_000, 'COMMIT' ])
	{
		my ($rows, $end) = @$case;

		$dbh->do('BEGIN');
		$dbh->do("INSERT INTO prepared SELECT generate_series(1, $rows)");
		$dbh->do("PREPARE TRANSACTION 'gid'");
		$dbh->do("$end PREPARED 'gid'");
		$dbh->do('TRUNCATE prepared');
	}
	put_marker();
	my @options = (proto_version => 3, streaming => 'on', two_phase => 'on');
	@expected = receive($two_phase->{oracle}, @options);
	@got = receive($two_phase->{ours}, @options);
	same_messages(\@got, \@expected, 'protocol 3: same messages in the same order');
	is(join(' ', map { count_of($_, @got) } qw(b P p K r)),
		'2 2 1 2 1', 'protocol 3: prepared and streamed prepared, committed and rolled back');
	drop_slot_pair($dbh, $two_phase);
}

# ---- SQL functions over a replication connection -----------------------------

my $sql = sprintf q{SELECT lsn, xid, encode(data, 'hex')
	FROM pg_logical_slot_peek_binary_changes('%s', NULL, NULL,
		'proto_version', '1', 'publication_names', 'p', 'messages', 'true')}, $pair->{ours};
my @rows = @{ $dbh->selectall_arrayref($sql) };
my $client = ReplicationClient->new($node);

cmp_ok(@rows, '>', 10_000, 'a SQL function gives the stream');
is_deeply([ $client->query($sql) ], \@rows, 'and the same over a replication connection');

$client->start($pair->{ours}, proto_version => 1, publication_names => 'p', messages => 'true');
$client->read_until(\&is_marker);
$client->stop;
is_deeply([ $client->query($sql) ], \@rows, 'and after that connection streamed from the slot');

$dbh->do(q{SELECT pg_create_logical_replication_slot('text', 'test_decoding')});
$dbh->do('INSERT INTO prepared VALUES (1)');
is_deeply(
	[ $client->query(q{SELECT data FROM pg_logical_slot_get_changes('text', NULL, NULL, 'include-xids', '0')}) ],
	[ ['BEGIN'], ['table public.prepared: INSERT: a[integer]:1'], ['COMMIT'] ],
	'another plugin on that connection is left alone');
$dbh->do(q{SELECT pg_drop_replication_slot('text')});
drop_slot_pair($dbh, $pair);
$client->close;

# A slot made over a connection, and streamed from at once.
$client = ReplicationClient->new($node);
$client->query(sprintf 'CREATE_REPLICATION_SLOT made LOGICAL %s', plugin_name());
$dbh->do('INSERT INTO prepared VALUES (2)');
put_marker();
$client->start('made', proto_version => 1, publication_names => 'p', messages => 'true');
@got = $client->read_until(\&is_marker);
is(join('', map { substr $_->{data}, 0, 1 } @got), 'BRICM', 'a slot made by the same connection');
$client->stop;
$client->close;
$dbh->do(q{SELECT pg_drop_replication_slot('made')});

# ---- an error in the middle ----------------------------------------------------

# Everything before the row that cannot be filtered is sent, then the error; the
# connection can be used afterwards. On 14, which has no filters, the publication is
# gone then.
my $has_filters = server_major() >= 15;
$dbh->do('CREATE PUBLICATION risky FOR TABLE risky' . ($has_filters ? ' WHERE (1 / b = 1)' : '') . ' WITH (publish = insert)');
$pair = create_slot_pair($dbh, 'e');
$dbh->begin_work;
$dbh->do('INSERT INTO risky SELECT i, 1 FROM generate_series(1, 699) i');
$dbh->do('ALTER PUBLICATION risky RENAME TO gone') if !$has_filters;
$dbh->do('INSERT INTO risky SELECT i, CASE i WHEN 700 THEN 0 ELSE 1 END FROM generate_series(700, 1000) i');
$dbh->commit;

my %seen;
foreach my $slot ($pair->{oracle}, $pair->{ours})
{
	my $connection = ReplicationClient->new($node);
	my $end;

	$connection->start($slot, proto_version => 1, publication_names => 'risky');
	while (my $message = $connection->next_message(60))
	{
		$end = $message->{error} if $message->{type} eq 'E';
		push @{ $seen{$slot} }, $message if $message->{type} eq 'd' && $message->{kind} eq 'w';
		last if $message->{type} eq 'Z';
	}
	is($end, $has_filters ? '22012 division by zero' : '42704 publication "risky" does not exist', "$slot: the stream ends with the error");
	is_deeply([ $connection->query('SELECT 1') ], [ ['1'] ], "$slot: the connection lives");
	$connection->close;
}
is(count_of('I', @{ $seen{ $pair->{ours} } }), 699, 'all rows before the error');
same_messages($seen{ $pair->{ours} }, $seen{ $pair->{oracle} }, 'same messages before the error');
drop_slot_pair($dbh, $pair);

# ---- cancelled and terminated --------------------------------------------------

# A client that reads nothing while the transaction is sent, so that the walsender
# is in the middle of it when the signal comes.
$pair = create_slot_pair($dbh, 'c');
workload(100_001);
@expected = receive($pair->{ours}, proto_version => 1);

foreach my $case (
	[ pg_cancel_backend => '57014 canceling statement due to user request' ],
	[ pg_terminate_backend => '57P01 terminating connection due to administrator command' ])
{
	my ($function, $error) = @$case;
	my $connection = ReplicationClient->new($node);
	my $rest;

	$connection->start($pair->{ours}, proto_version => 1, publication_names => 'p', messages => 'true');
	$node->poll_query_until('postgres', sprintf
		q{SELECT wait_event = 'WalSenderWriteData' FROM pg_stat_activity WHERE pid = %d}, $connection->pid)
	  or die "the walsender did not fill the connection in time\n";
	$dbh->do("SELECT $function(?)", undef, $connection->pid);

	@got = ();
	while (my $message = $connection->next_message(60))
	{
		$rest = $message->{error} if $message->{type} eq 'E';
		push @got, $message if $message->{type} eq 'd' && $message->{kind} eq 'w';
		last if $message->{type} eq 'Z';
	}
	is($rest, $error, "$function: the stream ends with the error");
	cmp_ok(@got, '>', 100, "$function: messages came before");
	cmp_ok(@got, '<', @expected, "$function: not all of them did");
	same_messages(\@got, [ @expected[ 0 .. $#got ] ], "$function: they are the stream's first");
	if ($function eq 'pg_cancel_backend')
	{
		$connection->start($pair->{ours}, proto_version => 1, publication_names => 'p', messages => 'true');
		same_messages([ $connection->read_until(\&is_marker) ], \@expected,
			"$function: the connection streams all of it again");
	}
	$connection->close;
}

$dbh->disconnect;
$node->stop;
done_testing();
