# The 64-bit transaction ID of transaction_metadata: past the first epoch, and
# for transactions from before a wraparound that are decoded after it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use MetadataFrames;
use PgoutputExt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');

# Everything older is frozen, in all databases, so that transaction IDs can go
# on far ahead.
sub freeze
{
	my $dbh = connect_db($node);
	$dbh->do('ALTER DATABASE template0 ALLOW_CONNECTIONS true');
	$dbh->disconnect;
	$node->command_ok([ 'vacuumdb', '--all', '--freeze', '--quiet' ], 'freeze all');
	return;
}

# Has the server assign this ID and epoch next.  The segment of the commit log
# that the server then starts in would be there if it had got there by itself.
sub set_next_xid
{
	my ($xid, $epoch) = @_;
	my $segment = sprintf '%s/pg_xact/%04X', $node->data_dir, int($xid / 1048576);

	freeze();
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->stop;
	if (!-e $segment)
	{
		open my $file, '>', $segment or die "cannot write $segment: $!\n";
		binmode $file;
		print $file "\0" x 262144;
		close $file;
	}
	command_ok([ 'pg_resetwal', '-x', $xid, '-e', $epoch, $node->data_dir ], "next transaction ID $xid in epoch $epoch");
	$node->start;
	return;
}

$node->{dbh}->disconnect;
set_next_xid(2_000_000_000, 7);
set_next_xid(4_000_000_000, 7);
set_next_xid(4_294_967_200, 7);

my $dbh = connect_db($node);
$dbh->do('CREATE TABLE t (xid xid8 DEFAULT pg_current_xact_id(), filler text)');
$dbh->do('CREATE PUBLICATION p FOR TABLE t');
$dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, 's', plugin_name());

sub check
{
	my ($name) = @_;
	my $expected = $dbh->selectcol_arrayref('SELECT DISTINCT xid::text::numeric FROM t ORDER BY 1');
	my $result = read_slot($dbh, 's', options => [ standard_options('p', transaction_metadata => 'on') ]);
	is($result->{error} && $result->{error}{message_primary}, undef, "$name: no error");
	my @told = map { $_->{xid} } frames_of('transaction', parse_stream(map { $_->[2] } @{ $result->{rows} }));
	is_deeply(\@told, $expected, "$name: as the server has them");
	return @told;
}

$dbh->do('INSERT INTO t DEFAULT VALUES') for 1 .. 3;
my @told = check('before the wraparound');
cmp_ok($told[0], '>', 7 * 2**32 + 4_294_967_200, 'they are in epoch 7');
cmp_ok($told[-1], '<', 8 * 2**32, '... all');

$dbh->do('INSERT INTO t DEFAULT VALUES') for 1 .. 100;
@told = check('after the wraparound');
cmp_ok($told[0], '<', 8 * 2**32, 'transactions from before keep epoch 7');
cmp_ok($told[-1], '>', 8 * 2**32, 'later ones are in epoch 8');

$dbh->disconnect;
$node->stop;
done_testing();
