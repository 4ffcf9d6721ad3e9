# docs/OPERATIONS.md, "pg_upgrade with slots": what pg_upgrade refuses, in its words, and an
# upgrade after which the slot is read on. NEWER_PG_CONFIG is the pg_config of a newer
# major, into which the library is installed, too; scripts/test sees to that.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use DropinServer;
use IPC::Run ();
use PgoutputExt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils ();
use Recipe;
use Test::More;

plan skip_all => 'pg_upgrade takes slots along from PostgreSQL 17 on' if server_major() < 17;
plan skip_all => 'no server of a newer major to upgrade to (NEWER_PG_CONFIG names one)' unless $ENV{NEWER_PG_CONFIG};

my $title = 'pg_upgrade with slots';
my $page = section($title) =~ s/\s+/ /gr;
my $newer = copy_installation($ENV{NEWER_PG_CONFIG});
my $library = "$newer->{directory}.so";

# Without checksums, which was the default before 18.
my $old = new_node('old', initdb => server_major() >= 18 ? ['--no-data-checksums'] : []);
my $dbh = $old->{dbh};
$dbh->do('CREATE EXTENSION pgoutput_ext');
$dbh->do('CREATE TABLE t (a int PRIMARY KEY)');
$dbh->do('CREATE PUBLICATION pub FOR TABLE t');
$dbh->do(q{SELECT pg_create_logical_replication_slot('changes', 'pgoutput_ext', false, true)});
$dbh->do('INSERT INTO t VALUES (1)');
$dbh->disconnect;

# The server's default; the recipe has another.
my $new = new_node('new', install_path => $newer->{install_path}, start => 0, conf => "output_plugin_libraries = 'pgoutput, test_decoding'\n");
my %run = (
	at => { 'old server' => $old },
	env => {
		OLD_BIN => $old->config_data('--bindir'),
		NEW_BIN => "$newer->{install_path}/bin",
		OLD_DATA => $old->data_dir,
		NEW_DATA => $new->data_dir });
my (undef, $stop, undef, $check) = recipe_blocks($title);

# Runs --check: it must refuse, with these words and with this line in the file that it
# names, as the page has them.
sub refuses
{
	my ($name, $words, $line) = @_;
	my ($done, $out) = run_block($check, %run);
	ok(!$done, "$name: refused");
	like($out, qr/^\Q$words\E$/m, "$name: the words") or diag($out);
	my ($file) = $out =~ /^ +(\S+\.txt)$/m;
	like(PgoutputExt::read_text($file // '/dev/null'), qr/^\Q$line\E$/m, "$name: the line in the file");
	my $general = $line =~ s/slot "changes"/slot "..."/r =~ s/\s+/ /gr;
	like($page, qr/\Q$words\E/, "$name: the page has the words");
	like($page, qr/`\Q$general\E`/, "$name: the page has the line");
	return;
}

$old->stop;
{
	my $words = 'old cluster does not use data checksums but the new one does';
	my ($done, $out) = run_block($check, %run);
	ok(!$done, 'checksums: refused');
	like($out, qr/^\Q$words\E$/m, 'checksums: the words');
	my ($remedy) = $page =~ /`\Q$words\E` \| .*?`("\$OLD_BIN.*?)`/;
	($done, $out) = run_block({ %$stop, text => $remedy // 'false' }, %run);
	ok($done, 'checksums: the remedy of the page') or diag($out);
}
refuses('not consumed', 'Your installation contains logical replication slots that cannot be upgraded.', 'The slot "changes" has not consumed the WAL yet');

# The slot's client, which runs while the server stops.
$old->start;
my $out = '';
my $client = IPC::Run::start(
	[ 'pg_recvlogical', '-d', $old->connstr('postgres'), '-S', 'changes', '--start', '--no-loop', '-f', '-', '-o', 'proto_version=3', '-o', 'publication_names=pub' ],
	'<', \undef, '>', \$out, '2>', \my $err);
$old->poll_query_until('postgres', 'SELECT active FROM pg_replication_slots') or die "no client\n";
my ($done, $text) = run_block($stop, %run);
ok($done, 'the old server is stopped') or diag($text);
$client->finish;
like($out, qr/^I/m, 'the client has read what there was');
$old->{_pid} = undef;

rename $library, "$library.away" or die "$library: $!\n";
refuses('the library is not installed', 'Your installation references loadable libraries that are missing from the',
	'could not load library "pgoutput_ext": ERROR:  could not access file "pgoutput_ext": No such file or directory');
rename "$library.away", $library or die "$library: $!\n";
refuses('not allowed', 'Your installation contains logical replication slots with plugins', 'The slot "changes" uses plugin "pgoutput_ext"');

# The rest of the recipe.
my $number = 0;
foreach my $block (recipe_blocks($title))
{
	next if ++$number <= 2;
	($done, $text) = run_block($block, %run);
	my ($first) = $block->{text} =~ /\A.*\n(.*)/;
	ok($done, "$block->{where}: $first") or die "the recipe stops here:\n$text\n";
}
$new->_update_pid(1);
$dbh = connect_db($new);
is_deeply($dbh->selectall_arrayref('SELECT slot_name, plugin, two_phase::int, active::int FROM pg_replication_slots'), [ [ 'changes', 'pgoutput_ext', 1, 0 ] ],
	'the slot is there, with its plugin and two_phase');
$dbh->do('INSERT INTO t VALUES (2)');
my @messages = map { substr $_->[2], 0, 1 } @{ read_slot($dbh, 'changes', options => [ standard_options('pub') ])->{rows} };
is(join('', @messages), 'BRIC', 'it is read on: what was written since, and nothing of before');
$dbh->disconnect;
$new->stop;
done_testing();
