#!/bin/sh
# prepare.sh [--force] DIR [WORKER]: copies the broken project to DIR and builds the worker as
# WORKER (DIR's neighbour "repair-worker" unless told). Does nothing to a DIR that holds the project
# already, so that a job can go on in it; --force starts afresh.
set -eu

usage() {
    echo "usage: $0 [--force] DIR [WORKER]" >&2
    exit 2
}

force=no
if [ "${1-}" = --force ]; then
    force=yes
    shift
fi
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ -z "$1" ]; then
    usage
fi

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target=$1
worker=${2:-$(dirname -- "$target")/repair-worker}

# Only a folder that looks like ours is ever removed.
if [ "$force" = yes ] && [ -e "$target" ]; then
    if [ ! -f "$target/src/calc.h" ] && [ -n "$(ls -A "$target")" ]; then
        echo "$0: $target is not a copy of the project, so it stays as it is" >&2
        exit 1
    fi
    rm -rf -- "$target"
fi

if [ ! -f "$target/src/calc.h" ]; then
    mkdir -p -- "$target"
    cp -R "$here/project/." "$target/"
    rm -rf -- "$target/build"
fi

# The name appears only when the build is complete.
mkdir -p -- "$(dirname -- "$worker")"
${CC:-cc} -std=c17 -D_GNU_SOURCE -O2 -o "$worker.new" "$here"/worker/*.c
mv -- "$worker.new" "$worker"
