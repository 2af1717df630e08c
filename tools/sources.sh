#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the C sources and headers of the project, one a line. The project that the example repairs
# and its variants are not among them: they are meant to be faulty and have a style of their own.
set -eu
cd "$(dirname "$0")/.."
find include src tests bench examples -name '*.[ch]' \
    -not -path '*/node_modules/*' \
    -not -path 'examples/repair/project/*' -not -path 'examples/repair/variants/*' | sort
