# docs/OPERATIONS.md, "When it fails", on a standby: a slot that recovery has lost, and one
# that is synchronized from the primary.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use DBD::Pg qw(:async);
use PgoutputExt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Recipe;
use Test::More;

plan skip_all => 'a standby decodes from PostgreSQL 16 on' if server_major() < 16;

my $primary = new_node('primary');
my $source = $primary->{dbh};
$source->do('CREATE TABLE t (a int PRIMARY KEY)');
$source->do('CREATE PUBLICATION p FOR TABLE t');
$source->do(q{SELECT pg_create_physical_replication_slot('physical')});
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1, has_restoring => 0);
$standby->append_conf('postgresql.conf', sprintf q{
primary_slot_name = 'physical'
primary_conninfo = '%s dbname=postgres'
hot_standby_feedback = on
wal_retrieve_retry_interval = '100ms'
}, $primary->connstr =~ s/'/''/gr);
$standby->start;
my $replica = connect_db($standby);

# A slot on the standby, which needs a record of the running transactions.
sub create_slot
{
	my ($name) = @_;
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;
	$replica->do("SELECT pg_create_logical_replication_slot('$name', 'pgoutput_ext')", { pg_async => PG_ASYNC });
	until ($replica->pg_ready)
	{
		die "the slot is not made in time\n" if time > $until;
		$source->do('SELECT pg_log_standby_snapshot()');
		select undef, undef, undef, 0.1;
	}
	$replica->pg_result;
	return;
}

# What a reading says of the slot is on the page, detail and all.
sub fails
{
	my ($name, $slot) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $error = read_slot($replica, $slot, options => [ standard_options('p') ])->{error};
	return fail("$name: no error") unless $error;
	told_on_page('When it fails', $name, $error->{message_primary} =~ s/"SLOT"/"$slot"/r, $error->{sqlstate});
	told_on_page('When it fails', "$name, the detail", $error->{message_detail} // '(none)');
	return;
}

# Polls on the standby until the slot is invalid.
sub wait_until_lost
{
	my ($slot) = @_;
	my $condition = server_major() >= 17 ? 'invalidation_reason IS NOT NULL' : 'conflicting';
	$standby->poll_query_until('postgres', "SELECT $condition FROM pg_replication_slots WHERE slot_name = '$slot'") or die "$slot is not lost\n";
	return;
}

# ---- rows removed: VACUUM on the primary, which no feedback holds back ------------------

create_slot('rows');
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = off');
$standby->reload;
$primary->poll_query_until('postgres', q{SELECT xmin IS NULL AND catalog_xmin IS NULL FROM pg_replication_slots WHERE slot_name = 'physical'}) or die "feedback goes on\n";
$source->do('CREATE TABLE gone (a int)');
$source->do('DROP TABLE gone');
$source->do('VACUUM FULL pg_class');
$source->do('INSERT INTO t VALUES (1)');
wait_until_lost('rows');
fails('rows removed', 'rows');
$replica->do(q{SELECT pg_drop_replication_slot('rows')});

# ---- a primary that is no longer logical ---------------------------------------------------

create_slot('level');
$source->disconnect;
$primary->append_conf('postgresql.conf', 'wal_level = replica');
$primary->restart;
wait_until_lost('level');
$primary->append_conf('postgresql.conf', 'wal_level = logical');
$primary->restart;
$primary->wait_for_replay_catchup($standby);
fails('wal_level of the primary', 'level');
$replica->do(q{SELECT pg_drop_replication_slot('level')});

# ---- synchronized --------------------------------------------------------------------------

if (server_major() >= 17)
{
	$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nsync_replication_slots = on");
	$standby->reload;
	$source = connect_db($primary);
	$source->do('SELECT pg_create_logical_replication_slot(?, ?, false, false, true)', undef, 'kept', 'pgoutput_ext');
	$standby->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_replication_slots WHERE slot_name = 'kept' AND synced}) or die "not synchronized\n";
	# Until it is there to stay, it belongs to the process that synchronizes it.
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;
	while ($replica->selectrow_array(q{SELECT temporary FROM pg_replication_slots WHERE slot_name = 'kept'}))
	{
		die "not synchronized in time\n" if time > $until;
		$source->do('SELECT pg_log_standby_snapshot()');
		read_slot($source, 'kept', options => [ standard_options('p') ], get => 1);
		select undef, undef, undef, 0.2;
	}
	fails('synchronized', 'kept');
	$source->disconnect;
}

$replica->disconnect;
$_->stop foreach $standby, $primary;
done_testing();
