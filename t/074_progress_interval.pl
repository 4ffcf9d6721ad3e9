# Option progress_interval: a transaction of which nothing is sent is sent as Begin and
# Commit once that much WAL has gone by since the last one that was sent. With 1MB, and
# 600 kB between the transactions: each second one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use ReplicationClient;
use Test::More;

my $node = new_node('main', conf => "checkpoint_timeout = '1h'\nmax_wal_size = '1GB'\n");
my $dbh = $node->{dbh};
my $major = server_major();
$dbh->do($_) foreach 'CREATE TABLE t (a int PRIMARY KEY)', 'CREATE TABLE u (a int)', 'CREATE PUBLICATION p FOR TABLE t',
  q{SELECT pg_replication_origin_create('far')}, q{SELECT pg_create_logical_replication_slot('s', 'pgoutput_ext')};
$dbh->do(q{SELECT pg_create_logical_replication_slot('two', 'pgoutput_ext', false, true)}) if $major >= 15;
my $value = 0;

# 600 kB of WAL that belongs to no transaction.
sub wal { return $dbh->do(q{SELECT pg_logical_emit_message(false, 'wal', repeat('x', 600000))}); }
sub published { return $dbh->do('INSERT INTO t VALUES (?)', undef, ++$value); }
sub unpublished { return $dbh->do('INSERT INTO u VALUES (?)', undef, ++$value); }
sub quiet { foreach (1 .. $_[0]) { wal(); unpublished(); } return; }

# The messages of a slot, a letter each, with a space behind each transaction. The slot is read on.
sub sent
{
	my ($slot, %given) = @_;
	my %options = (empty_transactions => 'skip', progress_interval => '1MB', %given);
	$dbh->do(q{SELECT pg_logical_emit_message(false, 'flush', '')});
	my $read = read_slot($dbh, $slot, options => [ standard_options('p', %options) ]);
	die $read->{error}{message_primary} if $read->{error};
	return letters(map { $_->[2] } @{ $read->{rows} });
}

sub letters { return join('', map { substr $_, 0, 1 } @_) =~ s/(?<=[CPKrcp])(?=.)/ /gr; }

sub forget { read_slot($dbh, $_[0], options => [ standard_options('p') ], get => 1); return; }

# ---- when it is due -------------------------------------------------------------------

quiet(4);
is(sent('s'), 'BC BC', 'each second one, counted from where the slot stands');
is(sent('s', progress_interval => 'off'), '', 'off: none');
is(sent('s', progress_interval => '10MB'), '', 'none before it is due');
is(sent('s', progress_interval => 'OFF', empty_transactions => 'send'), 'BC BC BC BC', 'all of them, where empty transactions are sent');
is(sent('s', empty_transactions => 'send'), 'BC BC BC BC', 'both: all of them, once');
is(sent('s', progress_interval => '1kB'), 'BC BC BC BC', 'a small interval: all of them');
is(sent('s', progress_interval => 1000000), 'BC BC', 'a number is bytes');
is(sent('s', progress_interval => '0.001GB'), 'BC BC', 'a fraction');
is(sent('s', progress_interval => '4TB'), '', 'a large one');
published();
quiet(3);
is(sent('s'), 'BC BC BRIC BC', 'counted from the last one that was sent');
forget('s');
quiet(3);
is(sent('s'), 'BC', 'a slot that was read on');

# ---- who has nothing to send ----------------------------------------------------------

forget('s');
foreach (1 .. 4) { wal(); published(); }
is(sent('s'), 'BRIC BIC BIC BIC', 'published ones are sent as always');
is(sent('s', exclude_tables => '*.t'), 'BC BC', 'tables that are excluded');
is(sent('s', exclude_origins => '""'), 'BC BC', 'origins that are excluded');
is(sent('s', exclude_tables => '*.t', transaction_metadata => 'on'), 'BMC BMC', 'the frame of the transaction is there');

