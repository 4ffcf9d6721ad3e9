# A client of the replication protocol that decides itself when to read, when to
# answer and when to vanish, which pg_recvlogical does not.
#
#	my $client = ReplicationClient->new($node);
#	$client->start($slot, proto_version => 1, publication_names => 'p');
#	my $message = $client->next_message($seconds);
#
# A message is a hash: type (of the server's message: d c C E Z ...), and for
# CopyData: kind (w or k), bytes (all of it) and for w: lsn, end, time
# (microseconds since 2000), data (what the plugin wrote); for k: end, time,
# reply (is an answer wanted).  Trust authentication over a unix socket only.

package ReplicationClient;

use strict;
use warnings;

use IO::Select ();
use IO::Socket::UNIX ();
use Socket qw(SOCK_STREAM);
use Time::HiRes qw(time);

# New connection to the database "postgres" of a PostgreSQL::Test::Cluster, for
# replication.  Parameters: any setting of the startup packet.
sub new
{
	my ($class, $node, %params) = @_;
	my $path = sprintf '%s/.s.PGSQL.%d', $node->host, $node->port;
	my $socket = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => $path)
	  or die "cannot connect to $path: $!\n";
	my $self = bless { socket => $socket, buffer => '' }, $class;
	my %settings = (
		user => scalar(getpwuid($<)),
		database => 'postgres',
		replication => 'database',
		%params);
	my $packet = pack 'N (Z* Z*)* x', 196608, %settings;

	$self->_write(pack('N', 4 + length $packet) . $packet);
	while (my $message = $self->next_message(60))
	{
		die "server: $message->{error}\n" if $message->{type} eq 'E';
		$self->{pid} = unpack 'N', $message->{body} if $message->{type} eq 'K';
		return $self if $message->{type} eq 'Z';
	}
	die "connection not ready in time\n";
}

# PID of the walsender.
sub pid { return $_[0]{pid} }

# Runs one command and returns the rows of its result, each an array; dies
# with the server's message on an error.
sub query
{
	my ($self, $sql) = @_;
	my (@rows, $error);

	$self->_send('Q', "$sql\0");
	while (my $message = $self->next_message(60))
	{
		push @rows, _row($message->{body}) if $message->{type} eq 'D';
		$error = $message->{error} if $message->{type} eq 'E';
		if ($message->{type} eq 'Z')
		{
			die "$error\n" if defined $error;
			return @rows;
		}
	}
	die "no answer in time to: $sql\n";
}

# Starts to stream from a slot, with the plugin's options, from where it is.
sub start
{
	my ($self, $slot, %options) = @_;

	return $self->start_at(0, $slot, %options);
}

# The same, but not with what was committed before a position (an integer).
sub start_at
{
	my ($self, $lsn, $slot, %options) = @_;
	my $list = join ', ', map { "\"$_\" '$options{$_}'" } sort keys %options;
	my $position = sprintf '%X/%X', $lsn >> 32, $lsn & 0xffffffff;

	$self->_send('Q', "START_REPLICATION SLOT \"$slot\" LOGICAL $position ($list)\0");
	my $message = $self->next_message(60) or die "no answer in time\n";
	die "server: $message->{error}\n" if $message->{type} eq 'E';
	die "unexpected message $message->{type}\n" if $message->{type} ne 'W';
	return;
}

# The next message, or undef when none came in so many seconds or the
# connection was closed (then $client->{closed} is true).
sub next_message
{
	my ($self, $seconds) = @_;
	my $until = time + $seconds;

	for (;;)
	{
		if (length $self->{buffer} >= 5)
		{
			my $length = unpack 'x N', $self->{buffer};
			return _message(substr $self->{buffer}, 0, 1 + $length, '')
			  if length $self->{buffer} > $length;
		}
		my $left = $until - time;
		$! = 0;
		if (!IO::Select->new($self->{socket})->can_read($left > 0 ? $left : 0))
		{
			next if $!{EINTR};    # a child of the test ended
			return;
		}
		my $read = sysread $self->{socket}, $self->{buffer}, 1 << 18, length $self->{buffer};
		if (!$read)
		{
			next if !defined $read && $!{EINTR};
			$self->{closed} = 1;
			return;
		}
	}
}

# What the plugin wrote, message after message up to the one that the given
# function says is the last; keepalives are answered if they ask for it and
# left out.  Dies when nothing comes for a minute.
sub read_until
{
	my ($self, $is_last) = @_;
	my @messages;

	for (;;)
	{
		my $message = $self->next_message(60) or die "nothing came in time\n";
		die "server: $message->{error}\n" if $message->{type} eq 'E';
		die "unexpected message $message->{type}\n" if $message->{type} ne 'd';
		$self->reply(0) if $message->{kind} eq 'k' && $message->{reply};
		next if $message->{kind} ne 'w';
		push @messages, $message;
		return @messages if $is_last->($message);
	}
}

# Tells the server how far everything was received and flushed (an integer).
sub reply
{
	my ($self, $lsn) = @_;

	$self->_send('d', pack 'a Q> Q> Q> Q> C', 'r', $lsn, $lsn, $lsn, 0, 0);
	return;
}

# Ends streaming in order.
sub stop
{
	my ($self) = @_;

	$self->_send('c', '');
	while (my $message = $self->next_message(60))
	{
		return if $message->{type} eq 'Z';
	}
	die "streaming did not end in time\n";
}

sub close
{
	my ($self) = @_;

	CORE::close $self->{socket};
	return;
}

sub _send
{
	my ($self, $type, $body) = @_;

	return $self->_write($type . pack('N', 4 + length $body) . $body);
}

sub _write
{
	my ($self, $bytes) = @_;

	syswrite($self->{socket}, $bytes) == length $bytes or die "cannot write: $!\n";
	return;
}

sub _message
{
	my ($bytes) = @_;
	my $message = { type => substr($bytes, 0, 1), body => substr($bytes, 5) };

	if ($message->{type} eq 'd')
	{
		$message->{kind} = substr $message->{body}, 0, 1;
		if ($message->{kind} eq 'w')
		{
			@{$message}{qw(lsn end time data)} = unpack 'x Q> Q> q> a*', $message->{body};
		}
		else
		{
			@{$message}{qw(end time reply)} = unpack 'x Q> q> C', $message->{body};
		}
	}
	elsif ($message->{type} eq 'E')
	{
		my %fields = map { substr($_, 0, 1) => substr($_, 1) } grep { length } split /\0/,
		  $message->{body};
		$message->{error} = "$fields{C} $fields{M}";
	}
	return $message;
}

sub _row
{
	my ($body) = @_;
	my $count = unpack 'n', substr $body, 0, 2, '';
	my @row;

	foreach (1 .. $count)
	{
		my $length = unpack 'l>', substr $body, 0, 4, '';
		push @row, $length < 0 ? undef : substr $body, 0, $length, '';
	}
	return \@row;
}

1;
