# The writer and what waits for a walsender's client: commits under synchronous
# replication, and the server's shutdown; and the writer over TLS.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use DBD::Pg qw(:async);
use PgoutputExt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReplicationClient;
use Test::More;
use Time::HiRes qw(time usleep);

my $patience = $PostgreSQL::Test::Utils::timeout_default;

my $node = new_node('main', conf => q{
wal_sender_timeout = 0
logical_decoding_work_mem = '1MB'
});
my $dbh = $node->{dbh};

sub create_slot
{
	my ($name) = @_;
	$dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, $name, plugin_name());
	return $name;
}

sub create_tables
{
	my ($to) = @_;
	$to->do('CREATE TABLE published (a int PRIMARY KEY, t text)');
	$to->do('ALTER TABLE published ALTER t SET STORAGE EXTERNAL');
	$to->do('CREATE TABLE other (a int)');
	$to->do('CREATE PUBLICATION p FOR TABLE published');
	return;
}

sub types { return join '', map { substr $_->{data}, 0, 1 } @_ }
sub is_commit { return substr($_[0]{data}, 0, 1) eq 'C' }

create_tables($dbh);

# ---- synchronous replication -----------------------------------------------------

# The client confirms what it is told: the end of a Commit, and the position in a
# keepalive when nothing else is on its way.
my $slot = create_slot('sync');
my $client = ReplicationClient->new($node, application_name => 'sync');

$client->start($slot, proto_version => 1, publication_names => 'p');
$dbh->do(q{INSERT INTO published VALUES (-1, 'x')});
$client->reply(($client->read_until(\&is_commit))[-1]{end});
$dbh->do(q{ALTER SYSTEM SET synchronous_standby_names = 'sync'});
$node->reload;
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'})
  or die "the client is not synchronous\n";

# Runs a statement of its own transaction while the client serves its connection;
# returns the messages, or dies when the commit hangs.
sub run_synchronously
{
	my ($sql) = @_;
	my $until = time + $patience;
	my @messages;

	$dbh->do($sql, { pg_async => PG_ASYNC });
	while (!$dbh->pg_ready)
	{
		die "the commit hangs: $sql\n" if time > $until;
		my $message = $client->next_message(0.01) or next;
		push @messages, $message if $message->{kind} eq 'w';
		$client->reply($message->{end})
		  if $message->{kind} eq 'k' || is_commit($message);
	}
	$dbh->pg_result;
	return types(@messages);
}

is(run_synchronously(q{INSERT INTO published VALUES (1, 'x')}), 'BIC', 'synchronous: published');
my $empty = server_major() < 15 ? 'BC' : '';    # 14 sends empty transactions
is(run_synchronously('INSERT INTO other VALUES (1)'), $empty, 'synchronous: filtered away');
is(run_synchronously('INSERT INTO other SELECT generate_series(1, 20000)'), $empty, 'synchronous: much of it');
is(run_synchronously(q{INSERT INTO published SELECT i, 'x' FROM generate_series(2, 5001) i}),
	'B' . 'I' x 5000 . 'C', 'synchronous: many rows');
is(run_synchronously('CREATE TABLE new (a int)'), $empty, 'synchronous: DDL');
is(run_synchronously(q{WITH o AS (INSERT INTO other VALUES (2)) INSERT INTO published VALUES (0, 'x')}),
	'BIC', 'synchronous: both');

$dbh->do('SET synchronous_commit = local');
$dbh->do('ALTER SYSTEM RESET synchronous_standby_names');
$node->reload;
$client->close;

# ---- shutdown --------------------------------------------------------------------

