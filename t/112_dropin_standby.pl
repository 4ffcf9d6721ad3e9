# Drop-in on a standby: the role's setting comes from the primary, the file does
# not.  And a standby that takes over, which has the role, the setting, and the slot.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use DBD::Pg qw(:async);
use DropinServer;
use PgoutputExt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'a standby decodes from PostgreSQL 16 on' if server_major() < 16;

my $installation = copy_installation();
my $primary = new_node('primary', conf => 'hot_standby_feedback = on');
my $source = $primary->{dbh};

$source->do($_) foreach (
	'CREATE TABLE t (a int PRIMARY KEY, b text)',
	'CREATE PUBLICATION pub FOR TABLE t',
	'CREATE ROLE ours LOGIN REPLICATION',
	'CREATE ROLE plain LOGIN REPLICATION',
	q{SELECT pg_create_physical_replication_slot('physical')});
$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby', install_path => $installation->{install_path});
$standby->init_from_backup($primary, 'backup', has_streaming => 1, has_restoring => 0);
$standby->append_conf('postgresql.conf', sprintf q{
primary_slot_name = 'physical'
primary_conninfo = '%s dbname=postgres'
}, $primary->connstr =~ s/'/''/gr);
$standby->start;
my $replica = connect_db($standby);

# A slot needs a record of the running transactions, which the primary must write.
$replica->do(q{SELECT pg_create_logical_replication_slot('here', 'pgoutput')}, { pg_async => PG_ASYNC });
my $until = time + $PostgreSQL::Test::Utils::timeout_default;
until ($replica->pg_ready)
{
	die "the slot is not made in time\n" if time > $until;
	$source->do('SELECT pg_log_standby_snapshot()');
	select undef, undef, undef, 0.1;
}
$replica->pg_result;

# The setting is made after the standby was.
$source->do("ALTER ROLE ours SET dynamic_library_path = '" . dropin_path() . q{'});
$source->do(q{INSERT INTO t VALUES (1, 'one')});
$primary->wait_for_replay_catchup($standby);

is(decoded_in_sql($standby, 'here', user => 'ours'), 'pgoutput_ext', 'the setting comes to the standby: SQL');
is(decoded_by_walsender($standby, 'here', user => 'ours'), 'pgoutput_ext', 'the setting comes to the standby: walsender');
is(decoded_by_walsender($standby, 'here', user => 'plain'), 'pgoutput', 'another role has the server\'s');

take_link_away($installation);
is(decoded_in_sql($standby, 'here', user => 'ours'), 'pgoutput', 'without the file on the standby: the server\'s, SQL');
is(decoded_by_walsender($standby, 'here', user => 'ours'), 'pgoutput', 'without the file on the standby: the server\'s, walsender');
$source->do(q{SELECT pg_create_logical_replication_slot('there', 'pgoutput')});
is(decoded_in_sql($primary, 'there', user => 'ours'), 'pgoutput_ext', 'the primary has it all the same');
put_link($installation);
is(decoded_by_walsender($standby, 'here', user => 'ours'), 'pgoutput_ext', 'the file is there again');

# The standby takes over: its slots go on, also one that the primary handed over.
my @slots = 'here';
if (server_major() >= 17)
{
	$source->do(q{SELECT pg_create_logical_replication_slot('failover', 'pgoutput', false, false, true)});
	$until = time + $PostgreSQL::Test::Utils::timeout_default;
	until ($replica->selectrow_array(q{SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'failover' AND synced AND NOT temporary}))
	{
		die "the slot is not synced in time\n" if time > $until;
		$replica->do('SELECT pg_sync_replication_slots()', { pg_async => PG_ASYNC });
		until ($replica->pg_ready)
		{
			die "the slot is not synced in time\n" if time > $until;
			$source->do('SELECT pg_log_standby_snapshot()');
			read_slot($source, 'failover', options => [ standard_options('pub') ], get => 1);
			$primary->wait_for_replay_catchup($standby);
			select undef, undef, undef, 0.1;
		}
		$replica->pg_result;
	}
	push @slots, 'failover';
}
$source->do(q{INSERT INTO t VALUES (2, 'before the failover')});
$primary->wait_for_replay_catchup($standby);
$source->disconnect;
$primary->stop;
$replica->disconnect;
$standby->promote;
$replica = connect_db($standby);
$replica->do(q{INSERT INTO t VALUES (3, 'after the failover')});
foreach my $slot (@slots)
{
	is(decoded_by_walsender($standby, $slot, user => 'ours'), 'pgoutput_ext', "after the failover, slot $slot: ours");
	is(decoded_by_walsender($standby, $slot, user => 'plain'), 'pgoutput', "after the failover, slot $slot: another role has the server's");
	my %read = map {
		my $dbh = connect_db($standby, user => $_);
		my $result = read_slot($dbh, $slot, options => [ standard_options('pub') ]);
		$dbh->disconnect;
		$_ => $result->{rows};
	} qw(ours plain);
	is_deeply($read{ours}, $read{plain}, "after the failover, slot $slot: the same messages");
	like(join('', map { $_->[2] } @{ $read{ours} }), qr/before the failover.*after the failover/s, "after the failover, slot $slot: all of it");
}
$replica->disconnect;
$standby->stop;
done_testing();
