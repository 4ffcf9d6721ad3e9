# Generated programs, read through replication connections: what START_REPLICATION
# gives from slots of pgoutput and of pgoutput_ext, with the positions in the
# stream, is the same. 010_differential.pl does it with the SQL functions, for
# more programs.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Differential;
use PgoutputExt;
use Test::More;

my $first = $ENV{PGOUTPUT_EXT_SEED} // 10001;
my $programs = $ENV{PGOUTPUT_EXT_WALSENDER_PROGRAMS} // 40;
my $differential = Differential->new(walsender => 1, option_sets => 3);
my $failed = 0;

diag "seeds $first to ", $first + $programs - 1, ' on PostgreSQL ', server_major();
foreach my $seed ($first .. $first + $programs - 1)
{
	my @differences = eval { $differential->run_seed($seed) };
	die $@ if $@ eq "the server is gone\n";
	push @differences, "the program ended in an error: $@" if $@;
	next unless @differences;
	fail("program of seed $seed");
	diag $_ foreach @differences;
	diag "run it again: scripts/differential --walsender --option-sets 3 --seed $seed --count 1 --print";
	last if ++$failed >= 5;
}
is($failed, 0, "$programs programs are streamed the same by both plugins");
cmp_ok($differential->{counts}{B}, '>', $programs, 'the streams held transactions');
diag 'messages compared: ', $differential->counts_text;

$differential->stop;
done_testing();
