#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs shellcheck over the shell scripts, found by their first line.
set -eu
cd "$(dirname "$0")/.."
find tools .ci tests examples bench -type f -not -path '*/node_modules/*' -size -200k \
    -exec sh -c 'head -n1 "$1" | grep -qE "^#!.*[ /](ba|da)?sh( |$)" && echo "$1"' _ {} \; |
    sort | xargs -r shellcheck --severity=warning
