#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles each public header alone, as C17 and as C++17, with every warning an error.
set -eu
cd "$(dirname "$0")/.."
status=0
for header in include/rondo/*.h; do
    name=${header#include/}
    for language in c c++; do
        standard=c17
        [ "$language" = c ] || standard=c++17
        compiler=${CC:-gcc}
        [ "$language" = c ] || compiler=${CXX:-g++}
        if ! printf '#include "%s"\n#include "%s"\nstruct not_empty;\n' "$name" "$name" |
            "$compiler" -x "$language" "-std=$standard" -Wall -Wextra -Wpedantic -Wundef -Werror \
                -Iinclude -fsyntax-only -; then
            echo "$header does not compile alone as $standard"
            status=1
        fi
    done
done
exit $status
