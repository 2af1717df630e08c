# SPDX-License-Identifier: Apache-2.0
"""Machines race for the issues of one repository, while they are killed and frozen, the forge's clock leaps, their own
clocks are an hour wrong, and answers come late or never. At the end each issue was worked on under one claim at a
time, and has one pull request, one comment and the right labels, whatever happened.

RACE_SEED repeats a race as far as its threads allow; RACE_KEEP=FOLDER keeps what the machines have said.
"""

import collections
import json
import os
import pathlib
import random
import shutil
import tempfile
import time
import unittest

from machines import LOGIN, add_machines
from standin import StandIn
from tenure import Tenures, foreign_writes, read_claim

# Nothing takes that long; a machine that is starved of processor time may.
PATIENCE_S = 900
HOUR_S = 3600
# A strike comes within so many requests of a machine, or, when it has nothing to do, after so many seconds.
MOST_REQUESTS, MOST_WAIT_S = 60, 3
# So long others may take to find a claim that has run out: they read the list of claims every 30 seconds.
TAKEOVER_S = 90
# What goes wrong with single requests. What git and curl repeat by themselves is lost twice.
FAULTS = [
    {"kind": "delay", "seconds": 0.5, "times": 3},
    {"kind": "delay-after", "seconds": 1, "path": "git-receive-pack$", "times": 2},
    {"kind": "drop-after", "path": "git-receive-pack$", "times": 2},
    {"kind": "drop-before", "path": "git-receive-pack$", "times": 2},
    {"kind": "drop-after", "path": "git-upload-pack$", "times": 2},
    {"kind": "drop-after", "method": "POST", "path": "/comments$"},
    {"kind": "drop-after", "method": "POST", "path": "/pulls$"},
    {"kind": "drop-after", "method": "POST", "path": "/labels$"},
    {"kind": "status-after", "method": "PATCH", "status": 502},
    {"kind": "status", "method": "GET", "path": "/issues/", "status": 500},
    {"kind": "cut", "method": "GET", "path": "/issues"},
    {"kind": "empty-object", "method": "GET", "path": "/pulls/"},
    {"kind": "limit-secondary", "seconds": 1},
]


