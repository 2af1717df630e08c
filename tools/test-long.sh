#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests of the suite `long`: hours of simulated failures, kills at every system call, power cuts.
#
#   tools/test-long.sh BUILD
set -eu
cd "$(dirname "$0")/.."
exec meson test -C "$1" --no-rebuild --suite long --num-processes 1 --timeout-multiplier 0 \
    --print-errorlogs
