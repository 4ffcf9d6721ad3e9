# The steps of a generated program: each function returns the SQL statements
# of one step for a session, or nothing where the step makes no sense now.
# What exists is asked of the catalogs as the session sees them.

package Differential::Actions;

use strict;
use warnings;

use Differential::Objects;
use Differential::Values;

# Weights of the steps that a session in a transaction, or outside of one, can
# take. A program multiplies the weights of a group by its own taste.
our %groups = (
	rows => { insert => 28, bulk_insert => 7, update => 28, delete => 10, upsert => 4, copy_rows => 3, merge => 2, move_row => 4 },
	transactions => { begin => 24, commit => 10, rollback => 3, savepoint => 12, rollback_to => 8, release => 2, prepare => 6, end_prepared => 9, large => 4 },
	messages => { message => 6 },
	origins => { origin => 4 },
	tables => {
		add_column => 4, drop_column => 2, rename_column => 2, alter_type => 2, rename_table => 2, set_schema => 2, rename_schema => 1,
		identity => 4, create_table => 2, drop_table => 1, rewrite => 3, transient => 2, partition => 4, user_type => 4, truncate => 4, storage => 1, other => 5 },
	publications => { create_publication => 2, drop_publication => 1, rename_publication => 1, alter_publication => 8 });

sub literal
{
	my ($text) = @_;
	$text =~ s/'/''/g;
	return "'$text'";
}

