# What the tests of recipes share: the blocks of docs/OPERATIONS.md, run as they
# stand.
#
# The first line of a block says where it is run, and when:
#
#	-- subscriber, 18 and newer, with two_phase        (SQL, by psql)
#	# new server                                       (sh)
#
# Versions are "17 and newer", "15 to 17" or "14". A condition behind "with" holds when
# the test names it. A block without such a line is not a recipe's.
#
#	run_recipe('Move a subscription to another slot',
#		at => { publisher => $publisher, subscriber => $subscriber },
#		with => [ 'two_phase' ],
#		replace => { old_slot => 'sub' });

package Recipe;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use IPC::Run ();
use PgoutputExt;
use PostgreSQL::Test::Utils ();
use Test::More ();

our @EXPORT = qw(section recipe_blocks run_recipe run_block told_on_page);

my $where_line = qr/\A(?:--|#) ([a-z ]+?)(?:, (?:(\d+)(?: to (\d+)| (and newer))?))?(?:, with (\w+))?\n/;

sub operations_page
{
	return PgoutputExt::read_text("$FindBin::RealBin/../docs/OPERATIONS.md");
}

# The text below a heading, up to the next heading of any level.
sub section
{
	my ($title) = @_;
	my ($text) = operations_page() =~ /^##+ \Q$title\E\n(.*?)(?=^##+ |\z)/ms;
	return $text // die "docs/OPERATIONS.md has no section \"$title\"\n";
}

# Does a block's version, "from" to "to", have the server under test?
sub applies
{
	my ($from, $to, $newer) = @_;
	return 1 unless defined $from;
	return 0 if server_major() < $from;
	return $newer || server_major() <= ($to // $from);
}

# The blocks of a section that apply to the server under test: hashes with language,
# where, with, text.
sub recipe_blocks
{
	my ($title) = @_;
	my @blocks;

	my $text = section($title);
	while ($text =~ /^```(sql|sh)\n(.*?)^```\n/gms)
	{
		my ($language, $body) = ($1, $2);
		next unless $body =~ $where_line;
		my ($where, $with) = ($1, $5);
		push @blocks, { language => $language, where => $where, with => $with, text => $body } if applies($2, $3, $4);
	}
	die "section \"$title\" has no blocks\n" unless @blocks;
	return @blocks;
}

# Test: the page says of a message, in a row of a table of the section, what the server says, with this
# SQLSTATE if that is given, for the version under test; and no row that is for another one has the
# same words.
sub told_on_page
{
	my ($title, $name, $message, $sqlstate) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @rows;

	foreach my $row (section($title) =~ /^\| (`.*) \|$/mg)
	{
		my @cells = split / \| ?/, $row;
		my ($words) = $cells[0] =~ /\A`(.*)`\z/ or next;
		my $pattern = join '.*', map { quotemeta } split /\.\.\./, $words, -1;
		next unless $message =~ /\A$pattern\z/;
		my $versions = $cells[ defined $sqlstate ? 2 : 1 ];
		my @range = $versions =~ /^(\d+)(?: to (\d+)| (and newer))$/;
		next unless applies(@range);
		push @rows, defined $sqlstate ? $cells[1] : 'told';
	}
	Test::More::is_deeply(\@rows, [ $sqlstate // 'told' ], "$name: $message");
	return;
}

# Runs one block, at a node in SQL or as a shell script. Returns whether it succeeded, and
# what it wrote.
sub run_block
{
	my ($block, %params) = @_;
	my ($out, $text) = ('', $block->{text});
	my %replace = %{ $params{replace} || {} };

	foreach my $placeholder (sort { length $b <=> length $a } keys %replace)
	{
		$text =~ s/\Q$placeholder\E/$replace{$placeholder}/g;
	}
	if ($block->{language} eq 'sh')
	{
		# a place for files and sockets
		$text = 'cd ' . PostgreSQL::Test::Utils::tempdir_short() . "\n$text";
		local %ENV = (%ENV, %{ $params{env} || {} });
		my $done = IPC::Run::run([ 'sh', '-e' ], '<', \$text, '>&', \$out);
		return ($done, $out);
	}
	my $node = $params{at}{ $block->{where} } // die "the test has no server for \"$block->{where}\"\n";
	my $done = IPC::Run::run(
		[ 'psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($params{dbname} // 'postgres') ],
		'<', \$text, '>&', \$out);
	return ($done, $out);
}

# Runs a section's blocks in order, and dies at one that fails. Parameters: at (servers
# by the names that blocks use), with (conditions that hold), replace (placeholders),
# env (for sh), dbname, before and after (functions, by the number of a block that is run, from 1
# on; after is given what it wrote). Returns the number of blocks that were run.
sub run_recipe
{
	my ($title, %params) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my %with = map { $_ => 1 } @{ $params{with} || [] };
	my $number = 0;

	foreach my $block (recipe_blocks($title))
	{
		next if defined $block->{with} && !$with{ $block->{with} };
		$number++;
		$params{before}{$number}->() if $params{before}{$number};
		my ($done, $out) = run_block($block, %params);
		my ($first) = $block->{text} =~ /\A.*\n(.*)/;
		Test::More::ok($done, "$block->{where}: $first") or die "the recipe stops here:\n$out\n";
		$params{after}{$number}->($out) if $params{after}{$number};
	}
	return $number;
}

1;
