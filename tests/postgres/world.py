# SPDX-License-Identifier: Apache-2.0
"""What the scenarios have in common: a database, machines, clients, the worker, and the check at the end."""

import collections
import os
import pathlib
import random
import shutil
import tempfile
import threading
import time
import unittest

from checker import Checker
from clients import Follower, Starter
from database import Database
from machines import PRELOADED, RONDO, Machine, make_token

PATIENCE_S = 1200
LEASE_S = 5
# Writes into a file that only grows when it begins and ends.
WORKER = """#!/bin/sh
say() {
    read -r now rest </proc/uptime
    echo "$now $1 $RONDO_RUN_ID $RONDO_ITERATION $RONDO_ATTEMPT $MACHINE_NAME" >>%(effects)s
}
say begun
sleep %(seconds)s
say ended
"""


# `claims`: processes that have claimed the run since; all but the last died before they could say so in the journal.
Takeover = collections.namedtuple("Takeover", "seconds machine claims")


def setting(name, default):
    """A number that run.py was given, RONDO_POSTGRES_NAME in the environment."""
    return type(default)(os.environ.get(f"RONDO_POSTGRES_{name.upper()}", default))


def quantile(values, part):
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)] if ordered else float("nan")


class Pulse(threading.Thread):
    """Measures how late this machine is: everything that it does takes so much longer."""

    def __init__(self):
        super().__init__(daemon=True)
        self.late_s, self.is_over = 0, threading.Event()
        self.start()

    def run(self):
        while True:
            began = time.monotonic()
            if self.is_over.wait(0.05):
                return
            self.late_s = max(self.late_s, time.monotonic() - began - 0.05)


