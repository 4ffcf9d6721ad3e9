# pgoutput_ext.options: options of ours for clients that have no place for them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientTest;
use DropinServer;
use PgoutputExt;
use Test::More;

my $node = new_node('main');
my $dbh = $node->{dbh};

plan skip_all => 'this library has no pgoutput_ext.options' unless knows_options_setting($dbh);

$dbh->do($_) foreach (
	'CREATE TABLE t (a int PRIMARY KEY, long text)',
	'ALTER TABLE t ALTER long SET STORAGE EXTERNAL',
	'ALTER TABLE t REPLICA IDENTITY FULL',
	'CREATE TABLE "left, out" (a int PRIMARY KEY)',
	'CREATE PUBLICATION pub FOR TABLE t, "left, out"',
	'CREATE PUBLICATION wide FOR ALL TABLES',
	'CREATE ROLE dropin LOGIN REPLICATION',
	"ALTER ROLE dropin SET dynamic_library_path = '" . dropin_path() . q{'},
	'CREATE ROLE reader LOGIN REPLICATION',
	q{SELECT pg_create_logical_replication_slot('s', 'pgoutput')},
	q{SELECT pg_copy_logical_replication_slot('s', 'named', false, 'pgoutput_ext')},
	q{INSERT INTO t VALUES (1, repeat('long ', 1000))},
	q{UPDATE t SET a = 2},
	q{INSERT INTO "left, out" VALUES (1)});

# What a role reads: a word of the stream's kinds, with u for an unchanged value, or
# the error with all its parts.
sub reads
{
	my ($role, $slot, @options) = @_;
	my $session = connect_db($node, user => $role);
	my $result = read_slot($session, $slot, options => [ standard_options('pub', @options) ]);
	$session->disconnect;
	return join "\n", map { $result->{error}{$_} // '' } qw(sqlstate message_primary message_detail message_hint context)
	  if $result->{error};
	my $text = join '', map { substr $_->[2], 0, 1 } without_empty(sub { $_[0][2] }, @{ $result->{rows} });
	$text .= ' u' if grep { $_->[2] =~ /^U/ && $_->[2] =~ /u\z/ } @{ $result->{rows} };
	return $text;
}

# Sets the setting for the role that has pgoutput from us.
sub set_options
{
	my ($role, $value) = @_;
	$dbh->do("ALTER ROLE $role SET pgoutput_ext.options = " . $dbh->quote($value));
	return;
}

my $plain = 'BRICBUCBRIC u';
is(reads('dropin', 's'), $plain, 'without the setting');

set_options('dropin', 'unchanged_toast fill');
is(reads('dropin', 's'), 'BRICBUCBRIC', 'one option');
is(reads('dropin', 'named'), 'BRICBUCBRIC', 'also where the slot names the library');
is(reads('reader', 's'), $plain, 'another role does not have it');
is(reads('dropin', 's', unchanged_toast => 'marker'), $plain, 'what the client gives goes before');

set_options('dropin', 'unchanged_toast fill, exclude_tables "public.""left, out"", pgboss.*"');
is(reads('dropin', 's'), 'BRICBUC', 'two options, one in quotes with quotes in it');
set_options('dropin', '  Unchanged_Toast   FILL ,relation_metadata on  ');
is(reads('dropin', 's'), 'BRMICBUCBRMIC', 'white space and case');
set_options('dropin', '');
is(reads('dropin', 's'), $plain, 'an empty one is none');

# A client reads no more by it than its publications give.
set_options('dropin', 'include_tables "*.*"');
$dbh->do('CREATE TABLE unpublished (a int)');
$dbh->do('INSERT INTO unpublished VALUES (1)');
is(reads('dropin', 's'), $plain, 'it adds nothing to the publications');

# Wrong content: an error when the client starts, which names the setting.
foreach my $wrong (
	[ 'publication_names wide', '22023', 'an option of pgoutput' ],
	[ 'proto_version 1', '22023', 'another option of pgoutput' ],
	[ 'no_such_option on', 'XX000', 'no option' ],
	[ 'unchanged_toast', '42601', 'a name without a value' ],
	[ 'unchanged_toast fill fill', '42601', 'two values' ],
	[ 'unchanged_toast fill,', '42601', 'a comma at the end' ],
	[ 'unchanged_toast "fill', '42601', 'a quote that does not end' ],
	[ 'unchanged_toast sometimes', '22023', 'a value that the option does not have' ],
	[ 'unchanged_toast fill, unchanged_toast fill', '42601', 'an option twice' ])
{
	my ($value, $state, $name) = @$wrong;

	set_options('dropin', $value);
	like(reads('dropin', 's'), qr/^$state\n.*pgoutput_ext\.options/s, "wrong: $name");
	is(reads('reader', 's'), $plain, "wrong: $name: other roles are not concerned");
}
$dbh->do('ALTER ROLE dropin RESET pgoutput_ext.options');
is(reads('dropin', 's'), $plain, 'reset');

# Who may: a role can set it neither for itself nor at start-up, nor in its session,
# also before the library is loaded.
foreach my $before ('SELECT 1', q{SELECT count(*) FROM pg_logical_slot_peek_binary_changes('s', NULL, NULL, 'proto_version', '1', 'publication_names', 'pub')})
{
	my $session = connect_db($node, user => 'dropin', raise => 0);
	local $SIG{__WARN__} = sub { };
	$session->do($before);
	$session->do(q{SET pgoutput_ext.options = 'unchanged_toast fill'});
	my $result = read_slot($session, 's', options => [ standard_options('pub') ]);
	ok((grep { $_->[2] =~ /^U/ && $_->[2] =~ /u\z/ } @{ $result->{rows} }), "a role cannot set it in its session, after $before");
	$session->do(q{ALTER ROLE dropin SET pgoutput_ext.options = 'unchanged_toast fill'});
	is($session->state, '42501', 'nor for itself');
	$session->disconnect;
}
{
	local $ENV{PGOPTIONS} = '-c pgoutput_ext.options=unchanged_toast\ fill';
	local $SIG{__WARN__} = sub { };
	my $got = eval { reads('dropin', 's') } // $plain;
	is($got, $plain, 'nor at start-up');
}

$dbh->disconnect;
$node->stop;
done_testing();
