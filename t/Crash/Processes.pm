# Processes of the kill test: its own children, by name, and what it sees of a
# server's. CrashRun is built on this.

package Crash::Processes;

use strict;
use warnings;

use POSIX ();
use Time::HiRes qw(sleep time);

# Longest wait for anything, generous for a loaded machine.
my $patience = 180;

# The parent's number stands behind the name, which may hold anything.
sub children_of
{
	my ($parent) = @_;
	my @children;
	foreach my $path (glob '/proc/[0-9]*/stat')
	{
		open my $file, '<', $path or next;
		my $text = do { local $/; <$file> } // '';
		push @children, $path =~ /(\d+)/ if $text =~ /\) \S (\d+) [^)]*\z/ && $1 == $parent;
	}
	return @children;
}

# A process's state: Z of one that has ended, empty once nobody knows it.
sub state_of
{
	my ($pid) = @_;
	open my $file, '<', "/proc/$pid/stat" or return '';
	my $text = do { local $/; <$file> } // '';
	return $text =~ /\) (\S) [^)]*\z/ ? $1 : '';
}

# A child runs the function and ends at once: the server is not its own.
sub _fork
{
	my ($self, $name, $function) = @_;
	$self->{clients}++;
	my $pid = fork // die "cannot fork: $!\n";

	if (!$pid)
	{
		@SIG{qw(INT TERM)} = ('IGNORE', 'DEFAULT');
		my $ended = eval { $function->(); 1 };
		print STDERR "$name: $@" unless $ended;
		POSIX::_exit($ended ? 0 : 1);
	}
	$self->{children}{$name} = $pid;
	return;
}

sub _kill_child
{
	my ($self, $name) = @_;
	my $pid = delete $self->{children}{$name} or return;
	kill KILL => $pid;
	waitpid $pid, 0;
	return;
}

sub _wait_for_child
{
	my ($self, $name) = @_;
	my $pid = delete $self->{children}{$name};
	$self->_wait_until("$name to end", sub { waitpid($pid, POSIX::WNOHANG()) != 0 });
	die "$name ended with $?\n" if $?;
	return;
}

sub _end_children
{
	my ($self) = @_;
	$self->_kill_child($_) foreach keys %{ $self->{children} };
	return;
}

sub _wait_until
{
	my ($self, $what, $function) = @_;
	my $until = time + $patience;

	for (;;)
	{
		my $result = $function->();
		return $result if $result;
		die "waited too long for $what\n" if time > $until;
		sleep 0.03;
	}
}

1;
