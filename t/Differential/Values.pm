# Column types and values for generated programs: for each type a list of SQL
# literals with the odd ones among them.

package Differential::Values;

use strict;
use warnings;

my @texts = (
	'', 'a', 'x y', 'NULL', "tab\there", "two\nlines", 'back\\slash', '"quoted"', "it''s",
	"caf\xc3\xa9", "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", "\xf0\x9f\x90\x98", "na\xc3\xafve \xc2\xa3", '{a,b}', '(1,2)', '\\\\000', '0', 't');

my %literals = (
	'boolean' => [qw(true false)],
	'smallint' => [qw(0 1 -1 32767 -32768 42)],
	'integer' => [qw(0 1 -1 2147483647 -2147483648 7 1234567)],
	'bigint' => [qw(0 1 -1 9223372036854775807 -9223372036854775808 99999999999)],
	'oid' => [qw(0 1 4294967295 3000000000)],
	'numeric' => [
		qw(0 0.00 1 -1.50 NaN Infinity -Infinity 1e100 -0.000001 12345678901234567890.123456789 9999 10000 1e-20 100000000000000000000000000000)],
	'real' => [qw(0 -0 1.5 NaN Infinity -Infinity 1e-45 3.4028235e38 0.1 123456.789 1e15 1e-5)],
	'double precision' => [qw(0 -0 1.5 NaN Infinity -Infinity 4.9e-324 1.7976931348623157e308 0.1 1e15 1e16 123456789.123456789 0.0001 1e-5)],
	'text' => \@texts,
	'character varying' => \@texts,
	'name' => [ 'n', 'a b', '"', "caf\xc3\xa9" ],
	'character' => [ 'ab', '', "\xc3\xa9" ],
	'"char"' => [ 'a', '', '\\377' ],
	'bytea' => [ '\\x', '\\x00', '\\x00ff5c27', '\\xdeadbeef' ],
	'date' => [ 'infinity', '-infinity', '0044-03-15 BC', '5874897-12-31', '4714-11-24 BC', '2024-02-29', '2000-01-01', '1999-12-31', '10000-01-01' ],
	'time without time zone' => [ '00:00:00', '24:00:00', '12:34:56.789', '23:59:59.999999' ],
	'time with time zone' => [ '00:00:00+00', '24:00:00-15:59', '12:34:56.789+05:30', '01:02:03+15:59:59' ],
	'timestamp without time zone' => [
		'infinity', '-infinity', '4714-11-24 00:00:00 BC', '294276-12-31 23:59:59.999999', '2024-02-29 12:00:00.1',
		'2000-01-01', '0001-01-01 00:00:00', '1970-01-01 00:00:00.000001' ],
	'timestamp with time zone' => [
		'infinity', '-infinity', '4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59.999999+00', '2024-07-01 12:00:00.25+02',
		'2000-01-01 00:00:00+00', '0044-03-15 12:00:00+00 BC', '1883-11-18 12:00:00+00' ],
	'interval' => [
		'0', '1 year', '-1 day', '1 year -2 mons 3 days -04:05:06.789', '-178000000 years', '00:00:00.000001', '1 mon', '-1 year 2 days', '100000 hours' ],
	'json' => [ '{}', '[1, 2,  3]', '{"a": {"b": null}, "a": 1}', '"\\u00e9"', 'null', "{\"k\": \"caf\xc3\xa9\"}" ],
	'jsonb' => [ '{}', '[1, 2,  3]', '{"a": {"b": null}, "c": 1.50}', '"\\u00e9"', 'null', '1e5', '{"b": [{}, [], "x"]}', '-0.0' ],
	'jsonpath' => [ '$.a[*] ? (@ > 1)', 'strict $' ],
	'uuid' => [ '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' ],
	'money' => [ '0', '-1.23', '92233720368547758.07', '1234.5' ],
	'xml' => [ '<a/>', '<a b="c">text</a>', 'plain' ],
	'bit' => [ '10101', '00000', '11111' ],
	'bit varying' => [ '', '1', '101010101' ],
	'inet' => [ '192.168.1.5/24', '::1', '10.0.0.1', '2001:db8::/32' ],
	'cidr' => [ '10.0.0.0/8', '::/0' ],
	'macaddr' => ['08:00:2b:01:02:03'],
	'macaddr8' => ['08:00:2b:01:02:03:04:05'],
	'tsvector' => [ '', 'a fat cat', q{a:1A fat:2B,4C cat:5D} ],
	'tsquery' => [ 'fat & (rat | cat)', '!a <-> b' ],
	'point' => [ '(0,0)', '(1.5,-2.25)', '(1e300,NaN)' ],
	'box' => ['(2,2),(0,0)'],
	'circle' => ['<(1,2),3>'],
	'line' => ['{1,2,3}'],
	'lseg' => ['[(0,0),(1,1)]'],
	'path' => [ '[(0,0),(1,1)]', '((0,0),(1,1),(2,0))' ],
	'polygon' => ['((0,0),(1,1),(2,0))'],
	'int4range' => [ 'empty', '[1,5)', '(,)', '[3,3]' ],
	'numrange' => [ 'empty', '[1.5,2.50]', '(,0)' ],
	'daterange' => [ '[2024-01-01,infinity)', 'empty' ],
	'tstzrange' => [ '[2024-01-01 00:00+00,2024-01-02 00:00+00)', '(,infinity]' ],
	'int4multirange' => [ '{}', '{[1,3),[5,9)}', '{(,)}' ],
	'tsmultirange' => ['{[2024-01-01,2024-02-01)}'],
	'integer[]' => [ '{}', '{1,NULL,3}', '{{1,2},{3,4}}', '[3:4]={7,8}', '{5}' ],
	'text[]' => [ '{}', '{a,NULL,"NULL",""}', '{"a b","c\\"d","e\\\\f"}', '{{a},{b}}' ],
	'numeric[]' => ['{NaN,1.50,-Infinity}'],
	'timestamp with time zone[]' => ['{"2024-01-01 00:00:00+00",infinity}'],
	'pg_lsn' => [ '0/0', 'FFFFFFFF/FFFFFFFF', '16/B374D848' ],
	'xid' => [ '0', '4294967295' ],
	'tid' => [ '(0,1)', '(4294967295,65535)' ],
	'regtype' => [ 'integer', 'pg_catalog."char"' ],
	'regclass' => [ 'pg_catalog.pg_class', '0' ],
	'aclitem' => ['made'],
	'refcursor' => ['c1'],
	'pg_snapshot' => ['10:20:10,14,15'],
	'int2vector' => [ '1 2 3', '' ],
	'oidvector' => ['4 5'],
);