sub value
{
	my ($program, $session, $column, $size) = @_;
	my $random = $program->{random};
	return 'NULL' if $random->chance(8) && !$column->{not_null};
	my $value = Differential::Values::builtin_value($random, $column->{type}, $size);
	return $value if defined $value;

	# an array of one of our types, or one of our types
	my $type = $column->{type};
	my $kind = $program->{type_kinds}{ $column->{type_oid} } || '';
	if ($kind =~ s/^_//)
	{
		my $element = user_value($program, $session, $kind);
		return "'{}'::$type" if !defined $element || $random->chance(20);
		return "ARRAY[$element, NULL]::$type" if $random->chance(50);
		return "ARRAY[$element]::$type";
	}
	$value = user_value($program, $session, $kind) // 'NULL';
	return "$value\::$type";
}

sub user_value
{
	my ($program, $session, $kind) = @_;
	my $random = $program->{random};
	if ($kind =~ /mood$/ || $kind eq 'Odd type')
	{
		$kind = 'mood' if $kind eq 'dmood';
		my $labels = $session->lookup("SELECT enumlabel FROM pg_enum WHERE enumtypid = $program->{type_oids}{$kind} ORDER BY enumsortorder");
		return @$labels ? literal($random->pick(@$labels)->{enumlabel}) : undef;
	}
	return $random->between(1, 9) if $kind eq 'posint';
	return literal($random->pick('abc', '', "\xc3\xa9t\xc3\xa9")) if $kind eq 'shortname';
	return q{'{a,"b c",NULL}'} if $kind eq 'tags';
	return literal($random->pick('(1,x)', '(,"a ""b""")', '(5,)')) if $kind eq 'pair';
	return literal($random->pick('("(1,x)",ok,"{1.5,NaN}")', '(,,)')) if $kind eq 'nest';
	return literal($random->pick('[1.5,2)', 'empty', '(,Infinity)')) if $kind eq 'frange';
	return literal($random->pick('{}', '{[1,2),[3.5,4]}')) if $kind eq 'fmulti';
	return;
}

sub writable
{
	return grep { $_->{generated} eq '' } @_;
}

# Columns and expressions of one row; $id is an expression for column id.
sub row
{
	my ($program, $session, $table, $id, $size) = @_;
	my $random = $program->{random};
	my (@names, @values);
	foreach my $column (writable($program->columns($session, $table->{oid})))
	{
		my $is_id = $column->{name} eq 'id';
		next if !$is_id && !$column->{not_null} && $random->chance(15);
		push @names, $column->{name};
		push @values, $is_id ? $id : value($program, $session, $column, $size);
	}
	return (\@names, \@values);
}

sub next_id
{
	my ($program, $n) = @_;
	my $id = $program->{next_id};
	$program->{next_id} += $n;
	return $id;
}

# An id for a new row: of a partition mostly one that belongs there.
sub an_id
{
	my ($program, $table) = @_;
	if (($table->{bound} // '') =~ /FROM \((MINVALUE|\d+)\) TO \((\d+)\)/ && $program->{random}->chance(90))
	{
		return $program->{random}->between($1 eq 'MINVALUE' ? 0 : $1, $2 - 1);
	}
	return $program->{random}->chance(65) ? next_id($program, 1) : $program->{random}->between(1, 30);
}

sub condition
{
	my ($program, $session, $table) = @_;
	my $random = $program->{random};
	return $random->pick('true', 'ctid = (SELECT ctid FROM ' . $table->{name} . ' ORDER BY ctid LIMIT 1)')
	  unless grep { $_->{name} eq 'id' && $_->{type} =~ /^(?:integer|bigint)$/ } $program->columns($session, $table->{oid});
	my $id = $random->between(1, $random->chance(70) ? 10 : 60);
	return $random->chance(4) ? 'true' : $random->pick("id = $id", "id = $id", "id < " . $random->between(1, 15), "id % 7 = " . $random->below(7), "id BETWEEN $id AND $id + 3");
}

sub insert
{
	my ($program, $session) = @_;
	my $table = $program->a_table($session) or return;
	my $random = $program->{random};
	my ($names, $values) = row($program, $session, $table, an_id($program, $table), 'any');
	return "INSERT INTO $table->{name} DEFAULT VALUES" unless @$names;
	my $sql = "INSERT INTO $table->{name} (" . join(', ', @$names) . ') VALUES (' . join(', ', @$values) . ')';
	$sql .= ' ON CONFLICT DO NOTHING' if $random->chance(60);
	return $sql;
}

# Rows that later steps find: ids 1 to 8, or some for each partition.
sub first_rows
{
	my ($program, $session, $table) = @_;
	my ($names, $values) = row($program, $session, $table, $table->{relkind} eq 'p' ? 'i * 4' : 'i', 'small');
	return unless @$names;
	return "INSERT INTO $table->{name} (" . join(', ', @$names) . ') SELECT ' . join(', ', @$values) . ' FROM generate_series(1, 8) i ON CONFLICT DO NOTHING';
}

# Enough rows to be streamed with 64 kB of logical_decoding_work_mem, or just a few.
sub bulk_insert
{
	my ($program, $session, $table) = @_;
	my $random = $program->{random};
	$table ||= $program->a_table($session, sub { !$_[0]{relispartition} && ($_[0]{relkind} eq 'r' || $random->chance(30)) }) or return;
	my $n = $random->chance($program->{bulky}) ? $random->between(600, 1000) : $random->between(2, 12);
	my ($names, $values) = row($program, $session, $table, 'i', 'small');
	return unless @$names;
	my $first = next_id($program, $n);
	return "INSERT INTO $table->{name} (" . join(', ', @$names) . ') SELECT ' . join(', ', @$values)
	  . " FROM generate_series($first, " . ($first + $n - 1) . ') i ON CONFLICT DO NOTHING';
}

sub copy_rows
{
	my ($program, $session) = @_;
	my $table = $program->a_table($session) or return;
	my $random = $program->{random};
	my ($names, $values) = row($program, $session, $table, 'i', 'any');
	return unless @$names;
	my $n = $random->between(2, 20);
	my $first = next_id($program, $n);
	my $file = literal("$program->{directory}/copy");
	return ("COPY (SELECT " . join(', ', @$values) . " FROM generate_series($first, " . ($first + $n - 1) . ") i) TO $file",
		"COPY $table->{name} (" . join(', ', @$names) . ") FROM $file");
}

sub assignments
{
	my ($program, $session, $table) = @_;
	my $random = $program->{random};
	my @columns = writable($program->columns($session, $table->{oid}));
	return unless @columns;
	return map {
		my $name = $_->{name};
		"$name = " . ($name eq 'id' ? $random->pick('id', 'id + 100', 'id + 10', 'id - 10') : $random->chance(15) ? $name : value($program, $session, $_, 'any'))
	} $random->sample($random->between(1, 2), @columns);
}

sub update
{
	my ($program, $session, $table) = @_;
	$table ||= $program->a_table($session) or return;
	my @set = assignments($program, $session, $table) or return;
	return "UPDATE $table->{name} SET " . join(', ', @set) . ' WHERE ' . condition($program, $session, $table);
}

sub delete
{
	my ($program, $session) = @_;
	my $table = $program->a_table($session) or return;
	return "DELETE FROM $table->{name} WHERE " . condition($program, $session, $table);
}

sub upsert
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $table = $program->a_table($session, sub { $_[0]{identity} eq 'd' }) or return;
	my ($names, $values) = row($program, $session, $table, $random->between(1, 20), 'any');
	my @set = assignments($program, $session, $table);
	return unless @$names && @set;
	return "INSERT INTO $table->{name} AS target (" . join(', ', @$names) . ') VALUES (' . join(', ', @$values)
	  . ') ON CONFLICT (id) DO UPDATE SET ' . join ', ', map { /^(.*?) = (\1|id)( .*)?$/ ? "$1 = target.$2" . ($3 // '') : $_ } @set;
}

sub merge
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $table = $program->a_table($session) or return;
	my $n = $random->between(1, 20);
	my ($names, $values) = row($program, $session, $table, 's.i', 'small');
	my @set = grep { !/^id = / } assignments($program, $session, $table);
	return unless @set && grep { $_ eq 'id' } @$names;
	return "MERGE INTO $table->{name} t USING generate_series($n, $n + 3) AS s(i) ON t.id = s.i WHEN MATCHED AND s.i % 2 = 0 THEN DELETE "
	  . 'WHEN MATCHED THEN UPDATE SET ' . join(', ', @set) . ' WHEN NOT MATCHED THEN INSERT (' . join(', ', @$names) . ') VALUES (' . join(', ', @$values) . ')';
}

# An update that moves rows from partition to partition.
sub move_row
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $table = $program->a_table($session, sub { $_[0]{relkind} eq 'p' }) or return;
	my ($from, $to) = ($random->between(1, 35), $random->between(1, 45));
	return ("INSERT INTO $table->{name} (id) VALUES ($from) ON CONFLICT DO NOTHING", "UPDATE $table->{name} SET id = $to WHERE id = $from");
}

sub truncate
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my @tables = $random->sample($random->weighted({ 1 => 6, 2 => 3, 3 => 1 }), $program->tables($session));
	return unless @tables;
	return 'TRUNCATE ' . join(', ', map { ($_->{relkind} eq 'r' && $random->chance(20) ? 'ONLY ' : '') . $_->{name} } @tables)
	  . $random->pick('', '', ' RESTART IDENTITY') . $random->pick('', '', ' CASCADE');
}

sub begin
{
	return $_[1]{state} eq 'idle' ? 'BEGIN' : ();
}

sub commit
{
	return $_[1]{state} eq 'open' ? 'COMMIT' : ();
}

sub rollback
{
	return $_[1]{state} eq 'open' ? 'ROLLBACK' : ();
}

sub savepoint
{
	my ($program, $session) = @_;
	return unless $session->{state} eq 'open' && @{ $session->{savepoints} } < 4;
	return 'SAVEPOINT s' . @{ $session->{savepoints} };
}

sub rollback_to
{
	my ($program, $session) = @_;
	my $points = $session->{savepoints};
	return unless @$points && $session->{state} =~ /open|failed/;
	my $i = $program->{random}->below(scalar @$points);
	return "ROLLBACK TO SAVEPOINT $points->[$i]";
}

sub release
{
	my ($program, $session) = @_;
	my $points = $session->{savepoints};
	return unless @$points && $session->{state} eq 'open';
	return 'RELEASE SAVEPOINT ' . $program->{random}->pick(@$points);
}

sub prepare
{
	my ($program, $session) = @_;
	return unless $session->{state} eq 'open';
	my $random = $program->{random};
	my $n = ++$program->{gids};
	my $gid = $random->pick("gid $n", "gid $n", 'x' x 190 . $n, "odd '\"\\ \xc3\xa9 $n", "_$n");
	return 'PREPARE TRANSACTION ' . literal($gid);
}

# A transaction with enough in it to be streamed, around a savepoint that is
# mostly rolled back, with the definition of the table changed in it or not.
sub large
{
	my ($program, $session) = @_;
	return unless $session->{state} eq 'idle' && $program->{bulky};
	my $random = $program->{random};
	my $is_plain = sub { $_[0]{relkind} eq 'r' && !$_[0]{relispartition} };
	my $table = $program->a_table($session, $is_plain) or return;
	my $second = $random->chance(70) ? $table : $program->a_table($session, $is_plain);
	local $program->{bulky} = 100;
	my @steps = grep { defined } map { scalar bulk_insert($program, $session, $_) } $table, $second, $table;
	return unless @steps == 3;
	return ('BEGIN', $steps[0], 'SAVEPOINT s0', $random->chance(20) ? "ALTER TABLE $second->{name} ADD COLUMN large_$program->{next_id} integer DEFAULT 5" : (), $steps[1],
		$random->pick('ROLLBACK TO SAVEPOINT s0', 'ROLLBACK TO SAVEPOINT s0', 'SAVEPOINT s1'), $steps[2]);
}

sub end_prepared
{
	my ($program, $session) = @_;
	return unless $session->{state} eq 'idle';
	my $random = $program->{random};
	my $gids = $program->{control}->selectcol_arrayref('SELECT gid FROM pg_prepared_xacts ORDER BY prepared, gid');
	return unless @$gids;
	return ($random->chance(70) ? 'COMMIT' : 'ROLLBACK') . ' PREPARED ' . literal($random->pick(@$gids));
}

sub message
{
	my ($program) = @_;
	my $random = $program->{random};
	my $content = $random->chance(8) ? "repeat('big message ', " . $random->between(500, 8000) . ')' : literal($random->pick('', 'hello', "caf\xc3\xa9", "two\nlines"));
	$content = $random->pick(q{'\x00ff00'::bytea}, q{'\x'::bytea}) if $random->chance(20);
	return sprintf 'SELECT pg_catalog.pg_logical_emit_message(%s, %s, %s)', $random->chance(60) ? 'true' : 'false',
	  literal($random->pick('', 'prefix', 'p q', "\xc3\xa9")), $content;
}

sub origin
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	if (!$session->{origin})
	{
		# one origin for each session: two sessions cannot share one
		my $name = $Differential::Objects::origin_names[ $session->{number} ];
		return unless defined $name;
		$session->{origin} = 1;
		return 'SELECT pg_catalog.pg_replication_origin_session_setup(' . literal($name) . ')';
	}
	if ($session->{state} eq 'open' && $random->chance(60))
	{
		return sprintf q{SELECT pg_catalog.pg_replication_origin_xact_setup('0/%X', '2024-01-01 00:00:00+00')}, $random->between(1, 1_000_000);
	}
	return unless $session->{state} eq 'idle' && $random->chance(50);
	$session->{origin} = 0;
	return 'SELECT pg_catalog.pg_replication_origin_session_reset()';
}

1;
