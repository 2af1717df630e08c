#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs every C block of a page, and prints TAP.

    tests/docs/check-library.py --library librondo.so --include FOLDER PAGE

Each ```c block is a whole program. It must compile as C17 with every warning an error, and end with
exit code 0, in a scratch folder of its own. A ```text block right behind it is what it prints.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```c\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.M | re.S)
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SECONDS = 60


def check(block, library, include):
    """Compile and run one block. Returns what is wrong, or None."""
    folder = pathlib.Path(library).resolve().parent
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, "block.c")
        source.write_text(block["code"])
        program = pathlib.Path(scratch, "block")
        compiler = os.environ.get("CC", "cc").split()
        command = [
            *compiler, "-std=c17", *WARNINGS, f"-I{include}", str(source), str(library),
            "-pthread", f"-Wl,-rpath,{folder}", "-o", str(program),
        ]  # fmt: skip
        built = subprocess.run(command, capture_output=True, text=True)
        if built.returncode != 0:
            return built.stderr
        environment = {key: value for key, value in os.environ.items() if key != "RONDO_STORE"}
        environment["XDG_STATE_HOME"] = scratch
        work = pathlib.Path(scratch, "work")
        work.mkdir()
        ran = subprocess.run(
            [str(program)], cwd=work, env=environment, capture_output=True, text=True,
            timeout=SECONDS,
        )  # fmt: skip
    if ran.returncode != 0:
        return f"exit code {ran.returncode}\n{ran.stdout}{ran.stderr}"
    if block["output"] is not None and ran.stdout != block["output"]:
        return f"it printed\n{ran.stdout}instead of\n{block['output']}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("page")
    arguments = parser.parse_args()
    page = pathlib.Path(arguments.page).read_text()
    blocks = list(BLOCK.finditer(page))
    print(f"1..{len(blocks)}")
    if len(blocks) != len(re.findall(r"^```c\b", page, re.M)) or not blocks:
        print("Bail out! a C block is not closed")
        return 1
    for number, block in enumerate(blocks, 1):
        problem = check(block, arguments.library, arguments.include)
        line = page.count("\n", 0, block.start()) + 1
        if problem is not None:
            print("".join(f"# {part}\n" for part in problem.splitlines()), end="")
        print(f"{'not ok' if problem else 'ok'} {number} - block in line {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
