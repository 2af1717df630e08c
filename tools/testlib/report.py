# SPDX-License-Identifier: Apache-2.0
"""Counting and showing the results of one test run."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Of a failure's output, so much is shown.
SHOWN_LINES = 60
CASE = re.compile(r"^(not )?ok\s+\d+\s*(?:-\s*)?(.*?)(?:\s*# *(skip|todo)\b[:\s]*(.*))?$", re.I)


def run(command, environment=None, timeout=None):
    """Run a command; its output, both streams together, is kept."""
    try:
        return subprocess.run(
            command, cwd=ROOT, env=environment, timeout=timeout, errors="replace", text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, str(error))


def tap_cases(text):
    """(is_ok, name, skip reason or None) of each TAP line."""
    for line in text.splitlines():
        match = CASE.match(line)
        if match:
            is_skipped = (match.group(3) or "").lower() == "skip"
            reason = (match.group(4) or match.group(2) or "no reason given") if is_skipped else None
            yield match.group(1) is None, match.group(2), reason


class Report:
    """Results of one stage, or of several that were taken in. One thread."""

    def __init__(self):
        self.pass_count = 0
        self.failures = []
        self.skips = []
        self.text = []  # text to print about failures

    def passed(self, _name, count=1):
        self.pass_count += count

    def failed(self, name, output=""):
        self.failures.append(name)
        self.text.append(f"FAILED: {name}")
        self.text += [f"    {line}" for line in output.strip().splitlines()[-SHOWN_LINES:]]

    def skipped(self, name, reason):
        self.skips.append((name, reason.strip() or "no reason given"))

    def check(self, name, command):
        """Run one command that says by its exit code whether `name` holds."""
        result = run(command)
        if result.returncode == 0:
            self.passed(name)
        else:
            self.failed(name, result.stdout)
        return result.returncode == 0

    def lines(self, group, result):
        """Count the TAP lines of a program's output; its exit code counts too."""
        count_before = len(self.failures)
        seen = 0
        for is_ok, name, skip_reason in tap_cases(result.stdout):
            seen += 1
            if skip_reason is not None:
                self.skipped(f"{group}: {name}", skip_reason)
            elif is_ok:
                self.passed(name)
            else:
                is_first = len(self.failures) == count_before
                self.failed(f"{group}: {name}", result.stdout if is_first else "")
        if result.returncode != 0 and len(self.failures) == count_before or seen == 0:
            self.failed(f"{group}: exit code {result.returncode}, {seen} cases", result.stdout)

    def take_in(self, name, stage, seconds):
        """Print how a stage went and add its results."""
        for line in stage.text:
            print(line)
        counts = (stage.pass_count, len(stage.failures), len(stage.skips))
        passed, failed, skipped = counts
        print(f"{name:12} {passed:5} passed {failed:3} failed {skipped:3} skipped {seconds:6.1f} s")
        print(end="", flush=True)
        self.pass_count += stage.pass_count
        self.failures += stage.failures
        self.skips += stage.skips

    def finish(self):
        for line in self.text:
            print(line)
        for name, reason in self.skips:
            print(f"skipped: {name}: {reason}")
        for name in self.failures:
            print(f"failed: {name}")
        print(f"{self.pass_count} passed, {len(self.failures)} failed", flush=True)
        return 1 if self.failures or self.pass_count == 0 else 0
