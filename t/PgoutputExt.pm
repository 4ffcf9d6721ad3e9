# What the TAP tests share: private servers, pairs of slots, and the comparison
# of what pgoutput and pgoutput_ext give over the same WAL.
#
#	use FindBin;
#	use lib $FindBin::RealBin;
#	use PgoutputExt;
#	use Test::More;
#
#	my $node = new_node('main');
#	my $dbh = $node->{dbh};
#	$dbh->do('CREATE TABLE t (a int PRIMARY KEY)');
#	$dbh->do('CREATE PUBLICATION p FOR TABLE t');
#	my $pair = create_slot_pair($dbh, 's');
#	$dbh->do('INSERT INTO t VALUES (1)');
#	same_stream($dbh, $pair, 'an insert',
#		options => [ proto_version => 1, publication_names => 'p' ]);
#
# The server is the one that PG_CONFIG (or pg_config in PATH) belongs to.
# PGOUTPUT_EXT_PLUGIN names another plugin to put in our place; with
# "pgoutput" the comparison must never find anything.

package PgoutputExt;

use strict;
use warnings;

use Cwd ();
use DBI ();
use Exporter 'import';
use File::Temp ();
use Test::More ();

use PgoutputMessage;
use ServerAssertions;

our @EXPORT = qw(
  server_major server_minor_from max_protocol plugin_name need_test_module new_node connect_db standard_options
  create_slot_pair drop_slot_pair read_slot compare_slots explained same_stream
  same_streams set_session run_case changes_text
  describe_stream plain_stream without_empty count_types quote_names
);

my ($bindir, $major, $minor);

# The server's programs and the modules of PostgreSQL::Test are found from
# pg_config, so that a test can be started by hand with nothing prepared.
BEGIN
{
	my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
	chomp($bindir = `$pg_config --bindir`);
	chomp(my $pgxs = `$pg_config --pgxs`);
	die "cannot run $pg_config\n" if $pgxs eq '';
	($major, $minor) = `$pg_config --version` =~ /^PostgreSQL (\d+)(?:\.(\d+))?/;
	$minor //= 0;    # not released yet
	$pgxs =~ s{/makefiles/pgxs\.mk$}{};
	unshift @INC, "$pgxs/test/perl";
	$ENV{PATH} = "$bindir:$ENV{PATH}";
	$ENV{PG_REGRESS} ||= "$pgxs/test/regress/pg_regress";

	# Data directories and logs go to a directory that is removed at the end,
	# unless the caller said where he wants them.
	if (!$ENV{TESTDIR} && !$ENV{TESTDATADIR})
	{
		my $dir = File::Temp::tempdir(
			'pgoutput_ext.XXXXXXXX',
			TMPDIR => 1,
			CLEANUP => !$ENV{PG_TEST_NOCLEAN});
		$ENV{TESTDIR} = $dir;
		$ENV{TESTDATADIR} = "$dir/tmp_check";
		$ENV{TESTLOGDIR} = "$dir/log";
		mkdir $ENV{TESTDATADIR};
		mkdir $ENV{TESTLOGDIR};
	}
}

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

# PostgreSQL::Test sends what a dying test says to its log; say it aloud too.
END
{
	if ($? != 0 && $0 =~ /\.pl\z/ && $PostgreSQL::Test::Utils::log_path && !Test::More->builder->{Done_Testing})
	{
		my $status = $?;
		my ($name) = $0 =~ m{([^/]+)\.pl\z};
		my $log = "$PostgreSQL::Test::Utils::log_path/regress_log_$name";
		my @lines = -e $log ? split(/\n/, PgoutputExt::read_text($log)) : ();
		splice @lines, 0, -15 if @lines > 15;
		Test::More::diag("end of $log:\n", map { "$_\n" } @lines);
		$? = $status;
	}
}

# Major version of the server under test.
sub server_major
{
	return $major;
}

# Does the server run one of the minor releases given for some majors, or a later
# one? Majors newer than those had it from the start.
sub server_minor_from
{
	my (%first) = @_;
	return $minor >= $first{$major} if defined $first{$major};
	my ($newest) = sort { $b <=> $a } keys %first;
	return $major > $newest;
}

# The highest protocol version that its pgoutput takes.
sub max_protocol
{
	return $major >= 16 ? 4 : $major == 15 ? 3 : 2;
}

