# Large values: 100 MB; and with PGOUTPUT_EXT_LARGE=1, which takes minutes and
# some gigabytes of memory and disk, rows near 1 GB and beyond what fits into a
# message, which ends in the server's error. Only lengths and digests leave the
# server.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use Test::More;

my $node = new_node('main', conf => q{
max_wal_size = 8GB
logical_decoding_work_mem = '2GB'
});
my $dbh = $node->{dbh};
my $megabyte = 1024 * 1024;

$dbh->do($_) foreach (
	'CREATE TABLE large (id int PRIMARY KEY, b bytea, t text, u text, j jsonb)',
	'ALTER TABLE large ALTER b SET STORAGE EXTERNAL, ALTER t SET STORAGE EXTERNAL, ALTER u SET STORAGE EXTERNAL',
	'CREATE PUBLICATION p FOR TABLE large');

# What a slot gives, as lines of position, length and digest, or its error.
sub digest
{
	my ($slot, @options) = @_;
	my $list = join ', ', map { $dbh->quote($_) } standard_options('p', @options);
	local $dbh->{RaiseError} = 0;
	my $rows = $dbh->selectall_arrayref("SELECT lsn, xid, length(data), md5(data) FROM pg_logical_slot_peek_binary_changes('$slot', NULL, NULL, $list)");
	return sprintf 'ERROR %s %s %s', $dbh->state, map { $dbh->pg_error_field("pg_diag_message_$_") // '' } 'primary', 'detail' if $dbh->err;
	return join "\n", map { join ' ', @$_ } @$rows;
}

# Inserts a row and compares; $expected must match what pgoutput gives.
my $cases = 0;
sub large
{
	my ($name, $columns, $values, %expected) = @_;
	my $pair = create_slot_pair($dbh, 'large' . ++$cases);
	$dbh->do("INSERT INTO large (id, $columns) VALUES ($cases, $values)");
	foreach my $binary ('false', 'true')
	{
		my $oracle = digest($pair->{oracle}, binary => $binary);
		is(digest($pair->{ours}, binary => $binary), $oracle, "$name, binary $binary");
		like($oracle, $expected{$binary}, "$name, binary $binary: what pgoutput gives");
	}
	drop_slot_pair($dbh, $pair);
	$dbh->do('TRUNCATE large');
	return;
}

sub bytes { return sprintf q{convert_to(repeat('x', %d), 'UTF8')}, $_[0] * $megabyte }
sub text { return sprintf q{repeat('x', %d)}, $_[0] * $megabyte }

large('a bytea of 100 MB', 'b', bytes(100), false => qr/ 209715\d\d\d /, true => qr/ 104857\d\d\d /);
large('a jsonb of 50 MB', 'j', 'to_jsonb(' . text(50) . ')', false => qr/ 52428\d\d\d /, true => qr/ 52428\d\d\d /);
if ($ENV{PGOUTPUT_EXT_LARGE})
{
	large('texts of 400 and 500 MB', 't, u', text(400) . ', ' . text(500), false => qr/ 943718\d\d\d /, true => qr/ 943718\d\d\d /);
	large('a bytea of 600 MB', 'b', bytes(600), false => qr/^ERROR /, true => qr/ 629145\d\d\d /);
	large('a bytea of 300 MB and a text of 450 MB', 'b, t', bytes(300) . ', ' . text(450), false => qr/^ERROR /, true => qr/ 786432\d\d\d /);
}

$dbh->disconnect;
$node->stop;
done_testing();
