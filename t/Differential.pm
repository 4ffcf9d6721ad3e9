# The differential test: runs generated programs (Differential::Program) on a
# private server and compares what slots of pgoutput and of pgoutput_ext give
# over the same WAL, under random options. Used by t/010_differential.pl and
# scripts/differential; docs/TESTING.md describes it.

package Differential;

use strict;
use warnings;

use Time::HiRes ();

use Differential::Objects;
use Differential::Options;
use Differential::Program;
use Differential::Session;
use PgoutputExt;
use PgoutputMessage;
use ReplicationClient;

# Parameters: option_sets (compared for each program), walsender (read through
# the replication protocol, not the SQL functions), small (programs of a few steps),
# discard_caches (what reads a slot has debug_discard_caches = 1).
sub new
{
	my ($class, %params) = @_;
	my $node = new_node(
		'differential', conf => q{
log_statement = none
log_replication_commands = off
log_min_messages = panic
log_min_error_statement = panic
max_wal_size = 1GB
shared_buffers = 64MB
synchronous_commit = on
logical_decoding_work_mem = '64MB'
});
	my $self = bless {
		option_sets => 6,
		%params,
		node => $node,
		control => $node->{dbh},
		counts => {},
		results => {},
		comparisons => 0,
		errors => 0,
		dependent => 0,    # comparisons explained by depends_on_backend
	}, $class;
	$self->{reader} = connect_db($node);
	my @sessions = map { Differential::Session->new("S$_", connect_db($node), $self->{control}) } 0 .. 2;
	$sessions[$_]{number} = $_ foreach 0 .. $#sessions;
	$self->{sessions} = \@sessions;
	$self->{control}->do("SELECT pg_replication_origin_create('base')");
	$self->set_control;
	$self->{has_except} = $self->probe_except;
	return $self;
}

sub set_control
{
	my ($self) = @_;
	$self->{control}->do(q{SET client_min_messages = error; SET statement_timeout = '60s'});
	return;
}

# New sessions, when the server has failed an assertion, which ended all of them.
sub reconnect
{
	my ($self) = @_;
	# The server ends them a moment after the one that failed.
	my @others = ($self->{control}, map { $_->{dbh} } @{ $self->{sessions} });
	my $until = time + 60;
	foreach my $dbh (@others)
	{
		Time::HiRes::sleep(0.05) while $dbh->ping && time < $until;
	}
	foreach my $dbh (@others, $self->{reader})
	{
		ServerAssertions::restore_session($dbh) unless $dbh->ping;
	}
	$self->set_control;
	$_->connected foreach @{ $self->{sessions} };
	$self->align_slots($_) foreach @{ $self->{pairs} };
	return;
}

# Brings both slots of a pair to the same place. One that was read on (not peeked)
# stands elsewhere than the other when only one of the readings failed an assertion;
# and a server that starts again has forgotten what it had not written down of
# either.
sub align_slots
{
	my ($self, $pair) = @_;
	my $furthest = $self->{control}->selectrow_array(q{
		SELECT max(confirmed_flush_lsn) FROM pg_replication_slots WHERE slot_name = ANY (?)}, undef, [ values %$pair ]);
	$self->{control}->do(q{
		SELECT pg_replication_slot_advance(slot_name, ?) FROM pg_replication_slots
		WHERE slot_name = ANY (?) AND confirmed_flush_lsn < ?}, undef, $furthest, [ values %$pair ], $furthest);
	return;
}

# Do this server's publications know EXCEPT?
sub probe_except
{
	my ($self) = @_;
	my $dbh = $self->{control};
	local $dbh->{RaiseError} = 0;
	$dbh->do('CREATE TABLE probe ()');
	my $known = defined $dbh->do('CREATE PUBLICATION probe FOR ALL TABLES EXCEPT (TABLE probe)');
	$dbh->do('DROP PUBLICATION IF EXISTS probe');
	$dbh->do('DROP TABLE probe');
	return $known;
}

# Runs the program of a seed and compares; returns the differences found, each
# a text (none: success).
sub run_seed
{
	my ($self, $seed) = @_;
	my $program = Differential::Program->new(
		seed => $seed,
		major => server_major(),
		small => $self->{small},
		control => $self->{control},
		sessions => $self->{sessions},
		directory => $self->{node}->data_dir,
		has_except => $self->{has_except});
	my $random = $program->{random};

	$self->{program} = $program;
	die "the server is gone\n" unless $self->{control}->ping;
	$self->clean;
	$self->{control}->do('SELECT pg_replication_origin_create(?)', undef, $_) foreach @Differential::Objects::origin_names;

	my $late = $random->chance(25);
	$program->define unless $late;
	$self->{pairs} = [ create_slot_pair($self->{control}, 'one'), create_slot_pair($self->{control}, 'two', two_phase => 1) ];
	$program->define if $late;

	my @differences;
	my $consume_at = $random->chance(12) ? $random->below($program->{steps}) : -1;
	foreach my $step (1 .. $program->{steps})
	{
		$program->step;
		push @differences, $self->consume if $step == $consume_at;
	}
	$program->finish;
	$self->{control}->do('SELECT pg_replication_origin_drop(?)', undef, $Differential::Objects::origin_names[1])
	  if $random->chance(20) && !grep { $_->{origin} && $_->{number} == 1 } @{ $self->{sessions} };

	push @differences, $self->compare_all;
	$self->add_results($program);
	return @differences;
}

