# SPDX-License-Identifier: Apache-2.0
"""Machines that work on one repository: each has a clone, a home, a store, a name and a clock of its own, and one
process of `rondo work`. They can be killed, and frozen as a laptop is whose lid is closed."""

import os
import pathlib
import signal
import subprocess
import threading
import time
import unittest

from client import git

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("RONDO_BUILD", ROOT / "build"))
LOGIN = "rondo-bot"
# Writes one file, and says in a ledger that only grows when it begins and ends.
WORKER = """#!/bin/sh
say() {
    read -r now rest </proc/uptime
    echo "$now $1 $RONDO_TASK_ID %(name)s" >>%(ledger)s
}
say begun
sleep %(seconds)s
echo "by %(name)s" >"issue-$RONDO_TASK_ID.txt"
say ended
"""


def descendants(pid):
    """@return the process and all that it has started, itself first"""
    children = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Machine:
    """Number 1, 2, ... of those in a folder. Its process begins with start()."""

    def __init__(self, forge, folder, number, offset_s=0, options=()):
        self.forge, self.number, self.name = forge, number, f"machine-{number}"
        self.token, self.offset_s = f"token-{self.name}", offset_s
        self.folder = pathlib.Path(folder) / self.name
        self.store, self.ledger = self.folder / "rondo.db", pathlib.Path(folder) / "ledger"
        self.options, self.process, self.frozen, self.starts = list(options), None, [], 0
        self.requests, self.requests_at_start, self.plan, self.changed = 0, 0, None, threading.Condition()
        (self.folder / "home").mkdir(parents=True)
        (self.folder / "home/.gitconfig").write_text("[user]\n\tname = Bot\n\temail = bot@example.org\n")
        (self.folder / "worker.sh").write_text(WORKER % {"name": self.name, "ledger": self.ledger, "seconds": "0.2"})
        (self.folder / "worker.sh").chmod(0o755)
        git("clone", "-q", forge.facts()["git"], str(self.folder / "clone"))

    def command(self):
        words = ["--forge", self.forge.kind, "--api", self.forge.facts()["api"], "--token-env", "MACHINE_TOKEN"]
        words += ["--write-gap", "1ms", "--sandbox", "none", "--store", str(self.store), "--issues-per-hour", "1000"]
        words += ["--gate", "made=ls issue-*.txt", *self.options, "--", str(self.folder / "worker.sh")]
        return [str(BUILD / "src/cli/rondo"), "work", *words]

    def environment(self):
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.folder / "home"), "LC_ALL": "C", "MACHINE_TOKEN": self.token,
            "LD_PRELOAD": str(BUILD / "tests/forge/libmachine.so"), "MACHINE_NAME": self.name,
            "MACHINE_OFFSET_S": str(self.offset_s),
        }  # fmt: skip

    def start(self):
        self.starts += 1
        self.requests_at_start = self.requests
        with open(self.folder / "output", "a", encoding="utf-8") as output:
            print(f"---- start {self.starts} at {time.monotonic():.3f}", file=output, flush=True)
            self.process = subprocess.Popen(
                self.command(), cwd=self.folder / "clone", env=self.environment(),
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """As `kill -9` does: the process, not what it has started."""
        self.process.kill()
        self.process.wait()
        for pid in self.frozen:
            send(pid, signal.SIGKILL)
        self.frozen = []

    def freeze(self):
        """The whole machine: what was started while one looked is found by the next look."""
        while True:
            fresh = [pid for pid in descendants(self.process.pid) if pid not in self.frozen]
            if not fresh:
                return
            for pid in fresh:
                send(pid, signal.SIGSTOP)
            self.frozen += fresh

    def thaw(self):
        for pid in reversed(self.frozen):
            send(pid, signal.SIGCONT)
        self.frozen = []

    def end(self):
        """As Ctrl-C does, to a process that has come so far that it is asked to end. @return its exit code"""
        self.thaw()
        with self.changed:
            self.changed.wait_for(lambda: self.requests > self.requests_at_start, 600)
        self.process.terminate()
        return self.process.wait(timeout=600)

    def list(self):
        """@return what `rondo work list --all --json` prints"""
        words = [str(BUILD / "src/cli/rondo"), "work", "list", "--all", "--json", "--store", str(self.store)]
        done = subprocess.run(words, env=self.environment(), cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout

    # ---- Striking at a moment of its conversation with the forge ----

    def strike_after(self, count, what):
        """Do `what` as its `count`-th request from now on comes in, before that is carried out; at once for 0."""
        with self.changed:
            self.plan = (self.requests + count, what)
        if count == 0:
            self.take_plan()

    def note_request(self):
        with self.changed:
            self.requests += 1
            self.changed.notify_all()
            is_due = self.plan is not None and self.requests >= self.plan[0]
        if is_due:
            self.take_plan()

    def take_plan(self):
        with self.changed:
            plan, self.plan = self.plan, None
        if plan is not None:
            plan[1]()
            with self.changed:
                self.changed.notify_all()

    def wait_for_strike(self, seconds):
        """@return whether it was struck in that time; what was planned is forgotten"""
        with self.changed:
            self.changed.wait_for(lambda: self.plan is None, seconds)
            is_struck, self.plan = self.plan is None, None
        return is_struck


def add_machines(forge, folder, count, offsets=(0,), options=()):
    """All of them have the same account, each with a token of its own: by that the log says whose a request was."""
    for name in ("rondo", "libmachine"):
        path = BUILD / {"rondo": "src/cli/rondo", "libmachine": "tests/forge/libmachine.so"}[name]
        if not path.exists():
            raise unittest.SkipTest(f"{path} is not built")
    made = []
    for number in range(1, count + 1):
        made.append(Machine(forge, folder, number, offsets[(number - 1) % len(offsets)], options))
    forge.act("user", login=LOGIN, tokens=[each.token for each in made], permission="write")
    by_token = {each.token: each for each in made}
    begin = forge.log.begin

    def note(request, kind):
        entry = begin(request, kind)
        if entry["token"] in by_token:
            by_token[entry["token"]].note_request()
        return entry

    forge.log.begin = note
    return made
