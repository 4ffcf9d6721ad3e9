# pg_recvlogical over one WAL: what it writes is the same through the server's pgoutput, through
# a slot of pgoutput_ext, and through one of pgoutput that the role has from us.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientTest;
use PgoutputExt;
use Test::More;

my $node = client_node('main');
my $dbh = $node->{dbh};

workload($dbh);

# It takes no JSON, and does not end by itself behind a row.
my @program = ($^X, "$FindBin::RealBin/clients/pg_recvlogical_client.pl");
foreach my $set (own_options())
{
	my ($name, $options) = @$set;
	my $lines = compare_client($node, \@program, $name, $options);
	ok((grep { /large/ } @$lines), "$name: rows are there");
}
my $lines = compare_client($node, \@program, 'own options',
	{ proto_version => 1, publication_names => 'pub,via', unchanged_toast => 'fill', relation_metadata => 'on' },
	ours => 1);
ok((grep { /pgoutput_ext\.relation/ } @$lines), 'own options: they have an effect');

# A slot that pg_recvlogical makes and drops, as the role that has it from us.
foreach my $way ([ 'reader', 'pgoutput_ext' ], [ 'dropin', 'pgoutput' ])
{
	my ($user, $plugin) = @$way;
	my @command = ('pg_recvlogical', '-h', $node->host, '-p', $node->port, '-U', $user, '-d', 'postgres', '-S', 'made');
	is(system(@command, '--create-slot', '-P', $plugin), 0, "$user makes a slot of $plugin");
	$dbh->do(q{INSERT INTO plain (a, t) VALUES (?, 'to the slot made')}, undef, $user eq 'reader' ? 9000 : 9001);
	my $upto = $dbh->selectrow_array('SELECT pg_current_wal_insert_lsn()');
	my ($out, $err) = ('', '');
	IPC::Run::run([ @command, '--start', '-f', '-', '--endpos', $upto, '-o', 'proto_version=1', '-o', 'publication_names=pub',
		'-o', 'transaction_metadata=on' ], '<', \undef, '>', \$out, '2>', \$err) or diag($err);
	like($out, qr/pgoutput_ext\.transaction.*to the slot made/s, "$user reads it with an option of ours");
	is(system(@command, '--drop-slot'), 0, "$user drops it");
}
$dbh->disconnect;
$node->stop;
done_testing();
