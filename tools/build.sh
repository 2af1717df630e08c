#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Configures a build folder if it is new, and builds it.
#
#   tools/build.sh FOLDER [MESON OPTION...]     options count only when the folder is new
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift

if [ ! -f "$folder/build.ninja" ]; then
    mkdir -p "$folder"
    if ! meson setup "$folder" "$@" >"$folder/setup.log" 2>&1; then
        cat "$folder/setup.log" >&2
        exit 1
    fi
fi
if [ -t 1 ]; then
    exec ninja -C "$folder"
fi
exec ninja -C "$folder" --quiet
