# make install puts the drop-in directory with its one link in place, under DESTDIR
# too; make uninstall takes both away, and nothing that is not ours.

use strict;
use warnings;

use Cwd ();
use FindBin;
use lib $FindBin::RealBin;
use PgoutputExt;
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = Cwd::abs_path("$FindBin::RealBin/..");
plan skip_all => 'this tree is not built' unless -e "$tree/pgoutput_ext.so";

my $root = PostgreSQL::Test::Utils::tempdir();
my @make = ('make', '-s', '-C', $tree, "DESTDIR=$root", 'with_llvm=no', 'PG_CONFIG=' . ($ENV{PG_CONFIG} || 'pg_config'));
chomp(my $pkglibdir = `pg_config --pkglibdir`);
my $directory = "$root$pkglibdir/pgoutput_ext";

# A make that runs this test hands on what is not for another one.
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};

sub files
{
	my @files = `cd $root && find . -mindepth 1 ! -type d | sort`;
	chomp @files;
	return \@files;
}

# Twice: an installation goes over another.
foreach my $time ('once', 'again')
{
	is(system(@make, 'install'), 0, "make install, $time");
	is(readlink "$directory/pgoutput.so", '../pgoutput_ext.so', "$time: the link");
	ok(-e "$directory/pgoutput.so", "$time: it leads to the library");
	is_deeply([ map { s{.*/}{}r } glob "$directory/*" ], ['pgoutput.so'], "$time: nothing else is in the directory");
	is((stat $directory)[2] & 022, 0, "$time: nobody but the owner writes there");
}
is(system(@make, 'uninstall'), 0, 'make uninstall');
is_deeply(files(), [], 'no file is left');
ok(!-e $directory, 'nor the directory');
is(system(@make, 'uninstall'), 0, 'make uninstall with nothing there');

done_testing();