class World(unittest.TestCase):
    database_options = ()
    iterations, body_s, lease_s = 5, 0.3, LEASE_S

    def setUp(self):
        for path in (RONDO, PRELOADED):
            if not path.exists():
                self.skipTest(f"{path} is not built")
        self.seed = setting("seed", random.randrange(10**6))
        self.random, self.began = random.Random(self.seed), time.monotonic()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rondo-postgres-", dir=os.environ.get("RONDO_POSTGRES_KEEP")))
        if "RONDO_POSTGRES_KEEP" not in os.environ:
            self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "work").mkdir()
        self.effects = self.folder / "effects"
        self.effects.touch()
        self.worker = self.folder / "worker.sh"
        self.worker.write_text(WORKER % {"effects": self.effects, "seconds": self.body_s})
        self.worker.chmod(0o755)
        self.base = self.open_database()
        self.machines, self.kills, self.thawed, self.story, self.clients = [], {}, set(), [], []
        self.addCleanup(self.end_everything)
        with open("/proc/uptime", encoding="utf-8") as uptime:
            self.offset_s = time.time() - float(uptime.read().split()[0])

    def open_database(self):
        base = Database(*self.database_options)
        self.addCleanup(base.close)
        return base

    def end_everything(self):
        for client in self.clients:
            client.is_over.set()
        for machine in self.machines:
            if machine.is_running():
                machine.kill()
        for client in self.clients:
            client.end()

    def tell(self, text):
        """What is printed when the test fails."""
        self.story.append(f"{time.monotonic() - self.began:8.2f} s  {text}")

    # ---- Machines and clients ----

    def address(self):
        return self.base.address

    def add_machines(self, count, apart=None, **options):
        """@param apart how many of them have process ids of their own; None = all"""
        for index in range(count):
            number = len(self.machines) + 1
            words = ["--lease", f"{self.lease_s}s", "--max-queue", "100000", *self.server_options]
            # The workspace is the same on all machines; else each run would wait for the machine that it was on.
            words += ["--shared-folder", str(self.folder)]
            is_apart = apart is None or index < apart
            self.machines.append(Machine(self.folder, number, self.address(), words, is_apart, **options))

    server_options = ("--max-loops", "64")

    def start_machines(self):
        credentials = make_token(self.address(), self.folder)
        for machine in self.machines:
            machine.credentials = credentials
            machine.start()
        for machine in self.machines:
            self.assertTrue(machine.wait_ready(PATIENCE_S), machine.output()[-4000:])

    def begin_load(self, active, total=None):
        body = {"command": [str(self.worker)], "max_iterations": self.iterations, "sandbox": "none"}
        self.follower = Follower(self.machines)
        self.clients.append(self.follower)
        self.starter = Starter(self.machines, self.follower, body, active, total, self.seed)
        self.clients.append(self.starter)

    def kill(self, machine):
        """kill -9, and what its takeovers are measured from."""
        name = machine.name
        self.kills[name] = machine.kill()
        self.tell(f"{name} is killed")

    def revive(self):
        """Start those that have ended because their database was away."""
        for machine in self.machines:
            if not machine.is_running():
                if machine.process is not None:
                    self.tell(f"{machine.name} had ended with {machine.process.returncode}")
                machine.start()

    # ---- The end ----

    def count_done(self):
        return len(self.follower.finished)

    def settle(self, seconds=PATIENCE_S):
        """Until all runs are done, as far as clients see."""

        def is_done():
            failed = [each.failure for each in self.clients if each.failure]
            return bool(failed) or self.starter.is_done() and self.count_done() >= len(self.starter.runs)

        if self.starter.total is None:
            self.starter.is_enough.set()
        limit = time.monotonic() + seconds
        while not self.follower.wait_until(is_done, 2) and time.monotonic() < limit:
            self.revive()
        self.tell(f"settled: {self.count_done()} of {len(self.starter.runs)} runs are done")
        for client in self.clients:
            client.end()
            self.assertIsNone(client.failure, "\n".join(self.story[-50:]))
        self.tell(f"requests that were refused, by status: {self.starter.refusals}, the last one: {self.starter.said[:300]}")
        for machine in self.machines:
            if machine.is_running():
                self.assertEqual(machine.end(), 0, machine.output()[-4000:])

    def check(self, name="a"):
        """@return (findings, runs); fails when something that was acknowledged is lost or was done twice"""
        offsets = {each.number: each.offset_s for each in self.machines}
        checker = Checker(self.base, self.effects, self.offset_s, name, self.thawed, offsets)
        runs = checker.check(self.starter.runs, self.follower)
        findings = checker.findings
        meant = [run for run in runs.values() if run.id in self.starter.runs or not run.was_refused()]
        undone = [run for run in meant if len(run.finished) != self.iterations]
        findings.problems += [f"run {run.id} is not done, its last events: {run.events[-3:]}" for run in undone]
        findings.takeovers = self.find_takeovers(runs)
        if findings.problems:
            shown = "\n".join([*self.story[-100:], *findings.problems[:40]])
            self.fail(f"{len(findings.problems)} problems\n{shown}\nRONDO_POSTGRES_SEED={self.seed}")
        return findings, runs

    def find_takeovers(self, runs):
        """@return [Takeover], from the death of a process to the next claim of each run that it had"""
        found = []
        for run in runs.values():
            for before, after in zip(run.tenures, run.tenures[1:]):
                if before.machine in self.kills and after.from_s >= self.kills[before.machine]:
                    seconds = after.from_s - self.kills[before.machine]
                    found.append(Takeover(seconds, before.machine, after.epoch - before.epoch))
        return found

    def wait_until(self, check, seconds=PATIENCE_S):
        limit = time.monotonic() + seconds
        while not check() and time.monotonic() < limit:
            time.sleep(0.1)
        self.assertTrue(check(), "\n".join(self.story[-50:]))

    def wait_for_progress(self, count=10):
        """Until clients have seen so many more events."""
        before = len(self.follower.events)
        self.wait_until(lambda: len(self.follower.events) >= before + count)

    def held_by(self, machine):
        """@return ids of runs that its present process has"""
        text = self.base.sql(f"SELECT id FROM rondo.runs WHERE owner LIKE '%host={machine.name}' AND status = 0")
        return text.split(";") if text else []

    def report(self, text):
        """The figures of a scenario: run.py prints them."""
        self.figures = text

    figures = ""


def takeover_figures(takeovers):
    values = [each.seconds for each in takeovers]
    if not values:
        return "no takeovers"
    p50, p99 = quantile(values, 0.5), quantile(values, 0.99)
    return f"{len(values)} takeovers, p50 {p50:.2f} s, p99 {p99:.2f} s, longest {max(values):.2f} s"
