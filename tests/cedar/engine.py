# SPDX-License-Identifier: Apache-2.0
"""Our engine as a filter (driver.c): cases in, outcomes out, one line of JSON each."""

import json
import subprocess
import threading


def _feed(stream, lines):
    with stream:
        for line in lines:
            stream.write(json.dumps(line) + "\n")


def run(driver, lines):
    """The outcome of each case. Ends early, with an exception, when the driver does."""
    with subprocess.Popen(
        [driver], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        feeder = threading.Thread(target=_feed, args=(process.stdin, lines))
        feeder.start()
        count = 0
        for answer in process.stdout:
            count += 1
            yield json.loads(answer)
        feeder.join()
    if process.returncode != 0 or count != len(lines):
        raise RuntimeError(f"the driver ended with {process.returncode} after {count} cases")


def differences(expected, outcome):
    """How the answers to a case differ from the expected ones, a text for each difference."""
    for i, (wanted, got) in enumerate(zip(expected, outcome["answers"], strict=True)):
        if "error" in wanted or "error" in got:
            if ("error" in wanted) != ("error" in got):
                yield f"request {i}: {got}, expected {wanted}"
            continue
        for key in ("decision", "reason", "errors"):
            a, b = wanted[key], got[key]
            if (a != b) if key == "decision" else (sorted(a) != sorted(b)):
                yield f"request {i}: {key} is {b}, expected {a}"
