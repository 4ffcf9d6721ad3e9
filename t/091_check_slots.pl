# Every finding of pgoutput_ext_check about slots and settings on one server.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CheckUp;
use IPC::Run ();
use PgoutputExt;
use PostgreSQL::Test::Utils ();
use ReplicationClient;
use Test::More;

my $node = new_node('main', conf => "checkpoint_timeout = 1h");
my $dbh = $node->{dbh};
my $major = server_major();
my @inactive = (17, 'is inactive: no client reads from it, and it holds back WAL and VACUUM');

$dbh->do('CREATE EXTENSION pgoutput_ext');
$dbh->do('CREATE TABLE t (a int PRIMARY KEY, b text)');
$dbh->do('CREATE PUBLICATION p FOR TABLE t');

sub create { $dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, $_[0], $_[1] // plugin_name()); return; }
sub drop { $dbh->do('SELECT pg_drop_replication_slot(?)', undef, $_[0]); return; }

# The one row with the number, as "severity: finding | remedy", or '' for none.
sub row
{
	my ($number, %params) = @_;
	return join "\n", map { "$_->{severity}: $_->{finding} | $_->{remedy}" }
	  grep { $_->{number} == $number && $_->{object} =~ /^(?:slot|setting|publication|subscription)/ } check_rows($dbh, publications => ['p'], %params);
}

# Changes a setting of the server and waits until this session sees it.
sub setting
{
	my ($name, $value) = @_;
	$dbh->do(defined $value ? "ALTER SYSTEM SET $name = $value" : "ALTER SYSTEM RESET $name");
	my $before = $dbh->selectrow_array('SELECT pg_conf_load_time()');
	$dbh->do('SELECT pg_reload_conf()');
	select undef, undef, undef, 0.05 until $dbh->selectrow_array('SELECT pg_conf_load_time()') ne $before;
	return $dbh->selectrow_array('SELECT current_setting(?)', undef, $name);
}

# What reading the slot ends with.
sub reading
{
	my $read = read_slot($dbh, $_[0] // 's', options => [ standard_options('p') ]);
	return $read->{error} ? $read->{error}{sqlstate} : '00000';
}

# Something that streams from a physical slot, as a standby does.
sub standby
{
	my ($slot) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my $process = IPC::Run::start([ 'pg_receivewal', '-D', $directory, '-S', $slot, '--synchronous', '--no-loop', '-d', $node->connstr('postgres') ], '2>', \my $errors);
	$node->poll_query_until('postgres', "SELECT active FROM pg_replication_slots WHERE slot_name = '$slot'") or die "nothing streams: $errors\n";
	return bless { process => $process }, 'Standby';
}
sub Standby::finish { my ($self) = @_; $self->{process}->signal('INT'); $self->{process}->finish; return; }

# ---- 10 to 13: not a slot to read here ------------------------------------------

is(row(10), q{error: does not exist | SELECT pg_create_logical_replication_slot('s', 'pgoutput_ext')}, 'no slot');
is(reading(), '42704', 'no slot: the server says so');
$dbh->do(q{SELECT pg_create_logical_replication_slot('s', 'pgoutput_ext')});
is(row(10), '', 'no slot: gone');
is(reading(), '00000', 'no slot: it can be read');

$dbh->do(q{SELECT pg_create_physical_replication_slot('physical')});
is(row(11, slot => 'physical'), q{error: is a physical slot, which cannot be decoded | create a logical slot of another name: SELECT pg_create_logical_replication_slot('...', 'pgoutput_ext')}, 'a physical slot');
isnt(reading('physical'), '00000', 'a physical slot: the server says so');
is(row(11), '', 'a physical slot: gone for a logical one');
drop('physical');

my $other;
$dbh->do('CREATE DATABASE other');
$other = connect_db($node, dbname => 'other');
$other->do(q{SELECT pg_create_logical_replication_slot('s_other', 'pgoutput_ext')});
is(row(12, slot => 's_other'), 'error: belongs to database other | connect to that database', 'another database');
is(reading('s_other'), '55000', 'another database: the server says so');
$other->do('CREATE EXTENSION pgoutput_ext');
is_deeply([ grep { $_->{number} == 12 } check_rows($other, slot => 's_other') ], [], 'another database: gone there');
$other->do(q{SELECT pg_drop_replication_slot('s_other')});
$other->disconnect;

create('decoding', 'test_decoding');
my $copy = q{SELECT pg_copy_logical_replication_slot('decoding', '...', false, 'pgoutput_ext')};
is(row(13, slot => 'decoding'), "error: uses the output plugin test_decoding | create a slot with pgoutput_ext or pgoutput, or copy its position to one: $copy", 'another plugin');
isnt(reading('decoding'), '00000', 'another plugin: it does not know the options');
$dbh->do($copy =~ s/\.\.\./copied/r);
is(row(13, slot => 'copied'), '', 'another plugin: gone for the copy');
is(reading('copied'), '00000', 'another plugin: the copy can be read');
drop($_) foreach 'decoding', 'copied';

# ---- 17: inactive ------------------------------------------------------------------

is(row(17), "note: $inactive[1] | start its client, or drop it", 'inactive');
my $client = ReplicationClient->new($node);
$client->start('s', proto_version => 1, publication_names => 'p');
is(row(17), '', 'inactive: gone while its client reads');
$client->close;
$node->poll_query_until('postgres', q{SELECT bool_and(NOT active) FROM pg_replication_slots}) or die "still active\n";
$dbh->do(q{SELECT pg_create_physical_replication_slot('physical', true)});
is(row(17, slot => 'physical'), 'note: is inactive: a physical slot that no standby uses holds back WAL | start its standby, or drop it', 'inactive, physical');
is($dbh->selectrow_array(q{SELECT active FROM pg_replication_slots WHERE slot_name = 'physical'}), 0, 'inactive, physical: the server says so');
my $standby = standby('physical');
is(row(17, slot => 'physical'), '', 'inactive, physical: gone while something streams from it');
$standby->finish;
$node->poll_query_until('postgres', q{SELECT bool_and(NOT active) FROM pg_replication_slots}) or die "still active\n";
drop('physical');
is(row(17, slot => 'physical'), '', 'inactive, physical: gone once it is dropped');
drop('s');
is(row(17), '', 'inactive: gone once it is dropped');
create('s');

# ---- 16, 15, 14: behind, about to be lost, lost --------------------------------------

sub write_wal { $dbh->do(q{SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000000))}) foreach 1 .. 3; return; }

