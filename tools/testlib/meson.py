# SPDX-License-Identifier: Apache-2.0
"""Running Meson's tests and counting their cases.

cmocka programs are asked for TAP, so that each case counts; a program that prints no TAP counts as
one case by its exit code.
"""

import json
import os

from .report import ROOT, run, tap_cases

GOOD = {"OK", "EXPECTEDFAIL"}


def suites_of(folder):
    """Suites that the build folder knows, to avoid asking for one that is not there."""
    result = run(["meson", "introspect", "--tests", folder])
    tests = json.loads(result.stdout) if result.returncode == 0 else []
    return {suite.split(":")[-1] for test in tests for suite in test["suite"]}


def test(report, folder, name, suites=(), no_suites=(), timeout_factor=1, environment=None):
    known = suites_of(folder)
    wanted = [suite for suite in suites if suite in known]
    if suites and not wanted:
        report.failed(f"{name}: none of the suites {', '.join(suites)} exists")
        return
    command = ["meson", "test", "-C", folder, "--no-rebuild", "--logbase", f"testlog-{name}"]
    command += ["--timeout-multiplier", str(timeout_factor)]
    for suite in wanted:
        command += ["--suite", suite]
    for suite in no_suites:
        if suite in known:
            command += ["--no-suite", suite]
    log = ROOT / folder / "meson-logs" / f"testlog-{name}.json"
    log.unlink(missing_ok=True)
    variables = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", **(environment or {}))
    result = run(command, variables)
    if not log.exists():
        report.failed(f"{name}: meson test wrote no log", result.stdout)
        return
    for line in log.read_text(errors="replace").splitlines():
        count(report, name, json.loads(line))


def count(report, group, entry):
    """Count the cases of one test program."""
    name = entry["name"].split(" / ", 1)[-1]
    name = f"{group}: {name}"
    stdout = entry.get("stdout") or ""
    output = stdout + (entry.get("stderr") or "")
    if entry["result"] == "SKIP":
        report.skipped(name, output.strip().splitlines()[-1] if output.strip() else "")
        return
    cases = list(tap_cases(stdout))
    failures = 0
    for is_ok, case, skip_reason in cases:
        if skip_reason is not None:
            report.skipped(f"{name}: {case}", skip_reason)
        elif is_ok:
            report.passed(case)
        else:
            failures += 1
            report.failed(f"{name}: {case}", output)
    if entry["result"] not in GOOD and failures == 0:
        report.failed(f"{name} ({entry['result'].lower()})", output)
    elif not cases:
        report.passed(name)
