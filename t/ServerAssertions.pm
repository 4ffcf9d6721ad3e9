# A server that was built with assertions may fail one inside of pgoutput, or
# before either plugin is called. That ends every session of the server; no
# difference between the plugins can be seen there. So a reading that fails an
# assertion is explained when it is pgoutput's own, or when pgoutput fails the same
# one over the same WAL with the same options, or was seen to and it depends on when a
# slot is read. docs/TESTING.md lists those met.
#
# Here: which assertion a lost session failed, and a new session in its place.

package ServerAssertions;

use strict;
use warnings;

use Scalar::Util qw(refaddr);
use Time::HiRes ();

my (%explained, %connections, @replaced);

# How a handle was connected: its node, and the parameters of connect_db.
sub remember
{
	my ($dbh, $node, %params) = @_;
	my $connection = $connections{ refaddr $dbh } = { node => $node, params => \%params };
	$connection->{checkpointer} = checkpointer($dbh) if enabled($dbh);
	return;
}

# The server's checkpointer, which is another one when the server has ended all its
# processes and started again; undef for those who may not see it.
sub checkpointer
{
	my ($dbh) = @_;
	return scalar $dbh->selectrow_array(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'});
}

sub node
{
	return $connections{ refaddr $_[0] }{node};
}

# Was this session's server built with assertions?
sub enabled
{
	my ($dbh) = @_;
	my $connection = $connections{ refaddr $dbh } or return 0;
	return $connection->{assertions} //= scalar $dbh->selectrow_array(q{SELECT current_setting('debug_assertions')::bool::int});
}

# What the session has set, for restore_session.
sub session_settings
{
	my ($dbh) = @_;
	return $dbh->selectall_arrayref(q{SELECT name, current_setting(name) FROM pg_settings WHERE source = 'session'});
}

# The assertion that a server's process failed, as "file: condition"; undef when it
# did not.
sub failed
{
	my ($node, $pid) = @_;
	my $log = PgoutputExt::read_text($node->logfile);
	# 14 and 15 write TRAP: FailedAssertion("condition", ...), others TRAP: failed Assert("condition"), ...
	return unless $log =~ /^TRAP: [^\n]*?\("([^\n]*)"\)?, File: "([^"]+)", Line: \d+, PID: \Q$pid\E\)?$/m;
	my ($condition, $file) = ($1, $2);
	$file =~ s{.*/}{};
	return "$file: $condition";
}

# Puts a new session in the place of a lost one, whoever holds the handle, as soon
# as the server takes connections again. One that it takes before it has noticed is
# ended with all others.
sub restore_session
{
	my ($dbh, $settings) = @_;
	my $connection = $connections{ refaddr $dbh };
	my %kept = map { $_ => $dbh->{$_} } qw(RaiseError PrintWarn);
	my $until = time + 120;
	my $new;
	my $old = $connection->{checkpointer};
	until ($new = eval {
			my $try = PgoutputExt::connect_db($connection->{node}, %{ $connection->{params} });
			$connection->{checkpointer} = checkpointer($try);
			die "it has not noticed yet\n" if defined $old && ($connection->{checkpointer} // $old) == $old;
			$try
		})
	{
		die "the server does not come back: $@" if time > $until;
		Time::HiRes::sleep(0.1);
	}
	$dbh->swap_inner_handle($new);
	$dbh->{$_} = $kept{$_} foreach keys %kept;
	$new->disconnect;
	push @replaced, $new;    # DBD::Pg's notices of the new session go by this handle
	$dbh->do('SELECT set_config(?, ?, false)', undef, @$_) foreach @{ $settings || [] };
	return;
}

# reorderbuffer.c's assertion of final_lsn, before any plugin is called, depends on
# what else the server writes into the WAL when a slot is read. pgoutput was seen to
# fail it, see docs/TESTING.md, "Assertions".
sub depends_on_time
{
	my ($assertion) = @_;
	return $assertion =~ /^reorderbuffer\.c: .*\bfinal_lsn\b/;
}

# Counts an assertion as explained.
sub explain
{
	my ($assertion) = @_;
	$explained{$assertion}++;
	return;
}

# How often which was explained, in a line; empty when none was.
sub summary
{
	return join ', ', map { "$explained{$_} times $_" } sort keys %explained;
}

END
{
	Test::More::diag("assertions that pgoutput fails as well: $explained{$_} times $_") foreach sort keys %explained;
}

1;
