# SPDX-License-Identifier: Apache-2.0
"""The runner of documentation blocks runs them and compares what they print."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).resolve().parents[1] / "docs/check-readme.py"


class Blocks(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            page.write_text(text)
            command = [sys.executable, str(RUNNER), str(page)]
            return subprocess.run(command, capture_output=True, text=True)

    def test_a_failing_script_is_reported(self):
        result = self.check("```sh\nfalse\n```\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("not ok 1", result.stdout)

    def test_an_expected_exit_code_is_no_failure(self):
        self.assertEqual(self.check("```sh exit=3\nexit 3\n```\n").returncode, 0)

    def test_blocks_of_a_page_share_a_folder(self):
        text = "```sh\necho a >file\n```\n\n```console\n$ cat file\na\n```\n"
        self.assertEqual(self.check(text).returncode, 0)

    def test_other_output_than_shown_is_reported(self):
        self.assertEqual(self.check("```console\n$ echo a\nb\n```\n").returncode, 1)

    def test_dots_stand_for_text_and_for_lines(self):
        text = "```console\n$ echo took 13 ms; echo x; echo y; echo end\ntook … ms\n…\nend\n```\n"
        self.assertEqual(self.check(text).returncode, 0)

    def test_missing_output_is_reported(self):
        self.assertEqual(self.check("```console\n$ true\n$ echo a\n```\n").returncode, 1)

    def test_a_hidden_script_prepares(self):
        text = "<!-- before: echo a >file -->\n\n```sh\ntest -e file\n```\n"
        self.assertEqual(self.check(text).returncode, 0)

    def test_broken_json_is_reported(self):
        self.assertEqual(self.check("```json\n{,}\n```\n").returncode, 1)

    def test_an_unknown_language_is_reported(self):
        self.assertEqual(self.check("```perl\n1\n```\n").returncode, 1)

    def test_an_indented_block_is_reported(self):
        text = "Type\n\n    rm -r x\n\n```sh\ntrue\n```\n"
        self.assertEqual(self.check(text).returncode, 1)


if __name__ == "__main__":
    unittest.main()
