# SPDX-License-Identifier: Apache-2.0
"""The database of a test: tests/support/postgres.py, driven by pipes."""

import os
import pathlib
import subprocess
import sys
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("RONDO_BUILD", ROOT / "build"))
SCHEMA = "rondo"


class Database:
    """Any thread may use it; commands are performed one after the other."""

    def __init__(self, *options):
        words = [sys.executable, str(ROOT / "tests/support/postgres.py"), "--build", str(BUILD), *options]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        word, self.address = self._answer()
        if word == "skip":
            raise unittest.SkipTest(self.address)
        assert word == "ok", self.address

    def _answer(self):
        word, _, rest = (self.process.stdout.readline() or "error the script has ended").strip().partition(" ")
        return word, rest

    def perform(self, line):
        """@return the answer to one command of the script; RuntimeError if it fails"""
        with self.lock:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            word, rest = self._answer()
        if word != "ok":
            raise RuntimeError(f"{line}: {rest}")
        return rest

    def sql(self, statement, name="a"):
        return self.perform(f"sql {name} {statement}")

    def copy(self, query, name="a"):
        """@return the rows of a query whose columns are numbers, or texts without backslashes and tabs"""
        address = self.perform(f"address {name}")
        words = ["psql", "-X", "-q", "-d", address, "-c", f"COPY ({query}) TO STDOUT"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
