# A writer of the kill test: a session that runs random transactions until the file
# "stop" appears, connects again when the server is gone, and notes the id of each
# transaction whose commit the server has told.
#
# Each transaction has an id of its own, which is a row of the table "ledger" and in
# the name of a prepared transaction. Which statements a writer takes depends on its
# seed, on what fails, and so on the moments of the kills.

package Crash::Writer;

use strict;
use warnings;

use PgoutputExt;
use Time::HiRes qw(sleep);

# Each table has a column id that identifies its rows: rows are found by it in the
# tables that are rebuilt from the stream.
my @tables = qw(by_key whole by_index toasted parted);
my @schema = (
	'CREATE TABLE ledger (id bigint PRIMARY KEY, writer text)',
	'CREATE TABLE by_key (id int PRIMARY KEY, v int, note text)',
	'CREATE TABLE whole (id int PRIMARY KEY, v int, note text)',
	'ALTER TABLE whole REPLICA IDENTITY FULL',
	'CREATE TABLE by_index (v int, note text, id int NOT NULL)',
	'CREATE UNIQUE INDEX by_index_id ON by_index (id)',
	'ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_id',
	'CREATE TABLE toasted (id int PRIMARY KEY, v int, note text, big text)',
	'ALTER TABLE toasted ALTER big SET STORAGE EXTERNAL',
	'CREATE TABLE parted (id int PRIMARY KEY, v int, note text) PARTITION BY RANGE (id)',
	'CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (150)',
	'CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (150) TO (MAXVALUE)',
	'CREATE PUBLICATION crash FOR ALL TABLES');

sub create_schema
{
	my ($dbh) = @_;
	$dbh->do('DROP PUBLICATION IF EXISTS crash');
	$dbh->do('DROP SCHEMA IF EXISTS public CASCADE');
	$dbh->do('CREATE SCHEMA public');
	$dbh->do($_) foreach @schema;
	return;
}

# Parameters: node, number, seed, directory.
sub new
{
	my ($class, %params) = @_;
	return bless { transactions => 0, names => 0, %params }, $class;
}

sub run
{
	my ($self) = @_;
	local $SIG{PIPE} = 'IGNORE';

	srand $self->{seed};
	open $self->{told}, '>>', "$self->{directory}/told.$self->{number}" or die "cannot write: $!\n";
	$self->{told}->autoflush(1);
	until (-e "$self->{directory}/stop")
	{
		eval {
			$self->{dbh} ||= $self->_connect;
			$self->_transaction;
			1;
		} or $self->_recover;
		sleep rand 0.03;
	}
	return;
}

sub _connect
{
	my ($self) = @_;
	my $dbh = connect_db($self->{node});

	$self->{dbh} = $dbh;
	set_session(
		$dbh,
		application_name => "crash writer $self->{number}",
		client_min_messages => 'error',
		deadlock_timeout => '50ms',
		lock_timeout => '300ms');
	my $gids = $dbh->selectcol_arrayref('SELECT gid FROM pg_prepared_xacts WHERE gid LIKE ? ORDER BY gid', undef, "w$self->{number}-%");
	$self->_finish_prepared($_) foreach @$gids;
	return $dbh;
}

sub _recover
{
	my ($self) = @_;
	my $dbh = $self->{dbh};

	return if $dbh && $dbh->ping && eval { $dbh->do('ROLLBACK'); 1 };
	delete $self->{dbh};
	sleep 0.05;
	return;
}

sub _told
{
	my ($self, $id) = @_;
	print { $self->{told} } "$id\n";
	return;
}

sub chance { return rand(100) < $_[0] }

sub pick { return $_[ rand @_ ] }

# ---- transactions -----------------------------------------------------------

sub _transaction
{
	my ($self) = @_;
	my $dbh = $self->{dbh};
	my $id = $self->{number} * 10_000_000 + ++$self->{transactions};

	return $dbh->do(q{SELECT pg_logical_emit_message(false, 'alone', ?)}, undef, $id) if chance(3);
	$dbh->do('BEGIN');
	$dbh->do('INSERT INTO ledger VALUES (?, ?)', undef, $id, "writer $self->{number}");
	my $large = chance(8);
	foreach (1 .. 1 + int rand 4)
	{
		my $savepoint = chance(40);
		$dbh->do('SAVEPOINT s') if $savepoint;
		$large ? $self->_many_rows : $self->_statement;
		next unless $savepoint;
		$dbh->do(chance(50) ? 'ROLLBACK TO s' : 'RELEASE s');
	}
	return $dbh->do('ROLLBACK') if chance(8);
	if (chance(20))
	{
		my $gid = "w$self->{number}-$id";
		$dbh->do("PREPARE TRANSACTION '$gid'");
		sleep rand 0.1;
		return $self->_finish_prepared($gid);
	}
	$dbh->do('COMMIT');
	$self->_told($id);
	return;
}

