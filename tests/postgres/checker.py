# SPDX-License-Identifier: Apache-2.0
"""Compares a database with what was acknowledged to clients, and with what workers have done.

1. Each run that was accepted is there, once for each request; each event that a stream has shown is there as it was
   shown, and none was shown twice or left out.
2. The events of a run are 1, 2, 3, ...; its epochs rise; its iterations begin in order, with attempts 1, 2, ...; none
   finishes twice, and none begins again that has finished.
3. Each effect has its beginning in the journal, is that of the machine that had the run then, and happened once for each
   attempt; no iteration has finished without its effect.
4. A worker begins before another machine has the run, and does not end after that: two owners at once would show here.
   What a frozen process has started, or starts as it thaws, is counted apart.
"""

import base64
import collections
import json
import re

import database

# Workers read their time from /proc/uptime, which has two digits.
TOLERANCE_S = 0.05
RUNS = "SELECT id, agent_id, status, last_seq, epoch FROM {s}.runs ORDER BY id"
EVENTS = (
    "SELECT r.id, e.seq, e.position, e.time_ns, e.type, replace(encode(e.data, 'base64'), E'\\n', '')"
    " FROM {s}.events e JOIN {s}.runs r ON r.key = e.run ORDER BY r.id, e.seq"
)


class Tenure:
    """The time of one owner of a run, by the journal."""

    def __init__(self, event, machine):
        self.epoch, self.how, self.machine, self.from_s = event["epoch"], event.get("how"), machine, event["time_s"]
        self.to_s = float("inf")


class Run:
    def __init__(self, row, offsets):
        self.offsets, self.offset_s = offsets, 0
        self.id, self.agent, self.status = row[0], row[1], int(row[2])
        self.last_seq, self.epoch = int(row[3]), int(row[4])
        self.events, self.tenures, self.problems = [], [], []
        self.attempts, self.finished, self.begun = {}, {}, {}

    def was_refused(self):
        """Whether its request failed after it had been created: it is closed then, and nothing of it was begun."""
        last = self.events[-1] if self.events else {}
        return not self.attempts and last.get("type") == "run.finished" and last.get("status") == "error"

    def read(self):
        for number, event in enumerate(self.events, 1):
            if event["seq"] != number:
                self.problems.append(f"event {event['seq']} is number {number}")
            self.take(event)
        if self.events and self.events[-1]["seq"] != self.last_seq:
            self.problems.append(f"the row counts {self.last_seq} events, there are {self.events[-1]['seq']}")

    def take(self, event):
        kind = event["type"]
        if kind == "run.claimed":
            found = re.search(r"host=(m(\d+)\S*)", event.get("owner", ""))
            self.offset_s = self.offsets.get(int(found.group(2)), 0) if found else 0
        event["time_s"] -= self.offset_s
        if kind == "run.claimed":
            self.claim(event, found.group(1) if found else "?")
        elif kind == "iteration.started":
            key = (event["iteration"], event["attempt"])
            before = max((a for i, a in self.attempts if i == key[0]), default=0)
            if key[0] != len(self.finished) + 1 or key[1] != before + 1:
                self.problems.append(f"iteration {key} begins after {len(self.finished)} that have finished")
            self.attempts[key] = self.tenures[-1] if self.tenures else None
        elif kind == "iteration.finished":
            if event["iteration"] in self.finished:
                self.problems.append(f"iteration {event['iteration']} finished twice")
            attempt = max((a for i, a in self.attempts if i == event["iteration"]), default=0)
            self.finished[event["iteration"]] = (attempt, event["time_s"])

    def claim(self, event, machine):
        if self.tenures and event["epoch"] <= self.tenures[-1].epoch:
            self.problems.append(f"epoch {event['epoch']} follows {self.tenures[-1].epoch}")
        if self.tenures:
            self.tenures[-1].to_s = event["time_s"]
        self.tenures.append(Tenure(event, machine))


class Effect:
    def __init__(self, line, offset_s):
        now, self.what, self.run, iteration, attempt, self.machine = line.split()
        self.time_s, self.key = float(now) + offset_s, (int(iteration), int(attempt))


class Findings:
    """What a check has found; `problems` has to be empty."""

    def __init__(self):
        self.problems, self.stale = [], []
        self.runs = self.events = self.iterations = self.acknowledged = self.effects = self.interrupted = 0
        self.takeovers = []

    def figures(self):
        return (
            f"{self.runs} runs, {self.iterations} iterations, {self.interrupted} of them more than once begun, "
            f"{self.acknowledged} acknowledged facts, {len(self.lost)} lost, {len(self.doubled)} doubled"
        )

    lost, doubled = (), ()


