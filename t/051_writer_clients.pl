# The writer with clients that are idle, slow, silent or gone, and with
# transactions that give them little: nothing waits that could be sent, memory
# stays bounded, connections live and end as with the walsender's own writer.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgoutputExt;
use PostgreSQL::Test::Utils;
use ReplicationClient;
use Test::More;
use Time::HiRes qw(time);

# Generous for a loaded machine, and far from for ever.
my $patience = $PostgreSQL::Test::Utils::timeout_default;

# A timeout that is far away, rather than none: without one, the walsender sends
# what waits whenever it is told of progress.
my $node = new_node('main', conf => q{
wal_sender_timeout = '1h'
logical_decoding_work_mem = '1MB'
});
my $dbh = $node->{dbh};

$dbh->do('CREATE TABLE published (a int PRIMARY KEY, t text)');
$dbh->do('ALTER TABLE published ALTER t SET STORAGE EXTERNAL');
$dbh->do('CREATE TABLE other (a int)');
$dbh->do('CREATE TABLE late (a int)');
$dbh->do('CREATE PUBLICATION p FOR TABLE published');

sub create_slot
{
	my ($name) = @_;
	$dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, $name, plugin_name());
	return $name;
}

sub start
{
	my ($slot, %options) = @_;
	my $client = ReplicationClient->new($node);
	$client->start($slot, proto_version => 1, publication_names => 'p', %options);
	return $client;
}

# Ends the client and waits until the slot is free again.
sub finish
{
	my ($client, $slot) = @_;
	$client->close;
	$node->poll_query_until('postgres',
		"SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$slot'")
	  or die "slot $slot is still active\n";
	return;
}

# Waits until the walsender waits for that; some names' case depends on the server.
sub wait_event_is
{
	my ($client, $event) = @_;
	return $node->poll_query_until('postgres', sprintf
		q{SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = %d AND wait_event ILIKE '%s'}, $client->pid, $event);
}

sub types { return join '', map { substr $_->{data}, 0, 1 } @_ }
sub is_commit { return substr($_[0]{data}, 0, 1) eq 'C' }

# ---- one transaction into an idle connection -----------------------------------

# Nothing else happens in the server, and the client says nothing: if anything
# stayed in the buffer, no one would send it.
my $slot = create_slot('lone');
my $client = start($slot);
my $slowest = 0;

foreach my $i (1 .. 20)
{
	wait_event_is($client, 'WalSenderWaitForWAL')
	  or die "the walsender does not wait for WAL\n";
	my $from = time;
	$dbh->do('INSERT INTO published VALUES (?)', undef, $i);
	my @messages = $client->read_until(\&is_commit);
	my $took = time - $from;
	$slowest = $took if $took > $slowest;
	is(types(@messages), $i == 1 ? 'BRIC' : 'BIC', "lone transaction $i: all of it") if $i < 3;
}
cmp_ok($slowest, '<', 2, 'every lone transaction arrives at once');

# ---- a published row, then a long gap in its transaction -------------------------

# The walsender is stopped in the gap: it must read the catalog for a table that it
# has not seen, and the catalog is locked.  The row must have been sent before.
$dbh->do('INSERT INTO other VALUES (0)');
$dbh->do('INSERT INTO published VALUES (100)');
$client->read_until(\&is_commit) if server_major() < 15;    # 14 sends the empty transaction
$client->read_until(\&is_commit);
my $releases = $dbh->selectrow_array(q{SELECT count(*) FROM pg_config WHERE setting ~ 'RELCACHE_FORCE_RELEASE'});
SKIP:
{
	skip 'this server reads the catalog for each row: RELCACHE_FORCE_RELEASE', 3 if $releases;
	$dbh->begin_work;
	$dbh->do('INSERT INTO published VALUES (101)');
	$dbh->do('INSERT INTO other SELECT generate_series(1, 200000)');
	$dbh->do('INSERT INTO late VALUES (1)');
	$dbh->do('INSERT INTO published VALUES (102)');
	my $locker = connect_db($node);
	$locker->begin_work;
	$locker->do('LOCK TABLE pg_class IN ACCESS EXCLUSIVE MODE');
	$dbh->commit;
	is(types($client->read_until(sub { $_[0]{data} =~ /^I.*101/s })),
		'BI', 'a row is sent before the gap behind it ends');
	is($client->next_message(0.1), undef, 'and what comes behind the gap is not');
	$locker->commit;
	$locker->disconnect;
	is(types($client->read_until(\&is_commit)), 'IC', 'the rest follows');
}
finish($client, $slot);

# ---- a client that stops to read -------------------------------------------------

# 64 MB are on their way when the client stops; the walsender waits for it with no
# more of it in memory than what it gathers, and the one message behind it.
$slot = create_slot('stalled');
$dbh->do(q{INSERT INTO published SELECT i, repeat('x', 4000) FROM generate_series(1001, 17000) i});
$dbh->do(q{INSERT INTO published VALUES (20000, repeat('y', 3000000))});

sub resident
{
	my ($pid) = @_;
	my $status = slurp_file("/proc/$pid/status");
	my ($anonymous) = $status =~ /^RssAnon:\s+(\d+) kB/m or die "no RssAnon for $pid\n";
	return $anonymous;
}

my $idle = ReplicationClient->new($node);
$idle->query('SELECT count(*) FROM pg_class');
my $bound = resident($idle->pid) + 24 * 1024;
$idle->close;

