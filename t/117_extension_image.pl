# What containers/Dockerfile.cloudnative-pg puts into an extension image: the files of
# make install DESTDIR as /lib and /share/extension. A server of which no directory has the
# extension uses them by extension_control_path and dynamic_library_path, with the settings of
# docs/PACKAGING.md.

use strict;
use warnings;

use Cwd ();
use FindBin;
use lib $FindBin::RealBin;
use DropinServer;
use PgoutputExt;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'extension_control_path is there from PostgreSQL 18 on' if server_major() < 18;
my $tree = Cwd::abs_path("$FindBin::RealBin/..");
plan skip_all => 'this tree is not built' unless -e "$tree/pgoutput_ext.so";

sub pg_config { chomp(my $dir = `pg_config --$_[0]`); return $dir; }

# The image.
my ($out, $image) = (PostgreSQL::Test::Utils::tempdir(), PostgreSQL::Test::Utils::tempdir_short());
{
	# A make that runs this test hands on what is not for another one.
	local @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};
	delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};
	system('make', '-s', '-C', $tree, 'install', "DESTDIR=$out", 'with_llvm=no', 'PG_CONFIG=' . ($ENV{PG_CONFIG} || 'pg_config')) == 0
	  or die "make install failed\n";
}
mkdir "$image/share" or die "$image/share: $!\n";
rename "$out" . pg_config('pkglibdir'), "$image/lib" or die "no library: $!\n";
rename "$out" . pg_config('sharedir') . '/extension', "$image/share/extension" or die "no extension: $!\n";
chomp(my @files = `cd '$image' && find . ! -type d | sort`);
is_deeply([ grep { !m{^\./share/extension/pgoutput_ext--[\d.-]+\.sql$} } @files ],
	[ './lib/pgoutput_ext.so', './lib/pgoutput_ext/pgoutput.so', './share/extension/pgoutput_ext.control' ], 'what is in the image');

# A server without it.
my $installation = copy_installation();
my $library = $installation->{directory} . '.so';
take_link_away($installation);
unlink $library or die "$library: $!\n";
my $share = $installation->{directory} =~ s{\Q@{[ pg_config('pkglibdir') ]}\E/pgoutput_ext$}{}r . pg_config('sharedir');
unlink(glob "$share/extension/pgoutput_ext*") or die "no extension in $share: $!\n";
my $node = new_node('main', install_path => $installation->{install_path});
my $dbh = $node->{dbh};

sub state_of
{
	my ($sql) = @_;
	local $dbh->{RaiseError} = 0;
	local $dbh->{PrintError} = 0;
	return defined $dbh->do($sql) ? '00000' : $dbh->state;
}
is(state_of('CREATE EXTENSION pgoutput_ext'), '0A000', 'the server has no such extension');
is(state_of(q{SELECT pg_create_logical_replication_slot('s', 'pgoutput_ext')}), '58P01', 'nor the library');

# The cluster's settings.
$node->append_conf('postgresql.conf', "extension_control_path = '\$system:$image/share'\ndynamic_library_path = '\$libdir:$image/lib'\n");
$node->reload;
$dbh->disconnect;
$dbh = connect_db($node);
is(state_of('CREATE EXTENSION pgoutput_ext'), '00000', 'the extension is found');
$dbh->do($_) foreach 'CREATE TABLE t (a int PRIMARY KEY)', 'CREATE PUBLICATION pub FOR TABLE t',
  q{SELECT pg_create_logical_replication_slot('s', 'pgoutput_ext')}, q{SELECT pg_create_logical_replication_slot('plain', 'pgoutput')},
  'INSERT INTO t VALUES (1)', 'CREATE ROLE ours LOGIN REPLICATION';
is($dbh->selectrow_array(q{SELECT count(*) FROM pgoutput_ext_peek('s') WHERE message = 'Insert'}), 1, 'its functions work');
is(decoded_by_walsender($node, 's'), 'pgoutput_ext', 'a walsender loads it');
open my $maps, '<', '/proc/' . $dbh->{pg_pid} . '/maps' or die "maps: $!\n";
my %from = map { m{(/\S*/pgoutput_ext\.so)$} ? ($1 => 1) : () } <$maps>;
is_deeply([ keys %from ], ["$image/lib/pgoutput_ext.so"], 'from the image');

# Drop-in, where $libdir has no directory of it.
$dbh->do("ALTER ROLE ours SET dynamic_library_path = '$image/lib/pgoutput_ext:\$libdir'");
is(decoded_by_walsender($node, 'plain', user => 'ours'), 'pgoutput_ext', 'drop-in: ours decodes, walsender');
is(decoded_in_sql($node, 'plain', user => 'ours'), 'pgoutput_ext', 'drop-in: ours decodes, SQL');
is(decoded_in_sql($node, 'plain'), 'pgoutput', "another role has the server's");

$dbh->disconnect;
$node->stop;
done_testing();
