#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the C sources and headers of the project, one a line. The project that the example repairs
# is not among them: it is meant to be faulty and has a style of its own.
set -eu
cd "$(dirname "$0")/.."
find include src tests bench examples -name '*.[ch]' \
    -not -path '*/node_modules/*' -not -path 'examples/repair/project/*' | sort
