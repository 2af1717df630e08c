#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests of the suite `long`: hours of simulated failures, kills at every system call, power cuts.
# Before them every page of the dashboard in each theme and on a phone, and readers of streams that
# are cut off. About 90 minutes on two cores; CONTRIBUTING.md has the parts.
#
#   tools/test-long.sh BUILD
set -eu
cd "$(dirname "$0")/.."
tests/web/run.py --build "$1" places
tests/api/run.py --build "$1" patience
exec meson test -C "$1" --no-rebuild --suite long --num-processes 2 --timeout-multiplier 0 \
    --print-errorlogs
