/*-------------------------------------------------------------------------
 *
 * encoder_jsonb.c
 *	  Direct encoders of jsonb, from its stored form.
 *
 * Called for each value through TypeEncoder.encode, in the per-change memory
 * context, where detoasted values and converted strings are left.
 *
 * A jsonb is a tree of containers as utils/jsonb.h describes: a header with
 * the number of elements, an entry (type and length or end offset) for each
 * element, or each key and then each value, and their data.  The tree is
 * written as it is walked.  The stored form is read with memcpy(), as a value
 * with a short varlena header is not aligned and need not be copied for that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "values/encoders.h"
#include "mb/pg_wchar.h"
#include "replication/logicalproto.h"
#include "utils/jsonb.h"

/*
 * Deeper trees are left to the function, which keeps its way back in
 * allocated memory instead of the stack.
 */
#define MAX_DEPTH		64

/* Characters of a string that are escaped at a time. */
#define CHUNK_SIZE		256

#define JSONB_VERSION	1		/* first byte of the binary form */

static bool write_container(StringInfo out, const char *container, int depth);

/* Makes room for "room" bytes and returns where they go. */
static inline char *
more_room(StringInfo out, int room)
{
	if (unlikely(out->len + room >= out->maxlen))
		enlargeStringInfo(out, room);
	return out->data + out->len;
}

static inline void
write_bytes(StringInfo out, const char *bytes, int len)
{
	memcpy(more_room(out, len), bytes, len);
	out->len += len;
}

static inline uint32
entry_at(const char *entries, int i)
{
	uint32		entry;

	memcpy(&entry, entries + i * sizeof(uint32), sizeof(entry));
	return entry;
}

/* Are there quotes, backslashes or control characters in eight bytes? */
static inline bool
needs_escape(uint64 bytes)
{
	const uint64 ones = UINT64CONST(0x0101010101010101);
	uint64		quote = bytes ^ (ones * '"');
	uint64		backslash = bytes ^ (ones * '\\');

	return (((bytes - ones * ' ') & ~bytes) |
			((quote - ones) & ~quote) |
			((backslash - ones) & ~backslash)) & (ones * 0x80);
}

/* Writes one character of a string. */
static inline char *
put_escaped(char *p, unsigned char c)
{
	/* letters for the control characters that have one */
	static const char letters[' '] = {
		['\b'] = 'b',['\f'] = 'f',['\n'] = 'n',['\r'] = 'r',['\t'] = 't'
	};

	if (c >= ' ')
	{
		if (c == '"' || c == '\\')
			*p++ = '\\';
		*p++ = c;
		return p;
	}

	*p++ = '\\';
	if (letters[c] != '\0')
	{
		*p++ = letters[c];
		return p;
	}
	memcpy(p, "u00", 3);
	memcpy(p + 3, hex_pairs + 2 * c, 2);
	return p + 5;
}

/*
 * Copies a string of at least four bytes, eight or four at a time with the
 * last ones overlapping, or stops and returns false if any is to be escaped.
 */
static inline bool
put_plain(char *p, const char *string, int len)
{
	uint64		bytes;
	uint32		half;
	int			i;

	if (len < sizeof(bytes))
	{
		memcpy(&half, string + len - sizeof(half), sizeof(half));
		bytes = half;
		memcpy(p + len - sizeof(half), &half, sizeof(half));
		memcpy(&half, string, sizeof(half));
		bytes = bytes << 32 | half;
		memcpy(p, &half, sizeof(half));
		return !needs_escape(bytes);
	}

	for (i = 0; i + sizeof(bytes) < len; i += sizeof(bytes))
	{
		memcpy(&bytes, string + i, sizeof(bytes));
		if (needs_escape(bytes))
			return false;
		memcpy(p + i, &bytes, sizeof(bytes));
	}
	memcpy(&bytes, string + len - sizeof(bytes), sizeof(bytes));
	memcpy(p + len - sizeof(bytes), &bytes, sizeof(bytes));
	return !needs_escape(bytes);
}

/* Writes a string in quotes. */
static void
write_string(StringInfo out, const char *string, int len)
{
	char	   *p = more_room(out, 1);

	*p++ = '"';
	do
	{
		int			chunk = Min(len, CHUNK_SIZE);
		int			i;

		out->len = p - out->data;
		p = more_room(out, 6 * CHUNK_SIZE + 1);
		if (chunk >= 4 && put_plain(p, string, chunk))
			p += chunk;
		else
			for (i = 0; i < chunk; i++)
				p = put_escaped(p, string[i]);
		string += chunk;
		len -= chunk;
	} while (len > 0);
	*p++ = '"';
	out->len = p - out->data;
}

/* Writes a numeric, a varlena in "len" bytes. */
static void
write_numeric(StringInfo out, const char *varlena, int len)
{
	int			header = VARATT_IS_1B(varlena) ? VARHDRSZ_SHORT : VARHDRSZ;
	char	   *p;

	varlena += header;
	len -= header;
	p = more_room(out, numeric_text_room(varlena, len));
	out->len = put_numeric(p, varlena, len) - out->data;
}

