# The kill test: a server with sessions that write and a client that reads a slot of
# pgoutput_ext; at random moments the client, its walsender, another backend or the
# postmaster is killed, or the server shut down at once. What the client wrote down
# must then be complete, mean the same wherever it came twice, give the source's
# tables, and be what a slot of pgoutput gives. Used by t/095_crash.pl and
# scripts/crash; docs/TESTING.md describes it.
#
# A run has rounds. Each has a seed, which chooses the options of the slot, what is
# killed and when, and what the sessions write; the moments themselves depend on
# the machine.

package CrashRun;

use strict;
use warnings;

# PostgreSQL::Test takes the standard output for its log.
my $out;
BEGIN
{
	open $out, '>&', \*STDOUT or die;
	binmode $out;
	select((select($out), $| = 1)[0]);
}

use Crash::Check;
use Crash::Client;
use Crash::Processes;
use Crash::Writer;
use Getopt::Long ();
use PgoutputExt;
use ServerAssertions;
use Time::HiRes qw(sleep time);

our @ISA = ('Crash::Processes');

my @kinds = qw(client walsender backend postmaster immediate);
my $writers = 3;

# Parameters: seed (1), kills (25, in a round),
# least (0: so many commits come, also if the kills leave no time for them), broken (see
# Crash::Client), until (a time: no more kills then), and, to set what
# the seed would choose, streaming (off, on, parallel) and two_phase (0, 1).
sub new
{
	my ($class, %params) = @_;
	my $self = bless { seed => 1, kills => 25, least => 0, totals => {}, children => {}, owner => $$, %params }, $class;

	$self->{node} = new_node(
		'crash', conf => q{
# these only keep the test quick; what is killed here is a process, not the machine
fsync = off
checkpoint_timeout = 1h
restart_after_crash = on
synchronous_commit = on
logical_decoding_work_mem = '64kB'
wal_sender_timeout = '60s'
log_statement = none
log_replication_commands = off
log_min_messages = fatal
log_min_error_statement = panic
max_wal_size = 1GB
});
	$self->_reconnect;
	return $self;
}

# Runs one round; returns what is wrong, each a text (none: success).
sub run_round
{
	my ($self) = @_;
	my @problems;

	$self->{round} = { kills => {}, problems => \@problems };
	eval {
		$self->_begin_round;
		foreach (1 .. $self->{kills})
		{
			last if $self->{until} && time > $self->{until};
			$self->_kill_something;
		}
		push @problems, $self->_end_round;
		1;
	} or push @problems, $@;
	$self->_end_children;
	@problems = $self->_explain(@problems);
	$self->{round}{problems} = \@problems;
	$self->_add_totals;
	$self->{seed}++;
	return @problems;
}

# ---- a round ----------------------------------------------------------------

sub _choose
{
	my ($self) = @_;
	my $major = server_major();
	my @streaming = ('off', 'on', $major >= 16 ? ('parallel', 'parallel') : 'on');
	my $streaming = $streaming[ $self->{seed} % @streaming ];
	my $two_phase = $major >= 15 && ($self->{seed} / @streaming) % 3 ? 1 : 0;

	$streaming = $self->{streaming} if defined $self->{streaming};
	$two_phase = $self->{two_phase} if defined $self->{two_phase};
	my $version = $streaming eq 'parallel' ? 4 : $two_phase ? 3 : $streaming eq 'on' ? 2 : 1;
	$self->{round}{two_phase} = $two_phase;
	$self->{round}{options} = [
		proto_version => $version,
		publication_names => 'crash',
		messages => 'true',
		$streaming eq 'off' ? () : (streaming => $streaming),
		$two_phase ? (two_phase => 'on') : () ];
	return;
}

