# SPDX-License-Identifier: Apache-2.0
"""Who had the claim on an issue, and when, by what the stand-in has logged; and what was written by others.

A claim moves by compare and swap, so the pushes that moved it are one chain: each begins at the commit where the one
before has ended. Between two of them the issue belongs to whoever made the first one.
"""

import json
import re

NOBODY = "0" * 40
CLAIM = re.compile(r"refs/rondo/claims/(\d+)")
BRANCH = re.compile(r"refs/heads/rondo/issue-(\d+)-.*")
ISSUE = re.compile(r"/repos/[^/]+/[^/]+/issues/(\d+)(/|$)")
COMMENT = re.compile(r"/issues/comments/(\d+)$")


class Tenure:
    """From the first moment at which the claim may have been the machine's to the last one."""

    def __init__(self, token, began, claim):
        self.token, self.began, self.ended, self.claim = token, began, float("inf"), claim

    def meets(self, token, began, ended):
        return self.token == token and self.began <= ended and began <= self.ended


def end_of(entry):
    return entry["began"] + entry.get("seconds", 0)


def moves_of(log):
    """@return {issue: [(entry, old, new)]} of all pushes that moved its claim"""
    found = {}
    for entry in log:
        for change in entry.get("refs", ()):
            match = CLAIM.fullmatch(change["ref"])
            if match and change["done"]:
                found.setdefault(int(match[1]), []).append((entry, change["old"], change["new"]))
    return found


def chain(moves):
    """In the order in which they happened. @return (the chain, those that do not fit into it)"""
    left, at, done = sorted(moves, key=lambda move: move[0]["began"]), NOBODY, []
    while True:
        following = next((move for move in left if move[1] == at), None)
        if following is None:
            return done, left
        left.remove(following)
        done.append(following)
        at = following[2]


class Tenures:
    """Of all issues."""

    def __init__(self, log):
        self.log, self.of, self.problems = log, {}, []
        for number, moves in moves_of(log).items():
            moves, odd = chain(moves)
            for entry, old, _ in odd:
                self.problems.append(f"#{number}: request {entry['number']} moved a claim from {old[:8]}, where it was not")
            self.of[number] = self.tenures(moves)

    def tenures(self, moves):
        found = []
        for entry, _, new in moves:
            last = found[-1] if found and found[-1].ended == float("inf") else None
            if last and last.token == entry["token"] and new != NOBODY:
                last.claim = new
                continue
            if last:
                last.ended = end_of(entry)
            if new != NOBODY:
                found.append(Tenure(entry["token"], entry["began"], new))
        return found

    def has(self, number, token, began, ended):
        return any(each.meets(token, began, ended) for each in self.of.get(number, ()))

    def holder(self, number):
        """@return the tenure that goes on, or None"""
        return next((each for each in self.of.get(number, ()) if each.ended == float("inf")), None)

    def held_by(self, token):
        return [number for number in self.of if self.holder(number) and self.holder(number).token == token]


def issue_of(entry, comments):
    """@param comments {id: issue} @return the issue that a request is about, or None"""
    match = ISSUE.search(entry["path"])
    if match:
        return int(match[1])
    match = COMMENT.search(entry["path"])
    if match:
        return comments.get(int(match[1]))
    body = entry["body"] if isinstance(entry["body"], dict) else {}
    match = BRANCH.fullmatch(f"refs/heads/{body.get('head', '')}")
    return int(match[1]) if match else None


def foreign_writes(tenures, comments):
    """@return of each request that changed something of an issue which was another machine's, or nobody's, a line"""
    problems = []
    for entry in tenures.log:
        if not entry["wrote"] or not entry["token"]:
            continue
        if entry["kind"] == "git":
            problems += foreign_pushes(tenures, entry)
            continue
        number = issue_of(entry, comments)
        if number and not tenures.has(number, entry["token"], entry["began"], end_of(entry)):
            words = f"{entry['token']} wrote {entry['method']} {entry['path']} (request {entry['number']})"
            problems.append(f"#{number}: {words} without the claim; {timeline(tenures, number, entry)}")
    return problems


def foreign_pushes(tenures, entry):
    """A branch moves only together with the claim: then the git server itself has compared."""
    done = [change["ref"] for change in entry.get("refs", ()) if change["done"]]
    claimed = {int(match[1]) for match in map(CLAIM.fullmatch, done) if match}
    problems = []
    for match in filter(None, map(BRANCH.fullmatch, done)):
        if int(match[1]) not in claimed:
            problems.append(f"#{match[1]}: request {entry['number']} of {entry['token']} pushed a branch without the claim")
    return problems


def timeline(tenures, number, entry):
    """For people who look for the reason."""
    rows = [f"{each.token} {each.began - entry['began']:+.2f}..{each.ended - entry['began']:+.2f} s" for each in tenures.of.get(number, ())]
    return "claims: " + ", ".join(rows)


def read_claim(bare, number):
    """@return the text of the claim that the remote has, or None"""
    commit = bare.ref(f"refs/rondo/claims/{number}")
    return json.loads(bare.run("log", "-1", "--format=%B", commit).stdout) if commit else None
