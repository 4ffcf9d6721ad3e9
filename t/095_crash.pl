# The kill test in its short form (scripts/crash is the long one): one round of kills
# with streaming and prepared transactions, and what its checks find when a client
# or a server errs. It runs on 15 and from 19 on; PGOUTPUT_EXT_KILLS, the number of
# kills, has it run on any server. PGOUTPUT_EXT_SEED: another seed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Crash::Check;
use Crash::Journal;
use CrashRun;
use PgoutputExt;
use Test::More;

my $major = server_major();
my $kills = $ENV{PGOUTPUT_EXT_KILLS};
plan skip_all => "the kill test runs on 15 and from 19 on, on $major only when PGOUTPUT_EXT_KILLS says how many"
  unless $kills || $major == 15 || $major >= 19;
$kills ||= 10;

my $seed = $ENV{PGOUTPUT_EXT_SEED} // 1;
my $run = CrashRun->new(
	seed => $seed,
	kills => $kills,
	least => 40,
	streaming => $major >= 16 ? 'parallel' : 'on',
	two_phase => $major >= 15 ? 1 : 0);
my @problems;

# A server with assertions may fail one of its own, most often where it streams.
foreach my $streaming ($run->{streaming}, 'off', 'off')
{
	$seed = $run->{seed};
	$run->{streaming} = $streaming;
	@problems = $run->run_round;
	last unless $run->{round}{explained};
	diag $run->round_text;
}
plan skip_all => "three rounds were ended by an assertion of the server: $run->{round}{explained}"
  if $run->{round}{explained};
is("@problems[0 .. ($#problems > 20 ? 20 : $#problems)]", '', "seed $seed: nothing is missing, different or out of order after the kills");
is($run->{round}{totals}{kills}, $kills, 'all kills took place');
diag $run->round_text;

BAIL_OUT('there is nothing to check the checks with') unless $run->{round}{reference};
my $directory = $run->{round}{directory};

# Records of a journal.
sub records
{
	my @records;
	Crash::Journal::each_record("$directory/$_[0]", sub { push @records, [@_] });
	return @records;
}

# What is wrong with a client that wrote these.
sub wrong
{
	my (@records) = @_;
	my $path = "$directory/other";
	unlink $path;
	my $journal = Crash::Journal->open($path);
	$journal->add(@$_) foreach @records;
	$journal->flush;
	return join "\n", $run->compare(Crash::Check->new($path), $run->{round}{reference});
}

# The journal that was read in one go, cut in three: before, in and behind one of its
# transactions that begins with Begin and inserts a row; not the first.
my @all = records('crash_pgoutput');
my @type = map { $_->[0] eq 'w' ? substr $_->[2], 0, 1 : '' } @all;
my @begins = grep { $type[$_] eq 'B' } 0 .. $#all;
my ($begin) = grep { $_ > $begins[10] && join('', @type[ $_ .. $_ + 3 ]) =~ /^BR*I/ } @begins;
my ($end) = grep { $_ > $begin && $type[$_] eq 'C' } 0 .. $#all;
my @before = @all[ 0 .. $begin - 1 ];
my @transaction = @all[ $begin .. $end ];
my @behind = @all[ $end + 1 .. $#all ];
my @open = (['O', 0, '']);

is(wrong(@all), '', 'one reading is as it has to be');
is(wrong(@before, @transaction, @all), '', 'so is one that was broken off behind a transaction, with all of it again');
is(wrong(@before, @transaction[ 0 .. 1 ], @all), '', 'and one that was broken off within it');

like(wrong(@before, @behind), qr/missing: commit/, 'a transaction that the client lost is missed');
like(wrong(@before, @behind), qr/connection 1: behind .* comes/, 'and its place in the stream is named');
like(wrong(@before, @open, @behind), qr/connection 2 starts behind/, 'a server that goes on behind what was not confirmed is told of');
like(
	wrong(@before, [ 'c', Crash::Journal::end_of_transaction($all[$end][2]), '' ], @open, @behind),
	qr/missing: commit/, 'a transaction that was confirmed before it was written is missed');

# One byte of its first row, the last of the last value.
my ($row) = grep { $transaction[$_][2] =~ /^I/ } 0 .. $#transaction;
my @changed = map { [@$_] } @transaction;
substr($changed[$row][2], -1) ^= "\1";
like(wrong(@all, @before, @changed), qr/comes twice, with a difference/, 'a transaction that comes again with another byte is found');
like(wrong(@before, @changed, @behind), qr/differs from the reference/, 'and one that comes once, so');

$run->stop;
done_testing();
