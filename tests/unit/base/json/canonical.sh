#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Canonical JSON against ECMAScript: canonical.sh PROGRAM COUNT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v node >/dev/null; then
    echo "1..0 # SKIP there is no node"
    exit 0
fi
node "$here/canonical_reference.mjs" "$2" "$2" | "$1"
