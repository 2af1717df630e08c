# SPDX-License-Identifier: Apache-2.0
"""What `rondo work` does, counted: between the claim of an issue and its worker, where each git process and each
request is time in which nothing else happens, and to see that nothing is new. Raise a number here only with a reason.
"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import time
import unittest

from client import PATIENCE_S, ForgeCase
from effects import World

# Address of the remote; fetch of base and branch; where they are. The run: places, settings, branch, working tree.
MOST_CALLS = 7
# With those that git starts by itself, but for the helpers of HTTP: one of the fetch, two of the working tree.
MOST_PROCESSES = 10
# Read again; label, labels, comments, comment, assignee; the text for the worker and its comments.
MOST_REQUESTS = 8


class Call:
    """A git process, as it has told itself (trace2.eventTarget, git-config(1))."""

    def __init__(self, path):
        events = [json.loads(line) for line in path.read_text().splitlines()]
        start = next(event for event in events if event["event"] == "start")
        self.time_s = datetime.datetime.fromisoformat(start["time"].replace("Z", "+00:00")).timestamp()
        self.is_own = "/" not in start["sid"]  # else a git has started it
        self.text = re.sub(r" -c \S+", "", " ".join(start["argv"]))


class Counted(ForgeCase):
    def setUp(self):
        super().setUp()
        if not (pathlib.Path(os.environ.get("RONDO_BUILD", "build")).resolve() / "src/cli/rondo").exists():
            self.skipTest("rondo is not built")
        self.world = World(self, self.kind, "world")


class Starts(Counted):
    def setUp(self):
        super().setUp()
        self.calls, self.mark = self.world.path / "calls", self.world.path / "mark"
        self.calls.mkdir()
        (self.world.path / ".gitconfig").write_text(f"[trace2]\neventTarget = {self.calls}\n")
        process = self.world.start(f"date +%s.%N >'{self.mark}'; echo text >made.txt")
        output, code = self.world.end(process)
        self.assertEqual(code, 0, output)

    def test_git_is_called_no_more_than_needed(self):
        calls = sorted((Call(path) for path in self.calls.iterdir()), key=lambda call: call.time_s)
        claim = next(i for i, call in enumerate(calls) if " push " in call.text and "refs/rondo/claims/1" in call.text)
        end_s = float(self.mark.read_text())
        # The claim is proven once more where all of this takes longer than a proof counts: that is left out.
        proof = re.compile(r" cat-file | --push |refs/rondo/claims/|remote-https? |send-pack|pack-objects")
        calls = [call for call in calls[claim + 1 :] if call.time_s < end_s and not proof.search(call.text)]
        own = [call.text for call in calls if call.is_own]
        self.assertTrue(any("worktree add" in text for text in own), own)
        self.assertLessEqual(len(own), MOST_CALLS, own)
        self.assertLessEqual(len(calls), MOST_PROCESSES, [call.text for call in calls])

    def test_the_forge_is_asked_no_more_than_needed(self):
        rows = self.world.forge.log.entries
        claim = next(i for i, row in enumerate(rows) if row["path"].endswith("git-receive-pack") and row["wrote"])
        texts = [f"{row['method']} {row['path']}" for row in rows[claim + 1 :] if "/issues/1" in row["path"]]
        labels = [i for i, text in enumerate(texts) if re.match(r"POST .*/labels$", text)]
        self.assertGreaterEqual(len(labels), 2, texts)
        self.assertLessEqual(labels[1], MOST_REQUESTS, texts)  # the second one is that of "in-progress"


class Polls(Counted):
    def test_nothing_new_is_one_conditional_request(self):
        for number in range(250):  # three pages
            self.world.forge.act("create-issue", title=f"Issue {number}", labels=["code"], assignees=["maria"])
        self.world.forge.act("assign", number=1, login="maria")
        rows = self.watch(lambda row: row.get("status") == 304)
        self.assertEqual([(row["method"], row["status"]) for row in rows], [("GET", 304)] * len(rows), rows)

    def test_a_pull_request_in_review_is_read_when_it_has_changed(self):
        output, code = self.world.end(self.world.start())
        self.assertEqual(code, 0, output)
        self.world.forge.log.clear()
        rows = self.watch(lambda row: re.search(r"/pulls/\d+$", row["path"]) and row.get("status"))
        statuses = [row["status"] for row in rows if re.search(r"/pulls/\d+$", row["path"])]
        self.assertEqual(statuses[1:], [304] * (len(statuses) - 1), statuses)

    def watch(self, is_one, count=3):
        """@return all requests from the first one that is meant to the third one"""
        process = self.world.start(which=("--poll", "1s"))
        limit = time.monotonic() + PATIENCE_S
        rows = []
        try:
            while time.monotonic() < limit and process.poll() is None:
                rows = list(self.world.forge.log.entries)
                places = [i for i, row in enumerate(rows) if is_one(row)]
                if len(places) >= count:
                    return rows[places[0] : places[-1] + 1]
                time.sleep(0.05)
        finally:
            self.world.kill(process)
        self.fail(f"too few: {[(row['method'], row['path'], row.get('status')) for row in rows]}")
        return []


class Servers(Counted):
    REPOSITORIES = 12
    # Of a server that has work: one that opens queues, that of HTTP, and room for what comes and goes.
    MORE_THREADS = 5

    def test_repositories_without_work_have_no_threads(self):
        api = self.world.forge.facts()["api"]
        server = api[: api.index("/", len("http://"))]
        lines = [f"defaults: {{forge: github, api: '{api}', token-env: FORGE_TOKEN, sandbox: none, poll: 10m}}", "repositories:"]
        for number in range(self.REPOSITORIES):
            self.world.forge.act("create-repository", repository=f"acme/r-{number}", files={"README.md": "x"})
            lines += [f"  - repo: {server}/acme/r-{number}", "    gate: [true=true]", "    command: [/bin/true]"]
        (self.world.path / "work.yaml").write_text("\n".join(lines))
        (self.world.path / ".gitconfig").write_text("[user]\nname = T\nemail = t@example.org\n")
        idle = self.serve("idle.db")
        busy = self.serve("work.db", "--work", "work.yaml")
        self.wait(busy, lambda: self.count_polls() >= self.REPOSITORIES, lambda: f"{self.count_polls()} were polled")
        self.wait(
            busy,
            lambda: self.more_threads(busy, idle) <= self.MORE_THREADS,
            lambda: f"{self.more_threads(busy, idle)} more threads",
        )

    def serve(self, store, *more):
        rondo = pathlib.Path(os.environ.get("RONDO_BUILD", "build")).resolve() / "src/cli/rondo"
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.world.path), "FORGE_TOKEN": "token-rondo-bot"}
        process = subprocess.Popen(
            [str(rondo), "serve", "--listen", "127.0.0.1:0", "--store", store, *more], cwd=self.world.path, env=variables,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.addCleanup(self.end, process)
        line = ""
        while "serving" not in line and process.poll() is None:
            line = process.stderr.readline()
        return process

    def end(self, process):
        process.terminate()
        process.communicate(timeout=PATIENCE_S)

    def more_threads(self, process, other):
        counts = [len(os.listdir(f"/proc/{one.pid}/task")) for one in (process, other)]
        return counts[0] - counts[1]

    def count_polls(self):
        rows = list(self.world.forge.log.entries)
        return len({row["path"] for row in rows if row["path"].endswith("/issues") and row.get("status")})

    def wait(self, process, is_done, say):
        limit = time.monotonic() + PATIENCE_S
        while not is_done():
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), limit, say())
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
