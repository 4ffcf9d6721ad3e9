# What pgoutput_ext_check says on a standby of a slot that recovery made invalid:
# its catalog rows were removed, or the primary's wal_level is too low.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CheckUp;
use DBD::Pg qw(:async);
use PgoutputExt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'standbys have slots from PostgreSQL 16 on' if server_major() < 16;

my $major = server_major();
my $primary = new_node('primary', conf => 'autovacuum = off');
my $source = $primary->{dbh};
$source->do('SET client_min_messages = error');
$source->do('CREATE EXTENSION pgoutput_ext');
$source->do('CREATE TABLE t (a int PRIMARY KEY)');
$source->do('CREATE PUBLICATION p FOR TABLE t');
$source->do(q{SELECT pg_create_physical_replication_slot('physical')});
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1, has_restoring => 0);
$standby->start;
my $replica = connect_db($standby);

# Making a slot waits for a record of the primary's running transactions.
sub create
{
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;
	$replica->do(sprintf(q{SELECT pg_create_logical_replication_slot('s', '%s')}, plugin_name()), { pg_async => PG_ASYNC });
	until ($replica->pg_ready)
	{
		die "the slot is not made in time\n" if time > $until;
		$source->do('SELECT pg_log_standby_snapshot()');
		select undef, undef, undef, 0.1;
	}
	$replica->pg_result;
	return;
}

sub reading
{
	my $read = read_slot($replica, 's', options => [ standard_options('p') ]);
	return $read->{error} ? $read->{error}{sqlstate} : '00000';
}

# What is said of the slot, as "number severity: finding | remedy"; not the notes, such
# as that nobody reads from it now.
sub rows
{
	return map { "$_->{number} $_->{severity}: $_->{finding} | $_->{remedy}" }
	  grep { $_->{object} eq 'slot s' && $_->{severity} ne 'note' } check_rows($replica, publications => ['p']);
}

# Removes rows of pg_class that a snapshot of an older slot can see.
sub remove_rows
{
	$source->do('CREATE TABLE c (a int)');
	$source->do('DROP TABLE c');
	$source->do('VACUUM FULL pg_class');
	$source->do('INSERT INTO t SELECT coalesce(max(a), 0) + 1 FROM t');
	$primary->wait_for_replay_catchup($standby);
	return;
}

sub lost
{
	my ($reason, $before) = @_;
	$reason = 'it conflicted with recovery (rows_removed or wal_level_insufficient)' if $major == 16;
	is_deeply([ rows() ],
		["14 error: is invalid: $reason | ${before}drop it, create it anew and copy the tables again"], "$reason: all that is said of it");
	is($replica->selectrow_array(q{SELECT wal_status FROM pg_replication_slots WHERE slot_name = 's'}), 'lost', "$reason: the server says so");
	isnt(reading(), '00000', "$reason: it cannot be read");
	return;
}

my $level = q{set wal_level = 'logical' on the primary and restart it; };
my $feedback = 'set hot_standby_feedback = on and primary_slot_name here, that it stays valid; ';

create();
is_deeply([ rows() ], [], 'a slot of a standby');
is(reading(), '00000', 'it can be read');
remove_rows();
lost('rows_removed', $major == 16 ? $level . $feedback : $feedback);

# the remedy
$replica->do('ALTER SYSTEM SET hot_standby_feedback = on');
$replica->do(q{ALTER SYSTEM SET primary_slot_name = 'physical'});
$replica->do('SELECT pg_reload_conf()');
$primary->poll_query_until('postgres', q{SELECT active AND xmin IS NOT NULL FROM pg_replication_slots WHERE slot_name = 'physical'}) or die "no feedback\n";
$replica->do(q{SELECT pg_drop_replication_slot('s')});
create();
$primary->poll_query_until('postgres', q{SELECT catalog_xmin IS NOT NULL FROM pg_replication_slots WHERE slot_name = 'physical'}) or die "no feedback\n";
is_deeply([ rows() ], [], 'rows_removed: gone');
is(reading(), '00000', 'rows_removed: it can be read');
remove_rows();
is_deeply([ rows() ], [], 'rows_removed: it stays valid');
is(reading(), '00000', 'rows_removed: it stays readable');

# a primary that does not write what decoding needs
sub primary_level
{
	$source->do("ALTER SYSTEM SET wal_level = $_[0]");
	$source->disconnect;
	$primary->restart;
	$source = connect_db($primary);
	$source->do('INSERT INTO t SELECT coalesce(max(a), 0) + 1 FROM t');
	$primary->wait_for_replay_catchup($standby);
	return;
}
primary_level('replica');
lost('wal_level_insufficient', $major == 16 ? $level . $feedback : $level);
$replica->do(q{SELECT pg_drop_replication_slot('s')});
is(sqlstate($replica, sprintf q{SELECT pg_create_logical_replication_slot('s', '%s')}, plugin_name()), '55000', 'wal_level_insufficient: it cannot be made before');
primary_level('logical');
create();
is_deeply([ rows() ], [], 'wal_level_insufficient: gone');
is(reading(), '00000', 'wal_level_insufficient: it can be read');

$_->disconnect foreach $source, $replica;
$standby->stop;
done_testing();
