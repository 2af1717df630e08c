#!/bin/sh
# Run the fuzz targets under libFuzzer with the address and undefined-behaviour sanitizers.
#
#   tests/fuzz/run.sh [SECONDS [TARGET...]]     each target for SECONDS (30), all or the named ones
#
# Builds into build-fuzz (or $RONDO_FUZZ_BUILD) with clang. New inputs are kept there in
# corpus/TARGET, so that a later run goes on; what fails is kept as found/TARGET-*. Exit code 1 when
# a target failed. Replay one input: build-fuzz/tests/fuzz/fuzz_TARGET FILE
set -eu

cd "$(dirname "$0")/../.."
build=${RONDO_FUZZ_BUILD:-build-fuzz}
seconds=${1:-30}
[ $# -eq 0 ] || shift
here=tests/fuzz

if [ ! -f "$build/build.ninja" ]; then
    CC=clang meson setup "$build" -Dfuzz=true -Db_lundef=false >/dev/null
fi
targets=${*:-$(find $here -name "fuzz_*.c" | sed 's,.*/fuzz_,,; s,\.c$,,')}
programs=
for target in $targets; do
    programs="$programs tests/fuzz/fuzz_$target"
done
# shellcheck disable=SC2086 # the names hold no blanks
ninja -C "$build" $programs >"$build/fuzz-build.log" || { cat "$build/fuzz-build.log"; exit 2; }

mkdir -p "$build/found"
failed=
for target in $targets; do
    mkdir -p "$build/corpus/$target"
    log=$build/found/$target.log
    dictionary=
    [ ! -f "$here/seeds/$target.dict" ] || dictionary=-dict=$here/seeds/$target.dict
    # shellcheck disable=SC2086
    if "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=16384 -timeout=10 \
        -rss_limit_mb=1024 -print_final_stats=1 $dictionary \
        -artifact_prefix="$build/found/$target-" \
        "$build/corpus/$target" "$here/seeds/$target" >"$log" 2>&1; then
        runs=$(sed -n 's/stat::number_of_executed_units: *//p' "$log")
        printf 'ok    %-12s %s runs\n' "$target" "$runs"
    else
        printf 'FAIL  %-12s see %s\n' "$target" "$log"
        grep -E 'does not hold|ERROR:|runtime error|Test unit written' "$log" || tail -5 "$log"
        failed="$failed $target"
    fi
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