$client = start($slot);
wait_event_is($client, 'WalSenderWriteData') or die "the walsender does not wait for its client\n";
cmp_ok(resident($client->pid), '<', $bound, 'memory is bounded while a client has stopped');
my @messages = $client->read_until(\&is_commit);
is(types(@messages), 'BR' . 'I' x 16_000 . 'C', 'a client that stopped gets all when it reads again');
is(types($client->read_until(\&is_commit)), 'BIC', 'and the transaction after it');
cmp_ok(resident($client->pid), '<', $bound, 'memory stays bounded');
finish($client, $slot);

# ---- a client that vanishes ------------------------------------------------------

# Killed while the walsender waits for it to read, and while it waits for WAL: the
# slot becomes free, and the next client gets everything.
foreach my $state (qw(WalSenderWriteData WalSenderWaitForWAL))
{
	if ($state eq 'WalSenderWaitForWAL')
	{
		$dbh->do('SELECT pg_replication_slot_advance(?, pg_current_wal_lsn())', undef, $slot);
	}
	pipe my $reader, my $writer or die "pipe: $!\n";
	my $pid = fork // die "fork: $!\n";
	if ($pid == 0)
	{
		my $child = start($slot);
		syswrite $writer, $child->pid . "\n";
		sleep 1 while 1;
	}
	chomp(my $walsender = <$reader>);
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $walsender AND wait_event ILIKE '$state'")
	  or die "the walsender does not wait in $state\n";
	kill 'KILL', $pid;
	waitpid $pid, 0;
	ok($node->poll_query_until('postgres',
			"SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$slot'"),
		"$state: the slot of a killed client is free");
	$dbh->do('INSERT INTO published VALUES (30000)');
	$client = start($slot);
	@messages = $client->read_until(\&is_commit);
	is(types(@messages), $state eq 'WalSenderWriteData' ? 'BR' . 'I' x 16_000 . 'C' : 'BRIC',
		"$state: the next client gets all");
	finish($client, $slot);
	$dbh->do('DELETE FROM published WHERE a = 30000');
}

# ---- wal_sender_timeout ----------------------------------------------------------

$dbh->do(q{ALTER SYSTEM SET wal_sender_timeout = '2s'});
$node->reload;
$dbh->do('TRUNCATE published');

# A row filter that takes its time: several timeouts long nothing is sent, then many
# rows are.  How many rows that takes is measured.
my $from;
SKIP:
{
	skip 'row filters came with 15', 1 if server_major() < 15;
	my $work = 'md5(repeat(t, 100000))';
	my $tries = 20;
	$from = time;
	$dbh->do("SELECT $work FROM (SELECT (1000 + i)::text FROM generate_series(1, $tries) i) AS r (t)");
	my $rows = int 6 * $tries / (time - $from);
	$dbh->do("CREATE PUBLICATION slow FOR TABLE published WHERE (a > 0 OR $work = '')");
	$slot = create_slot('filter');
	$dbh->begin_work;
	$dbh->do('INSERT INTO published VALUES (1)');
	$dbh->do('INSERT INTO published SELECT -i, 1000 + i % 9000 FROM generate_series(1, ?) i', undef, $rows);
	$dbh->do('INSERT INTO published SELECT generate_series(2, 301)');
	$dbh->commit;
	$from = time;
	$client = start($slot, publication_names => 'slow');
	is(types($client->read_until(\&is_commit)), 'BR' . 'I' x 301 . 'C', 'a row filter that takes its time');
	note sprintf 'it took %.1f s', time - $from;
	finish($client, $slot);
	$dbh->do('DROP PUBLICATION slow');
}

# A transaction that is hardly published.
$slot = create_slot('timeout');
$dbh->begin_work;
foreach my $i (1001 .. 1010)
{
	$dbh->do('INSERT INTO other SELECT generate_series(1, 60000)');
	$dbh->do('INSERT INTO published VALUES (?)', undef, $i);
}
$dbh->commit;
$from = time;
$client = start($slot);
is(types($client->read_until(\&is_commit)), 'BR' . 'I' x 10 . 'C', 'a transaction that is hardly published');
note sprintf 'it took %.1f s', time - $from;
finish($client, $slot);

# A client that reads, but does not answer, is dropped in time; so is one that
# does not even read.
foreach my $reads (1, 0)
{
	my $name = $reads ? 'reads, but does not answer' : 'neither reads nor answers';

	$slot = create_slot("silent_$reads");
	$dbh->do(q{INSERT INTO published SELECT i, repeat('x', 4000) FROM generate_series(10001, 12000) i});
	my $log = -s $node->logfile;
	$client = start($slot);
	if ($reads)
	{
		my $until = time + $patience;
		my $asked = 0;
		while (time < $until && !$client->{closed})
		{
			my $message = $client->next_message($until - time) or last;
			$asked++ if $message->{type} eq 'd' && $message->{kind} eq 'k' && $message->{reply};
		}
		cmp_ok($asked, '>', 0, "a client that $name is asked");
	}
	ok($node->poll_query_until('postgres', sprintf
			'SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = %d', $client->pid),
		"a client that $name is dropped");
	like(slurp_file($node->logfile, $log), qr/terminating walsender process due to replication timeout/,
		"a client that $name: the log says why");
	finish($client, $slot);
	$dbh->do('DELETE FROM published WHERE a > 10000');
}

unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP/, 'no process crashed');
$dbh->disconnect;
$node->stop;
done_testing();
