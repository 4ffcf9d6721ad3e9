# npm's postgres (postgres.js): its subscribe() makes a temporary slot of pgoutput and names no
# plugin. So two of it run at once over the same changes: one as a role that has the
# server's pgoutput, one as a role that has ours.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientTest;
use DropinServer;
use PgoutputExt;
use Test::More;

local $ENV{NODE_PACKAGES} = node_package('postgres');

my $node = client_node('main');
my $dbh = $node->{dbh};
my @program = ('node', "$FindBin::RealBin/clients/postgres_client.mjs");

# The slot that a role reads.
sub slot_of
{
	my ($user) = @_;
	return $dbh->selectrow_array(q{SELECT slot_name FROM pg_replication_slots
		JOIN pg_stat_activity ON pid = active_pid WHERE usename = ?}, undef, $user);
}

my @users = ([ reader => 'pgoutput' ], [ dropin => 'pgoutput_ext' ]);
my (%clients, %delivered);
foreach my $user (map { $_->[0] } @users)
{
	$clients{$user} = start_client($node, \@program, user => $user, publications => 'pub,via');
	ok(wait_for_line($clients{$user}, 'READY'), "$user has subscribed");
}
workload($dbh);
foreach my $user (@users)
{
	my ($name, $library) = @$user;
	$delivered{$name} = wait_for_line($clients{$name}, 'END') // [];
	is(libraries($node, slot_of($name)), $library, "$name: decoded by $library");
	ok(end_client($clients{$name}), "$name: the client ends in order");
}
cmp_ok(scalar @{ $delivered{reader} }, '>', 1000, 'something is delivered');
is(ClientTest::first_difference($delivered{reader}, $delivered{dropin}), '', 'the same is delivered');
foreach my $event (qw(insert update delete insert:public.plain *:public.whole))
{
	ok((grep { /event: '\Q$event\E/ || /command: '\Q$event\E'/ } @{ $delivered{dropin} }), "there is $event");
}
ok((grep { /long: undefined/ } @{ $delivered{dropin} }), 'an unchanged TOAST value is undefined');

# What is not known to it, a Message, ends it: so no metadata for postgres.js.
SKIP:
{
	skip 'this library has no pgoutput_ext.options', 2 unless knows_options_setting($dbh);
	$dbh->do(q{ALTER ROLE dropin SET pgoutput_ext.options = 'relation_metadata on'});
	my $client = start_client($node, \@program, user => 'dropin', publications => 'pub,via');
	ok(wait_for_line($client, 'READY'), 'metadata: it subscribes');
	$dbh->do(q{INSERT INTO plain (a) VALUES (100)});
	eval { $client->{run}->pump until $client->{err} =~ /TypeError/ };
	like($client->{err}, qr/error during logical streaming.*TypeError/, 'metadata: the first frame is its end');
	end_client($client);
}

$dbh->disconnect;
$node->stop;
done_testing();