is(setting('max_slot_wal_keep_size', q{'4MB'}), '4MB', 'max_slot_wal_keep_size');
write_wal();
like(row(16), qr/^warning: \d+ kB behind \| see that its client reads and confirms$/, 'behind');
read_slot($dbh, 's', options => [ standard_options('p') ], get => 1);
is(row(16), '', 'behind: gone once it is read');

create('lost');
foreach (1 .. 3) { write_wal(); $dbh->do('SELECT pg_switch_wal()'); }
write_wal();
is($dbh->selectrow_array(q{SELECT wal_status FROM pg_replication_slots WHERE slot_name = 'lost'}), 'unreserved', 'the server calls it unreserved');
is(row(15, slot => 'lost'), 'error: is about to lose the WAL it needs | raise max_slot_wal_keep_size and reload, or read from it before the next checkpoint', 'about to be lost');
setting('max_slot_wal_keep_size', q{'1GB'});
is(row(15, slot => 'lost'), '', 'about to be lost: gone');
setting('max_slot_wal_keep_size', q{'4MB'});
$dbh->do('CHECKPOINT');
my $reason = $major >= 17 ? 'wal_removed' : 'the WAL it needs is gone';
is(row(14, slot => 'lost'), "error: is invalid: $reason | drop it, create it anew and copy the tables again", 'lost');
is_deeply([ grep { $_ != 14 } map { $_->{object} =~ /^slot/ ? $_->{number} : () } check_rows($dbh, slot => 'lost', publications => ['p']) ],
	[], 'lost: nothing else is said of it');
