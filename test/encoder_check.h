/*-------------------------------------------------------------------------
 *
 * encoder_check.h
 *	  Random values to check the direct encoders with.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_ENCODER_CHECK_H
#define PGOUTPUT_EXT_ENCODER_CHECK_H

#include "postgres.h"

/*
 * A sequence of random numbers; any seed is as good as another.  With "common",
 * values are such as applications store rather than any at all.
 */
typedef struct RandomState
{
	uint64		seed;
	bool		common;
} RandomState;

extern uint64 random_bits(RandomState *state);

/*
 * A random value of the type with the given OID, in the current memory
 * context: common ones, the whole range and edges, and varlenas in each form
 * that an encoder meets.  Text can be converted to the client's encoding.
 * An error if the type is none of those that have a direct encoder.
 */
extern Datum random_value(Oid type, RandomState *state);

#endif							/* PGOUTPUT_EXT_ENCODER_CHECK_H */
