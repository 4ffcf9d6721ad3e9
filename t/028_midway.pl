# What changes while transactions are under way: two streamed ones that overlap with
# a change of the publication or of the table, a root whose identity or key changes
# under its partitions, an origin that is set or changed inside of a transaction.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use Test::More;

my $node = new_node('main', conf => "logical_decoding_work_mem = '64kB'");
my $dbh = $node->{dbh};
my $major = server_major();
my %session = map { $_ => connect_db($node) } qw(a b c);

# Runs steps: [ session, statement ], or a statement of the main session.
sub run
{
	ref $_ ? $session{ $_->[0] }->do($_->[1]) : $dbh->do($_) foreach @_;
	return;
}

# The kinds of messages; a run of Inserts, or of pieces of a stream with nothing else, is one.
sub shape
{
	my ($result) = @_;
	my $shape = join '', map { substr $_->[2], 0, 1 } @{ $result->{rows} };
	return $shape =~ s/I+/I/gr =~ s/(?:SIE)+/SIE/gr;
}

# ---- two streams ----------------------------------------------------------------------

# Rows of 400 bytes: 200 of them are more than the memory for decoding.
sub many
{
	my ($table, $from, $count) = @_;
	return sprintf q{INSERT INTO %s SELECT n, repeat('x', 400) FROM generate_series(%d, %d) n}, $table, $from, $from + ($count // 300) - 1;
}

run('CREATE TABLE t (a int, b text)', 'CREATE TABLE z (a int, b text)', 'CREATE TABLE u (a int, b text)', 'CREATE PUBLICATION p FOR TABLE t, z');

# Whatever is altered, and however the first stream ends, the small transaction behind it
# and the other stream have to be told of what they use, as pgoutput tells them.
my %alter = (
	'publication' => q{ALTER PUBLICATION p SET (publish = 'insert, update, delete')},
	'list of tables' => 'ALTER PUBLICATION p ADD TABLE u',
	'table' => 'ALTER TABLE t ALTER a SET STATISTICS 7',
	'name' => 'ALTER SCHEMA s RENAME TO s2',
	'nothing' => 'SELECT 1');
my %end = (commit => 'COMMIT', abort => 'ROLLBACK', ($major >= 15 ? (prepare => q{PREPARE TRANSACTION 'a'}) : ()));

# Test: both plugins stream the same. Returns what pgoutput gives.
sub same_overlap
{
	my ($pair, $name, $end) = @_;
	my $seen;

	foreach my $streaming ('on', $major >= 16 ? 'parallel' : ())
	{
		$seen = same_stream($dbh, $pair, "$name, streaming $streaming",
			options => [ standard_options('p', proto_version => max_protocol(), streaming => $streaming, $end eq 'prepare' ? (two_phase => 'on') : ()) ]);
	}
	return $seen;
}

foreach my $what (sort keys %alter)
{
	foreach my $end (sort keys %end)
	{
		foreach my $savepoint (0, 1)
		{
			my $name = "$what, $end" . ($savepoint ? ', a savepoint between' : '');
			my @change = ($alter{$what});
			# What changed reaches the first stream with more of its rows.
			push @change, [ a => many('z', 500) ] if !$savepoint;
			run('CREATE SCHEMA s');
			my $pair = create_slot_pair($dbh, 'overlap', two_phase => $end eq 'prepare');
			run([ a => 'BEGIN' ], [ a => many('t', 1) ], [ a => many('z', 1) ],
				@change,
				[ b => 'BEGIN' ], $savepoint ? [ b => 'SAVEPOINT s' ] : (), [ b => many('t', 1000) ], [ b => many('z', 1000, 20) ],
				[ a => $end{$end} ], 'INSERT INTO t VALUES (0)', $savepoint ? [ b => 'ROLLBACK TO s' ] : (),
				[ b => many('t', 2000) ], $end eq 'prepare' ? q{COMMIT PREPARED 'a'} : (),
				'INSERT INTO z VALUES (0)', [ b => 'COMMIT' ], 'INSERT INTO t VALUES (0)', 'INSERT INTO z VALUES (0)');
			my $seen = same_overlap($pair, "overlapping streams, $name", $end);
			cmp_ok(scalar(() = shape($seen) =~ /S/g), '>=', $end eq 'abort' ? 1 : 2, "overlapping streams, $name: both are streamed")
			  unless $savepoint || $seen->{assertion};
			# The one that is no stream is told of t, unless a stream that ended has been.
			if ($what eq 'publication' && $end eq 'commit' && !$savepoint && $major >= 15)
			{
				like(shape($seen), qr/cBRIC/, "overlapping streams, $name: told again behind the one that ended");
			}
			drop_slot_pair($dbh, $pair);
			run($_) foreach 'TRUNCATE t, z, u', q{ALTER PUBLICATION p SET (publish = 'insert, update, delete, truncate')}, 'ALTER PUBLICATION p SET TABLE t, z';
			my ($schema) = $dbh->selectrow_array(q{SELECT nspname FROM pg_namespace WHERE nspname IN ('s', 's2')});
			run("DROP SCHEMA $schema");
		}
	}
}

# A change of the publication that is not committed reaches its own transaction only:
# what the first stream was told before it, another stream is told anew behind it, and
# the first one's end does not make it known.
foreach my $end (sort keys %end)
{
	my $pair = create_slot_pair($dbh, 'third', two_phase => $end eq 'prepare');
	# what is left of the first when others are streamed is rows of z
	run([ a => 'BEGIN' ], [ a => many('t', 1) ], [ a => many('z', 1) ],
		[ b => 'BEGIN' ], [ b => q{ALTER PUBLICATION p SET (publish = 'insert, delete')} ], [ b => many('t', 1000) ],
		[ c => 'BEGIN' ], [ c => many('t', 2000) ],
		[ a => $end{$end} ], 'INSERT INTO t VALUES (0)', [ c => 'COMMIT' ], 'INSERT INTO t VALUES (0)', [ b => 'COMMIT' ],
		$end eq 'prepare' ? q{COMMIT PREPARED 'a'} : (), 'INSERT INTO t VALUES (0)');
	my $seen = same_overlap($pair, "three streams, $end", $end);
	# 14 forgets nothing when a publication changes
	like(shape($seen), $major >= 15 ? qr/cBRIC/ : qr/cBIC/, "three streams, $end: what the first was told before") if $end eq 'commit' && !$seen->{assertion};
	drop_slot_pair($dbh, $pair);
	run('TRUNCATE t', q{ALTER PUBLICATION p SET (publish = 'insert, update, delete, truncate')});
}

# ---- a root that changes under its partitions ------------------------------------------------

# The leaf logs whole rows; which columns are the key, only the root says.
run('CREATE TABLE root (p int NOT NULL, i int NOT NULL, k int NOT NULL, t text) PARTITION BY RANGE (p)',
	'CREATE TABLE leaf PARTITION OF root DEFAULT',
	'ALTER TABLE root ADD PRIMARY KEY (p, i)',
	'CREATE UNIQUE INDEX by_k ON root (p, k)',
	'ALTER TABLE leaf REPLICA IDENTITY FULL',
	'CREATE PUBLICATION via FOR TABLE root WITH (publish_via_partition_root)');
my $slots = create_slot_pair($dbh, 'roots');
my @by_root = ('UPDATE root SET i = i + 1', 'UPDATE root SET k = k + 1', q{UPDATE root SET t = 'n'});
my @steps = (
	'INSERT INTO root VALUES (1, 1, 1)', @by_root,
	'ALTER TABLE root REPLICA IDENTITY USING INDEX by_k', @by_root,
	'ALTER TABLE root REPLICA IDENTITY FULL', @by_root,
	'ALTER TABLE root DROP CONSTRAINT root_pkey', @by_root,
	'ALTER TABLE root REPLICA IDENTITY NOTHING', @by_root);
run(@steps);
# and all of it in one transaction, and in one that is streamed
run('BEGIN', 'DROP INDEX by_k', 'CREATE UNIQUE INDEX by_k ON root (p, k)', 'ALTER TABLE root REPLICA IDENTITY DEFAULT, ADD PRIMARY KEY (p, i)', 'DELETE FROM root', @steps, 'COMMIT');
run('BEGIN', 'DROP INDEX by_k', 'CREATE UNIQUE INDEX by_k ON root (p, k)', 'ALTER TABLE root REPLICA IDENTITY DEFAULT, ADD PRIMARY KEY (p, i)', 'DELETE FROM root',
	'INSERT INTO root SELECT n, n, n, repeat(\'x\', 300) FROM generate_series(1000, 1400) n', 'DELETE FROM root WHERE p >= 1000', @steps, 'COMMIT');

# By the key (p, i), by (p, k), by the primary key under FULL, by none.
my $split = 'I' . 'DIUU' . 'UDIU' . 'DIUU' . 'UUU' . 'UUU';
foreach my $streaming ('off', 'on')
{
	my $result = read_slot($dbh, $slots->{ours}, options => [ standard_options('via', proto_version => 2, streaming => $streaming, split_key_updates => 'on') ]);
	my $changes = join '', map { /^[IUD]/ ? substr $_, 0, 1 : () } map { $_->[2] } @{ $result->{rows} };
	is($changes, $split . "D$split" . "DI{401}D{401}$split" =~ s/(\w)\{(\d+)\}/$1 x $2/ger, "a root's key changes, streaming $streaming: split by the key as it is")
	  or diag($result->{error}{message_primary} // '');
}
foreach my $policy ('warn', 'error')
{
	my $result = read_slot($dbh, $slots->{ours}, options => [ standard_options('via', missing_identity => $policy) ]);
	if ($policy eq 'error') { is($result->{error}{sqlstate}, '55000', 'a root\'s key changes: missing_identity error') }
	else { like($result->{warnings}[0] // '', qr/carries no key/, 'a root\'s key changes: missing_identity warn') }
}
drop_slot_pair($dbh, $slots);

# ---- an origin that changes -------------------------------------------------------------------

run('CREATE TABLE o (a text, b text)', 'CREATE PUBLICATION origins FOR TABLE o', map { "SELECT pg_replication_origin_create('$_')" } qw(o1 o2));
my $pair = create_slot_pair($dbh, 'origins');
my $set = sub { return ([ a => 'SELECT pg_replication_origin_session_setup(' . $dbh->quote($_[0]) . ')' ]) };
my $reset = [ a => 'SELECT pg_replication_origin_session_reset()' ];
my $row = sub { my ($text) = @_; return [ a => qq{INSERT INTO o SELECT '$text', repeat('x', 400) FROM generate_series(1, $_[1])} ] };

# [ rows of it ]: a transaction's changes by their origin, and the one it commits with.
my @transactions = (
	[ [ '' => 1 ], [ o1 => 1 ], [ o2 => 1 ] ],
	[ [ o1 => 1 ], [ '' => 1 ] ],
	[ [ o1 => 2 ], [ o2 => 1 ], [ o1 => 1 ] ],
	[ [ '' => 300 ], [ o1 => 300 ], [ '' => 1 ], [ o2 => 300 ], [ o1 => 1 ] ],
	[ [ o2 => 300 ], [ '' => 300 ] ]);
foreach my $transaction (@transactions)
{
	run([ a => 'BEGIN' ]);
	foreach my $part (@$transaction)
	{
		my ($origin, $count) = @$part;
		run($set->($origin)) if $origin ne '';
		run($row->($origin eq '' ? 'local' : $origin, $count));
		run($reset) if $origin ne '' && $part != $transaction->[-1];
	}
	run([ a => 'COMMIT' ], $transaction->[-1][0] ne '' ? $reset : ());
}
# Runs of the same name, as "o1:2 local:1".
sub runs
{
	my @runs;
	foreach my $name (@_)
	{
		if (@runs && $runs[-1][0] eq $name) { $runs[-1][1]++ }
		else { push @runs, [ $name, 1 ] }
	}
	return join ' ', map { join ':', @$_ } @runs;
}

my @written = map { ($_->[0] || 'local') x $_->[1] } map { @$_ } @transactions;
foreach my $streaming ('off', 'on')
{
	same_stream($dbh, $pair, "origins that change, streaming $streaming", options => [ standard_options('origins', proto_version => 2, streaming => $streaming) ]);
	foreach my $case (
		[ include_origins => 'o1' => qw(o1) ], [ include_origins => '""' => qw(local) ], [ include_origins => 'o2, ""' => qw(local o2) ],
		[ exclude_origins => 'o1' => qw(local o2) ], [ exclude_origins => '""' => qw(o1 o2) ], [ exclude_origins => 'o1, o2' => qw(local) ])
	{
		my ($option, $value, @wanted) = @$case;
		my %wanted = map { $_ => 1 } @wanted;
		my $result = read_slot($dbh, $pair->{ours}, options => [ standard_options('origins', proto_version => 2, streaming => $streaming, $option => $value) ]);
		my @got = map { /^I.*?(local|o1|o2)/s ? $1 : () } map { $_->[2] } @{ $result->{rows} };
		is(runs(@got), runs(grep { $wanted{$_} } @written), "$option '$value', streaming $streaming")
		  or diag($result->{error}{message_primary} // '');
	}
}
drop_slot_pair($dbh, $pair);

# ---- plans that are evicted -------------------------------------------------------------------

# With room for one, each change of another table than the last builds its plan anew; that
# of the change at hand stays while it is used.
run('CREATE TABLE p1 (a int PRIMARY KEY, b text)', 'CREATE TABLE p2 (b text, a int PRIMARY KEY)', 'CREATE PUBLICATION plans FOR TABLE p1, p2, root WITH (publish_via_partition_root)',
	'CREATE TABLE leaf2 PARTITION OF root FOR VALUES FROM (5000) TO (6000)', 'ALTER TABLE root REPLICA IDENTITY FULL', 'ALTER TABLE leaf2 REPLICA IDENTITY FULL');
$pair = create_slot_pair($dbh, 'plans');
foreach my $n (1 .. 5)
{
	run('BEGIN', "INSERT INTO p1 VALUES ($n, 'one')", "INSERT INTO p2 VALUES ('two', $n)", "INSERT INTO root VALUES ($n, $n, $n), (500$n, $n, $n)",
		"UPDATE p1 SET a = -a", "UPDATE p2 SET b = 'other'", 'UPDATE root SET k = k + 1', 'DELETE FROM p1', 'COMMIT');
}
my %rows;
foreach my $plans (1, 2, 3, 16384)
{
	# the library knows the setting when it is loaded
	my $reader = connect_db($node);
	$reader->do("SET pgoutput_ext.max_tuple_plans = $plans");
	$rows{$plans} = same_stream($reader, $pair, "room for $plans plans", options => [ standard_options('plans') ])->{rows};
	$rows{"$plans split"} = read_slot($reader, $pair->{ours}, options => [ standard_options('plans', split_key_updates => 'on', unchanged_toast => 'fill') ])->{rows};
	is(scalar @{ $rows{"$plans split"} }, scalar @{ $rows{$plans} } + 5, "room for $plans plans: an update of each key is split");
	is($reader->selectrow_array('SHOW pgoutput_ext.max_tuple_plans'), $plans, "room for $plans plans");
	$reader->disconnect;
}
is_deeply($rows{1}, $rows{16384}, 'whatever the room, the same');
is_deeply($rows{'1 split'}, $rows{'16384 split'}, 'whatever the room, the same of ours');
drop_slot_pair($dbh, $pair);

$_->disconnect foreach $dbh, values %session;
$node->stop;
done_testing();
