# SPDX-License-Identifier: Apache-2.0
"""Running Meson's tests and counting their cases.

cmocka programs are asked for TAP, so that each case counts; a program that prints no TAP counts as
one case by its exit code.
"""

import json
import os

from .report import ROOT, run, tap_cases

GOOD = {"OK", "EXPECTEDFAIL"}


def find(folder, is_wanted):
    """The build folder's tests for which is_wanted(name, suites) holds."""
    result = run(["meson", "introspect", "--tests", folder])
    tests = json.loads(result.stdout) if result.returncode == 0 else []
    return [t for t in tests if is_wanted(t["name"], {s.split(":")[-1] for s in t["suite"]})]


def names_of(folder, is_wanted):
    """In the order in which they begin: that of names given to `meson test` counts, not their priority."""
    tests = sorted(find(folder, is_wanted), key=lambda t: (-t["priority"], t["name"]))
    return list(dict.fromkeys(t["name"] for t in tests))


def files_of(folder, is_wanted):
    """What has to be built for them, as ninja names it."""
    start = f"{(ROOT / folder).resolve()}/"
    words = {word for t in find(folder, is_wanted) for word in t["cmd"]}
    programs = {word.removeprefix(start) for word in words if word.startswith(start) and "/../" not in word}
    result = run(["meson", "introspect", "--targets", folder])
    wanted = {name for t in find(folder, is_wanted) for name in t["depends"]}
    targets = [t for t in json.loads(result.stdout) if t["id"] in wanted]
    programs |= {file.removeprefix(start) for t in targets for file in t["filename"]}
    return sorted(programs)


def test(report, folder, name, is_wanted, timeout_factor=12, environment=None):
    """Time-outs only end what hangs; a busy machine must not. Tests wait more than they work, with sanitizers too,
    so more than one of them can run on a core."""
    names = names_of(folder, is_wanted)
    if not names:
        report.failed(f"{name}: there are no such tests in {folder}")
        return
    command = ["meson", "test", "-C", folder, "--no-rebuild", "--logbase", f"testlog-{name}"]
    command += ["--num-processes", str(2 * os.cpu_count())]
    command += ["--timeout-multiplier", str(timeout_factor), *names]
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
            report.failed(f"{name}: {case}", output if failures == 1 else "")
    if entry["result"] not in GOOD and failures == 0:
        report.failed(f"{name} ({entry['result'].lower()})", output)
    elif not cases:
        report.passed(name)
