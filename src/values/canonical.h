/*-------------------------------------------------------------------------
 *
 * canonical.h
 *	  The settings of value_format = canonical.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_CANONICAL_H
#define PGOUTPUT_EXT_CANONICAL_H

extern void set_canonical_format(void);

#endif							/* PGOUTPUT_EXT_CANONICAL_H */
