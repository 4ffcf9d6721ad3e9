package Report;

# What bench/run measured, as tables (Markdown), as a file to keep (TSV) and as
# a picture (SVG).
#
# $results->{values}{workload}{mode}{peer}{metric} is one number per round.

use strict;
use warnings;
use List::Util qw(min max);
use Workloads;

my @order = qw(null pgoutput pgoutput_ext wal2json decoderbufs pglogical test_decoding);

sub save
{
	my ($results, $file) = @_;
	open my $f, '>', $file or die "$file: $!\n";
	print $f join("\t", 'meta', $_, $results->{meta}{$_}), "\n" for sort keys %{ $results->{meta} };
	print $f join("\t", 'note', $_), "\n" for @{ $results->{notes} };
	my $values = $results->{values};
	for my $w (sort keys %$values) {
	for my $mode (sort keys %{ $values->{$w} }) {
	for my $peer (sort keys %{ $values->{$w}{$mode} }) {
	for my $metric (sort keys %{ $values->{$w}{$mode}{$peer} }) {
		print $f join("\t", 'value', $w, $mode, $peer, $metric, @{ $values->{$w}{$mode}{$peer}{$metric} }), "\n";
	} } } }
	close $f or die "$file: $!\n";
}

sub load
{
	my ($results, $file) = @_;
	open my $f, '<', $file or die "$file: $!\n";
	while (my $line = <$f>)
	{
		chomp $line;
		my ($kind, @fields) = split /\t/, $line;
		if ($kind eq 'meta') { $results->{meta}{ $fields[0] } = $fields[1] }
		elsif ($kind eq 'note') { push @{ $results->{notes} }, $fields[0] }
		elsif ($kind eq 'value')
		{
			my ($w, $mode, $peer, $metric, @numbers) = @fields;
			$results->{values}{$w}{$mode}{$peer}{$metric} = \@numbers;
		}
		else { die "$file: \"$kind\" is unknown\n" }
	}
	close $f;
}

sub publish
{
	my ($results, $dir) = @_;
	my $text = tables($results);
	print $text;
	return unless defined $dir;
	mkdir $dir unless -d $dir;
	save($results, "$dir/results.tsv");
	write_file("$dir/results.md", $text);
	write_file("$dir/results.svg", picture($results));
}

sub write_file
{
	my ($file, $text) = @_;
	open my $f, '>', $file or die "$file: $!\n";
	print $f $text;
	close $f or die "$file: $!\n";
}

# The least of the rounds: what others take from a process only adds to it.
sub least
{
	my ($results, $w, $mode, $peer, $metric) = @_;
	my $numbers = $results->{values}{$w}{$mode}{$peer}{$metric} or return undef;
	return min @$numbers;
}

sub middle
{
	my ($results, $w, $mode, $peer, $metric) = @_;
	my $numbers = $results->{values}{$w}{$mode}{$peer}{$metric} or return undef;
	return (sort { $a <=> $b } @$numbers)[ int(@$numbers / 2) ];
}

# (t - null) / (pgoutput - null), in CPU (mode discard) or instructions (count); undef when the plugin's
# part is too small to be told from noise.
sub plugin_time
{
	my ($results, $w, $peer, $mode) = @_;
	my ($t, $null, $base) = map { least($results, $w, $mode, $_, 'cpu') } $peer, 'null', 'pgoutput';
	return undef unless defined $t && defined $null && defined $base;
	return undef if $base - $null < 0.02 * $base;
	return ($t - $null) / ($base - $null);
}

sub relative
{
	my ($results, $w, $mode, $peer) = @_;
	my ($t, $base) = map { least($results, $w, $mode, $_, 'cpu') } $peer, 'pgoutput';
	return defined $t && $base ? $t / $base : undef;
}

sub number { my ($n, $format) = @_; return defined $n ? sprintf($format || '%.2f', $n) : '-' }

sub peers_of
{
	my ($results) = @_;
	my %seen;
	for my $w (values %{ $results->{values} }) { for my $m (values %$w) { $seen{$_} = 1 for keys %$m } }
	return grep { $seen{$_} } @order;
}

sub workloads_of
{
	my ($results) = @_;
	return grep { $results->{values}{ $_->{name} } } Workloads::all();
}

