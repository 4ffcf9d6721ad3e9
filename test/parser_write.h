/*-------------------------------------------------------------------------
 *
 * parser_write.h
 *	  Writes a parsed message again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_PARSER_WRITE_H
#define PGOUTPUT_EXT_PARSER_WRITE_H

#include "reader/parser.h"

/*
 * Writes the message again, from the fields alone, into "out", which has room
 * for "size" bytes.  Returns the number of bytes it takes, which is larger
 * than "size" if there was no room for all of them.
 */
extern size_t wire_write(const WireMessage *message, unsigned char *out,
						 size_t size);

#endif							/* PGOUTPUT_EXT_PARSER_WRITE_H */
