# A set of options, and the rules that say what it makes of a stream without
# options: for t/070_option_combinations.pl. The rules are docs/OPTIONS.md once
# more, in another language.

package OptionRules;

use strict;
use warnings;

use OptionProgram;
use Storable 'dclone';

my @frames = qw(relation_metadata type_metadata transaction_metadata publication_metadata);
my %default = (
	unchanged_toast => 'marker',
	missing_publication => 'server',
	missing_identity => 'skip',
	generated_columns => 'publication',
	partition_root => 'publication',
	inheritance_root => 'never',
	empty_transactions => 'server',
	progress_interval => 'off',
	split_key_updates => 'off',
	value_format => 'session',
	log_statistics => 'off',
	map { $_ => 'off' } @frames);

sub frames { return @frames }

# All options that have a default value, with it.
sub defaults { return map { $_ => $default{$_} } sort keys %default }

sub new
{
	my ($class, %given) = @_;
	return bless { %default, messages => 0, %given }, $class;
}

sub pick { return $_[ rand @_ ] }

# A random set. The lists are drawn as they are here and written as SQL has them.
sub draw
{
	my ($class, $publication) = @_;
	my $self = $class->new(publication => $publication);
	my $likely = rand;
	my $want = sub { return rand() < $likely };

	$self->{unchanged_toast} = pick(qw(marker fill fill error)) if $want->();
	$self->{generated_columns} = pick(qw(stored none publication)) if $want->();
	$self->{partition_root} = pick(qw(always never publication)) if $want->();
	$self->{inheritance_root} = 'always' if $want->();
	$self->{split_key_updates} = 'on' if $want->();
	$self->{value_format} = 'canonical' if $want->();
	$self->{log_statistics} = pick(0, '1h') if $want->();
	$self->{empty_transactions} = pick(qw(skip send)) if $want->();
	$self->{progress_interval} = pick(1, 500, '2kB', '8kB', '64kB', '1MB') if $want->();
	$self->{missing_publication} = pick(qw(error warn skip)) if $want->();
	$self->{missing_identity} = pick(qw(error warn)) if $want->();
	$self->{messages} = 1 if rand() < 0.7;
	foreach (@frames) { $self->{$_} = 'on' if rand() < $likely / 2 }

	my @tables = ([qw(s1 t_pk)], [qw(* t_pk)], [qw(s1 *)], [qw(s2 *)], [qw(s1 root)], [qw(s1 leaf1)], [qw(* t_full)], [qw(* t_types)], [qw(s1 t_idx)], [qw(S1 t_idx)]);
	$self->{include_tables} = [ map { pick(@tables) } 1 .. 1 + rand 5 ] if rand() < $likely / 2;
	$self->{exclude_tables} = [ map { pick(@tables) } 1 .. 1 + rand 2 ] if rand() < $likely / 2;
	$self->{exclude_columns} = [ map { pick([qw(s1 t_pk a)], [qw(* * b)], [qw(s1 t_full id)], [qw(* t_types ts)], [qw(s1 * c)], [qw(* * a)], [qw(s1 root a)], [qw(s1 leaf1 a)], [qw(* t_gen g)]) } 1 .. 1 + rand 2 ]
	  if rand() < $likely / 2;
	if ($self->{messages})
	{
		my @prefixes = ([ 'm', 0 ], [ 'm', 1 ], [ 'M', 0 ], [ 'other.', 1 ], [ '', 0 ], [ '', 1 ]);
		$self->{message_prefixes} = [ map { pick(@prefixes) } 1 .. 1 + rand 2 ] if rand() < $likely / 2;
		$self->{exclude_message_prefixes} = [ map { pick(@prefixes) } 1 .. 1 + rand 2 ] if rand() < $likely / 2;
	}
	$self->{include_origins} = [ map { pick('', 'o1', 'o2') } 1 .. 1 + rand 2 ] if rand() < $likely / 3;
	$self->{exclude_origins} = [ pick('', 'o1', 'o2', 'o3') ] if rand() < $likely / 3;

	# what contradicts itself is refused, see sql/options.sql
	foreach (qw(tables message_prefixes origins))
	{
		my ($include, $exclude) = /mess/ ? ($_, "exclude_$_") : ("include_$_", "exclude_$_");
		my %both = map { as_text($_) => 1 } @{ $self->{$include} || [] };
		delete $self->{$exclude} if grep { $both{ as_text($_) } } @{ $self->{$exclude} || [] };
	}
	return $self;
}

sub as_text { return ref $_[0] ? join "\0", @{ $_[0] } : $_[0] }

sub quoted
{
	my ($name) = @_;
	return $name if $name eq '*' || $name =~ /^[a-z_][a-z0-9_]*$/ && rand() < 0.5;
	return '"' . $name =~ s/"/""/gr . '"';
}

sub list { return join pick(',', ', ', " ,\n"), @_ }

