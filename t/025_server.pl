# What the server does around decoding, case by case: live streams, slots that
# are advanced and copied, crashes, roles, OIDs and xids above 2^31, standbys.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use DBD::Pg qw(:async);
use PgoutputExt;
use PgoutputMessage;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReplicationClient;
use Test::More;

my $major = server_major();
my $node = new_node('main', conf => q{
logical_decoding_work_mem = '64kB'
max_wal_size = 1GB
});
my $dbh = $node->{dbh};
my @options = standard_options('p', messages => 'true');

$dbh->do($_) foreach ('CREATE TABLE t (a int PRIMARY KEY, b text)', 'CREATE PUBLICATION p FOR TABLE t');

sub inserted { return join ' ', map { /^INSERT .*?N:\('(\d+)'/ ? $1 : () } plain_stream($_[0]) }

# ---- a transaction streamed while it runs --------------------------------------

# Both walsenders have read all that was written before the next statement runs:
# changes that are rolled back later are read while they are in progress.
{
	my $pair = create_slot_pair($dbh, 'live');
	my %clients = map { $_ => ReplicationClient->new($node) } sort keys %$pair;
	my %rows = map { $_ => [] } sort keys %$pair;
	my $version = $major >= 16 ? 4 : 2;

	$clients{$_}->start($pair->{$_}, proto_version => $version, publication_names => 'p', messages => 'true', streaming => $version == 4 ? 'parallel' : 'on') foreach sort keys %$pair;
	my $writer = connect_db($node);
	my $fill = q{INSERT INTO t (a, b) SELECT i, repeat('fill', 40) FROM generate_series(%d, %d) i};
	my $from = 0;
	foreach my $sql (
		'BEGIN', 'FILL', 'SAVEPOINT s1', 'ALTER TABLE t ADD COLUMN c int DEFAULT 5', 'FILL', 'ALTER TABLE t RENAME COLUMN b TO bb', 'ALTER TABLE t RENAME COLUMN bb TO b', 'FILL', 'ROLLBACK TO s1', 'FILL', 'SAVEPOINT s2', 'FILL', 'TRUNCATE t', 'FILL', 'RELEASE s2',
		q{SELECT pg_logical_emit_message(true, 'live', repeat('x', 100000))}, 'FILL', 'COMMIT', 'BEGIN', 'FILL', 'FILL', 'ROLLBACK', 'BEGIN', 'FILL', q{PREPARE TRANSACTION 'live'}, q{COMMIT PREPARED 'live'}, 'INSERT INTO t VALUES (1000000)')
	{
		$from += 1000 if $sql eq 'FILL';
		$writer->do($sql eq 'FILL' ? sprintf($fill, $from, $from + 699) : $sql);
		$dbh->do(q{COMMENT ON SCHEMA public IS 'flushed'});
		my ($high, $low) = map { hex } split '/', $dbh->selectrow_array('SELECT pg_current_wal_flush_lsn()');
		my $end = ($high << 32) + $low;
		foreach my $side (sort keys %clients)
		{
			for (;;)
			{
				my $message = $clients{$side}->next_message($PostgreSQL::Test::Utils::timeout_default) or die "$side: nothing came in time\n";
				die "$side: $message->{error}\n" if $message->{type} eq 'E';
				push @{ $rows{$side} }, [ $message->{lsn}, $message->{end}, $message->{data} ] if $message->{kind} eq 'w';
				# a walsender that is asked answers how far it is
				last if $message->{kind} eq 'k' && $message->{end} >= $end;
			}
		}
	}
	my $difference = PgoutputExt::difference(map { { rows => $rows{$_}, warnings => [] } } 'oracle', 'ours');
	ok(!defined $difference, 'a live stream is the same') or diag $difference;
	my $text = join "\n", grep { !/'fillfill/ } plain_stream({ rows => $rows{oracle} });
	like($text, qr/RELATION "public"."t" identity=d \(\*"a"; "b"\)\n.*RELATION "public"."t" identity=d \(\*"a"; "b"; "c"\)\n.*^STREAM ABORT.*RELATION "public"."t" identity=d \(\*"a"; "b"\)\n/ms,
		'a relation changed in a savepoint is announced as it was then, and after the rollback again');
	is((() = $text =~ /^STREAM ABORT/mg), 2, 'a savepoint and a transaction are aborted');
	$_->close foreach values %clients;
	$writer->disconnect;
	$node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_replication_slots WHERE active') or die;
	drop_slot_pair($dbh, $pair);
	$dbh->do('TRUNCATE t');
}

# ---- slots that are advanced and copied ----------------------------------------

{
	my $pair = create_slot_pair($dbh, 'moved');
	$dbh->do('INSERT INTO t VALUES (1)');
	my $lsn = $dbh->selectrow_array('SELECT pg_current_wal_lsn()');
	$dbh->do('INSERT INTO t VALUES (2)');
	foreach my $slot (@$pair{qw(oracle ours)})
	{
		$dbh->do('SELECT pg_replication_slot_advance(?, ?)', undef, $slot, $lsn);
	}
	is(inserted(same_stream($dbh, $pair, 'advanced slots', options => \@options)), '2', 'what is behind');

	# copies: from pgoutput to pgoutput_ext, and back
	$dbh->do(q{SELECT pg_copy_logical_replication_slot('moved_ext', 'back', false, 'pgoutput')});
	$dbh->do(q{SELECT pg_copy_logical_replication_slot('moved', 'forth', false, ?)}, undef, plugin_name());
	$dbh->do(q{SELECT pg_copy_logical_replication_slot('moved_ext', 'kept')});
	is($dbh->selectrow_array(q{SELECT plugin FROM pg_replication_slots WHERE slot_name = 'kept'}), plugin_name(), 'a copy has the plugin of its source');
	is(inserted(same_stream($dbh, { oracle => 'back', ours => 'forth' }, 'copies to and fro', options => \@options)), '2', 'they go on where their source was');
	same_stream($dbh, { oracle => 'moved', ours => 'kept' }, 'a copy of the same plugin', options => \@options);

	# consumed by one, the others are where they were
	read_slot($dbh, 'forth', options => \@options, get => 1);
	is(inserted(read_slot($dbh, 'forth', options => \@options)), '', 'consumed');
	is(inserted(same_stream($dbh, $pair, 'slots after their copies moved', options => \@options)), '2', 'unmoved');
	$dbh->do('SELECT pg_drop_replication_slot(?)', undef, $_) foreach qw(back forth kept);

	# ---- crash and restart -----------------------------------------------------

	my $before = read_slot($dbh, $pair->{ours}, options => \@options, get => 1);
	read_slot($dbh, $pair->{oracle}, options => \@options, get => 1);
	$dbh->do('INSERT INTO t VALUES (3)');
	$dbh->do('BEGIN');
	$dbh->do('INSERT INTO t VALUES (4)');
	$dbh->do(q{PREPARE TRANSACTION 'crash'});
	my $other = connect_db($node);
	$other->do('BEGIN');
	$other->do(q{INSERT INTO t SELECT i, repeat('x', 200) FROM generate_series(10, 1000) i});
	$node->stop('immediate');
	$node->start;
	$_->disconnect foreach $other, $dbh;
	$node->{dbh} = $dbh = connect_db($node);
	$dbh->do(q{COMMIT PREPARED 'crash'});
	$dbh->do('INSERT INTO t VALUES (5)');
	foreach my $slot (@$pair{qw(oracle ours)})
	{
		my $rows = inserted(read_slot($dbh, $slot, options => \@options));
		like($rows, qr/\A(?:1 )?(?:2 )?3 4 5\z/, "nothing is missed after a crash ($slot), something may come again");
	}
	# at the same place, they give the same
	$dbh->do('SELECT pg_replication_slot_advance(?, ?)', undef, $_, $lsn = $dbh->selectrow_array('SELECT max(confirmed_flush_lsn) FROM pg_replication_slots')) foreach @$pair{qw(oracle ours)};
	same_stream($dbh, $pair, 'after a crash', options => \@options);
	same_stream($dbh, $pair, 'after a crash, streamed', options => [ @options[ 2 .. $#options ], proto_version => 2, streaming => 'on' ]);
	$node->restart;
	$dbh->disconnect;
	$node->{dbh} = $dbh = connect_db($node);
	same_stream($dbh, $pair, 'after a restart', options => \@options);
	drop_slot_pair($dbh, $pair);
}

# ---- roles ---------------------------------------------------------------------

{
	$dbh->do($_) foreach ('CREATE ROLE repl LOGIN REPLICATION', 'CREATE ROLE nobody LOGIN', 'CREATE TABLE secret (a int)', 'REVOKE ALL ON secret FROM PUBLIC', 'CREATE PUBLICATION psecret FOR TABLE secret');
	my $repl = connect_db($node, user => 'repl');
	my $pair = create_slot_pair($repl, 'byrole');
	$dbh->do('INSERT INTO secret VALUES (1)');
	is(inserted(same_stream($repl, $pair, 'a role with REPLICATION alone', options => [ standard_options('psecret') ])), '1', 'sees what it sees with pgoutput');
	my $nobody = connect_db($node, user => 'nobody');
	my $result = same_stream($nobody, $pair, 'a role without it', options => [ standard_options('psecret') ]);
	is($result->{error}{sqlstate}, '42501', 'may not');
	$_->disconnect foreach $repl, $nobody;
	drop_slot_pair($dbh, $pair);
}

# ---- output_plugin_libraries ---------------------------------------------------

SKIP:
{
	my ($setting) = $dbh->selectrow_array(q{SELECT setting FROM pg_settings WHERE name = 'output_plugin_libraries'});
	skip 'this server has no output_plugin_libraries', 1 unless defined $setting;
	my $pair = create_slot_pair($dbh, 'library');
	$dbh->do('INSERT INTO t VALUES (6)');
	$node->safe_psql('postgres', q{ALTER SYSTEM SET output_plugin_libraries = 'pgoutput, test_decoding'});
	$node->restart;
	$dbh->disconnect;
	$node->{dbh} = $dbh = connect_db($node);
	my $result = read_slot($dbh, $pair->{ours}, options => \@options);
	ok($result->{error}, 'a library that is not named is not loaded: ' . ($result->{error}{message_primary} // ''));
	ok(!eval { $dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, 'refused', plugin_name()) }, 'nor is a slot made with it');
	$node->safe_psql('postgres', 'ALTER SYSTEM RESET output_plugin_libraries');
	$node->restart;
	$dbh->disconnect;
	$node->{dbh} = $dbh = connect_db($node);
	is(inserted(same_stream($dbh, $pair, 'the slot is unharmed', options => \@options)), '6', 'when the library is named again');
	drop_slot_pair($dbh, $pair);
}

# ---- an exported snapshot for the initial copy ---------------------------------

{
	$dbh->do('TRUNCATE t');
	$dbh->do('INSERT INTO t VALUES (1), (2)');
	my $client = ReplicationClient->new($node);
	my ($row) = $client->query(sprintf $major >= 15 ? q{CREATE_REPLICATION_SLOT exported LOGICAL %s (SNAPSHOT 'export')} : 'CREATE_REPLICATION_SLOT exported LOGICAL %s EXPORT_SNAPSHOT', plugin_name());
	$dbh->do('INSERT INTO t VALUES (3)');
	my $copy = connect_db($node);
	$copy->do($_) foreach ('BEGIN ISOLATION LEVEL REPEATABLE READ', "SET TRANSACTION SNAPSHOT '$row->[2]'");
	is($copy->selectrow_array(q{SELECT string_agg(a::text, ' ' ORDER BY a) FROM t}), '1 2', 'the snapshot holds what was there');
	is(inserted(read_slot($dbh, 'exported', options => \@options)), '3', 'the stream what came then');
	$copy->disconnect;
	$client->close;
	$dbh->do(q{SELECT pg_drop_replication_slot('exported')});
}

# ---- OIDs and xids above 2^31 --------------------------------------------------

{
	# Not in one leap: the oldest xid must not be more than 2^31 behind.
	$node->safe_psql('postgres', 'ALTER DATABASE template0 ALLOW_CONNECTIONS true');
	$dbh->disconnect;
	foreach my $xid (1_500_000_000, 3_000_000_000)
	{
		command_ok([ 'vacuumdb', '--all', '--freeze', '--quiet', '-h', $node->host, '-p', $node->port ], 'all is frozen');
		$node->stop;
		my $segment = sprintf '%s/pg_xact/%04X', $node->data_dir, $xid / (8192 * 4 * 32);
		open my $file, '>', $segment or die;
		print $file "\0" x (8192 * 32);
		close $file;
		command_ok([ 'pg_resetwal', '-x', $xid, '-o', 3_500_000_000, '-D', $node->data_dir ], "next xid $xid");
		$node->start;
	}
	$node->{dbh} = $dbh = connect_db($node);
	my $results = run_case($dbh, 'OIDs and xids above 2^31', 'high',
		[ q{CREATE TYPE high_type AS ENUM ('x')}, 'CREATE TABLE high (a int PRIMARY KEY, e high_type)', 'CREATE PUBLICATION high FOR ALL TABLES' ],
		[ q{INSERT INTO high VALUES (1, 'x')}, 'BEGIN', 'SAVEPOINT s', q{INSERT INTO high SELECT i, 'x' FROM generate_series(2, 2000) i}, 'ROLLBACK TO s', q{INSERT INTO high SELECT i, 'x' FROM generate_series(2, 2000) i}, 'COMMIT', 'TRUNCATE high' ]);
	my ($begin) = grep { /^BEGIN/ } describe_stream($results->{text});
	my ($xid) = $begin =~ /xid=(\d+)/;
	cmp_ok($xid, '>', 2**31, 'an xid above 2^31');
	my ($relation) = grep { /^RELATION/ } describe_stream($results->{text});
	my ($oid) = $relation =~ /oid=(\d+)/;
	cmp_ok($oid, '>', 2**31, 'an OID above 2^31');
}

# ---- standbys ------------------------------------------------------------------

SKIP:
{
	skip 'standbys decode from 16 on', 1 if $major < 16;

	$dbh->do($_) foreach ('DROP PUBLICATION high', 'TRUNCATE t', q{SELECT pg_create_physical_replication_slot('standby')});
	$node->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'backup', has_streaming => 1);
	$standby->append_conf('postgresql.conf', "primary_slot_name = 'standby'\nhot_standby_feedback = on\n");
	$standby->append_conf('postgresql.conf', sprintf "primary_conninfo = 'host=%s port=%d dbname=postgres application_name=standby'\n", $node->host, $node->port);
	$standby->start;
	my $reader = connect_db($standby);

	# A slot on a standby waits for the primary to say which transactions run.
	my $pair = { oracle => 'onstandby', ours => 'onstandby_ext' };
	$reader->do("SELECT pg_create_logical_replication_slot('$pair->{oracle}', 'pgoutput')", { pg_async => PG_ASYNC });
	until ($reader->pg_ready)
	{
		$dbh->do('SELECT pg_log_standby_snapshot()');
		select undef, undef, undef, 0.05;
	}
	$reader->pg_result;
	$reader->do('SELECT pg_copy_logical_replication_slot(?, ?, false, ?)', undef, @$pair{qw(oracle ours)}, plugin_name());
	$dbh->do('INSERT INTO t VALUES (1)');
	$dbh->do(q{INSERT INTO t SELECT i, repeat('x', 300) FROM generate_series(2, 500) i});
	$node->wait_for_catchup('standby', 'replay');
	same_stream($reader, $pair, 'on a standby, streamed', options => [ standard_options('p', proto_version => 4, streaming => 'parallel') ]);
	like(inserted(same_stream($reader, $pair, 'on a standby', options => \@options)), qr/^1 2 3 .* 500$/, 'what the primary wrote');

	if ($major >= 17)
	{
		# slots that are kept in step on the standby, for a failover
		$dbh->do(q{SELECT pg_create_logical_replication_slot('failover', 'pgoutput', false, false, true)});
		$dbh->do(q{SELECT pg_create_logical_replication_slot('failover_ext', ?, false, false, true)}, undef, plugin_name());
		$reader->do('SELECT pg_drop_replication_slot(?)', undef, $_) foreach values %$pair;
		my $synced = 0;
		for (1 .. 60)
		{
			# A new slot is taken over once the primary's has come past the
			# standby's place; from 19 on, the function waits for that itself.
			$reader->do('SELECT pg_sync_replication_slots()', { pg_async => PG_ASYNC });
			do
			{
				$dbh->do($_) foreach (
					q{COMMENT ON SCHEMA public IS 'a transaction'}, 'SELECT pg_log_standby_snapshot()', q{SELECT pg_logical_emit_message(false, 'flush', '', true)},
					q{SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn()) FROM pg_replication_slots WHERE slot_name LIKE 'failover%'});
				$node->wait_for_catchup('standby', 'replay');
			} until $reader->pg_ready;
			eval { $reader->pg_result };
			($synced) = $reader->selectrow_array(q{SELECT count(*) FROM pg_replication_slots WHERE synced AND NOT temporary});
			last if $synced == 2;
		}
		is($synced, 2, 'both slots are synchronized');
		$dbh->do('INSERT INTO t VALUES (1001)');
		$node->wait_for_catchup('standby', 'replay');
		$reader->disconnect;
		$standby->promote;
		$node->stop;
		$reader = connect_db($standby);
		$reader->do('INSERT INTO t VALUES (1002)');
		is(inserted(same_stream($reader, { oracle => 'failover', ours => 'failover_ext' }, 'after a failover', options => \@options)), '1001 1002', 'nothing is missed');
	}
	$reader->disconnect;
	$standby->stop;
}

# ---- wal_level = replica that turns itself logical -----------------------------

SKIP:
{
	skip 'wal_level turns itself logical from 19 on', 1 if $major < 19;
	my $replica = new_node('replica', conf => 'wal_level = replica');
	my $on = $replica->{dbh};
	$on->do($_) foreach ('CREATE TABLE t (a int PRIMARY KEY, b text)', 'CREATE PUBLICATION p FOR TABLE t');
	my $pair = create_slot_pair($on, 'turns');
	$on->do('INSERT INTO t VALUES (1)');
	is(inserted(same_stream($on, $pair, 'wal_level = replica', options => \@options)), '1', 'decodes');
	$on->disconnect;
	$replica->stop;
}

$dbh->disconnect;
$node->stop('fast', fail_ok => 1);
done_testing();