my %common = map { $_ => 6 } ('integer', 'bigint', 'text', 'numeric', 'boolean', 'timestamp with time zone', 'jsonb', 'bytea', 'double precision');

# Declarations of columns of a built-in type: name => declaration.
my %declaration = (
	'character varying' => 'character varying(200)',
	'character' => 'character(5)',
	'bit' => 'bit(5)');

# Adds what only newer servers have.
sub set_server
{
	my ($major) = @_;
	push @{ $literals{interval} }, 'infinity', '-infinity' if $major >= 17;
	return;
}

# A random built-in type as a column declares it.
sub builtin_type
{
	my ($random) = @_;
	my $type = $random->weighted({ (map { $_ => 2 } keys %literals), %common });
	return 'numeric(8,2)' if $type eq 'numeric' && $random->chance(30);
	return 'timestamp(3) with time zone' if $type eq 'timestamp with time zone' && $random->chance(20);
	return $declaration{$type} || $type;
}

# An expression of a type, by its name without typmod; undef for a type that
# is not known here.  size: "small", or "any" to have large values, too.
sub builtin_value
{
	my ($random, $type, $size) = @_;
	my $list = $literals{$type} or return;

	if ($size eq 'any' && $random->chance(15))
	{
		my ($from, $n) = ($random->between(1, 1000), $random->between(60, 400));
		my $random_text = "(SELECT string_agg(md5(i::text), '') FROM generate_series($from, $from + $n) i)";
		return $random_text if $type eq 'text';
		return "repeat('ab" . $random->below(10) . "', " . $random->between(200, 4000) . ')' if $type eq 'text' || $type eq 'character varying';
		return "repeat('compressible', " . $random->between(300, 2000) . ')' if $type eq 'text';
		return "convert_to($random_text, 'UTF8')" if $type eq 'bytea';
		return "jsonb_build_object('k', $random_text)" if $type eq 'jsonb';
		return "ARRAY(SELECT i FROM generate_series(1, " . $random->between(500, 1500) . ') i)' if $type eq 'integer[]';
	}
	return $random->between(-50, 50) if $random->chance(40) && $type =~ /^(?:smallint|integer|bigint)$/;
	return "repeat('z', " . $random->between(2050, 6000) . ')' if $size eq 'any' && $type eq 'text' && $random->chance(8);

	return "pg_catalog.makeaclitem(0, 10, '" . $random->pick('SELECT', 'INSERT') . "', false)" if $type eq 'aclitem';

	my $value = $random->pick(@$list);
	$value =~ s/''/'/g;
	$value =~ s/'/''/g;
	my $cast = $type eq '"char"' ? 'pg_catalog."char"' : $declaration{$type} && $type ne 'character varying' ? $declaration{$type} : $type;
	return qq{E'$value'::$cast} =~ s/\\/\\\\/gr if $type eq 'text' || $type eq 'character varying';
	return "'$value'::$cast";
}

1;
