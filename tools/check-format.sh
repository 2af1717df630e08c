#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that clang-format would leave the C sources as they are.
set -eu
cd "$(dirname "$0")/.."
files=$(tools/sources.sh | xargs clang-format --dry-run -Werror 2>&1 | sed -n 's/:.*error:.*//p' |
    sort -u)
[ -n "$files" ] || exit 0
echo "$files"
echo "clang-format would change these files: run 'make format'"
exit 1
