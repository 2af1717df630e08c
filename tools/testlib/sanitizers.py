# SPDX-License-Identifier: Apache-2.0
"""Whole programs with a sanitizer: all processes of a test write what is found into files, also those whose output
and exit code nobody looks at."""

import shutil

from .report import ROOT

PROGRAM = "src/cli/rondo"


def wrap(folder, environment):
    """Make a build folder beside the objects of `folder`, with a program that sets the options. @return its path"""
    wrapped = (ROOT / folder / "wrapped").resolve()
    shutil.rmtree(wrapped, ignore_errors=True)
    (wrapped / "findings").mkdir(parents=True)
    script = wrapped / PROGRAM
    script.parent.mkdir(parents=True)
    lines = ["#!/bin/sh"]
    for name, options in environment.items():
        log = wrapped / "findings" / name.removesuffix("_OPTIONS").lower()
        lines.append(f"export {name}='{options}:log_path={log}:log_exe_name=1'")
    lines.append(f'exec {(ROOT / folder / PROGRAM).resolve()} "$@"')
    script.write_text("\n".join(lines) + "\n")
    script.chmod(0o755)
    return wrapped


def check(report, name, wrapped):
    """Count what was found: nothing."""
    found = sorted((wrapped / "findings").iterdir())
    if found:
        text = found[0].read_text(errors="replace")
        report.failed(f"{name}: {len(found)} processes with findings, the first one in {found[0]}", text)
    else:
        report.passed(f"{name}: no process has found anything")
