# The client of the kill test: writes down what a slot gives and confirms now and
# then, only what it has written. It is a process that may be killed at any moment
# and be started again, and that connects again by itself when the server is gone.

package Crash::Client;

use strict;
use warnings;

use Crash::Journal;
use ReplicationClient;
use Time::HiRes qw(sleep time);

# Parameters: node, slot, options (array: the plugin's), journal (the path), errors
# (a file for what made it connect again), seed; broken, for tests of the test, makes
# it do what a client must not do:
#	drop     does not write every fifth transaction down
#	differ   writes another value when a transaction comes again
#	early    confirms what it has not written yet
sub new
{
	my ($class, %params) = @_;
	return bless { broken => '', %params }, $class;
}

# Runs until it is killed.
sub run
{
	my ($self) = @_;
	local $SIG{PIPE} = 'IGNORE';

	srand $self->{seed};
	for (;;)
	{
		$self->{journal_file} = Crash::Journal->open($self->{journal});
		eval { $self->_receive; 1 } or $self->_note($@);
		sleep 0.05;
	}
	return;
}

sub _note
{
	my ($self, $text) = @_;
	open my $file, '>>', $self->{errors} or return;
	print $file $text;
	close $file;
	return;
}

# One connection, to its end.
sub _receive
{
	my ($self) = @_;
	my $journal = $self->{journal_file};
	my $client = ReplicationClient->new($self->{node}, application_name => "crash client $self->{slot}");
	my $start = rand() < 0.3 ? $journal->written : 0;

	# position: how far everything came, and was handed to the journal
	@$self{qw(client confirmed open count again)} = ($client, 0, 0, 0, $journal->written);
	$self->{position} = $journal->written;
	$journal->add('O', $start);
	$journal->flush;
	$client->start_at($start, $self->{slot}, @{ $self->{options} });
	until ($client->{closed})
	{
		my $message = $client->next_message(0.2);
		if (!$message)
		{
			$self->_confirm if $self->{position} > $self->{confirmed};
			next;
		}
		die "server: $message->{error}\n" if $message->{type} eq 'E';
		next if $message->{type} ne 'd';
		$message->{kind} eq 'w' ? $self->_data($message) : $self->_keepalive($message);
	}
	$journal->flush;
	die "connection closed\n";
}

sub _data
{
	my ($self, $message) = @_;
	my $journal = $self->{journal_file};
	my $type = substr $message->{data}, 0, 1;
	my $end = Crash::Journal::end_of_transaction($message->{data});

	$self->{open} = 1 if $type =~ /^[BbS]$/;
	$self->{open} = 0 if $type =~ /^[CPE]$/;
	$self->_break($message, $type) if $self->{broken};
	$journal->add('w', @$message{qw(lsn data)}) unless $message->{dropped};
	if (defined $end)
	{
		$self->{position} = $end if $end > $self->{position};
		return $self->_confirm if rand() < 0.1 || $self->{broken} eq 'early';
	}
	# What came together is written together.
	return if $self->{broken} eq 'early' && length $journal->{pending} < 1 << 16;
	$journal->flush if !length $self->{client}{buffer} || length $journal->{pending} > 1 << 16;
	return;
}

# A keepalive outside of a transaction says that nothing came up to there.
sub _keepalive
{
	my ($self, $message) = @_;
	$self->{position} = $message->{end} if !$self->{open} && $message->{end} > $self->{position};
	$self->_confirm if $message->{reply} || rand() < 0.3;
	return;
}

# Confirms all that is complete, which is written by then.
sub _confirm
{
	my ($self) = @_;
	my $journal = $self->{journal_file};
	my $position = $self->{position};

	$journal->add('c', $position) if $position;
	$journal->flush unless $self->{broken} eq 'early';
	$self->{client}->reply($position);
	$self->{confirmed} = $position;
	return;
}

sub _break
{
	my ($self, $message, $type) = @_;

	if ($self->{broken} eq 'drop')
	{
		$self->{dropping} = 1 if $type eq 'B' && ++$self->{count} % 5 == 0;
		$message->{dropped} = $self->{dropping};
		$self->{dropping} = 0 if $type eq 'C';
	}
	elsif ($self->{broken} eq 'differ')
	{
		$self->{seen} = unpack('x Q>', $message->{data}) < $self->{again} if $type eq 'B';
		substr($message->{data}, -1) ^= "\1" if $type eq 'I' && $self->{seen};
	}
	return;
}

1;
