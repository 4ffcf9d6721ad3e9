# scripts/lib.sh: what scripts/demo, scripts/test and scripts/test-matrix share.
# Sourced by bash, never run. Nothing here writes outside $work, except for
# packages, which are installed with apt.
#
# A private copy of the server stands at the middle of it: PostgreSQL finds its
# files relative to its own programs, so $work/server gets copies of the programs
# and links to the rest, and `make install` goes there. No root is needed, the
# machine's own server stays as it is, and removing $work removes all.

set -u
export LC_ALL=C
root_of_tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
supported_majors="19 18 17 16 15 14"
development_major=20

say() { printf '%s\n' "$*"; }
complain() { printf '%s\n' "$*" >&2; }
die() {
	complain "$0: $*"
	exit 1
}

# ---- packages ---------------------------------------------------------------

# Runs a command as root: directly, or with sudo where there is one.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		complain "root is needed for: $*"
		return 1
	fi
}

apt_updated=no
apt_update() {
	[ $apt_updated = yes ] && return
	say "Reading the package lists (apt-get update)"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update </dev/null ||
		complain "apt-get update failed; going on with the lists at hand"
	apt_updated=yes
}

# install_packages NAME...: with apt, no recommended ones.
install_packages() {
	command -v apt-get >/dev/null ||
		die "missing on this machine, and there is no apt to install it: $*"
	apt_update
	say "Installing: $*"
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq install -y --no-install-recommends \
		-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null >"$work/apt.log" 2>&1 || {
		cat "$work/apt.log" >&2
		return 1
	}
}

# install_if_possible NAME: a package that one can do without.
install_if_possible() {
	command -v apt-get >/dev/null || return 0
	[ "$(id -u)" = 0 ] || command -v sudo >/dev/null || return 0
	apt_update
	if apt-cache show "$1" >/dev/null 2>&1; then
		install_packages "$1" || say "Going on without $1"
	fi
}

# Installs the server's package of major $1 but lets it create and start no
# cluster of its own: the scripts use private ones.
install_server_package() {
	local conf=/etc/postgresql-common/createcluster.conf rc
	[ -e $conf ] || install_packages postgresql-common || return 1
	if [ -e $conf ]; then
		cp -p $conf "$work/createcluster.conf"
		printf '\ncreate_main_cluster = false\n' | as_root tee -a $conf >/dev/null
	fi
	install_packages "postgresql-$1"
	rc=$?
	if [ -e "$work/createcluster.conf" ]; then
		as_root tee $conf <"$work/createcluster.conf" >/dev/null
		rm "$work/createcluster.conf"
	fi
	return $rc
}

# mirror main|security: the URI that apt itself uses, whatever the format of its
# sources. A list of mirrors in a file stands for its first.
mirror() {
	local uri
	uri=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
		awk -v codename="$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" -v kind="$1" '
			kind == "main" && ($2 == codename || $2 ~ /^(old)?stable$/) { print $1; exit }
			kind == "security" && $2 ~ /(-security|\/updates)$/ { print $1; exit }')
	case $uri in
	mirror+file:*) uri=$(awk '!/^#/ && NF { print $1; exit }' "${uri#mirror+file:}") ;;
	esac
	say "${uri%/}"
}

perl_has() { perl -M"$1" -e 1 2>/dev/null; }

# Can extensions be built with this pg_config?
has_headers() {
	[ -x "$1" ] && [ -r "$("$1" --pgxs)" ] && [ -r "$("$1" --includedir-server)/postgres.h" ]
}

