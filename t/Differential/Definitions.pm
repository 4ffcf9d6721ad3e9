# The steps of a generated program that change definitions: tables, types,
# partitions, publications. Called like the functions of Actions.pm.

package Differential::Definitions;

use strict;
use warnings;

use Differential::Actions;
use Differential::Objects;

sub add_column
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $table = $program->a_table($session, sub { !$_[0]{relispartition} }) or return;
	my %used = map { $_->{name} => 1 } $program->columns($session, $table->{oid});
	my ($name) = $random->sample(1, grep { !$used{$_} } @Differential::Objects::column_names) or return;
	if ($random->chance(15) && $used{id})
	{
		return "ALTER TABLE $table->{name} ADD COLUMN " . Differential::Objects::generated_column($program, $name, 'id');
	}
	if ($random->chance(50))
	{
		my $default = $random->pick("integer NOT NULL DEFAULT 7", "text NOT NULL DEFAULT 'dflt'", "text DEFAULT repeat('d', 3000)", "timestamp NOT NULL DEFAULT '2024-01-01'", "integer DEFAULT (random() * 0)::integer");
		# old rows have the default without being written again
		my $update = $random->chance(60) ? Differential::Actions::update($program, $session, $table) : undef;
		return ("ALTER TABLE $table->{name} ADD COLUMN $name $default", $update // ());
	}
	return "ALTER TABLE $table->{name} ADD COLUMN " . Differential::Objects::column($program, $name);
}

# A column of a table, mostly not id, as (table, column).
sub _a_column
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $table = $program->a_table($session, sub { !$_[0]{relispartition} }) or return;
	my @columns = $program->columns($session, $table->{oid});
	@columns = grep { $_->{name} ne 'id' } @columns unless $random->chance(4);
	my ($column) = $random->sample(1, @columns) or return;
	return ($table, $column);
}

sub drop_column
{
	my ($program, $session) = @_;
	my ($table, $column) = _a_column($program, $session) or return;
	return "ALTER TABLE $table->{name} DROP COLUMN $column->{name}" . $program->{random}->pick('', ' CASCADE');
}

sub rename_column
{
	my ($program, $session) = @_;
	my ($table, $column) = _a_column($program, $session) or return;
	my %used = map { $_->{name} => 1 } $program->columns($session, $table->{oid});
	my ($name) = $program->{random}->sample(1, grep { !$used{$_} } @Differential::Objects::column_names) or return;
	return "ALTER TABLE $table->{name} RENAME COLUMN $column->{name} TO $name";
}

sub alter_type
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my ($table, $column) = _a_column($program, $session) or return;
	return "ALTER TABLE $table->{name} ALTER COLUMN $column->{name} DROP EXPRESSION" if $column->{generated} eq 's';
	my $type = $column->{type} =~ /^(?:integer|smallint|posint)$/ ? $random->pick('bigint', 'numeric', 'text')
	  : $column->{type} eq 'character varying' ? 'character varying(300)' : $random->pick('text', 'text', 'character varying');
	return "ALTER TABLE $table->{name} ALTER COLUMN $column->{name} DROP DEFAULT, ALTER COLUMN $column->{name} TYPE $type USING $column->{name}::$type";
}

sub storage
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my ($table, $column) = _a_column($program, $session) or return;
	return "ALTER TABLE $table->{name} ALTER COLUMN $column->{name} SET STORAGE " . $random->pick('EXTERNAL', 'EXTENDED', 'MAIN', 'PLAIN');
}

sub rename_table
{
	my ($program, $session) = @_;
	my $table = $program->a_table($session) or return;
	return "ALTER TABLE $table->{name} RENAME TO " . $program->{random}->pick(@Differential::Objects::table_names);
}

sub set_schema
{
	my ($program, $session) = @_;
	my $table = $program->a_table($session) or return;
	return "ALTER TABLE $table->{name} SET SCHEMA " . $program->{random}->pick($program->schemas($session));
}

