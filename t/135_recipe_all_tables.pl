# docs/OPERATIONS.md, "FOR ALL TABLES, and tools with tables of their own": with the role's
# setting nothing but the tables themselves is in the stream. The tools are not here; tables of
# the names that they have are.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use Recipe;
use Test::More;

my $title = 'FOR ALL TABLES, and tools with tables of their own';
my $node = new_node('publisher');
my $dbh = $node->{dbh};

# What was seen with the tools, by tool.
my %work = (
	pg_repack => ['repack.table_16402'],
	pg_squeeze => [ 'public.tmp_16402', 'squeeze.log', 'squeeze.errors', 'squeeze.tables', 'squeeze.tasks' ],
	pglogical => [ map { "pglogical.$_" } qw(depend local_node local_sync_status node node_interface queue replication_set replication_set_table sequence_state subscription) ],
	TimescaleDB => [
		(map { "_timescaledb_catalog.$_" } qw(chunk chunk_constraint chunk_index compression_algorithm dimension dimension_slice hypertable metadata)),
		'_timescaledb_cache.cache_inval_hypertable', '_timescaledb_config.bgw_job',
		(map { "_timescaledb_internal.$_" } qw(bgw_job_stat bgw_job_stat_history bgw_policy_chunk_stats compress_hyper_2_4_chunk)) ]);
my @kept = ('_timescaledb_internal._hyper_1_1_chunk', 'public.orders', 'public.tmp', 'public.repack');

$dbh->do("CREATE SCHEMA $_") foreach qw(repack squeeze pglogical _timescaledb_catalog _timescaledb_config _timescaledb_cache _timescaledb_internal);
$dbh->do("CREATE TABLE $_ (a int PRIMARY KEY)") foreach @kept, map { @$_ } values %work;
$dbh->do('CREATE PUBLICATION pub FOR ALL TABLES');
$dbh->do('CREATE ROLE app LOGIN REPLICATION');
$dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, 's', plugin_name());
$dbh->do("INSERT INTO $_ VALUES (1)") foreach @kept, map { @$_ } values %work;

# The tables that a stream has.
sub tables
{
	my ($session, @options) = @_;
	my $read = read_slot($session, 's', options => [ standard_options('pub', @options) ]);
	die $read->{error}{message_primary} if $read->{error};
	return [ sort map { $_->[2] =~ /^R.{4}([^\0]*)\0([^\0]*)\0/s ? "$1.$2" : () } @{ $read->{rows} } ];
}

my @all = sort @kept, map { @$_ } values %work;
is_deeply(tables($dbh), \@all, 'without it, all of them');

# Each tool's patterns leave out its own, and nothing else.
my %patterns = map { /^\| (?!tool )(\w+) \|.*\| `(.*?)` \|$/ ? ($1 => $2) : () } split /\n/, section($title);
is_deeply([ sort keys %patterns ], [ sort keys %work ], 'the tools of the page');
foreach my $tool (sort keys %work)
{
	my %out = map { $_ => 1 } @{ $work{$tool} };
	is_deeply(tables($dbh, exclude_tables => $patterns{$tool}), [ grep { !$out{$_} } @all ], "$tool");
}

run_recipe($title, at => { publisher => $node });
my $app = connect_db($node, user => 'app');
is_deeply(tables($app), [ sort @kept ], 'with all of them, by the role');

$_->disconnect foreach $app, $dbh;
$node->stop;
done_testing();
