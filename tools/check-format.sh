#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that clang-format would leave the C sources as they are.
set -eu
cd "$(dirname "$0")/.."
tools/sources.sh | xargs clang-format --dry-run -Werror 2>&1 | grep 'error:' && exit 1
exit 0
