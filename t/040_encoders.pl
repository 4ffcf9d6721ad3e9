# Each direct encoder writes the same bytes as the server's own function, over
# random values and under each setting that changes the output.  The values and
# the comparison are in test/encoder_check*.c; values chosen by hand are in
# sql/encoders.sql.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgoutputExt;
use Test::More;

need_test_module();

my $million = 1_000_000;

my @text_types = qw(text varchar bpchar json name jsonb);
my @date_types = qw(date timestamp timestamptz time timetz);
my @types = (
	@text_types, @date_types,
	qw(bool "char" int2 int4 int8 oid float4 float8 numeric bytea uuid inet cidr interval));

my $node = new_node('encoders');
$node->{dbh}->do(
	"CREATE DATABASE latin1 ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");

my $seed = 0;
my $compared = 0;

sub connect_with_functions
{
	my $dbh = connect_db($node, @_);

	$dbh->do('SET client_min_messages = warning');
	$dbh->do('CREATE EXTENSION IF NOT EXISTS pgoutput_ext_test');
	$dbh->do('RESET client_min_messages');
	return $dbh;
}

# Compares "count" values; returns '' or what differs.
sub difference
{
	my ($dbh, $type, $binary, $count) = @_;

	my ($difference) = $dbh->selectrow_array(
		'SELECT check_encoder(?::regtype, ?, ?, ?)',
		undef, $type, $binary, ++$seed, $count);
	$compared += $count;
	return defined $difference ? "$type, seed $seed: $difference" : '';
}

# Compares values of several types in text, or in binary as well.
sub same_bytes
{
	my ($name, $dbh, $types, $count, %params) = @_;
	my @different = grep { $_ ne '' } map {
		my $type = $_;
		(   difference($dbh, $type, 'f', $count),
			$params{binary} ? difference($dbh, $type, 't', $count) : ())
	} @$types;

	is_deeply(\@different, [], $name);
	return;
}

my $dbh = connect_with_functions();

# ---- a million of each, as the server comes ------------------------------

foreach my $type (@types)
{
	is(difference($dbh, $type, 'f', $million), '', "$type in text");
	next if $type =~ /^(inet|cidr)$/;    # left to the send function
	is(difference($dbh, $type, 't', $million / 10), '', "$type in binary");
}

# ---- settings -------------------------------------------------------------

foreach my $digits (-15, -14, -6, -1, 0, 1, 2, 3)
{
	$dbh->do("SET extra_float_digits = $digits");
	same_bytes("extra_float_digits = $digits", $dbh, [qw(float4 float8)],
		50_000);
}
$dbh->do('RESET extra_float_digits');

$dbh->do(q{SET bytea_output = 'escape'});
same_bytes('bytea_output = escape', $dbh, ['bytea'], 100_000, binary => 1);
$dbh->do('RESET bytea_output');

foreach my $style (qw(postgres postgres_verbose sql_standard iso_8601))
{
	$dbh->do("SET intervalstyle = $style");
	same_bytes("IntervalStyle = $style", $dbh, ['interval'], 100_000, binary => 1);
}
$dbh->do('RESET intervalstyle');

$dbh->do(q{SET timezone = 'Europe/Berlin'});
foreach my $style (qw(ISO SQL Postgres German))
{
	foreach my $order (qw(MDY DMY YMD))
	{
		$dbh->do("SET datestyle = '$style, $order'");
		same_bytes("DateStyle = $style, $order", $dbh, \@date_types, 30_000,
			binary => 1);
	}
}
$dbh->do('RESET datestyle');

# ---- time zones -----------------------------------------------------------

# every zone that the server knows: with offsets in seconds before standard
# time, negative daylight saving, days skipped
my @zones = map { $_->[0] } @{ $dbh->selectall_arrayref(q{
	SELECT name FROM pg_timezone_names
	WHERE name !~ '^(posix|right)/' ORDER BY name}) };
cmp_ok(scalar @zones, '>', 300, 'the server knows time zones');

# and others, written as rules
push @zones,
  '<+0330>-3:30', '<-03>3<-02>,M3.5.0/-2,M10.5.0/-1', 'AAA-12:34BBB,J1,J365',
  'AAA0BBB,J60,300', 'EST5EDT,0/0,J365/25', '<-1>1', '13.75', '-7:15';

my @different;
foreach my $zone (@zones)
{
	$dbh->do('SET timezone = ' . $dbh->quote($zone));
	my $difference = difference($dbh, 'timestamptz', 'f', 3_000);
	push @different, "$zone: $difference" if $difference ne '';
}
is_deeply(\@different, [], 'timestamptz in ' . @zones . ' time zones');

# a million in some of them
foreach my $zone ('Africa/Monrovia', 'Europe/Dublin', 'America/St_Johns', 'Etc/GMT+12')
{
	$dbh->do("SET timezone = '$zone'");
	same_bytes("timestamptz in $zone", $dbh, ['timestamptz'], $million / 4);
}
$dbh->do('RESET timezone');

# ---- encodings ------------------------------------------------------------

my @encodings = qw(SQL_ASCII UTF8 LATIN1 WIN1251 KOI8R EUC_JP SJIS BIG5 GB18030);
foreach my $encoding (@encodings)
{
	$dbh->do("SET client_encoding = '$encoding'");
	same_bytes("UTF8 sent as $encoding", $dbh,
		[ @text_types, qw(int4 float8 numeric timestamptz interval bytea) ],
		20_000, binary => 1);
}
$dbh->disconnect;

$dbh = connect_with_functions(dbname => 'latin1');
foreach my $encoding (qw(LATIN1 UTF8 SQL_ASCII))
{
	$dbh->do("SET client_encoding = '$encoding'");
	same_bytes("LATIN1 sent as $encoding", $dbh, \@text_types, 20_000, binary => 1);
}
$dbh->disconnect;

diag("$compared values compared, " . @types . ' types');
done_testing();
