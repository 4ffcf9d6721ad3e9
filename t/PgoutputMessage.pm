# Readable one-line descriptions of logical replication messages.
#
# Used by PgoutputExt.pm to show the first message in which two streams
# differ, and by the tests that assert what a stream holds.  This is a reader
# for people, not a checker: bytes that do not parse are shown in hex.

package PgoutputMessage;

use strict;
use warnings;

# A describer holds what must be remembered from message to message: whether
# the stream is inside Stream Start .. Stream Stop, where most messages carry
# a transaction id.
sub new
{
	my ($class) = @_;
	return bless { streaming => 0 }, $class;
}

# The message's type: its first byte.
sub type
{
	return substr($_[0], 0, 1);
}

# Returns the description of the message $data and moves the describer on.
sub describe
{
	my ($self, $data) = @_;
	my $type = type($data);
	my $text = eval { $self->_describe($data) };
	$text = "$type (unreadable) " . unpack('H*', $data) unless defined $text;
	$self->{streaming} = 1 if $type eq 'S';
	$self->{streaming} = 0 if $type eq 'E';
	return $text;
}

my %name = (
	B => 'BEGIN',
	C => 'COMMIT',
	O => 'ORIGIN',
	R => 'RELATION',
	Y => 'TYPE',
	I => 'INSERT',
	U => 'UPDATE',
	D => 'DELETE',
	T => 'TRUNCATE',
	M => 'MESSAGE',
	S => 'STREAM START',
	E => 'STREAM STOP',
	c => 'STREAM COMMIT',
	A => 'STREAM ABORT',
	b => 'BEGIN PREPARE',
	P => 'PREPARE',
	K => 'COMMIT PREPARED',
	r => 'ROLLBACK PREPARED',
	p => 'STREAM PREPARE');

# The message types of the protocol documentation, in its order; with a major
# version those that its pgoutput sends.
sub all_types
{
	my ($major) = @_;
	my @types = qw(B M C O R Y I U D T S E c A);
	push @types, qw(b P K r p) unless defined $major && $major < 15;
	return @types;
}

sub type_name
{
	return $name{ $_[0] } // "type $_[0]";
}

sub _describe
{
	my ($self, $data) = @_;
	my $in = { data => $data, pos => 1 };
	my $type = type($data);
	my $head = type_name($type);

	$head .= ' xid=' . _int32($in)
	  if $self->{streaming} && $type =~ /^[RYIUDTM]$/;

	my $body =
		$type eq 'B' ? join ' ', 'final=' . _lsn($in), 'time=' . _hex($in, 8), 'xid=' . _int32($in)
	  : $type eq 'C' ? _end_of_transaction($in)
	  : $type eq 'O' ? join ' ', _lsn($in), _string($in)
	  : $type eq 'R' ? _relation($in)
	  : $type eq 'Y' ? join ' ', 'oid=' . _int32($in), _string($in) . '.' . _string($in)
	  : $type =~ /[IUD]/ ? _row($in)
	  : $type eq 'T' ? _truncate($in)
	  : $type eq 'M' ? join ' ', 'flags=' . _int8($in), _lsn($in), 'prefix=' . _string($in), _counted($in)
	  : $type eq 'S' ? join ' ', 'xid=' . _int32($in), 'first=' . _int8($in)
	  : $type eq 'E' ? ''
	  : $type eq 'c' ? 'xid=' . _int32($in) . ' ' . _end_of_transaction($in)
	  : $type eq 'A' ? _stream_abort($in)
	  : $type eq 'b' ? _prepare($in)
	  : $type =~ /[PKp]/ ? 'flags=' . _int8($in) . ' ' . _prepare($in)
	  : $type eq 'r' ? join ' ', 'flags=' . _int8($in), 'prepare_end=' . _lsn($in),
	  'rollback_end=' . _lsn($in), 'prepare_time=' . _hex($in, 8), 'rollback_time=' . _hex($in, 8),
	  'xid=' . _int32($in), 'gid=' . _string($in)
	  : die 'unknown type';

	my $rest = substr($data, $in->{pos});
	$body .= ' rest=' . unpack('H*', $rest) if $rest ne '';
	return $body eq '' ? $head : "$head $body";
}

