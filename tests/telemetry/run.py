#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds telemetry against official definitions and others' tools, pinned in package-lock.json.

    tests/telemetry/run.py [--build FOLDER]

Real runs export into a collector that decodes with OTLP's own definitions and checks links, times,
types and names; a real OTLP back end stores a run and gives it back; promtool and a real Prometheus
read the metrics of `rondo serve`. One line of TAP for each case; the last line is
`N passed, N failed`. What is not installed is skipped, with a message.
"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
from testlib import npm


def main():
    build = npm.options(__doc__).parse_args().build
    return npm.check(FOLDER, "official definitions", f"{build}/src/cli/rondo")


if __name__ == "__main__":
    sys.exit(main())
