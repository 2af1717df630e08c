#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The crash tests without bounds: thousands of kills, every system call, power cuts.
#
#   tests/crash/long.sh BUILD [COUNT]
#
# COUNT is the number of kills at random instants (3000); RONDO_POWERCUT_COUNT that of power cuts
# (10). Ends with 1 as soon as one program fails, after all have run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
programs=$build/tests/crash
export RONDO_CRASH_LONG=1
export RONDO_CRASH_COUNT="${2:-3000}"
export RONDO_VICTIM="$programs/crash_victim"
export RONDO_BINARY="$build/src/cli/rondo"
export RONDO_MOCK_MODEL="$build/bench/mock_model"
export RONDO_SDK_PYTHON="$here/../../sdk/python"
if "$here/powercut/setup.sh" "$programs/powercut" "$RONDO_VICTIM"; then
    export RONDO_POWERCUT_FOLDER="$programs/powercut"
fi
status=0
for name in kill agent_kill handoff_kill adapter_kill daemon_kill daemon_turns daemon_handoffs prd_kill policy_flip cli race frozen full_disk syscall_error syscall_kill powercut; do
    "$programs/test_crash_$name" || status=1
done
# With the store in PostgreSQL.
for name in kill race syscall_kill; do
    code=0
    RONDO_CRASH_SERVER=1 RONDO_CRASH_COUNT="$((RONDO_CRASH_COUNT / 6))" "$programs/test_crash_$name" || code=$?
    if [ "$code" != 0 ] && [ "$code" != 77 ]; then status=1; fi
done
exit $status
