# What the reading session can change: its settings, from wherever they come,
# and encodings; and several slots and errors in one backend.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgoutputExt;
use Test::More;

my $node = new_node('main');
my $dbh = $node->{dbh};

# ---- settings of role, database and client ------------------------------------

$dbh->do($_) foreach (
	'CREATE TABLE settings (id int PRIMARY KEY, d date, ts timestamptz, iv interval, f float8, f4 float4, b bytea, m money, x xml, a timestamptz[], p point)',
	'CREATE PUBLICATION settings FOR TABLE settings');
my $pair = create_slot_pair($dbh, 'settings');
$dbh->do(q{INSERT INTO settings VALUES (1, '2024-03-01', '2024-07-01 12:00:00+00', '1 year -2 days 3:04:05.6', 0.1::float8 + 0.2, 1.1, '\\x00ff5c', 12345.67, '<a/>', '{2024-01-01 00:00+00}', '(0.1,0.2)')});
my @options = (options => [ standard_options('settings') ]);

sub inserted_row
{
	my ($result) = @_;
	my ($line) = grep { /^INSERT/ } plain_stream($result);
	return $line;
}

my $result = same_stream($dbh, $pair, 'settings by default', @options);
is(inserted_row($result), q{INSERT N:('1', '2024-03-01', '2024-07-01 12:00:00+00', '1 year -2 days +03:04:05.6', '0.30000000000000004', '1.1', '\\x00ff5c', '$12,345.67', '<a/>', '{"2024-01-01 00:00:00+00"}', '(0.1,0.2)')},
	'values in default form');

$dbh->do($_) foreach (
	'CREATE ROLE by_role SUPERUSER LOGIN', q{ALTER ROLE by_role SET "DateStyle" = 'German, DMY'}, q{ALTER ROLE by_role SET extra_float_digits = -3},
	q{ALTER ROLE by_role SET bytea_output = 'escape'}, q{ALTER ROLE by_role SET "IntervalStyle" = 'iso_8601'}, q{ALTER ROLE by_role SET "TimeZone" = 'Asia/Tokyo'});
my $other = connect_db($node, user => 'by_role');
$result = same_stream($other, $pair, 'settings of the role', @options);
is(inserted_row($result), q{INSERT N:('1', '01.03.2024', '01.07.2024 21:00:00 JST', 'P1Y-2DT3H4M5.6S', '0.3', '1.1', '\\000\\377\\134\\134', '$12,345.67', '<a/>', '{"01.01.2024 09:00:00 JST"}', '(0.1,0.2)')} =~ s/\\134\\134/\\\\/r,
	'values as the role has them');
$other->disconnect;

$dbh->do(q{ALTER DATABASE postgres SET "DateStyle" = 'SQL, MDY'});
$dbh->do(q{ALTER DATABASE postgres SET "TimeZone" = 'America/New_York'});
$other = connect_db($node);
$result = same_stream($other, $pair, 'settings of the database', @options);
like(inserted_row($result), qr/'03\/01\/2024', '07\/01\/2024 08:00:00 EDT'/, 'values as the database has them');
set_session($other, DateStyle => 'Postgres, DMY', IntervalStyle => 'postgres_verbose', xmlbinary => 'hex', lc_monetary => 'C', bytea_output => 'escape', extra_float_digits => -15);
$result = same_stream($other, $pair, 'settings of the session', @options);
like(inserted_row($result), qr/'01-03-2024', 'Mon 01 Jul 08:00:00 2024 EDT', '@ 1 year -2 days 3 hours 4 mins 5.6 secs', '0.3'/, 'values as the session has them');
same_stream($other, $pair, 'settings of the session, binary', options => [ standard_options('settings', binary => 'true') ]);
$other->disconnect;

