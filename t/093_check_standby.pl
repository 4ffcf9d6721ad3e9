# What pgoutput_ext_check says on a standby of a slot that is synchronized there.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CheckUp;
use PgoutputExt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'slots are synchronized from PostgreSQL 17 on' if server_major() < 17;

my $primary = new_node('primary', conf => 'hot_standby_feedback = on');
my $source = $primary->{dbh};
my @options = (options => [ standard_options('p') ]);
$source->do('CREATE EXTENSION pgoutput_ext');
$source->do('CREATE TABLE t (a int PRIMARY KEY)');
$source->do('CREATE PUBLICATION p FOR TABLE t');
$source->do(q{SELECT pg_create_physical_replication_slot('physical')});
$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1, has_restoring => 0);
$standby->append_conf('postgresql.conf', sprintf q{
primary_slot_name = 'physical'
sync_replication_slots = on
primary_conninfo = '%s dbname=postgres'
}, $primary->connstr =~ s/'/''/gr);
$standby->start;
my $replica = connect_db($standby);

$source->do('SELECT pg_create_logical_replication_slot(?, ?, false, false, true)', undef, 's', plugin_name());

# The row's remedy while it is temporary: read the primary's until it is not.
sub synchronized
{
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;
	until ($replica->selectrow_array(q{SELECT count(*) FROM pg_replication_slots WHERE slot_name = 's' AND synced AND NOT temporary}))
	{
		my @rows = grep { $_->{object} eq 'slot s' && $_->{number} != 10 } check_rows($replica);
		is("$rows[0]{number} $rows[0]{severity}: $rows[0]{finding}", '19 warning: is not yet synchronized: it would be gone after a promotion', 'still temporary')
		  if @rows && $rows[0]{number} != 18;
		$source->do('SELECT pg_log_standby_snapshot()');
		read_slot($source, 's', @options, get => 1);
		die "the slot is not synchronized in time\n" if time > $until;
		select undef, undef, undef, 0.2;
	}
	return;
}
synchronized();

is_deeply([ map { "$_->{severity}: $_->{finding} | $_->{remedy}" } grep { $_->{object} eq 'slot s' } check_rows($replica) ],
	['note: is synchronized from the primary: it cannot be read here before this server is promoted | read the slot of the same name on the primary, or promote this server'],
	'all that is said of a synchronized slot');
is(read_slot($replica, 's', @options)->{error}{sqlstate}, '55000', 'the server says so: it cannot be read');
is(sqlstate($replica, q{SELECT pg_drop_replication_slot('s')}), '55000', 'the server says so: nor dropped');

# a synchronized slot that lost the WAL it needs: the remedy is to let the server make it anew
sub standby_setting { $replica->do("ALTER SYSTEM SET $_[0] = $_[1]"); return; }
standby_setting('sync_replication_slots', 'off');
standby_setting('max_slot_wal_keep_size', q{'1MB'});
$replica->do('SELECT pg_reload_conf()');
foreach (1 .. 4)
{
	$source->do(q{SELECT pg_logical_emit_message(false, 'x', 'x')});
	$source->do('SELECT pg_switch_wal()');
}
$source->do('CHECKPOINT');
$primary->wait_for_replay_catchup($standby);
$replica->do('CHECKPOINT');
is_deeply([ map { "$_->{number} $_->{severity}: $_->{finding} | $_->{remedy}" } grep { $_->{object} eq 'slot s' } check_rows($replica) ],
	[q{14 error: is invalid: wal_removed | the server drops it and makes it anew with the next synchronization, if the primary's is valid}],
	'all that is said of a synchronized slot that is lost');
is($replica->selectrow_array(q{SELECT wal_status FROM pg_replication_slots WHERE slot_name = 's'}), 'lost', 'the server says so');
is($source->selectrow_array(q{SELECT wal_status <> 'lost' FROM pg_replication_slots WHERE slot_name = 's'}), 1, "the primary's is valid");
standby_setting('max_slot_wal_keep_size', '-1');
standby_setting('sync_replication_slots', 'on');
$replica->do('SELECT pg_reload_conf()');
$standby->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_replication_slots WHERE wal_status = 'lost'}) or die "it stays lost\n";
synchronized();
is_deeply([ map { $_->{number} } grep { $_->{object} eq 'slot s' } check_rows($replica) ], [18], 'gone: it was made anew');

$primary->wait_for_replay_catchup($standby);
$source->disconnect;
$primary->stop('immediate');
$replica->disconnect;
$standby->promote;
$replica = connect_db($standby);
is_deeply([ grep { $_->{number} == 18 || $_->{number} == 19 } check_rows($replica) ], [], 'gone after the promotion');
is(read_slot($replica, 's', @options)->{error}, undef, 'it can be read');
$replica->disconnect;
$standby->stop;
done_testing();
