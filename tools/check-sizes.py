#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no file is longer than 800 lines and no C function longer than 60.

    tools/check-sizes.py [FILE...]      without files: everything that git tracks

A file or function that has to be longer says so where it begins: a line with `long: REASON` in a
comment, in the first 20 lines of the file, or directly above the function or its comment.
"""

import pathlib
import re
import subprocess
import sys

FILE_LINES = 800
FUNCTION_LINES = 60
ESCAPE = re.compile(r"(/\*|//|#)\s*long:[ \t]*(?!\*/)\S+")
# Written by tools, not by hand; and the licence.
EXEMPT = re.compile(r"(^|/)(package-lock\.json|LICENSE|docs/(api|events|role-reference)\.md)$|\.(jsonl|png)$")
C_FILE = re.compile(r"\.[ch]$")


def functions(lines):
    """First line (of the brace), last line and name of each function, by our layout's braces."""
    start = None
    for i, line in enumerate(lines):
        if line == "{":
            start = i
        elif line == "}" and start is not None:
            yield start, i
            start = None


def signature(lines, brace):
    """Index of the first line of the function's signature and comment."""
    i = brace
    while i > 0 and lines[i - 1].strip() != "" and not lines[i - 1].startswith("}"):
        i -= 1
    return i


def name_of(lines, first, brace):
    names = re.findall(r"(\w+)\s*\(", " ".join(lines[first:brace]))
    return names[0] if names else "?"


def check_functions(path, lines):
    for brace, end in functions(lines):
        length = end - brace + 1
        if length <= FUNCTION_LINES:
            continue
        first = signature(lines, brace)
        if not any(ESCAPE.search(line) for line in lines[first:brace]):
            yield (
                f"{path}:{brace + 1}: {name_of(lines, first, brace)}() has {length} lines; "
                f"the limit is {FUNCTION_LINES}"
            )


def check(path):
    lines = path.read_text(errors="replace").splitlines()
    if len(lines) > FILE_LINES and not any(ESCAPE.search(line) for line in lines[:20]):
        yield f"{path}:1: the file has {len(lines)} lines; the limit is {FILE_LINES}"
    if C_FILE.search(path.name):
        yield from check_functions(path, lines)


def tracked():
    root = pathlib.Path(__file__).resolve().parent.parent
    out = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True)
    names = out.stdout.splitlines() if out.returncode == 0 else []
    if not names:  # an exported tree without git
        names = [
            str(p.relative_to(root))
            for folder in ("src", "include", "tests", "bench", "examples", "tools", "docs")
            for p in (root / folder).rglob("*")
            if p.is_file() and "node_modules" not in p.parts
        ]
    return [root / name for name in names if (root / name).is_file()]


def main():
    paths = [pathlib.Path(name) for name in sys.argv[1:]] or tracked()
    problems = [p for path in paths if not EXEMPT.search(str(path)) for p in check(path)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
