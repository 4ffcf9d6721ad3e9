# Reads a journal of the kill test (Crash::Journal) as what it means, and says what
# is wrong with it.
#
#	my $check = Crash::Check->new($path);
#	$check->{problems}              texts
#	$check->{order}                 events, each once, in the order in which they came
#	$check->{tables}                rebuilt: { oid => { id => row } }
#	$check->compare($reference)     with one read without any kill
#
# An event is what a client receives as a whole: a commit, a prepare, a commit or
# rollback of a prepared transaction, a message outside of transactions. It is known
# again by its kind and its end, and what it means is its header and its changes: the
# bytes of each as they came, without the xid that a streamed one has, together with
# the Relation that they were to be read with. So neither streaming nor what was
# announced before makes a difference; all else does.

package Crash::Check;

use strict;
use warnings;

use Crash::Journal;
use Digest::MD5 qw(md5);
use OptionStream;

our @ISA = ('OptionStream');

sub new
{
	my ($class, $path) = @_;
	my $self = OptionStream::new($class);

	%$self = (
		%$self,
		problems => [],
		connections => [],
		events => {},
		order => [],
		tables => {},
		rolled_back => {},     # gids
		confirmed => 0,
		received => 0,         # events, repeated ones each time
		types => {},           # messages by type
	);
	Crash::Journal::each_record($path, sub { $self->_record(@_) });
	$self->_compare_receptions($_, $_->{prepared}) foreach grep { $_->{prepared} } @{ $self->{order} };
	return $self;
}

sub _problem
{
	my ($self, $text) = @_;
	push @{ $self->{problems} }, $text;
	return;
}

sub lsn_text { return sprintf '%X/%X', $_[0] >> 32, $_[0] & 0xffffffff }

sub event_text
{
	my ($event) = @_;
	return 'nothing' unless $event;
	return join ' ', $event->{key}, map { defined $event->{$_} ? "$_ $event->{$_}" : () } qw(xid gid changes);
}

# ---- records ----------------------------------------------------------------

sub _record
{
	my ($self, $kind, $lsn, $data) = @_;

	if ($kind eq 'O')
	{
		# What was under way is forgotten, and what was announced as well.
		delete @$self{qw(open in_stream)};
		@$self{qw(streamed relations)} = ({}, {});
		push @{ $self->{connections} }, { start => $lsn, confirmed => $self->{confirmed}, events => [] };
	}
	elsif ($kind eq 'c')
	{
		$self->{confirmed} = $lsn if $lsn > $self->{confirmed};
	}
	else
	{
		$self->{position} = $lsn;
		$self->{types}{ substr $data, 0, 1 }++;
		eval { $self->_message(\$data); 1 } or $self->_unreadable($@);
	}
	return;
}