/*
 * Writes the element with the given entry, whose data are from "offset" until
 * before "end"; false if it is nested too deep.
 */
static bool
write_element(StringInfo out, uint32 entry, const char *base, uint32 offset,
			  uint32 end, int depth)
{
	if (JBE_ISSTRING(entry))
		write_string(out, base + offset, end - offset);
	else if (JBE_ISNUMERIC(entry))
	{
		offset = INTALIGN(offset);
		write_numeric(out, base + offset, end - offset);
	}
	else if (JBE_ISCONTAINER(entry))
		return write_container(out, base + INTALIGN(offset), depth + 1);
	else if (JBE_ISBOOL_TRUE(entry))
		write_bytes(out, "true", 4);
	else if (JBE_ISBOOL_FALSE(entry))
		write_bytes(out, "false", 5);
	else if (JBE_ISNULL(entry))
		write_bytes(out, "null", 4);
	else
		elog(ERROR, "unknown jsonb entry %08X", entry);
	return true;
}

/* Writes an array of "count" elements, or the one that is a bare scalar. */
static bool
write_array(StringInfo out, const char *entries, int count, bool scalar,
			int depth)
{
	const char *base = entries + count * sizeof(uint32);
	uint32		offset = 0;
	int			i;

	if (!scalar)
		write_bytes(out, "[", 1);
	for (i = 0; i < count; i++)
	{
		uint32		entry = entry_at(entries, i);
		uint32		end = offset;

		JBE_ADVANCE_OFFSET(end, entry);
		if (i > 0)
			write_bytes(out, ", ", 2);
		if (!write_element(out, entry, base, offset, end, depth))
			return false;
		offset = end;
	}
	if (!scalar)
		write_bytes(out, "]", 1);
	return true;
}

/* Writes an object of "count" keys: the entries of the values follow theirs. */
static bool
write_object(StringInfo out, const char *entries, int count, int depth)
{
	const char *base = entries + 2 * count * sizeof(uint32);
	uint32		key = 0;
	uint32		offset = 0;
	int			i;

	/* the values' data start where those of the keys end */
	for (i = 0; i < count; i++)
		JBE_ADVANCE_OFFSET(offset, entry_at(entries, i));

	write_bytes(out, "{", 1);
	for (i = 0; i < count; i++)
	{
		uint32		entry = entry_at(entries, count + i);
		uint32		key_end = key;
		uint32		end = offset;

		JBE_ADVANCE_OFFSET(key_end, entry_at(entries, i));
		JBE_ADVANCE_OFFSET(end, entry);
		if (i > 0)
			write_bytes(out, ", ", 2);
		write_string(out, base + key, key_end - key);
		write_bytes(out, ": ", 2);
		if (!write_element(out, entry, base, offset, end, depth))
			return false;
		key = key_end;
		offset = end;
	}
	write_bytes(out, "}", 1);
	return true;
}

/* Writes an array, object or bare scalar; false if it is nested too deep. */
static bool
write_container(StringInfo out, const char *container, int depth)
{
	uint32		header = entry_at(container, 0);
	const char *entries = container + sizeof(uint32);
	int			count = header & JB_CMASK;

	if (depth > MAX_DEPTH)
		return false;
	if (header & JB_FOBJECT)
		return write_object(out, entries, count, depth);
	return write_array(out, entries, count, (header & JB_FSCALAR) != 0, depth);
}

/* Replaces the text from "start" on by its form in the client's encoding. */
static void
convert_tail(StringInfo out, int start)
{
	char	   *text = out->data + start;
	char	   *converted = pg_server_to_client(text, out->len - start);

	if (converted != text)
	{
		out->len = start;
		appendBinaryStringInfoNT(out, converted, strlen(converted));
		pfree(converted);
	}
}

/* as jsonb_out, and jsonb_send: the version in front of the text */
void
encode_jsonb(StringInfo out, Datum value, TypeEncoder *encoder)
{
	struct varlena *jsonb = unpacked_varlena(value);
	int			start = out->len;
	int			body;
	uint32		word;
	char	   *p;

	if (VARSIZE_ANY_EXHDR(jsonb) > MAX_DIRECT_SIZE)
	{
		encode_by_function(out, PointerGetDatum(jsonb), encoder);
		return;
	}

	p = value_begin(out, encoder->binary ? LOGICALREP_COLUMN_BINARY :
					LOGICALREP_COLUMN_TEXT, 1);
	out->len += VALUE_HEADER_SIZE;
	if (encoder->binary)
	{
		*p = JSONB_VERSION;
		out->len++;
	}

	body = out->len;
	if (!write_container(out, VARDATA_ANY(jsonb), 0))
	{
		out->len = start;
		encode_by_function(out, PointerGetDatum(jsonb), encoder);
		return;
	}
	if (encoder->convert)
		convert_tail(out, body);

	word = pg_hton32((uint32) (out->len - start - VALUE_HEADER_SIZE));
	memcpy(out->data + start + 1, &word, sizeof(word));
}
