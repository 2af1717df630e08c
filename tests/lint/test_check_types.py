# SPDX-License-Identifier: Apache-2.0
"""The check of types finds a name that two files define."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools/check-types.py"


class TypesCheck(unittest.TestCase):
    def check(self, **texts):
        with tempfile.TemporaryDirectory() as root:
            for name, text in texts.items():
                path = pathlib.Path(root, "src" if name != "test" else "tests", f"{name}.c")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            command = [sys.executable, str(CHECKER), root]
            return subprocess.run(command, capture_output=True, text=True)

    def assert_found(self, **texts):
        result = self.check(**texts)
        self.assertEqual(result.returncode, 1, texts)
        self.assertIn("walk is also defined in", result.stdout)

    def assert_accepted(self, **texts):
        result = self.check(**texts)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_two_types_of_one_name_are_found(self):
        self.assert_found(a="struct walk {\n    int a;\n};\n", b="struct walk {\n    int b;\n};\n")

    def test_tests_count_too(self):
        self.assert_found(a="struct walk {\n    int a;\n};\n", test="struct walk {\n    int b;\n};\n")

    def test_a_struct_and_an_enum_of_one_name_are_found(self):
        self.assert_found(a="struct walk {\n    int a;\n};\n", b="enum walk\n{\n    WALK_A,\n};\n")

    def test_uses_and_declarations_are_none(self):
        self.assert_accepted(
            a="struct walk {\n    int a;\n};\n",
            b="struct walk;\nstruct walk *first(struct walk *walk);\nstruct walk w = {0};\n",
        )

    def test_comments_and_literals_without_a_definition_are_none(self):
        self.assert_accepted(a="struct walk {\n    int a;\n};\n", b="/* struct walk { */\n// struct walk {\n")


if __name__ == "__main__":
    unittest.main()