sub _begin_round
{
	my ($self) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();

	srand $self->{seed};
	$self->_choose;
	$self->{round}{log} = -s $self->{node}->logfile;
	$self->{round}{directory} = $directory;
	# An unfinished round before this one may have left some.
	$self->{dbh}->do("ROLLBACK PREPARED '$_'") foreach @{ $self->{dbh}->selectcol_arrayref('SELECT gid FROM pg_prepared_xacts') };
	$self->_drop_slots;
	Crash::Writer::create_schema($self->{dbh});
	foreach (['crash', plugin_name()], ['crash_pgoutput', 'pgoutput'])
	{
		$self->{dbh}->do('SELECT pg_create_logical_replication_slot(?, ?, false' . ($self->{round}{two_phase} ? ', true)' : ')'), undef, @$_);
	}
	$self->_start_client('crash');
	foreach my $number (1 .. $writers)
	{
		$self->_fork(
			"writer $number",
			sub {
				Crash::Writer->new(
					node => $self->{node},
					number => $number,
					seed => $self->{seed} * 10 + $number,
					directory => $directory)->run;
			});
	}
	return;
}

sub _drop_slots
{
	my ($self) = @_;
	my $sql = q{SELECT slot_name FROM pg_replication_slots WHERE NOT active};

	$self->_wait_until('slots to be free', sub {
		my $dbh = $self->{dbh};
		$dbh->do('SELECT pg_drop_replication_slot(?)', undef, $_) foreach @{ $dbh->selectcol_arrayref($sql) };
		return !$dbh->selectrow_array('SELECT count(*) FROM pg_replication_slots');
	});
	return;
}

# A server built with assertions may fail one of its own, and ends all sessions then.
# It explains the round when nothing of the plugin was being called: the server
# writes the stack to its log. Whether pgoutput meets it in its turn depends on when it
# reads, so the round cannot be asked again; one with pgoutput in our place can be
# (PGOUTPUT_EXT_PLUGIN).
sub _explain
{
	my ($self, @problems) = @_;
	my $log = substr PgoutputExt::read_text($self->{node}->logfile), $self->{round}{log} // 0;
	my (%failed, %of_plugin);

	while ($log =~ /^TRAP: [^\n]*PID: (\d+)\)?\n((?:[^\n]*\[0x[0-9a-f]+\]\n)*)/mg)
	{
		my ($assertion, $stack) = (ServerAssertions::failed($self->{node}, $1) // 'unknown', $2);
		$failed{$assertion} = 1;
		$of_plugin{$assertion} = 1 if $stack eq '' || $stack =~ /pgoutput_ext/;
	}
	return @problems unless %failed;
	eval { $self->_reconnect };
	return (map({ "failed assertion: $_" } sort keys %of_plugin), @problems) if %of_plugin;
	$self->{round}{explained} = join ', ', sort keys %failed;
	return;
}

