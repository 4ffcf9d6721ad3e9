# What the tests of real clients (t/10*_client_*.pl) share: a server with the
# changes that they read, slots at one position, and the comparison of what a
# client delivers through the server's pgoutput with what it delivers through
# pgoutput_ext, which the slot names or which the role has for pgoutput
# (drop-in).
#
# A client is a program that gets one argument, a JSON object:
#
#	host, port, user, dbname    where to connect; host is a socket's directory
#	slot                        the slot to read
#	options                     options for START_REPLICATION
#	end                         the text of the last row
#
# and writes all that it delivers to its standard output, a line each.  Behind
# the transaction that inserts the last row it writes the line END, and then
# stays connected until its standard input ends.  So the walsender can be looked
# at: which library it has loaded is seen nowhere else.

package ClientTest;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use IPC::Run ();
use JSON::PP ();
use Test::More;

use DropinServer;
use PgoutputExt;
use PostgreSQL::Test::Utils ();

our @EXPORT = qw(
  client_node workload start_client wait_for_line end_client run_client
  libraries compare_client own_options missing_types node_package skip_unless_program
);

our $end = 'this is the last row';

# ---- the server and what happens in it --------------------------------------------

# A server with tables of each replica identity, publications, and two roles:
# "reader", for which pgoutput is the server's, and "dropin", for which it is ours.
sub client_node
{
	my ($name) = @_;
	my $node = new_node($name, conf => "logical_decoding_work_mem = '64kB'");
	my $dbh = $node->{dbh};

	$dbh->do($_) foreach (
		q{CREATE TYPE mood AS ENUM ('calm', 'glad')},
		q{CREATE DOMAIN amount AS numeric CHECK (VALUE > -1)},
		q{CREATE TABLE plain (a int PRIMARY KEY, t text, n numeric, at timestamptz, j jsonb, f float8,
			b bool, raw bytea, m mood, list int[], x amount, u uuid, "Odd name" varchar(20))},
		q{CREATE TABLE toasted (a int PRIMARY KEY, long text, short int)},
		q{ALTER TABLE toasted ALTER long SET STORAGE EXTERNAL},
		q{CREATE TABLE indexed (a int, b text NOT NULL, c int)},
		q{CREATE UNIQUE INDEX indexed_b ON indexed (b)},
		q{ALTER TABLE indexed REPLICA IDENTITY USING INDEX indexed_b},
		q{CREATE TABLE whole (a int, b text, long text)},
		q{ALTER TABLE whole ALTER long SET STORAGE EXTERNAL},
		q{ALTER TABLE whole REPLICA IDENTITY FULL},
		q{CREATE TABLE nothing (a int, b text)},
		q{ALTER TABLE nothing REPLICA IDENTITY NOTHING},
		q{CREATE TABLE part (a int PRIMARY KEY, b text) PARTITION BY RANGE (a)},
		q{CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (0) TO (100)},
		q{CREATE TABLE part_high PARTITION OF part FOR VALUES FROM (100) TO (200)},
		q{CREATE TABLE last_row (t text)},
		q{CREATE PUBLICATION pub FOR TABLE plain, toasted, indexed, whole, nothing, last_row},
		q{CREATE PUBLICATION via FOR TABLE part WITH (publish_via_partition_root)},
		q{CREATE ROLE reader LOGIN REPLICATION},
		q{CREATE ROLE dropin LOGIN REPLICATION},
		"ALTER ROLE dropin SET dynamic_library_path = '" . dropin_path() . q{'},
		q{SELECT pg_replication_origin_create('elsewhere')},
		q{SELECT pg_create_logical_replication_slot('base', 'pgoutput')});
	return $node;
}

# The changes: every kind of message that the protocol has.  Ends with the row that
# clients wait for.
sub workload
{
	my ($dbh) = @_;
	my $prepared = 0;

	foreach my $statement (
		q{INSERT INTO plain VALUES (1, 'Grüße, "world"', 1.50, '2026-11-30 12:00:00.5+01', '{"k": [1, null, "ü"]}',
			0.1, true, '\x00ff5c', 'glad', '{1,NULL,3}', 7, '00112233-4455-6677-8899-aabbccddeeff', 'odd')},
		q{INSERT INTO plain (a) VALUES (2), (3), (4)},
		q{INSERT INTO plain (a, t, n, f) VALUES (5, '', 'NaN', '-Infinity')},
		q{UPDATE plain SET t = 'other', at = '1999-01-01' WHERE a = 2},
		q{UPDATE plain SET a = 30 WHERE a = 3},
		q{DELETE FROM plain WHERE a = 4},
		q{INSERT INTO toasted VALUES (1, repeat('long ', 2000), 0), (2, repeat('more ', 2000), 0)},
		q{UPDATE toasted SET short = 1},
		q{UPDATE toasted SET a = 20 WHERE a = 2},
		q{UPDATE toasted SET long = 'short now' WHERE a = 1},
		q{INSERT INTO indexed VALUES (1, 'one', 1), (2, 'two', 2)},
		q{UPDATE indexed SET c = 10 WHERE b = 'one'},
		q{UPDATE indexed SET b = 'three' WHERE b = 'two'},
		q{DELETE FROM indexed WHERE b = 'one'},
		q{INSERT INTO whole VALUES (1, 'row', repeat('whole ', 2000)), (2, NULL, NULL)},
		q{UPDATE whole SET b = 'changed' WHERE a = 1},
		q{UPDATE whole SET b = 'filled' WHERE b IS NULL},
		q{DELETE FROM whole WHERE a = 1},
		q{INSERT INTO nothing VALUES (1, 'only inserted')},
		q{INSERT INTO part VALUES (1, 'low'), (150, 'high')},
		q{UPDATE part SET a = 151 WHERE a = 1},
		q{SELECT pg_logical_emit_message(true, 'client', 'in a transaction')},
		q{SELECT pg_logical_emit_message(false, 'client', 'outside of one')},
		q{TRUNCATE nothing, indexed RESTART IDENTITY},
		q{ALTER TABLE indexed ADD d int DEFAULT 4},
		q{INSERT INTO indexed VALUES (3, 'after DDL', 3)},
		[   q{INSERT INTO plain (a, t) SELECT i, 'large ' || i FROM generate_series(1000, 1999) i},
			'SAVEPOINT gone',
			q{INSERT INTO plain (a, t) SELECT i, 'rolled back' FROM generate_series(2000, 2999) i},
			'ROLLBACK TO gone',
			q{UPDATE plain SET t = 'streamed' WHERE a BETWEEN 1000 AND 1500},
			q{SELECT pg_logical_emit_message(true, 'client', 'in a large one')},
			'TRUNCATE part',
			'COMMIT' ],
		[ q{INSERT INTO plain (a, t) SELECT i, 'aborted' FROM generate_series(3000, 3999) i}, 'ROLLBACK' ],
		[ q{SELECT pg_replication_origin_session_setup('elsewhere')},
			q{SELECT pg_replication_origin_xact_setup('0/1234', '2026-01-01')},
			q{INSERT INTO plain (a, t) VALUES (40, 'with an origin')}, 'COMMIT' ],
		q{SELECT pg_replication_origin_session_reset()},
		[ q{INSERT INTO plain (a) VALUES (50)}, q{PREPARE TRANSACTION 'small, kept'} ],
		[ q{INSERT INTO plain (a) VALUES (51)}, q{PREPARE TRANSACTION 'small, undone'} ],
		[ q{INSERT INTO plain (a, t) SELECT i, 'large ' || i FROM generate_series(4000, 4999) i},
			q{PREPARE TRANSACTION 'large, kept'} ],
		[ q{INSERT INTO plain (a, t) SELECT i, 'large ' || i FROM generate_series(5000, 5999) i},
			q{PREPARE TRANSACTION 'large, undone'} ],
		q{COMMIT PREPARED 'small, kept'},
		q{COMMIT PREPARED 'large, kept'},
		q{ROLLBACK PREPARED 'small, undone'},
		q{ROLLBACK PREPARED 'large, undone'},
		"INSERT INTO last_row VALUES ('$end')")
	{
		if (ref $statement)
		{
			$dbh->do($_) foreach 'BEGIN', @$statement;
		}
		else
		{
			$dbh->do($statement);
		}
	}
	return;
}

# ---- a client's program -------------------------------------------------------------

# Starts a client: command is an array; user and whatever else the program wants
# come as parameters.
sub start_client
{
	my ($node, $command, %spec) = @_;
	my $json = JSON::PP->new->canonical->ascii->encode({
		host => $node->host, port => $node->port + 0, dbname => 'postgres', end => $end, %spec });
	my $client = { in => '', out => '', err => '', name => $command->[-1] };

	# What the environment says must not add to it.
	local @ENV{ grep { /^PG(?:HOST|PORT|USER|DATABASE|OPTIONS|APPNAME)/ } keys %ENV };
	delete @ENV{ grep { /^PG(?:HOST|PORT|USER|DATABASE|OPTIONS|APPNAME)/ } keys %ENV };
	$client->{run} = IPC::Run::start([ @$command, $json ], '<', \$client->{in}, '>', \$client->{out},
		'2>', \$client->{err}, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $client;
}

# Waits until the client has written this line, and takes what came up to it away.
# Returns it as an array of lines; undef when the client ended before.
sub wait_for_line
{
	my ($client, $line) = @_;
	my $at;

	while (($at = index "\n$client->{out}", "\n$line\n") < 0)
	{
		if (!eval { $client->{run}->pump })
		{
			eval { $client->{run}->finish };
			last if ($at = index "\n$client->{out}", "\n$line\n") >= 0;
			diag("$client->{name} ended before \"$line\":\n", substr($client->{err}, -3000));
			return;
		}
	}
	my $before = substr $client->{out}, 0, $at + 1 + length $line, '';
	return [ split /\n/, substr $before, 0, -1 - length $line ];
}

# Lets the client end, which it must do without an error.
sub end_client
{
	my ($client) = @_;

	$client->{run}->finish;
	diag("$client->{name}:\n", substr($client->{err}, -3000)) if $client->{run}->result(0) != 0;
	return $client->{run}->result(0) == 0;
}

# Waits until nobody is connected to the slot any more.
sub wait_until_free
{
	my ($node, $slot) = @_;
	$node->poll_query_until('postgres', "SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$slot'")
	  or die "slot $slot stays in use\n";
	return;
}

# The output plugins that the process which reads the slot has loaded, as one text.
sub libraries
{
	my ($node, $slot) = @_;
	my ($pid) = $node->{dbh}->selectrow_array('SELECT active_pid FROM pg_replication_slots WHERE slot_name = ?', undef, $slot);
	return 'nobody reads the slot' unless $pid;
	return process_libraries($pid);
}

# Runs a client over one slot from its start to the last row.  Returns what it
# delivered, an array of lines, and the libraries.
sub run_client
{
	my ($node, $command, %spec) = @_;
	my $client = start_client($node, $command, %spec);
	my $lines = wait_for_line($client, 'END') or return ([], '');
	# By the SQL functions the slot is in use no longer: then the client says who read it.
	my ($pid) = grep { /^PID / } @$lines;
	my $libraries = $pid ? process_libraries(substr $pid, 4) : libraries($node, $spec{slot});

	$lines = [ grep { !/^PID / } @$lines ];
	ok(end_client($client), "$client->{name} ends in order");
	wait_until_free($node, $spec{slot});
	return ($lines, $libraries);
}

# ---- comparison ---------------------------------------------------------------------

# Three slots of one position: read by the server's pgoutput, by ours as named in
# the slot, by ours as the role has it.
my $sets = 0;
my @ways = (
	{ name => 'pgoutput', user => 'reader', plugin => 'pgoutput', library => 'pgoutput' },
	{ name => 'named', user => 'reader', plugin => 'pgoutput_ext', library => 'pgoutput_ext' },
	{ name => 'drop-in', user => 'dropin', plugin => 'pgoutput', library => 'pgoutput_ext' });

# Tests: the client delivers the same in all three ways, with these options for the
# slot.  Returns the lines.  Parameters: ours => 1 if the options are not known
# to pgoutput, so that there are two ways.
sub compare_client
{
	my ($node, $command, $name, $options, %params) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $number = ++$sets;
	my ($expected, $expected_from);

	foreach my $way (@ways)
	{
		next if $params{ours} && $way->{name} eq 'pgoutput';
		my $slot = "slot_${number}_$way->{name}" =~ tr/-/_/r;
		$node->{dbh}->do('SELECT pg_copy_logical_replication_slot(?, ?, false, ?)', undef, 'base', $slot, $way->{plugin});
		my ($lines, $libraries) =
		  run_client($node, $command, user => $way->{user}, slot => $slot, options => $options, %params);
		is($libraries, $way->{library}, "$name, $way->{name}: decoded by $way->{library}");
		if (!$expected)
		{
			($expected, $expected_from) = ($lines, $way->{name});
			cmp_ok(scalar @$lines, '>', 20, "$name: the client delivers something");
		}
		else
		{
			is(first_difference($expected, $lines), '', "$name, $way->{name}: the same as $expected_from");
		}
		$node->{dbh}->do('SELECT pg_drop_replication_slot(?)', undef, $slot);
	}
	return $expected;
}

sub first_difference
{
	my ($expected, $got) = @_;
	my $n = @$expected > @$got ? @$expected : @$got;

	foreach my $i (0 .. $n - 1)
	{
		my ($want, $have) = map { $_->[$i] // '(end)' } $expected, $got;
		return sprintf "line %d of %d and %d:\n%s\n%s", $i + 1, scalar @$expected, scalar @$got, map { substr $_, 0, 2000 } $want, $have
		  if $want ne $have;
	}
	return '';
}

# The option sets of pgoutput that this server has, for clients that hand on bytes.
sub own_options
{
	my @both = (publication_names => 'pub,via');
	my @sets = (
		[ 'version 1' => { proto_version => 1, @both } ],
		[ 'binary, messages' => { proto_version => 1, binary => 'true', messages => 'true', @both } ],
		[ 'streaming' => { proto_version => 2, streaming => 'on', messages => 'true', @both } ]);
	push @sets, [ 'streaming, two_phase' => { proto_version => 3, streaming => 'on', two_phase => 'on', messages => 'true', @both } ]
	  if server_major() >= 15;
	push @sets,
	  [ 'parallel, two_phase' => {
			proto_version => 4, streaming => 'parallel', two_phase => 'on', messages => 'true', binary => 'true', @both } ],
	  [ 'origin none' => { proto_version => 1, origin => 'none', @both } ]
	  if server_major() >= 16;
	return @sets;
}

# The kinds of messages that must be among @types with these options, and are not.
sub missing_types
{
	my ($options, @types) = @_;
	my $streaming = $options->{streaming};
	my %seen = map { $_ => 1 } @types;
	my @wanted = (qw(B R Y I U D T C),
		($options->{origin} // '') eq 'none' ? () : 'O',
		$options->{messages} ? 'M' : (),
		$streaming ? qw(S E c) : (),
		$options->{two_phase} ? qw(b P K r) : (),
		$streaming && $options->{two_phase} ? 'p' : ());
	return grep { !$seen{$_} } @wanted;
}

# ---- what must be there ---------------------------------------------------------------

# Skips the whole test with a word on what is missing unless the command ends well.
sub skip_unless_program
{
	my ($what, @command) = @_;
	my ($out, $err) = ('', '');
	my $ok = eval { IPC::Run::run(\@command, '<', \undef, '>', \$out, '2>', \$err) };

	plan skip_all => "$what is not installed" unless $ok;
	return;
}

# Where Node.js finds its packages, from PGOUTPUT_EXT_CLIENTS (see
# scripts/clients-install); skips the whole test without the package.
sub node_package
{
	my ($package) = @_;

	skip_unless_program('Node.js 18', 'node', '-e', 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)');
	my $dir = $ENV{PGOUTPUT_EXT_CLIENTS} // '';
	plan skip_all => "npm's package $package is not installed (scripts/clients-install)"
	  unless -d "$dir/node_modules/$package";
	return "$dir/node_modules";
}

1;
