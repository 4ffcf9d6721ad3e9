# pgoutput_ext_traffic over generated programs, those of the differential test: each
# figure is that of a second count, made here from the bytes that the server's function
# gives. So there are streams that take turns, prepared and aborted ones. And slots that
# cannot be looked at. The programs are those of the seeds PGOUTPUT_EXT_SEED (1) and the
# following ones, PGOUTPUT_EXT_READER_PROGRAMS (20) of them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use Recipe;
use ReplicationClient;
use Test::More;

package TrafficCheck;

use parent -norequire, 'Differential';
use Differential;
use PgoutputExt;

my @figures = qw(inserts updates deletes truncates transactions messages bytes largest_message);

sub compare_set
{
	my ($self, $set, %how) = @_;
	return $self->SUPER::compare_set($set, %how) if $how{get};
	# Left out, these have other values in the reader than in the server.
	foreach my $name (qw(proto_version publication_names))
	{
		return unless grep { $_ eq $name } @{ $set->{options} };
	}
	# Names are shown in the client's encoding.
	return if grep { $_->[0] eq 'client_encoding' } @{ $set->{settings} };

	my $dbh = $self->{reader};
	my $pair = $self->{pairs}[ $set->{two_phase_slot} ];
	$dbh->do("SELECT set_config(?, ?, false)", undef, @$_) foreach @{ $set->{settings} };
	my $read = read_slot($dbh, $pair->{ours}, options => $set->{options});
	if (my $assertion = $read->{assertion})
	{
		my $explained = explained($dbh, $pair, $assertion, options => $set->{options});
		$self->reconnect;
		$dbh->do('RESET ALL');
		return $explained ? () : Differential::Options::text($set) . ": assertion failed: $assertion";
	}
	my ($shown, $error) = $self->traffic($pair->{ours}, $set->{options});
	$dbh->do('RESET ALL');
	my $expected = $read->{error} ? '' : $self->counted(map { $_->[2] } @{ $read->{rows} });
	my $expected_error = $read->{error} ? $read->{error}{message_primary} : '';
	return Differential::Options::text($set) . ": $error instead of $expected_error" if $error ne $expected_error;
	return $shown eq $expected ? () : Differential::Options::text($set) . ":\n$shown instead of\n$expected";
}

