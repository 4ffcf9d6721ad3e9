# pg_recvlogical: what it writes, a line of hexadecimal digits each (see t/ClientTest.pm).

use strict;
use warnings;

use IPC::Run ();
use JSON::PP ();

my $spec = JSON::PP::decode_json($ARGV[0]);
my ($out, $err) = ('', '');
my $run = IPC::Run::start(
	[   'pg_recvlogical', '-h', $spec->{host}, '-p', $spec->{port}, '-U', $spec->{user}, '-d', $spec->{dbname},
		'-S', $spec->{slot}, '--start', '--no-loop', '-f', '-',
		map { ('-o', "$_=$spec->{options}{$_}") } sort keys %{ $spec->{options} } ],
	'<', \undef, '>', \$out, '2>', \$err);

# Each message has a newline at its end; the last is a Commit, 26 bytes.
$run->pump until $out =~ /\Q$spec->{end}\E\nC[\s\S]{25}\n\z/;
while ($out =~ /\G([\s\S]{1,100})/g)
{
	(my $text = $1) =~ s/([^\x20-\x7e])/sprintf '\\x%02x', ord $1/ge;
	print "$text\n";
}
$| = 1;
print "END\n";
readline STDIN;
$run->signal('INT');
$run->finish;