# One is enough: what follows is not to be understood until the next connection.
sub _unreadable
{
	my ($self, $error) = @_;
	my $connection = $self->{connections}[-1];
	$self->_problem('connection ' . @{ $self->{connections} } . ': ' . $error =~ s/\n//r) unless $connection->{unreadable}++;
	delete @$self{qw(open in_stream)};
	return;
}

# ---- changes, as they came --------------------------------------------------

sub _relation
{
	my ($self, $in, @rest) = @_;
	my $raw = $$in;
	my $oid = unpack 'N', $raw;
	$self->OptionStream::_relation($in, @rest);
	@{ $self->_announced($oid) }{qw(oid raw)} = ($oid, $raw);
	return;
}

# A row is taken apart only when it is applied: most of what comes again need not be.
sub _row
{
	my ($self, $in, $type, $xid) = @_;
	my $relation = $self->_announced(unpack 'N', $$in);
	push @{ $self->_current->{items} },
	  {
		type => $type,
		xid => $xid,
		oid => $relation->{oid},
		relation => $relation,
		raw => $$in,
		digest => md5("$type$$in$relation->{raw}") };
	$$in = '';
	return;
}

# The row's change as OptionStream has it.
sub _parse_row
{
	my ($self, $item) = @_;
	local $self->{open} = { items => [] };
	local $self->{in_stream};
	local $self->{relations} = { $item->{oid} => $item->{relation} };
	my $raw = $item->{raw};
	$self->OptionStream::_row(\$raw, $item->{type});
	die "message $item->{type} is too long\n" if $raw ne '';
	return $self->{open}{items}[0];
}

sub _truncate
{
	my ($self, $in, $type, @rest) = @_;
	my $raw = $$in;
	my ($count, @oids) = unpack 'N x N*', $raw;
	$self->OptionStream::_truncate($in, $type, @rest);
	my $item = $self->_current->{items}[-1];
	$item->{oids} = \@oids;
	$item->{digest} = md5(join '', $type, $raw, map { $self->_announced($_)->{raw} } @oids);
	return;
}

sub _logical_message
{
	my ($self, $in, $type, @rest) = @_;
	my $raw = $$in;
	my $transactional = unpack 'C', $raw;
	$self->OptionStream::_logical_message($in, $type, @rest);
	if ($transactional)
	{
		$self->_current->{items}[-1]{digest} = md5("$type$raw");
		return;
	}
	my $transaction = pop @{ $self->{transactions} };
	$transaction->{items}[0]{digest} = md5("$type$raw");
	$self->_event(kind => 'message', lsn => $self->{position}, transaction => $transaction);
	return;
}

# ---- ends of transactions ---------------------------------------------------

sub _commit
{
	my ($self, $in, @rest) = @_;
	my %event = (kind => 'commit', header => $$in, end => unpack 'x9 Q>', $$in);
	$self->OptionStream::_commit($in, @rest);
	$self->_event(%event, transaction => pop @{ $self->{transactions} });
	return;
}

sub _stream_commit
{
	my ($self, $in, @rest) = @_;
	my %event = (kind => 'commit', header => substr($$in, 4), end => unpack 'x13 Q>', $$in);
	$self->OptionStream::_stream_commit($in, @rest);
	$self->_event(%event, streamed => 1, transaction => pop @{ $self->{transactions} });
	return;
}

sub _prepare
{
	my ($self, $in, $type, @rest) = @_;
	my $header = $$in;
	my ($end, $gid) = unpack 'x9 Q> x8 x4 Z*', $header;
	my $method = $type eq 'p' ? 'OptionStream::_stream_prepare' : 'OptionStream::_prepare';
	$self->$method($in, $type, @rest);
	$self->_event(
		kind => 'prepare',
		header => $header,
		end => $end,
		gid => $gid,
		streamed => $type eq 'p',
		transaction => $self->{prepared}{$gid});
	return;
}

sub _stream_prepare { goto &_prepare }

# It is not forgotten once it is committed: its end may come again, it itself not.
sub _commit_prepared
{
	my ($self, $in) = @_;
	my $header = $$in;
	my ($end, $xid, $gid) = unpack 'x9 Q> x8 N Z*', $header;
	OptionStream::_take($in, 'a*', length $header);
	my $prepared = $self->{prepared}{$gid};
	if (!$prepared || $prepared->{xid} != $xid)
	{
		$self->_problem("COMMIT PREPARED of $gid, xid $xid, which was not prepared");
	}
	$self->_event(kind => 'commit prepared', header => $header, end => $end, gid => $gid, xid => $xid);
	return;
}

sub _rollback_prepared
{
	my ($self, $in) = @_;
	my $header = $$in;
	my ($end, $xid, $gid) = unpack 'x9 Q> x16 N Z*', $header;
	OptionStream::_take($in, 'a*', length $header);
	$self->{rolled_back}{$gid} = 1;
	$self->_event(kind => 'rollback prepared', header => $header, end => $end, gid => $gid, xid => $xid);
	return;
}

# ---- events -----------------------------------------------------------------

sub _event
{
	my ($self, %event) = @_;
	my $transaction = delete $event{transaction};
	my $items = $transaction ? $transaction->{items} : [];
	my $header = md5(join "\0", $event{header} // '', $transaction ? ($transaction->{xid} // '', $transaction->{origin} // '') : ());
	my $digests = join '', map { $_->{digest} } @$items;

	$event{xid} //= $transaction->{xid} if $transaction;
	$event{changes} = @$items if $transaction;
	$event{key} = join ' ', $event{kind}, lsn_text($event{end} // $event{lsn});
	$self->{received}++;
	push @{ $self->{connections}[-1]{events} }, $event{key};
	$self->{streamed_events}++ if delete $event{streamed};

	# Of a prepared transaction that is rolled back in the end, a reader that comes
	# after the rollback gets a part. The server leaves out what is left of the
	# transaction, or of one of its subtransactions, where it notices.
	my $reception = { header => $header, $event{kind} eq 'prepare' ? (changes => $digests) : (digest => md5($digests)) };
	my $known = $self->{events}{ $event{key} };
	if (!$known)
	{
		$event{reception} = $reception;
		$self->{events}{ $event{key} } = \%event;
		push @{ $self->{order} }, \%event;
		$self->_apply($_) foreach $event{kind} eq 'commit' ? @$items : ();
		if ($event{kind} eq 'commit prepared' && (my $prepared = $self->{prepared}{ $event{gid} }))
		{
			$self->_apply($_) foreach @{ $prepared->{items} };
		}
	}
	elsif ($event{kind} eq 'prepare')
	{
		push @{ $known->{prepared} }, $reception;
	}
	else
	{
		$self->_same($known, $reception, 'comes twice, with a difference: ' . event_text(\%event));
	}
	return;
}

sub _same
{
	my ($self, $event, $other, $text) = @_;
	my $one = $event->{reception};
	my $same = $one->{header} eq $other->{header};

	if ($event->{kind} ne 'prepare')
	{
		$same &&= $one->{digest} eq $other->{digest};
	}
	elsif ($self->{rolled_back}{ $event->{gid} })
	{
		my ($short, $long) = sort { length $a <=> length $b } $one->{changes}, $other->{changes};
		$same &&= _is_part($short, $long);
		$self->{parts}++ if $short ne $long;
		$self->{gaps}++ if index($long, $short) != 0;
	}
	else
	{
		$same &&= $one->{changes} eq $other->{changes};
	}
	my $end = !defined $event->{gid} ? '' : $self->{rolled_back}{ $event->{gid} } ? ' (rolled back)' : ' (not rolled back)';
	$self->_problem(event_text($event) . "$end $text") unless $same;
	return $same;
}

# Are these digests among those, in the same order?
sub _is_part
{
	my ($short, $long) = @_;
	my @left = unpack '(a16)*', $short;
	foreach my $digest (unpack '(a16)*', $long)
	{
		shift @left if @left && $left[0] eq $digest;
	}
	return !@left;
}

sub _compare_receptions
{
	my ($self, $event, $receptions) = @_;
	$self->_same($event, $_, 'comes twice, with a difference') foreach @$receptions;
	return;
}

# ---- tables -----------------------------------------------------------------

# Applies a change to the rebuilt tables. All of them have a key "id".
sub _apply
{
	my ($self, $item) = @_;
	my $row = $item;
	my $error = eval {
		$row = $self->_parse_row($item) if $item->{raw};
		$self->_apply_item($item->{oid}, $row);
	};
	chomp($error = $@) if $@;
	$self->_problem("$error: " . ($item == $row && $item->{raw} ? unpack 'H*', $item->{raw} : OptionStream::item_line($row))) if $error;
	return;
}

sub _apply_item
{
	my ($self, $oid, $item) = @_;
	my $type = $item->{type};

	return if $type eq 'M';
	if ($type eq 'T')
	{
		$self->{tables}{$_} = {} foreach @{ $item->{oids} };
		return;
	}
	my $table = $self->{tables}{$oid} ||= {};
	my ($old, $new, $row) = (@$item{qw(old new)}, {});
	if ($type ne 'I')
	{
		$row = delete $table->{ ($old || $new)->{id} } or return 'no such row';
		foreach my $column ($old ? keys %$old : ())
		{
			return "the old row has another $column"
			  if ($old->{$column} // "\0") ne ($row->{$column} // "\0");
		}
	}
	if ($type ne 'D')
	{
		# unchanged values stay
		my %row = (%$row, map { ref $new->{$_} ? () : ($_ => $new->{$_}) } keys %$new);
		return 'the row is there' if $table->{ $row{id} };
		$table->{ $row{id} } = \%row;
	}
	return;
}

# ---- comparison -------------------------------------------------------------

# Compares with a journal that was read in one go: both have the same events in the
# same order, and each connection gave an unbroken part of them that starts where
# it had to.
sub compare
{
	my ($self, $reference) = @_;
	my $expected = $reference->{order};
	my %index = map { $expected->[$_]{key} => $_ } 0 .. $#$expected;
	my ($missing, $more) = (0, 0);

	$self->{rolled_back} = { %{ $reference->{rolled_back} }, %{ $self->{rolled_back} } };
	foreach my $event (@$expected)
	{
		my $got = $self->{events}{ $event->{key} };
		if (!$got)
		{
			$self->_problem('missing: ' . event_text($event)) if $missing++ < 10;
			next;
		}
		$self->_same($got, $event->{reception}, 'differs from the reference: ' . event_text($event));
	}
	foreach my $event (grep { !exists $index{ $_->{key} } } @{ $self->{order} })
	{
		$self->_problem('not in the reference: ' . event_text($event)) if $more++ < 10;
	}
	@$self{qw(missing more)} = ($missing, $more);
	$self->_compare_order($expected) unless $missing || $more;
	$self->_compare_connection($_, $expected, \%index) foreach 0 .. $#{ $self->{connections} };
	return;
}

sub _compare_order
{
	my ($self, $expected) = @_;
	foreach my $i (0 .. $#$expected)
	{
		next if $self->{order}[$i]{key} eq $expected->[$i]{key};
		$self->_problem('event ' . ($i + 1) . ' is ' . event_text($self->{order}[$i]) . ', in the reference ' . event_text($expected->[$i]));
		return;
	}
	return;
}

sub _compare_connection
{
	my ($self, $number, $expected, $index) = @_;
	my $connection = $self->{connections}[$number];
	my @at = map { $index->{$_} } grep { exists $index->{$_} } @{ $connection->{events} };
	my $name = 'connection ' . ($number + 1);

	return unless @at;
	foreach my $i (1 .. $#at)
	{
		next if $at[$i] == $at[ $i - 1 ] + 1;
		$self->_problem("$name: behind " . event_text($expected->[ $at[ $i - 1 ] ]) . ' comes ' . event_text($expected->[ $at[$i] ]));
		last;
	}

	# All that was not confirmed comes, and nothing that was not asked for.
	my $last = $at[0] ? $expected->[ $at[0] - 1 ] : undef;
	my ($from, $first) = ($connection->{start} || $connection->{confirmed}, $expected->[ $at[0] ]);
	$from = $connection->{confirmed} if $connection->{confirmed} > $from;
	$self->_problem("$name starts behind " . event_text($last) . ', but ' . lsn_text($from) . ' was confirmed')
	  if $last && _is_behind($last, $from);
	$self->_problem("$name starts with " . event_text($first) . ', but was to start at ' . lsn_text($connection->{start}))
	  if $connection->{start} && !_is_behind($first, $connection->{start});
	return;
}

sub _is_behind
{
	my ($event, $lsn) = @_;
	return $event->{end} ? $event->{end} > $lsn : $event->{lsn} >= $lsn;
}

1;
