# Slots that change between pgoutput and pgoutput_ext, and that are moved forward:
# the stream goes on where the slot stands, whoever stood there before.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgoutputExt;
use ReplicationClient;
use Test::More;

my $publisher = new_node('publisher');
my $subscriber = new_node('subscriber', conf => "wal_retrieve_retry_interval = '100ms'");
my $source = $publisher->{dbh};
my $target = $subscriber->{dbh};
my @options = (options => [ standard_options('pub') ]);

foreach my $dbh ($source, $target)
{
	$dbh->do('CREATE TABLE t (a int)');
}
$source->do('CREATE PUBLICATION pub FOR TABLE t');

sub create_slot
{
	my ($name, $plugin) = @_;
	$source->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, $name, $plugin);
	return;
}

sub copy_slot
{
	my ($from, $to, $plugin) = @_;
	$source->do('SELECT pg_copy_logical_replication_slot(?, ?, false, ?)', undef, $from, $to, $plugin);
	return;
}

sub drop_slots
{
	$source->do('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');
	return;
}

# Value of the integer column in the inserts of a stream.
sub inserted
{
	my ($read) = @_;
	return join ' ', map { $_->[2] =~ /^I.{4}N\x00\x01t.{4}(\d+)$/s ? $1 : () } @{ $read->{rows} };
}

# ---- copied, in both directions, with changes before and after ---------------------

foreach my $plugins ([ 'pgoutput', plugin_name() ], [ plugin_name(), 'pgoutput' ], [ plugin_name(), plugin_name() ])
{
	my ($from, $to) = @$plugins;
	my $name = "$from to $to";

	create_slot('first', $from);
	$source->do('INSERT INTO t VALUES (1)');
	copy_slot('first', 'second', $to);
	$source->do('INSERT INTO t VALUES (2)');
	my ($first, $second) = map { read_slot($source, $_, @options) } qw(first second);
	is(inserted($second), '1 2', "$name: all since the first slot was made");
	is_deeply($second, $first, "$name: same stream from the copy");

	# when the first has moved on, so has the copy made of it then
	read_slot($source, 'first', @options, get => 1);
	$source->do('INSERT INTO t VALUES (3)');
	copy_slot('first', 'third', $to);
	($first, my $third) = map { read_slot($source, $_, @options) } qw(first third);
	is(inserted($third), '3', "$name: all since the first slot was read");
	is_deeply($third, $first, "$name: same stream from the copy of the slot moved on");
	is(inserted(read_slot($source, 'second', @options)), '1 2 3', "$name: the first copy stays where it is");
	drop_slots();
}

# ---- advanced ----------------------------------------------------------------------

# To the end of the first transaction, then to one in the middle of the second: the
# second is there in whole, as its end lies behind.
my $pair = create_slot_pair($source, 's');
$source->do('INSERT INTO t VALUES (1)');
my ($end) = $source->selectrow_array('SELECT pg_current_wal_insert_lsn()');
$source->begin_work;
$source->do('INSERT INTO t VALUES (2)');
my ($middle) = $source->selectrow_array('SELECT pg_current_wal_insert_lsn()');
$source->do('INSERT INTO t VALUES (3)');
$source->commit;
foreach my $lsn ($end, $middle)
{
	$source->do('SELECT pg_replication_slot_advance(?, ?)', undef, $_, $lsn) foreach @$pair{qw(oracle ours)};
	my $expected = same_stream($source, $pair, 'advanced: same stream', @options);
	is(inserted($expected), '2 3', 'advanced: all that ends behind');
}
$source->do('SELECT pg_replication_slot_advance(?, pg_current_wal_lsn())', undef, $_) foreach @$pair{qw(oracle ours)};
is(inserted(same_stream($source, $pair, 'advanced to the end: same stream', @options)), '', 'advanced to the end: nothing');

# An advanced slot over a replication connection.
$source->do('INSERT INTO t VALUES (4)');
my $client = ReplicationClient->new($publisher);
$client->start($pair->{ours}, proto_version => 1, publication_names => 'pub');
is(join('', map { substr $_->{data}, 0, 1 } $client->read_until(sub { $_[0]{data} =~ /^C/ })),
	'BRIC', 'advanced: what comes afterwards is streamed');
$client->stop;
$client->close;
drop_slots();

# ---- a subscription moved from pgoutput to pgoutput_ext and back -------------------

# Rows arrive while it moves; each is there once at the end.
my $row = 0;

sub insert_some
{
	$source->do('INSERT INTO t VALUES (?)', undef, ++$row) foreach 1 .. 50;
	return;
}

foreach my $dbh ($source, $target)
{
	$dbh->do('TRUNCATE t');
}
$target->do(sprintf 'CREATE SUBSCRIPTION sub CONNECTION %s PUBLICATION pub WITH (copy_data = false)',
	$target->quote($publisher->connstr('postgres')));
insert_some();
my $slot = 'sub';
foreach my $plugin (plugin_name(), 'pgoutput')
{
	insert_some();
	$target->do('ALTER SUBSCRIPTION sub DISABLE');
	insert_some();
	$publisher->poll_query_until('postgres', "SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$slot'")
	  or die "slot $slot is still active\n";
	copy_slot($slot, "sub_$plugin", $plugin);
	insert_some();
	$target->do("ALTER SUBSCRIPTION sub SET (slot_name = 'sub_$plugin')");
	$target->do('ALTER SUBSCRIPTION sub ENABLE');
	insert_some();
	$source->do('SELECT pg_drop_replication_slot(?)', undef, $slot);
	$slot = "sub_$plugin";
	$publisher->wait_for_catchup('sub');
	is_deeply($target->selectcol_arrayref('SELECT a FROM t ORDER BY a'), [ 1 .. $row ],
		"moved to $plugin: every row is there, once");
	is_deeply($source->selectall_arrayref('SELECT slot_name, plugin FROM pg_replication_slots'),
		[ [ $slot, $plugin ] ], "moved to $plugin: the other slot is gone");
}
$target->do('DROP SUBSCRIPTION sub');
is($source->selectrow_array('SELECT count(*) FROM pg_replication_slots'), 0, 'no slot is left');

$_->disconnect foreach $source, $target;
$_->stop foreach $subscriber, $publisher;
done_testing();
