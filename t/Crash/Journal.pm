# What a client of the kill test has written down: a file of records, each
# { kind, lsn, data }, in the order in which they were written:
#
#	O   a connection was opened; lsn: where it asked to start (0: where the slot is)
#	w   a message of the plugin came; lsn: its position
#	c   lsn is about to be confirmed
#
# A record stands in the file once the system call that wrote it has returned: no
# SIGKILL takes it back. One that was cut off ends the file, and the next client
# removes it; nothing behind it was confirmed.

package Crash::Journal;

use strict;
use warnings;

my $head = 1 + 8 + 4;

# Opens the file to append to it.
sub open
{
	my ($class, $path) = @_;
	my $self = bless { path => $path, written => 0, pending => '' }, $class;
	my $whole = 0;

	if (-e $path)
	{
		$whole = each_record(
			$path,
			sub {
				my ($kind, $lsn, $data) = @_;
				my $end = $kind eq 'w' ? end_of_transaction($data) : $kind eq 'c' ? $lsn : undef;
				$self->{written} = $end if defined $end && $end > $self->{written};
			});
	}
	CORE::open $self->{file}, '>>', $path or die "cannot open $path: $!\n";
	truncate $self->{file}, $whole or die "cannot truncate $path: $!\n";
	return $self;
}

# Everything up to here has been written down.
sub written { return $_[0]{written} }

# Adds a record, which is written by the next flush.
sub add
{
	my ($self, $kind, $lsn, $data) = @_;
	$self->{pending} .= pack 'a Q> N/a*', $kind, $lsn, $data // '';
	return;
}

sub flush
{
	my ($self) = @_;
	while (length $self->{pending})
	{
		my $n = syswrite $self->{file}, $self->{pending};
		defined $n or die "cannot write $self->{path}: $!\n";
		substr $self->{pending}, 0, $n, '';
	}
	return;
}

# Calls the function with each whole record; returns where the last of them ends.
sub each_record
{
	my ($path, $function) = @_;
	my ($buffer, $at) = ('', 0);

	CORE::open my $file, '<', $path or die "cannot read $path: $!\n";
	while (sysread $file, $buffer, 1 << 20, length $buffer)
	{
		my $pos = 0;
		while ($pos + $head <= length $buffer)
		{
			my ($kind, $lsn, $length) = unpack 'a Q> N', substr $buffer, $pos, $head;
			last if $pos + $head + $length > length $buffer;
			$function->($kind, $lsn, substr $buffer, $pos + $head, $length);
			$pos += $head + $length;
		}
		substr $buffer, 0, $pos, '';
		$at += $pos;
	}
	return $at;
}

# Where a transaction ends that this message ends (with Commit, Stream Commit,
# Prepare, Stream Prepare, Commit Prepared, Rollback Prepared); undef of others.
sub end_of_transaction
{
	my ($data) = @_;
	my $type = substr $data, 0, 1;

	return unpack 'x10 Q>', $data if $type =~ /^[CPpKr]$/;
	return unpack 'x14 Q>', $data if $type eq 'c';
	return;
}

1;
