# log_statistics: what the server's log says of a session, against counts by hand
# and the bytes that the same reading gives without it. The clock does not
# matter: 0 gives a line at each transaction's end, an hour one at the session's.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgoutputExt;
use PostgreSQL::Test::Utils;
use ReplicationClient;
use Test::More;

my $node = new_node('main', conf => q{logical_decoding_work_mem = '64kB'});
my $dbh = $node->{dbh};
my $reader = connect_db($node, raise => 0);
$dbh->do($_) foreach 'CREATE TABLE t (a int PRIMARY KEY)', 'CREATE TABLE other (a int)', 'CREATE PUBLICATION p FOR TABLE t';
$dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, 's', plugin_name());

my $read_to = 0;

# The lines since the last time; without what depends on the clock and the server.
sub lines
{
	my $log = slurp_file($node->logfile);
	my $new = substr $log, $read_to;
	$read_to = length $log;
	return map { s/ seconds=\d+\.\d+//r =~ s/ invalidations=\d+//r =~ s/ memory=[1-9]\d+$//r } $new =~ /LOG:  pgoutput_ext statistics of (.*)/g;
}

sub line
{
	my ($of, @counts) = @_;
	my @names = qw(transactions transactions_sent changes changes_sent changes_filtered messages bytes plans_built relations);
	return "slot \"s\", $of: " . join ' ', map { "$names[$_]=$counts[$_]" } 0 .. $#names;
}

sub get
{
	my @options = @_;
	return read_slot($reader, 's', options => [ standard_options('p', empty_transactions => 'skip', @options) ]);
}

# Bytes of each transaction, and of all.
sub bytes_of
{
	my ($read) = @_;
	my (@bytes, %of);
	foreach my $row (@{ $read->{rows} })
	{
		push @bytes, $of{ $row->[1] } = \(my $none = 0) unless $of{ $row->[1] };
		${ $of{ $row->[1] } } += length $row->[2];
	}
	return map { $$_ } @bytes;
}

sub total { my $sum = 0; $sum += $_ foreach @_; return $sum }

# ---- each transaction, and the session ---------------------------------------------

$dbh->do('INSERT INTO t VALUES (1)');
$dbh->do('INSERT INTO other VALUES (1), (2)');
$dbh->do($_) foreach 'BEGIN', 'INSERT INTO t VALUES (2), (3)', 'DELETE FROM t WHERE a = 1', 'INSERT INTO other VALUES (3)', 'COMMIT';
$dbh->do('TRUNCATE t, other');
$dbh->do(q{SELECT pg_logical_emit_message(true, 'm', 'content')});

lines();
my $plain = get();
my @bytes = bytes_of($plain);
is_deeply([ lines() ], [], 'nothing is logged without the option');
my $read = get(log_statistics => '0');
is_deeply($read->{rows}, $plain->{rows}, 'the stream is the same with it');
is_deeply(
	[ lines() ],
	[
		line(interval => 1, 1, 1, 1, 0, 4, $bytes[0], 1, 1),
		line(interval => 1, 0, 2, 0, 2, 0, 0, 1, 2),
		line(interval => 1, 1, 4, 3, 1, 5, $bytes[1], 0, 2),
		line(interval => 1, 1, 1, 1, 0, 3 + ($plain->{rows}[-3][2] =~ /^R/), $bytes[2], 2, 2),
		line(interval => 1, 0, 1, 0, 1, 0, 0, 0, 2),
		line(session => 5, 3, 9, 5, 4, scalar @{ $plain->{rows} }, total(@bytes), 4, 2)
	],
	'0: a line for each transaction, and one for the session');
get(log_statistics => '1h');
is_deeply([ lines() ], [ line(session => 5, 3, 9, 5, 4, scalar @{ $plain->{rows} }, total(@bytes), 4, 2) ], '1h: the session alone');
get(log_statistics => 'off');
is_deeply([ lines() ], [], 'off: none');
$plain = get(messages => 'on');
get(messages => 'on', log_statistics => '1h');
is_deeply([ lines() ], [ line(session => 5, 4, 9, 6, 3, scalar @{ $plain->{rows} }, total(bytes_of($plain)), 4, 2) ], 'a Message that is sent');

# ---- streamed ------------------------------------------------------------------------

$dbh->do('SELECT pg_replication_slot_advance(?, pg_current_wal_lsn())', undef, 's');
$dbh->do('INSERT INTO t SELECT generate_series(1, 2000)');
$reader->do(q{SET logical_decoding_work_mem = '64kB'});
$plain = get(proto_version => 2, streaming => 'on');
cmp_ok(scalar(grep { $_->[2] =~ /^S/ } @{ $plain->{rows} }), '>', 1, 'a transaction is streamed');
get(proto_version => 2, streaming => 'on', log_statistics => '0');
my $counts = join ' ', 1, 1, 2000, 2000, 0, scalar @{ $plain->{rows} }, total(bytes_of($plain)), 1, 1;
is_deeply([ lines() ], [ map { line($_ => split / /, $counts) } 'interval', 'session' ], 'it is one transaction');

# ---- other ends ----------------------------------------------------------------------

$read = read_slot($reader, 's', options => [ standard_options('missing', missing_publication => 'error', empty_transactions => 'skip', log_statistics => '1h') ]);
like($read->{error}{message_primary}, qr/publication "missing" does not exist/, 'decoding ends in an error');
is_deeply([ lines() ], [ line(session => 0, 0, 1, 0, 0, 0, 0, 1, 0) ], 'the session that it ended');
is($reader->selectrow_array('SELECT 1'), 1, 'the server goes on');

$plain = get();
my $client = ReplicationClient->new($node);
$client->start('s', standard_options('p', empty_transactions => 'skip', log_statistics => '1h'));
$client->read_until(sub { $_[0]{data} =~ /^C/ });
$client->close;
$node->poll_query_until('postgres', q{SELECT NOT active FROM pg_replication_slots WHERE slot_name = 's'}) or die "the slot is still active\n";
my @lines;
foreach (1 .. 600)
{
	last if push(@lines, lines()) && @lines;
	select undef, undef, undef, 0.1;
}
is_deeply(\@lines, [ line(session => 1, 1, 2000, 2000, 0, scalar @{ $plain->{rows} }, total(bytes_of($plain)), 1, 1) ], 'a client that has gone');

$client = ReplicationClient->new($node);
$client->start('s', standard_options('p', empty_transactions => 'skip', log_statistics => '1h'));
$client->read_until(sub { $_[0]{data} =~ /^C/ });
$client->stop;
is_deeply([ lines() ], [ line(session => 1, 1, 2000, 2000, 0, scalar @{ $plain->{rows} }, total(bytes_of($plain)), 1, 1) ], 'a client that ends in order');
$client->close;

# ---- values --------------------------------------------------------------------------

foreach my $value ('', '-1', 'on', '60 parsecs', '1000h')
{
	is(get(log_statistics => $value)->{error}{message_primary}, qq{invalid value for option "log_statistics": "$value"}, "'$value' is refused");
}

$reader->disconnect;
$dbh->disconnect;
$node->stop;
done_testing();