# a setting that changes between two readings of one backend
foreach my $digits (0, 3, -10, 1)
{
	set_session($dbh, extra_float_digits => $digits);
	same_stream($dbh, $pair, "extra_float_digits $digits", @options, ours_first => $digits == 3);
}
$dbh->do('RESET ALL');
drop_slot_pair($dbh, $pair);

# ---- encodings -----------------------------------------------------------------

# Text in UTF-8 that the database's encoding has; names made of it.
my %words = (
	UTF8 => [ "\xc3\xa9t\xc3\xa9", "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x90\x98", "\xe2\x82\xac" ],
	LATIN1 => [ "\xc3\xa9t\xc3\xa9", "\xc2\xa3\xc3\xbf" ],
	EUC_JP => [ "\xe6\x97\xa5\xe6\x9c\xac", "\xef\xbd\xb1" ],
	SQL_ASCII => [ "\xc3\xa9", "\xff\xfe" ]);

foreach my $encoding (sort keys %words)
{
	my $db = 'db_' . lc $encoding;
	$dbh->do("CREATE DATABASE $db ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");
	my $in = connect_db($node, dbname => $db, client_encoding => $encoding eq 'SQL_ASCII' ? 'SQL_ASCII' : 'UTF8');
	my ($word, @others) = @{ $words{$encoding} };

	$in->do($_) foreach (
		qq{CREATE SCHEMA "s $word"}, qq{CREATE TYPE "s $word"."t $word" AS ENUM ('$word', 'plain')},
		qq{CREATE TABLE "s $word"."r $word" (id int PRIMARY KEY, "c $word" text, v varchar(20), c char(6), n name, e "s $word"."t $word", a text[], j json, x bytea)},
		qq{CREATE PUBLICATION "p $word" FOR ALL TABLES});
	my $pair = create_slot_pair($in, "enc_\L$encoding");
	my $id = 0;
	foreach my $text ($word, @others, '', 'ascii')
	{
		$in->do(qq{INSERT INTO "s $word"."r $word" VALUES (?, ?, ?, ?, ?, '$word', ARRAY[?, NULL], ?, '\\x00ff')}, undef, ++$id, ($text) x 5, qq{{"$word": 1}});
	}
	$in->do("SELECT pg_logical_emit_message(true, '$word', '$word')");
	$in->do(qq{UPDATE "s $word"."r $word" SET "c $word" = NULL, v = 'x'});

	my @client_encodings = $encoding eq 'SQL_ASCII' ? qw(SQL_ASCII UTF8 LATIN1) : qw(UTF8 LATIN1 WIN1252 EUC_JP SJIS SQL_ASCII LATIN2);
	foreach my $client ($encoding, @client_encodings)
	{
		# The publication's name arrives in the client's encoding; one that does
		# not have it fails in both plugins.
		# not every pair of encodings has a conversion
		next unless eval { set_session($in, client_encoding => $client); 1 };
		my $publication = $in->selectrow_array('SELECT quote_ident(pubname) FROM pg_publication') if eval { $in->selectrow_array('SELECT pubname FROM pg_publication'); 1 };
		$publication //= '"none"';
		foreach my $binary ('false', 'true')
		{
			my $result = same_stream($in, $pair, "database $encoding, client $client, binary $binary",
				options => [ proto_version => 1, publication_names => $publication, binary => $binary, messages => 'true' ]);
			is($result->{error}, undef, "database $encoding, client $encoding: no error") if $client eq $encoding;
			like($result->{error}{message_primary}, qr/has no equivalent in encoding|invalid byte sequence/, "database $encoding, client $client: the server's error")
			  if "$encoding $client" =~ /^(?:UTF8 LATIN1|EUC_JP LATIN1)$/ && $publication ne '"none"';
		}
	}
	set_session($in, client_encoding => $encoding);
	drop_slot_pair($in, $pair);
	$in->disconnect;
}

