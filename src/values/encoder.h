/*-------------------------------------------------------------------------
 *
 * encoder.h
 *	  Which encoder writes the values of which type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_ENCODER_H
#define PGOUTPUT_EXT_ENCODER_H

#include "values/type_encoder.h"

/*
 * The direct encoder that writes the same bytes as the text output (binary
 * send) function with the given OID, for values of the given representation;
 * NULL if there is none, and the function must be called.  With "convert" the
 * stream needs pg_server_to_client() for anything that may not be ASCII.
 */
extern EncodeFunction direct_text_encoder(Oid output_function, int16 typlen,
										  bool typbyval, bool convert);
extern EncodeFunction direct_binary_encoder(Oid send_function, int16 typlen,
											bool typbyval, bool convert);

/*
 * Compares what the encoders know of private forms with the server's own
 * functions; an error says which one is not as they know it.  For when the
 * library is loaded.
 */
extern void encoders_check(void);

#endif							/* PGOUTPUT_EXT_ENCODER_H */
