# SPDX-License-Identifier: Apache-2.0
"""A store goes from a file to the database and back, while the command is killed and its sessions are ended."""

import pathlib
import random
import shutil
import subprocess
import tempfile
import time
import unittest

from database import BUILD, Database
from machines import RONDO
from world import setting

FILL = BUILD / "bench/bench_fill"
EVENTS = 20
END = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'rondo'"


class Copies(unittest.TestCase):
    def setUp(self):
        for path in (RONDO, FILL):
            if not path.exists():
                self.skipTest(f"{path} is not built")
        self.seed = setting("seed", random.randrange(10**6))
        self.random = random.Random(self.seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rondo-copies-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.base = Database()
        self.addCleanup(self.base.close)
        self.kills = self.ended = 0

    def run_rondo(self, *words, is_hit=False):
        """@param is_hit it is killed, or its sessions are ended, after a while @return its exit code"""
        command = [RONDO, "store", "copy", *words]
        with open(self.folder / "said", "w", encoding="utf-8") as said:
            with subprocess.Popen(command, stdout=said, stderr=said) as process:
                if is_hit:
                    self.hit(process)
                return process.wait()

    def hit(self, process):
        """At a moment that gets later with each time: in the end it is through before."""
        try:
            process.wait(self.random.uniform(0, 0.05 * 1.15 ** (self.kills + self.ended)))
            return
        except subprocess.TimeoutExpired:
            pass
        if self.random.random() < 0.5:
            self.ended += int(self.base.sql(END)) > 0
        else:
            process.kill()
            self.kills += 1

    def said(self):
        return (self.folder / "said").read_text(encoding="utf-8")

    def copy(self, source, target):
        """Until it is through. @return seconds"""
        begun = time.monotonic()
        while self.run_rondo(source, target, is_hit=True) != 0:
            self.assertNotIn("differs", self.said())
        return time.monotonic() - begun

    def test_a_copy_that_is_killed_and_cut_off_goes_on(self):
        count = setting("copies", 2000)
        file, back = self.folder / "from.db", self.folder / "back.db"
        subprocess.run([FILL, file, str(count), str(EVENTS)], check=True, stdout=subprocess.DEVNULL)
        seconds = [self.copy(file, self.base.address), self.copy(self.base.address, back)]
        for target in (self.base.address, back):
            self.assertEqual(self.run_rondo("--verify", file, target), 0, self.said())
            self.assertIn(f"{count:,} runs", self.said())
        self.assertGreater(self.kills + self.ended, 0, f"RONDO_POSTGRES_SEED={self.seed}")
        self.figures = (
            f"{count} runs with {EVENTS} events each there in {seconds[0]:.1f} s and back in {seconds[1]:.1f} s,"
            f" {self.kills} kills, {self.ended} times all sessions ended"
        )

    figures = ""


if __name__ == "__main__":
    unittest.main()