# In a LATIN1 database a UTF8 client sees UTF-8.
{
	my $in = connect_db($node, dbname => 'db_latin1');
	$in->do('CREATE TABLE conv (a text)');
	$in->do('CREATE PUBLICATION conv FOR TABLE conv');
	my $pair = create_slot_pair($in, 'conv');
	$in->do("INSERT INTO conv VALUES ('caf\xc3\xa9')");
	my %expected = (UTF8 => 'caf\\xc3\\xa9', LATIN1 => 'caf\\xe9');
	foreach my $client (sort keys %expected)
	{
		set_session($in, client_encoding => $client);
		my $result = same_stream($in, $pair, "conversion to $client", options => [ standard_options('conv') ]);
		is(inserted_row($result), "INSERT N:('$expected{$client}')", "a LATIN1 database's value for a $client client");
	}
	drop_slot_pair($in, $pair);
	$in->disconnect;
}

# ---- several slots in one backend, and errors between --------------------------

# The error between two changes is that of a row filter; on 14, which has none, of a
# publication that is gone.
my $has_filters = server_major() >= 15;

$dbh->do($_) foreach ('CREATE TABLE t (a int PRIMARY KEY, b int)', 'CREATE TABLE u (a int PRIMARY KEY, b text)', 'CREATE PUBLICATION pt FOR TABLE t', 'CREATE PUBLICATION pu FOR TABLE u' . ($has_filters ? ' (a)' : ''),
	'CREATE PUBLICATION pe FOR TABLE t ' . ($has_filters ? 'WHERE (10 / b > 0)' : '') . ' WITH (publish = insert)');
my @pairs = map { create_slot_pair($dbh, "several$_") } 1 .. 3;
$dbh->do($_) foreach ('INSERT INTO t VALUES (1, 1)', q{INSERT INTO u VALUES (1, 'x')}, $has_filters ? () : 'ALTER PUBLICATION pe RENAME TO gone', 'INSERT INTO t VALUES (2, 0)', q{INSERT INTO u VALUES (2, 'y')});

my @reads = (
	[ 'one publication', standard_options('pt') ], [ 'another, binary', standard_options('pu', binary => 'true') ], [ 'both', standard_options([ 'pt', 'pu' ], messages => 'true') ],
	[ 'an error between two changes', standard_options('pe') ], [ 'an unknown option', standard_options('pt', nonsense => 1) ], [ 'a bad version', standard_options('pt', proto_version => 77) ],
	[ 'no such publication', standard_options('nobody') ]);
my %first;
foreach my $round (1 .. 3)
{
	foreach my $i (0 .. $#reads)
	{
		my ($name, @options) = @{ $reads[ ($i * $round) % @reads ] };
		my $result = same_stream($dbh, $pairs[ ($i + $round) % 3 ], "round $round: $name", options => \@options, ours_first => $i % 2);
		my $plain = join "\n", plain_stream($result), $result->{error} ? $result->{error}{message_primary} : ();
		is($plain, $first{$name} //= $plain, "round $round: $name gives what it gave");
	}
}
is($first{'an error between two changes'}, $has_filters ? 'division by zero' : 'publication "pe" does not exist', 'the error');
like($first{'both'}, qr/^INSERT N:\('2', '0'\)$/m, 'rows after an error');

# Two hundred starts in one backend: the backend's memory does not grow with them.
sub memory
{
	return $dbh->selectrow_array('SELECT sum(used_bytes) FROM pg_backend_memory_contexts');
}
my $slot = $pairs[0]{ours};
read_slot($dbh, $slot, options => [ standard_options('pt') ]) for 1 .. 50;
my $before = memory();
read_slot($dbh, $slot, options => [ $_ % 7 ? standard_options('pt') : standard_options('pe') ]) for 1 .. 200;
cmp_ok(memory() - $before, '<', 32 * 1024, 'no memory is left by 200 starts');
same_stream($dbh, $pairs[0], 'after them all is well', options => [ standard_options('pt') ]);

$dbh->disconnect;
$node->stop;
done_testing();
