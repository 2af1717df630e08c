# SPDX-License-Identifier: Apache-2.0
"""Each collection of documents has a row in rights.sql: without one only operators may use it."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFINED = re.compile(r'^#define \w*COLLECTION\w* +"([^"]+)"', re.MULTILINE)
ROW = re.compile(r"\('([a-z-]+)', \d, \d, '[a-z]+'\)")


def defined():
    files = [file for file in (ROOT / "src").rglob("*.[ch]")]
    return {name for file in files for name in DEFINED.findall(file.read_text())}


class Collections(unittest.TestCase):
    def test_each_has_rights(self):
        rows = set(ROW.findall((ROOT / "src/store/postgres/rights.sql").read_text()))
        names = defined()
        self.assertGreater(len(names), 40)
        self.assertEqual(names - rows, set())
