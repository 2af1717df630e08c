# SPDX-License-Identifier: Apache-2.0
"""The counting behind the closing line of `make test`."""

import contextlib
import io
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from testlib import acceptance, meson  # noqa: E402
from testlib.report import Report, tap_cases  # noqa: E402


class Counting(unittest.TestCase):
    def setUp(self):
        self.report = Report()
        self.shown = io.StringIO()

    def count(self, function, *arguments):
        with contextlib.redirect_stdout(self.shown):
            return function(*arguments)

    def finish(self):
        code = self.count(self.report.finish)
        return code, self.shown.getvalue().splitlines()[-1]

    def test_tap_names_results_and_skips(self):
        text = "1..4\nok 1 - adds\nnot ok 2 - divides\nok 3 # SKIP no root\nnot ok 4 # skip x\n"
        self.assertEqual(
            list(tap_cases(text)),
            [
                (True, "adds", None),
                (False, "divides", None),
                (True, "", "no root"),
                (False, "", "x"),
            ],
        )

    def test_the_last_line_counts(self):
        self.report.passed("a", 3)
        self.count(self.report.failed, "b")
        self.assertEqual(self.finish(), (1, "3 passed, 1 failed"))

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(self.finish()[0], 1)

    def test_a_skip_is_listed_and_not_counted(self):
        self.report.passed("a")
        self.report.skipped("b", "needs root")
        self.assertEqual(self.finish(), (0, "1 passed, 0 failed"))
        self.assertIn("skipped: b: needs root", self.shown.getvalue())

    def test_a_stage_is_shown_whole_and_counted(self):
        stage = Report()
        stage.passed("a", 2)
        stage.failed("b", "went wrong")
        stage.skipped("c", "no root")
        self.count(self.report.take_in, "stage", stage, 1.5)
        lines = self.shown.getvalue().splitlines()
        self.assertEqual(lines[:2], ["FAILED: b", "    went wrong"])
        self.assertRegex(lines[2], r"^stage +2 passed +1 failed +1 skipped +1\.5 s$")
        self.assertEqual(self.finish(), (1, "2 passed, 1 failed"))
        self.assertEqual(self.shown.getvalue().count("went wrong"), 1)

    def test_a_program_that_crashes_after_good_cases_fails(self):
        entry = {"name": "x", "result": "FAIL", "stdout": "ok 1 - adds\n", "stderr": ""}
        self.count(meson.count, self.report, "main", entry)
        self.assertEqual(self.finish()[1], "1 passed, 1 failed")

    def test_a_program_without_tap_is_one_case(self):
        entry = {"name": "x", "result": "OK", "stdout": "hello\n"}
        self.count(meson.count, self.report, "main", entry)
        self.assertEqual(self.finish()[1], "1 passed, 0 failed")

    def test_a_failing_program_without_output_fails(self):
        result = subprocess.CompletedProcess([], 3, "")
        self.count(self.report.lines, "docs", result)
        self.assertEqual(self.finish(), (1, "0 passed, 1 failed"))

    def test_an_undefined_step_fails_its_scenario(self):
        steps = [{"keyword": "Given ", "name": "x", "result": {"status": "undefined"}}]
        scenario = {"name": "s", "steps": steps}
        self.count(acceptance.count, self.report, "f", scenario)
        self.assertEqual(self.finish()[1], "0 passed, 1 failed")


if __name__ == "__main__":
    unittest.main()