isnt(reading('lost'), '00000', 'lost: the server says so');
drop('lost');
create('lost');
is(row(14, slot => 'lost'), '', 'lost: gone');
is(reading('lost'), '00000', 'lost: it can be read');
drop('lost');
setting('max_slot_wal_keep_size', undef);
drop('s');
create('s');

# ---- 20: temporary -------------------------------------------------------------------

$other = connect_db($node);
$other->do(q{SELECT pg_create_logical_replication_slot('brief', 'pgoutput_ext', true)});
my $pid = $other->{pg_pid};
is(row(20, slot => 'brief'), "warning: is temporary: it is dropped when the session with process ID $pid ends or meets an error | create a permanent slot, if a client is to come again", 'temporary');
$other->disconnect;
$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_replication_slots WHERE slot_name = 'brief'}) or die "the slot stays\n";
create('brief');
is(row(20, slot => 'brief'), '', 'temporary: gone for a permanent one');
drop('brief');

# ---- 21: idle --------------------------------------------------------------------------

if ($major >= 18)
{
	create('idle');
	setting('idle_replication_slot_timeout', q{'1h'});
	like(row(21, slot => 'idle'), qr/^warning: is idle since \S+ \S+: the first checkpoint after \S+ \S+ makes it invalid, by idle_replication_slot_timeout \| start its client, or ALTER SYSTEM SET idle_replication_slot_timeout = 0, and reload$/, 'idle');
	setting('idle_replication_slot_timeout', q{'1s'});
	$node->poll_query_until('postgres', q{SELECT inactive_since + interval '1 s' < now() FROM pg_replication_slots WHERE slot_name = 'idle'});
	like(row(21, slot => 'idle'), qr/^error: is idle since/, 'idle for too long');
	setting('idle_replication_slot_timeout', 0);
	is(row(21, slot => 'idle'), '', 'idle: gone');
	$dbh->do('CHECKPOINT');
	is(reading('idle'), '00000', 'idle: it lives');
	setting('idle_replication_slot_timeout', q{'1s'});
	$node->poll_query_until('postgres', q{SELECT inactive_since + interval '1 s' < now() FROM pg_replication_slots WHERE slot_name = 'idle'});
	$dbh->do('CHECKPOINT');
	is(row(14, slot => 'idle'), 'error: is invalid: idle_timeout | drop it, create it anew and copy the tables again', 'idle: the server strikes');
	is(row(21, slot => 'idle'), '', 'idle: nothing else is said of it');
	setting('idle_replication_slot_timeout', undef);
	drop($_->[0]) foreach @{ $dbh->selectall_arrayref('SELECT slot_name FROM pg_replication_slots') };
	create('s');
}

# ---- 22, 23: failover ---------------------------------------------------------------------