# Sets PG_CONFIG to a server that can run and be built for: the one asked for,
# else the newest installed, else the distribution's, installed now.
choose_server() {
	local major bin
	if [ -n "${PG_CONFIG:-}" ]; then
		PG_CONFIG=$(command -v "$PG_CONFIG") || die "PG_CONFIG is not a program that runs"
		PG_CONFIG=$(cd "$(dirname "$PG_CONFIG")" && pwd)/${PG_CONFIG##*/}
	else
		for major in $supported_majors $development_major; do
			bin=/usr/lib/postgresql/$major/bin
			[ -x $bin/postgres ] && PG_CONFIG=$bin/pg_config && break
		done
		if [ -z "${PG_CONFIG:-}" ] && command -v pg_config >/dev/null &&
			[ -x "$(pg_config --bindir)/postgres" ]; then
			PG_CONFIG=$(command -v pg_config)
		fi
		if [ -z "${PG_CONFIG:-}" ]; then
			command -v apt-get >/dev/null ||
				die "no PostgreSQL server found; name its pg_config in PG_CONFIG"
			apt_update
			major=$(apt-cache depends postgresql 2>/dev/null |
				sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p' | head -1)
			[ -n "$major" ] || die "apt knows no package postgresql; is the main (Ubuntu: also universe) component enabled?"
			install_server_package "$major" || die "cannot install postgresql-$major"
			PG_CONFIG=/usr/lib/postgresql/$major/bin/pg_config
		fi
		# The headers and PGXS of a Debian server come in a package of their own.
		major=${PG_CONFIG#/usr/lib/postgresql/}
		major=${major%%/*}
		if [ "$PG_CONFIG" = "/usr/lib/postgresql/$major/bin/pg_config" ] &&
			! has_headers "$PG_CONFIG"; then
			install_packages "postgresql-server-dev-$major" || die "cannot install postgresql-server-dev-$major"
		fi
	fi
	has_headers "$PG_CONFIG" ||
		die "$PG_CONFIG has no headers or no PGXS: install the server's development files (Debian: postgresql-server-dev-NN)"
	[ -x "$("$PG_CONFIG" --bindir)/postgres" ] ||
		die "$PG_CONFIG belongs to no server: $("$PG_CONFIG" --bindir) has no postgres"
	server_version=$("$PG_CONFIG" --version | sed 's/[^0-9]*\([^ ]*\).*/\1/')
	server_major=${server_version%%[!0-9]*}
	[ "$server_major" -ge 14 ] || die "PostgreSQL $server_version is too old: 14 is the oldest supported"
	choose_bitcode
}

# Sets with_llvm for make: no where the server has no JIT, or where one of the
# programs that it makes bitcode with is missing here.
choose_bitcode() {
	local makefile clang binpath
	makefile=$(dirname "$(dirname "$("$PG_CONFIG" --pgxs)")")/Makefile.global
	clang=$(sed -nE 's/^CLANG[[:space:]]*=[[:space:]]*//p' "$makefile")
	binpath=$(sed -nE 's/^LLVM_BINPATH[[:space:]]*=[[:space:]]*//p' "$makefile")
	with_llvm=no
	if grep -qE '^with_llvm[[:space:]]*=[[:space:]]*yes' "$makefile" &&
		command -v "${clang:-clang}" >/dev/null && [ -x "$binpath/llvm-lto" ]; then
		with_llvm=yes
	fi
}

# What a build needs besides the server.
need_compiler() {
	local missing=()
	command -v make >/dev/null || missing+=(make)
	command -v "${CC:-gcc}" >/dev/null || missing+=(gcc)
	[ -e /usr/include/stdio.h ] || missing+=(libc6-dev)
	[ ${#missing[@]} = 0 ] || install_packages "${missing[@]}" || die "cannot install ${missing[*]}"
}

# ---- who runs the server ----------------------------------------------------

# PostgreSQL refuses to run as root: then the user postgres, else nobody.
choose_user() {
	run_user=$(id -un)
	if [ "$(id -u)" = 0 ]; then
		run_user=postgres
		getent passwd postgres >/dev/null || run_user=nobody
	fi
}

# as_user COMMAND...: as the unprivileged user, at home in $work.
as_user() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid="$run_user" --regid="$(id -g "$run_user")" --clear-groups \
			env HOME="$work/home" TMPDIR="$work/tmp" USER="$run_user" LOGNAME="$run_user" "$@"
	else
		env TMPDIR="$work/tmp" "$@"
	fi
}

# ---- the work directory, the private server ---------------------------------

# The path is short: it holds unix sockets, whose paths may have 107 bytes.
make_work() {
	work=$(mktemp -d "${TMPDIR:-/tmp}/pgoutput_ext.XXXXXX") || die "cannot make a temporary directory"
	mkdir "$work/home" "$work/tmp"
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	trap cleanup EXIT
}

# give_work: all of it to the unprivileged user.
give_work() {
	[ "$(id -u)" != 0 ] || chown -R "$run_user" "$work"
	as_user test -w "$work" || die "user $run_user cannot use $work: set TMPDIR to a directory open to all"
	cd "$work" || exit 1
}

# Stops every server whose data directory lies in $work, wherever in it, and
# waits for its end.
stop_servers() {
	local pidfile pid i
	while IFS= read -r pidfile; do
		pid=$(head -1 "$pidfile" 2>/dev/null)
		case $pid in '' | *[!0-9]*) continue ;; esac
		# The number may have gone to another process since.
		case $(readlink "/proc/$pid/cwd") in
		"$work"/*) kill -QUIT "$pid" 2>/dev/null ;;
		*) continue ;;
		esac
		for i in $(seq 100); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
	done < <(find "$work" -name postmaster.pid 2>/dev/null)
	return 0
}

cleanup() {
	local rc=$? job
	trap - EXIT INT TERM HUP
	for job in $(jobs -p); do kill -TERM "$job" 2>/dev/null; done
	if [ "${keep_server:-no}" = yes ] && [ $rc = 0 ]; then
		exit 0
	fi
	stop_servers
	if [ -n "${KEEP:-}" ]; then
		say "Left for you to look at (KEEP is set): $work"
	else
		rm -rf "$work"
	fi
	exit $rc
}

# The tree's files to $1, without what git ignores or a build left.
copy_tree() {
	mkdir -p "$1"
	(cd "$root_of_tree" && tar -c --exclude=./.git --exclude='*.o' --exclude='*.bc' \
		--exclude='*.so' --exclude=./results --exclude=./output_iso \
		--exclude=./tmp_check --exclude=./log .) | tar -x -C "$1"
}

# Makes the private copy of PG_CONFIG's server in $work/server and points
# PG_CONFIG, bindir and PATH to it.
copy_server() {
	local to=$work/server from d
	from=$("$PG_CONFIG" --bindir)
	as_user test -r "$("$PG_CONFIG" --pgxs)" || die "user $run_user cannot read the server of $PG_CONFIG"
	mkdir -p "$to$from"
	cp -L "$from"/* "$to$from/" 2>/dev/null
	for d in --pkglibdir --sharedir; do
		d=$("$PG_CONFIG" $d)
		mkdir -p "$to$d"
		cp -rsT "$d" "$to$d" || die "cannot copy $d"
	done
	d=$("$PG_CONFIG" --pgxs)
	d=${d%/src/makefiles/pgxs.mk}
	[ -e "$to$d" ] || { mkdir -p "$to$d" && cp -rsT "$d" "$to$d"; }
	for d in --includedir --includedir-server --pkgincludedir; do
		d=$("$PG_CONFIG" $d)
		[ -e "$to$d" ] || { mkdir -p "$(dirname "$to$d")" && ln -s "$d" "$to$d"; }
	done
	# Programs may find their libpq by a path relative to themselves.
	d=$("$PG_CONFIG" --libdir)
	mkdir -p "$to$d"
	for d in "$d"/libpq.so*; do
		[ ! -e "$d" ] || [ -e "$to$d" ] || ln -s "$d" "$to$d"
	done
	# An installed pgoutput_ext must not stand in for the one under test.
	find "$to" -name 'pgoutput_ext*' ! -type d -exec rm -f {} +
	rm -rf "$to$("$PG_CONFIG" --pkglibdir)/pgoutput_ext"
	PG_CONFIG=$to$from/pg_config
	bindir=$to$from
	[ "$("$PG_CONFIG" --bindir)" = "$bindir" ] || die "this server cannot be moved: $("$PG_CONFIG" --bindir)"
	export PG_CONFIG PATH=$bindir:$PATH
	unset PGHOST PGPORT PGUSER PGDATABASE PGOPTIONS PGSERVICE PGDATA PGCLIENTENCODING PGPASSFILE
}

server_has_setting() {
	as_user "$bindir/postgres" --describe-config | cut -f1 | grep -qx "$1"
}

# new_server NAME [INITDB-OPTION...]: a running server in $work/NAME, reached
# through the unix socket in $work/NAME alone. Sets PGHOST, PGPORT, PGUSER.
new_server() {
	local dir=$work/$1
	shift
	as_user mkdir "$dir" || return 1
	as_user "$bindir/initdb" -D "$dir/data" -U postgres -A trust -N "$@" >"$dir.initdb.log" 2>&1 ||
		{ cat "$dir.initdb.log" >&2 && return 1; }
	as_user tee -a "$dir/data/postgresql.conf" >/dev/null <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$dir'
		port = 5432
		fsync = off
		wal_level = logical
		max_replication_slots = 40
		max_wal_senders = 20
		max_prepared_transactions = 20
		track_commit_timestamp = off
		log_line_prefix = '%m [%p] %q%a '
	CONF
	if server_has_setting output_plugin_libraries; then
		say "output_plugin_libraries = 'pgoutput, test_decoding, pgoutput_ext'" |
			as_user tee -a "$dir/data/postgresql.conf" >/dev/null
	fi
	as_user "$bindir/pg_ctl" -D "$dir/data" -l "$dir/log" -w start >/dev/null 2>&1 || {
		complain "The server does not start:"
		cat "$dir/log" >&2
		return 1
	}
	export PGHOST=$dir PGPORT=5432 PGUSER=postgres
}

stop_server() {
	as_user "$bindir/pg_ctl" -D "$work/$1/data" -m fast -w stop >/dev/null
}