# All that was written so far is flushed, so that both readers come to the same end.
sub flush
{
	my ($self) = @_;
	$self->{control}->do(q{SELECT pg_logical_emit_message(true, 'flush', '')});
	return $self->{control}->selectrow_array('SELECT pg_current_wal_flush_lsn()');
}

sub compare_all
{
	my ($self) = @_;
	my $random = $self->{program}{random};
	$self->{end} = $self->flush;
	my @sets = map { Differential::Options::option_set($self->{program}) } 1 .. $self->{option_sets};
	push @sets, $sets[0];    # what was read in between must not matter
	return map { $self->compare_walsenders($_) } @sets if $self->{walsender};
	return map { $self->compare_set($_) } @sets;
}

# Reads both pairs on in the middle of a program, which moves their slots.
sub consume
{
	my ($self) = @_;
	my $lsn = $self->flush;
	my @differences;
	foreach my $two_phase (0, 1)
	{
		my $set = Differential::Options::option_set($self->{program});
		$set->{two_phase_slot} = $two_phase;
		push @differences, $self->compare_set($set, get => 1, upto_lsn => $lsn);
	}
	return @differences;
}

sub compare_set
{
	my ($self, $set, %how) = @_;
	my $random = $self->{program}{random};
	my $pair = $self->{pairs}[ $set->{two_phase_slot} ];

	if ($random->chance(6))
	{
		$self->{reader}->disconnect;
		$self->{reader} = connect_db($self->{node});
	}
	my $dbh = $self->{reader};
	$self->set_reader($dbh, $set);
	my ($difference, $expected) = compare_slots(
		$dbh, $pair, options => $set->{options}, ours_first => $random->chance(50), %how);
	$self->{comparisons}++;
	if ($expected->{assertion})
	{
		$self->reconnect;
		$dbh->do('RESET ALL');
		return defined $difference ? Differential::Options::text($set) . "\n$difference" : ();
	}
	count_types($expected, $self->{counts});
	if ($expected->{error} && !defined $difference)
	{
		# what came before the error
		$self->{errors}++;
		$self->{error_texts}{ $expected->{error}{message_primary} }++;
		for (my $n = 1; $n < 10000; $n *= 3)
		{
			(my $more, my $part) = compare_slots($dbh, $pair, options => $set->{options}, upto_nchanges => $n);
			$difference = "upto_nchanges $n: $more" if defined $more;
			last if $part->{error} || defined $more || @{ $part->{rows} } < $n;
		}
	}
	$dbh->do('RESET ALL');
	return unless defined $difference;
	return if !$how{get} && $self->depends_on_backend($pair, $set);
	return Differential::Options::text($set) . "\n$difference";
}

sub set_reader
{
	my ($self, $dbh, $set) = @_;

	# Output functions of composite types lock the type: one that a prepared
	# transaction has changed stays locked.
	my $timeout = $self->{discard_caches} ? '1h' : '120s';
	$dbh->do("SET statement_timeout = '$timeout'; SET lock_timeout = '300ms'");
	$dbh->do('SELECT set_config(?, ?, false)', undef, @$_) foreach @{ $set->{settings} };
	$dbh->do('SET debug_discard_caches = 1') if $self->{discard_caches};
	return;
}

# A backend remembers what types it has met, and looks into no catalog for them
# again: where that is noticed (by the abort of a transaction that is streamed),
# the second reader ends elsewhere than the first one, whichever plugin it has. Is
# that all? Then pgoutput reads otherwise when it reads twice in a new backend, and
# pgoutput_ext reads the same as it both times.
sub depends_on_backend
{
	my ($self, $pair, $set) = @_;
	my @read;
	foreach my $slot (@$pair{qw(oracle ours)})
	{
		my $dbh = connect_db($self->{node});
		$self->set_reader($dbh, $set);
		push @read, [ map { PgoutputExt::read_slot($dbh, $slot, options => $set->{options}) } 1 .. 2 ];
		$dbh->disconnect;
	}
	my ($oracle, $ours) = @read;
	return 0 if !defined PgoutputExt::difference(@$oracle);
	return 0 if grep { defined PgoutputExt::difference($oracle->[$_], $ours->[$_]) } 0, 1;
	$self->{dependent}++;
	return 1;
}

