# docs/OPERATIONS.md, "When it fails": each failure is made, and what the server says is on
# the page, in its words, for this version.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use DropinServer;
use IPC::Run ();
use PgoutputExt;
use PostgreSQL::Test::Utils;
use Recipe;
use ReplicationClient;
use Test::More;

my $major = server_major();
my $installation = copy_installation();
my $library = "$installation->{directory}.so";
my $node = new_node('main', install_path => $installation->{install_path}, conf => "max_wal_size = 64MB\nmin_wal_size = 32MB\n");
my $dbh = $node->{dbh};

$dbh->do('CREATE TABLE t (a int PRIMARY KEY, b bytea, c varbit, d varbit)');
$dbh->do('CREATE PUBLICATION p FOR TABLE t');
$dbh->do('CREATE DATABASE other');
$dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, 's', 'pgoutput_ext');

# Makes a new session (by a function of a node, a database and more), reads a slot in it, and looks for
# the error on the page. Returns the error's detail.
sub fails
{
	my ($name, $slot, %params) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $session = connect_db($params{node} // $node, dbname => $params{dbname}, user => $params{user});
	$session->do("SET bytea_output = 'escape'");
	my $error = read_slot($session, $slot, options => $params{options} // [ standard_options('p') ])->{error};
	$session->disconnect;
	return fail("$name: no error") && undef unless $error;
	my $message = $error->{message_primary} =~ s/"SLOT"/"$slot"/r =~ s/"PLUGIN"/"pgoutput_ext"/r;
	told_on_page('When it fails', $name, $message, $error->{sqlstate});
	return $error->{message_detail};
}

# A lost slot, the reason of which is in the detail: in SQL, and on a replication connection.
sub lost
{
	my ($reason, $slot, %params) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	told_on_page('When it fails', "$reason, SQL", fails($reason, $slot, %params) // '(no detail)');
	IPC::Run::run(
		[ 'psql', '-X', '-d', $node->connstr('postgres') . ' replication=database', '-c', qq{START_REPLICATION SLOT "$slot" LOGICAL 0/0 (proto_version '1', publication_names 'p')} ],
		'>', \my $out, '2>', \my $error);
	told_on_page('When it fails', "$reason, walsender", $error =~ /^ERROR:\s+(.*)/ ? $1 : $error, '55000');
	told_on_page('When it fails', "$reason, walsender", $error =~ /^DETAIL:\s+(.*)/m ? $1 : '(no detail)');
	return;
}

sub setting
{
	my ($name, $value) = @_;
	$dbh->do(defined $value ? "ALTER SYSTEM SET $name = $value" : "ALTER SYSTEM RESET $name");
	$dbh->do('SELECT pg_reload_conf()');
	return;
}

# ---- the library -------------------------------------------------------------------------

rename $library, "$library.away" or die "$library: $!\n";
fails('not installed', 's');
my $text = PgoutputExt::read_text("$library.away");
my $magic = pack 'l3', $major * 100, 100, 32;
$text =~ s/\Q$magic\E/pack 'l3', ($major - 1) * 100, 100, 32/e or die "no version in the library\n";
append_to_file($library, $text);
fails('of another major', 's');
unlink $library;
rename "$library.away", $library or die "$library: $!\n";

if ($dbh->selectrow_array(q{SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'}))
{
	setting('output_plugin_libraries', 'pgoutput, test_decoding');
	$node->poll_query_until('postgres', q{SELECT current_setting('output_plugin_libraries') = 'pgoutput, test_decoding'}) or die "no reload\n";
	fails('not allowed', 's');
	setting('output_plugin_libraries', undef);
	$node->poll_query_until('postgres', q{SELECT current_setting('output_plugin_libraries') ~ 'ext'}) or die "no reload\n";
}

# ---- what is asked for -------------------------------------------------------------------

fails('an option', 's', options => [ standard_options('p', unchanged_toasts => 'fill') ]);
$dbh->do('INSERT INTO t VALUES (1)');
if ($major < 18)
{
	fails('a publication', 's', options => [ standard_options('none') ]);
}
else
{
	my $result = read_slot($dbh, 's', options => [ standard_options('none') ]);
	is($result->{error}, undef, 'a publication: a warning');
	told_on_page('When it fails', 'a publication', $result->{warnings}[0] =~ s/^WARNING:\s+//r =~ s/\n.*//sr, '55000');
}
fails('a slot', 'none');
fails('another database', 's', dbname => 'other');
$dbh->do(q{SELECT pg_create_physical_replication_slot('physical', true)});
fails('a physical slot', 'physical');
$dbh->do(q{SELECT pg_drop_replication_slot('physical')});

my $client = ReplicationClient->new($node);
$client->start('s', proto_version => 1, publication_names => 'p');
fails('in use', 's');
$client->stop;
$client->close;
$node->poll_query_until('postgres', 'SELECT bool_and(NOT active) FROM pg_replication_slots') or die "active\n";

# 270 million bytes, each of which has four characters; and bits, each of which has one.
sub bits { return join ' || ', map { '0::bit(80000000)' } 1 .. $_[0] }
sub row { $dbh->do('TRUNCATE t'); $dbh->do("SELECT FROM pg_replication_slot_advance('s', pg_current_wal_lsn())"); $dbh->do("INSERT INTO t VALUES (1, $_[0])"); return; }
row(q{convert_to(repeat(E'\x01', 270000000), 'UTF8'), NULL, NULL});
fails('a large bytea', 's');
row('NULL, ' . bits(14) . ', NULL');
fails('a large value', 's');
if ($ENV{PGOUTPUT_EXT_LARGE})
{
	row('NULL, ' . bits(7) . ', ' . bits(7));
	like(fails('a large row', 's'), qr/^Cannot enlarge string buffer/, 'a large row: the detail');
}
$dbh->do('TRUNCATE t');

# ---- lost slots ---------------------------------------------------------------------------

setting('max_slot_wal_keep_size', q{'1MB'});
my $until = time + $PostgreSQL::Test::Utils::timeout_default;
until ($dbh->selectrow_array(q{SELECT wal_status FROM pg_replication_slots WHERE slot_name = 's'}) eq 'lost')
{
	die "the slot is not lost\n" if time > $until;
	$dbh->do(q{SELECT pg_logical_emit_message(false, '', 'next segment'), pg_switch_wal()});
	$dbh->do('CHECKPOINT');
}
lost('wal_removed', 's');
setting('max_slot_wal_keep_size', undef);
$dbh->do(q{SELECT pg_drop_replication_slot('s')});

if ($major >= 18)
{
	$dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, 's', 'pgoutput_ext');
	setting('idle_replication_slot_timeout', q{'1s'});
	$node->poll_query_until('postgres', q{SELECT inactive_since + interval '1 s' < now() FROM pg_replication_slots}) or die "not idle\n";
	$dbh->do('CHECKPOINT');
	lost('idle_timeout', 's');
	setting('idle_replication_slot_timeout', undef);
	$dbh->do(q{SELECT pg_drop_replication_slot('s')});
}

$dbh->disconnect;
$node->stop;
done_testing();
