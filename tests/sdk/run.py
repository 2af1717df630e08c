#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the clients for foreign agents, sdk/python and sdk/typescript.

    tests/sdk/run.py [--build FOLDER] [--only python|typescript] [NAME...]

The Python client is tested with unittest: canonical JSON against vectors and JavaScript, the decorator, hostile
servers, crashes, the hooks of Strands with a stub. The TypeScript client is tested in check.mjs, with the real
Strands and a scripted model. NAME is the beginning of names of tests of the Python client. One line of TAP for
each case; without npm the TypeScript part is skipped, with a message.
"""

import os
import pathlib
import shutil
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "sdk/python"), str(FOLDER)]
from testlib import npm


class Tap(unittest.TestResult):
    """Prints one line for each case."""

    def __init__(self):
        super().__init__()
        self.shown = 0

    def line(self, is_good, test, more=""):
        self.shown += 1
        name = test.id().removeprefix("test_").replace("#", "")
        print(f"{'ok' if is_good else 'not ok'} {self.shown} - python: {name}{more}", flush=True)

    def stopTest(self, test):
        bad = [text for failed, text in self.failures + self.errors if self.of(failed, test)]
        skipped = [reason for one, reason in self.skipped if one is test]
        if bad:
            self.line(False, test)
            print("\n".join(f"  {line}" for text in bad for line in text.splitlines()), flush=True)
        else:
            self.line(True, test, f" # SKIP {skipped[0]}" if skipped else "")
        super().stopTest(test)

    # What fails or is skipped for a whole class is no test, so nothing stops it.
    def addError(self, test, err):
        super().addError(test, err)
        if not isinstance(test, unittest.TestCase):
            self.line(False, test)
            print("\n".join(f"  {line}" for line in self.errors[-1][1].splitlines()), flush=True)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if not isinstance(test, unittest.TestCase):
            self.line(True, test, f" # SKIP {reason}")

    @staticmethod
    def of(failed, test):
        return failed is test or getattr(failed, "test_case", None) is test


def chosen(suite, names):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from chosen(test, names)
        elif not names or any(test.id().removeprefix("test_").startswith(name) for name in names):
            yield test


def check_python(names):
    suite = unittest.defaultTestLoader.discover(str(FOLDER))
    result = Tap()
    unittest.TestSuite(chosen(suite, names)).run(result)
    return not result.wasSuccessful() or not result.shown


def check_typescript(build):
    reason = npm.install(FOLDER)
    if reason is None:  # as a package that was installed, so that it finds the Strands of the tests
        package = FOLDER / "node_modules/relaytrace"
        shutil.rmtree(package, ignore_errors=True)
        shutil.copytree(ROOT / "sdk/typescript", package, ignore=shutil.ignore_patterns("node_modules"))
    return npm.check(FOLDER, "typescript", ROOT / build / "src/cli/rondo")


def main():
    parser = npm.options(__doc__)
    parser.add_argument("--only", choices=("python", "typescript"))
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    bad = 0
    os.environ["RONDO_BIN"] = str((ROOT / arguments.build / "src/cli/rondo").resolve())
    if arguments.only != "typescript":
        bad |= check_python(arguments.names)
    if arguments.only != "python" and (FOLDER / "check.mjs").exists():
        bad |= check_typescript(arguments.build)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
