# The reader against the messages of generated programs, those of the
# differential test: every message is parsed to its last byte and written again
# to the same bytes, and the rows that pgoutput_ext_peek shows hold what a second
# parser, written here, finds in them. The programs are those of the seeds
# PGOUTPUT_EXT_SEED (1) and the following ones, PGOUTPUT_EXT_READER_PROGRAMS (20)
# of them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use PgoutputMessage;
use Test::More;

# Reads what the differential test compares.
package ReaderCheck;

use parent -norequire, 'Differential';
use Differential;
use PgoutputExt;

sub compare_set
{
	my ($self, $set, %how) = @_;
	return $self->SUPER::compare_set($set, %how) if $how{get};
	# Left out, these have other values in the reader than in the server.
	foreach my $name (qw(proto_version publication_names))
	{
		return unless grep { $_ eq $name } @{ $set->{options} };
	}

	my $dbh = $self->{reader};
	my $pair = $self->{pairs}[ $set->{two_phase_slot} ];
	my $slot = $pair->{ours};
	$dbh->do("SELECT set_config(?, ?, false)", undef, @$_) foreach @{ $set->{settings} };
	my ($encoding) = $dbh->selectrow_array('SHOW client_encoding');
	my $read = read_slot($dbh, $slot, options => $set->{options});
	if (my $assertion = $read->{assertion})
	{
		my $explained = explained($dbh, $pair, $assertion, options => $set->{options});
		$self->reconnect;
		$dbh->do('RESET ALL');
		return $explained ? () : Differential::Options::text($set) . ": assertion failed: $assertion";
	}
	my ($shown, $error) = $self->peek($slot, $set);
	my @differences = $self->check_messages([ map { $_->[2] } @{ $read->{rows} } ], $shown, $encoding eq 'UTF8');
	# In another encoding the server's function may fail where peek does not.
	if ($encoding eq 'UTF8' && ($read->{error} ? $read->{error}{message_primary} : '') ne $error)
	{
		push @differences, "peek: $error instead of " . ($read->{error} ? $read->{error}{message_primary} : 'success');
	}
	$dbh->do('RESET ALL');
	return map { Differential::Options::text($set) . ": $_" } @differences;
}

# What pgoutput_ext_peek shows: a list of [message, relation, old, new], the
# last two as jsonb_each_text has them; and the error, if any.
sub peek
{
	my ($self, $slot, $set) = @_;
	my $dbh = $self->{reader};
	my $sql = 'SELECT message, relation,'
	  . join(',', map { "(SELECT string_agg(key || '=' || coalesce('t' || value, 'n'), E'\\n' ORDER BY key COLLATE \"C\") FROM jsonb_each_text($_))" } qw(old new))
	  . ', detail FROM reader.pgoutput_ext_peek(' . join(', ', $dbh->quote($slot), 'NULL', 'NULL', map { $dbh->quote($_) } @{ $set->{options} }) . ')';
	local $SIG{__WARN__} = sub { };
	local $dbh->{RaiseError} = 0;
	# The default of messages is another one than the server's.
	$sql =~ s/\)\z/, 'messages', 'false')/ unless grep { $_ eq 'messages' } @{ $set->{options} };
	my $rows = $dbh->selectall_arrayref($sql);
	return ([], $dbh->pg_error_field('pg_diag_message_primary') // $dbh->errstr) if $dbh->err;
	return ($rows, '');
}

