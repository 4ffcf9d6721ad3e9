# examples/copy_table.py keeps a copy of a table through crashes and lost connections.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use ClientTest;
use ExampleTest;
use PgoutputExt;
use PostgreSQL::Test::Utils ();
use Test::More;

my $python = '/usr/bin/python3';
skip_unless_program('psycopg2', $python, '-c', 'import psycopg2');

my $node = new_node('main');
my $copy = PostgreSQL::Test::Utils::tempdir() . '/copy.sqlite';

example_keeps_copy($node,
	[ $python, "$FindBin::RealBin/../examples/copy_table.py", $node->connstr('postgres'), $copy, 'account' ],
	sub {
		my $script = q{
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute('SELECT a, b, n, long FROM account'):
    print('|'.join('(null)' if value is None else value for value in row))
};
		my ($out, $err) = ('', '');
		IPC::Run::run([ $python, '-c', $script, $copy ], '<', \undef, '>', \$out, '2>', \$err) or diag($err);
		return [ split /\n/, $out ];
	});
$node->{dbh}->disconnect;
$node->stop;
done_testing();
