# What pgoutput_ext_check says of a subscription whose slot was swapped for a
# copy, which has neither two_phase nor failover.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CheckUp;
use PgoutputExt;
use Test::More;

plan skip_all => 'subscriptions have two_phase from PostgreSQL 15 on' if server_major() < 15;

my $node = new_node('main', conf => "wal_retrieve_retry_interval = '100ms'");
my $dbh = $node->{dbh};
my $major = server_major();
$dbh->do('SET client_min_messages = error');
$dbh->do('CREATE EXTENSION pgoutput_ext');
$dbh->do('CREATE TABLE t (a int PRIMARY KEY)');
$dbh->do('CREATE PUBLICATION p FOR TABLE t');
$dbh->do('CREATE DATABASE target');
my $target = connect_db($node, dbname => 'target');
$target->do('SET client_min_messages = error');
$target->do('CREATE TABLE t (a int PRIMARY KEY)');

sub found { return map { "$_->{severity}: $_->{object} $_->{finding}" } grep { $_->{number} == $_[1] } check_rows($dbh, slot => $_[0]); }
sub remedy { return map { $_->{remedy} } grep { $_->{number} == $_[1] } check_rows($dbh, slot => $_[0]); }
sub idle { $node->poll_query_until('postgres', q{SELECT bool_and(NOT active) FROM pg_replication_slots}) or die "active\n"; return; }

$dbh->do('SELECT pg_create_logical_replication_slot(?, ?, false, true' . ($major >= 17 ? ', true' : '') . ')', undef, 'original', plugin_name());
$target->do(sprintf q{CREATE SUBSCRIPTION s CONNECTION '%s dbname=postgres' PUBLICATION p
	WITH (create_slot = false, slot_name = 'original', two_phase = true, copy_data = false%s)},
	$node->connstr =~ s/'/''/gr, $major >= 17 ? ', failover = true' : '');
$node->poll_query_until('target', q{SELECT subtwophasestate = 'e' FROM pg_subscription}) or die "two_phase stays pending\n";
is_deeply([ found('original', 26), found('original', 27) ], [], 'a slot that has what its subscription says');

$target->do('ALTER SUBSCRIPTION s DISABLE');
idle();
$dbh->do(q{SELECT pg_copy_logical_replication_slot('original', 'copied')});
$target->do(q{ALTER SUBSCRIPTION s SET (slot_name = 'copied')});
is_deeply([ found('copied', 26) ],
	['warning: subscription s has two_phase = true, but slot copied of this server has false: if it reads that one, it gets prepared transactions at COMMIT PREPARED only'], 'two_phase');
is_deeply([ $dbh->selectrow_array(q{SELECT two_phase FROM pg_replication_slots WHERE slot_name = 'copied'}) ], [0], 'two_phase: the server says so');
foreach my $number ($major >= 17 ? (27, 26) : 26)
{
	is_deeply([ found('copied', 27) ], ['warning: subscription s has failover = true, but slot copied of this server has false: if it reads that one, the slot is gone after a failover'], 'failover') if $number == 27;
	my ($remedy) = remedy('copied', $number);
	foreach my $sql (split /; /, $remedy)
	{
		($sql =~ /^SELECT/ ? $dbh : $target)->do($sql);
		idle() if $sql =~ /DISABLE$/;
	}
	$node->poll_query_until('target', q{SELECT subtwophasestate = 'e' FROM pg_subscription}) or die "two_phase stays pending\n" if $number == 26;
	is_deeply([ found('copied', $number) ], [], "row $number: gone");
}
is($dbh->selectrow_array(q{SELECT two_phase FROM pg_replication_slots WHERE slot_name = 'copied'}), 1, 'two_phase: the server says so');
$dbh->do('BEGIN');
$dbh->do('INSERT INTO t VALUES (1)');
$dbh->do(q{PREPARE TRANSACTION 'x'});
ok($node->poll_query_until('target', q{SELECT count(*) = 1 FROM pg_prepared_xacts WHERE database = 'target'}), 'the subscriber has it at PREPARE TRANSACTION');
$dbh->do(q{ROLLBACK PREPARED 'x'});
$node->poll_query_until('target', q{SELECT count(*) = 0 FROM pg_prepared_xacts}) or die "not rolled back\n";

# failover the other way round: the slot has it alone
if ($major >= 17)
{
	$target->do('ALTER SUBSCRIPTION s DISABLE');
	idle();
	$target->do('ALTER SUBSCRIPTION s SET (failover = false)');
	$node->safe_psql('postgres', 'ALTER_REPLICATION_SLOT copied (FAILOVER true)', replication => 'database');
	is_deeply([ found('copied', 27) ],
		['warning: subscription s has failover = false, but slot copied of this server has true: if it reads that one, standbys synchronize the slot nevertheless'], 'failover of the slot alone');
	is($dbh->selectrow_array(q{SELECT failover FROM pg_replication_slots WHERE slot_name = 'copied'}), 1, 'failover of the slot alone: the server says so');
	$target->do($_) foreach split /; /, (remedy('copied', 27))[0];
	is_deeply([ found('copied', 27) ], [], 'failover of the slot alone: gone');
	is($dbh->selectrow_array(q{SELECT failover FROM pg_replication_slots WHERE slot_name = 'copied'}), 0, 'failover of the slot alone: the server says so');
}

# the other way round: the slot has it, the subscription does not
$target->do('ALTER SUBSCRIPTION s DISABLE');
idle();
$target->do('ALTER SUBSCRIPTION s SET (slot_name = NONE)');
$target->do('DROP SUBSCRIPTION s');
$target->do(sprintf q{CREATE SUBSCRIPTION s CONNECTION '%s dbname=postgres' PUBLICATION p
	WITH (create_slot = false, slot_name = 'copied', copy_data = false, enabled = false)}, $node->connstr =~ s/'/''/gr);
is_deeply([ found('copied', 26) ],
	['warning: subscription s has two_phase = false, but slot copied of this server has true: if it reads that one, it is sent transactions at PREPARE TRANSACTION'], 'two_phase of the slot alone');
my $name = 'copied';
foreach my $sql (split /; /, (remedy('copied', 26))[0])
{
	$name = 'fresh' if $sql =~ s/\.\.\./fresh/;
	($sql =~ /^SELECT/ ? $dbh : $target)->do($sql);
}
is_deeply([ found($name, 26) ], [], 'two_phase of the slot alone: gone');
is($dbh->selectrow_array('SELECT two_phase FROM pg_replication_slots WHERE slot_name = ?', undef, $name), 0, 'the server says so');
$target->do('ALTER SUBSCRIPTION s DISABLE');
$target->do('ALTER SUBSCRIPTION s SET (slot_name = NONE)');
$target->do('DROP SUBSCRIPTION s');
$_->disconnect foreach $target, $dbh;
done_testing();