# What pgoutput_ext_traffic shows, a line for each row; and the error, if any.
sub traffic
{
	my ($self, $slot, $options) = @_;
	my $dbh = $self->{reader};
	my @options = @$options;
	# The default of messages is another one than the server's.
	push @options, messages => 'false' unless grep { $_ eq 'messages' } @options;
	my $sql = "SELECT kind, coalesce(schema_name, ''), coalesce(table_name, ''), coalesce(relation_oid, 0), " . join(', ', @figures) .
	  ' FROM reader.pgoutput_ext_traffic(' . join(', ', $dbh->quote($slot), 'NULL', 'NULL', map { $dbh->quote($_) } @options) . ')';
	local $SIG{__WARN__} = sub { };
	local $dbh->{RaiseError} = 0;
	my $rows = $dbh->selectall_arrayref($sql);
	return ('', $dbh->pg_error_field('pg_diag_message_primary') // $dbh->errstr) if $dbh->err;
	return (join('', sort map { "@$_\n" } @$rows), '');
}

# The same lines from the messages.
sub counted
{
	my ($self, @messages) = @_;
	my (%rows, %name, %seen, $stream, $last_stream, $transaction);
	my $begun = 0;
	foreach my $message (@messages)
	{
		my ($type, $rest) = unpack 'a a*', $message;
		$self->{parsed}{$type}++;
		$rest = substr $rest, 4 if defined $stream && $type =~ /[RYIUDTM]/;
		if ($type eq 'S') { $stream = unpack 'N', $rest }
		elsif ($type =~ /[Bb]/) { $transaction = 'begun ' . ++$begun }
		my $here = defined $stream ? "stream $stream" : $transaction;

		my @oids = $type =~ /[RIUD]/ ? unpack('N', $rest) : $type eq 'T' ? unpack('N x N*', substr $rest, 0, 5 + 4 * unpack 'N', $rest) : ();
		shift @oids if $type eq 'T';    # their number
		if ($type eq 'R')
		{
			my ($namespace, $relation) = unpack 'Z* Z*', substr $rest, 4;
			$name{ $oids[0] } = [ $namespace eq '' ? 'pg_catalog' : $namespace, $relation ];
		}
		my @keys = $type eq 'M' ? 'message' : @oids ? @oids : 'other';
		my %column = (I => 'inserts', U => 'updates', D => 'deletes', T => 'truncates');
		foreach my $key (@keys)
		{
			$rows{$key}{ $column{$type} }++ if $column{$type};
			my $counts = $type =~ /[IUDTBbS]/ || ($type eq 'M' && unpack('C', $rest) == 1);
			$rows{$key}{transactions}++ if $counts && !$seen{"$key $here"}++;
		}
		my $row = $rows{ $keys[0] } ||= {};
		$row->{messages}++;
		$row->{bytes} += length $message;
		$row->{largest_message} = length $message if length $message > ($row->{largest_message} // 0);
		# a stream that goes on after another one
		$self->{took_turns}++ if $type eq 'S' && $last_stream && $last_stream != $stream && !unpack 'x4 C', $rest;
		$last_stream = $stream if $type eq 'S';
		$stream = undef if $type eq 'E';
	}
	return join '', sort map {
		my $key = $_;
		join(' ', $key =~ /^\d/ ? ('table', @{ $name{$key} }, $key) : ($key, '', '', 0), map { $rows{$key}{$_} // 0 } @figures) . "\n"
	} keys %rows;
}

package main;

my $first = $ENV{PGOUTPUT_EXT_SEED} // 1;
my $programs = $ENV{PGOUTPUT_EXT_READER_PROGRAMS} // 20;
my $check = TrafficCheck->new(option_sets => 5);
my $dbh = $check->{control};
$dbh->do($_) foreach 'CREATE SCHEMA reader', 'CREATE EXTENSION pgoutput_ext SCHEMA reader';

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
is($failed, 0, "what $programs programs left waiting is counted");
diag 'messages counted: ', join ' ', map { "$_=" . ($check->{parsed}{$_} // 0) } PgoutputMessage::all_types();
ok($check->{parsed}{$_}, 'the programs held a message ' . PgoutputMessage::type_name($_)) foreach qw(B C R Y I U D T M O S E c A);
ok($check->{took_turns}, 'streams took turns');

# ---- slots that cannot be looked at ------------------------------------------------

$check->clean;
my $node = $check->{node};

# Both functions end in the same error.
sub same_error
{
	my ($db, $slot, $name, @options) = @_;
	my @message;
	local $db->{RaiseError} = 0;
	local $db->{PrintError} = 0;
	foreach my $function ('pg_logical_slot_peek_binary_changes', 'reader.pgoutput_ext_traffic')
	{
		my $list = join ', ', map { $db->quote($_) } @options;
		ok(!defined $db->selectall_arrayref("SELECT count(*) FROM $function('$slot', NULL, NULL, $list)"), "$name: $function");
		push @message, $db->state . ' ' . $db->pg_error_field('pg_diag_message_primary');
	}
	is($message[1], $message[0], "$name: the server's error");
	return;
}

$dbh->do(q{SELECT pg_create_logical_replication_slot('busy', 'pgoutput_ext')});
$dbh->do('CREATE TABLE t (a int PRIMARY KEY)');
$dbh->do('CREATE PUBLICATION p FOR TABLE t');
my $client = ReplicationClient->new($node);
$client->start('busy', standard_options('p'));
$client->next_message(60) or die "the walsender says nothing\n";
my ($pid) = $dbh->selectrow_array(q{SELECT active_pid FROM pg_replication_slots WHERE slot_name = 'busy'});
ok($pid, 'the slot is in use');
same_error($dbh, 'busy', 'a slot in use', standard_options('p'));
$client->close;
$node->poll_query_until('postgres', q{SELECT NOT active FROM pg_replication_slots WHERE slot_name = 'busy'}) or die "the slot is still active\n";

$dbh->do('CREATE DATABASE other');
my $other = connect_db($node, dbname => 'other');
$other->do($_) foreach 'CREATE SCHEMA reader', 'CREATE EXTENSION pgoutput_ext SCHEMA reader';
same_error($other, 'busy', 'a slot of another database', standard_options('p'));
$other->disconnect;

$dbh->do('INSERT INTO t VALUES (1)');
is_deeply($dbh->selectall_arrayref(q{SELECT kind, table_name, inserts FROM reader.pgoutput_ext_traffic('busy', NULL, NULL, 'publication_names', 'p') WHERE inserts > 0}),
	[ [ 'table', 't', 1 ] ], 'afterwards it can be looked at');

# The statement of docs/OPERATIONS.md. An Insert of (1) is I, OID, N, a count of 2 bytes, t, a length
# and the digit, 14 bytes; the Relation is R, OID, public\0, t\0, d, a count, flags, a\0, OID and modifier, 28.
my ($statement) = section('Which table is it?') =~ /^```sql\n(.*?)^```/ms;
$statement =~ s/'demo'/'busy'/ or die "another slot on the page\n";
$dbh->do('SET search_path = reader, public');
is_deeply([ grep { $_->[0] eq 'table' } @{ $dbh->selectall_arrayref($statement) } ],
	[ [ 'table', 'public', 't', 1, 1, '42 bytes', '28 bytes' ] ], "the page's statement");
$check->stop;
done_testing();
