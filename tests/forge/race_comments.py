# SPDX-License-Identifier: Apache-2.0
"""The race of machines that may not push: they claim by comments, and their branches go to a fork.

Who has an issue at a moment is found out from the comments that the forge had then, by the rules of
issues/claim_comment.h, written down once more.
"""

import collections
import json
import re
import time

import race
from machines import LOGIN
from tenure import BRANCH, COMMENT, ISSUE, end_of

CLAIM = re.compile(r"<!-- rondo:status (\d+) -->\n<!-- rondo:claim (\{.*\}) -->\n")
LEASE_NS, GRACE_NS = 600 * 10**9, 300 * 10**9
# So old may the proof be, and a second for what a machine does with it.
PROOF_S = 6


def claim_in(body):
    """@return the claim of a status comment, or None; marks of releases are none"""
    found = CLAIM.match(body)
    claim = json.loads(found[2]) if found else None
    return None if claim and claim.get("released_until_ns") else claim


class Comments:
    """All that ever happened to the comments of issues, with the state after each event."""

    def __init__(self, world):
        self.world, self.events, self.states = world, [], collections.defaultdict(dict)
        for name in ("add_comment", "edit_comment", "delete_comment"):
            self.watch(name, getattr(world, name))

    def watch(self, name, original):
        def watched(issue, *words):
            made = original(issue, *words)
            comment = made or words[0]
            state = dict(self.states[issue.number])
            if name == "delete_comment":
                state.pop(comment.id, None)
            elif comment.body.startswith("<!-- rondo:status"):
                state[comment.id] = (comment.body, int(self.world.seconds()) * 10**9)
            self.states[issue.number] = state
            self.events.append((time.monotonic(), issue.number, state))
            return made

        setattr(self.world, name, watched)

    def states_between(self, number, began, ended):
        """The one at the beginning, and all that followed."""
        last, found = {}, []
        for moment, issue, state in self.events:
            if issue != number or moment > ended:
                continue
            if moment < began:
                last = state
            else:
                found.append(state)
        return [last, *found]


def is_superseded(state, number):
    return any(number in (claim_in(body) or {}).get("supersedes", ()) for id_, (body, _) in state.items() if id_ > number)


def is_expired(entry, now_ns):
    body, updated_ns = entry
    return now_ns - min(claim_in(body)["lease_ns"], updated_ns + LEASE_NS) > GRACE_NS


def owner_of(state, now_ns):
    """@return the nonce of the claim that has the issue, or None"""
    alive = []
    for number in sorted(state):
        claim = claim_in(state[number][0])
        if not claim or is_superseded(state, number):
            continue
        if claim["pull"] or not is_expired(state[number], now_ns) or number == max(state):
            alive.append(claim["nonce"])
    return alive[0] if alive else None


