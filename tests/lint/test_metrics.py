# SPDX-License-Identifier: Apache-2.0
"""The figures of a small tree are the ones that one can count by hand."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

METRICS = pathlib.Path(__file__).resolve().parents[2] / "tools/metrics.py"


class Metrics(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def figures(self, *arguments):
        command = [sys.executable, str(METRICS), *arguments, str(self.root)]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        self.output = result.stdout
        rows = (line.rsplit(None, 1) for line in result.stdout.splitlines() if not line.startswith("    "))
        return {name.strip(): value for name, value in rows}

    def test_lines_files_and_functions_are_counted_by_area(self):
        self.write("src/base/a.c", "int one(void)\n{\n    return 1;\n}\n")
        self.write("tests/a.c", "/* } */\nint two(void)\n{\n    return 2;\n}\n")
        figures = self.figures()
        self.assertEqual(figures["src: lines"], "4")
        self.assertEqual(figures["tests: lines"], "5")
        self.assertEqual(figures["src: functions"], "1")
        self.assertEqual(figures["lines of C"], "9")

    def test_who_uses_an_exported_function_is_told(self):
        self.write("include/rondo/rondo.h", "int rondo_public(void);\n")
        self.write("src/base/a.h", "int tested(void);\nint own(void);\nint other(void);\n")
        self.write(
            "src/base/a.c",
            "int rondo_public(void)\n{\n    return 0;\n}\n\n"
            "/* nobody() */\nint nobody(void)\n{\n    return 0;\n}\n\n"
            "int tested(void)\n{\n    return 0;\n}\n\n"
            "int own(void)\n{\n    return 0;\n}\n\n"
            "int other(void)\n{\n    return own();\n}\n",
        )
        self.write("src/os/b.c", "static int (*const table[])(void) = {other};\n")
        self.write("tests/b.c", "int main(void)\n{\n    return tested();\n}\n")
        figures = self.figures("--details")
        self.assertEqual(figures["exported functions, public API apart"], "4")
        self.assertEqual(figures["used by nobody"], "1")
        self.assertEqual(figures["used by tests only"], "1")
        self.assertEqual(figures["used in their own file only"], "1")
        self.assertEqual(figures["used in one other file"], "1")
        self.assertIn("nobody (src/base/a.c, 3 lines)", self.output)

    def test_cycles_are_found_in_a_layer_and_not_with_an_internal_header(self):
        self.write("src/os/a.h", '#include "os/b.h"\n')
        self.write("src/os/b.c", '#include "os/a.h"\n')
        self.write("src/os/c.c", '#include "os/c_internal.h"\n')
        self.write("src/os/c_internal.h", '#include "os/c.h"\n#include "os/c_table.h"\n')
        self.write("src/os/c_table.h", '#include "os/c.h"\n')
        figures = self.figures()
        self.assertEqual(figures["include cycles: headers"], "0")
        self.assertEqual(
            figures["include cycles: modules (x.c, x.h, x_internal.h, x_table.h) in a layer"], "1")

    def test_types_with_one_name_are_found(self):
        self.write("src/os/a.c", "struct limit {\n    int a;\n};\n")
        self.write("src/os/b.c", "struct limit {\n    int b;\n};\n// struct other {\n")
        self.write("tests/c.c", "struct other {\n    int b;\n};\nstruct limit *l;\n")
        figures = self.figures()
        self.assertEqual(figures["types with the name of another: src and include"], "1")
        self.assertEqual(figures["types with the name of another: all"], "1")

    def test_a_copy_with_other_numbers_is_a_pair(self):
        body = "".join(f"    call_{i}(a, b + %s);\n" for i in range(12))
        for name, number in (("a", 1), ("b", 2)):
            values = (number,) * 12
            self.write(f"src/os/{name}.c", f"void {name}(void)\n{{\n{body % values}}}\n")
        self.assertEqual(self.figures()["duplicate pairs (50 tokens): src and include"], "1")

    def test_a_large_folder_is_flagged(self):
        for i in range(26):
            self.write(f"src/os/f{i}.c", "")
        figures = self.figures()
        self.assertEqual(figures["folders with more than 25 files"], "1")
        self.assertEqual(figures["folders with more than 40 files"], "0")

    def test_generic_code_and_given_figures_are_shown(self):
        self.write("src/base/json/json_read.c", "\n\n\n")
        figures = self.figures("--test-seconds", "512", "--binary", sys.executable)
        self.assertEqual(figures["generic code: JSON: readers and checks"], "3")
        self.assertEqual(figures["seconds of make test"], "512")
        self.assertGreater(int(figures["bytes of the stripped binary"]), 1000)

    def test_a_tree_without_sources_is_an_error(self):
        result = subprocess.run([sys.executable, str(METRICS), str(self.root)], capture_output=True)
        self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    unittest.main()
