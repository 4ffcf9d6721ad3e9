# docs/OPERATIONS.md, "Move a subscription to another slot": from pgoutput to pgoutput_ext
# and back while others write, nothing lost, nothing twice; two_phase and failover stay.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use PgoutputExt;
use PostgreSQL::Test::Utils ();
use Recipe;
use Test::More;

my $title = 'Move a subscription to another slot';
my $major = server_major();
my @with = ($major >= 15 ? 'two_phase' : (), $major >= 17 ? 'failover' : ());
my $publisher = new_node('publisher');
my $subscriber = new_node('subscriber', conf => "wal_retrieve_retry_interval = '100ms'");
my ($source, $target) = ($publisher->{dbh}, $subscriber->{dbh});

foreach my $dbh ($source, $target)
{
	# Without a key: what comes twice is there twice.
	$dbh->do('CREATE TABLE log (n bigserial, b text)');
	$dbh->do('CREATE TABLE counter (a int PRIMARY KEY, n int)');
}
$source->do('INSERT INTO counter SELECT i, 0 FROM generate_series(1, 50) i');
$source->do('CREATE PUBLICATION pub FOR TABLE log, counter');
$target->do(sprintf q{CREATE SUBSCRIPTION sub CONNECTION '%s dbname=postgres' PUBLICATION pub%s},
	$publisher->connstr =~ s/'/''/gr, @with ? ' WITH (' . join(', ', map { "$_ = true" } @with) . ')' : '');
$subscriber->wait_for_subscription_sync($publisher, 'sub') if $subscriber->can('wait_for_subscription_sync');
$subscriber->poll_query_until('postgres', q{SELECT count(*) = 2 FROM pg_subscription_rel WHERE srsubstate = 'r'})
  or die "the tables are not copied\n";
wait_for_two_phase();

# The state of two_phase becomes "enabled" when all tables are copied.
sub wait_for_two_phase
{
	return if $major < 15;
	$subscriber->poll_query_until('postgres', q{SELECT subtwophasestate = 'e' FROM pg_subscription}) or die "two_phase stays pending\n";
	return;
}

sub slot_has
{
	my ($slot) = @_;
	return $source->selectrow_array('SELECT concat_ws(\' \', ' . join(', ', 'plugin', map { "CASE WHEN $_ THEN '$_' END" } @with) . ') FROM pg_replication_slots WHERE slot_name = ?', undef, $slot);
}

# Waits until the subscriber has some rows more.
sub more_rows
{
	my $count = $target->selectrow_array('SELECT count(*) FROM log');
	$subscriber->poll_query_until('postgres', "SELECT count(*) > $count + 100 FROM log") or die "nothing is read\n";
	return;
}

sub prepare
{
	my ($gid) = @_;
	$source->do('BEGIN');
	$source->do('INSERT INTO log (b) VALUES (?)', undef, $gid);
	$source->do("PREPARE TRANSACTION '$gid'");
	return;
}

# Are there so many prepared transactions on the subscriber?
sub prepared_there
{
	my ($count, $name) = @_;
	ok($subscriber->poll_query_until('postgres', "SELECT count(*) = $count FROM pg_prepared_xacts"), $name);
	return;
}

my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
PostgreSQL::Test::Utils::append_to_file($script, q{
\set a random(1, 50)
BEGIN;
INSERT INTO log (b) SELECT 'row' FROM generate_series(1, 3);
UPDATE counter SET n = n + 1 WHERE a = :a;
COMMIT;
});
my $out = '';
my $load = IPC::Run::start(
	[ 'pgbench', '-n', '-h', $publisher->host, '-p', $publisher->port, '-c', 2, '-T', 600, '-R', 300, '-f', $script, 'postgres' ],
	'<', \undef, '>&', \$out, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));

my %there = (at => { publisher => $publisher, subscriber => $subscriber }, with => \@with,
	replace => { old_slot => 'sub', new_slot => 'sub_ext' });
my %back = (%there, replace => { old_slot => 'sub_ext', new_slot => 'sub', "'pgoutput_ext'" => "'pgoutput'" });
more_rows();
is(slot_has('sub'), join(' ', 'pgoutput', @with), 'the slot as the subscription made it');

# ---- a transaction that the subscriber has prepared stands in the way ---------------

if ($major >= 15)
{
	prepare('early');
	prepared_there(1, 'the subscriber has it at PREPARE TRANSACTION');
	my @steps = recipe_blocks($title);
	my @outcomes;
	foreach my $step (@steps[ 0 .. 2 ])
	{
		my ($done, $text) = run_block($step, %there);
		push @outcomes, $done ? 'done' : $text =~ /ERROR:\s+(.*)/;
	}
	my $refusal = $major >= 18 ? 'cannot disable two_phase when prepared transactions exist' : 'the subscription has prepared transactions here';
	$_ =~ tr/"//d foreach @outcomes;
	is_deeply(\@outcomes, [ 'done', 'done', $refusal ], 'the third step refuses');
	like(section($title), qr/\Q$refusal\E/, 'as the page says');
	$target->do('ALTER SUBSCRIPTION sub ENABLE');
	$source->do(q{COMMIT PREPARED 'early'});
	prepared_there(0, 'it has ended there');
}

# ---- there, and back ------------------------------------------------------------------

foreach my $way (\%there, \%back)
{
	my ($from, $to) = @{ $way->{replace} }{qw(old_slot new_slot)};
	my $plugin = $to eq 'sub' ? 'pgoutput' : 'pgoutput_ext';
	my $copied = $major < 15 ? 3 : 4;
	run_recipe($title, %$way,
		after => {
			# While nobody reads the slot.
			2 => sub { prepare("while to $plugin") if $major >= 15 },
			$copied => sub { is(slot_has($to), $plugin, 'the copy has neither two_phase nor failover') } });
	more_rows();
	wait_for_two_phase();
	is(slot_has($to), join(' ', $plugin, @with), "$from to $to: the slot has what the subscription says");
	is(slot_has($from), undef, "$from to $to: the old one is gone");
	if ($major >= 15)
	{
		prepared_there(1, "$from to $to: what was prepared meanwhile came at PREPARE TRANSACTION");
		$source->do("COMMIT PREPARED 'while to $plugin'");
		prepared_there(0, "$from to $to: and its COMMIT PREPARED");
	}
}

# ---- nothing lost, nothing twice -------------------------------------------------------

$load->signal('INT');
$load->finish;
$publisher->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'}) or die "pgbench stays\n";
$publisher->wait_for_catchup('sub');
my $log = 'SELECT count(*), count(DISTINCT n), md5(string_agg(n || b, \',\' ORDER BY n, b)) FROM log';
my @rows = $source->selectrow_array($log);
cmp_ok($rows[0], '>', 300, 'there was something to read');
is($rows[1], $rows[0], 'each number once');
is_deeply([ $target->selectrow_array($log) ], \@rows, 'the same rows there');
my $counter = 'SELECT * FROM counter ORDER BY a';
is_deeply($target->selectall_arrayref($counter), $source->selectall_arrayref($counter), 'the same counters there');

$_->disconnect foreach $source, $target;
$_->stop foreach $subscriber, $publisher;
done_testing();