class Checker:
    """@param effects path @param offset_s of the wall clock to /proc/uptime @param thawed names of processes that were
    frozen @param offsets {number: s} of the machines' clocks"""

    def __init__(self, base, effects, offset_s, name="a", thawed=(), offsets=None):
        self.base, self.effects, self.offset_s, self.name, self.thawed = base, effects, offset_s, name, set(thawed)
        self.findings, self.offsets = Findings(), offsets or {}

    def load(self):
        rows = self.base.copy(RUNS.format(s=database.SCHEMA), self.name)
        runs = {row[0]: Run(row, self.offsets) for row in rows}
        self.positions = {}
        for run, seq, position, time_ns, kind, data in self.base.copy(EVENTS.format(s=database.SCHEMA), self.name):
            event = json.loads(decode(data) or "{}")
            event |= {"seq": int(seq), "time_s": int(time_ns) / 1e9, "type": kind}
            runs[run].events.append(event)
            self.positions[int(position)] = (run, int(seq), kind)
        return runs

    def check(self, started, follower):
        """@param started {run: agent} that was accepted @param follower Follower"""
        runs = self.load()
        findings = self.findings
        findings.lost, findings.doubled = [], []
        for run in runs.values():
            run.read()
            findings.problems += [f"run {run.id}: {each}" for each in run.problems]
        self.check_started(runs, started)
        self.check_shown(follower)
        self.check_effects(runs)
        findings.runs, findings.events = len(runs), len(self.positions)
        findings.iterations = sum(len(run.finished) for run in runs.values())
        findings.interrupted = sum(len(run.attempts) - len(run.finished) for run in runs.values())
        findings.acknowledged += len(started) + len(follower.events)
        findings.problems += findings.lost + findings.doubled
        return runs

    def check_started(self, runs, started):
        findings = self.findings
        by_agent = collections.Counter(run.agent for run in runs.values() if run.id in started or not run.was_refused())
        findings.lost += [f"run {run} was accepted and is lost" for run in started if run not in runs]
        findings.doubled += [f"{agent} has {count} runs" for agent, count in by_agent.items() if count > 1]

    def check_shown(self, follower):
        findings, last = self.findings, 0
        shown = {}
        for position, event in follower.events:
            fact = (event["run_id"], event["seq"], event["type"])
            if position <= last:
                findings.doubled.append(f"event {fact} was shown after position {last}")
            last = position
            shown[position] = fact
            if self.positions.get(position) != fact:
                findings.lost.append(f"event {fact} was shown at {position}, where is {self.positions.get(position)}")
        missing = [fact for position, fact in self.positions.items() if position <= last and position not in shown]
        findings.problems += [f"event {fact} was not shown" for fact in missing]

    def check_effects(self, runs):
        findings = self.findings
        counts = collections.Counter()
        with open(self.effects, encoding="utf-8") as lines:
            for line in lines:
                effect = Effect(line, self.offset_s)
                run = runs.get(effect.run)
                tenure = run.attempts.get(effect.key) if run else None
                if tenure is None:
                    findings.problems.append(f"the effect '{line.strip()}' has no beginning in the journal")
                    continue
                self.check_effect(run, effect, tenure)
                if effect.what == "begun":
                    findings.effects += 1
                    counts[run.id, effect.key] += 1
        for run in runs.values():
            for iteration, (attempt, _) in run.finished.items():
                if counts[run.id, (iteration, attempt)] != 1:
                    findings.problems.append(f"run {run.id}: {iteration} has finished without its effect")
        findings.doubled += [f"run {run}: {key} had {n} effects" for (run, key), n in counts.items() if n > 1]

    def check_effect(self, run, effect, tenure):
        findings, text = self.findings, f"run {run.id}: {effect.what} {effect.key} by {effect.machine}"
        if effect.machine != tenure.machine:
            findings.problems.append(f"{text}, which {tenure.machine} had")
        finished = run.finished.get(effect.key[0])
        late = effect.time_s - tenure.to_s > TOLERANCE_S
        again = effect.what == "begun" and finished and effect.time_s - finished[1] > TOLERANCE_S
        if (late or again) and effect.machine in self.thawed:
            findings.stale.append(f"{text}, {effect.time_s - tenure.to_s:.3f} s after another had it")
        elif again:
            findings.doubled.append(f"{text}, {effect.time_s - finished[1]:.3f} s after it had finished")
        elif late:
            findings.problems.append(f"{text}, {effect.time_s - tenure.to_s:.3f} s after another had it")


def decode(text):
    return base64.b64decode(text).decode(errors="replace")
