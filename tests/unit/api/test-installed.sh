#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test-installed.sh BUILD SOURCE: installs into a scratch folder, builds the example against what is
# there with nothing but pkg-config, shared and static, and runs it. Prints TAP.
set -u
build=$(realpath "$1")
source=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cc=${CC:-cc}
unset RONDO_STORE

# check NUMBER NAME COMMAND...
check() {
    number=$1 name=$2
    shift 2
    if "$@" >"$scratch/log" 2>&1; then
        echo "ok $number - $name"
    else
        sed 's/^/# /' "$scratch/log"
        echo "not ok $number - $name"
    fi
}

in_scratch() {
    mkdir -p "$scratch/$1"
    cd "$scratch/$1" && shift && "$@"
}

# shellcheck disable=SC2046 # flags are words
compile() {
    "$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror "$source/examples/loop/fixer.c" \
        $(pkg-config --cflags --libs rondo) -o "$scratch/fixer"
}

# shellcheck disable=SC2046
compile_static() {
    archive=$(find "$scratch/root" -name librondo.a)
    "$cc" -std=c17 "$source/examples/loop/fixer.c" $(pkg-config --cflags rondo) "$archive" \
        $(pkg-config --static --libs rondo | sed 's/-lrondo//') -o "$scratch/fixer-static"
}

echo 1..5
check 1 'everything is installed' \
    meson install -C "$build" --no-rebuild --destdir "$scratch/root"
pc=$(find "$scratch/root" -name rondo.pc)
library=$(find "$scratch/root" -name librondo.so)
export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$scratch/root"
check 2 'the example builds with pkg-config' compile
LD_LIBRARY_PATH="${library%/*}"
export LD_LIBRARY_PATH
check 3 'and runs' in_scratch shared "$scratch/fixer"
unset LD_LIBRARY_PATH
check 4 'the example builds with the static library' compile_static
check 5 'and runs' in_scratch static "$scratch/fixer-static"
