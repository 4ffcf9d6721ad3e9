# Generated programs: what slots of pgoutput and of pgoutput_ext give over the
# same WAL must be the same, byte for byte, errors included. The programs are
# those of the seeds PGOUTPUT_EXT_SEED (1) and the following ones,
# PGOUTPUT_EXT_PROGRAMS (100) of them; scripts/differential runs any others.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Differential;
use PgoutputExt;
use PgoutputMessage;
use Test::More;

my $first = $ENV{PGOUTPUT_EXT_SEED} // 1;
my $programs = $ENV{PGOUTPUT_EXT_PROGRAMS} // $ENV{PGOUTPUT_EXT_GENERATED} // 100;    # the latter is the matrix's
my $differential = Differential->new;
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
	diag "run it again: scripts/differential --seed $seed --count 1 --print";
	last if ++$failed >= 5;
}
is($failed, 0, "$programs programs read the same from both plugins");

diag 'messages compared: ', $differential->counts_text;
foreach my $type (PgoutputMessage::all_types(server_major()))
{
	ok($differential->{counts}{$type}, 'the programs held a message ' . PgoutputMessage::type_name($type));
}

# The comparison itself: a single message more is noticed.
{
	$differential->clean;
	my @options = standard_options('none');
	my $pair = create_slot_pair($differential->{control}, 'probe');
	$differential->flush;
	my ($difference) = compare_slots(
		$differential->{reader}, $pair,
		options => [@options],
		options_ours => [ @options, messages => 'true' ]);
	# 14 sends the empty transaction around it
	like($difference, server_major() < 15 ? qr/^message 2 of 2 / : qr/^message 1 of 0 /, 'streams that differ are told apart');
}

$differential->stop;
done_testing();
