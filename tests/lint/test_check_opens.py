# SPDX-License-Identifier: Apache-2.0
"""The check of opens finds calls that follow a path, and honours a reason."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools/check-opens.py"


class OpensCheck(unittest.TestCase):
    def check(self, text, name="src/loop/a.c"):
        with tempfile.TemporaryDirectory() as root:
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True)
            path.write_text(text)
            command = [sys.executable, str(CHECKER), root]
            return subprocess.run(command, capture_output=True, text=True)

    def assert_found(self, text, word):
        result = self.check(text)
        self.assertEqual(result.returncode, 1, text)
        self.assertIn(word, result.stdout)

    def assert_accepted(self, text, name="src/loop/a.c"):
        result = self.check(text, name)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_calls_that_follow_a_path_are_found(self):
        for call in ["open(path, 0)", "openat(fd, name, 0)", 'fopen(path, "r")', "opendir(path)", "realpath(path, NULL)"]:
            self.assert_found(f"    x = {call};\n", f"src/loop/a.c:1: {call.split('(')[0]}()")
        self.assert_found("    if (stat(path, &status) == 0) {\n", "stat()")
        self.assert_found("    r = file_read(path, 5, &text, err);\n", "file_read()")
        self.assert_found("    sqlite3_open_v2(path, &db, 0, NULL);\n", "sqlite3_open_v2()")

    def test_other_calls_are_none(self):
        self.assert_accepted("    r = file_read_untrusted(fd, name, 5, &text, err);\n")
        self.assert_accepted("    r = model->ops->open(model, err);\n    type.open(x);\n    model_open(&options);\n")

    def test_comments_literals_and_declarations_are_none(self):
        self.assert_accepted('/* open(path) */\n// stat(x)\nputs("realpath(x)");\n')
        self.assert_accepted("static int open(const char *path)\n{\n}\nint file_read(const char *path);\n")

    def test_a_reason_on_the_line_or_above_the_statement_counts(self):
        self.assert_accepted("    fd = open(path, 0); /* opens: a device of ours */\n")
        self.assert_accepted("    /* opens: a device of ours */\n    fd = open(path, 0);\n")
        self.assert_accepted("    /* opens: of ours */\n    fd = is_new\n             ? -1\n             : open(path, 0);\n")

    def test_a_reason_counts_for_one_statement_only(self):
        self.assert_found("    /* opens: of ours */\n    fd = open(path, 0);\n    g = open(path, 0);\n", "a.c:3: open()")

    def test_a_reason_must_say_something(self):
        self.assert_found("    fd = open(path, 0); /* opens: */\n", "open()")

    def test_a_reason_without_a_call_is_found(self):
        self.assert_found("    /* opens: nothing any more */\n    x = 1;\n", "a reason without a call")

    def test_a_reason_for_a_whole_file_counts_for_all_calls(self):
        self.assert_accepted("/*\n * All.\n *\n * all opens: the store's own\n */\n    a = open(p, 0);\n\n    b = open(q, 0);\n")

    def test_the_layer_that_opens_is_left_out(self):
        self.assert_accepted("    fd = open(path, 0);\n", "src/os/file.c")


if __name__ == "__main__":
    unittest.main()
