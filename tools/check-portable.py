#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that nothing in the tree depends on the machine that it was written on.

    tools/check-portable.py

Lock files must not name the host that packages were fetched from (another machine has another
mirror), and no file may contain an absolute path of a home or scratch folder of its author.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def tracked():
    out = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in out.stdout.splitlines() if (ROOT / name).is_file()]


def check_lock(path):
    packages = json.loads(path.read_text()).get("packages", {})
    for name, entry in packages.items():
        if "resolved" in entry:
            yield f"{path.relative_to(ROOT)}: {name or 'the project'} records where it came from"
        if name and "integrity" not in entry and not entry.get("link"):
            yield f"{path.relative_to(ROOT)}: {name} has no digest"


def check_paths(path):
    here = str(ROOT)
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return
    for number, line in enumerate(text.splitlines(), 1):
        if here in line and len(here) > 4:
            yield f"{path.relative_to(ROOT)}:{number}: contains this checkout's own path"


def check_registry(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if re.match(r"\s*(@[\w-]+:)?registry\s*=", line):
            yield f"{path.relative_to(ROOT)}:{number}: names a registry"


def main():
    problems = []
    for path in tracked():
        problems += check_paths(path)
        if path.name == "package-lock.json":
            problems += check_lock(path)
        if path.name == ".npmrc":
            problems += check_registry(path)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
