# docs/OPTIONS.md: says of each option what the option table says, in its order,
# and shows what its examples give.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use Test::More;

my $page = do
{
	local $/;
	open my $file, '<', "$FindBin::RealBin/../docs/OPTIONS.md" or die "docs/OPTIONS.md: $!\n";
	<$file>;
};

my $node = new_node('page');
my $dbh = $node->{dbh};
$dbh->do('CREATE EXTENSION pgoutput_ext');

# ---- the table --------------------------------------------------------------

my %category = ("pgoutput's own" => 'pgoutput', Policies => 'policy', Metadata => 'metadata');
my ($heading, @documented);
(my $text = $page) =~ s/^```.*?^```\n//gms;
foreach my $section (split /^(?=##)/m, $text)
{
	$heading = $1 if $section =~ /\A## (.*)/;
	next unless $section =~ /\A### `(.*)`\n\n(.*?)\n\n/s;
	my ($name, $description) = ($1, $2);
	my ($values, $default) = $section =~ /^Values: (.*?)\.(?: Default: `(.*)`\.)?$/m;
	$values //= '(not said)';
	$values =~ s/, `parallel` \(16 and newer\)/server_major() >= 16 ? ', `parallel`' : ''/e;
	$values =~ tr/`//d;
	next if server_major() < 15 && $section =~ /^An option of 15 and newer\.$/m;
	push @documented, [ $name, $category{$heading}, $values, $default, $description ];
}
my $table = $dbh->selectall_arrayref('SELECT * FROM pgoutput_ext_options()');
cmp_ok(scalar @$table, '>', 20, 'there are options');
is_deeply(\@documented, $table, 'the page has each option as the table has it');

# What the page links to is there.
my %anchor = map { lc($_) =~ s/[`']//gr =~ s/ /-/gr => 1 } $page =~ /^##+ (.*)/mg;
is_deeply([ grep { !$anchor{$_} } $page =~ /\]\(#(.*?)\)/g ], [], 'its links lead somewhere');

# ---- the examples -----------------------------------------------------------

$dbh->do('DROP EXTENSION pgoutput_ext');

my @examples;
while ($page =~ /^```sql\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?/gms)
{
	push @examples, { sql => $1, output => $2 // '' };
}
my $input = "\\set SHOW_CONTEXT never\n" . join '', map { "$_->{sql}\\echo ~~~~\n" } @examples;
my $output = '';
IPC::Run::run([ 'psql', '-X', '-q', '-d', $node->connstr('postgres') ], '<', \$input, '>&', \$output) or die "psql ended with $?\n";
# what SELECT FROM gives
$output =~ s/^--\n\(\d+ rows?\)\n\n//gm;
my @outputs = split /^~~~~\n/m, $output;
foreach my $i (0 .. $#examples)
{
	my ($example, $got) = ($examples[$i], $outputs[$i] // '(none)');
	my ($first) = $example->{sql} =~ /\A(.*)/;
	s/\s+\z/\n/ foreach $got, $example->{output};
	s/ +$//mg foreach $got, $example->{output};
	is($got, $example->{output}, 'example ' . ($i + 1) . ": $first");
}

$dbh->disconnect;
$node->stop;
done_testing();
