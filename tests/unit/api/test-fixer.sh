#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test-fixer.sh PROGRAM: runs examples/loop/fixer.c through completion, a denial, a crash and two
# resumes, each in a scratch folder of its own. Prints TAP.
set -u
program=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
number=0
unset RONDO_STORE

# expect NAME CODE PATTERN ARGUMENT...: the program ends with CODE and prints a line like PATTERN.
expect() {
    name=$1 code=$2 pattern=$3
    shift 3
    number=$((number + 1))
    "$program" "$@" >output.txt 2>&1
    got=$?
    if [ "$got" = "$code" ] && grep -q -- "$pattern" output.txt; then
        echo "ok $number - $name"
    else
        sed 's/^/# /' output.txt
        echo "# exit code $got, expected $code and a line with: $pattern"
        echo "not ok $number - $name"
    fi
}

folder() {
    mkdir -p "$scratch/$1"
    cd "$scratch/$1" || exit 1
}

echo 1..9
folder complete
expect 'a run ends completed' 0 '^completed$'
expect 'a completed run is not resumed' 10 'RONDO_ERR_STATE' resume
folder limit
expect 'the fifth iteration is denied' 5 'iteration 5 was denied by limit.iterations' --limit 4
expect 'with a higher limit the run goes on' 0 '^iteration 5 from number 4000$' resume
folder crash
expect 'a crash ends the process' 9 '^iteration 3 from number 2000$' --die-in 3
expect 'the iteration in flight runs again from its checkpoint' 0 '^iteration 3 from number 2000$' resume
folder twice
expect 'a crash in the first iteration' 9 'iteration 1' --die-in 1
expect 'another one later' 9 '^iteration 4 from number 3000$' resume --die-in 4
expect 'and the run still ends completed' 0 'run.finished' resume
