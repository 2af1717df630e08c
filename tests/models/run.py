#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the model clients against official SDKs and others' servers, pinned in package-lock.json.

    tests/models/run.py [--build FOLDER]

Installs the packages, then runs check.mjs: replies are read as the official SDKs of OpenAI and
Anthropic read them, requests compile as literals of their types, a mock server answers, and a
gateway translates one of our dialects into the other. One line of TAP for each case; the last line
is `N passed, N failed`. Without npm everything is skipped, with a message.
"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
from testlib import npm


def main():
    build = npm.options(__doc__).parse_args().build
    return npm.check(FOLDER, "official SDKs", f"{build}/tests/models/models_ask")


if __name__ == "__main__":
    sys.exit(main())
