# A generated program: what a seed makes. It defines tables, types and
# publications, runs interleaved sessions against them and leaves their WAL to
# be read through the slot pairs that its caller makes in between.

package Differential::Program;

use strict;
use warnings;

use Differential::Actions;
use Differential::Definitions;
use Differential::Objects;
use Differential::Random;
use Differential::Values;

# Parameters: seed, major, control (connection), sessions, directory (for
# COPY), has_except (the server's publications know EXCEPT and ALL SEQUENCES),
# small (few steps and no bulk, for servers that are slow on purpose).
sub new
{
	my ($class, %params) = @_;
	my $self = bless {
		%params,
		random => Differential::Random->new($params{seed}),
		next_id => 41,
		gids => 0,
		transients => 0,
		log => [],
		results => {},
		lasting_publications => {},
		type_kinds => {},
		type_oids => {},
	}, $class;
	Differential::Values::set_server($params{major});
	my $random = $self->{random};
	$self->{bulky} = $random->chance(40) ? 35 : 0;
	$self->{column_lists} = $random->pick(0, 0, 10, 40);
	$self->{steps} = $random->between(15, 80);
	($self->{bulky}, $self->{steps}) = (0, $self->{steps} % 21 + 10) if $self->{small};
	# programs with bulk have two large transactions at least
	$self->{scheduled} = { map { $random->below($self->{steps}) => 'large' } 1 .. 2 } if $self->{bulky};
	$self->{step} = 0;
	my %taste = map { $_ => $random->pick(1, 1, 2, 3) } sort keys %Differential::Actions::groups;
	$self->{weights} = {};
	foreach my $group (sort keys %taste)
	{
		my $steps = $Differential::Actions::groups{$group};
		$self->{weights}{$_} = $steps->{$_} * $taste{$group} foreach keys %$steps;
	}
	delete $self->{weights}{merge} if $params{major} < 15;
	return $self;
}

# Tables and partitioned tables of the program as a session sees them.
sub tables
{
	my ($self, $session) = @_;
	return @{ $session->lookup(<<'SQL') };
SELECT c.oid, c.oid::regclass AS name, c.relkind, c.relispartition::int AS relispartition, c.relreplident AS identity,
  pg_get_expr(c.relpartbound, 0) AS bound
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname ~ '^d[1-9 ]' AND c.relkind IN ('r', 'p') ORDER BY n.nspname, c.relname
SQL
}

# A random one of them; $which chooses.
sub a_table
{
	my ($self, $session, $which) = @_;
	my @tables = $self->tables($session);
	@tables = grep { $which->($_) } @tables if $which;
	return @tables ? $self->{random}->pick(@tables) : undef;
}

sub columns
{
	my ($self, $session, $oid) = @_;
	return @{ $session->lookup(<<"SQL") };
SELECT quote_ident(a.attname) AS name, a.atttypid AS type_oid, format_type(a.atttypid, NULL) AS type,
  format_type(a.atttypid, NULL) AS plain_type,
  format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END, NULL) AS base_type,
  a.attgenerated AS generated, a.attnotnull AS not_null,
  EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND a.attnum = ANY (i.indkey)
    AND (c.relreplident = 'd' AND i.indisprimary OR c.relreplident = 'i' AND i.indisreplident)) AS key
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
WHERE c.oid = $oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
SQL
}

sub schemas
{
	my ($self, $session) = @_;
	return map { $_->{name} } @{ $session->lookup(q{SELECT quote_ident(nspname) AS name FROM pg_namespace WHERE nspname ~ '^d[1-9 ]' ORDER BY nspname}) };
}

# Runs one statement in a session and notes how it went.
sub run
{
	my ($self, $session, $sql) = @_;
	$self->note($session, $sql, $session->run($sql));
	return;
}

