# pgoutput_ext: built with PGXS, for the server that PG_CONFIG belongs to.

MODULE_big = pgoutput_ext
OBJS = pgoutput_ext.o $(patsubst $(srcdir)/%.c,%.o,$(wildcard $(srcdir)/src/*.c))

EXTENSION = pgoutput_ext
DATA = pgoutput_ext--1.0.sql
PGFILEDESC = "pgoutput_ext - logical decoding output plugin"

srcdir ?= $(CURDIR)
PG_CFLAGS = -I$(srcdir)/src

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
