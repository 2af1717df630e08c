# SPDX-License-Identifier: Apache-2.0
"""Faults by rule: which requests go wrong, and how."""

import re
import threading

# Kinds and what they do; those in AFTER carry the request out first.
BEFORE = {
    "status": "that status (`status`, `body`, `headers`), nothing is done",
    "drop-before": "the connection is closed without an answer, nothing is done",
    "delay": "it waits for `seconds`, or until faults are cleared, then does what it should",
    "hang": "no answer for `seconds` (600), nothing is done; then the connection is closed",
    "garbage": "status 200 with a page that is no JSON, nothing is done",
    "empty-object": "status 200 with {}, nothing is done",
    "empty-list": "status 200 with [], nothing is done",
    "limit-primary": "refused by the primary limit, for `seconds` (60)",
    "limit-secondary": "refused by a secondary limit, with Retry-After if there are `seconds`",
    "expired-token": "refused as if the token had expired",
}
AFTER = {
    "drop-after": "it is done, and the answer is lost",
    "status-after": "it is done, and the answer is that status (502)",
    "delay-after": "it is done, and the answer comes after `seconds`",
    "cut": "it is done, and half of the answer's body comes",
    "headers": "it is done, and the answer has these `headers` besides (null = not that one)",
    "other-host": "it is done, and links of the answer lead to another host",
}


class Fault:
    def __init__(self, number, rule):
        rule = dict(rule)
        self.id = number
        self.rule = dict(rule)
        self.kind = rule.pop("kind")
        if self.kind not in BEFORE | AFTER:
            raise ValueError(f"no fault is of the kind {self.kind}; there are {', '.join(BEFORE | AFTER)}")
        self.method = rule.pop("method", "*").upper()
        self.path = re.compile(rule.pop("path", ""))
        self.body = re.compile(rule.pop("body_has", ""))
        self.login = rule.pop("login", None)
        self.left = rule.pop("times", 1) or -1  # 0 = always
        self.skip = rule.pop("skip", 0)
        self.hits = 0
        self.cleared = threading.Event()
        self.status = rule.pop("status", 502)
        self.seconds = rule.pop("seconds", None)
        self.headers = rule.pop("headers", {})
        self.answer = rule.pop("body", None)
        if rule:
            raise ValueError(f"a fault has no {', '.join(rule)}")

    def fits(self, request, login):
        return (
            self.method in ("*", request.method)
            and self.path.search(request.target)
            and self.body.search(request.data.decode("latin-1"))
            and self.login in (None, login)
        )

    def take(self):
        """It fits: @return whether it is its turn"""
        self.hits += 1
        if self.hits <= self.skip or self.left == 0:
            return False
        self.left -= 1
        return True


class Faults:
    """The rules, in order; the first that fits a request and has its turn is what happens to it."""

    def __init__(self):
        self.rules, self.count = [], 0

    def add(self, rule):
        self.count += 1
        self.rules.append(Fault(self.count, rule))
        return self.count

    def clear(self):
        for rule in self.rules:
            rule.cleared.set()
        self.rules = []

    def take(self, request, login):
        for fault in self.rules:
            if fault.fits(request, login) and fault.take():
                return fault
        return None