if ($major >= 17)
{
	$dbh->do(q{SELECT pg_create_logical_replication_slot('kept', 'pgoutput_ext', false, false, true)});
	$dbh->do(q{SELECT pg_create_physical_replication_slot('standby', true)});
	is(row(22, slot => 'kept'), q{warning: has failover = true, but synchronized_standby_slots is empty: after a failover its client can be ahead of the new primary | name the standby's physical slot: ALTER SYSTEM SET synchronized_standby_slots = '...', and reload}, 'failover without standby slots');
	setting('synchronized_standby_slots', q{'standby'});
	is(row(22, slot => 'kept'), '', 'failover without standby slots: gone');
	is(row(23, slot => 'kept'), 'error: sends nothing: it waits for slot standby of synchronized_standby_slots, which no standby uses | start the standby of that slot, or take the slot out of synchronized_standby_slots and reload', 'a standby slot that nobody uses');
	is(row(23), '', 'other slots do not wait');
	$dbh->do('INSERT INTO t VALUES (1)');
	$dbh->do(q{SET statement_timeout = '2s'});
	is(reading('kept'), '57014', 'the server waits');
	$dbh->do('RESET statement_timeout');
	my $stream = standby('standby');
	is(row(23, slot => 'kept'), '', 'a standby slot that nobody uses: gone once its standby streams');
	is(reading('kept'), '00000', 'the server does not wait once its standby streams');
	$stream->finish;
	$node->poll_query_until('postgres', q{SELECT bool_and(NOT active) FROM pg_replication_slots}) or die "still active\n";
	drop('standby');
	is(row(23, slot => 'kept'), 'error: sends nothing: it waits for slot standby of synchronized_standby_slots, which does not exist | take the slot out of synchronized_standby_slots and reload', 'a standby slot that is gone');
	create('standby');
	is(row(23, slot => 'kept'), 'error: sends nothing: it waits for slot standby of synchronized_standby_slots, which is a logical one | take the slot out of synchronized_standby_slots and reload', 'a logical slot in the place of a standby slot');
	$dbh->do('INSERT INTO t VALUES (1001)');
	$dbh->do(q{SET statement_timeout = '2s'});
	is(reading('kept'), '57014', 'the server waits for it');
	$dbh->do('RESET statement_timeout');
	setting('synchronized_standby_slots', q{''});
	is(row(23, slot => 'kept'), '', 'a standby slot that nobody uses: gone');
	is(reading('kept'), '00000', 'the server does not wait any more');
	drop($_) foreach 'kept', 'standby';
}

# ---- 24, 25: what the slot has, who decodes it ------------------------------------------------

my $pgoutput = q{to have it decoded by pgoutput_ext, copy it: SELECT pg_copy_logical_replication_slot('plain', '...', false, 'pgoutput_ext')};
my $path = q{'$libdir/pgoutput_ext:$libdir'};
create('plain', 'pgoutput');
is(row(25), '', 'a slot of pgoutput_ext is decoded by it');
is(row(25, slot => 'plain'), "note: is decoded by the server's own pgoutput | $pgoutput", 'a slot of pgoutput');
$dbh->do('CREATE ROLE regress_reader REPLICATION');
$dbh->do(q{CREATE ROLE "regress Other"});
$dbh->do("ALTER ROLE regress_reader SET dynamic_library_path = $path");
$dbh->do(qq{ALTER ROLE "regress Other" IN DATABASE postgres SET dynamic_library_path = $path});
$dbh->do(q{ALTER ROLE "regress Other" SET dynamic_library_path = '$libdir:$libdir/pgoutput_ext'});
$dbh->do("ALTER DATABASE other SET dynamic_library_path = $path");
is(row(25, slot => 'plain'),
	qq{note: is decoded by the server's own pgoutput, for every role but: "regress Other" (role) in postgres (database), regress_reader (role) | $pgoutput}, 'some roles have the folder first');
setting('dynamic_library_path', $path);
is(row(25, slot => 'plain'),
	'note: is decoded by pgoutput_ext, found first in dynamic_library_path, for every role but: "regress Other" (role) | take $libdir/pgoutput_ext out of dynamic_library_path, where the server\'s pgoutput is wanted', 'the server has it first');
# what decodes is told by an option that pgoutput does not know
sub decodes
{
	my $other = connect_db($node);
	my $read = read_slot($other, 'plain', options => [ standard_options('p'), missing_publication => 'error' ]);
	$other->disconnect;
	return $read->{error} ? 'pgoutput' : 'pgoutput_ext';
}
is(decodes(), 'pgoutput_ext', 'the server has it first: so it does');
setting('dynamic_library_path', q{'$libdir'});
like(row(25, slot => 'plain'), qr/^note: is decoded by the server's own pgoutput, for every role but: /, 'the server has it first: gone once the folder is taken out');
is(decodes(), 'pgoutput', 'once the folder is taken out: so it does');
setting('dynamic_library_path', undef);
$dbh->do("DROP ROLE $_") foreach 'regress_reader', '"regress Other"';
$dbh->do($pgoutput =~ s/^.*: //r =~ s/\.\.\./copied/r);
is(row(25, slot => 'copied'), '', 'a slot of pgoutput: gone for the copy');
drop($_) foreach 'plain', 'copied';

if ($major >= 15)
{
	$dbh->do(q{SELECT pg_create_logical_replication_slot('two', 'pgoutput_ext', false, true)});
	like(row(24, slot => 'two'), qr/^note: has two_phase = true: prepared transactions come at PREPARE TRANSACTION/, 'two_phase');
	like(row(24), qr/^note: has two_phase = false: prepared transactions come at COMMIT PREPARED/, 'no two_phase');
	my ($look) = row(24) =~ /\| see that its subscription says the same: (SELECT .*)$/;
	is_deeply($dbh->selectall_arrayref($look), [], 'two_phase: what the remedy says to ask can be asked');
	$dbh->begin_work;
	$dbh->do('INSERT INTO t VALUES (77)');
	$dbh->do(q{PREPARE TRANSACTION 'x'});
	my @types = map { join '', map { substr $_->[2], 0, 1 } @{ read_slot($dbh, $_, options => [ standard_options('p', proto_version => 3) ])->{rows} } } 'two', 's';
	like($types[0], qr/P$/, 'two_phase: at PREPARE TRANSACTION');
	unlike($types[1], qr/P/, 'no two_phase: not at PREPARE TRANSACTION');
	$dbh->commit unless $dbh->{AutoCommit};
	$dbh->do(q{ROLLBACK PREPARED 'x'});
	drop('two');
}

# ---- 29: output_plugin_libraries -----------------------------------------------------------------

if ($dbh->selectrow_array(q{SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'}))
{
	setting('output_plugin_libraries', 'pgoutput, test_decoding');
	is(row(29), 'error: does not list pgoutput_ext, so that the slot cannot be read in a session like this one | ALTER SYSTEM SET output_plugin_libraries = pgoutput, test_decoding, pgoutput_ext, and reload', 'not listed');
	is(reading(), '42501', 'not listed: the server says so');
	setting('output_plugin_libraries', 'pgoutput, test_decoding, pgoutput_ext');
	is(row(29), '', 'not listed: gone');
	is(reading(), '00000', 'not listed: it can be read');
}

# ---- 30, 32: publications and the slot's position ----------------------------------------------------

is(row(30, publications => ['young']), 'error: does not exist | create it, and read the slot past its creation without naming it, or move it there with pg_replication_slot_advance', 'no publication');
$dbh->do('DELETE FROM t');
$dbh->do('INSERT INTO t VALUES (2)');
$dbh->do('CREATE PUBLICATION young FOR TABLE t');
is(row(30, publications => ['young']), '', 'no publication: gone');
is(row(32, publications => ['young']), q{warning: may be younger than the slot's position, and not exist for older changes | read the slot past its creation and a checkpoint after it, or move it there with pg_replication_slot_advance}, 'a young publication');
is(read_slot($dbh, 's', options => [ standard_options('young') ])->{error}{sqlstate} // '', $major >= 19 ? '' : '42704', 'a young publication: the server says so') if $major < 18;
foreach (1, 2)
{
	$dbh->do('CHECKPOINT');
	$dbh->do(q{SELECT pg_replication_slot_advance('s', pg_current_wal_lsn())});
}
is(row(32, publications => ['young']), '', 'a young publication: gone');
$dbh->do('INSERT INTO t VALUES (3)');
is(read_slot($dbh, 's', options => [ standard_options('young') ])->{error}, undef, 'a young publication: the slot can be read');

# ---- 60, 61, 28: settings ---------------------------------------------------------------------------

# A new session's text of a value that depends on the setting, and what it has to be.
my %text = (
	DateStyle => [ q{SELECT '2026-02-01'::date}, '2026-02-01' ],
	IntervalStyle => [ q{SELECT '1 day 2 h'::interval}, '1 day 02:00:00' ],
	bytea_output => [ q{SELECT '\x41'::bytea::text}, '\x41' ],
	extra_float_digits => [ q{SELECT (1::float8 / 3)::text}, '0.3333333333333333' ]);

sub text_is_good
{
	my ($name) = @_;
	my $text = qx{psql -X -A -t -d "@{[ $node->connstr('postgres') ]} user=regress_text" -c "$text{$name}[0]"};
	chomp $text;
	return $text eq $text{$name}[1] ? 1 : 0;
}

$dbh->do('CREATE ROLE regress_text LOGIN REPLICATION');
foreach my $case ([ 'DateStyle', q{'SQL', 'DMY'}, 'SQL, DMY', 'ISO' ], [ 'IntervalStyle', q{'iso_8601'}, 'iso_8601', 'postgres' ], [ 'bytea_output', q{'escape'}, 'escape', 'hex' ], [ 'extra_float_digits', '0', '0', '1' ])
{
	my ($name, $odd, $shown, $good) = @$case;
	my $found = sub { join "\n", map { "$_->{finding} | $_->{remedy}" } grep { $_->{number} == $_[0] && $_->{object} eq "setting $name" } check_rows($dbh, publications => ['p']) };
	setting($name, $odd);
	is($found->(60), "is $shown by default | ALTER SYSTEM SET $name = '$good' and reload, or set it for the client's role, or use the option value_format", "$name of the server");
	is(text_is_good($name), 0, "$name of the server: a session's text says so");
	setting($name, $found->(60) =~ /ALTER SYSTEM SET \w+ = (\S+)/);
	is($found->(60), '', "$name of the server: gone");
	is(text_is_good($name), 1, "$name of the server: a session's text says so");
	setting($name, undef);

	foreach my $where (
		[ 'DATABASE postgres', ' in this database' ],
		[ 'ROLE ALL', ' for all roles' ],
		[ 'ROLE regress_text', ' for role regress_text' ],
		[ 'ROLE regress_text IN DATABASE postgres', ' for role regress_text in this database' ])
	{
		my ($of, $words) = @$where;
		$dbh->do("ALTER $of SET $name = $odd");
		is($found->(61), "is $shown$words | ALTER $of SET $name = '$good', or use the option value_format", "$name of $of");
		is(text_is_good($name), 0, "$name of $of: a session's text says so");
		# a new session does not take it for the server's own
		my $other = connect_db($node);
		is_deeply([ grep { $_->{number} == 60 } check_rows($other, publications => ['p']) ], [], "$name of $of: not the server's");
		$other->disconnect;
		$dbh->do($found->(61) =~ /\| (.*), or use/);
		is($found->(61), '', "$name of $of: gone");
		is(text_is_good($name), 1, "$name of $of: a session's text says so");
		$dbh->do("ALTER $of RESET $name");
	}
}
# what the server is started with goes before what ALTER SYSTEM sets
{
	my $started = sub {
		$dbh->disconnect;
		system('pg_ctl', '-D', $node->data_dir, '-l', $node->logfile, '-o', "-c $_[0]", '-w', 'restart') == 0 or die "the server does not start\n";
		$node->restart;    # with the same options, which PostgreSQL::Test knows of then
		$dbh = connect_db($node);
		return map { "$_->{finding} | $_->{remedy}" } grep { $_->{number} == 60 } check_rows($dbh, publications => ['p']);
	};
	is_deeply([ $started->('bytea_output=escape') ], [q{is escape by default | set it for the client's role, or use the option value_format}], 'bytea_output of the command line');
	is(text_is_good('bytea_output'), 0, "bytea_output of the command line: a session's text says so");
	$dbh->do(q{ALTER ROLE regress_text SET bytea_output = 'hex'});
	is(text_is_good('bytea_output'), 1, "bytea_output of the command line, set for the role: a session's text says so");
	is_deeply([ $started->('bytea_output=hex') ], [], 'bytea_output of the command line: gone');
}
$dbh->do('DROP ROLE regress_text');

setting('wal_level', 'replica');
$dbh->do('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');
$dbh->disconnect;
$node->restart;
$dbh = connect_db($node);
if ($major < 19)
{
	is(row(28), q{error: is replica | ALTER SYSTEM SET wal_level = 'logical', and restart the server}, 'wal_level');
	is(sqlstate($dbh, q{SELECT pg_create_logical_replication_slot('s', 'pgoutput')}), '55000', 'wal_level: the server says so');
	$dbh->do(q{ALTER SYSTEM SET wal_level = 'logical'});
	$dbh->disconnect;
	$node->restart;
	$dbh = connect_db($node);
}
is(row(28), '', 'wal_level: gone');
create('s');
is(reading(), '00000', 'wal_level: a slot can be made and read');
$dbh->disconnect;
done_testing();
