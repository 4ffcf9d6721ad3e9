# Lists in options: random strings are taken if they follow the grammar, written
# here once more as regular expressions, and then mean what it says; all others
# are refused. PGOUTPUT_EXT_SEED repeats a run, PGOUTPUT_EXT_LISTS says how many.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use OptionStream;
use PgoutputExt;
use Test::More;

my $seed = $ENV{PGOUTPUT_EXT_SEED} // 1;
my $count = $ENV{PGOUTPUT_EXT_LISTS} // 250;
my $node = new_node('lists');
my $dbh = $node->{dbh};

# ---- names that lists can hit -----------------------------------------------

my @names = ('a', 'B', 'a.', '"', 'a,B', '*', 'b');
sub quoted { return '"' . $_[0] =~ s/"/""/gr . '"' }

my @tables;
foreach my $schema ('a', 'B', '"')
{
	$dbh->do('CREATE SCHEMA ' . quoted($schema));
	foreach my $table (@names)
	{
		push @tables, [ $schema, $table ];
		$dbh->do('CREATE TABLE ' . quoted($schema) . '.' . quoted($table) . ' (a int, b int)');
	}
}
$dbh->do('CREATE PUBLICATION pub FOR TABLE ' . join ', ', map { quoted($_->[0]) . '.' . quoted($_->[1]) } @tables);
my @prefixes = (@names, '', 'aa', 'a*', 'Ba');
my @origins = ('', grep { $_ ne 'b' } @names);
$dbh->do('SELECT pg_replication_origin_create(?)', undef, $_) foreach grep { $_ ne '' } @origins;
$dbh->do(q{SELECT pg_create_logical_replication_slot('lists', 'pgoutput_ext')});

$dbh->begin_work;
$dbh->do('INSERT INTO ' . quoted($_->[0]) . '.' . quoted($_->[1]) . ' VALUES (1, 2)') foreach @tables;
$dbh->do('SELECT pg_logical_emit_message(true, ?, ?)', undef, $_, '') foreach @prefixes;
$dbh->commit;
foreach my $origin (grep { $_ ne '' } @origins)
{
	$dbh->do('SELECT pg_replication_origin_session_setup(?)', undef, $origin);
	$dbh->do(q{INSERT INTO a.a VALUES (2, 3)});
	$dbh->do('SELECT pg_replication_origin_session_reset()');
}

# ---- the grammar ------------------------------------------------------------

my $space = qr/[ \t\n\r\f]*/;
my $quoted = qr/"(?:[^"]|"")+"/;
my $maybe_empty = qr/"(?:[^"]|"")*"/;
my $part = qr/(?:\*?(?:$quoted|[^ \t\n\r\f,".*]+)\*?|\*)/;
my $prefix = qr/(?:(?:$maybe_empty|[^ \t\n\r\f,"*]+)\*?|\*)/;
my $origin = qr/(?:$maybe_empty|[^ \t\n\r\f,"*]+)/;
my %element = (
	tables => qr/$part$space\.$space$part/,
	columns => qr/$part$space\.$space$part$space\.$space$part/,
	prefixes => $prefix,
	origins => $origin);
my %parts = (tables => $part, columns => $part, prefixes => $prefix, origins => $origin);

# What an element's name stands for: [name, any end, any beginning].
sub name
{
	my ($text) = @_;
	return [ '', 1, 0 ] if $text eq '*';
	my $open = $text =~ s/\*\z//;
	my $before = $text =~ s/\A\*//;
	return [ $1 =~ s/""/"/gr, $open, $before ] if $text =~ /\A"(.*)"\z/s;
	return [ lc $text, $open, $before ];
}

# The elements of a list, each a list of names; nothing if it is none.
sub parse
{
	my ($kind, $list) = @_;
	my $element = $element{$kind};
	return unless $list =~ /\A$space$element(?:$space,$space$element)*$space\z/;
	my @elements;
	while ($list =~ /\G$space($element)$space,?/gc)
	{
		my $text = $1;
		my @names;
		push @names, name($1) while $text =~ /\G($parts{$kind})(?:$space\.$space)?/gc;
		push @elements, \@names;
	}
	return @elements;
}

sub hits
{
	my ($name, $text) = @_;
	my ($fixed, $open, $before) = @$name;
	my $pattern = ($before ? '.*' : '') . quotemeta($fixed) . ($open ? '.*' : '');
	return $text =~ /\A$pattern\z/s;
}

# What is sent with a list: one line for each thing that it can let through.
sub expected
{
	my ($kind, @elements) = @_;
	my @all = $kind eq 'tables' ? @tables : $kind eq 'prefixes' ? map { [$_] } @prefixes : map { [$_] } @origins;
	return sort map { join '.', @$_ } grep {
		my $thing = $_;
		grep { my $element = $_; !grep { !hits($element->[$_], $thing->[$_]) } 0 .. $#$thing } @elements
	} @all;
}

my %option = (tables => 'include_tables', columns => 'exclude_columns', prefixes => 'message_prefixes', origins => 'include_origins');

sub received
{
	my ($kind, $list) = @_;
	my $read = read_slot($dbh, 'lists', options => [ proto_version => 1, publication_names => 'pub', messages => 'on', $option{$kind} => $list ]);
	return ($read) if $read->{error} || $kind eq 'columns';
	my $stream = OptionStream->read(map { $_->[2] } @{ $read->{rows} });
	my @transactions = @{ $stream->{transactions} };
	my @items = map { @{ $_->{items} } } @transactions;
	# for each name once: tables and messages are in a local transaction
	return ($read, sort map { $_->{relation} } grep { $_->{type} eq 'I' && $_->{new}{a} == 1 } @items) if $kind eq 'tables';
	return ($read, sort map { $_->{prefix} } grep { $_->{type} eq 'M' } @items) if $kind eq 'prefixes';
	return ($read, sort map { $_->{origin} // '' } @transactions);
}

# ---- random lists -----------------------------------------------------------

my @characters = ('a', 'B', 'b', '"', '"', '.', '.', '*', ',', ' ', "\n");
my @pieces = ('a', 'B', '"a"', '"B"', '"a."', '""""', '*', '"*"', '"a,B"', '""');

sub random_list
{
	my ($kind) = @_;
	return join '', map { $characters[ rand @characters ] } 1 .. rand 12 if rand() < 0.4;
	my $parts = $kind eq 'tables' ? 2 : $kind eq 'columns' ? 3 : 1;
	my $list = join ',', map { join '.', map { (rand() < 0.1 ? '*' : '') . $pieces[ rand @pieces ] . (rand() < 0.1 ? '*' : '') } 1 .. $parts } 1 .. 1 + rand 3;
	# one character too much or too few
	substr($list, rand length $list, 1) = rand() < 0.5 ? '' : $characters[ rand @characters ] if rand() < 0.4;
	return $list;
}

srand $seed;
diag "seed $seed";
foreach my $kind (sort keys %option)
{
	my ($taken, $refused, $wrong) = (0, 0, undef);
	foreach (1 .. $count)
	{
		my $list = random_list($kind);
		my @elements = parse($kind, $list);
		my ($read, @got) = received($kind, $list);
		my $state = $read->{error} ? $read->{error}{sqlstate} : '00000';
		my $empty = $list =~ /\A$space\z/;
		my $right = @elements ? '00000' : $empty ? '22023' : '42601';
		$state eq '00000' ? $taken++ : $refused++;
		if ($state ne $right || $state ne '00000' && !($read->{error}{message_detail} && $read->{error}{message_hint}))
		{
			$wrong = "$option{$kind} <$list>: $state, not $right: " . ($read->{error}{message_primary} // '');
			last;
		}
		next if $state ne '00000' || $kind eq 'columns';
		my @want = expected($kind, @elements);
		next if "@got" eq "@want";
		$wrong = "$option{$kind} <$list>:\n  sent     @got\n  expected @want";
		last;
	}
	ok(!defined $wrong, "$option{$kind}: random lists") or diag $wrong;
	cmp_ok($taken, '>', $count / 10, "$option{$kind}: some are taken");
	cmp_ok($refused, '>', $count / 10, "$option{$kind}: some are refused");
}

$dbh->disconnect;
$node->stop;
done_testing();
