# Takes the pgoutput_ext.* Messages out of a stream, for the tests of metadata.
#
#	my @messages = parse_stream(map { $_->[2] } @{ read_slot(...)->{rows} });
#	is(outline(@messages), 'B M:transaction R M:relation I+ C');
#
# A message is a hash: type, and inside a streamed transaction xid; for a Message
# of ours also flags, lsn, frame (the prefix without pgoutput_ext.), raw (the
# content's bytes) and content (decoded; undef if it is not JSON in UTF-8).

package MetadataFrames;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP ();

our @EXPORT = qw(parse_stream outline frames_of);

sub parse_stream
{
	my $streaming = 0;
	return map {
		my $message = { type => substr $_, 0, 1 };
		my $rest = substr $_, 1;
		$streaming = 0 if $message->{type} eq 'E';
		($message->{xid}, $rest) = unpack 'N a*', $rest
		  if $message->{type} eq 'S' || $streaming && $message->{type} =~ /^[RYIUDTM]$/;
		$streaming = 1 if $message->{type} eq 'S';
		_parse_message($message, $rest) if $message->{type} eq 'M';
		$message;
	} @_;
}

sub _parse_message
{
	my ($message, $rest) = @_;
	my ($flags, $lsn, $prefix, $raw) = unpack 'C Q> Z* N/a*', $rest;

	return if $prefix !~ /^pgoutput_ext\.(.*)/s;
	@{$message}{qw(flags lsn frame raw)} = ($flags, $lsn, $1, $raw);
	$message->{content} = eval { JSON::PP->new->utf8->decode($raw) };
	return;
}

# The messages' types in one line, with the frames' names; repetitions of a row
# or of a frame become one with a plus.
sub outline
{
	my @words = map { $_->{frame} ? "M:$_->{frame}" : $_->{type} } @_;
	my @line;

	foreach my $word (@words)
	{
		if (@line && $word =~ /^(?:I|U|D|M:)/ && $line[-1] =~ /^\Q$word\E\+?$/)
		{
			$line[-1] = "$word+";
		}
		else
		{
			push @line, $word;
		}
	}
	return join ' ', @line;
}

# The contents of one kind of frame.
sub frames_of
{
	my ($frame, @messages) = @_;
	return map { $_->{content} } grep { ($_->{frame} // '') eq $frame } @messages;
}

1;
