/*
 * stream.c
 *		A client that has a walsender stream a slot and throws it all away.
 *
 *	stream SOCKET USER DATABASE SLOT UPTO DIGEST SERVER_OPTIONS SLOT_OPTIONS
 *
 * bench/run calls it.  It speaks the protocol itself, over a Unix socket and
 * without a password, so that it is never what the walsender waits for.  It
 * confirms nothing: the slot stays where it was.  UPTO is an LSN as X/X;
 * SERVER_OPTIONS is what "options" of a connection takes (-c name=value ...),
 * SLOT_OPTIONS what START_REPLICATION has in its parentheses.
 *
 * Prints cpu=NS (the walsender's, from before START_REPLICATION until it
 * sleeps at UPTO), messages=N bytes=N (of CopyData payload, keepalives not
 * counted), memory=BYTES (its anonymous memory's growth) and, if DIGEST is 1,
 * digest=HEX over each message's LSNs, length and data.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_SIZE (4 * 1024 * 1024)
#define XLOGDATA_HEADER (1 + 8 + 8 + 8)

static int	sock;
static unsigned char *buffer;
static size_t filled,
			taken;
static pid_t server_pid;

static void
die(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	fprintf(stderr, "stream: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static uint32_t
get32(const unsigned char *p)
{
	return (uint32_t) p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static uint64_t
get64(const unsigned char *p)
{
	return (uint64_t) get32(p) << 32 | get32(p + 4);
}

static void
put32(unsigned char *p, uint32_t v)
{
	p[0] = v >> 24;
	p[1] = v >> 16;
	p[2] = v >> 8;
	p[3] = v;
}

static void
send_all(const void *data, size_t len)
{
	const char *p = data;

	while (len > 0)
	{
		ssize_t		n = write(sock, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("could not send: %s", strerror(errno));
		p += n;
		len -= n;
	}
}

/* A message of the frontend: its type (0 for the startup packet) and body. */
static void
send_message(char type, const void *body, size_t len)
{
	unsigned char head[5];

	head[0] = type;
	put32(head + 1, len + 4);
	if (type)
		send_all(head, 5);
	else
		send_all(head + 1, 4);
	send_all(body, len);
}

/*
 * The server's next message: returns its type, sets its body and length.  The
 * body is good until the next call.
 */
static char
next_message(unsigned char **body, size_t *len)
{
	for (;;)
	{
		size_t		have = filled - taken;
		size_t		want = 5;
		ssize_t		n;

		if (have >= 5)
		{
			want = 1 + (size_t) get32(buffer + taken + 1);
			if (want > BUFFER_SIZE)
				die("a message of %zu bytes does not fit", want);
		}
		if (have >= 5 && have >= want)
		{
			char		type = buffer[taken];

			*body = buffer + taken + 5;
			*len = want - 5;
			taken += want;
			return type;
		}
		if (taken + want > BUFFER_SIZE || taken == filled)
		{
			memmove(buffer, buffer + taken, have);
			filled = have;
			taken = 0;
		}
		n = read(sock, buffer + filled, BUFFER_SIZE - filled);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("the server has gone");
		filled += n;
	}
}

static void
check_error(char type, const unsigned char *body, size_t len)
{
	const char *p = (const char *) body,
			   *end = p + len;

	if (type != 'E')
		return;
	while (p < end && *p)
	{
		if (*p == 'M')
			die("%s", p + 1);
		p += strlen(p) + 1;
	}
	die("an error without a message");
}

static void
wait_for(char wanted)
{
	unsigned char *body;
	size_t		len;
	char		type;

	do
	{
		type = next_message(&body, &len);
		check_error(type, body, len);
		if (type == 'R' && get32(body) != 0)
			die("the server asks for a password");
		if (type == 'K')
			server_pid = get32(body);
	} while (type != wanted);
}

static void
open_connection(const char *path, const char *user, const char *database,
				const char *server_options)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const char *words[] = {"user", user, "database", database,
		"replication", "database", "options", server_options,
	"application_name", "bench", NULL};
	char		packet[2048];
	size_t		len = 4;

	put32((unsigned char *) packet, 196608);
	for (int i = 0; words[i]; i++)
	{
		size_t		n = strlen(words[i]) + 1;

		if (len + n + 1 > sizeof(packet))
			die("too long a startup packet");
		memcpy(packet + len, words[i], n);
		len += n;
	}
	packet[len++] = 0;

	if (strlen(path) >= sizeof(addr.sun_path))
		die("too long a socket's name");
	strcpy(addr.sun_path, path);
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *) &addr, sizeof(addr)) != 0)
		die("could not connect to %s: %s", path, strerror(errno));
	send_message(0, packet, len);
	wait_for('Z');
}

