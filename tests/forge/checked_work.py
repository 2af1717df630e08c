# SPDX-License-Identifier: Apache-2.0
"""`rondo work` against the stand-in, with Prism in front: each request that it makes and each answer that it gets is
checked by GitHub's OpenAPI document."""

import os
import pathlib
import subprocess
import unittest

import prism
from client import PATIENCE_S, ForgeCase, call, git

TOKEN = "FORGE_TOKEN"


class CheckedWork(ForgeCase):
    @classmethod
    def setUpClass(cls):
        reason = prism.why_not()
        cls.rondo = pathlib.Path(os.environ.get("RONDO_BUILD", "build")).resolve() / "src/cli/rondo"
        if reason is not None or not cls.rondo.exists():
            raise unittest.SkipTest(reason or f"{cls.rondo} is not built")

    def setUp(self):
        super().setUp()
        self.checked = prism.Checked(self.folder.name, self.forge.address)
        self.addCleanup(self.checked.close)
        self.place = self.path / "clone"
        git("clone", "-q", f"{self.checked.address}/acme/shop.git", str(self.place))
        for name in ("name", "email"):
            git("config", f"user.{name}", "t@example.org", folder=self.place)

    def rondo_work(self, *words, code=0):
        own = {"XDG_STATE_HOME": str(self.path / "state"), "XDG_CACHE_HOME": str(self.path / "cache")}
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.path), TOKEN: "token-rondo-bot"} | own
        where = ["--forge", "github", "--api", self.checked.address + prism.PREFIX, "--token-env", TOKEN]
        command = [str(self.rondo), "work", *words[:1], *where, *words[1:]]
        done = subprocess.run(
            command, cwd=self.place, env=variables, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        self.assertIn(done.returncode, (0, 1, 2, 3, 4) if code is None else (code,), f"{words}: {done.stdout} {done.stderr} {self.checked.front.problems}")
        return done

    def work(self, script, *words, **options):
        fixed = ["--once", "--write-gap", "1ms", "--sandbox", "none", "--gate", "made=test -e made.txt"]
        return self.rondo_work(*fixed, *words, "--", "/bin/sh", "-c", script, **options)

    def assert_nothing_broken(self, least):
        self.assertEqual(self.checked.front.problems, [])
        rows = [row for row in self.control("GET", "log") if row["kind"] == "api"]
        self.assertGreater(len(rows), least)

    def test_from_an_issue_to_a_pull_request(self):
        self.act("create-issue", title="Make it", labels=["code"], count=2)
        self.rondo_work("doctor", "--agent", "claude", code=None)
        self.work("echo text >made.txt")
        self.work("echo text >made.txt")
        state = self.control("GET", "state")["repositories"]["acme/shop"]
        self.assertEqual([pull["pull"]["head"] for pull in state["pulls"]], ["rondo/issue-1-make-it-1", "rondo/issue-2-make-it-2"])
        self.assertEqual([issue["labels"] for issue in state["issues"]], [["code", "rondo:in-review"]] * 2)
        self.assert_nothing_broken(60)

    def test_what_cannot_be_done_is_blocked(self):
        self.act("create-issue", title="Make it", labels=["code"])
        self.work("echo text >other.txt", "--attempts", "1", code=3)
        issue = self.control("GET", "state")["repositories"]["acme/shop"]["issues"][0]
        self.assertIn("rondo:blocked", issue["labels"])
        self.assert_nothing_broken(20)
        call(self.checked.address + prism.PREFIX, "GET", "/repos/acme/shop/odd")
        self.assertIn("GET /repos/acme/shop/odd: ", self.checked.front.problems[0])