class CommentRace(race.Race):
    machine_count, issue_count = 3, 6
    rounds = ("fault", "kill", "fault", "kill", "freeze", "restart")
    options = ("--poll", "200ms", "--fork", f"{LOGIN}/shop", "--settle", "6s")

    def setUp(self):
        super().setUp()
        self.forge.act("set-permission", login=LOGIN, permission="read")
        self.fork = self.forge.act("fork", owner=LOGIN)["repository"]
        self.comments = Comments(self.forge.world)

    @staticmethod
    def is_told(issue):
        told = [each.body for each in issue.comments if each.body.startswith("<!-- rondo:status")]
        return bool(told) and "| State | in-review |" in told[-1]

    # ---- Who has what ----

    def tokens(self):
        """@return {nonce: token of the machine that wrote it first}"""
        found = {}
        for entry in list(self.forge.log.entries):
            body = entry["body"] if isinstance(entry["body"], dict) else {}
            claim = claim_in(str(body.get("body", "")))
            if entry["method"] == "POST" and claim:
                found[claim["nonce"]] = entry["token"]
        return found

    def held_unfinished(self, machine):
        tokens, now_ns, held = self.tokens(), int(self.forge.world.seconds() * 10**9), []
        for number, state in list(self.comments.states.items()):
            nonce = owner_of(state, now_ns)
            claims = [claim for claim in (claim_in(body) for body, _ in state.values()) if claim]
            if nonce and tokens.get(nonce) == machine.token and not any(c["pull"] for c in claims if c["nonce"] == nonce):
                held.append(number)
        return held

    def retry_blocked(self):
        for number in self.issues():
            state = self.comments.states[number]
            if state and "| State | blocked |" in state[max(state)][0]:
                self.forge.act("comment", number=number, body="/rondo retry")
                self.retried[number] += 1
                self.tell(f"#{number}: a person asks to begin again")

    # ---- What must be true ----

    def owned(self, number, token, tokens, entry, leaps=(0, race.HOUR_S, race.HOUR_S // 2)):
        """Whether the issue was the machine's when that was written, or a proof's age before: by the clock of the forge,
        which may have leapt meanwhile."""
        for state in self.comments.states_between(number, entry["began"] - PROOF_S, end_of(entry)):
            for leap in leaps:
                if tokens.get(owner_of(state, int((entry["time"] - leap) * 10**9))) == token:
                    return True
        return False

    def issue_of(self, entry, ids):
        """The issue that a write is about, if that needs the claim; else None."""
        if entry["kind"] == "git":
            found = [BRANCH.fullmatch(each["ref"]) for each in entry.get("refs", ()) if each["done"]]
            return next((int(each[1]) for each in found if each), None)
        body = entry["body"] if isinstance(entry["body"], dict) else {}
        found = COMMENT.search(entry["path"])
        if found:  # Each deletes what it has written itself.
            return ids.get(int(found[1])) if entry["method"] == "PATCH" else None
        if ISSUE.search(entry["path"]):  # A comment that claims.
            return None if entry["path"].endswith("/comments") else int(ISSUE.search(entry["path"])[1])
        found = BRANCH.fullmatch(f"refs/heads/{str(body.get('head', '')).rpartition(':')[2]}")
        return int(found[1]) if found else None

    def find_foreign(self):
        tokens = self.tokens()
        ids = {id_: number for _, number, state in self.comments.events for id_ in state}
        judged = set()
        for entry in list(self.forge.log.entries):
            if not entry["wrote"] or not (entry["token"] or "").startswith("token-machine"):
                continue
            number = self.issue_of(entry, ids)
            judged.add(number)
            if number and not self.owned(number, entry["token"], tokens, entry):
                words = f"{entry['token']} wrote {entry['method']} {entry['path']} (request {entry['number']})"
                yield f"#{number}: {words} without the claim"
        if not judged.issuperset(self.issues()):
            yield f"only writes to {judged} were judged"

    def find_in_state(self, issue, pulls, branches):
        told = [each.body for each in issue.comments if each.body.startswith("<!-- rondo:status")]
        own = [each for each in pulls if each.pull.head.startswith(f"rondo/issue-{issue.number}-")]
        labels = [label.name for label in issue.labels]
        if labels != ["code"]:
            yield f"has the labels {labels}"
        if len(told) != 1 or "| State | in-review |" not in told[-1]:
            yield f"has the comments {[each[:300] for each in told]}"
        if len(own) != 1 or own[0].state != "open" or own[0].pull.source.full_name != self.fork:
            yield f"has {len(own)} pull requests"
        elif (claim_in(told[-1]) or {}).get("pull") != own[0].number:
            yield f"has a claim that names the pull request {(claim_in(told[-1]) or {}).get('pull')}"
        if sum(name.startswith(f"refs/heads/rondo/issue-{issue.number}-") for name in branches) != 1:
            yield f"has not one branch: {branches}"

    def find_problems(self):
        with self.forge.world.lock:
            repository = self.forge.repository
            issues = [each for each in repository.issues.values() if not each.pull]
            pulls = [each for each in repository.issues.values() if each.pull]
            branches = list(self.forge.world.repository(self.fork)[0].bare.refs("refs/heads/"))
        problems = list(self.find_foreign())
        for issue in issues:
            problems += [f"#{issue.number}: {each}" for each in self.find_in_state(issue, pulls, branches)]
        if repository.bare.refs("refs/heads/rondo/") or repository.bare.refs("refs/rondo/"):
            problems.append("something was pushed to the repository itself")
        return problems