class Race(unittest.TestCase):
    """The one of `make test`; race_long.py has the other."""

    machine_count, issue_count = 4, 12
    rounds = ("fault", "kill", "freeze", "kill")
    options = ("--poll", "200ms")

    def setUp(self):
        self.seed = int(os.environ.get("RACE_SEED", random.randrange(10**6)))
        self.random, self.began = random.Random(self.seed), time.monotonic()
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("RACE_KEEP")))
        if "RACE_KEEP" not in os.environ:
            self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.forge = StandIn("github", self.folder / "forge", files={"README.md": "A shop.\n"})
        self.addCleanup(self.forge.close)
        self.forge.act("limits", login=LOGIN, limit=10**9)  # Eight machines ask more in minutes than people in an hour.
        self.forge.act("create-issue", title="Issue", labels=["code"], count=self.issue_count)
        offsets = (0, HOUR_S, -HOUR_S)
        self.machines = add_machines(self.forge, self.folder, self.machine_count, offsets, self.options)
        self.addCleanup(self.kill_all)
        self.offset_s, self.kills, self.thaws = 0, [], {}
        self.retried, self.story = collections.Counter(), []

    def kill_all(self):
        for machine in self.machines:
            if machine.is_running():
                machine.kill()

    def tell(self, text):
        """What is printed when the test fails."""
        self.story.append(f"{time.monotonic() - self.began:7.2f} s  {text}")

    # ---- What is there ----

    def tenures(self):
        return Tenures(list(self.forge.log.entries))

    def issues(self):
        with self.forge.world.lock:
            found = self.forge.repository.issues.values()
            return {each.number: [label.name for label in each.labels] for each in found if not each.pull}

    def unfinished(self):
        """Issues that do not say yet that they are in review, by label and comment."""
        with self.forge.world.lock:
            issues = [each for each in self.forge.repository.issues.values() if not each.pull]
            return [each.number for each in issues if not self.is_told(each)]

    @staticmethod
    def is_told(issue):
        labels = sorted(label.name for label in issue.labels)
        return labels == ["code", "rondo:in-review"] and any("| State | in-review |" in each.body for each in issue.comments)

    def held_unfinished(self, machine):
        """Issues whose claim it has, and which no pull request keeps."""
        held = self.tenures().held_by(machine.token)
        return [number for number in held if not (read_claim(self.forge.repository.bare, number) or {}).get("pull")]

    def wait_for_share(self, share):
        """Until so much of the work is done: things are to happen all the time that it takes."""
        limit = time.monotonic() + PATIENCE_S
        while len(self.unfinished()) > self.issue_count * (1 - share) and time.monotonic() < limit:
            time.sleep(0.1)

    # ---- What happens ----

    def leap(self, seconds):
        self.offset_s += seconds
        self.forge.act("clock", offset_s=self.offset_s)
        self.tell(f"the forge's clock leaps by {seconds} s")

    def strike(self, machine, what):
        """At a moment by chance: as one of its next requests comes in, or when it makes none."""
        count = self.random.randrange(MOST_REQUESTS)
        machine.strike_after(count, what)
        if not machine.wait_for_strike(MOST_WAIT_S):
            what()
        self.tell(f"{machine.name}: {what.__name__}, after its request {machine.requests}")

    def kill(self):
        machine = self.random.choice([each for each in self.machines if not each.frozen])
        self.strike(machine, machine.kill)
        self.kills.append((machine.token, time.monotonic()))
        time.sleep(self.random.choice((0, 0, 0.3, 1)))
        machine.start()

    def fault(self):
        rule = self.random.choice(FAULTS)
        self.forge.faults.add({"skip": self.random.randrange(10), **rule})
        self.tell(f"fault {rule}")

    def freeze(self):
        """Longer than its lease and the grace: what it has not finished is taken over, and it does not know."""
        machine = self.random.choice(self.machines)
        self.strike(machine, machine.freeze)
        held = self.held_unfinished(machine)
        self.leap(HOUR_S)
        self.kill()  # One that begins looks at all claims.
        limit = time.monotonic() + TAKEOVER_S
        while set(held) & set(self.held_unfinished(machine)) and time.monotonic() < limit:
            time.sleep(0.2)
        self.tell(f"{machine.name} thaws; it had {held}, and has {self.held_unfinished(machine)}")
        self.thaws[machine.token] = time.monotonic()
        machine.thaw()

    def lose(self):
        """A machine is gone, and comes back when others have taken over what it had."""
        machine = self.random.choice(self.machines)
        self.strike(machine, machine.kill)
        self.kills.append((machine.token, time.monotonic()))
        held = self.held_unfinished(machine)
        self.leap(HOUR_S)
        limit = time.monotonic() + TAKEOVER_S
        while set(held) & set(self.held_unfinished(machine)) and time.monotonic() < limit:
            time.sleep(0.2)
        self.tell(f"{machine.name} is back; it had {held}, and has {self.held_unfinished(machine)}")
        machine.start()

    def restart(self):
        machine = self.random.choice(self.machines)
        self.tell(f"{machine.name} ends in good order: {machine.end()}")
        machine.start()

    def retry_blocked(self):
        """What died twice at one step waits for a person, who takes the label off."""
        for number, labels in self.issues().items():
            if "rondo:blocked" in labels:
                self.forge.act("unlabel", number=number, label="rondo:blocked")
                self.retried[number] += 1
                self.tell(f"#{number}: a person takes rondo:blocked off")

    def settle(self):
        """Until all are in review. What waits for a time of the forge gets it."""
        limit, patience, left = time.monotonic() + PATIENCE_S, time.monotonic() + 30, None
        while (now := self.unfinished()) and time.monotonic() < limit:
            if now != left:
                left, patience = now, time.monotonic() + 30
            elif time.monotonic() > patience:
                self.retry_blocked()
                self.leap(HOUR_S // 2)
                patience = time.monotonic() + 30
            time.sleep(0.1)
        self.tell(f"settled; not in review: {now}")

    def end_all(self):
        codes = [machine.end() for machine in self.machines]
        self.assertEqual(codes, [0] * len(codes), "exit codes of machines that end in good order")

    # ---- What must be true ----

    def find_problems(self):
        """@return lines"""
        with self.forge.world.lock:
            repository = self.forge.repository
            issues = [each for each in repository.issues.values() if not each.pull]
            pulls = [each for each in repository.issues.values() if each.pull]
        tenures = self.tenures()
        comments = {comment.id: issue.number for issue in issues for comment in issue.comments}
        problems = tenures.problems + foreign_writes(tenures, comments)
        in_review = self.items_in_review()
        for issue in issues:
            own = [each for each in pulls if each.pull.head.startswith(f"rondo/issue-{issue.number}-")]
            found = [*self.find_in_issue(issue), *self.find_in_pulls(tenures, repository, issue, own)]
            found += self.find_in_claim(tenures, issue, own, in_review.get(issue.number, []))
            problems += [f"#{issue.number}: {each}" for each in found]
        branches = [name for name in repository.bare.refs("refs/heads/") if name != "refs/heads/main"]
        if len(branches) != len(issues):
            problems.append(f"{len(branches)} branches for {len(issues)} issues: {branches}")
        return [*problems, *self.find_in_ledger(tenures)]

    def find_in_issue(self, issue):
        labels = sorted(label.name for label in issue.labels)
        if labels != ["code", "rondo:in-review"]:
            yield f"has the labels {labels}"
        if [each.login for each in issue.assignees] != [LOGIN]:
            yield f"is assigned to {[each.login for each in issue.assignees]}"
        if len(issue.comments) != 1:
            yield f"has {len(issue.comments)} comments: {[each.body[:200] for each in issue.comments]}"
        elif "| State | in-review |" not in issue.comments[0].body:
            yield f"has the comment {issue.comments[0].body}"

    def find_in_pulls(self, tenures, repository, issue, own):
        if len(own) != 1:
            yield f"has {len(own)} pull requests"
            return
        pull = own[0].pull
        head = repository.bare.head(pull.head)
        if own[0].state != "open" or not head:
            yield f"has a pull request that is {own[0].state}, its branch at {head}"
            return
        # A machine that takes over what was pushed already goes on from there.
        count, machines = repository.bare.count(pull.base, head), len(tenures.of.get(issue.number, ()))
        if not 1 <= count <= machines:
            yield f"has {count} commits of {machines} machines"
        files = repository.bare.run("diff", "--name-only", f"{pull.base}...{head}").stdout.split()
        if files != [f"issue-{issue.number}.txt"]:
            yield f"has changed {files}"

    def find_in_claim(self, tenures, issue, own, reviewers):
        claim, holder = read_claim(self.forge.repository.bare, issue.number), tenures.holder(issue.number)
        if claim is None or holder is None:
            yield "has no claim"
            return
        machine = next(each for each in self.machines if each.token == holder.token)
        if own and claim.get("pull") != own[0].number:
            yield f"has a claim that names the pull request {claim.get('pull')}"
        if not claim["owner"].endswith(machine.name):
            yield f"has a claim of {claim['owner']}, which {machine.name} wrote"
        if reviewers != [machine.name]:
            yield f"has the claim of {machine.name}, and is in review in the stores of {reviewers}"

    def items_in_review(self):
        """@return {issue: names of machines whose store says that it is in review}"""
        found = collections.defaultdict(list)
        for machine in self.machines:
            for line in filter(None, machine.list().splitlines()):
                item = json.loads(line)
                if item["state"] == "in-review":
                    found[item["issue"]].append(machine.name)
        return found

    def find_in_ledger(self, tenures):
        """A worker begins under its machine's claim, and once for each claim, start of the process and person's wish."""
        begun = collections.Counter()
        for line in (self.folder / "ledger").read_text().splitlines():
            now, what, number, name = line.split()
            number, token, now = int(number), f"token-{name}", float(now)
            if what != "begun":
                continue
            begun[number] += 1
            # What was starting as the machine froze starts as it thaws; it is stopped, and nothing of it goes out.
            is_excused = 0 <= now - self.thaws.get(token, now + 1) < TAKEOVER_S
            if not tenures.has(number, token, now - 0.02, now) and not is_excused:  # The kernel's figure has two digits.
                yield f"#{number}: a worker of {name} has begun without the claim"
        for number, count in begun.items():
            spans = tenures.of.get(number, ())
            deaths = sum(each.meets(token, at, at) for each in spans for token, at in self.kills)
            allowed = len(spans) + deaths
            if count > allowed:
                yield f"#{number}: was begun {count} times, under {len(spans)} claims, with {deaths} deaths"
        yield from (f"#{number}: was never begun" for number in self.issues() if number not in begun)

    def test_each_issue_has_one_owner_and_one_pull_request(self):
        for machine in self.machines:
            machine.start()
        for done, kind in enumerate(self.rounds):
            self.wait_for_share(done / len(self.rounds))
            getattr(self, kind)()
        self.settle()
        self.end_all()
        problems = self.find_problems()
        text = "\n".join([*self.story, *problems, f"RACE_SEED={self.seed}"])
        self.assertFalse(problems, f"{len(problems)} problems\n{text}")


if __name__ == "__main__":
    unittest.main()
