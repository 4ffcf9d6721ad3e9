# What the tests of pgoutput_ext_check share: a case makes a situation, finds
# the one row that tells of it, asks the server whether it is so, follows the
# remedy word by word, and finds the row gone.
#
#	check_case($dbh, 'a table without a key',
#		number => 40, severity => 'error', object => 'table c.t',
#		setup => [ 'CREATE TABLE c.t (a int)', 'CREATE PUBLICATION p FOR TABLE c.t' ],
#		finding => 'has no ...', remedy => 'ALTER TABLE c.t ADD PRIMARY KEY (...), or ...',
#		server => [ 'UPDATE c.t SET a = 1' => '55000', '00000' ],
#		fill => [ [ 'a' ], [] ]);

package CheckUp;

use strict;
use warnings;

use Exporter 'import';
use Test::More ();

our @EXPORT = qw(fresh_schema check_rows check_case sqlstate follow run_each);

# Runs statements one by one; a function among them is called.
sub run_each
{
	my ($dbh, @statements) = @_;
	ref $_ ? $_->() : $dbh->do($_) foreach @statements;
	return;
}

# An empty schema "c", and no publication.
sub fresh_schema
{
	my ($dbh) = @_;
	local $dbh->{PrintWarn} = 0;
	$dbh->do('SET client_min_messages = error');
	$dbh->do("DROP PUBLICATION $_") foreach @{ $dbh->selectcol_arrayref('SELECT quote_ident(pubname) FROM pg_publication') };
	$dbh->do('DROP SCHEMA IF EXISTS c CASCADE');
	$dbh->do('CREATE SCHEMA c');
	return;
}

# The findings as hashes with their numbers, which pgoutput_ext_check does not
# show. Parameters: slot (s), publications (array, or all of them).
sub check_rows
{
	my ($dbh, %params) = @_;
	return @{ $dbh->selectall_arrayref(q{
		SELECT * FROM pgoutput_ext_check_slot($1)
		UNION ALL SELECT * FROM pgoutput_ext_check_library($1)
		UNION ALL SELECT * FROM pgoutput_ext_check_subscriptions($1)
		UNION ALL SELECT * FROM pgoutput_ext_check_publications($1, $2)
		UNION ALL SELECT * FROM pgoutput_ext_check_tables($2)
		UNION ALL SELECT * FROM pgoutput_ext_check_settings()},
			{ Slice => {} }, $params{slot} // 's', $params{publications}) };
}

# SQLSTATE that a statement ends with; whatever it did is taken back.
sub sqlstate
{
	my ($dbh, $sql) = @_;
	local $dbh->{RaiseError} = 0;
	$dbh->begin_work;
	my $state = defined $dbh->do($sql) ? '00000' : $dbh->state;
	$dbh->rollback;
	return $state;
}

# Does what one alternative of a remedy says. "..." is filled with what is left
# of @$fill, for each of @$each its own name first.
sub follow
{
	my ($dbh, $remedy, $fill, $each) = @_;
	my $reload = $remedy =~ s/,? and reload\b//;
	my @tables = $remedy =~ s/^for each of them: // ? @$each : (undef);

	# explanations that are no part of the statement
	$remedy =~ s/ \(unique, not deferrable, of NOT NULL columns\)//;
	$remedy =~ s/ \(the primary key of each partition that lacks it\)//;
	$remedy =~ s/, if clients need them$//;
	$remedy =~ s/ and use the option \w+$//;
	foreach my $table (@tables)
	{
		my @left = (defined $table ? $table : (), @$fill);
		(my $sql = $remedy) =~ s/\.\.\./@left > 1 ? shift @left : $left[0]/ge;
		$dbh->do($_) foreach split /; /, $sql;
	}
	$dbh->do('SELECT pg_reload_conf()') if $reload;
	return;
}

# One row's case, once for each alternative of its remedy. Parameters, beside
# those of check_rows:
#	number, severity, object, finding, remedy    the row, exactly
#	setup      statements that make the situation in an empty schema "c"
#	server     statement => SQLSTATE before => SQLSTATE after, ...
#	truth      function that is called with 'before' and 'after'
#	fill       what stands for "..." in each alternative of the remedy; undef
#	           leaves an alternative out, a function does what words say
#	each       the partitions, where the remedy is for each of them
sub check_case
{
	my ($dbh, $name, %case) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $i = 0;
	my @alternatives = split /, or /, $case{remedy};
	my $prefix = $case{remedy} =~ /^for each of them: / ? 'for each of them: ' : '';
	my $here = sub { grep { $_->{number} == $case{number} && $_->{object} eq $case{object} } check_rows($dbh, %case) };

	foreach my $fill ($case{fill} ? @{ $case{fill} } : [])
	{
		my $alternative = $alternatives[ $i++ ];
		next unless defined $fill;
		my $title = @alternatives > 1 ? "$name ($i)" : $name;

		fresh_schema($dbh);
		run_each($dbh, @{ $case{setup} });
		my @found = $here->();
		Test::More::is_deeply(
			[ map { "$_->{severity}: $_->{finding} | $_->{remedy}" } @found ],
			["$case{severity}: $case{finding} | $case{remedy}"],
			"$title: the finding");
		my @server = @{ $case{server} || [] };
		while (my ($sql, $before) = splice @server, 0, 3)
		{
			Test::More::is(sqlstate($dbh, $sql), $before, "$title: the server says so: $sql");
		}
		$case{truth}->('before') if $case{truth};

		if (ref $fill eq 'CODE')
		{
			$fill->();
		}
		else
		{
			$alternative = "$prefix$alternative" if $i > 1;
			follow($dbh, $alternative, $fill, $case{each});
		}

		Test::More::is_deeply([ map { $_->{finding} } $here->() ], [], "$title: gone, once the remedy is followed");
		@server = @{ $case{server} || [] };
		while (my ($sql, undef, $after) = splice @server, 0, 3)
		{
			Test::More::is(sqlstate($dbh, $sql), $after, "$title: the server agrees: $sql");
		}
		$case{truth}->('after') if $case{truth};
	}
	return;
}

1;
