# Seeded pseudo random numbers (xorshift, 32 bits): the same sequence for a
# seed on every perl, so that a program can be made again from its seed.

package Differential::Random;

use strict;
use warnings;

sub new
{
	my ($class, $seed) = @_;
	my $state = (($seed + 1) * 2654435761) & 0xffffffff;
	my $self = bless { state => $state || 1 }, $class;
	$self->below(2) for 1 .. 8;    # neighbouring seeds start alike
	return $self;
}

# Integer from 0 to $n - 1.
sub below
{
	my ($self, $n) = @_;
	my $x = $self->{state};
	$x ^= ($x << 13) & 0xffffffff;
	$x ^= $x >> 17;
	$x ^= ($x << 5) & 0xffffffff;
	$self->{state} = $x;
	return ($x >> 3) % $n;
}

# Integer from $low to $high.
sub between
{
	my ($self, $low, $high) = @_;
	return $low + $self->below($high - $low + 1);
}

# True in $percent of 100 calls.
sub chance
{
	my ($self, $percent) = @_;
	return $self->below(100) < $percent;
}

# One of the arguments.
sub pick
{
	my ($self, @list) = @_;
	return $list[ $self->below(scalar @list) ];
}

# $n of the arguments (all, when there are fewer), in random order.
sub sample
{
	my ($self, $n, @list) = @_;
	my @picked;
	while (@list && @picked < $n)
	{
		push @picked, splice @list, $self->below(scalar @list), 1;
	}
	return @picked;
}

# Key of a hash of weights; keys are taken in sorted order.
sub weighted
{
	my ($self, $weights) = @_;
	my $total = 0;
	$total += $_ foreach values %$weights;
	my $left = $self->below($total);
	foreach my $key (sort keys %$weights)
	{
		return $key if ($left -= $weights->{$key}) < 0;
	}
	die 'weights changed';
}

1;
