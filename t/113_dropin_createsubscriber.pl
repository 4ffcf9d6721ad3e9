# pg_createsubscriber makes a subscription out of a standby.  Run as a role that has
# pgoutput from us, its slot - of pgoutput - is decoded by us from the start.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use DropinServer;
use PgoutputExt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'pg_createsubscriber is there from PostgreSQL 17 on' if server_major() < 17;

my $publisher = new_node('publisher');
my $source = $publisher->{dbh};

# The program needs a superuser.
$source->do($_) foreach (
	'CREATE TABLE t (a int PRIMARY KEY, b text)',
	q{INSERT INTO t SELECT i, 'copied' FROM generate_series(1, 100) i},
	'CREATE ROLE dropin LOGIN SUPERUSER REPLICATION',
	"ALTER ROLE dropin SET dynamic_library_path = '" . dropin_path() . q{'},
	q{SELECT pg_create_physical_replication_slot('physical')});
$publisher->backup('backup');

my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init_from_backup($publisher, 'backup', has_streaming => 1, has_restoring => 0);
$subscriber->append_conf('postgresql.conf', sprintf q{
primary_slot_name = 'physical'
primary_conninfo = '%s dbname=postgres'
}, $publisher->connstr =~ s/'/''/gr);
$subscriber->start;
$source->do(q{INSERT INTO t VALUES (101, 'replayed')});
$publisher->wait_for_replay_catchup($subscriber);
$subscriber->stop;

my ($out, $err) = ('', '');
my $made = IPC::Run::run(
	[   'pg_createsubscriber', '--pgdata', $subscriber->data_dir,
		'--publisher-server', $publisher->connstr('postgres') . ' user=dropin',
		'--socketdir', $subscriber->host, '--subscriber-port', $subscriber->port,
		'--database', 'postgres', '--publication', 'pub', '--replication-slot', 'slot', '--subscription', 'sub' ],
	'<', \undef, '>', \$out, '2>', \$err);
ok($made, 'pg_createsubscriber makes the subscription') or diag($out, $err);

$source->do(q{INSERT INTO t VALUES (102, 'while it was down')});
$source->do('UPDATE t SET b = NULL WHERE a = 7');
$subscriber->start;
$source->do('DELETE FROM t WHERE a = 8');
$publisher->wait_for_catchup('sub');
my $target = connect_db($subscriber);
is_deeply(
	$target->selectall_arrayref('SELECT * FROM t ORDER BY a'),
	$source->selectall_arrayref('SELECT * FROM t ORDER BY a'),
	'the tables are equal');
my ($plugin, $pid) = $source->selectrow_array(q{SELECT plugin, active_pid FROM pg_replication_slots WHERE slot_name = 'slot'});
is($plugin, 'pgoutput', 'its slot is one of pgoutput');
is(process_libraries($pid), 'pgoutput_ext', 'decoded by ours');

$_->disconnect foreach $source, $target;
$subscriber->stop;
$publisher->stop;
done_testing();