# Like compare_set, but over two replication connections.
sub compare_walsenders
{
	my ($self, $set) = @_;
	my $pair = $self->{pairs}[ $set->{two_phase_slot} ];
	my ($expected, $got) = map { $self->stream($_, $set) } @$pair{qw(oracle ours)};

	$self->{comparisons}++;
	if (my ($assertion) = grep { defined } map { $_->{assertion} } $expected, $got)
	{
		return "walsender: assertion failed in our slot alone: $assertion" if !defined $expected->{assertion};
		ServerAssertions::explain($assertion);
		return;
	}
	count_types($expected, $self->{counts});
	$self->{errors}++ if $expected->{error};
	my $difference = PgoutputExt::difference($expected, $got);
	return unless defined $difference;
	return 'walsender ' . Differential::Options::text($set) . "\n$difference";
}

# All that a slot's walsender sends up to the program's end, or to an error, in
# the form of read_slot. The slot does not move, for nothing is confirmed.
sub stream
{
	my ($self, $slot, $set) = @_;
	my %settings = (lock_timeout => '300ms', $self->{discard_caches} ? (debug_discard_caches => 1) : (), map { $_->[0] => $_->[1] } @{ $set->{settings} });
	my $client = ReplicationClient->new($self->{node}, %settings);
	my ($high, $low) = map { hex } split '/', $self->{end};
	my $end = ($high << 32) + $low;
	my (@rows, $error);

	eval { $client->start($slot, @{ $set->{options} }); 1 } or $error = $@;
	until (defined $error)
	{
		my $message = $client->next_message(60);
		if (!$message && defined(my $assertion = ServerAssertions::failed($self->{node}, $client->pid)))
		{
			$client->close;
			$self->reconnect;
			return { rows => [], error => undef, warnings => [], assertion => $assertion };
		}
		die "nothing came in time from slot $slot\n" unless $message;
		$error = $message->{error} if $message->{type} eq 'E';
		next if $message->{type} ne 'd';
		push @rows, [ map({ sprintf '%X/%X', $_ >> 32, $_ & 0xffffffff } @$message{qw(lsn end)}), $message->{data} ]
		  if $message->{kind} eq 'w';
		# A walsender that has nothing more to send says how far it is.
		last if $message->{kind} eq 'k' && $message->{end} >= $end;
	}
	$client->close;
	$self->{node}->poll_query_until('postgres', "SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$slot'")
	  or die "slot $slot is still active\n";
	return { rows => \@rows, error => defined $error ? { message_primary => $error } : undef, warnings => [] };
}

sub add_results
{
	my ($self, $program) = @_;
	foreach my $verb (keys %{ $program->{results} })
	{
		$self->{results}{$verb}{$_} += $program->{results}{$verb}{$_} foreach keys %{ $program->{results}{$verb} };
	}
	return;
}

# Removes all that a program made.
sub clean
{
	my ($self) = @_;
	my $dbh = $self->{control};
	$_->reset foreach @{ $self->{sessions} };
	$dbh->do('ROLLBACK PREPARED ' . $dbh->quote($_)) foreach @{ $dbh->selectcol_arrayref('SELECT gid FROM pg_prepared_xacts') };
	$dbh->do('SELECT pg_drop_replication_slot(?)', undef, $_) foreach @{ $dbh->selectcol_arrayref('SELECT slot_name FROM pg_replication_slots') };
	$dbh->do("DROP PUBLICATION $_") foreach @{ $dbh->selectcol_arrayref('SELECT quote_ident(pubname) FROM pg_publication') };
	my $schemas = $dbh->selectcol_arrayref(q{SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname ~ '^d[1-9 ]'});
	$dbh->do('DROP SCHEMA ' . join(', ', @$schemas) . ' CASCADE') if @$schemas;
	$dbh->do(q{SELECT pg_replication_origin_drop(roname) FROM pg_replication_origin WHERE roname LIKE 'o%'});
	return;
}

# Message counts, in one line.
sub counts_text
{
	my ($self) = @_;
	return join ' ', map { "$_=" . ($self->{counts}{$_} // 0) } PgoutputMessage::all_types();
}

# How the programs' statements went, a line for each kind.
sub results_text
{
	my ($self) = @_;
	return join '', map {
		my $results = $self->{results}{$_};
		sprintf "%-22s %s\n", $_, join ', ', map { "$_ $results->{$_}" } sort keys %$results
	} sort keys %{ $self->{results} };
}

sub stop
{
	my ($self) = @_;
	$_->{dbh}->disconnect foreach @{ $self->{sessions} };
	$self->{reader}->disconnect;
	$self->{control}->disconnect;
	$self->{node}->stop('fast');
	return;
}

1;
