# Reads a stream of messages as what it means: committed transactions, each with
# the changes that are left of it, and applies them to tables in memory. For the
# tests of options, which compare what streams mean.
#
#	my $stream = OptionStream->read(map { $_->[2] } @{ read_slot(...)->{rows} });
#	$stream->{transactions}    in the order in which they were committed
#	$stream->{messages}        their raw types, for those who count
#	my $tables = $stream->apply;
#
# A transaction is { origin, items }; streamed and prepared ones look like all
# others, without what was rolled back of them. A Message that is not
# transactional is a transaction of its own with alone => 1. An item is
#	{ type => I U D, relation, old, new, key }      old and new: column => value
#	{ type => T, relations => [...], cascade, restart }
#	{ type => M, prefix, content }
# A value is text, undef for null, or a reference: \'u' where it is unchanged and
# not sent, \['b', bytes] for one in binary. Dies of any message that does not
# parse, is not allowed where it stands, or names a relation not announced.

package OptionStream;

use strict;
use warnings;

sub new
{
	my ($class) = @_;
	return bless {
		transactions => [],
		messages => [],
		relations => {},       # announced to everyone
		frames => 0,           # Messages of ours
		unchanged => 0,        # new rows with unchanged values, also rolled back
		streamed => {},        # by xid: { items, relations }
		prepared => {},        # by gid
	}, $class;
}

sub read
{
	my ($class, @data) = @_;
	my $self = $class->new;

	$self->_message(\$_) foreach @data;
	die "the stream ends inside a transaction\n" if $self->{open} || $self->{in_stream};
	return $self;
}

# ---- fields -----------------------------------------------------------------

sub _take
{
	my ($in, $template, $length) = @_;
	die "short message\n" if length($$in) < $length;
	return unpack $template, substr $$in, 0, $length, '';
}

sub _string
{
	my ($in) = @_;
	my $end = index $$in, "\0";
	die "string without end\n" if $end < 0;
	my $string = substr $$in, 0, $end + 1, '';
	chop $string;
	return $string;
}

sub _int32 { return _take($_[0], 'N', 4) }
sub _int16 { return _take($_[0], 'n', 2) }
sub _int8 { return _take($_[0], 'C', 1) }
sub _char { return _take($_[0], 'a', 1) }

# ---- messages ---------------------------------------------------------------

# Methods, by name: a class on top of this one has some of its own.
my %actions = (
	B => '_begin', C => '_commit', O => '_origin', R => '_relation', Y => '_type',
	I => '_row', U => '_row', D => '_row', T => '_truncate', M => '_logical_message',
	S => '_stream_start', E => '_stream_stop', c => '_stream_commit', A => '_stream_abort',
	b => '_begin_prepare', P => '_prepare', K => '_commit_prepared',
	r => '_rollback_prepared', p => '_stream_prepare');

sub _message
{
	my ($self, $data) = @_;
	my $rest = $$data;
	my $type = _char(\$rest);
	my $action = $actions{$type} or die "unknown message $type\n";

	push @{ $self->{messages} }, $type;
	my $xid = $self->{in_stream} && $type =~ /^[RYIUDTM]$/ ? _int32(\$rest) : undef;
	$self->$action(\$rest, $type, $xid);
	die "message $type is too long\n" if $rest ne '';
	return;
}

sub _begin
{
	my ($self, $in) = @_;
	die "Begin inside a transaction\n" if $self->{open} || $self->{in_stream};
	_take($in, 'a*', 16);
	$self->{open} = { items => [], xid => _int32($in) };
	return;
}

sub _end
{
	my ($self, $in) = @_;
	die "flags are not zero\n" if _int8($in);
	_take($in, 'a*', 24);
	return;
}

sub _commit
{
	my ($self, $in) = @_;
	_end($self, $in);
	my $transaction = delete $self->{open} or die "Commit outside a transaction\n";
	die "Commit of a prepared transaction\n" if defined $transaction->{gid};
	push @{ $self->{transactions} }, $transaction;
	return;
}