# Parses every message in the server, writes it again, and compares the rows
# shown with what is in the bytes.
sub check_messages
{
	my ($self, $messages, $shown, $same_encoding) = @_;
	my $dbh = $self->{control};
	my (@streaming, $in_stream);
	foreach my $message (@$messages)
	{
		my $type = substr($message, 0, 1);
		push @streaming, $in_stream ? 't' : 'f';
		$in_stream = 1 if $type eq 'S';
		$in_stream = 0 if $type eq 'E';
		$self->{parsed}{$type}++;
	}
	my $array = '{' . join(',', map { '"\\\\x' . unpack('H*', $_) . '"' } @$messages) . '}';
	my @changed = @{ $dbh->selectcol_arrayref(
			'SELECT data FROM unnest(?::bytea[], ?::bool[]) m (data, streaming)
			WHERE reencode(data, streaming) <> data', undef, $array, '{' . join(',', @streaming) . '}') };
	my @differences = map { 'another message comes back than ' . unpack 'H*', $_ } @changed;
	return @differences unless $same_encoding;

	my @expected = expected_rows($messages);
	push @differences, @$shown . ' rows for ' . @expected . ' messages' if @$shown != @expected;
	for my $i (0 .. ($#$shown < $#expected ? $#$shown : $#expected))
	{
		my ($got, $want) = ($shown->[$i], $expected[$i]);
		my @got = map { $_ // '' } @$got[0 .. 3];
		my $difference = row_difference(\@got, $want);
		push @differences, 'message ' . unpack('H*', $messages->[$i]) . ": $difference" if defined $difference;
	}
	return @differences;
}

# Tells two rows apart. jsonb writes some values otherwise than the type does:
# those must be the same number, boolean or document.
sub row_difference
{
	my ($got, $want) = @_;
	return "message $got->[0] instead of $want->[0]" if uc $got->[0] ne $want->[0];
	return "relation $got->[1] instead of $want->[1]" if $got->[1] ne $want->[1];
	foreach my $n (2, 3)
	{
		my @columns = sort { $a->[0] cmp $b->[0] } @{ $want->[$n] };
		my $text = join "\n", map { "$_->[0]=$_->[1]" } @columns;
		return "$got->[$n]\n instead of $text" if $got->[$n] ne $text;
	}
	return;
}

# The rows, from the bytes: name, relation, and for old and new a list of
# [column, n or t and the value].
sub expected_rows
{
	my ($messages) = @_;
	my (%global, %own, $xid, %types, @rows);
	foreach my $message (@$messages)
	{
		my ($type, $rest) = unpack 'a a*', $message;
		my $row = [ PgoutputMessage::type_name($type), '', [], [] ];
		$rest = substr $rest, 4 if defined $xid && $type =~ /[RYIUDTM]/;
		if ($type eq 'S') { $xid = unpack 'N', $rest }
		elsif ($type eq 'E') { $xid = undef }
		elsif ($type eq 'c' || $type eq 'p')
		{
			my ($end) = $type eq 'c' ? unpack('N', $rest) : unpack('x25 N', $rest);
			%global = (%global, %{ delete $own{$end} || {} });
		}
		elsif ($type eq 'A')
		{
			my ($top, $sub) = unpack 'NN', $rest;
			delete $own{$top} if $top == $sub;
		}
		elsif ($type eq 'Y')
		{
			my ($oid, $namespace, $name) = unpack 'N Z* Z*', $rest;
			$types{$oid} = $namespace eq '' ? $name : '';
		}
		elsif ($type eq 'R')
		{
			my ($oid, $namespace, $name, undef, $count, $columns) = unpack 'N Z* Z* a n a*', $rest;
			my $relation = { name => join('.', map { quoted($_) } $namespace eq '' ? 'pg_catalog' : $namespace, $name) };
			while ($count-- > 0)
			{
				my ($flags, $column, $typid, undef, $more) = unpack 'C Z* N N a*', $columns;
				push @{ $relation->{columns} }, [ $column, $flags, $types{$typid} // $typid ];
				$columns = $more;
			}
			(defined $xid ? $own{$xid} : \%global)->{$oid} = $relation if !defined $xid || ($own{$xid} ||= {});
			$row->[1] = $relation->{name};
		}
		elsif ($type eq 'T')
		{
			my ($count, undef, @oids) = unpack 'N C N*', $rest;
			$row->[1] = join ', ', map { (defined $xid && $own{$xid}{$_} || $global{$_})->{name} } @oids;
		}
		elsif ($type =~ /[IUD]/)
		{
			my ($oid, $tuples) = unpack 'N a*', $rest;
			my $relation = defined $xid && $own{$xid}{$oid} || $global{$oid};
			$row->[1] = $relation->{name};
			while ($tuples ne '')
			{
				(my $marker, my $count, $tuples) = unpack 'a n a*', $tuples;
				my $columns = $row->[ $marker eq 'N' ? 3 : 2 ];
				foreach my $column (@{ $relation->{columns} || [] }[ 0 .. $count - 1 ])
				{
					(my $kind, $tuples) = unpack 'a a*', $tuples;
					(my $value, $tuples) = unpack 'N/a a*', $tuples if $kind =~ /[tb]/;
					push @$columns, [ $column->[0], 'n' ] if $kind eq 'n' && ($marker ne 'K' || $column->[1]);
					push @$columns, [ $column->[0], 't' . shown_value($column->[2], $value) ] if $kind eq 't';
					push @$columns, [ $column->[0], 't\\x' . unpack 'H*', $value ] if $kind eq 'b';
				}
			}
		}
		push @rows, $row;
	}
	return @rows;
}

sub quoted
{
	my ($name) = @_;
	return $name if $name =~ /^[a-z_][a-z0-9_]*$/ && $name !~ /^(?:select|table|order|user|group)$/;
	$name =~ s/"/""/g;
	return qq{"$name"};
}

# As text of jsonb: booleans in full, floats without an exponent.
sub shown_value
{
	my ($type, $value) = @_;
	return { t => 'true', f => 'false' }->{$value} // $value if $type =~ /^(?:16|bool)$/;
	if ($type =~ /^(?:700|701|float[48])$/ && $value =~ /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/)
	{
		my ($sign, $digits, $point) = ($1, $2 . ($3 // ''), length($2) + $4);
		return $sign . '0.' . '0' x -$point . $digits if $point <= 0;
		return $sign . $digits . '0' x ($point - length $digits) if $point >= length $digits;
		return $sign . substr($digits, 0, $point) . '.' . substr $digits, $point;
	}
	return $value;
}

package main;

need_test_module();

my $first = $ENV{PGOUTPUT_EXT_SEED} // 1;
my $programs = $ENV{PGOUTPUT_EXT_READER_PROGRAMS} // 20;
my $check = ReaderCheck->new;
$check->{control}->do($_) foreach 'CREATE SCHEMA reader', 'CREATE EXTENSION pgoutput_ext SCHEMA reader';
$check->{control}->do('CREATE EXTENSION pgoutput_ext_test');

my $failed = 0;
foreach my $seed ($first .. $first + $programs - 1)
{
	my @differences = eval { $check->run_seed($seed) };
	push @differences, "the program ended in an error: $@" if $@;
	next unless @differences;
	fail("program of seed $seed");
	diag substr $_, 0, 3000 foreach @differences[ 0 .. ($#differences < 4 ? $#differences : 4) ];
	last if ++$failed >= 3;
}
is($failed, 0, "the messages of $programs programs are read and written again");
diag 'messages read: ', join ' ', map { "$_=" . ($check->{parsed}{$_} // 0) } PgoutputMessage::all_types();
ok($check->{parsed}{$_}, 'the programs held a message ' . PgoutputMessage::type_name($_)) foreach qw(B C R Y I U D T M O S E c);
$check->stop;
done_testing();
