#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs shellcheck over the shell scripts, found by their first line.
set -eu
cd "$(dirname "$0")/.."
find tools .ci tests examples bench -name node_modules -prune -o -type f -size -200k \
    -exec awk 'FNR == 1 && /^#!.*[ \/](ba|da)?sh( |$)/ { print FILENAME } { nextfile }' {} + |
    sort | xargs -r shellcheck --severity=warning
