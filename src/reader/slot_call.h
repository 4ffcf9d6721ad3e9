/*-------------------------------------------------------------------------
 *
 * slot_call.h
 *	  What the SQL functions that read a slot have in common.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_SLOT_CALL_H
#define PGOUTPUT_EXT_SLOT_CALL_H

#include "fmgr.h"
#include "utils/array.h"
#include "utils/tuplestore.h"

/*
 * The set that the function will return, in the query's context, and the
 * description of its rows.
 */
extern Tuplestorestate *begin_result(FunctionCallInfo fcinfo, TupleDesc *desc);

/*
 * Is the slot one of pgoutput_ext?  Another plugin's output than pgoutput's
 * would not be understood; ERROR 55000.  False where there is no such slot.
 */
extern bool check_slot_plugin(const char *slot_name);

/*
 * The options with the defaults of those left out in front, as a text array.
 * Inside SPI; the result is in its context.  *publications is set to the
 * default publication_names, if that was needed: all there are now, of which
 * some may not have existed at the slot's position, and pgoutput_ext can be told
 * not to mind.  A list that is none is left for others to complain about.
 */
extern Datum complete_slot_options(ArrayType *given, bool is_ext,
								   const char **publications);

/* Error context callback; "arg" is the address of complete_slot_options()'s. */
extern void publications_context(void *arg);

/*
 * Calls a function that decodes.  Output plugins convert text to the client's
 * encoding, which a function's result is not in: it is converted on its way to
 * the client.  So for this time the client has the server's encoding, and the
 * old one again before an error is sent.
 */
extern void in_database_encoding(void (*decode) (void *arg), void *arg);

#endif							/* PGOUTPUT_EXT_SLOT_CALL_H */