# The options for a slot, as names and values; some may be given others.
sub options
{
	my ($self, %others) = @_;
	my @options = ($self->{messages} ? (messages => 'on') : ());
	foreach (sort keys %default)
	{
		my $value = $others{$_} // $self->{$_};
		push @options, $_ => $value if $value ne $default{$_} || rand() < 0.1;
	}
	foreach (qw(include_tables exclude_tables exclude_columns))
	{
		push @options, $_ => list(map { join '.', map { quoted($_) } @$_ } @{ $self->{$_} }) if $self->{$_};
	}
	foreach (qw(message_prefixes exclude_message_prefixes))
	{
		push @options, $_ => list(map { '"' . $_->[0] . '"' . ($_->[1] ? '*' : '') } @{ $self->{$_} }) if $self->{$_};
	}
	foreach (qw(include_origins exclude_origins))
	{
		push @options, $_ => list(map { quoted($_) } @{ $self->{$_} }) if $self->{$_};
	}
	return @options;
}

# ---- what is sent -----------------------------------------------------------

sub matches
{
	my ($patterns, @names) = @_;
	foreach my $pattern (@$patterns)
	{
		return 1 unless grep { $pattern->[$_] ne '*' && $pattern->[$_] ne $names[$_] } 0 .. $#names;
	}
	return 0;
}

sub sends_table
{
	my ($self, $table) = @_;
	my @names = split /\./, $table;
	return 0 if $self->{include_tables} && !matches($self->{include_tables}, @names);
	return !($self->{exclude_tables} && matches($self->{exclude_tables}, @names));
}

sub sends_column
{
	my ($self, $table, $column) = @_;
	return 0 if $column eq 'g' && $self->{generated_columns} ne 'stored';
	return !($self->{exclude_columns} && matches($self->{exclude_columns}, split(/\./, $table), $column));
}

sub sends_message
{
	my ($self, $prefix) = @_;
	my $matches = sub {
		foreach (@{ $_[0] })
		{
			my ($start, $open) = @$_;
			return 1 if $prefix eq $start || $open && index($prefix, $start) == 0;
		}
		return 0;
	};
	return 0 unless $self->{messages};
	return 0 if $self->{message_prefixes} && !$matches->($self->{message_prefixes});
	return !($self->{exclude_message_prefixes} && $matches->($self->{exclude_message_prefixes}));
}

sub sends_origin
{
	my ($self, $origin) = @_;
	return 0 if $self->{include_origins} && !grep { $_ eq $origin } @{ $self->{include_origins} };
	return !grep { $_ eq $origin } @{ $self->{exclude_origins} || [] };
}

# Are partitions announced as their root?
sub by_root
{
	my ($self) = @_;
	return $self->{partition_root} eq 'always' || $self->{partition_root} ne 'never' && $self->{publication} eq 'p_via';
}

# Do changes of the table go by its own name, and are they sent?
sub announces
{
	my ($self, $table) = @_;
	my $info = $OptionProgram::tables{$table};
	return 0 if $info->{root} && $self->by_root || $info->{leaves} && !$self->by_root;
	return $self->sends_table($table);
}

# Are all rows of the tables that are announced in the stream, with their keys?
sub leaves_all_rows
{
	my ($self) = @_;
	return !$self->{include_origins} && !$self->{exclude_origins} && $self->sends_column('s1.t_full', 'id');
}

# ---- what becomes of a stream -----------------------------------------------

sub announced_as
{
	my ($self, $item) = @_;
	my $info = $OptionProgram::tables{ $item->{relation} };
	return $info->{root} if $info->{root} && $self->by_root;
	return OptionProgram::leaf_of(($item->{new} || $item->{old})->{id}) if $info->{leaves} && !$self->by_root;
	return $item->{relation};
}

