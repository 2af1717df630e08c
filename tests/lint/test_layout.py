# SPDX-License-Identifier: Apache-2.0
"""The service and the container keep what decides out of the workspace, which commands of runs write."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def is_apart(store, workspace):
    """Whether neither the store's folder is in the workspace nor the workspace in it."""
    folder = pathlib.PurePosixPath(store).parent
    other = pathlib.PurePosixPath(workspace)
    return folder != other and other not in folder.parents and folder not in other.parents


class Layout(unittest.TestCase):
    def test_a_store_in_the_workspace_is_noticed(self):
        self.assertFalse(is_apart("%S/rondo/rondo.db", "%S/rondo"))
        self.assertFalse(is_apart("/var/lib/rondo/rondo.db", "/var/lib/rondo/workspace"))
        self.assertTrue(is_apart("/var/lib/rondo/store/rondo.db", "/var/lib/rondo/workspace"))

    def test_the_services(self):
        for name in ("rondo.service.in", "rondo-daemon.service.in"):
            self.check_service((ROOT / "share" / name).read_text())

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_systemd_takes_the_services(self):
        for name in ("rondo.service.in", "rondo-daemon.service.in"):
            with tempfile.TemporaryDirectory() as folder:
                text = (ROOT / "share" / name).read_text().replace("@bindir@", folder)
                unit = pathlib.Path(folder, name.removesuffix(".in"))
                unit.write_text(text)
                pathlib.Path(folder, "rondo").touch(0o755)
                for scope in ("--user", "--system"):
                    self.verify(scope, unit, dict(os.environ, XDG_RUNTIME_DIR=folder))

    def verify(self, scope, unit, environment):
        command = ["systemd-analyze", "verify", scope, "--man=no", unit]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""), unit)

    def check_service(self, text):
        store = re.search(r"--store (\S+)", text).group(1)
        workspace = re.search(r"--workspace (\S+)", text).group(1)
        self.assertTrue(is_apart(store, workspace))
        folders = re.search(r"StateDirectory=(.*)", text).group(1).split()
        self.assertIn(str(pathlib.PurePosixPath(store).parent), [f"%S/{name}" for name in folders])
        self.assertIn(workspace, [f"%S/{name}" for name in folders])

    def test_the_container(self):
        text = (ROOT / "Containerfile").read_text()
        workspace = re.search(r"(?m)^WORKDIR (/var\S+)", text).group(1)
        store = re.search(r"RONDO_STORE=(\S+)", text).group(1)
        state = re.search(r"XDG_STATE_HOME=(\S+)", text).group(1)
        self.assertTrue(is_apart(store, workspace))
        self.assertTrue(is_apart(f"{state}/any", workspace))
