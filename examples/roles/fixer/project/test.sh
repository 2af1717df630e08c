#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What slug.sh has to do.
failed=0
check() {
    got=$(sh slug.sh "$1")
    if [ "$got" != "$2" ]; then
        echo "slug of '$1' is '$got', not '$2'"
        failed=1
    fi
}
check 'one two' one-two
check 'One Two' one-two
check 'one   two' one-two
exit $failed
