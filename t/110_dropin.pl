# Drop-in: which roles and databases have pgoutput from us, who may say so, and what
# happens without the file.  No byte of a stream tells the library; what does is an
# option that only ours knows, and what the process has loaded.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use DropinServer;
use PgoutputExt;
use ReplicationClient;
use Test::More;

my $installation = copy_installation();
my $node = new_node('main', install_path => $installation->{install_path});
my $dbh = $node->{dbh};
my $path = dropin_path();

$dbh->do($_) foreach (
	'CREATE DATABASE other',
	'CREATE TABLE t (a int PRIMARY KEY)',
	'CREATE PUBLICATION pub FOR TABLE t',
	'CREATE ROLE ours LOGIN REPLICATION',
	'CREATE ROLE plain LOGIN REPLICATION',
	q{SELECT pg_create_logical_replication_slot('one', 'pgoutput')},
	q{SELECT pg_create_logical_replication_slot('two', 'pgoutput')});
my $other = connect_db($node, dbname => 'other');
$other->do('CREATE TABLE t (a int PRIMARY KEY)');
$other->do('CREATE PUBLICATION pub FOR TABLE t');
$other->do(q{SELECT pg_create_logical_replication_slot('elsewhere', 'pgoutput')});
$_->do('INSERT INTO t VALUES (1)') foreach $dbh, $other;

my %slot = (postgres => 'one', other => 'elsewhere');

# The messages of what was read, without the empty transactions that 14 sends for
# each ALTER ROLE.
sub changes
{
	my ($result) = @_;
	return [ without_empty(sub { $_[0][2] }, @{ $result->{rows} }) ];
}