sub note
{
	my ($self, $session, $sql, $result) = @_;
	push @{ $self->{log} }, [ $session->{name}, $sql, $result eq 'error' ? "error: $session->{error}" : $result ];
	my ($verb) = $sql =~ /^(\w+(?: (?:TABLE|TYPE|PUBLICATION|SCHEMA|TRANSACTION|PREPARED|TO))?)/;
	$self->{results}{$verb}{$result}++;
	if ($sql !~ /^(?:INSERT|UPDATE|DELETE|MERGE|SAVEPOINT|BEGIN)/)
	{
		$_->forget foreach @{ $self->{sessions} };
	}
	if ($sql =~ /^(?:DROP PUBLICATION|ALTER PUBLICATION) (\S+|"[^"]*")(?:$| RENAME TO)/)
	{
		delete $self->{lasting_publications}{$1};
	}
	return;
}

# Definitions before the workload: run by the first session, outside of
# transactions.
sub define
{
	my ($self) = @_;
	my $random = $self->{random};
	my $session = $self->{sessions}[0];

	my @types = Differential::Objects::user_types($random);
	$self->{user_types} = @types ? 1 : 0;
	$self->run($session, $_) foreach (map { "CREATE SCHEMA $_" } @Differential::Objects::schemas), @types;
	foreach my $row ($self->{control}->selectall_arrayref(q{SELECT oid, typname FROM pg_type WHERE typnamespace = 'd1'::regnamespace})->@*)
	{
		$self->{type_kinds}{ $row->[0] } = $row->[1];
		$self->{type_oids}{ $row->[1] } = $row->[0];
	}

	my @names = $random->sample($random->between(2, 5), @Differential::Objects::table_names);
	foreach my $name (@names)
	{
		$self->run($session, $_) foreach Differential::Objects::table($self, $random->pick(@Differential::Objects::schemas) . ".$name");
	}
	foreach my $base ($random->sample($random->weighted({ 0 => 3, 1 => 5, 2 => 2 }), 'part', 'tree'))
	{
		$self->run($session, $_) foreach Differential::Objects::partition_tree($self, $random->pick('d1', 'd3'), $base);
	}
	foreach my $name ($random->sample($random->between(2, 4), @Differential::Objects::publication_names))
	{
		my $with = Differential::Objects::publication_parameters($self);
		$self->run($session, join ' ', "CREATE PUBLICATION $name", Differential::Objects::publication_objects($self, $session), $with ? "WITH $with" : ());
		$self->{lasting_publications}{$name} = 1 if $self->{log}[-1][2] eq 'ok';
	}
	foreach my $table (grep { !$_->{relispartition} && $random->chance(85) } $self->tables($session))
	{
		my $sql = Differential::Actions::first_rows($self, $session, $table);
		$self->run($session, $sql) if $sql;
	}
	return;
}

# One step of a random session.
sub step
{
	my ($self) = @_;
	my $random = $self->{random};
	my $sessions = $self->{sessions};
	my @able = grep { $_->{state} ne 'blocked' } @$sessions;
	my $session = $random->pick(@able);

	my $scheduled = delete $self->{scheduled}{ ++$self->{step} };
	if ($scheduled)
	{
		my ($idle) = grep { $_->{state} eq 'idle' } @able;
		$self->run($session, 'ROLLBACK') unless $idle;
		$self->settle($session);
		$session = $idle || $session;
	}
	my $name = $scheduled && $session->{state} eq 'idle' ? $scheduled : $session->{state} eq 'failed' ? $random->pick('rollback_to', 'end_failed') : $random->weighted($self->{weights});
	my @statements = $name eq 'end_failed' ? ($random->pick('ROLLBACK', 'ROLLBACK', 'COMMIT'))
	  : $name eq 'rollback_to' && $session->{state} eq 'failed' && !@{ $session->{savepoints} } ? ('ROLLBACK')
	  : do
	{
		no strict 'refs';
		my $function = "Differential::Actions::$name";
		$function = "Differential::Definitions::$name" unless defined &$function;
		$function->($self, $session);
	};
	foreach my $sql (@statements)
	{
		$self->run($session, $sql);
		$self->settle($session);
		last if $session->{state} =~ /failed|blocked/;
	}
	return;
}

# After a statement: statements that waited for a lock may go on. One session
# may wait at a time; a second one is cancelled, so that no deadlock can form.
sub settle
{
	my ($self, $latest) = @_;
	foreach my $session (grep { $_ != $latest && $_->{state} eq 'blocked' } @{ $self->{sessions} })
	{
		my $result = $session->wait;
		$self->note($session, $session->{sql}, $result) if $result ne 'blocked';
	}
	my @blocked = grep { $_->{state} eq 'blocked' } @{ $self->{sessions} };
	if (@blocked > 1)
	{
		$self->note($latest, $latest->{sql}, $latest->cancel);
	}
	return;
}

# Ends what is open: sessions are committed, rolled back, prepared or left.
sub finish
{
	my ($self) = @_;
	my $random = $self->{random};
	foreach my $session (@{ $self->{sessions} })
	{
		next unless $session->{state} eq 'blocked';
		$self->note($session, $session->{sql}, $session->cancel);
	}
	foreach my $session (@{ $self->{sessions} })
	{
		next if $session->{state} eq 'blocked';
		$self->run($session, $random->pick('COMMIT', 'COMMIT', 'COMMIT', 'ROLLBACK', "PREPARE TRANSACTION 'last $session->{number}'")), $self->settle($session)
		  if $session->{state} ne 'idle' && $random->chance(85);
	}
	my ($session) = grep { $_->{state} eq 'idle' } @{ $self->{sessions} } or return;
	foreach my $gid (@{ $self->{control}->selectcol_arrayref('SELECT gid FROM pg_prepared_xacts ORDER BY prepared, gid') })
	{
		my $end = $random->pick('COMMIT PREPARED', 'ROLLBACK PREPARED', undef) or next;
		$self->run($session, "$end " . Differential::Actions::literal($gid));
	}
	return;
}

# The program as text.
sub text
{
	my ($self) = @_;
	return join '', map { "$_->[0]: $_->[1];  -- $_->[2]\n" } @{ $self->{log} };
}

1;
