# What the tests of the drop-in directory (t/11*_dropin*.pl) share: a copy of the
# installed server, in which the directory can come and go while other tests use the
# installed one; and which library decodes.

package DropinServer;

use strict;
use warnings;

use Exporter 'import';
use PgoutputExt;
use PostgreSQL::Test::Utils ();
use ReplicationClient;
use Test::More;

our @EXPORT = qw(
  copy_installation put_link take_link_away dropin_path
  decoded_in_sql start_walsender decoded_by_walsender process_libraries knows_options_setting
);

sub dropin_path { return '$libdir/pgoutput_ext:$libdir' }

sub pg_config
{
	my ($what, $program) = @_;
	chomp(my $dir = `'@{[ $program // 'pg_config' ]}' --$what`);
	return $dir;
}

# A copy of the server under test, or of another that is named by its pg_config, programs
# copied and the rest linked: PostgreSQL finds its files from where its program is.  Returns a hash: install_path (for
# PostgreSQL::Test::Cluster) and directory (the drop-in's, as it is installed).
sub copy_installation
{
	my ($program) = @_;
	my $root = PostgreSQL::Test::Utils::tempdir();

	foreach my $what (qw(bindir pkglibdir sharedir))
	{
		my $dir = pg_config($what, $program);
		system('mkdir', '-p', "$root$dir");
		system($what eq 'bindir' ? "cp -L '$dir'/* '$root$dir'" : "cp -rsT '$dir' '$root$dir'") == 0
		  or die "cannot copy $dir\n";
	}
	my $installation = {
		install_path => $root . pg_config('bindir', $program) =~ s{/bin$}{}r,
		directory => $root . pg_config('pkglibdir', $program) . '/pgoutput_ext' };

	# The link in it leads to the installed library by a path of its own.
	take_link_away($installation);
	put_link($installation);
	return $installation;
}

# As "make install" does it.
sub put_link
{
	my ($installation) = @_;
	mkdir $installation->{directory};
	symlink '../pgoutput_ext.so', "$installation->{directory}/pgoutput.so" or die "cannot link: $!\n";
	return;
}

# As "make uninstall" does it.
sub take_link_away
{
	my ($installation) = @_;
	unlink "$installation->{directory}/pgoutput.so" or die "no link: $!\n";
	rmdir $installation->{directory} or die "more than a link: $!\n";
	return;
}

# Which library decodes a slot for this role, read by the SQL functions: only ours
# knows the option.  Something else than a library's name is an error's text.
sub decoded_in_sql
{
	my ($node, $slot, %params) = @_;
	my $dbh = $params{dbh} || connect_db($node, %params);
	my $read = read_slot($dbh, $slot,
		options => [ proto_version => 1, publication_names => 'pub', unchanged_toast => 'marker' ]);

	$dbh->disconnect unless $params{dbh};
	return 'pgoutput_ext' unless $read->{error};
	return 'pgoutput' if $read->{error}{message_primary} eq 'unrecognized pgoutput option: unchanged_toast';
	return "$read->{error}{sqlstate} $read->{error}{message_primary}";
}

# Whether the library has the setting pgoutput_ext.options.
sub knows_options_setting
{
	my ($dbh) = @_;
	$dbh->do(q{LOAD 'pgoutput_ext'});
	return $dbh->selectrow_array(q{SELECT count(*) FROM pg_settings WHERE name = 'pgoutput_ext.options'});
}

# The plugins that a process has loaded, as one text.
sub process_libraries
{
	my ($pid) = @_;
	my %seen;

	open my $maps, '<', "/proc/$pid/maps" or die "cannot see what process $pid has loaded: $!\n";
	while (<$maps>)
	{
		$seen{$1} = 1 if m{/(pgoutput(?:_ext)?)\.so\b};
	}
	return join ' ', sort keys %seen;
}

# A replication connection of this role that reads the slot.
sub start_walsender
{
	my ($node, $slot, %params) = @_;
	my $client = ReplicationClient->new($node, %params);

	$client->start($slot, proto_version => 1, publication_names => 'pub');
	return $client;
}

# Which library decodes a slot for this role on a replication connection.
sub decoded_by_walsender
{
	my ($node, $slot, %params) = @_;
	my $client = start_walsender($node, $slot, %params);
	my $libraries = process_libraries($client->pid);

	$client->stop;
	$client->close;
	$node->poll_query_until('postgres', "SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$slot'")
	  or die "slot $slot stays in use\n";
	return $libraries;
}

1;
