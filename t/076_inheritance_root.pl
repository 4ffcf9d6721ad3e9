# Option inheritance_root beside what sql/inheritance_root.sql shows: column lists and
# row filters, which are the child's, a walsender, and the bytes of another table that is the
# root's likeness.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use ReplicationClient;
use Test::More;

my $node = new_node('main');
my $dbh = $node->{dbh};
my $major = server_major();
$dbh->do('SET client_min_messages = error');
$dbh->do($_) foreach
  'CREATE TABLE root (id int PRIMARY KEY, k int, t text)',
  'CREATE TABLE child (own int, t text, id int NOT NULL, k int, PRIMARY KEY (id))',
  'ALTER TABLE child INHERIT root',
  'CREATE PUBLICATION p FOR TABLE ONLY child',
  'CREATE PUBLICATION r FOR TABLE ONLY root',
  q{SELECT pg_create_logical_replication_slot('s', 'pgoutput_ext')};

# The messages of rows, in bytes but for the relation's OID; these are kept.
my %oids;
my ($root) = $dbh->selectrow_array(q{SELECT 'root'::regclass::oid});

sub rows_of
{
	my ($publication, %options) = @_;
	my $read = read_slot($dbh, 's', options => [ standard_options($publication, inheritance_root => 'always', %options) ]);
	die $read->{error}{message_primary} if $read->{error};
	my $at = $options{streaming} ? 5 : 1;
	my @messages = grep { /^[IUD]/ } map { $_->[2] } @{ $read->{rows} };
	$oids{ unpack 'N', substr $_, $at, 4 } = 1 foreach @messages;
	return map { substr($_, 0, 1) . unpack 'H*', substr $_, $at + 4 } @messages;
}

# The same statements on the root itself and on the child: the same bytes.
foreach my $binary ('off', 'on')
{
	my %bytes;
	foreach my $table ('root', 'child')
	{
		read_slot($dbh, 's', options => [ standard_options('p') ], get => 1);
		$dbh->do("INSERT INTO $table (id, k, t) VALUES (1, 10, 'one'), (2, NULL, NULL), (3, -1, repeat('x', 300))");
		$dbh->do("UPDATE ONLY $table SET k = 5 WHERE id = 1");
		$dbh->do("UPDATE ONLY $table SET id = 4 WHERE id = 2");
		$dbh->do("DELETE FROM ONLY $table");
		$bytes{$table} = [ rows_of($table eq 'root' ? 'r' : 'p', binary => $binary) ];
	}
	is(scalar @{ $bytes{root} }, 8, "binary $binary: the rows of the root");
	is_deeply($bytes{child}, $bytes{root}, "binary $binary: those of the child are the same");
}

# Streamed: the same rows as when it is not.
read_slot($dbh, 's', options => [ standard_options('p') ], get => 1);
$dbh->do($_) foreach 'BEGIN', 'INSERT INTO child (id, k) SELECT i, i FROM generate_series(1, 2000) i', 'SAVEPOINT a', 'DELETE FROM child WHERE id < 100', 'ROLLBACK TO a',
  'UPDATE child SET k = 0 WHERE id < 5', 'COMMIT';
my @whole = rows_of('p');
$dbh->do(q{SET logical_decoding_work_mem = '64kB'});
my $streamed = read_slot($dbh, 's', options => [ standard_options('p', proto_version => 2, streaming => 'on', inheritance_root => 'always') ]);
ok((grep { $_->[2] =~ /^S/ } @{ $streamed->{rows} }) > 1, 'it is streamed');
is_deeply([ grep { !/^D/ } rows_of('p', proto_version => 2, streaming => 'on') ], \@whole, 'streamed: the same rows, but for what is rolled back');
$dbh->do('RESET logical_decoding_work_mem');

is_deeply([ keys %oids ], [$root], 'each row is the root\'s');

# Lists and filters: the child's.
if ($major >= 15)
{
	$dbh->do(q{CREATE PUBLICATION narrow FOR TABLE ONLY child (id, t) WHERE (k > 10) WITH (publish = 'insert')});
	read_slot($dbh, 's', options => [ standard_options('p') ], get => 1);
	$dbh->do(q{INSERT INTO child (id, k, t) VALUES (3001, 10, 'no'), (3002, 11, 'yes')});
	my $read = read_slot($dbh, 's', options => [ standard_options('narrow', inheritance_root => 'always') ]);
	like(join('', map { "$_\n" } describe_stream($read)), qr/"root" identity=d \(\*"id" [^;]*; "t" [^;]*\)\n.*"child" identity=d \([^;]*; [^;]*\)\nINSERT oid=$root N:\('3002', 'yes'\)\n/s, 'list and filter');
}

# A walsender.
read_slot($dbh, 's', options => [ standard_options('p') ], get => 1);
$dbh->do('INSERT INTO child (id) VALUES (4001)');
my $client = ReplicationClient->new($node);
$client->start('s', standard_options('p', inheritance_root => 'always', empty_transactions => 'skip'));
my @messages;
until (@messages && $messages[-1] =~ /^C/)
{
	my $message = $client->next_message(60) or die "nothing came in time\n";
	push @messages, $message->{data} if $message->{type} eq 'd' && $message->{kind} eq 'w';
}
is(join('', map { substr $_, 0, 1 } @messages), 'BRRIC', 'a walsender');
is(unpack('x N', $messages[3]), $root, 'a walsender: the row is the root\'s');
$client->close;

$dbh->disconnect;
$node->stop;
done_testing();
