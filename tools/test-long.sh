#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests of the suite `long`: hours of simulated failures, kills at every system call, power cuts.
# Before them every page of the dashboard in each theme and on a phone, readers of streams that
# are cut off, the real coding agents with a stand-in for their models, the feature files with stores in
# PostgreSQL, machines that share a database while everything fails, the stand-in forge with GitHub's
# OpenAPI document and command line, machines that race for issues, and the work queue with sanitizers.
# About 110 minutes on two cores, those with PostgreSQL left out; CONTRIBUTING.md has the parts.
#
#   tools/test-long.sh BUILD
set -eu
cd "$(dirname "$0")/.."
tests/web/run.py --build "$1" places
tests/api/run.py --build "$1" patience
tests/coding/run.py --build "$1"
if [ -n "${CI:-}" ] || tools/setup.sh acceptance database; then
    tools/test.py --build "$1" --only postgres
    tests/postgres/run.py --build "$1" --kills 100 --failovers 10 --cuts 10 --runs 2000
else
    echo "skipped: what has its stores in PostgreSQL: packages are missing"
fi
tests/forge/run.py --build "$1" conformance recorded work gh effects long-race comment-race
tools/test.py --build "$1" --only queue
exec meson test -C "$1" --no-rebuild --suite long --num-processes 2 --timeout-multiplier 0 \
    --print-errorlogs