# Lets everything come to its end, reads the slot of pgoutput and compares.
sub _end_round
{
	my ($self) = @_;
	my $directory = $self->{round}{directory};
	my $dbh = $self->{dbh};

	$self->_wait_until('the writers', sub { (my @told = $self->_told) >= $self->{least} });
	open my $stop, '>', "$directory/stop" or die "cannot write: $!\n";
	$self->_wait_for_child("writer $_") foreach 1 .. $writers;
	foreach my $gid (@{ $dbh->selectcol_arrayref('SELECT gid FROM pg_prepared_xacts ORDER BY gid') })
	{
		$dbh->do((rand() < 0.5 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$gid'");
	}
	$dbh->do(q{SELECT pg_logical_emit_message(true, 'end', '')});
	my $end = $dbh->selectrow_array('SELECT pg_current_wal_flush_lsn()');
	$self->_wait_for_slot('crash', $end);
	$self->_start_client('crash_pgoutput');
	$self->_wait_for_slot('crash_pgoutput', $end);
	$self->_kill_child($_) foreach 'crash', 'crash_pgoutput';
	return $self->_check;
}

# A client confirms all it has whenever nothing comes.
sub _wait_for_slot
{
	my ($self, $slot, $end) = @_;
	$self->_wait_until(
		"slot $slot to be read up to $end",
		sub {
			$self->{dbh}->selectrow_array('SELECT confirmed_flush_lsn >= ? FROM pg_replication_slots WHERE slot_name = ?', undef, $end, $slot);
		});
	return;
}

sub _check
{
	my ($self) = @_;
	my $directory = $self->{round}{directory};
	my $ours = $self->{round}{ours} = Crash::Check->new("$directory/crash");
	my $reference = $self->{round}{reference} = Crash::Check->new("$directory/crash_pgoutput");
	$self->{round}{source} = $self->_source;
	return $self->compare($ours, $reference);
}

# What is wrong with what was read.
sub compare
{
	my ($self, $ours, $reference) = @_;
	my @problems;

	$ours->compare($reference);
	push @problems, 'the reference was read over ' . @{ $reference->{connections} } . ' connections'
	  if @{ $reference->{connections} } != 1;
	push @problems, map { "the reference: $_" } @{ $reference->{problems} };
	push @problems, @{ $ours->{problems} };
	push @problems, $self->_compare_tables($ours), $self->_compare_ledger($ours);
	return @problems;
}

# The source's tables: { oid => { name, rows => { id => row } } }.
sub _source
{
	my ($self) = @_;
	my $dbh = $self->{dbh};
	my %source;

	foreach my $table (@{ $dbh->selectall_arrayref(q{SELECT oid, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'}) })
	{
		my ($oid, $name) = @$table;
		$source{$oid} = { name => $name, rows => $dbh->selectall_hashref("SELECT * FROM $name", 'id') };
	}
	return \%source;
}

sub _compare_tables
{
	my ($self, $ours) = @_;
	my $source = $self->{round}{source};
	my @problems;

	foreach my $oid (sort keys %$source)
	{
		my ($name, $rows) = @{ $source->{$oid} }{qw(name rows)};
		my $rebuilt = $ours->{tables}{$oid} || {};
		my %all = (%$rows, %$rebuilt);
		my @different = grep { !_same_row($rows->{$_}, $rebuilt->{$_}) } keys %all;
		push @problems, "table $name: " . @different . ' of ' . keys(%all) . " rows differ, $different[0] among them" if @different;
	}
	return @problems;
}

# A column that the source no longer has may still be in the rebuilt row; one that
# was added since is null in a row that did not change.
sub _same_row
{
	my ($row, $rebuilt) = @_;
	return 0 unless $row && $rebuilt;
	return !grep { ($row->{$_} // "\0") ne ($rebuilt->{$_} // "\0") } keys %$row;
}

# The ids of the transactions whose commit a writer was told of.
sub _told
{
	my ($self) = @_;
	return map { split /\n/, PgoutputExt::read_text($_) } glob "$self->{round}{directory}/told.*";
}

# All of them were received.
sub _compare_ledger
{
	my ($self, $ours) = @_;
	my $source = $self->{round}{source};
	my ($oid) = grep { $source->{$_}{name} eq 'ledger' } keys %$source;
	my @told = $self->_told;
	my @lost = grep { !$ours->{tables}{$oid}{$_} } @told;

	$self->{round}{told} = @told;
	return @lost ? @lost . ' of ' . @told . " transactions that were committed did not come, $lost[0] among them" : ();
}

# ---- kills ------------------------------------------------------------------

# More often the client, after which nothing has to be started again.
sub _kill_something
{
	my ($self) = @_;
	my $kind = $kinds[ (0, 0, 0, 1, 1, 2, 2, 3, 3, 4)[ rand 10 ] ];
	my $method = "_kill_$kind";
	my ($checkpoint, $pause) = (rand() < 0.3, 0.02 + rand() ** 2 * 1.5);

	# A checkpoint lets the slots' restart_lsn go on.
	$self->{dbh}->do('CHECKPOINT') if $checkpoint;
	sleep $pause;
	$self->$method;
	$self->{round}{kills}{$kind}++;
	return;
}

sub _kill_client
{
	my ($self) = @_;
	$self->_kill_child('crash');
	$self->_start_client('crash');
	return;
}

sub _kill_walsender
{
	my ($self) = @_;
	my $pid = $self->_wait_until('the client to be connected',
		sub { $self->{dbh}->selectrow_array(q{SELECT active_pid FROM pg_replication_slots WHERE slot_name = 'crash'}) });
	return $self->_kill_server_process($pid);
}

sub _kill_backend
{
	my ($self) = @_;
	my $number = 1 + int rand $writers;
	my $pid = $self->_wait_until('a writer to be connected',
		sub { $self->{dbh}->selectrow_array(q{SELECT pid FROM pg_stat_activity WHERE application_name = ?}, undef, "crash writer $number") });
	return $self->_kill_server_process($pid);
}

# The postmaster ends all others then, and recovers. Our connection tells when.
sub _kill_server_process
{
	my ($self, $pid) = @_;
	kill KILL => $pid;
	$self->_wait_until('the server to go down', sub { !eval { $self->{dbh}->do('SELECT 1') } });
	$self->_reconnect;
	return;
}

# Nobody ends the others now: they see it by themselves. No server may start before
# they are gone.
sub _kill_postmaster
{
	my ($self) = @_;
	my $node = $self->{node};
	my $pid_file = $node->data_dir . '/postmaster.pid';
	my ($postmaster) = split /\n/, PgoutputExt::read_text($pid_file);
	my @left = ($postmaster, Crash::Processes::children_of($postmaster));
	my $killed = time;

	$node->kill9;
	$self->_wait_until(
		'the orphans to end',
		sub {
			@left = grep { Crash::Processes::state_of($_) } @left;
			kill KILL => @left if time > $killed + 10;
			# Whoever is their parent now may be slow to see that they are gone; to
			# a new postmaster the old one is there until then.
			return time > $killed + 3 && !grep { Crash::Processes::state_of($_) ne 'Z' } @left if @left;
			return 1;
		});
	unlink $pid_file if @left;
	return $self->_start;
}

sub _kill_immediate
{
	my ($self) = @_;
	$self->{node}->stop('immediate');
	return $self->_start;
}

sub _start
{
	my ($self) = @_;
	$self->{node}->start;
	return $self->_reconnect;
}

sub _reconnect
{
	my ($self) = @_;
	$self->{dbh} = $self->_wait_until('the server to be ready', sub { eval { connect_db($self->{node}) } });
	set_session($self->{dbh}, client_min_messages => 'error', statement_timeout => '180s');
	return;
}

sub _start_client
{
	my ($self, $slot) = @_;
	my $round = $self->{round};

	$self->_fork(
		$slot,
		sub {
			Crash::Client->new(
				node => $self->{node},
				slot => $slot,
				options => $round->{options},
				journal => "$round->{directory}/$slot",
				errors => "$round->{directory}/errors",
				seed => $self->{seed} * 1000 + $self->{clients},
				broken => $slot eq 'crash' ? $self->{broken} : '')->run;
		});
	return;
}

sub stop
{
	my ($self) = @_;
	$self->_end_children;
	$self->{dbh}->disconnect;
	$self->{node}->stop('immediate');
	return;
}

sub DESTROY
{
	my ($self) = @_;
	$self->_end_children if $$ == $self->{owner};
	return;
}

# ---- what there was ---------------------------------------------------------

sub _add_totals
{
	my ($self) = @_;
	my ($totals, $round) = @$self{qw(totals round)};
	my $ours = $round->{ours};
	my %add = (%{ $round->{kills} }, rounds => 1, problems => scalar @{ $round->{problems} }, explained => $round->{explained} ? 1 : 0);

	$round->{kill_count} += $_ foreach values %{ $round->{kills} };
	$add{kills} = $round->{kill_count} // 0;
	if ($ours)
	{
		my %kinds;
		$kinds{ $_->{kind} }++ foreach @{ $ours->{order} };
		%add = (
			%add,
			%kinds,
			events => scalar @{ $ours->{order} },
			again => $ours->{received} - @{ $ours->{order} },
			connections => scalar @{ $ours->{connections} },
			streamed => $ours->{streamed_events} // 0,
			missing => $ours->{missing},
			parts => $ours->{parts},
			gaps => $ours->{gaps},
			told => $round->{told},
			map { ("type $_" => $ours->{types}{$_}) } keys %{ $ours->{types} });
	}
	$totals->{$_} += $add{$_} // 0 foreach keys %add;
	$round->{totals} = \%add;
	return;
}

sub totals_text
{
	my ($totals) = @_;
	my $n = sub { return $totals->{ $_[0] } // 0 };

	return join '; ',
	  sprintf('%d kills (%s)', $n->('kills'), join ', ', map { "$_ " . $n->($_) } @kinds),
	  sprintf('%d connections', $n->('connections')),
	  sprintf(
		'%d events (%s; %d of them streamed), %d came again',
		$n->('events'),
		join(', ', map { "$_ " . $n->($_) } 'commit', 'prepare', 'commit prepared', 'rollback prepared', 'message'),
		$n->('streamed'),
		$n->('again')),
	  sprintf('%d commits told to writers', $n->('told')),
	  sprintf('missing %d', $n->('missing')),
	  sprintf('rolled back ones that came in part %d, of them other than from the beginning %d', $n->('parts'), $n->('gaps')),
	  sprintf('problems %d', $n->('problems')),
	  $n->('explained') ? sprintf('rounds ended by an assertion of the server %d', $n->('explained')) : (),
	  'messages ' . join ' ', map { "$_=" . $n->("type $_") } PgoutputMessage::all_types();
}

sub round_text
{
	my ($self) = @_;
	my %options = @{ $self->{round}{options} };
	my $explained = $self->{round}{explained};
	return sprintf 'streaming %s, two_phase %s%s: %s', $options{streaming} // 'off', $options{two_phase} // 'off',
	  defined $explained ? " (ended by an assertion of the server, $explained)" : '',
	  totals_text($self->{round}{totals});
}

# ---- scripts/crash ----------------------------------------------------------

sub main
{
	my %option = (kills => 100, round => 25, seed => 1, seconds => 0);
	local @ARGV = @_;
	Getopt::Long::GetOptions(\%option, 'kills=i', 'round=i', 'seed=i', 'seconds=i', 'streaming=s', 'two-phase=i', 'break=s') && !@ARGV
	  or die "see the head of scripts/crash\n";
	my $started = time;
	my %set = map { defined $option{$_} ? ($_ =~ tr/-/_/r => $option{$_}) : () } qw(streaming two-phase);
	my $run = CrashRun->new(
		seed => $option{seed},
		kills => $option{round},
		broken => $option{break} // '',
		until => $option{seconds} ? $started + $option{seconds} : undef,
		%set);
	my ($enough, $failed) = (0, 0);
	local $SIG{INT} = sub { $enough = 1 };    # ends after this round
	local $SIG{TERM} = sub { $run->_end_children; exit 143 };    # no die, which a round would catch

	until ($enough || ($run->{totals}{kills} // 0) >= $option{kills} || $run->{until} && time > $run->{until})
	{
		my $seed = $run->{seed};
		my $left = $option{kills} - ($run->{totals}{kills} // 0);
		$run->{kills} = $left if $left < $run->{kills};
		my @problems = $run->run_round;
		printf $out "seed %d, %d s: %s\n", $seed, time - $started, $run->round_text;
		next unless @problems;
		$failed++;
		splice @problems, 30, -10, '...' if @problems > 50;
		print $out map { "  PROBLEM: $_\n" } @problems;
		print $out "  again: scripts/crash --seed $seed --kills $run->{kills} --round $run->{kills}\n";
		last if $failed >= 3;
	}
	printf $out "\nPostgreSQL %s, %s, %d rounds, %d s: %s\n",
	  $run->{dbh}->selectrow_array('SHOW server_version'), plugin_name(), $run->{totals}{rounds}, time - $started, totals_text($run->{totals});
	$run->stop;
	return $failed ? 1 : 0;
}

1;