sub _origin
{
	my ($self, $in) = @_;
	my $transaction = $self->_current or die "Origin outside a transaction\n";
	die "Origin behind a change\n" if @{ $transaction->{items} };
	_take($in, 'a*', 8);
	$transaction->{origin} = _string($in);
	return;
}

sub _current
{
	my ($self) = @_;
	return $self->{in_stream} ? $self->{streamed}{ $self->{in_stream} } : $self->{open};
}

sub _relation
{
	my ($self, $in, $type, $xid) = @_;
	my $transaction = $self->_current or die "Relation outside a transaction\n";
	my $oid = _int32($in);
	my $name = _string($in) . '.' . _string($in);
	my $relation = { name => $name, identity => _char($in), columns => [] };
	foreach (1 .. _int16($in))
	{
		my $key = _int8($in);
		my $column = _string($in);
		my $type_oid = _int32($in);
		_take($in, 'a*', 4);
		push @{ $relation->{columns} }, { name => $column, key => $key, type => $type_oid };
	}
	my $known = $self->{in_stream} ? $transaction->{relations} : $self->{relations};
	$known->{$oid} = $relation;
	return;
}

sub _type
{
	my ($self, $in) = @_;
	$self->_current or die "Type outside a transaction\n";
	_int32($in);
	_string($in);
	_string($in);
	return;
}

sub _announced
{
	my ($self, $oid) = @_;
	my $transaction = $self->_current or die "change outside a transaction\n";
	my $relation = $self->{in_stream} && $transaction->{relations}{$oid} || $self->{relations}{$oid};
	die "relation $oid was not announced\n" unless $relation;
	return $relation;
}

sub _tuple
{
	my ($in, $relation) = @_;
	my $count = _int16($in);
	my @columns = @{ $relation->{columns} };
	die "$count values for $relation->{name}\n" if $count != @columns;
	my %row;
	foreach my $column (@columns)
	{
		my $kind = _char($in);
		$row{ $column->{name} } =
			$kind eq 'n' ? undef
		  : $kind eq 'u' ? \'u'
		  : $kind eq 't' ? do { my $n = _int32($in); _take($in, 'a*', $n) }
		  : $kind eq 'b' ? do { my $n = _int32($in); \[ 'b', _take($in, 'a*', $n) ] }
		  : die "value of kind $kind\n";
	}
	return \%row;
}

sub _row
{
	my ($self, $in, $type, $xid) = @_;
	my $relation = $self->_announced(_int32($in));
	my $item = {
		type => $type,
		xid => $xid,
		relation => $relation->{name},
		key => [ map { $_->{name} } grep { $_->{key} } @{ $relation->{columns} } ],
		types => { map { $_->{name} => $_->{type} } @{ $relation->{columns} } } };
	my $kind = _char($in);
	if ($kind eq 'K' || $kind eq 'O')
	{
		die "Insert with an old row\n" if $type eq 'I';
		die "old row of kind $kind under identity $relation->{identity}\n"
		  if ($kind eq 'O') != ($relation->{identity} eq 'f');
		$item->{old} = _tuple($in, $relation);
		$item->{whole} = $kind eq 'O';
		if ($kind eq 'K')
		{
			# what is no part of the key is null, whatever the row has
			my %key = map { $_ => 1 } @{ $item->{key} };
			foreach (grep { !$key{$_} } keys %{ $item->{old} })
			{
				die "a key with more than a key\n" if defined $item->{old}{$_};
				delete $item->{old}{$_};
			}
		}
		$kind = $type eq 'D' ? '' : _char($in);
	}
	if ($type eq 'D')
	{
		die "Delete without an old row\n" unless $item->{old};
	}
	else
	{
		die "no new row\n" if $kind ne 'N';
		$item->{new} = _tuple($in, $relation);
		$self->{unchanged}++ if grep { ref $_ eq 'SCALAR' } values %{ $item->{new} };
	}
	push @{ $self->_current->{items} }, $item;
	return;
}

