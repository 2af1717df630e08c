# SPDX-License-Identifier: Apache-2.0
"""The size check finds long files and functions, and honours a reason."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools/check-sizes.py"


def function(length, comment=""):
    """A function whose braces and body are `length` lines."""
    body = "\n".join("    x++;" for _ in range(length - 2))
    return f"{comment}static void grow(int x)\n{{\n{body}\n}}\n"


class SizeCheck(unittest.TestCase):
    def check(self, text, name="a.c"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, name)
            path.write_text(text)
            command = [sys.executable, str(CHECKER), str(path)]
            return subprocess.run(command, capture_output=True, text=True)

    def test_a_function_at_the_limit_is_accepted(self):
        self.assertEqual(self.check(function(60)).returncode, 0)

    def test_a_function_past_the_limit_is_named(self):
        result = self.check(function(61))
        self.assertEqual(result.returncode, 1)
        self.assertIn("grow() has 61 lines", result.stdout)

    def test_a_reason_allows_a_long_function(self):
        text = function(90, "/* long: one row for each option */\n")
        self.assertEqual(self.check(text).returncode, 0)

    def test_the_escape_needs_a_reason(self):
        self.assertEqual(self.check(function(90, "/* long: */\n")).returncode, 1)

    def test_the_reason_counts_for_its_function_only(self):
        text = function(90, "/* long: a table */\n") + "\n" + function(61)
        self.assertEqual(self.check(text).returncode, 1)

    def test_a_file_at_the_limit_is_accepted(self):
        self.assertEqual(self.check("int x;\n" * 800).returncode, 0)

    def test_a_file_past_the_limit_is_refused(self):
        self.assertEqual(self.check("int x;\n" * 801).returncode, 1)

    def test_scripts_have_the_file_limit_too(self):
        self.assertEqual(self.check("true\n" * 801, "a.sh").returncode, 1)

    def test_a_reason_at_the_head_allows_a_long_file(self):
        self.assertEqual(self.check("# long: one list\n" + "true\n" * 900, "a.sh").returncode, 0)


if __name__ == "__main__":
    unittest.main()
