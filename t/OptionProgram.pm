# Random programs for t/070_option_combinations.pl: tables of each replica
# identity, values out of line, partitions, generated columns, origins, messages,
# savepoints, rollbacks and prepared transactions. rand() decides; the caller
# seeds it.

package OptionProgram;

use strict;
use warnings;

use OptionStream;
use PgoutputExt;

# The tables: columns as in the stream, the columns of the key that is logged.
our %tables = (
	's1.t_pk' => { columns => [qw(id a b c)], key => 'id' },
	's2.t_pk' => { columns => [qw(id b)], key => 'id' },
	's1.t_full' => { columns => [qw(id a b)], key => 'id', full => 1 },
	's1.t_idx' => { columns => [qw(k a b)], key => 'k' },
	's1.t_types' => { columns => [qw(id ts d i by f n)], key => 'id', full => 1 },
	's1.t_gen' => { columns => [qw(id g b)], key => 'id' },
	's1.root' => { columns => [qw(id a b)], key => 'id', leaves => [ 's1.leaf1', 's1.leaf2' ] });
$tables{$_} = { %{ $tables{'s1.root'} }, leaves => undef, root => 's1.root' } foreach 's1.leaf1', 's1.leaf2';

my $middle = 100000;

# The partition of a row of s1.root.
sub leaf_of
{
	my ($id) = @_;
	return $id < $middle ? 's1.leaf1' : 's1.leaf2';
}

my @schema = (
	'CREATE SCHEMA s1', 'CREATE SCHEMA s2',
	'CREATE TABLE s1.t_pk (id int PRIMARY KEY, a text, b int, c text)',
	'CREATE TABLE s2.t_pk (id int PRIMARY KEY, b int)',
	'CREATE TABLE s1.t_full (id int PRIMARY KEY, a text, b int)',
	'CREATE TABLE s1.t_idx (b int, k int NOT NULL, a text)',
	'CREATE UNIQUE INDEX t_idx_k ON s1.t_idx (k)',
	'CREATE TABLE s1.t_types (id int PRIMARY KEY, ts timestamptz, d date, i interval, by bytea, f float8, n numeric)',
	'CREATE TABLE s1.t_gen (g int GENERATED ALWAYS AS (id * 2) STORED, id int PRIMARY KEY, b int)',
	'CREATE TABLE s1.root (id int PRIMARY KEY, a text, b int) PARTITION BY RANGE (id)',
	"CREATE TABLE s1.leaf1 PARTITION OF s1.root FOR VALUES FROM (MINVALUE) TO ($middle)",
	'CREATE TABLE s1.leaf2 (b int, gone int, a text, id int NOT NULL)',
	'ALTER TABLE s1.leaf2 DROP gone',
	"ALTER TABLE s1.root ATTACH PARTITION s1.leaf2 FOR VALUES FROM ($middle) TO (MAXVALUE)",
	'CREATE TABLE s1.unpublished (id int PRIMARY KEY, b int)',
	(map { "ALTER TABLE s1.$_ ALTER a SET STORAGE EXTERNAL" } qw(t_pk t_full t_idx leaf1 leaf2)),
	'ALTER TABLE s1.t_full REPLICA IDENTITY FULL',
	'ALTER TABLE s1.t_types REPLICA IDENTITY FULL',
	'ALTER TABLE s1.t_idx REPLICA IDENTITY USING INDEX t_idx_k',
	'CREATE PUBLICATION p_plain FOR TABLE s1.t_pk, s2.t_pk, s1.t_full, s1.t_idx, s1.t_types, s1.t_gen, s1.root',
	# 14 has neither column lists nor row filters
	server_major() < 15
	? 'CREATE PUBLICATION p_via FOR TABLE s1.t_pk, s2.t_pk, s1.t_full, s1.t_idx, s1.t_types, s1.t_gen, s1.root WITH (publish_via_partition_root)'
	: 'CREATE PUBLICATION p_via FOR TABLE s1.t_pk (id, b, a), s2.t_pk, s1.t_full WHERE (b > 50), s1.t_idx, s1.t_types, s1.t_gen,'
	  . ' s1.root (id, b) WHERE (id % 3 <> 0) WITH (publish_via_partition_root)');

# What a publication has of a table: { columns, where }.
sub published
{
	my ($publication, $table) = @_;
	return { columns => $tables{$table}{columns}, where => 'true' } if $publication ne 'p_via' || server_major() < 15;
	return { columns => [qw(id a b)], where => 'true' } if $table eq 's1.t_pk';
	return { columns => $tables{$table}{columns}, where => 'b > 50' } if $table eq 's1.t_full';
	return { columns => [qw(id b)], where => 'id % 3 <> 0' } if $table =~ /^s1\.(root|leaf)/;
	return { columns => $tables{$table}{columns}, where => 'true' };
}