# Plugin that is compared with pgoutput.
sub plugin_name
{
	return $ENV{PGOUTPUT_EXT_PLUGIN} || 'pgoutput_ext';
}

# A file's text. The modules of 14 have no such function under the name of later ones.
sub read_text
{
	my ($file) = @_;
	open my $in, '<:raw', $file or die "$file: $!\n";
	local $/;
	my $text = <$in>;
	close $in;
	return $text // '';
}

# Ends a test file that needs the module of test/ where that is not installed:
# on a server of one's own it is not.
sub need_test_module
{
	my $sharedir = `pg_config --sharedir`;

	chomp $sharedir;
	Test::More::plan(skip_all => 'the module for tests is not installed (make -C test install)')
	  unless -e "$sharedir/extension/pgoutput_ext_test.control";
	return;
}

# A started server ready for logical decoding with pgoutput_ext.  Returns the
# node; $node->{dbh} is a connection to its database "postgres".
# Parameters: encoding and locale (UTF8, C), conf (text for postgresql.conf),
# start (1), install_path (of another installation than PG_CONFIG's).
sub new_node
{
	my ($name, %params) = @_;
	# 14 takes the parameters of new() for a host and a port.
	my $make = server_major() < 15 ? 'get_new_node' : 'new';
	my $node = PostgreSQL::Test::Cluster->$make($name,
		$params{install_path} ? (install_path => $params{install_path}) : ());

	$node->init(
		allows_streaming => 'logical',
		extra => [
			'--encoding', $params{encoding} || 'UTF8',
			'--locale', $params{locale} || 'C',
			@{ $params{initdb} || [] } ]);
	$node->append_conf(
		'postgresql.conf', qq{
shared_buffers = 16MB
max_connections = 40
max_replication_slots = 40
max_wal_senders = 20
max_prepared_transactions = 20
autovacuum = off
timezone = 'UTC'
restart_after_crash = on
});
	allow_plugin($node);
	$node->append_conf('postgresql.conf', $params{conf}) if defined $params{conf};
	if ($params{start} // 1)
	{
		$node->start;
		$node->{dbh} = connect_db($node);
	}
	return $node;
}

# Names pgoutput_ext in output_plugin_libraries where the server has that
# setting; a minor release without it would refuse to start with it.
sub allow_plugin
{
	my ($node) = @_;
	my ($out, $err) = ('', '');
	my $known = IPC::Run::run(
		[ 'postgres', '-C', 'output_plugin_libraries', '-D', $node->data_dir ],
		'>', \$out, '2>', \$err);

	$node->append_conf('postgresql.conf',
		"output_plugin_libraries = 'pgoutput, test_decoding, pgoutput_ext'")
	  if $known;
	return;
}

# New connection to a node.  Errors are for the caller to look at ($dbh->err)
# unless raise => 1; strings are bytes, as the server sent them.
# Parameters: dbname (postgres), user, raise (1).
sub connect_db
{
	my ($node, %params) = @_;
	my $dsn = sprintf 'dbi:Pg:dbname=%s;host=%s;port=%d',
	  $params{dbname} || 'postgres', $node->host, $node->port;

	local $ENV{PGCLIENTENCODING} = $params{client_encoding} || 'UTF8';
	my $dbh = DBI->connect(
		$dsn,
		$params{user} // '',
		'',
		{   AutoCommit => 1,
			RaiseError => $params{raise} // 1,
			PrintError => 0,
			PrintWarn => 1,
			AutoInactiveDestroy => 1,
			pg_enable_utf8 => 0,
			pg_server_prepare => 0 });
	ServerAssertions::remember($dbh, $node, %params) if $dbh;
	return $dbh;
}

# Publication names as a list for publication_names, protected by quotes.
sub quote_names
{
	return join ',', map { (my $name = $_) =~ s/"/""/g; "\"$name\"" } @_;
}

# The options that every test needs: protocol version (1) and publications.
# Takes and returns a flat list, so that others can be added.
sub standard_options
{
	my ($publications, @others) = @_;
	unshift @others, proto_version => 1 unless grep { $_ eq 'proto_version' } @others;
	return (@others, publication_names => quote_names(ref $publications ? @$publications : $publications));
}

# Two slots at the same place in WAL: "$name" of pgoutput, "${name}_ext" of
# pgoutput_ext.  With two_phase => 1 both decode prepared transactions at
# PREPARE, except on 14, whose plugins cannot.  The second is a copy of the first, so that they share restart_lsn
# and confirmed_flush_lsn.
sub create_slot_pair
{
	my ($dbh, $name, %params) = @_;
	my $pair = { oracle => $name, ours => "${name}_ext" };

	$dbh->do(q{SELECT pg_create_logical_replication_slot(?, 'pgoutput')}, undef, $pair->{oracle});
	$dbh->do(q{SELECT pg_copy_logical_replication_slot(?, ?, false, ?)},
		undef, $pair->{oracle}, $pair->{ours}, plugin_name());
	if ($params{two_phase} && $major >= 15)
	{
		# A copy does not inherit two_phase; asking for it on reading turns it
		# on, from confirmed_flush_lsn on.
		foreach my $slot ($pair->{oracle}, $pair->{ours})
		{
			my $read = read_slot($dbh, $slot,
				options => [ proto_version => 3, publication_names => 'none', two_phase => 'on' ]);
			die "cannot turn on two_phase: $read->{error}{message_primary}" if $read->{error};
		}
	}
	return $pair;
}

sub drop_slot_pair
{
	my ($dbh, $pair) = @_;
	$dbh->do('SELECT pg_drop_replication_slot(?)', undef, $_) foreach @$pair{qw(oracle ours)};
	return;
}

my @error_fields = qw(severity sqlstate message_primary message_detail
  message_hint context schema_name table_name column_name datatype_name
  constraint_name);

# Before these minors a reading of pgoutput that ends in an error leaves pointers
# to freed memory in the backend, on which a later one may stumble. That of 14 leaves
# what it had announced, and does not announce it again.
my %cleans_up_after_errors = (15 => 15, 16 => 11, 17 => 7, 18 => 1);

# Reads a slot by the SQL functions.  Parameters: options (array reference of
# names and values), upto_lsn, upto_nchanges, get (consume; default peek).
# Returns { rows => [[lsn, xid, data], ...], error => {fields} or undef,
# warnings => [...], assertion => text or undef }; slot and plugin are called SLOT
# and PLUGIN in the texts. When the server failed an assertion, $dbh is a new
# session with the same settings afterwards.
sub read_slot
{
	my ($dbh, $slot, %params) = @_;
	my @warnings;
	my $sql = sprintf 'SELECT lsn::text, xid::text, data FROM pg_logical_slot_%s_binary_changes(%s)',
	  $params{get} ? 'get' : 'peek',
	  join ', ', $dbh->quote($slot),
	  defined $params{upto_lsn} ? "'$params{upto_lsn}'" : 'NULL',
	  $params{upto_nchanges} // 'NULL',
	  map { $dbh->quote($_) } @{ $params{options} || [] };

	my $settings = ServerAssertions::enabled($dbh) ? ServerAssertions::session_settings($dbh) : undef;
	my $pid = $dbh->{pg_pid};
	local $SIG{__WARN__} = sub { push @warnings, $_[0] };
	# Not with "local": the handle may be another one at the end.
	my $raise = $dbh->{RaiseError};
	$dbh->{RaiseError} = 0;
	my $rows = $dbh->selectall_arrayref($sql);
	my ($error, $assertion);
	if ($dbh->err)
	{
		$rows = [];
		$error = { map { $_ => $dbh->pg_error_field("pg_diag_$_") } @error_fields };
		$error->{sqlstate} //= $dbh->state;
		$error->{message_primary} //= $dbh->errstr;
		if ($settings && !$dbh->ping && defined($assertion = ServerAssertions::failed(ServerAssertions::node($dbh), $pid)))
		{
			ServerAssertions::restore_session($dbh, $settings);
		}
		elsif (!server_minor_from(%cleans_up_after_errors))
		{
			# Ends at once, and takes along what the error has left.
			$dbh->do(q{SELECT FROM pg_logical_slot_peek_binary_changes(?, '0/1', NULL, 'proto_version', '1', 'publication_names', 'none')},
				undef, $slot);
		}
	}
	$dbh->{RaiseError} = $raise;
	my $plugin = plugin_name();
	foreach my $text (@warnings, $error ? grep { defined } values %$error : ())
	{
		$text =~ s/ at \S+ line \d+\.?\n*\z//;
		$text =~ s/\bslot "\Q$slot\E"/slot "SLOT"/g;
		$text =~ s/\boutput plugin "(?:pgoutput|\Q$plugin\E)"/output plugin "PLUGIN"/g;
	}
	return { rows => $rows, error => $error, warnings => \@warnings, assertion => $assertion };
}

# A reading of our slot of a pair failed an assertion: does one of pgoutput's with
# the same parameters fail it as well? Where that depends on when a slot is read, it
# need not be now.
sub explained
{
	my ($dbh, $pair, $assertion, %params) = @_;
	if (ServerAssertions::depends_on_time($assertion))
	{
		ServerAssertions::explain($assertion);
		return 1;
	}
	my $oracle = read_slot($dbh, $pair->{oracle}, %params);
	return 0 if ($oracle->{assertion} // '') ne $assertion;
	ServerAssertions::explain($assertion);
	return 1;
}

# Reads both slots of a pair with the same parameters (read_slot's).  Returns
# (difference, oracle's result): difference is undef or a text for people.
# ours_first => 1 reads our slot first; options_ours replaces options for our
# slot; dbh_ours reads it over another connection.  Where pgoutput fails an
# assertion of the server, nothing is different, and the result is ours.
sub compare_slots
{
	my ($dbh, $pair, %params) = @_;
	my %ours = %params;
	my $dbh_ours = delete $ours{dbh_ours} || $dbh;
	$ours{options} = $params{options_ours} if $params{options_ours};

	my ($got, $expected);
	$got = read_slot($dbh_ours, $pair->{ours}, %ours) if $params{ours_first};
	$expected = read_slot($dbh, $pair->{oracle}, %params);
	$got = read_slot($dbh_ours, $pair->{ours}, %ours) unless $params{ours_first};

	# Nothing can be compared with a reading that fails an assertion.
	if (my $assertion = $expected->{assertion})
	{
		ServerAssertions::explain($assertion);
		return (undef, { %$got, assertion => $assertion });
	}
	if (my $assertion = $got->{assertion})
	{
		return ("assertion failed in our slot alone: $assertion", $expected) unless explained($dbh, $pair, $assertion, %params);
		return (undef, { %$expected, assertion => $assertion });
	}
	return (difference($expected, $got), $expected);
}

# What differs between two results of read_slot; undef when nothing does.
sub difference
{
	my ($expected, $got) = @_;
	my @texts;

	foreach my $field (@error_fields)
	{
		my $want = $expected->{error} ? $expected->{error}{$field} : undef;
		my $have = $got->{error} ? $got->{error}{$field} : undef;
		push @texts, sprintf "error, %s\n  pgoutput: %s\n  ours:     %s", $field, $want // '(none)', $have // '(none)'
		  if ($want // '') ne ($have // '');
	}
	my ($want, $have) = map { join "\n", @{ $_->{warnings} } } $expected, $got;
	push @texts, "warnings\n  pgoutput: $want\n  ours:     $have" if $want ne $have;

	my $rows = rows_difference($expected->{rows}, $got->{rows});
	push @texts, $rows if defined $rows;
	return @texts ? join("\n", @texts) : undef;
}

sub rows_difference
{
	my ($expected, $got) = @_;
	my $n = @$expected > @$got ? @$expected : @$got;
	my ($describe, $describe_ours) = (PgoutputMessage->new, PgoutputMessage->new);
	my @before;

	for my $i (0 .. $n - 1)
	{
		my ($want, $have) = ($expected->[$i], $got->[$i]);
		if ($want && $have && $want->[0] eq $have->[0] && $want->[1] eq $have->[1] && $want->[2] eq $have->[2])
		{
			push @before, "  both:     $want->[0] $want->[1] " . $describe->describe($want->[2]);
			$describe_ours->describe($want->[2]);
			shift @before if @before > 4;
			next;
		}
		my @shown = map {
			my ($row, $d) = @$_;
			$row ? "$row->[0] $row->[1] " . $d->describe($row->[2]) . "\n            " . unpack('H*', substr $row->[2], 0, 600) : '(end of stream)'
		} [ $want, $describe ], [ $have, $describe_ours ];
		return join "\n",
		  sprintf('message %d of %d (ours %d)', $i + 1, scalar @$expected, scalar @$got),
		  @before, "  pgoutput: $shown[0]", "  ours:     $shown[1]";
	}
	return;
}

# Test: both slots of the pair give the same.  Returns the oracle's result, so
# that the test can go on to say what it expects in it.
sub same_stream
{
	my ($dbh, $pair, $name, %params) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my ($difference, $expected) = compare_slots($dbh, $pair, %params);
	Test::More::ok(!defined $difference, $name) or Test::More::diag($difference);
	return $expected;
}

# Several statements, one after the other.
sub set_session
{
	my ($dbh, @settings) = @_;
	while (my ($name, $value) = splice @settings, 0, 2)
	{
		$dbh->do('SELECT set_config(?, ?, false)', undef, $name, $value);
	}
	return;
}

# Tests: both slots of the pair give the same under each of the ways to read
# that matter to most cases: text, binary, streamed, streamed in parallel.
# $publications is a name or an array of them; messages are always asked for.
# Returns a hash of the oracle's results: text, binary, streamed, and on servers
# that have it parallel.
sub same_streams
{
	my ($dbh, $pair, $name, $publications) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my %ways = (
		text => [ proto_version => 1 ],
		binary => [ proto_version => 1, binary => 'true' ],
		streamed => [ proto_version => 2, streaming => 'on' ],
		$major >= 16 ? (parallel => [ proto_version => 4, streaming => 'parallel' ]) : ());
	my $immediate = $major >= 16 ? 'debug_logical_replication_streaming' : undef;
	my %results;

	foreach my $way (sort keys %ways)
	{
		set_session($dbh, logical_decoding_work_mem => '64kB');
		set_session($dbh, $immediate => 'immediate') if $immediate && $way eq 'parallel';
		$results{$way} = same_stream($dbh, $pair, "$name: $way",
			options => [ standard_options($publications, @{ $ways{$way} }, messages => 'true') ]);
		$dbh->do('RESET logical_decoding_work_mem');
		$dbh->do("RESET $immediate") if $immediate && $way eq 'parallel';
	}
	return \%results;
}

# A case: runs the statements @$before, makes a pair of slots, runs @$after, and
# compares by same_streams, whose results it returns. A statement can be a
# function, which is called.
my $cases = 0;

sub run_case
{
	my ($dbh, $name, $publications, $before, $after) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	ref $_ ? $_->() : $dbh->do($_) foreach @$before;
	my $pair = create_slot_pair($dbh, 'case' . ++$cases);
	ref $_ ? $_->() : $dbh->do($_) foreach @$after;
	# A commit flushes what was written; else one reader could see more.
	$dbh->do(q{COMMENT ON SCHEMA public IS 'flushed'});
	my $results = same_streams($dbh, $pair, $name, $publications);
	drop_slot_pair($dbh, $pair);
	return $results;
}

# A result's messages but Begin and Commit as lines (plain_stream's), and its
# error, if it ended in one; with a newline at the end of each.
sub changes_text
{
	my ($result) = @_;
	return join '', map { "$_\n" } (grep { !/^(?:BEGIN|COMMIT)/ } plain_stream($result)),
	  $result->{error} ? "ERROR $result->{error}{sqlstate} $result->{error}{message_primary}" : ();
}

# Lines that describe a result's messages.
sub describe_stream
{
	my ($result) = @_;
	my $describer = PgoutputMessage->new;
	return map { $describer->describe($_->[2]) } @{ $result->{rows} };
}

# The same without what differs from run to run: OIDs, positions, xids, times.
sub plain_stream
{
	my ($result) = @_;
	return map { s/ (?:\w*xid|\w*_?oids?|\w*_?lsn|final|commit|\w*end|\w*time)=[^\s)]+//gr =~ s/(MESSAGE flags=\d) [0-9A-F]+\/[0-9A-F]+/$1/r =~ s/ type=\d+,-?\d+//gr } describe_stream($result);
}

# Messages without the empty transactions that 14 sends; on others all of them. "of"
# gives a message's bytes.
sub without_empty
{
	my ($of, @messages) = @_;
	my @kept;

	return @messages if server_major() >= 15;
	foreach my $message (@messages)
	{
		if ($of->($message) =~ /^C/ && @kept && $of->($kept[-1]) =~ /^B/) { pop @kept }
		else { push @kept, $message }
	}
	return @kept;
}

# Adds the number of messages of each type in a result to %$counts.
sub count_types
{
	my ($result, $counts) = @_;
	$counts->{ PgoutputMessage::type($_->[2]) }++ foreach @{ $result->{rows} };
	return $counts;
}

1;