sub _finish_prepared
{
	my ($self, $gid) = @_;

	return $self->{dbh}->do("ROLLBACK PREPARED '$gid'") if chance(30);
	$self->{dbh}->do("COMMIT PREPARED '$gid'");
	$self->_told($gid =~ s/.*-//r);
	return;
}

# ---- statements -------------------------------------------------------------

sub _statement
{
	my ($self) = @_;
	my $dbh = $self->{dbh};
	my $table = pick(@tables);
	my $from = 1 + int rand 300;
	my $kind = rand 100;

	return $self->_definition if $kind < 5;
	return $dbh->do('TRUNCATE ' . join ', ', pick($table, 'whole', 'by_key, toasted')) if $kind < 7;
	return $dbh->do(q{SELECT pg_logical_emit_message(true, 'within', ?)}, undef, $table) if $kind < 11;
	return $self->_insert($table, $from, $from + int rand 8) if $kind < 50;
	return $dbh->do("DELETE FROM $table WHERE id BETWEEN ? AND ?", undef, $from, $from + int rand 5) if $kind < 65;
	# another id, where it is free: for parted, maybe in another partition
	return $dbh->do("UPDATE $table SET id = ? WHERE id = ? AND NOT EXISTS (SELECT FROM $table WHERE id = ?)",
		undef, $_, $from, $_) foreach $kind < 72 ? 1 + int rand 300 : ();
	return $dbh->do("UPDATE $table SET v = v % 1000000 + 1 WHERE id BETWEEN ? AND ?", undef, $from, $from + int rand 20);
}

sub _insert
{
	my ($self, $table, $from, $to) = @_;
	my ($column, $value) = $table eq 'toasted' ? (', big', q{, repeat(md5(i::text), 100)}) : ('', '');

	return $self->{dbh}->do(
		"INSERT INTO $table (id, v, note$column) SELECT i, i % 97, 'note ' || md5(i::text)$value"
		  . ' FROM generate_series(?::int, ?::int) i ON CONFLICT DO NOTHING',
		undef, $from, $to);
}

# Enough for a transaction to be streamed, in a part of the table that is this
# writer's own; the next time the rows are updated or deleted.
sub _many_rows
{
	my ($self) = @_;
	my $table = pick(@tables);
	my $from = 1000 * (1 + $self->{number});
	my $dbh = $self->{dbh};
	my @range = ($from, $from + 150 + int rand 300);

	@range = ($from, $from + 60) if $table eq 'toasted';
	my $n = $dbh->do("DELETE FROM $table WHERE id BETWEEN ? AND ?", undef, $from, $from + 500);
	return if $n > 0 && chance(30);
	$self->_insert($table, @range);
	$dbh->do("UPDATE $table SET v = v + 1 WHERE id BETWEEN ? AND ?", undef, @range) if chance(50);
	return;
}

# A name that no column and no table had before: what was dropped never comes back
# under its name, so that the rebuilt tables need not be told of it.
sub _new_name
{
	my ($self) = @_;
	return "n$self->{number}_" . ++$self->{names};
}

sub _definition
{
	my ($self) = @_;
	my $dbh = $self->{dbh};
	my $table = pick(@tables);
	my $name = $self->_new_name;
	my $kind = int rand 6;

	if ($kind == 0)
	{
		$dbh->do("ALTER TABLE $table ADD COLUMN $name text");
		return $dbh->do("UPDATE $table SET $name = id::text WHERE id < 40");
	}
	if ($kind == 1)
	{
		my $columns = $dbh->selectcol_arrayref(
			q{SELECT attname FROM pg_attribute WHERE attrelid = ?::regclass AND attname ~ '^n[0-9]' AND NOT attisdropped},
			undef, $table);
		return @$columns ? $dbh->do("ALTER TABLE $table DROP COLUMN " . pick(sort @$columns)) : undef;
	}
	return $dbh->do("ALTER TABLE $table ALTER v TYPE " . pick('int', 'bigint')) if $kind == 2;
	return $dbh->do('ALTER TABLE whole REPLICA IDENTITY ' . pick('FULL', 'DEFAULT')) if $kind == 3;
	if ($kind == 4)
	{
		my $tables = $dbh->selectcol_arrayref(q{SELECT relname FROM pg_class WHERE relname ~ '^n[0-9]' AND relkind = 'r'});
		return $dbh->do('DROP TABLE ' . pick(sort @$tables)) if @$tables > 5;
	}
	$dbh->do("CREATE TABLE $name (id int PRIMARY KEY, v int)");
	$dbh->do("INSERT INTO $name VALUES (1, 1), (2, 2)");
	$dbh->do("ALTER TABLE $name RENAME TO ${name}_again") if chance(30);
	return $dbh->do("UPDATE " . ($dbh->selectrow_array('SELECT to_regclass(?)', undef, $name) // "${name}_again") . ' SET v = 3');
}

1;