forget('s');
$dbh->do(q{SELECT pg_replication_origin_session_setup('far')});
quiet(2);
wal();
published();
$dbh->do('SELECT pg_replication_origin_session_reset()');
is(sent('s'), 'BOC BORIC', 'with its origin');
is(sent('s', exclude_origins => 'far'), 'BOC', 'an excluded origin, too');
is(sent('s', origin => 'none'), '', 'the server keeps transactions from the plugin that origin = none leaves out') if $major >= 16;

# ---- streamed and prepared ------------------------------------------------------------

forget('s');
$dbh->do('SET logical_decoding_work_mem = \'64kB\'');
quiet(1);
wal();
$dbh->do('INSERT INTO t SELECT i FROM generate_series(100001, 101000) i');
quiet(1);
like(sent('s', proto_version => 2, streaming => 'on'), qr/^(?:SR?I+E)+c$/, 'counted from a streamed transaction');
quiet(1);
like(sent('s', proto_version => 2, streaming => 'on'), qr/^(?:SR?I+E)+c BC$/, 'a streamed transaction: until it is due again');
$dbh->do('RESET logical_decoding_work_mem');
if ($major >= 15)
{
	my @two_phase = (proto_version => 3, two_phase => 'on');
	foreach my $end ('COMMIT', 'ROLLBACK')
	{
		forget('two');
		quiet(1);
		$dbh->do('BEGIN');
		published();
		$dbh->do(q{PREPARE TRANSACTION 'x'});
		quiet(1);
		$dbh->do("$end PREPARED 'x'");
		quiet(1);
		# what was rolled back by now may be left out
		my $both = $end eq 'COMMIT' ? qr/bRIP K/ : qr/b(?:RI)?P r/;
		like(sent('two', @two_phase), qr/^$both$/, "counted from PREPARE TRANSACTION, and from $end PREPARED");
		quiet(1);
		like(sent('two', @two_phase), qr/^$both BC$/, "$end PREPARED: until it is due again");
	}
	forget('two');
	quiet(1);
	$dbh->do('BEGIN');
	unpublished();
	$dbh->do(q{PREPARE TRANSACTION 'x'});
	quiet(1);
	$dbh->do(q{COMMIT PREPARED 'x'});
	is(sent('two', @two_phase), 'bP K', 'one that is prepared is sent as always');

	$dbh->do('SET logical_decoding_work_mem = \'64kB\'');
	forget('two');
	quiet(1);
	$dbh->do('BEGIN');
	$dbh->do('INSERT INTO t SELECT i FROM generate_series(200001, 201000) i');
	$dbh->do(q{PREPARE TRANSACTION 'x'});
	quiet(1);
	like(sent('two', @two_phase, streaming => 'on'), qr/^(?:SR?I+E)+p$/, 'counted from a streamed one that is prepared');
	$dbh->do(q{ROLLBACK PREPARED 'x'});
}

# ---- a walsender ----------------------------------------------------------------------

forget('s');
quiet(4);
published();
my $client = ReplicationClient->new($node);
$client->start('s', standard_options('p', empty_transactions => 'skip', progress_interval => '1MB'));
my @messages;
until (@messages && $messages[-1] =~ /^C/ && grep { /^I/ } @messages)
{
	my $message = $client->next_message(60) or die "nothing came in time\n";
	push @messages, $message->{data} if $message->{type} eq 'd' && $message->{kind} eq 'w';
}
is(letters(@messages), 'BC BC BRIC', 'a walsender');
# What a client that moves with data can confirm: the end of the last one, in its Commit.
my ($high, $low) = unpack 'x10 N N', (grep { /^C/ } @messages)[1];
is($dbh->selectrow_array(q{SELECT ?::pg_lsn - confirmed_flush_lsn > 2400000 FROM pg_replication_slots WHERE slot_name = 's'}, undef, sprintf '%X/%X', $high, $low),
	1, 'the end of all that WAL is in the second Commit');
$client->close;

$dbh->disconnect;
$node->stop;
done_testing();