sub _truncate
{
	my ($self, $in, $type, $xid) = @_;
	my $count = _int32($in);
	my $flags = _int8($in);
	die "odd options $flags\n" if $flags > 3;
	push @{ $self->_current->{items} },
	  {
		type => 'T',
		xid => $xid,
		relations => [ map { $self->_announced(_int32($in))->{name} } 1 .. $count ],
		cascade => $flags & 1,
		restart => $flags >> 1 };
	return;
}

sub _logical_message
{
	my ($self, $in, $type, $xid) = @_;
	my $flags = _int8($in);
	die "odd flags $flags\n" if $flags > 1;
	_take($in, 'a*', 8);
	my $prefix = _string($in);
	my $length = _int32($in);
	my $item = { type => 'M', xid => $xid, prefix => $prefix, content => _take($in, 'a*', $length) };
	if ($prefix =~ /^pgoutput_ext\./)
	{
		$self->{frames}++;
		die "$prefix outside a transaction\n" unless $flags && $self->_current;
	}
	elsif ($flags)
	{
		my $transaction = $self->_current or die "Message outside a transaction\n";
		push @{ $transaction->{items} }, $item;
	}
	else
	{
		push @{ $self->{transactions} }, { alone => 1, items => [$item] };
	}
	return;
}

sub _stream_start
{
	my ($self, $in) = @_;
	die "Stream Start inside a transaction\n" if $self->{open} || $self->{in_stream};
	my $xid = _int32($in);
	my $first = _int8($in);
	die "Stream Start of $xid is not the first\n" if !$first != !!$self->{streamed}{$xid};
	$self->{streamed}{$xid} ||= { items => [], relations => {}, xid => $xid };
	$self->{in_stream} = $xid;
	return;
}

sub _stream_stop
{
	my ($self) = @_;
	delete $self->{in_stream} or die "Stream Stop without a start\n";
	return;
}

sub _streamed
{
	my ($self, $xid) = @_;
	die "inside a stream\n" if $self->{in_stream};
	return delete $self->{streamed}{$xid} || die "transaction $xid was not streamed\n";
}

sub _stream_commit
{
	my ($self, $in) = @_;
	my $transaction = $self->_streamed(_int32($in));
	_end($self, $in);
	%{ $self->{relations} } = (%{ $self->{relations} }, %{ $transaction->{relations} });
	push @{ $self->{transactions} }, $transaction;
	return;
}

sub _stream_abort
{
	my ($self, $in) = @_;
	my ($xid, $subxid) = (_int32($in), _int32($in));
	_take($in, 'a*', 16) if $$in ne '';
	# From 18 on the server says so of parts of transactions that it never began
	# to stream.
	return if $xid != $subxid && !$self->{streamed}{$xid};
	my $transaction = $self->_streamed($xid);
	return if $xid == $subxid;
	@{ $transaction->{items} } = grep { $_->{xid} != $subxid } @{ $transaction->{items} };
	$transaction->{relations} = {};
	$self->{streamed}{$xid} = $transaction;
	return;
}

sub _prepare_fields
{
	my ($in) = @_;
	_take($in, 'a*', 24);
	return (_int32($in), _string($in));
}

sub _begin_prepare
{
	my ($self, $in) = @_;
	die "Begin Prepare inside a transaction\n" if $self->{open} || $self->{in_stream};
	my ($xid, $gid) = _prepare_fields($in);
	$self->{open} = { items => [], xid => $xid, gid => $gid };
	return;
}

sub _prepare
{
	my ($self, $in) = @_;
	my $transaction = delete $self->{open} or die "Prepare outside a transaction\n";
	_int8($in);
	my ($xid, $gid) = _prepare_fields($in);
	die "Prepare of $gid\n" if $transaction->{gid} ne $gid || $transaction->{xid} != $xid;
	$self->{prepared}{$gid} = $transaction;
	return;
}