sub rename_schema
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my ($schema) = $random->sample(1, grep { $_ ne 'd1' } $program->schemas($session)) or return;
	return "ALTER SCHEMA $schema RENAME TO " . $random->pick('"d two"', 'd3', 'd4', "\"d \xc3\xa9\"");
}

sub identity
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $table = $program->a_table($session) or return;
	my $how = $random->weighted({ FULL => 5, DEFAULT => 4, NOTHING => 1, index => 4, drop_index => 1, primary => 2 });
	if ($how eq 'index')
	{
		my ($column) = $random->sample(1, grep { $_->{not_null} && $_->{generated} eq '' } $program->columns($session, $table->{oid})) or return;
		my $index = 'u_' . $random->below(100000);
		return ("CREATE UNIQUE INDEX $index ON $table->{name} ($column->{name})",
			"ALTER TABLE $table->{name} REPLICA IDENTITY USING INDEX $index");
	}
	if ($how eq 'drop_index')
	{
		my $indexes = $session->lookup("SELECT indexrelid::regclass AS name FROM pg_index WHERE indrelid = $table->{oid} AND indisunique ORDER BY 1");
		return unless @$indexes;
		return 'DROP INDEX ' . $random->pick(@$indexes)->{name};
	}
	return "ALTER TABLE $table->{name} ADD PRIMARY KEY (id)" if $how eq 'primary';
	return "ALTER TABLE $table->{name} REPLICA IDENTITY $how";
}

sub create_table
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $name = $random->pick($program->schemas($session)) . '.' . $random->pick(@Differential::Objects::table_names);
	my @sql = Differential::Objects::table($program, $name);
	push @sql, "INSERT INTO $name (id) VALUES (1) ON CONFLICT DO NOTHING" if $sql[0] =~ /\bid integer/;
	return @sql;
}

sub drop_table
{
	my ($program, $session) = @_;
	my @tables = $program->tables($session);
	return unless @tables > 3;
	return 'DROP TABLE ' . $program->{random}->pick(@tables)->{name} . ' CASCADE';
}

# The table gets another file: VACUUM FULL, CLUSTER and their like.
sub rewrite
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $table = $program->a_table($session, sub { $_[0]{relkind} eq 'r' }) or return;
	my $how = $random->pick('vacuum', 'cluster', 'cluster', 'logged', 'reindex', 'volatile');
	return "VACUUM FULL $table->{name}" if $how eq 'vacuum' && $session->{state} eq 'idle';
	return "REINDEX TABLE $table->{name}" if $how eq 'reindex';
	return "ALTER TABLE $table->{name} SET " . $random->pick('LOGGED', 'LOGGED', 'UNLOGGED') if $how eq 'logged';
	return "ALTER TABLE $table->{name} ADD COLUMN volatile_$program->{next_id} double precision DEFAULT random() * 0" if $how eq 'volatile';
	my $indexes = $session->lookup(
		"SELECT c.relname, quote_ident(c.relname) AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = $table->{oid} ORDER BY 1");
	return unless @$indexes;
	return "CLUSTER $table->{name} USING " . $random->pick(@$indexes)->{name};
}

