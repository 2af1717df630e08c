#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the stand-in forge itself (standin.py).

    tests/forge/run.py [--build FOLDER] [PART]...

`make test` has `self`, what it answers, its git and its faults, `client`, Rondo's own client of forges against it
(tests/forge/driver.c, of the build folder), `starts`, which counts what `rondo work` does, and `race`, real `rondo
work` processes that race for issues while they are killed and frozen; without a name these are run. `long-race` is
more of that, and `comment-race` is of those who may not push. `conformance` sends each route of GitHub's shape
through Prism with GitHub's OpenAPI document, `work` runs `rondo work` with that in between, and `recorded`
compares answers with recorded ones; these need packages from npm. `effects` loses the answer of each effect of
`rondo work`, and kills it before and after each. `servers` has `rondo serve --work` with several repositories,
webhooks and the API at once. `gh` has GitHub's own command line talk to the stand-in. What is not installed is
skipped, with the reason. One line of TAP for each case.
"""

import argparse
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))

from testlib import tap

# Modules with the tests of each part.
PARTS = {
    "self": "test_*.py", "client": "rondo_client.py", "race": "race.py", "long-race": "race_long.py",
    "comment-race": "race_comments.py", "conformance": "conformance.py", "recorded": "recorded.py", "work": "checked_work.py", "gh": "gh.py",
    "effects": "effects.py", "servers": "servers.py", "starts": "starts.py",
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    arguments = parser.parse_args()
    if not PARTS.keys() >= set(arguments.parts):
        parser.error(f"parts are {', '.join(PARTS)}")
    os.environ["RONDO_BUILD"] = str(pathlib.Path(arguments.build).resolve())
    parts = arguments.parts or ["self", "client", "starts", "race"]
    return 0 if tap.test(FOLDER, [PARTS[part] for part in parts]) else 1


if __name__ == "__main__":
    sys.exit(main())
