# Option sets and session settings under which a generated program's WAL is
# read. Most are valid; some are not, for errors must be the same, too.

package Differential::Options;

use strict;
use warnings;

use Differential::Objects;
use PgoutputExt;

# Publication names without SQL quotes.
my @names = map { /^"(.*)"$/ ? $1 =~ s/""/"/gr : $_ } @Differential::Objects::publication_names;

# One option set: { two_phase_slot, options => [...], settings => [[name, value]...] }.
sub option_set
{
	my ($program) = @_;
	my ($random, $major) = @$program{qw(random major)};
	my $max = max_protocol();
	my $protocol = $random->weighted({ 1 => 2, 2 => 3, 3 => 4, 4 => 5 });
	$protocol = $max if $protocol > $max;
	my $two_phase = $random->chance(50);
	$protocol = $max if $two_phase && $random->chance(70);

	my @options = (proto_version => $protocol, publication_names => publication_list($program));
	push @options, binary => $random->pick('true', 'true', 'on', 'TRUE', 'false') if $random->chance(45);
	push @options, messages => $random->pick('true', 'true', 'true', 'false') if $random->chance(70);
	if ($protocol >= 2 && $random->chance(85))
	{
		push @options, streaming => $protocol >= 4 ? $random->pick('on', 'parallel', 'parallel', 'true') : $random->pick('on', 'on', 'true', 'off');
	}
	push @options, two_phase => $random->pick('true', 'true', 'true', 'false') if $protocol >= 3 && $two_phase;
	push @options, origin => $random->pick('any', 'none', 'none') if $major >= 16 && $random->chance(30);
	@options = spoil($program, @options) if $random->chance(5);

	return { two_phase_slot => $two_phase, options => \@options, settings => settings($program) };
}

# Publications that the program made, now and then one that may be missing.
sub publication_list
{
	my ($program) = @_;
	my $random = $program->{random};
	my @safe = map { /^"(.*)"$/ ? $1 =~ s/""/"/gr : $_ } sort keys %{ $program->{lasting_publications} };
	my @list = $random->chance(94) && @safe ? $random->sample($random->between(1, scalar @safe), @safe) : $random->sample($random->between(1, 3), @names, 'no such publication');
	push @list, $list[0] if $random->chance(3);
	return quote_names(@list);
}

# An option set with something wrong in it.
sub spoil
{
	my ($program, @options) = @_;
	my ($random, $major) = @$program{qw(random major)};
	my $what = $random->below(14);
	return (@options, $random->pick('unknown', 'Binary', 'proto_versions', 'origins'), 'true') if $what == 0;
	return (@options, @options[ 0, 1 ]) if $what == 1;
	return (@options, 'binary', $random->pick('maybe', '', '2')) if $what == 2;
	return (@options, 'streaming', $random->pick('sometimes', 'PARALLEL', 'parallel', '')) if $what == 3;
	return (@options, 'two_phase', $random->pick('x', 'true')) if $what == 4;
	return (@options, 'messages', $random->pick('x', 'true')) if $what == 5;
	# pgoutput_ext offers origin on 15, too: no error there
	return (@options, 'origin', $random->pick('any', 'NONE', 'local', '')) if $what == 6 && $major >= 16;
	$options[1] = $random->pick('0', '-1', '5', '99', 'x', '4294967297', '1.5', ' 1', '1 ') if $what == 7;    # an empty one: sql/options
	$options[3] = $random->pick('', ',', '"p1', 'p1,,p2', ' p1 , p2 ', 'P1', '""', 'p1,"', "p1\tp2") if $what == 8;
	splice @options, 0, 2 if $what == 9;
	splice @options, 2, 2 if $what == 10;
	return @options[ 0 .. 3 ] if $what == 11;
	return () if $what == 12;
	$options[1] = 1 if $what == 13;
	return @options;
}

# Settings of the session that reads: what changes values' text, and how soon
# transactions are streamed.
sub settings
{
	my ($program) = @_;
	my ($random, $major) = @$program{qw(random major)};
	my @settings;
	push @settings, [ DateStyle => $random->pick('German, DMY', 'SQL, MDY', 'Postgres, DMY', 'ISO, YMD', 'SQL, DMY') ] if $random->chance(25);
	push @settings, [ IntervalStyle => $random->pick(qw(postgres_verbose sql_standard iso_8601)) ] if $random->chance(20);
	push @settings, [ TimeZone => $random->pick('America/New_York', 'Asia/Kolkata', 'Europe/Amsterdam', '-03:30', 'UTC') ] if $random->chance(25);
	push @settings, [ extra_float_digits => $random->pick(-15, -3, 0, 1, 3) ] if $random->chance(25);
	push @settings, [ bytea_output => 'escape' ] if $random->chance(20);
	push @settings, [ xmlbinary => 'hex' ] if $random->chance(10);
	push @settings, [ search_path => 'd1, d3' ] if $random->chance(15);
	push @settings, [ client_encoding => $random->pick('LATIN1', 'LATIN1', 'EUC_JP', 'SQL_ASCII', 'WIN1252', 'SJIS') ] if $random->chance(15);
	push @settings, [ logical_decoding_work_mem => $random->pick('64kB', '64kB', '128kB') ] if $random->chance(80);
	push @settings, [ debug_logical_replication_streaming => 'immediate' ] if $major >= 16 && $random->chance(45);
	push @settings, [ 'pgoutput_ext.max_tuple_plans' => $random->pick(1, 1, 2) ] if $random->chance(20);
	return \@settings;
}

# The set in one line.
sub text
{
	my ($set) = @_;
	my @options = @{ $set->{options} };
	my @texts;
	while (my ($name, $value) = splice @options, 0, 2)
	{
		push @texts, "$name=$value";
	}
	return join ' ', ($set->{two_phase_slot} ? '[two_phase slot]' : '[slot]'), @texts, map { "SET $_->[0]=$_->[1]" } @{ $set->{settings} };
}

1;