# What else can hang on a table, or change of it.
sub other
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $table = $program->a_table($session, sub { $_[0]{relkind} eq 'r' && !$_[0]{relispartition} }) or return;
	my $name = $table->{name};
	my $n = ++$program->{transients};
	my $how = $random->pick('inherit', 'reference', 'trigger', 'type', 'several', 'parameter', 'default');

	return ("CREATE TABLE d1.child$n () INHERITS ($name)", "INSERT INTO d1.child$n (id) VALUES ($n)") if $how eq 'inherit';
	return ("CREATE TABLE d1.ref$n (id integer PRIMARY KEY, of integer REFERENCES $name (id) ON UPDATE CASCADE ON DELETE CASCADE)", "INSERT INTO d1.ref$n SELECT id, id FROM $name")
	  if $how eq 'reference';
	# each row has a subtransaction of its own, which some roll back
	return ("CREATE TABLE d1.log$n (id integer PRIMARY KEY, what text)",
		"CREATE FUNCTION d1.log$n() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN BEGIN INSERT INTO d1.log$n VALUES (NEW.id, TG_OP); PERFORM 1 / (NEW.id % 3); EXCEPTION WHEN others THEN NULL; END; RETURN NULL; END'",
		"CREATE TRIGGER log$n AFTER INSERT OR UPDATE ON $name FOR EACH ROW EXECUTE FUNCTION d1.log$n()") if $how eq 'trigger';
	return ("CREATE TYPE d1.made$n AS ENUM ('x', 'y')", "ALTER TABLE $name ADD COLUMN made$n d1.made$n DEFAULT 'x'", Differential::Actions::update($program, $session, $table) // ())
	  if $how eq 'type';
	return "ALTER TABLE $name ADD COLUMN one$n integer, ADD COLUMN two$n text NOT NULL DEFAULT 'two', DROP COLUMN IF EXISTS k" if $how eq 'several';
	return "ALTER TABLE $name " . $random->pick('SET (fillfactor = 50)', 'SET (toast_tuple_target = 200)', 'ENABLE ROW LEVEL SECURITY', 'CLUSTER ON nothing') if $how eq 'parameter';
	my ($column) = $random->sample(1, grep { $_->{generated} eq '' } $program->columns($session, $table->{oid})) or return;
	return "ALTER TABLE $name ALTER COLUMN $column->{name} " . $random->pick('SET NOT NULL', 'DROP NOT NULL', 'DROP DEFAULT', 'SET DEFAULT NULL');
}

# Relations that publications do not hold.
sub transient
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $n = ++$program->{transients};
	my $table = $program->a_table($session) or return;
	return $random->pick(
		[ "CREATE MATERIALIZED VIEW d1.mv$n AS SELECT * FROM $table->{name}", "REFRESH MATERIALIZED VIEW d1.mv$n" ],
		[ "CREATE TEMP TABLE temp$n (a integer)", "INSERT INTO pg_temp.temp$n VALUES (1)", "DROP TABLE pg_temp.temp$n" ],
		[ "CREATE UNLOGGED TABLE d1.ul$n (a integer)", "INSERT INTO d1.ul$n VALUES (1)" ],
		[ "CREATE TABLE d1.ct$n AS SELECT i AS id FROM generate_series(1, 5) i" ],
		[ "CREATE SEQUENCE d1.sq$n", "SELECT nextval('d1.sq$n')" ],
		[ "CREATE TABLE d1.dr$n (id integer PRIMARY KEY)", "INSERT INTO d1.dr$n VALUES (1)", "DROP TABLE d1.dr$n" ])->@*;
}

sub partition
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $partitions = $session->lookup(<<'SQL');
SELECT c.oid, c.oid::regclass AS name, i.inhparent::regclass AS parent, pg_get_expr(c.relpartbound, 0) AS bound
FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE c.relispartition AND c.relkind IN ('r', 'p') ORDER BY c.relname, c.oid
SQL
	my $what = $random->pick('detach', 'attach', 'create');
	if ($what eq 'detach' && @$partitions)
	{
		my $leaf = $random->pick(@$partitions);
		push @{ $program->{detached} }, $leaf;
		return "ALTER TABLE $leaf->{parent} DETACH PARTITION $leaf->{name}";
	}
	if ($what eq 'attach' && $program->{detached})
	{
		my $leaf = $random->pick(@{ $program->{detached} });
		return "ALTER TABLE $leaf->{parent} ATTACH PARTITION $leaf->{name} $leaf->{bound}";
	}
	my $table = $program->a_table($session, sub { $_[0]{relkind} eq 'p' && !$_[0]{relispartition} }) or return;
	my $n = ++$program->{transients};
	my $from = 100 + $n * 10;
	return "CREATE TABLE d1.new$n PARTITION OF $table->{name} FOR VALUES FROM ($from) TO (" . ($from + 10) . ')';
}

