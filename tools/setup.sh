#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes sure that the Debian packages of the named groups are installed. This is the only place
# that lists packages.
#
#   tools/setup.sh GROUP...     groups: build run test long lint acceptance browser database
#
# Installs what is missing as root or with a passwordless sudo; otherwise prints the exact line to
# type and fails. When nothing is missing it needs neither privileges nor a network.
set -eu

# Whatever node and npm are there will do.
javascript_tools() {
    if ! command -v node >/dev/null 2>&1; then echo nodejs; fi
    if ! command -v npm >/dev/null 2>&1; then echo npm; fi
}

# A browser for the tests of the dashboard; whatever of that family is there will do.
browser() {
    for name in chromium chromium-browser google-chrome; do
        if command -v "$name" >/dev/null 2>&1; then return; fi
    done
    echo chromium
}

# A server of PostgreSQL 15 or newer for tests, of which only the programs are used.
database() {
    for program in /usr/lib/postgresql/*/bin/initdb; do
        if [ -x "$program" ]; then return; fi
    done
    echo postgresql
}

packages_of() {
    case "$1" in
    build)
        echo "gcc g++ make meson ninja-build pkg-config python3 libc6-dev libjson-c-dev" \
            "libsqlite3-dev libssl-dev libzstd-dev libseccomp-dev libcurl4 libcurl4-openssl-dev" \
            "libpq5 libpq-dev" \
            "libyaml-dev zlib1g-dev libpcre2-dev" \
            "libmd4c-dev uthash-dev libcmocka-dev" \
            "bubblewrap"
        javascript_tools # for the dashboard
        ;;
    run) echo "gcc make libc6-dev" ;; # what the project that is repaired needs
    test)
        echo "clang lld clang-format libclang-rt-dev shellcheck strace sqlite3 git util-linux" \
            "bsdutils procps man-db curl libgmime-3.0-0 openssl"
        ;;
    long) echo "clang libclang-rt-dev qemu-system-x86 busybox-static cpio e2fsprogs gh pgbouncer" \
        "patroni python3-etcd etcd-server" ;;
    lint) echo "clang-format clang-tidy cppcheck shellcheck" ;;
    acceptance)
        # Any node with npm will do here; where it is too old, npm brings a newer one (tests/node).
        javascript_tools
        ;;
    browser) browser ;;   # without it scenarios of the dashboard are skipped
    database) database ;; # without it tests of PostgreSQL are skipped
    *)
        echo "setup.sh: unknown group '$1'" >&2
        exit 2
        ;;
    esac
}

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | head -c 9)" = installed ]
}

wanted=
for group in "$@"; do
    wanted="$wanted $(packages_of "$group")"
done

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "setup.sh: this is not Debian; please install what corresponds to:$wanted" >&2
    exit 0
fi

missing=
for package in $wanted; do
    case " $missing " in *" $package "*) continue ;; esac
    if ! is_installed "$package"; then
        missing="$missing $package"
    fi
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    run_as_root() { "$@"; }
elif sudo -n true 2>/dev/null; then
    run_as_root() { sudo -n "$@"; }
else
    echo "Some packages are missing, and installing them needs root. Please type:" >&2
    echo "    sudo apt-get install --no-install-recommends$missing" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "installing:$missing" >&2
# Tests start servers of their own: installing PostgreSQL must not start one.
without_cluster() {
    settings=/etc/postgresql-common/createcluster.conf
    case " $missing " in *" postgresql "*) ;; *) "$@"; return ;; esac
    run_as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends postgresql-common || return 1
    run_as_root cp -p "$settings" "$settings.before" || return 1
    echo "create_main_cluster = false" | run_as_root tee -a "$settings" >/dev/null
    result=0
    "$@" || result=$?
    run_as_root mv "$settings.before" "$settings"
    return "$result"
}
install_all() {
    # shellcheck disable=SC2086 # a list of package names
    without_cluster run_as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends $missing
}
# The package lists may be stale or absent: read them again when the first try fails.
if ! install_all >"$log" 2>&1; then
    if ! { run_as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
        install_all; } >"$log" 2>&1; then
        cat "$log" >&2
        echo "setup.sh: could not install:$missing" >&2
        exit 1
    fi
fi
