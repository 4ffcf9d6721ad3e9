# docs/OPERATIONS.md, "Failover": a slot that a standby takes over while others write. The
# subscription that reads it has the rows of the new primary afterwards, each once.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use PgoutputExt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Recipe;
use Test::More;

plan skip_all => 'slots are synchronized from PostgreSQL 17 on' if server_major() < 17;

my $primary = new_node('primary');
my $source = $primary->{dbh};
my $subscriber = new_node('subscriber', conf => "wal_retrieve_retry_interval = '100ms'");
my $target = $subscriber->{dbh};
$_->do('CREATE TABLE log (n bigserial, b text)') foreach $source, $target;
$source->do('CREATE PUBLICATION pub FOR TABLE log');

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1, has_restoring => 0);
$standby->append_conf('postgresql.conf', "wal_retrieve_retry_interval = '100ms'");
$standby->start;

# Records of the running transactions are written often, so that the test need not wait for the server's.
my ($rows, $running) = map { PostgreSQL::Test::Utils::tempdir() . "/$_.sql" } qw(rows running);
append_to_file($rows, "INSERT INTO log (b) SELECT 'row' FROM generate_series(1, 3);\n");
append_to_file($running, "SELECT pg_log_standby_snapshot();\n");
my $out = '';
my @load = (
	[ 'pgbench', '-n', '-h', $primary->host, '-p', $primary->port, '-c', 2, '-T', 600, '-R', 100, '-f', "$rows\@9", '-f', "$running\@1", 'postgres' ],
	'<', \undef, '>&', \$out, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));

my ($load, $seen);
run_recipe('Failover',
	at => { primary => $primary, standby => $standby, subscriber => $subscriber },
	replace => {
		'host=primary user=replicator' => $primary->connstr =~ s/'/''/gr,
		'host=primary user=copier dbname=shop' => $primary->connstr('postgres') =~ s/'/''/gr,
		'host=standby user=copier dbname=shop' => $standby->connstr('postgres') =~ s/'/''/gr },
	before => {
		# The subscription copies nothing: what is written goes through the slot.
		2 => sub { $load = IPC::Run::start(@load) },
		6 => sub {
			# The writer goes on to the end.
			$subscriber->poll_query_until('postgres', 'SELECT count(*) > 100 FROM log') or die "nothing is read\n";
			$source->disconnect;
			$primary->stop('immediate');
			$load->finish;
			$seen = $target->selectrow_array('SELECT count(*) FROM log');
		} },
	after => { 6 => sub { is($_[0], "changes\nt\n", 'the slot is synchronized, the standby promoted') } });

$source = connect_db($standby);
my $kept = $source->selectrow_array('SELECT count(*) FROM log');
cmp_ok($kept, '>=', $seen, 'the client was not ahead of the standby');
$source->do(q{INSERT INTO log (b) VALUES ('after the failover')});
$standby->wait_for_catchup('sub');
my $log = 'SELECT count(*), count(DISTINCT n), md5(string_agg(n || b, \',\' ORDER BY n, b)) FROM log';
my @expected = $source->selectrow_array($log);
is_deeply([ @expected[ 0, 1 ] ], [ $kept + 1, $kept + 1 ], 'the new primary has each row once');
is_deeply([ $target->selectrow_array($log) ], \@expected, 'the subscriber has the same');
is_deeply($source->selectall_arrayref(q{SELECT slot_name, plugin, active FROM pg_replication_slots}), [ [ 'changes', 'pgoutput_ext', 1 ] ], 'by the slot that the standby took over');

$_->disconnect foreach $source, $target;
$_->stop foreach $subscriber, $standby;
done_testing();
