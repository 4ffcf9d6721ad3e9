# Decoding on a standby, and a slot synced to a standby that then takes over.

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

plan skip_all => 'a standby decodes from PostgreSQL 16 on' if server_major() < 16;

my $primary = new_node('primary', conf => 'hot_standby_feedback = on');
my $source = $primary->{dbh};

$source->do('CREATE TABLE t (a int PRIMARY KEY, b text)');
$source->do('CREATE TABLE other (a int)');
$source->do('CREATE PUBLICATION pub FOR TABLE t');
$source->do(q{SELECT pg_create_physical_replication_slot('physical')});
$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1, has_restoring => 0);
$standby->append_conf('postgresql.conf', sprintf q{
primary_slot_name = 'physical'
primary_conninfo = '%s dbname=postgres'
}, $primary->connstr =~ s/'/''/gr);
$standby->start;

my $replica = connect_db($standby);
my @options = (options => [ standard_options('pub') ]);

sub types { return join '', map { substr $_->[2], 0, 1 } @{ $_[0]{rows} } }

# ---- slots of the standby itself --------------------------------------------------

# A slot needs a record of the running transactions, which the primary must write.
foreach my $slot ([ here => 'pgoutput' ], [ here_ext => plugin_name() ])
{
	my ($name, $plugin) = @$slot;
	my $creator = connect_db($standby);
	$creator->do("SELECT pg_create_logical_replication_slot('$name', '$plugin')", { pg_async => PG_ASYNC });
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;
	until ($creator->pg_ready)
	{
		die "the slot is not made in time\n" if time > $until;
		$source->do('SELECT pg_log_standby_snapshot()');
		select undef, undef, undef, 0.1;
	}
	$creator->pg_result;
	$creator->disconnect;
}
my $pair = { oracle => 'here', ours => 'here_ext' };

$source->do(q{INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 1000) i});
$source->do('INSERT INTO other VALUES (1)');
$source->do('UPDATE t SET b = NULL WHERE a < 10');
$source->do('ALTER TABLE t ADD c int DEFAULT 5');
$source->do('DELETE FROM t WHERE a = 7');
$primary->wait_for_replay_catchup($standby);
my $expected = same_stream($replica, $pair, 'on a standby: same stream', @options);
is(types($expected), 'BR' . 'I' x 1000 . 'CB' . 'U' x 9 . 'CBRDC', 'on a standby: all of it');

# The same over a replication connection, which then waits for what is replayed.
my $client = ReplicationClient->new($standby);
$client->start('here_ext', proto_version => 1, publication_names => 'pub');
my @messages = map { $client->read_until(sub { $_[0]{data} =~ /^C/ }) } 1 .. 3;
is_deeply([ map { unpack 'H*', $_->{data} } @messages ], [ map { unpack 'H*', $_->[2] } @{ $expected->{rows} } ],
	'on a standby: same messages over a replication connection');
$source->do(q{INSERT INTO t VALUES (2000, 'later')});
is(join('', map { substr $_->{data}, 0, 1 } $client->read_until(sub { $_[0]{data} =~ /^C/ })),
	'BIC', 'on a standby: a later transaction arrives');
$client->close;
$standby->poll_query_until('postgres', q{SELECT bool_and(NOT active) FROM pg_replication_slots})
  or die "a slot is still active\n";
drop_slot_pair($replica, $pair);

# ---- slots synced for a failover ----------------------------------------------------

if (server_major() >= 17)
{
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;
	my @slots = ([ failover => 'pgoutput' ], [ failover_ext => plugin_name() ]);
	$pair = { oracle => 'failover', ours => 'failover_ext' };

	$source->do('SELECT pg_create_logical_replication_slot(?, ?, false, false, true)', undef, @$_) foreach @slots;
	$source->do(q{INSERT INTO t VALUES (3000, 'read before')});
	read_slot($source, $_, @options, get => 1) foreach values %$pair;

	# A slot stays when the primary's has moved past what the standby still has: the
	# primary's follows a record of the running transactions when it is read.  Some
	# servers' function waits for that, others' gives up.
	my $query = q{SELECT slot_name, plugin FROM pg_replication_slots
		WHERE failover AND synced AND NOT temporary ORDER BY 1};
	my $synced = [];
	while (@$synced < @slots)
	{
		$replica->do('SELECT pg_sync_replication_slots()', { pg_async => PG_ASYNC });
		do
		{
			$source->do('SELECT pg_log_standby_snapshot()');
			read_slot($source, $_, @options, get => 1) foreach values %$pair;
			$primary->wait_for_replay_catchup($standby);
			select undef, undef, undef, 0.1;
		} until $replica->pg_ready || time > $until;
		die "the slots are not synced in time\n" if time > $until;
		$replica->pg_result;
		$synced = $replica->selectall_arrayref($query);
	}
	is_deeply($synced, \@slots, 'both slots are synced, and to stay');

	$source->do(q{INSERT INTO t VALUES (4000, 'before the failover')});
	$primary->wait_for_replay_catchup($standby);
	$source->disconnect;
	$primary->stop('immediate');
	$replica->disconnect;
	$standby->promote;
	$replica = connect_db($standby);
	$replica->do(q{INSERT INTO t VALUES (5000, 'after the failover')});
	$expected = same_stream($replica, $pair, 'after a failover: same stream', @options);
	is(types($expected), 'BRICBIC', 'after a failover: what was committed before and after');
}

$_->disconnect foreach $replica, $source;
$standby->stop;
$primary->stop if server_major() < 17;
done_testing();
