#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the API against clients and a validating proxy of others, pinned in package-lock.json.

    tests/api/run.py [--build FOLDER] [PART]...

EventSource clients follow streams through kills of the server; standardwebhooks verifies what sinks
receive; Prism and Ajv judge requests and answers of every operation by the OpenAPI description, with
closed schemas; Node's fetch, Python's http.client and curl call as anybody would. Parts are streams,
webhooks, description and clients, side by side; `patience` takes minutes and is to be named. One
line of TAP for each case; the last line is `N passed, N failed`. Without npm everything is skipped,
with a message.
"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
from testlib import npm

PARTS = ("streams", "webhooks", "description", "clients", "patience")


def main():
    parser = npm.options(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    arguments = parser.parse_args()
    if not set(PARTS).issuperset(arguments.parts):
        parser.error(f"parts are {', '.join(PARTS)}")
    program = f"{arguments.build}/src/cli/rondo"
    return npm.check(FOLDER, "clients of the API", program, *arguments.parts)


if __name__ == "__main__":
    sys.exit(main())