static int64_t
server_cpu(void)
{
	clockid_t	clock;
	struct timespec ts;

	if (clock_getcpuclockid(server_pid, &clock) != 0 ||
		clock_gettime(clock, &ts) != 0)
		die("could not read the walsender's CPU clock");
	return (int64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t
server_memory(void)
{
	char		name[64],
				line[256];
	FILE	   *f;
	long		kb = 0;

	snprintf(name, sizeof(name), "/proc/%d/status", (int) server_pid);
	f = fopen(name, "r");
	if (!f)
		die("could not read %s", name);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &kb) == 1)
			break;
	fclose(f);
	return (int64_t) kb * 1024;
}

/* Wait until the walsender sleeps: then all its CPU has been spent. */
static void
wait_until_asleep(void)
{
	char		name[64];

	snprintf(name, sizeof(name), "/proc/%d/stat", (int) server_pid);
	for (int i = 0; i < 10000; i++)
	{
		char		line[512],
				   *state;
		FILE	   *f = fopen(name, "r");

		if (!f || !fgets(line, sizeof(line), f))
			die("could not read %s", name);
		fclose(f);
		state = strrchr(line, ')');
		if (state && state[1] && state[2] == 'S')
			return;
		usleep(200);
	}
	die("the walsender does not come to rest");
}

static uint64_t
fnv(uint64_t h, const unsigned char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

int
main(int argc, char **argv)
{
	char		command[4096];
	unsigned char *body;
	size_t		len;
	unsigned	hi,
				lo;
	uint64_t	upto,
				at = 0,
				messages = 0,
				bytes = 0,
				digest = UINT64_C(0xcbf29ce484222325);
	bool		want_digest;
	int64_t		cpu,
				memory;

	if (argc != 9)
		die("wrong number of arguments");
	if (sscanf(argv[5], "%X/%X", &hi, &lo) != 2)
		die("\"%s\" is no LSN", argv[5]);
	upto = (uint64_t) hi << 32 | lo;
	want_digest = argv[6][0] == '1';
	buffer = malloc(BUFFER_SIZE);
	if (!buffer)
		die("out of memory");
	signal(SIGPIPE, SIG_IGN);

	open_connection(argv[1], argv[2], argv[3], argv[7]);
	snprintf(command, sizeof(command),
			 "START_REPLICATION SLOT \"%s\" LOGICAL 0/0%s%s%s", argv[4],
			 argv[8][0] ? " (" : "", argv[8], argv[8][0] ? ")" : "");
	cpu = server_cpu();
	memory = server_memory();
	send_message('Q', command, strlen(command) + 1);
	wait_for('W');

	/*
	 * A keepalive names the position that was decoded up to.  Messages do not
	 * tell: a transaction's can be sent after its end has been passed.
	 */
	while (at < upto)
	{
		char		type = next_message(&body, &len);

		check_error(type, body, len);
		if (type == 'd' && len >= 9 && body[0] == 'k')
			at = get64(body + 1);
		else if (type == 'd' && len >= XLOGDATA_HEADER && body[0] == 'w')
		{
			messages++;
			bytes += len - XLOGDATA_HEADER;
			if (want_digest)
			{
				unsigned char size[4];

				put32(size, len);
				digest = fnv(digest, body + 1, 16);
				digest = fnv(digest, size, 4);
				digest = fnv(digest, body + XLOGDATA_HEADER,
							 len - XLOGDATA_HEADER);
			}
		}
		else
			die("unexpected message \"%c\"", type);
	}
	wait_until_asleep();
	cpu = server_cpu() - cpu;
	memory = server_memory() - memory;

	printf("cpu=%" PRId64 " messages=%" PRIu64 " bytes=%" PRIu64
		   " memory=%" PRId64, cpu, messages, bytes, memory);
	if (want_digest)
		printf(" digest=%016" PRIx64, digest);
	printf("\n");

	send_message('c', "", 0);
	wait_for('Z');
	send_message('X', "", 0);
	return 0;
}
