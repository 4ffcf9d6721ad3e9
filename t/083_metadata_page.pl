# docs/PROTOCOL.md says of the metadata frames what is sent: the same members in
# each, and its example is what comes out.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use MetadataFrames;
use PgoutputExt;
use PostgreSQL::Test::Utils;
use Test::More;

my $page = slurp_file("$FindBin::RealBin/../docs/PROTOCOL.md");
my $node = new_node('main');
my $dbh = $node->{dbh};

# The text of a section, up to the next heading.
sub section
{
	my ($title) = @_;
	my ($text) = $page =~ /^### \Q$title\E\n(.*?)(?=^#|\z)/ms;
	return $text // die "no section $title\n";
}

# Names in code in the first column of a section's tables, or in the second
# where the first has the kind.
sub documented
{
	my ($title) = @_;
	my %names;

	foreach my $row (grep { /^\|/ } split /\n/, section($title))
	{
		my @cells = split /\s*\|\s*/, $row;
		my $cell = $cells[1] =~ /^`/ ? $cells[1] : $cells[2] // '';
		$names{$_} = 1 foreach $cell =~ /`(\w+)`/g;
	}
	return [ sort keys %names ];
}

# Names of all members in a frame, in its objects and theirs.
sub members
{
	my ($value, $names) = @_;

	if (ref $value eq 'HASH')
	{
		$names->{$_} = 1 foreach keys %$value;
		members($_, $names) foreach values %$value;
	}
	elsif (ref $value eq 'ARRAY')
	{
		members($_, $names) foreach @$value;
	}
	return;
}

my @all = map { ("${_}_metadata" => 'on') } qw(relation type transaction publication);

# Every kind of type, and a partition under its root.
$dbh->do($_) foreach (
	q{CREATE TYPE e AS ENUM ('a')},
	q{CREATE TYPE c AS (x int)},
	q{CREATE DOMAIN d AS varchar(5)},
	q{CREATE TYPE r AS RANGE (subtype = int)},
	q{CREATE TABLE root (id int PRIMARY KEY, e e, c c[], d d, r r, m r_multirange) PARTITION BY LIST (id)},
	q{CREATE TABLE leaf PARTITION OF root FOR VALUES IN (1)},
	q{CREATE PUBLICATION p FOR TABLE root WITH (publish_via_partition_root)});
$dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, 's', plugin_name());
$dbh->do('INSERT INTO root VALUES (1)');
my $result = read_slot($dbh, 's', options => [ standard_options('p', @all) ]);
my @messages = parse_stream(map { $_->[2] } @{ $result->{rows} });

foreach my $frame (qw(relation type transaction publications))
{
	my %names;
	members($_, \%names) foreach frames_of($frame, @messages);
	is_deeply([ sort keys %names ], documented("pgoutput_ext.$frame"), "members of pgoutput_ext.$frame");
}

# The example, with the IDs of this run.
my ($sql) = section('Example') =~ /```sql\n(.*?)```/s;
my @expected = map { /^\| (\w+)(?: `pgoutput_ext\.(\w+)`)? \|(?: `(.*)`)? \|$/ ? [ $1, $2 // '', $3 // '' ] : () }
  grep { !/^\| message \|/ } split /\n/, section('Example');
$dbh->do('SELECT pg_create_logical_replication_slot(?, ?)', undef, 'example', plugin_name());
my ($first, @rest) = split /(?<=;)\n/, $sql;
$dbh->do($_) foreach $first, shift @rest, 'CREATE PUBLICATION example FOR TABLE person', @rest;
$result = read_slot($dbh, 'example', options => [ standard_options('example', relation_metadata => 'on', type_metadata => 'on', empty_transactions => 'skip') ]);
my %title = (B => 'Begin', Y => 'Type', R => 'Relation', M => 'Message', I => 'Insert', C => 'Commit');
my @got = map { (my $raw = $_->{raw} // '') =~ s/"id":\d+/"id":ID/g; [ $title{ $_->{type} }, $_->{frame} // '', $raw ] }
  parse_stream(map { $_->[2] } @{ $result->{rows} });
$_->[2] =~ s/"id":\d+/"id":ID/g foreach @expected;
is_deeply(\@got, \@expected, 'the example');

$dbh->disconnect;
$node->stop;
done_testing();
