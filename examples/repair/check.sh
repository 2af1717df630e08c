#!/bin/sh
# check.sh [ITERATIONS]: runs the worker in a plain loop, without a runtime, and checks that
#
#   1. the shipped project is repaired within ITERATIONS (80) iterations, but not within 5;
#   2. so is a project with other defects, of which the worker knows as little;
#   3. a worker that is killed in mid-iteration goes on where it was, and leaves nothing behind;
#   4. a project that needs no repair is left alone.
#
# Only the project's own Makefile is the judge, in a build from nothing.
set -eu

limit=${1:-80}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
TMPDIR=$scratch/tmp
export TMPDIR
mkdir "$TMPDIR"

die() {
    echo "check.sh: $*" >&2
    exit 1
}

is_repaired() {
    (cd "$1" && make -s clean && make -s all && make -s test && make -s lint) >"$1.log" 2>&1
}

# Turns this shell into iteration $2 of the job $1: to be called in a subshell, so that its process
# is the worker's. The files of the protocol are next to the project.
iterate() {
    cd "$scratch/$1"
    RONDO_RUN_ID=$1 RONDO_ITERATION=$2 RONDO_STATE_FILE=$scratch/$1.state \
        RONDO_RESULT_FILE=$scratch/$1.result
    export RONDO_RUN_ID RONDO_ITERATION RONDO_STATE_FILE RONDO_RESULT_FILE
    exec "$scratch/repair-worker"
}

is_finished() {
    grep -q '"status":"completed"' "$scratch/$1.result" 2>/dev/null
}

# Iterations $2... of the job $1, until it is finished.
repair() {
    job=$1
    iteration=$2
    began=$(date +%s)
    while [ "$iteration" -le "$limit" ]; do
        (iterate "$job" "$iteration")
        if is_finished "$job"; then
            is_repaired "$scratch/$job" || die "$job: finish was claimed, but make disagrees"
            echo "== $job: repaired in $iteration iterations, $(($(date +%s) - began)) s"
            return 0
        fi
        grep -q '"finish"' "$scratch/$job.result" && die "$job: the worker gave up"
        if [ "$iteration" -eq 5 ] && is_repaired "$scratch/$job"; then
            die "$job: repaired within 5 iterations, which is no job for a loop"
        fi
        iteration=$((iteration + 1))
    done
    die "$job: not repaired in $limit iterations"
}

tried_so_far() {
    sed -n 's/^tried //p' "$scratch/$1.state" 2>/dev/null || true
}

# Kills the worker at different moments of its first iterations, and then lets it run.
kill_and_repair() {
    kills=0
    before=0
    for delay in 0.1 0.3 0.5 0.7 0.9 1.1 1.3; do
        (iterate "$1" 1) &
        worker=$!
        sleep "$delay"
        kill -9 "$worker" 2>/dev/null || true
        status=0
        wait "$worker" || status=$?
        [ "$status" -ne 137 ] || kills=$((kills + 1))
        after=$(tried_so_far "$1")
        [ "${after:-0}" -ge "$before" ] || die "$1: what was tried is forgotten after a kill"
        before=${after:-0}
    done
    [ "$kills" -gt 0 ] || die "$1: no kill came in time"
    [ "$before" -gt 0 ] || die "$1: nothing was saved before the kills"
    echo "== $1: killed $kills times, $before mutations remembered"
    repair "$1" 2
}

"$here/prepare.sh" "$scratch/shipped" "$scratch/repair-worker"
for job in other killed fixed; do
    cp -R "$scratch/shipped" "$scratch/$job"
done
"$here/variants/seed.sh" "$scratch/other" other
"$here/variants/seed.sh" "$scratch/fixed" fixed
is_repaired "$scratch/fixed" || die "the project without its defects is not clean"

repair shipped 1
repair other 1
kill_and_repair killed
cp -R "$scratch/fixed/src" "$scratch/fixed.src"
repair fixed 1
diff -r "$scratch/fixed.src" "$scratch/fixed/src" || die "the worker changed what was sound"
[ -z "$(ls -A "$TMPDIR")" ] || die "left behind: $(ls -A "$TMPDIR")"
echo "check.sh: all is well"
