# docs/OPERATIONS.md, "pg_createsubscriber": it makes its own slot, and the subscription
# is moved to one of pgoutput_ext; nothing is lost, nothing comes twice.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use PostgreSQL::Test::Cluster;
use Recipe;
use Test::More;

plan skip_all => 'pg_createsubscriber is there from PostgreSQL 17 on' if server_major() < 17;

my $publisher = new_node('publisher');
my $source = $publisher->{dbh};
$source->do('CREATE TABLE log (n bigserial, b text)');
$source->do(q{INSERT INTO log (b) SELECT 'copied' FROM generate_series(1, 100)});
$source->do(q{SELECT pg_create_physical_replication_slot('physical')});
$publisher->backup('backup');

my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init_from_backup($publisher, 'backup', has_streaming => 1, has_restoring => 0);
$subscriber->append_conf('postgresql.conf', sprintf q{
primary_slot_name = 'physical'
primary_conninfo = '%s dbname=postgres'
wal_retrieve_retry_interval = '100ms'
}, $publisher->connstr =~ s/'/''/gr);
$subscriber->start;
$source->do(q{INSERT INTO log (b) VALUES ('replayed')});
$publisher->wait_for_replay_catchup($subscriber);
$subscriber->stop;

run_recipe('pg_createsubscriber',
	replace => { old_slot => 'sub', '--database shop' => '--database postgres' },
	env => {
		STANDBY_DATA => $subscriber->data_dir,
		PRIMARY => $publisher->connstr('postgres'),
		PGPORT => $subscriber->port });
is_deeply($source->selectcol_arrayref(q{SELECT plugin FROM pg_replication_slots WHERE slot_name = 'sub'}), ['pgoutput'], 'its slot is one of pgoutput');
$source->do(q{INSERT INTO log (b) VALUES ('while it was down')});
$subscriber->start;

run_recipe('Move a subscription to another slot',
	at => { publisher => $publisher, subscriber => $subscriber },
	replace => { old_slot => 'sub', new_slot => 'sub_ext' },
	before => { 3 => sub { $source->do(q{INSERT INTO log (b) VALUES ('between the slots')}) } });
is_deeply($source->selectcol_arrayref(q{SELECT plugin FROM pg_replication_slots WHERE slot_type = 'logical'}), ['pgoutput_ext'], 'its slot is one of ours, and the only one');
$source->do(q{INSERT INTO log (b) VALUES ('through ours')});
$publisher->wait_for_catchup('sub');

my $target = connect_db($subscriber);
my $rows = $source->selectall_arrayref('SELECT * FROM log ORDER BY n');
is(scalar @$rows, 104, 'the rows that were written');
is_deeply($target->selectall_arrayref('SELECT * FROM log ORDER BY n'), $rows, 'are there, each once');

$_->disconnect foreach $source, $target;
$subscriber->stop;
$publisher->stop;
done_testing();
