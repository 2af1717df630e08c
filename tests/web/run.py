#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dashboard in a headless Chromium: against `rondo serve`, and against a server that can be broken.

    tests/web/run.py [--build FOLDER] [--shots FOLDER] [PART...]

Parts: unit, served, mocked, glance (each page once), places (each state, in each theme and on a phone);
without one, all but glance, which is part of places. Installs the pinned packages, bundles the dashboard,
then runs check.mjs. One line of TAP for each case; the last line is `N passed, N failed`.
Without npm or Chromium everything is skipped, with a message. --shots makes pictures of every page and
state instead.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
WEB = ROOT / "web"
sys.path.insert(0, str(ROOT / "tools"))
from testlib import npm

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


def find_chromium():
    return next((path for path in map(shutil.which, CHROMIUMS) if path), None)


def prepare():
    """@return (chromium, node, None) or (None, None, why not)"""
    chromium = find_chromium()
    if chromium is None:
        return None, None, "chromium is not installed"
    for folder in (FOLDER, WEB):
        reason = npm.install(folder)
        if reason is not None:
            return None, None, reason
    node, reason = npm.any_node()
    return chromium, node, reason


def main():
    parser = npm.options(__doc__)
    parser.add_argument("--shots", metavar="FOLDER", help="make pictures there, no tests")
    parser.add_argument("part", nargs="*", help="unit, served, ...; names with --shots")
    arguments = parser.parse_args()
    chromium, node, reason = prepare()
    if reason is not None:
        return npm.skip("dashboard", reason)
    rondo = (pathlib.Path(arguments.build) / "src/cli/rondo").resolve()
    with tempfile.TemporaryDirectory(prefix="rondo-web-") as scratch:
        dist = str(pathlib.Path(scratch) / "dist")
        subprocess.run([node, "build.mjs", dist], cwd=WEB, stdout=sys.stderr, check=True)
        if arguments.shots:
            folder = str(pathlib.Path(arguments.shots).resolve())
            command = [node, "shots.mjs", chromium, dist, folder, *arguments.part]
        else:
            command = [node, "check.mjs", chromium, str(rondo), dist, str(WEB)]
            command += arguments.part or ["unit", "served", "mocked", "places"]
        return subprocess.run(command, cwd=FOLDER, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
