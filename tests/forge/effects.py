# SPDX-License-Identifier: Apache-2.0
"""`rondo work` and each of its effects on a forge: the answer of one is lost, or the process is killed right before or
after it. What is on the forge at the end is what is there when nothing goes wrong: nothing twice, nothing missing."""

import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from client import PATIENCE_S, ForgeCase, git
from standin import StandIn

TOKEN = "FORGE_TOKEN"
# What goes wrong with an effect, as the stand-in's fault; those in KILLS wait there until the process is killed.
LOSSES = ("drop-before", "drop-after", "status-after")
KILLS = ("delay", "delay-after")


class World:
    """A stand-in with one issue, and a clone."""

    def __init__(self, case, kind, name):
        self.path = case.path / name
        self.forge = StandIn(kind, self.path / "forge")
        case.addCleanup(self.forge.close)
        self.forge.act("create-issue", title="Make it", labels=["code"])
        git("clone", "-q", self.forge.facts()["git"], str(self.path / "clone"))
        for member in ("name", "email"):
            git("config", f"user.{member}", "t@example.org", folder=self.path / "clone")

    def start(self, worker="echo text >made.txt", which=("--issue", "1")):
        rondo = pathlib.Path(os.environ.get("RONDO_BUILD", "build")).resolve() / "src/cli/rondo"
        own = {"XDG_STATE_HOME": str(self.path / "state"), "XDG_CACHE_HOME": str(self.path / "cache")}
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.path), TOKEN: "token-rondo-bot"} | own
        command = [str(rondo), "work", "--forge", self.forge.kind, "--api", self.forge.facts()["api"], "--token-env", TOKEN]
        command += [*which, "--write-gap", "1ms", "--poll", "1s", "--sandbox", "none", "--gate", "made=test -e made.txt"]
        return subprocess.Popen(
            [*command, "--", "/bin/sh", "-c", worker], cwd=self.path / "clone", env=variables,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def end(self, process):
        """@return (output, exit code)"""
        try:
            return process.communicate(timeout=PATIENCE_S)[0], process.returncode
        finally:
            process.kill()

    def kill(self, process):
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def wait_for_fault(self, kind):
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit:
            rows = [row for row in self.forge.log.entries if row["fault"] == kind]
            if rows and (kind == "delay" or rows[0]["wrote"]):
                return
            time.sleep(0.01)
        raise AssertionError(f"no request came to {kind}")

    def effects(self):
        """Requests that have changed something, each with how often one of its kind came before it."""
        rows, seen = [], {}
        for row in self.forge.log.entries:
            if row["method"] == "GET" or row["path"].endswith("git-upload-pack"):
                continue
            key = (row["method"], row["kind"])
            if row["wrote"]:
                rows.append((*key, seen.get(key, 0), row["path"]))
            seen[key] = seen.get(key, 0) + 1
        return rows

    def outcome(self):
        """What people see in the end."""
        repository = self.forge.repository
        issue = repository.issues[1]
        return {
            "labels": [label.name for label in issue.labels],
            "state": issue.state,
            "assignees": [user.login for user in issue.assignees],
            "comments": [comment.body.splitlines()[1] for comment in issue.comments],
            "pulls": [(pull.pull.head, pull.title, pull.state) for pull in repository.pulls.values()],
            "refs": sorted(repository.bare.refs()),
            "commits": repository.bare.count("refs/heads/main", repository.pulls[max(repository.pulls)].pull.head)
            if repository.pulls
            else 0,
        }


class Effects(ForgeCase):
    def setUp(self):
        super().setUp()
        if not (pathlib.Path(os.environ.get("RONDO_BUILD", "build")).resolve() / "src/cli/rondo").exists():
            self.skipTest("rondo is not built")
        world = World(self, self.kind, "undisturbed")
        output, code = world.end(world.start())
        self.assertEqual(code, 0, output)
        self.wanted, self.list = world.outcome(), world.effects()
        self.assertGreater(len(self.list), 8)
        # Six labels are made alike; the first and the last of them are enough.
        alike = [row for row in self.list if row[0] == "POST" and row[3].endswith("/labels") and "issues" not in row[3]]
        self.list = [row for row in self.list if row not in alike[1:-1]]

    def disturb(self, world, fault, effect):
        method, kind, before, _ = effect
        path = "git-receive-pack$" if kind == "git" else "^/api"
        rule = {"kind": fault, "method": method, "path": path, "skip": before}
        world.forge.faults.add(rule | ({"seconds": PATIENCE_S} if fault in KILLS else {}))

    def check(self, world, output, code, what):
        self.assertEqual(code, 0, f"{what}: {output}")
        self.assertEqual(world.outcome(), self.wanted, f"{what}: {output}")

    def each(self, faults, run):
        """@param run takes a world and a fault; returns the output and exit code of the last process"""
        for number, effect in enumerate(self.list):
            for fault in faults:
                what = f"{fault} of {effect[0]} {effect[3]} ({number})"
                with self.subTest(what):
                    world = World(self, self.kind, f"{fault}-{number}")
                    self.disturb(world, fault, effect)
                    output, code = run(world, fault)
                    self.check(world, output, code, what)
                    world.forge.close()

    def test_a_lost_answer(self):
        self.each(LOSSES, lambda world, _fault: world.end(world.start()))

    def test_a_kill(self):
        def run(world, fault):
            process = world.start()
            world.wait_for_fault(fault)
            world.kill(process)
            world.forge.faults.clear()
            return world.end(world.start())

        self.each(KILLS, run)


class Gitea(Effects):
    kind = "gitea"


class GitLab(Effects):
    kind = "gitlab"
