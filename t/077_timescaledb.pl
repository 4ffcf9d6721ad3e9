# inheritance_root with a TimescaleDB hypertable, where that extension is installed: its
# chunks, which INHERITS makes, go by the hypertable.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use Test::More;

chomp(my $sharedir = `pg_config --sharedir`);
plan skip_all => 'TimescaleDB is not installed' unless -e "$sharedir/extension/timescaledb.control";

my $node = new_node('main', conf => "shared_preload_libraries = 'timescaledb'\ntimescaledb.telemetry_level = off\nmax_worker_processes = 20\n");
my $dbh = $node->{dbh};
$dbh->do('SET client_min_messages = error');
$dbh->do($_) foreach
  'CREATE EXTENSION timescaledb',
  'CREATE TABLE reading (at timestamptz NOT NULL, sensor int, value float8, PRIMARY KEY (at, sensor))',
  q{SELECT create_hypertable('reading', 'at')},
  'CREATE PUBLICATION p FOR ALL TABLES',
  q{SELECT pg_create_logical_replication_slot('s', 'pgoutput_ext')},
  q{INSERT INTO reading VALUES ('2026-01-01 00:00Z', 1, 1.5), ('2026-03-01 00:00Z', 1, 2.5), ('2026-06-01 00:00Z', 2, 3.5)},
  q{UPDATE reading SET value = 9 WHERE sensor = 2},
  q{DELETE FROM reading WHERE at < '2026-02-01'};
is($dbh->selectrow_array(q{SELECT count(*) FROM show_chunks('reading')}), 3, 'each row has a chunk of its own');

# The relations of rows, by what the stream announces.
sub relations
{
	my @options = @_;
	my $read = read_slot($dbh, 's', options => [ standard_options('p', exclude_tables => '_timescaledb_catalog.*, _timescaledb_config.*, _timescaledb_cache.*, _timescaledb_internal.bgw_*', @options) ]);
	die $read->{error}{message_primary} if $read->{error};
	my (%name, @rows);
	foreach my $message (map { $_->[2] } @{ $read->{rows} })
	{
		my ($type, $oid, $schema, $name) = unpack 'a N Z* Z*', $message;
		$name{$oid} = "$schema.$name" if $type eq 'R';
		push @rows, "$type $name{$oid}" if $type =~ /[IUD]/;
	}
	return @rows;
}
is_deeply([ map { s/_\d+_\d+_chunk$/_chunk/r } relations() ], [ map { "$_ _timescaledb_internal._hyper_chunk" } qw(I I I U D) ], 'chunks by their own names');
is_deeply([ relations(inheritance_root => 'always') ], [ map { "$_ public.reading" } qw(I I I U D) ], 'by the hypertable');
$dbh->disconnect;
$node->stop;
done_testing();
