#!/bin/sh
# check.sh RONDO: runs the example with that program, and checks that
#
#   1. six tasks become six commits, and US-004 takes two attempts;
#   2. three at a time they do as well;
#   3. so they do when it is killed again and again, and none is committed twice;
#   4. the steps of workflow.yml end with the exit code of `rondo prd run`, and push the commits; run again in a fresh clone, they
#      continue on the branch.
#
# The complete tests of the project are the judge, on the commits.
set -eu

rondo=$(realpath "$1")
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
mkdir "$scratch/home" "$scratch/bin"
HOME=$scratch/home
PATH=$scratch/bin:$PATH
unset XDG_CACHE_HOME XDG_STATE_HOME XDG_CONFIG_HOME XDG_DATA_HOME RONDO_STORE
export HOME PATH
ln -s "$rondo" "$scratch/bin/rondo"
branch=prd/parcel-prices

die() {
    echo "check.sh: $*" >&2
    exit 1
}

# Makes the project $1, and goes there.
begin() {
    cp -R "$here/project" "$scratch/$1"
    cd "$scratch/$1"
    git init -q -b main .
    git config user.name You
    git config user.email you@example.org
    git add .
    git commit -q -m Begin
}

run() {
    rondo prd run PRD.md --quiet --protect 'tests/*' --protect Makefile "$@" -- "$here/worker.py"
}

# What is on the branch passes all tests, and each task is there once.
judge() {
    git worktree add -q --detach "$scratch/$1.judge" "$branch"
    make -s -C "$scratch/$1.judge" test >"$scratch/$1.log" || die "$1: $(cat "$scratch/$1.log")"
    [ "$(grep -c 'cases are right' "$scratch/$1.log")" = 6 ] || die "$1: not all functions are there"
    git log --format=%s main.."$branch" | sort >"$scratch/$1.titles"
    [ "$(wc -l <"$scratch/$1.titles")" = 6 ] || die "$1: commits are missing, or there twice"
    [ -z "$(uniq -d "$scratch/$1.titles")" ] || die "$1: a task was committed twice"
    [ "$(git status --porcelain --untracked-files=no)" = "" ] || die "$1: files were changed"
    rondo prd status prd.json | grep -q "^6 of 6 done, 0 failed" || die "$1: prd.json"
    git worktree remove "$scratch/$1.judge"
    [ "$(git worktree list | wc -l)" = 1 ] || die "$1: working trees are left"
    echo "== $1: 6 commits, all tests pass"
}

check_order() {
    begin order
    run
    judge order
    attempts=$(git log --format='%(trailers:key=Rondo-Attempt,valueonly,separator=%x2C)' main..$branch | tr '\n' ' ')
    [ "$attempts" = "1 1 2 1 1 1 " ] || die "attempts: $attempts"
}

check_jobs() {
    begin jobs
    run --jobs 3
    judge jobs
}

commits() {
    git rev-list --count "main..$branch" 2>/dev/null || echo 0
}

# A kill is of use only while it runs: it waits for the next commit of a task, or its end.
check_kills() {
    begin kills
    kills=0
    setsid "$rondo" prd run PRD.md --quiet --protect 'tests/*' -- "$here/worker.py" >log 2>&1 &
    while :; do
        process=$!
        before=$(commits)
        while kill -0 "$process" 2>/dev/null && [ "$(commits)" -le "$before" ]; do
            sleep 0.05
        done
        kill -9 "$process" 2>/dev/null || break
        wait "$process" || true
        kills=$((kills + 1))
        [ "$kills" -lt 20 ] || die "it makes no progress"
        setsid "$rondo" resume last --quiet >log 2>&1 &
    done
    wait "$process" || grep -q 'is completed; there is nothing to resume' log || die "kills: $(cat log)"
    [ "$kills" -gt 1 ] || die "no kill came in time"
    rm log
    judge kills
}

# The commands of a step of workflow.yml, by its name.
step() {
    sed -n "/- name: $1\$/,/^      - /p" "$here/workflow.yml" | sed -n 's/^          //p' | sed '/^[A-Z_]*: /d'
}

check_workflow() {
    for options in '' '--attempts 1'; do
        begin "workflow$options"
        git init -q --bare -b main "$scratch/origin$options.git"
        git remote add origin "$scratch/origin$options.git"
        git push -q origin main
        step 'Execute the PRD' | sed "s|--agent claude|$options|; s|--json >|--json -- $here/worker.py >|" >../step.sh
        sh -eu ../step.sh >log && status=0 || status=$?
        [ "$status" = "$([ -z "$options" ] && echo 0 || echo 3)" ] || die "exit code $status: $(cat log)"
        step 'Push the commits' >../push.sh
        sh -eu ../push.sh >>log 2>&1 || die "push: $(cat log)"
        [ "$(git rev-parse $branch)" = "$(git ls-remote origin "refs/heads/$branch" | cut -f 1)" ] || die "not pushed"
        echo "== workflow$options: exit code $status, pushed"
    done
    git clone -q "$scratch/origin.git" "$scratch/again"
    cd "$scratch/again"
    sed 's|--attempts 1||' ../step.sh >../again.sh
    sh -eu ../again.sh >log 2>&1 || die "again: $(cat log)"
    [ "$(git rev-parse $branch)" = "$(git rev-parse origin/$branch)" ] || die "done tasks were committed again"
    echo "== workflow again: no task is done twice"
}

check_order
check_jobs
check_kills
if command -v jq >/dev/null; then
    check_workflow
else
    echo "== workflow: skipped, there is no jq"
fi
echo "check.sh: all is well"
