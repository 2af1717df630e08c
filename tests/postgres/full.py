# SPDX-License-Identifier: Apache-2.0
"""The disk of the database is full, again and again: the server refuses what it cannot write, or ends. Loops wait meanwhile,
and continue when there is room."""

import ctypes
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

from world import World, setting

CLONE_NEWNS = 0x20000
SIZE_MIB = 400
FULL_S = 6  # So long it stays full.


class Full(World):
    database_options = ("--disk",)

    def setUp(self):
        self.disk = pathlib.Path(tempfile.mkdtemp(prefix="rondo-disk-"))
        self.addCleanup(self.disk.rmdir)
        self.enter()
        before = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = str(self.disk)  # For the database's script alone.
        try:
            super().setUp()
        finally:
            if before is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = before

    def enter(self):
        """A file system of this test alone, which ends with its processes."""
        before = os.open("/proc/thread-self/ns/mnt", os.O_RDONLY)
        self.addCleanup(os.close, before)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNS) != 0:
            self.skipTest(f"no namespaces of mounts: {os.strerror(ctypes.get_errno())}")
        self.addCleanup(libc.setns, before, CLONE_NEWNS)
        for words in (
            ["--make-rprivate", "/"],
            ["-t", "tmpfs", "-o", f"size={SIZE_MIB}m,mode=1777", "none", str(self.disk)],
        ):
            done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                self.skipTest(f"no file system of its own: {done.stderr.strip()}")

    def fill(self):
        """Until nothing fits any more; what the database frees meanwhile is taken, too."""
        with open(self.disk / "ballast", "ab", buffering=0) as ballast:
            limit = time.monotonic() + FULL_S
            while time.monotonic() < limit:
                try:
                    ballast.write(bytes(65536))
                except OSError:
                    time.sleep(0.05)

    def is_up(self):
        try:
            self.base.sql("SELECT 1")
            return True
        except RuntimeError:
            return False

    def make_room(self):
        """@return whether the server had ended"""
        (self.disk / "ballast").unlink()
        time.sleep(2)
        if self.is_up():
            return False
        try:
            self.base.perform("start a")
        except RuntimeError as error:  # It is still recovering, or was up all the time.
            self.tell(str(error))
        self.wait_until(self.is_up)
        return True

    def test_a_disk_that_is_full_loses_nothing(self):
        count, ended, refused = setting("fills", 3), 0, 0
        self.add_machines(3)
        self.start_machines()
        self.begin_load(active=12)
        for _ in range(count):
            self.wait_for_progress(20)
            self.tell("the disk is being filled")
            self.fill()
            refused += not self.can_write()
            ended += self.make_room()
            self.tell("there is room again")
        self.settle()
        findings, _ = self.check()
        self.assertGreater(refused, 0)
        self.report(
            f"the disk was full {count} times, the server could not write {refused} times and had ended {ended} times, "
            f"{findings.figures()}"
        )

    def can_write(self):
        try:
            self.base.sql("CREATE TABLE ballast AS SELECT repeat(md5(n::text), 4000) t FROM generate_series(1, 300) n")
            self.base.sql("DROP TABLE ballast")
            return True
        except RuntimeError as error:
            self.tell(str(error))
            return False


if __name__ == "__main__":
    unittest.main()