sub _end_of_transaction
{
	my ($in) = @_;
	return join ' ', 'flags=' . _int8($in), 'commit=' . _lsn($in), 'end=' . _lsn($in), 'time=' . _hex($in, 8);
}

sub _prepare
{
	my ($in) = @_;
	return join ' ', 'lsn=' . _lsn($in), 'end=' . _lsn($in), 'time=' . _hex($in, 8),
	  'xid=' . _int32($in), 'gid=' . _string($in);
}

sub _stream_abort
{
	my ($in) = @_;
	my $text = 'xid=' . _int32($in) . ' subxid=' . _int32($in);
	$text .= ' lsn=' . _lsn($in) . ' time=' . _hex($in, 8) if $in->{pos} < length $in->{data};
	return $text;
}

sub _relation
{
	my ($in) = @_;
	my $text = 'oid=' . _int32($in) . ' ' . _string($in) . '.' . _string($in);
	$text .= ' identity=' . _char($in);
	my @columns;
	for (1 .. _int16($in))
	{
		my $key = _int8($in) ? '*' : '';
		my $column = $key . _string($in);
		$column .= ' type=' . _int32($in);
		my $typmod = unpack 'l>', _bytes($in, 4);
		push @columns, "$column,$typmod";
	}
	return "$text (" . join('; ', @columns) . ')';
}

sub _truncate
{
	my ($in) = @_;
	my $count = _int32($in);
	my $flags = _int8($in);
	return "flags=$flags oids=" . join ',', map { _int32($in) } 1 .. $count;
}

sub _row
{
	my ($in) = @_;
	my $text = 'oid=' . _int32($in);
	while ($in->{pos} < length $in->{data})
	{
		my $kind = _char($in);
		die 'not a tuple' unless $kind =~ /[KON]/;
		$text .= " $kind:" . _tuple($in);
	}
	return $text;
}

sub _tuple
{
	my ($in) = @_;
	my @values;
	for (1 .. _int16($in))
	{
		my $kind = _char($in);
		push @values, $kind =~ /[nu]/ ? $kind : $kind eq 't' ? _counted($in) : "b:" . _hex($in, _int32($in));
	}
	return '(' . join(', ', @values) . ')';
}

# Value with a length word, shortened, with other than printable ASCII in hex.
sub _counted
{
	my ($in) = @_;
	my $value = _bytes($in, _int32($in));
	my $length = length $value;
	my $shown = $length > 60 ? substr($value, 0, 60) : $value;
	$shown =~ s/([^\x20-\x7e])/sprintf '\\x%02x', ord $1/ge;
	$shown .= "...[$length bytes]" if $length > 60;
	return "'$shown'";
}

sub _bytes
{
	my ($in, $length) = @_;
	die 'short message' if $in->{pos} + $length > length $in->{data};
	my $bytes = substr $in->{data}, $in->{pos}, $length;
	$in->{pos} += $length;
	return $bytes;
}

sub _string
{
	my ($in) = @_;
	my $end = index $in->{data}, "\0", $in->{pos};
	die 'string without end' if $end < 0;
	my $string = _bytes($in, $end - $in->{pos});
	$in->{pos}++;
	$string =~ s/([^\x20-\x7e])/sprintf '\\x%02x', ord $1/ge;
	return "\"$string\"";
}

sub _int8 { return unpack 'C', _bytes($_[0], 1) }
sub _int16 { return unpack 'n', _bytes($_[0], 2) }
sub _int32 { return unpack 'N', _bytes($_[0], 4) }
sub _char { return _bytes($_[0], 1) }
sub _hex { return unpack 'H*', _bytes($_[0], $_[1]) }
sub _lsn { return sprintf '%X/%X', unpack 'NN', _bytes($_[0], 8) }

1;
