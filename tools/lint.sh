#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every static check, those of `make test` and the slow ones. All run; the first failure is kept.
#
#   tools/lint.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=$1
status=0

check() {
    name=$1
    shift
    if output=$("$@" 2>&1); then
        echo "ok      $name"
    else
        echo "FAILED  $name"
        printf '%s\n' "$output" | grep -v 'warnings generated\|Suppressed\|Use -header-filter' || true
        status=1
    fi
}

run_clang_tidy() {
    sed -n 's/.*"file": "\(.*\.c\)".*/\1/p' "$build/compile_commands.json" | sort -u |
        sed "s|^\.\./|$PWD/|" | grep "/src/" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet
}

run_cppcheck() {
    cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
        --inline-suppr --suppressions-list=tools/cppcheck-suppressions.txt -Iinclude -Isrc \
        --force -j "$(nproc)" src
}

check layers tools/check-layers.py
check pages tools/check-docs.py
check sizes tools/check-sizes.py
check format tools/check-format.sh
check headers tools/check-headers.sh
check portable tools/check-portable.py
check scripts tools/check-scripts.sh
check cppcheck run_cppcheck
check clang-tidy run_clang_tidy
exit $status
