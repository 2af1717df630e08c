#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The example job: a loop repairs a broken C program until its tests pass, its build succeeds and
# its linter is clean.
#
#   tools/run-example.sh BUILD FOLDER
set -eu
cd "$(dirname "$0")/.."
root=$PWD
rondo=$root/$1/src/cli/rondo
folder=$2

"$root/examples/repair/prepare.sh" --force "$folder"
cd "$folder"
shown=${PWD#"$root"/}

status=0
"$rondo" loop --agent repair \
    --until all_tests_pass --until build_succeeds --until linting_clean \
    --max-iterations 60 -- ../repair-worker || status=$?

cat <<END

That was the example job in $shown (exit code $status). What to type next:

    cd $shown
    PATH=$(dirname "$rondo"):\$PATH
    diff -ru $root/examples/repair/project/src src   # what was repaired
    rondo show last           # the run, its iterations and its exit conditions
    rondo logs last           # every event of its journal; -f follows a running one
    rondo checkpoints last    # the states that a resume would continue from

To see it survive a kill -9: type \`make run\` again, and while it works, in another terminal

    pkill -KILL -o -x rondo
    cd $shown && rondo resume last
END
exit "$status"