sub user_type
{
	my ($program, $session) = @_;
	return unless $program->{user_types};
	my $random = $program->{random};
	my $oids = join ', ', map { $program->{type_oids}{$_} } 'mood', 'Odd type', 'pair', 'posint', 'frange';
	my $types = $session->lookup("SELECT oid, oid::regtype AS name, typtype FROM pg_type WHERE oid IN ($oids) ORDER BY oid");
	return unless @$types;
	my $type = $random->pick(@$types);
	my $n = ++$program->{transients};
	if ($random->chance(20))
	{
		return "ALTER TYPE $type->{name} RENAME TO \"Type $n\"" if $random->chance(70);
		return "ALTER TYPE $type->{name} SET SCHEMA " . $random->pick($program->schemas($session));
	}
	if ($type->{typtype} eq 'e')
	{
		my $labels = $session->lookup("SELECT enumlabel FROM pg_enum WHERE enumtypid = $type->{oid} ORDER BY enumsortorder");
		return "ALTER TYPE $type->{name} ADD VALUE 'new $n'" if $random->chance(50) || !@$labels;
		return "ALTER TYPE $type->{name} RENAME VALUE " . Differential::Actions::literal($random->pick(@$labels)->{enumlabel}) . " TO 'renamed $n'";
	}
	return "ALTER TYPE $type->{name} ADD ATTRIBUTE x$n integer CASCADE" if $type->{typtype} eq 'c';
	return;
}

sub create_publication
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $name = $random->pick(@Differential::Objects::publication_names);
	my $with = Differential::Objects::publication_parameters($program);
	return join ' ', "CREATE PUBLICATION $name", Differential::Objects::publication_objects($program, $session), $with ? "WITH $with" : ();
}

sub _a_publication
{
	my ($program, $session) = @_;
	my $publications = $session->lookup(q{SELECT quote_ident(pubname) AS name, puballtables FROM pg_publication WHERE pubname LIKE 'p%' ORDER BY pubname});
	return unless @$publications;
	return $program->{random}->pick(@$publications);
}

sub drop_publication
{
	my ($program, $session) = @_;
	my $publication = _a_publication($program, $session) or return;
	return "DROP PUBLICATION $publication->{name}";
}

sub rename_publication
{
	my ($program, $session) = @_;
	my $publication = _a_publication($program, $session) or return;
	return "ALTER PUBLICATION $publication->{name} RENAME TO " . $program->{random}->pick(@Differential::Objects::publication_names);
}

sub alter_publication
{
	my ($program, $session) = @_;
	my $random = $program->{random};
	my $publication = _a_publication($program, $session) or return;
	my $alter = "ALTER PUBLICATION $publication->{name}";
	my $what = $random->weighted({ parameters => 4, set => 3, add => 4, drop => 2 });

	my $with = Differential::Objects::publication_parameters($program);
	return "$alter SET " . ($with || "(publish = 'insert, update')") if $what eq 'parameters' || ($publication->{puballtables} && $program->{major} < 19);
	if ($what eq 'set')
	{
		my $objects = Differential::Objects::publication_objects($program, $session);
		return unless $objects =~ s/^FOR //;
		return "$alter SET $objects";
	}
	my $table = $program->a_table($session) or return;
	return "$alter ADD " . Differential::Objects::publication_tables_14($program, $table) if $what eq 'add' && $program->{major} < 15;
	return "$alter ADD " . ($random->chance(20) ? 'TABLES IN SCHEMA ' . $random->pick($program->schemas($session)) : Differential::Objects::publication_table($program, $session, $table, 0))
	  if $what eq 'add';
	my $members = $session->lookup("SELECT prrelid::regclass AS name FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid WHERE quote_ident(pubname) = "
		  . Differential::Actions::literal($publication->{name}) . ' ORDER BY 1');
	return unless @$members;
	return "$alter DROP TABLE " . $random->pick(@$members)->{name};
}

1;