# One table: a row per workload, a column per peer, by a function of both.
sub table
{
	my ($results, $title, $peers, $value, $goal, $first) = @_;
	my @head = ('workload', @$first ? $first->[0] : (), $goal ? ('to reach', 'reached') : (), @$peers);
	my $text = "### $title\n\n| " . join(' | ', @head) . " |\n|" . join('|', map { $_ ? '--:' : '---' } 0 .. $#head) . "|\n";
	for my $w (workloads_of($results))
	{
		my @cells = ($w->{title});
		push @cells, $first->[1]->($w) if @$first;
		if ($goal)
		{
			my $aim = $goal->($w);
			my $got = $value->($w->{name}, 'pgoutput_ext');
			push @cells, number($aim), !defined $got || !defined $aim ? '-' : $got <= $aim + 0.005 ? 'yes' : '**no**';
		}
		push @cells, map { number($value->($w->{name}, $_)) } @$peers;
		$text .= '| ' . join(' | ', @cells) . " |\n";
	}
	return "$text\n";
}

sub tables
{
	my ($results) = @_;
	my @peers = peers_of($results);
	my @others = grep { $_ ne 'null' && $_ ne 'pgoutput' } @peers;
	my ($major) = ($results->{meta}{server} // '') =~ /^(\d+)/;
	my $ms = sub { my ($w, $mode, $peer) = @_; my $t = least($results, $w, $mode, $peer, 'cpu'); defined $t ? $t / 1e6 : undef };
	my $has = sub { my ($mode) = @_; scalar grep { $_->{$mode} } values %{ $results->{values} } };

	my $text = "## Server $results->{meta}{server}, scale $results->{meta}{scale}, "
	  . "$results->{meta}{relations} relations, the least of $results->{meta}{rounds} rounds\n\n";
	my $goal = sub { $_[0]{decode} ? undef : $_[0]{target}[0] };
	my $total = sub { $_[0]{decode} ? $_[0]{decode}{ $major || 0 } // 1 : 1 };
	if ($has->('count'))
	{
		$text .= table($results, 'Plugin time in instructions: (t - null) / (pgoutput - null), messages discarded', \@others,
			sub { plugin_time($results, @_, 'count') }, $goal, []);
		$text .= table($results, 'Instructions relative to pgoutput, messages discarded', [ grep { $_ ne 'pgoutput' } @peers ],
			sub { relative($results, $_[0], 'count', $_[1]) }, $total,
			[ 'pgoutput, millions', sub { number($ms->($_[0]{name}, 'count', 'pgoutput'), '%.0f') } ]);
	}
	if ($has->('discard'))
	{
		$text .= table($results, 'Plugin time: (t - null) / (pgoutput - null), messages discarded', \@others,
			sub { plugin_time($results, @_, 'discard') }, $goal, []);
		$text .= table($results, 'CPU relative to pgoutput, messages discarded', [ grep { $_ ne 'pgoutput' } @peers ],
			sub { relative($results, $_[0], 'discard', $_[1]) },
			$total,
			[ 'pgoutput, ms', sub { number($ms->($_[0]{name}, 'discard', 'pgoutput'), '%.0f') } ]);
	}
	if ($has->('send'))
	{
		$text .= table($results, 'Walsender CPU relative to pgoutput, messages sent', [ grep { $_ ne 'pgoutput' } @peers ],
			sub { relative($results, $_[0], 'send', $_[1]) }, sub { $_[0]{target}[1] },
			[ 'pgoutput, ms', sub { number($ms->($_[0]{name}, 'send', 'pgoutput'), '%.0f') } ]);
	}
	my $memory = sub {
		my ($mode, $metric) = @_;
		return sub { my $n = middle($results, $_[0], $mode, $_[1], $metric); defined $n ? $n / 1024 : undef };
	};
	my %caption = (
		discard => [ 'memory', 'Memory that decoding grew by, kB, decoding context still open (memory contexts)' ],
		send => [ 'memory', 'Memory that the walsender grew by, kB (resident, anonymous)' ],
	);
	for my $mode (grep { $has->($_) } qw(discard send))
	{
		my ($metric, $title) = @{ $caption{$mode} };
		my $kb = $memory->($mode, $metric);
		$text .= table($results, $title, \@peers, sub { my $n = $kb->(@_); defined $n ? int($n + 0.5) : undef }, undef, [])
		  =~ s/\.00\b//gr;
	}
	$text .= "Notes\n\n" . join('', map { "- $_\n" } @{ $results->{notes} }) if @{ $results->{notes} };
	return $text;
}

my %colour = (
	pgoutput_ext => '#1f7a5c', wal2json => '#c2571a', decoderbufs => '#8a4fbf',
	pglogical => '#2f6fb7', test_decoding => '#888888',
);

# Two panels, plugin time and walsender CPU; pgoutput is the line at 1.
sub picture
{
	my ($results) = @_;
	my @workloads = workloads_of($results);
	my @others = grep { $_ ne 'null' && $_ ne 'pgoutput' && $_ ne 'pgoutput_ext' } peers_of($results);
	my ($left, $panel, $gap, $row, $top) = (230, 330, 50, 24, 92);
	my $limit = 2;
	my $width = $left + 2 * $panel + $gap + 30;
	my $height = $top + $row * @workloads + 48;
	my $svg = qq(<svg xmlns="http://www.w3.org/2000/svg" width="$width" height="$height" viewBox="0 0 $width $height" font-family="sans-serif" font-size="12">\n)
	  . qq(<rect width="$width" height="$height" fill="#ffffff"/>\n)
	  . text(16, 24, "CPU relative to pgoutput, PostgreSQL $results->{meta}{server} (less is better)", 'font-size="15" font-weight="bold"');
	my $x = 16;
	for my $peer ('pgoutput_ext', @others)
	{
		$svg .= $peer eq 'pgoutput_ext' ? qq(<rect x="$x" y="38" width="14" height="10" fill="$colour{$peer}"/>\n)
		  : sprintf(qq(<circle cx="%d" cy="43" r="4" fill="%s"/>\n), $x + 7, $colour{$peer});
		$svg .= text($x + 19, 47, $peer, '');
		$x += 40 + 7 * length $peer;
	}
	my $counted = grep { $_->{count} } values %{ $results->{values} };
	my @panels = (
		$counted ? [ 'the plugin alone, in instructions', sub { plugin_time($results, @_, 'count') } ]
		  : [ 'the plugin alone, messages discarded', sub { plugin_time($results, @_, 'discard') } ],
		[ 'the whole walsender, messages sent', sub { relative($results, $_[0], 'send', $_[1]) } ],
	);
	for my $p (0, 1)
	{
		my ($title, $value) = @{ $panels[$p] };
		my $x0 = $left + $p * ($panel + $gap);
		my $at = sub { $x0 + $panel * min($limit, max(0, $_[0])) / $limit };
		$svg .= text($x0, 70, $title, 'font-weight="bold"');
		for my $tick (0, 0.5, 1, 1.5, 2)
		{
			my $tx = $at->($tick);
			my ($stroke, $w) = $tick == 1 ? ('#222222', 1.5) : ('#dddddd', 1);
			$svg .= sprintf qq(<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="$stroke" stroke-width="$w"/>\n), $tx, $top - 8, $tx, $top + $row * @workloads;
			$svg .= text($tx, $top + $row * @workloads + 16, $tick == 1 ? '1 = pgoutput' : $tick == 2 ? '2 or more' : $tick, 'text-anchor="middle" fill="#555555"');
		}
		my $y = $top;
		for my $w (@workloads)
		{
			$svg .= text($left - 10, $y + 14, $w->{title}, 'text-anchor="end"') if $p == 0;
			my $v = $value->($w->{name}, 'pgoutput_ext');
			if (defined $v)
			{
				$svg .= sprintf qq(<rect x="%.1f" y="%d" width="%.1f" height="14" fill="$colour{pgoutput_ext}"/>\n), $x0, $y + 3, $at->($v) - $x0;
				$svg .= text($at->($v) + 4, $y + 14, sprintf('%.2f', $v), "fill=\"$colour{pgoutput_ext}\"");
			}
			for my $peer (@others)
			{
				my $o = $value->($w->{name}, $peer);
				$svg .= sprintf qq(<circle cx="%.1f" cy="%d" r="4" fill="$colour{$peer}" fill-opacity="0.8"/>\n), $at->($o), $y + 10 if defined $o;
			}
			$y += $row;
		}
	}
	return "$svg</svg>\n";
}

sub text
{
	my ($x, $y, $words, $attributes) = @_;
	$words =~ s/&/&amp;/g;
	$words =~ s/</&lt;/g;
	return sprintf qq(<text x="%.1f" y="%.1f" %s>%s</text>\n), $x, $y, $attributes, $words;
}

1;
