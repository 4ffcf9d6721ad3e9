# pgoutput_ext: built with PGXS, for the server that PG_CONFIG belongs to.
#
#   make && make install && make installcheck        PG_CONFIG=/path/to/pg_config
#   make -f /path/to/source/Makefile                 builds outside the source tree
#   make with_llvm=no                                leaves the bitcode for JIT out
#   make indent, make indent-check                   the layout, with pg_bsd_indent; make typedefs
#                                                    first when there is a new type
#   make dist                                        the archive of a release

# The directory of this file: sources and tests are found by wildcard in it.
here := $(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST))))
ifeq ($(realpath $(here)),$(realpath .))
here := .
endif

# Outside of the source tree: PGXS sets this by itself only where the server was
# built outside of its own source tree, too.
ifneq ($(here),.)
VPATH := $(here)
endif

MODULE_big = pgoutput_ext
OBJS = pgoutput_ext.o $(patsubst $(here)/%.c,%.o,$(sort $(wildcard $(here)/src/*.c $(here)/src/*/*.c)))

EXTENSION = pgoutput_ext
DATA = $(notdir $(wildcard $(here)/pgoutput_ext--*.sql))
PGFILEDESC = "pgoutput_ext - logical decoding output plugin"

REGRESS = $(patsubst $(here)/sql/%.sql,%,$(sort $(wildcard $(here)/sql/*.sql)))
ISOLATION = $(patsubst $(here)/specs/%.spec,%,$(sort $(wildcard $(here)/specs/*.spec)))
# The archive of a release has none of them.
ifneq ($(wildcard $(here)/t/*.pl),)
TAP_TESTS = 1
endif

version := $(shell sed -n 's/^. Version of the library: //p' $(here)/pgoutput_ext.control)
PG_CPPFLAGS = -I$(here)/src -DPGOUTPUT_EXT_VERSION='"$(version)"'
# What the server does not call stays inside: other libraries of the process may
# have functions of the same names. From 16 on PGXS does this by itself.
override PG_CFLAGS += -fvisibility=hidden

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq ($(PGXS),)
$(error $(PG_CONFIG) does not run: name the pg_config of your server in PG_CONFIG)
endif
include $(PGXS)

# Every object is built again when a header changes: they are few, and PGXS
# tracks no dependencies unless the server was configured to.
headers := $(wildcard $(here)/src/*.h $(here)/src/*/*.h)
$(OBJS) $(OBJS:.o=.bc): $(headers)

# A build outside the source tree has no src/ yet.
ifneq ($(here),.)
$(shell mkdir -p $(sort $(dir $(OBJS))))
endif

# What needs the module of test/ is left out where that is not installed.
ifeq ($(wildcard $(datadir)/extension/pgoutput_ext_test.control),)
REGRESS := $(filter-out encoders,$(REGRESS))
installcheck: no-test-module
endif

# Drop-in: the library once more under the name of pgoutput, in a directory of its
# own, where dynamic_library_path finds it for the roles that name the directory.
dropin = $(DESTDIR)$(pkglibdir)/pgoutput_ext

install: install-dropin
uninstall: uninstall-dropin

.PHONY: install-dropin uninstall-dropin
install-dropin: installdirs
	$(MKDIR_P) '$(dropin)'
	rm -f '$(dropin)/pgoutput$(DLSUFFIX)'
	$(LN_S) '../pgoutput_ext$(DLSUFFIX)' '$(dropin)/pgoutput$(DLSUFFIX)'

uninstall-dropin:
	rm -f '$(dropin)/pgoutput$(DLSUFFIX)'
	[ ! -d '$(dropin)' ] || rmdir '$(dropin)'

# The tests in SQL use the running server: say what it lacks before they fail.
installcheck: check-server

.PHONY: no-test-module check-server indent indent-check typedefs
no-test-module:
	@echo "SKIPPED: sql/encoders, t/030 and t/040: the module for tests is not installed (make -C test install)"

check-server:
ifneq ($(strip $(REGRESS) $(ISOLATION)),)
	@PSQL='$(bindir)/psql' sh $(here)/scripts/check-server
endif

# The archive of a release, of what is committed: .gitattributes says what is in it.
.PHONY: dist
dist:
	git -C $(here) archive --format=zip --prefix=pgoutput_ext-$(version)/ -o '$(CURDIR)/pgoutput_ext-$(version).zip' HEAD

c_sources := $(sort $(wildcard $(here)/*.c $(here)/src/*.[ch] $(here)/src/*/*.[ch] $(here)/test/*.[ch]))
PG_BSD_INDENT = pg_bsd_indent
indent_flags = -bad -bap -bbb -bc -bl -cli1 -cp33 -cdb -nce -d0 -di12 -nfc1 \
	-i4 -l79 -lp -lpl -nip -npro -sac -tpg -ts4 -U$(here)/typedefs.list

typedefs:
	PG_CONFIG='$(PG_CONFIG)' $(here)/scripts/typedefs > $(here)/typedefs.list.new
	mv $(here)/typedefs.list.new $(here)/typedefs.list

# Comments that start with dashes stay as they are, and a function's result that
# is a pointer has one space before the star.
indented = sed 's:/\*  *---:/*---KEEP:' $$f | $(PG_BSD_INDENT) -st $(indent_flags) | \
	sed -e 's:/\*---KEEP:/* ---:' -e 's:^\([A-Za-z_][^ 	]*\)[ 	][ 	]*\*$$:\1 *:'

indent: typedefs
	@for f in $(c_sources); do \
		$(indented) > $$f.indented || exit 1; \
		cmp -s $$f $$f.indented || cat $$f.indented > $$f; \
		rm -f $$f.indented; \
	done

indent-check:
	@bad=0; for f in $(c_sources); do \
		$(indented) | diff -u --label $$f --label "$$f (make indent)" $$f - || bad=1; \
	done; exit $$bad