# Test: what the role has in the database, in SQL and on a replication connection.
sub has
{
	my ($role, $database, $library, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	is(decoded_in_sql($node, $slot{$database}, user => $role, dbname => $database), $library, "$name: $role in $database, SQL");
	is(decoded_by_walsender($node, $slot{$database}, user => $role, database => $database),
		$library, "$name: $role in $database, walsender");
	return;
}

# ---- for whom -----------------------------------------------------------------------

has('ours', 'postgres', 'pgoutput', 'nothing set');

$dbh->do("ALTER ROLE ours SET dynamic_library_path = '$path'");
has('ours', 'postgres', 'pgoutput_ext', 'by role');
has('ours', 'other', 'pgoutput_ext', 'by role');
has('plain', 'postgres', 'pgoutput', 'by role');

$dbh->do("ALTER DATABASE other SET dynamic_library_path = '$path'");
has('plain', 'other', 'pgoutput_ext', 'by database');
has('plain', 'postgres', 'pgoutput', 'by database');

$dbh->do("ALTER ROLE plain IN DATABASE postgres SET dynamic_library_path = '$path'");
$dbh->do(q{ALTER ROLE ours IN DATABASE other SET dynamic_library_path = '$libdir'});
has('plain', 'postgres', 'pgoutput_ext', 'by role and database');
has('ours', 'other', 'pgoutput', 'by role and database, which goes before each of them');
$dbh->do('ALTER ROLE plain IN DATABASE postgres RESET dynamic_library_path');
$dbh->do('ALTER ROLE ours IN DATABASE other RESET dynamic_library_path');
$dbh->do('ALTER DATABASE other RESET dynamic_library_path');

# Who has it, by the query of docs/OPERATIONS.md.
my ($query) = PgoutputExt::read_text("$FindBin::RealBin/../docs/OPERATIONS.md") =~ /^(SELECT coalesce\(datname.*?;)$/ms;
is_deeply($dbh->selectall_arrayref($query), [ [ '(all)', 'ours', "dynamic_library_path=$path" ] ], 'OPERATIONS.md: who has it');

# For the whole server; a walsender that runs stays with the library it has.
my $running = start_walsender($node, 'two', user => 'plain');
is(process_libraries($running->pid), 'pgoutput', 'running: begun with the server\'s');
$dbh->do("ALTER SYSTEM SET dynamic_library_path = '$path'");
$node->reload;
$node->poll_query_until('postgres', "SELECT setting = '$path' FROM pg_settings WHERE name = 'dynamic_library_path'")
  or die "not reloaded\n";
has('plain', 'postgres', 'pgoutput_ext', 'by server');
has('plain', 'other', 'pgoutput_ext', 'by server');
$dbh->do('INSERT INTO t VALUES (2)');
my @more = map { my $last = $_; $running->read_until(sub { $_[0]{data} =~ /^$last/ }) } qw(I I C);
is(join('', map { substr $_->{data}, 0, 1 } without_empty(sub { $_[0]{data} }, @more)), 'BRICBIC', 'running: it goes on');
is(process_libraries($running->pid), 'pgoutput', 'running: with the library it has');
$running->stop;
$running->close;
$dbh->do('ALTER SYSTEM RESET dynamic_library_path');
$node->reload;
$node->poll_query_until('postgres', q{SELECT setting = '$libdir' FROM pg_settings WHERE name = 'dynamic_library_path'})
  or die "not reloaded\n";
has('plain', 'postgres', 'pgoutput', 'no longer by server');

# ---- at once --------------------------------------------------------------------------

my %client = (one => start_walsender($node, 'one', user => 'ours'), two => start_walsender($node, 'two', user => 'plain'));
is(process_libraries($client{one}->pid), 'pgoutput_ext', 'two roles at once: ours');
is(process_libraries($client{two}->pid), 'pgoutput', 'two roles at once: the server\'s');
my %got = map { my $slot = $_; $slot => join '', map { unpack 'H*', $_->{data} } map { $client{$slot}->read_until(sub { $_[0]{data} =~ /^C/ }) } 1, 2 } keys %client;
is($got{one}, $got{two}, 'two roles at once: the same messages');
$_->stop, $_->close foreach values %client;

# A slot that such a role makes is one of pgoutput, for everyone.
my $maker = ReplicationClient->new($node, user => 'ours');
$maker->query('CREATE_REPLICATION_SLOT made LOGICAL pgoutput NOEXPORT_SNAPSHOT');
is(process_libraries($maker->pid), 'pgoutput_ext', 'a slot that the role makes: decoded by ours from the first record');
$maker->close;
is($dbh->selectrow_array(q{SELECT plugin FROM pg_replication_slots WHERE slot_name = 'made'}), 'pgoutput',
	'a slot that the role makes: of pgoutput');
is(decoded_in_sql($node, 'made', user => 'plain'), 'pgoutput', 'a slot that the role makes: another role reads it with the server\'s');

# Both libraries in one backend, the same of ours under both names, and the same bytes.
my $session = connect_db($node);
my ($pid) = $session->selectrow_array('SELECT pg_backend_pid()');
my @options = (options => [ standard_options('pub') ]);
is(decoded_in_sql($node, 'two', dbh => $session), 'pgoutput', 'one session: the server\'s');
my $before = read_slot($session, 'two', @options);
set_session($session, dynamic_library_path => $path);
is(decoded_in_sql($node, 'two', dbh => $session), 'pgoutput_ext', 'one session: ours');
my $after = read_slot($session, 'two', @options);
is_deeply($after->{rows}, $before->{rows}, 'one session: the same messages');
$session->do(q{SELECT pg_copy_logical_replication_slot('two', 'named', true, 'pgoutput_ext')});
is_deeply(read_slot($session, 'named', @options)->{rows}, $before->{rows}, 'one session: the same from a slot that names it');
is(process_libraries($pid), 'pgoutput pgoutput_ext', 'one session: both are loaded');
$session->disconnect;

# ---- who may ----------------------------------------------------------------------------

# The error of a statement by a role: its SQLSTATE, or nothing.
sub error_of
{
	my ($role, $statement, %params) = @_;
	my $session = connect_db($node, user => $role, raise => 0, %params);
	$session->do($statement);
	my $state = $session->err ? $session->state : '';
	$session->disconnect;
	return $state;
}

my $own = "ALTER ROLE plain SET dynamic_library_path = '$path'";
is(error_of('plain', "SET dynamic_library_path = '$path'"), '42501', 'who may: not a role with REPLICATION for its session');
is(error_of('plain', $own), '42501', 'who may: nor for itself');
$dbh->do('CREATE DATABASE owned OWNER plain');
is(error_of('plain', "ALTER DATABASE owned SET dynamic_library_path = '$path'"), '42501', 'who may: nor for a database of its own');
{
	local $ENV{PGOPTIONS} = "-c dynamic_library_path=$path";
	ok(!eval { connect_db($node, user => 'plain'); 1 }, 'who may: nor at start-up');
	like($DBI::errstr, qr/permission denied to set parameter "dynamic_library_path"/, 'who may: which says why');
}
my $refused = eval { ReplicationClient->new($node, user => 'plain', options => "-c dynamic_library_path=$path"); '' } // $@;
like($refused, qr/42501 permission denied to set parameter/, 'who may: nor at the start of a replication connection');

if (server_major() >= 15)
{
	$dbh->do('GRANT SET ON PARAMETER dynamic_library_path TO plain');
	is(error_of('plain', $own), '', 'granted: the role sets it');
	$dbh->do('REVOKE SET ON PARAMETER dynamic_library_path FROM plain');
	is(error_of('plain', $own), '42501', 'revoked: it can set it no more');
	has('plain', 'postgres', 'pgoutput_ext', 'revoked, but what it stored is there');
	$dbh->do('ALTER ROLE plain RESET dynamic_library_path');
	has('plain', 'postgres', 'pgoutput', 'until a superuser takes it away');
}

# ---- without the file ---------------------------------------------------------------------

take_link_away($installation);
has('ours', 'postgres', 'pgoutput', 'no directory');
mkdir $installation->{directory};
has('ours', 'postgres', 'pgoutput', 'an empty directory');
rmdir $installation->{directory};
my $without = connect_db($node, user => 'ours');
is_deeply(changes(read_slot($without, 'one', @options)), changes($before), 'no directory: the same messages, in silence');
is(read_slot($without, 'one', options => [ standard_options('pub', unchanged_toast => 'fill') ])->{error}{message_primary},
	'unrecognized pgoutput option: unchanged_toast', 'no directory: an option of ours is an error');
$without->disconnect;

# A library of another major version: our own, with another version in what the
# server checks before it calls anything.
my $major = server_major();
chomp(my $pkglibdir = `pg_config --pkglibdir`);
my $library = PgoutputExt::read_text("$pkglibdir/pgoutput_ext.so");
my $magic = pack 'l3', $major * 100, 100, 32;
is(scalar(my @found = $library =~ /\Q$magic\E/g), 1, 'another major: the library says its version once');
$library =~ s/\Q$magic\E/pack 'l3', ($major - 1) * 100, 100, 32/e;
mkdir $installation->{directory};
PostgreSQL::Test::Utils::append_to_file("$installation->{directory}/pgoutput.so", $library);
like(decoded_in_sql($node, 'one', user => 'ours'), qr/incompatible library .*version mismatch/, 'another major: an error');
is(decoded_in_sql($node, 'one', user => 'plain'), 'pgoutput', 'another major: other roles are not concerned');
unlink "$installation->{directory}/pgoutput.so";
put_link($installation);
has('ours', 'postgres', 'pgoutput_ext', 'the file is there again');

# ---- what is installed ----------------------------------------------------------------------

my $installed = "$pkglibdir/pgoutput_ext";
opendir my $directory, $installed or die "no $installed: $!\n";
is(join(' ', sort grep { !/^\.\.?$/ } readdir $directory), 'pgoutput.so', 'installed: one file');
is(readlink "$installed/pgoutput.so", '../pgoutput_ext.so', 'installed: a link to the library');
is((stat $installed)[2] & 022, 0, 'installed: nobody but the owner writes there');

$_->disconnect foreach $dbh, $other;
$node->stop;
done_testing();
