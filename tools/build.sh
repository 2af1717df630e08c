#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Configures a build folder if it is new, and builds it, or some files of it.
#
#   tools/build.sh FOLDER [-DOPTION=VALUE...] [FILE...]     options count only when the folder is new
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift

if [ ! -f "$folder/build.ninja" ]; then
    mkdir -p "$folder"
    options=
    for word in "$@"; do
        case "$word" in -D*) options="$options $word" ;; esac
    done
    # shellcheck disable=SC2086 # a list of words without spaces
    if ! meson setup "$folder" $options >"$folder/setup.log" 2>&1; then
        cat "$folder/setup.log" >&2
        exit 1
    fi
fi
files=
for word in "$@"; do
    case "$word" in -D*) ;; *) files="$files $word" ;; esac
done
quiet=--quiet
if [ -t 1 ]; then quiet=; fi
# shellcheck disable=SC2086 # as above
exec ninja -C "$folder" $quiet $files