# The transactions that the options make of those of the stream without them.
sub apply
{
	my ($self, $stream) = @_;
	my @transactions;
	foreach my $transaction (@{ dclone($stream->{transactions}) })
	{
		next if !$transaction->{alone} && !$self->sends_origin($transaction->{origin} // '');
		$transaction->{items} = [ map { $self->apply_item($_) } @{ $transaction->{items} } ];
		push @transactions, $transaction;
	}
	return \@transactions;
}

sub apply_item
{
	my ($self, $item) = @_;
	return $self->sends_message($item->{prefix}) ? $item : () if $item->{type} eq 'M';
	return $self->apply_truncate($item) if $item->{type} eq 'T';

	$item->{relation} = $self->announced_as($item);
	return unless $self->sends_table($item->{relation});
	my $key = $OptionProgram::tables{ $item->{relation} }{key};
	my $moves = $item->{type} eq 'U' && $item->{old} && $item->{old}{$key} ne $item->{new}{$key};
	foreach my $row (grep { $_ } @{$item}{qw(old new)})
	{
		delete $row->{$_} foreach grep { !$self->sends_column($item->{relation}, $_) } keys %$row;
	}
	return $item if $item->{type} ne 'U';

	my %filled = %{ $item->{new} };
	foreach (grep { ref $filled{$_} && $item->{old} && defined $item->{old}{$_} } keys %filled)
	{
		$filled{$_} = $item->{old}{$_};
	}
	return ({ %$item, type => 'D', new => undef }, { %$item, type => 'I', old => undef, new => \%filled })
	  if $self->{split_key_updates} eq 'on' && $moves && !grep { ref } values %filled;
	$item->{new} = \%filled if $self->{unchanged_toast} eq 'fill';
	return $item;
}

sub apply_truncate
{
	my ($self, $item) = @_;
	my @names = @{ $item->{relations} };
	my %leaf = map { $_ => 1 } @{ $OptionProgram::tables{'s1.root'}{leaves} };
	if ($self->by_root)
	{
		my $seen = 0;
		@names = map { $leaf{$_} ? ($seen++ ? () : 's1.root') : $_ } @names;
	}
	else
	{
		@names = map { $_ eq 's1.root' ? @{ $OptionProgram::tables{$_}{leaves} } : $_ } @names;
	}
	@names = grep { $self->sends_table($_) } @names;
	return @names ? { %$item, relations => \@names } : ();
}

# ---- what is sent by progress_interval ------------------------------------------

my %bytes = (off => undef, 1 => 1, 500 => 500, '2kB' => 2048, '8kB' => 8192, '64kB' => 65536, '1MB' => 1048576);

# Which of the transactions that end at the given positions are sent: all that
# have something to send, others when enough WAL has gone by.
sub sent_ends
{
	my ($self, $mark, $ends, $with_something) = @_;
	my $interval = $bytes{ $self->{progress_interval} };
	my %something = map { $_ => 1 } @$with_something;
	return grep {
		my $sent = $something{$_} || defined $interval && $_ - $mark >= $interval;
		$mark = $_ if $sent;
		$sent;
	} @$ends;
}

# ---- binary values ----------------------------------------------------------

sub numeric_text
{
	my ($ndigits, $weight, $sign, $dscale, @digits) = unpack 's> s> n n n*', $_[0];
	my ($whole, $fraction) = ('', '');
	foreach my $i (0 .. ($weight > $ndigits - 1 ? $weight : $ndigits - 1))
	{
		my $digits = sprintf '%04d', $digits[$i] // 0;
		$i <= $weight ? ($whole .= $digits) : ($fraction .= $digits);
	}
	$fraction = '0000' x (-1 - $weight) . $fraction if $weight < -1;
	$whole =~ s/^0+(?=\d)//;
	$whole = '0' if $whole eq '';
	return ($sign ? '-' : '') . $whole . ($dscale ? '.' . substr $fraction . '0' x $dscale, 0, $dscale : '');
}

sub date_text
{
	my ($seconds) = @_;
	my ($s, $m, $h, $day, $month, $year) = gmtime($seconds + 946684800);
	return (sprintf('%04d-%02d-%02d', $year + 1900, $month + 1, $day), sprintf('%02d:%02d:%02d+00', $h, $m, $s));
}

my %to_text = (
	17 => sub { '\x' . unpack 'H*', $_[0] },
	23 => sub { unpack 'l>', $_[0] },
	25 => sub { $_[0] },
	701 => sub { sprintf('%.17g', unpack 'd>', $_[0]) },
	1082 => sub { (date_text(86400 * unpack 'l>', $_[0]))[0] },
	1184 => sub { join ' ', date_text(unpack('q>', $_[0]) / 1000000) },
	1186 => sub { my (undef, $days) = unpack 'q> l> l>', $_[0]; "$days days" },
	1700 => \&numeric_text);

# Replaces the binary values of a stream by the text that they stand for. The
# shortest text of a float is not what Perl writes: the numbers are compared.
sub binary_to_text
{
	my ($stream) = @_;
	foreach my $item (map { @{ $_->{items} } } @{ $stream->{transactions} })
	{
		foreach my $row (grep { $_ } @{$item}{qw(old new)})
		{
			foreach my $column (grep { ref $row->{$_} eq 'REF' } keys %$row)
			{
				my $convert = $to_text{ $item->{types}{$column} } or die "a binary value of type $item->{types}{$column}\n";
				$row->{$column} = $convert->(${ $row->{$column} }->[1]);
				$row->{$column} = shortest($row->{$column}) if $item->{types}{$column} == 701;
			}
		}
	}
	return;
}

# The shortest number that is the same float.
sub shortest
{
	my ($number) = @_;
	foreach my $digits (1 .. 17)
	{
		my $text = sprintf "%.${digits}g", $number;
		return $text if $text == $number;
	}
	return $number;
}

1;
