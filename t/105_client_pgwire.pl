# npm's pgwire over one WAL: the same messages through the server's pgoutput, through a slot of
# pgoutput_ext, and through one of pgoutput that the role has from us.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientTest;
use PgoutputExt;
use Test::More;

local $ENV{NODE_PACKAGES} = node_package('pgwire');

my $node = client_node('main');
my @program = ('node', "$FindBin::RealBin/clients/pgwire_client.mjs");
my @both = (publication_names => 'pub,via');

workload($node->{dbh});
foreach my $set (
	[ 'version 1' => { proto_version => 1, @both } ],
	[ 'binary, messages' => { proto_version => 1, binary => 'true', messages => 'true', @both } ],
	[ 'version 2' => { proto_version => 2, messages => 'true', @both } ],
	server_major() < 16 ? () : [ 'origin none' => { proto_version => 4, origin => 'none', @both } ])
{
	my ($name, $options) = @$set;
	my $lines = compare_client($node, \@program, $name, $options);
	foreach my $tag (qw(begin relation type insert update delete truncate commit), $options->{messages} ? 'message' : (),
		$options->{origin} ? () : 'origin')
	{
		ok((grep { /tag: '$tag'/ } @$lines), "$name: there is a $tag");
	}
}
my $lines = compare_client($node, \@program, 'own options',
	{ proto_version => 1, unchanged_toast => 'fill', relation_metadata => 'on', @both },
	ours => 1);
ok((grep { /prefix: 'pgoutput_ext\.relation'/ } @$lines), 'own options: they have an effect');

$node->{dbh}->disconnect;
$node->stop;
done_testing();