# A server that is shut down sends all that was committed, to a client that starts
# to read when the shutdown has begun, then ends the stream in order.
foreach my $mode (qw(fast smart))
{
	my $sent = create_slot("shutdown_$mode");
	$dbh->do('TRUNCATE published');
	$dbh->do('SELECT pg_replication_slot_advance(?, pg_current_wal_lsn())', undef, $sent);
	$dbh->do(q{INSERT INTO published SELECT i, repeat('x', 4000) FROM generate_series(1, 2000) i});
	$dbh->do(q{INSERT INTO published VALUES (3000, 'last')});
	$client = ReplicationClient->new($node);
	$client->start($sent, proto_version => 1, publication_names => 'p');
	$node->poll_query_until('postgres', sprintf
		q{SELECT wait_event = 'WalSenderWriteData' FROM pg_stat_activity WHERE pid = %d}, $client->pid)
	  or die "the walsender does not wait for its client\n";
	$dbh->disconnect;

	my $stop = IPC::Run::start([ 'pg_ctl', '-D', $node->data_dir, '-m', $mode, '-t', $patience, 'stop' ],
		'>', \my $out, '2>&1');
	my $until = time + $patience;
	usleep(10_000) until slurp_file($node->logfile) =~ /received $mode shutdown request/ || time > $until;

	my (@messages, $completed);
	my $lsn = 0;
	while (my $message = $client->next_message($patience))
	{
		$completed = 1 if $message->{type} eq 'C';
		next if $message->{type} ne 'd';
		push @messages, $message if $message->{kind} eq 'w';
		$lsn = $message->{end} if $message->{kind} eq 'k' || is_commit($message);
		$client->reply($lsn) if $message->{kind} eq 'k' || is_commit($message);
	}
	$stop->finish;
	is(types(@messages), 'BR' . 'I' x 2000 . 'CBIC', "$mode shutdown: everything was sent");
	ok($completed && $client->{closed}, "$mode shutdown: and the stream ended in order");
	$node->_update_pid(0);
	$node->start;
	$dbh = connect_db($node);
}

# ---- TLS -------------------------------------------------------------------------

# TLS is not spoken over unix sockets: this part listens on the loopback interface,
# and lets in who speaks TLS.
SKIP:
{
	my $dir = $node->data_dir;
	my $version = $dbh->selectrow_array('SHOW ssl_library');

	skip 'the server was built without TLS', 4 if $version eq '';
	skip 'no openssl command', 4
	  if !IPC::Run::run(
		[   qw(openssl req -new -x509 -days 3650 -nodes -subj /CN=localhost -newkey rsa:2048),
			'-keyout', "$dir/server.key", '-out', "$dir/server.crt" ],
		'>', \my $out, '2>&1');
	chmod 0600, "$dir/server.key";
	$node->append_conf('postgresql.conf', "ssl = on\nlisten_addresses = '127.0.0.1'\n");
	$node->append_conf('pg_hba.conf', 'hostssl all all 127.0.0.1/32 trust');
	$dbh->disconnect;
	$node->restart;
	$dbh = connect_db($node);
	$dbh->do('TRUNCATE published');

	my $pair = create_slot_pair($dbh, 'tls');
	$dbh->do(q{INSERT INTO published SELECT i, repeat('n', 20) FROM generate_series(1, 20000) i});
	$dbh->do(q{INSERT INTO published SELECT i, repeat('w', 4000) FROM generate_series(20001, 25000) i});
	$dbh->do(q{INSERT INTO published VALUES (30000, repeat('l', 1000000))});
	my ($end) = $dbh->selectrow_array('SELECT pg_current_wal_lsn()');

	# pg_recvlogical writes into a pipe that is not read before the walsender waits.
	my $receive = sub {
		my ($one) = @_;
		my $pid = open my $pipe, '-|', 'pg_recvlogical', '--dbname',
		  sprintf('host=127.0.0.1 port=%d dbname=postgres sslmode=require application_name=tls', $node->port),
		  '--slot', $one, '--start', '--no-loop', '--endpos', $end, '--file', '-',
		  '--option', 'proto_version=1', '--option', 'publication_names=p'
		  or die "cannot run pg_recvlogical: $!\n";

		$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity
			JOIN pg_stat_ssl USING (pid)
			WHERE ssl AND application_name = 'tls' AND wait_event = 'WalSenderWriteData'})
		  or die "the walsender does not wait for its client\n";
		local $/;
		my $received = <$pipe>;
		close $pipe;
		is($?, 0, "TLS, $one: received to the end");
		return $received;
	};

	my $expected = $receive->($pair->{oracle});
	my $got = $receive->($pair->{ours});
	cmp_ok(length $got, '>', 5000 * 4000 + 1_000_000, 'TLS: the stream is there');
	ok($got eq $expected, 'TLS: same messages');
}

$dbh->disconnect;
$node->stop;
done_testing();