# Makes the tables and slots, and runs a program.
sub run
{
	my ($class, $node, $seed) = @_;
	my $self = bless { node => $node, control => $node->{dbh}, id => 0, gid => 0, seed => $seed }, $class;
	my $control = $self->{control};

	local $SIG{__WARN__} = sub { };
	$control->do($_) foreach @schema;
	$control->do('SELECT pg_replication_origin_create(?)', undef, $_) foreach qw(o1 o2);
	$self->{slots} = create_slot_pair($control, 'combinations', two_phase => 1);
	$self->{dbh} = connect_db($node);
	$self->transaction foreach 1 .. 25;
	# flushes a Message that may have been the last
	$self->insert('s1.unpublished');
	$self->{dbh}->disconnect;
	return $self;
}

sub drop
{
	my ($self) = @_;
	my $control = $self->{control};
	local $SIG{__WARN__} = sub { };
	drop_slot_pair($control, $self->{slots});
	$control->do($_) foreach 'DROP PUBLICATION p_plain, p_via', 'DROP SCHEMA s1, s2 CASCADE';
	$control->do('SELECT pg_replication_origin_drop(?)', undef, $_) foreach qw(o1 o2);
	return;
}

sub transaction
{
	my ($self) = @_;
	my $dbh = $self->{dbh};
	my $origin = rand() < 0.4 ? (qw(o1 o2))[ rand 2 ] : undef;

	$dbh->do('SELECT pg_replication_origin_session_setup(?)', undef, $origin) if $origin;
	$dbh->do('BEGIN');
	# A Message does not carry an origin; the change before it does.
	$self->insert('s1.unpublished') if $origin;
	$self->actions(1 + int rand 8);
	my $end = rand;
	if ($end < 0.1)
	{
		$dbh->do('ROLLBACK');
	}
	elsif ($end < 0.3)
	{
		my $gid = 'combinations_' . ++$self->{gid};
		$dbh->do("PREPARE TRANSACTION '$gid'");
		$self->message(0) if rand() < 0.5;
		$dbh->do((rand() < 0.8 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$gid'");
	}
	else
	{
		$dbh->do('COMMIT');
	}
	$dbh->do('SELECT pg_replication_origin_session_reset()') if $origin;
	return;
}

sub actions
{
	my ($self, $count, $depth) = @_;
	foreach (1 .. $count)
	{
		my $r = rand;
		if ($r < 0.12 && ($depth // 0) < 2)
		{
			my $name = 's' . ++$self->{savepoint};
			$self->{dbh}->do("SAVEPOINT $name");
			$self->actions(1 + int rand 4, ($depth // 0) + 1);
			$self->{dbh}->do((rand() < 0.5 ? 'ROLLBACK TO' : 'RELEASE') . " $name");
			next;
		}
		my $table = $self->table;
		$r < 0.45 ? $self->insert($table)
		  : $r < 0.50 ? $self->bulk
		  : $r < 0.65 ? $self->update($table)
		  : $r < 0.80 ? $self->update_key($table)
		  : $r < 0.90 ? $self->delete($table)
		  : $r < 0.92 ? $self->truncate
		  # A streamed Message carries the whole transaction's xid, by pgoutput
		  # as by us: a client cannot tell that its savepoint was rolled back.
		  : $self->message($depth || rand() < 0.2 ? 0 : 1);
	}
	return;
}

sub table
{
	my @names = (grep({ !$tables{$_}{root} } sort keys %tables), 's1.unpublished');
	return $names[ rand @names ];
}

sub key { return $tables{ $_[0] } ? $tables{ $_[0] }{key} : 'id' }

# A new key; those of s1.root go to both partitions.
sub new_id
{
	my ($self, $table) = @_;
	return ++$self->{id} + ($table eq 's1.root' && rand() < 0.5 ? $middle : 0);
}

# A value for a column, as SQL.
sub value
{
	my ($self, $column) = @_;
	my $n = int rand 100;
	return 'NULL' if rand() < 0.1;
	return $column eq 'a' ? (rand() < 0.6 ? sprintf("repeat('%02d', %d)", $n, 1100 + rand 400) : "'short $n'")
	  : $column eq 'b' ? $n
	  : $column eq 'c' ? "'c $n'"
	  : $column eq 'ts' ? "'2026-11-30 00:00+00'::timestamptz + interval '$n hours 1 second'"
	  : $column eq 'd' ? "'2026-02-01'::date + $n"
	  : $column eq 'i' ? "'" . ($n + 2) . " days'"
	  : $column eq 'by' ? sprintf("'\\x00%02x5c27'::bytea", $n)
	  : $column eq 'f' ? "0.1::float8 + $n * 0.2::float8"
	  : sprintf '%d.%02d', $n * 12345, $n;
}

sub values_of
{
	my ($self, $table) = @_;
	return $table eq 's1.unpublished' ? ('b') : grep { $_ ne key($table) && $_ ne 'g' } @{ $tables{$table}{columns} };
}

sub insert
{
	my ($self, $table) = @_;
	my @columns = $self->values_of($table);
	$self->{dbh}->do(sprintf 'INSERT INTO %s (%s) VALUES (%s)',
		$table, join(', ', key($table), @columns), join(', ', $self->new_id($table), map { $self->value($_) } @columns));
	return;
}

# Rows enough to be streamed at once where that goes by size.
sub bulk
{
	my ($self) = @_;
	my $from = $self->{id} + 1;
	$self->{id} += 40;
	$self->{dbh}->do(sprintf "INSERT INTO s1.t_pk SELECT n, repeat(md5(n::text), 80), n %% 100, 'bulk' FROM generate_series(%d, %d) n",
		$from, $self->{id});
	return;
}

# So many rows of a table, for WHERE.
sub some
{
	my ($self, $table, $count) = @_;
	my $key = key($table);
	return "$key IN (SELECT $key FROM $table ORDER BY md5($key || '" . int(rand 1e6) . "') LIMIT $count)";
}

sub update
{
	my ($self, $table) = @_;
	my @columns = $self->values_of($table);
	my %set = map { my $column = $columns[ rand @columns ]; $column => $self->value($column) } 1 .. 1 + rand 2;
	$self->{dbh}->do("UPDATE $table SET " . join(', ', map { "$_ = $set{$_}" } sort keys %set) . ' WHERE ' . $self->some($table, 1 + int rand 3));
	return;
}

sub update_key
{
	my ($self, $table) = @_;
	my $more = rand() < 0.3 ? ', b = ' . int rand 100 : '';
	$more = '' if $table eq 's1.t_types';
	$self->{dbh}->do("UPDATE $table SET " . key($table) . ' = ' . $self->new_id($table) . "$more WHERE " . $self->some($table, 1));
	return;
}

sub delete
{
	my ($self, $table) = @_;
	$self->{dbh}->do("DELETE FROM $table WHERE " . $self->some($table, 1 + int rand 2));
	return;
}

sub truncate
{
	my ($self) = @_;
	my @names = map { $self->table } 1 .. 1 + rand 2;
	my %seen;
	$self->{dbh}->do('TRUNCATE ' . join(', ', grep { !$seen{$_}++ } @names) . (rand() < 0.3 ? ' RESTART IDENTITY' : '') . (rand() < 0.3 ? ' CASCADE' : ''));
	return;
}

sub message
{
	my ($self, $transactional) = @_;
	my $prefix = ('m', 'm1', 'M', 'other.x', '')[ rand 5 ];
	$self->{dbh}->do('SELECT pg_logical_emit_message(?, ?, ?)', undef, $transactional, $prefix, 'content ' . int rand 100);
	# The server orders a Message by where it ends, which is where the next
	# record begins: if that is of a savepoint, either may come first.
	$self->insert('s1.unpublished') if $transactional;
	return;
}

# Compares tables in memory with the real ones: undef, or what differs. The rules
# say which tables and columns there are to be.
sub tables_differ
{
	my ($self, $applied, $rules) = @_;
	foreach my $name (sort keys %tables)
	{
		my $table = $tables{$name};
		my $real = {};
		my $there = $rules->announces($name);
		if ($there)
		{
			my $published = published($rules->{publication}, $name);
			my @columns = grep { $rules->sends_column($name, $_) } @{ $published->{columns} };
			my $rows = $self->{control}->selectall_arrayref(
				'SELECT ' . join(', ', map { "\"$_\"::text" } @columns) . " FROM $name WHERE $published->{where}");
			foreach my $values (@$rows)
			{
				my %row;
				@row{@columns} = @$values;
				$real->{ OptionStream::row_line(\%row) }++;
			}
		}
		my %have;
		$have{ OptionStream::row_line($_) }++ foreach values %{ $applied->{$name} || {} };
		foreach my $line (sort keys %{ { %have, %$real } })
		{
			return sprintf '%s %s: %d in the table, %d in the stream', $name, $line, $real->{$line} // 0, $have{$line} // 0
			  if ($real->{$line} // 0) != ($have{$line} // 0);
		}
	}
	return;
}

1;