sub _stream_prepare
{
	my ($self, $in) = @_;
	_int8($in);
	my ($xid, $gid) = _prepare_fields($in);
	my $transaction = $self->{prepared}{$gid} = $self->_streamed($xid);
	%{ $self->{relations} } = (%{ $self->{relations} }, %{ $transaction->{relations} });
	return;
}

sub _commit_prepared
{
	my ($self, $in) = @_;
	_int8($in);
	my ($xid, $gid) = _prepare_fields($in);
	push @{ $self->{transactions} }, delete $self->{prepared}{$gid} || die "$gid was not prepared\n";
	return;
}

sub _rollback_prepared
{
	my ($self, $in) = @_;
	_int8($in);
	_take($in, 'a*', 32);
	_int32($in);
	delete $self->{prepared}{ _string($in) };
	return;
}

# ---- meaning ----------------------------------------------------------------

# The committed transactions as text, one line per item: what two streams are
# compared by. Transactions without items are left out, but with empty => 1;
# with origin => 0 nothing is said of origins.
sub lines
{
	my ($self, %params) = @_;
	return transaction_lines($self->{transactions}, %params);
}

sub transaction_lines
{
	my ($transactions, %params) = @_;
	my @lines;
	foreach my $transaction (@$transactions)
	{
		next unless @{ $transaction->{items} } || $params{empty};
		push @lines, $transaction->{alone} ? 'alone' : 'transaction' . ($params{origin} // 1 ? ' of ' . ($transaction->{origin} // 'here') : '');
		push @lines, map { item_line($_) } @{ $transaction->{items} };
	}
	return @lines;
}

sub item_line
{
	my ($item) = @_;
	return "  T @{ $item->{relations} } $item->{cascade} $item->{restart}" if $item->{type} eq 'T';
	return "  M $item->{prefix} " . unpack 'H*', $item->{content} if $item->{type} eq 'M';
	return "  $item->{type} $item->{relation}" . join '', map { " $_ " . row_line($item->{$_}) } grep { $item->{$_} } qw(old new);
}

sub row_line
{
	my ($row) = @_;
	return '(' . join(', ', map { "$_=" . value_text($row->{$_}) } sort keys %$row) . ')';
}

sub value_text
{
	my ($value) = @_;
	return 'null' unless defined $value;
	return 'binary ' . unpack 'H*', $$value->[1] if ref $value eq 'REF';
	return 'unchanged' if ref $value;
	return length $value > 60 ? substr($value, 0, 8) . '...' . length($value) . '...' . unpack('%32C*', $value) : "'$value'";
}

# Applies the changes to tables in memory and returns them:
# { relation => { key => row } }. Dies of a change that finds no row.
sub apply
{
	my ($self) = @_;
	my %tables;
	foreach my $item (map { @{ $_->{items} } } @{ $self->{transactions} })
	{
		my $type = $item->{type};
		if ($type eq 'T')
		{
			delete $tables{$_} foreach @{ $item->{relations} };
		}
		elsif ($type ne 'M')
		{
			_apply_row($tables{ $item->{relation} } ||= {}, $item);
		}
	}
	return \%tables;
}

sub _apply_row
{
	my ($table, $item) = @_;
	my @key = @{ $item->{key} };
	my $before = {};

	die "relation $item->{relation} has no key\n" unless @key;
	if ($item->{type} ne 'I')
	{
		my $row = $item->{old} || $item->{new};
		my $key = join ' ', map { "$_=" . value_text($row->{$_}) } @key;
		$before = delete $table->{$key} or die item_line($item), ": no row with $key\n";
	}
	if ($item->{type} ne 'D')
	{
		my %row = map {
			my $value = $item->{new}{$_};
			die item_line($item), ": $_ is unknown\n" if ref $value eq 'SCALAR' && !exists $before->{$_};
			$_ => ref $value eq 'SCALAR' ? $before->{$_} : $value
		} keys %{ $item->{new} };
		my $key = join ' ', map { "$_=" . value_text($row{$_}) } @key;
		die item_line($item), ": a row with $key is there\n" if $table->{$key};
		$table->{$key} = \%row;
	}
	return;
}

1;
