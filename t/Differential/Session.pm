# A database session of a generated program. Statements are sent without
# waiting for ever: one that waits for a lock is left "blocked" and looked at
# again after each step of another session, as isolationtester does.

package Differential::Session;

use strict;
use warnings;

use DBD::Pg qw(:async);

# Longest wait for a statement that neither ends nor waits for a lock.
my $patience = 60;

# $dbh is the session's own connection, $control one that asks who is blocked.
sub new
{
	my ($class, $name, $dbh, $control) = @_;
	my $self = bless { name => $name, dbh => $dbh, control => $control }, $class;
	$self->connected;
	return $self;
}

# The connection is new.
sub connected
{
	my ($self) = @_;
	my $dbh = $self->{dbh};
	$dbh->{RaiseError} = 0;
	$dbh->{PrintWarn} = 0;
	$dbh->do(q{SET client_min_messages = error; SET search_path = ''; SET deadlock_timeout = '100s'});
	$self->{pid} = $dbh->{pg_pid};
	$self->{state} = 'idle';
	$self->{savepoints} = [];
	$self->{cache} = {};
	delete $self->{origin};
	return;
}

# Runs a statement; returns "ok", "error" or "blocked" and leaves the error's
# text in $self->{error}.
sub run
{
	my ($self, $sql) = @_;
	my $dbh = $self->{dbh};

	$self->{error} = undef;
	$self->{sql} = $sql;
	if (!defined $dbh->do($sql, { pg_async => PG_ASYNC }))
	{
		return $self->_ended('error');
	}
	return $self->wait;
}

# Waits until the statement under way ends or waits for a lock.
sub wait
{
	my ($self) = @_;
	my $dbh = $self->{dbh};
	my $started = time;

	while (!$dbh->pg_ready)
	{
		my $bits = '';
		vec($bits, $dbh->{pg_socket}, 1) = 1;
		next if select $bits, undef, undef, 0.005;
		my ($blocked) = $self->{control}->selectrow_array(
			'SELECT cardinality(pg_blocking_pids(?)) > 0', undef, $self->{pid});
		if ($blocked)
		{
			next if $dbh->pg_ready;
			$self->{state} = 'blocked';
			return 'blocked';
		}
		die "no end of: $self->{sql}" if time - $started > $patience;
	}
	return $self->_ended(defined $dbh->pg_result ? 'ok' : 'error');
}

# Ends a statement that is blocked by cancelling it.
sub cancel
{
	my ($self) = @_;
	return 'ok' if $self->{state} ne 'blocked';
	$self->{control}->do('SELECT pg_cancel_backend(?)', undef, $self->{pid});
	my $bits;
	my $started = time;
	until ($self->{dbh}->pg_ready)
	{
		die "cannot cancel: $self->{sql}" if time - $started > $patience;
		vec($bits = '', $self->{dbh}->{pg_socket}, 1) = 1;
		select $bits, undef, undef, 0.01;
	}
	return $self->_ended(defined $self->{dbh}->pg_result ? 'ok' : 'error');
}

sub _ended
{
	my ($self, $result) = @_;
	my $dbh = $self->{dbh};
	$self->{error} = $dbh->errstr if $result eq 'error';
	my $ping = $dbh->ping;
	die "session lost after: $self->{sql}\n" . ($self->{error} // '') unless $ping;
	$self->{state} = $ping == 1 ? 'idle' : $ping == 3 ? 'open' : 'failed';
	$self->_note_savepoints if $result eq 'ok';
	$self->{savepoints} = [] if $self->{state} eq 'idle';
	return $result;
}

# Keeps the list of the savepoints there are.
sub _note_savepoints
{
	my ($self) = @_;
	my $points = $self->{savepoints};
	if ($self->{sql} =~ /^SAVEPOINT (\S+)/)
	{
		push @$points, $1;
	}
	elsif ($self->{sql} =~ /^(ROLLBACK TO|RELEASE) SAVEPOINT (\S+)/)
	{
		my ($what, $name) = ($1, $2);
		my ($i) = grep { $points->[$_] eq $name } reverse 0 .. $#$points;
		splice @$points, $what eq 'RELEASE' ? $i : $i + 1;
	}
	return;
}

# Rows of a query on the catalogs, remembered until forget() is called.
sub lookup
{
	my ($self, $sql) = @_;
	return $self->{cache}{$sql} ||= do
	{
		my $rows = $self->{dbh}->selectall_arrayref($sql, { Slice => {} });
		die "catalog query failed: " . $self->{dbh}->errstr . "\n$sql" if $self->{dbh}->err;
		$rows;
	};
}

sub forget
{
	$_[0]{cache} = {};
	return;
}

# Back to the state of a new session.
sub reset
{
	my ($self) = @_;
	$self->cancel;
	my $dbh = $self->{dbh};
	$dbh->do('ROLLBACK') if $self->{state} ne 'idle';
	$dbh->do('SELECT pg_replication_origin_session_reset()') if delete $self->{origin};
	$self->{state} = 'idle';
	$self->{savepoints} = [];
	$self->forget;
	return;
}

1;
