# One version: the control file says it, everything else says the same. Each file is
# checked where it is there: the archive of a release has no debian/.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use JSON::PP;
use PgoutputExt;
use Test::More;

my $tree = "$FindBin::RealBin/..";

sub contents
{
	my ($name) = @_;
	local $/;
	open my $file, '<', "$tree/$name" or die "$name: $!\n";
	return scalar <$file>;
}

# found NAME, PATTERN: what the pattern's group matches, once and no more.
sub found
{
	my ($name, $pattern) = @_;
	my @found = contents($name) =~ /$pattern/mg;
	return @found == 1 ? $found[0] : scalar(@found) . " matches in $name";
}

my $version = found('pgoutput_ext.control', qr/^# Version of the library: (\d+\.\d+\.\d+)$/m);
like($version, qr/^\d+\.\d+\.\d+$/, 'the control file has a version');
my $default = found('pgoutput_ext.control', qr/^default_version = '([^']+)'$/m);
is($default, $version =~ s/\.\d+$//r, 'the SQL objects have its first two numbers');

my ($changed) = contents('CHANGELOG.md') =~ /^## (\S+)/m;
is($changed, $version, 'CHANGELOG.md: the first entry');

# ---- META.json --------------------------------------------------------------

my $meta = decode_json(contents('META.json'));
foreach my $key (qw(name version abstract maintainer license provides meta-spec))
{
	ok(defined $meta->{$key}, "META.json: $key, which the specification demands");
}
is($meta->{'meta-spec'}{version}, '1.0.0', 'META.json: the version of the specification');
is($meta->{version}, $version, 'META.json: the version');
is_deeply([ keys %{ $meta->{provides} } ], [ $meta->{name} ], 'META.json: it provides the extension');
my $provided = $meta->{provides}{ $meta->{name} };
is($provided->{version}, $version, "META.json: the extension's version");
ok(-e "$tree/$provided->{$_}", "META.json: $_ is there") foreach qw(file docfile);
like($provided->{file}, qr/--\Q$default\E\.sql$/, 'META.json: the file makes the default version');

# ---- packages ---------------------------------------------------------------

SKIP:
{
	skip 'no debian/ in this tree', 2 unless -d "$tree/debian";
	my ($package) = contents('debian/changelog') =~ /\A\S+ \(([^)]+)\)/;
	like($package, qr/^\Q$version\E-\d+$/, 'debian/changelog: the first entry');
	my $control = contents('debian/control.in') =~ s/PGVERSION/15/gr;
	is(contents('debian/control'), $control, 'debian/control is made of debian/control.in');
}
SKIP:
{
	skip 'no rpm/ in this tree', 2 unless -d "$tree/rpm";
	is(found('rpm/pgoutput_ext.spec', qr/^Version:\s+(\S+)$/m), $version, 'the spec: the version');
	my ($entry) = contents('rpm/pgoutput_ext.spec') =~ /^%changelog\n\*.* - (\S+)$/m;
	like($entry, qr/^\Q$version\E-\d+$/, 'the spec: its first entry');
}

# ---- the library ------------------------------------------------------------

my $dbh = new_node('versions')->{dbh};
$dbh->do('CREATE EXTENSION pgoutput_ext');
is($dbh->selectrow_array('SELECT pgoutput_ext_version()'), $version, 'the library says its version');
is($dbh->selectrow_array("SELECT extversion FROM pg_extension WHERE extname = 'pgoutput_ext'"), $default, 'the SQL objects say theirs');
SKIP:
{
	skip 'the magic block has a version from 18 on', 1 if $dbh->{pg_server_version} < 180000;
	is($dbh->selectrow_array("SELECT version FROM pg_get_loaded_modules() WHERE module_name = 'pgoutput_ext'"), $version, 'the magic block');
}

done_testing();
