#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds with optimisation in a folder of its own and runs the benchmarks, one after the other.
#
#   tools/bench.sh BUILD
set -eu
cd "$(dirname "$0")/.."
folder=$1-bench
tools/build.sh "$folder" -Dbuildtype=release
exec bench/run "$folder"
