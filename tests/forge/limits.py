# SPDX-License-Identifier: Apache-2.0
"""Limits of an API: the primary one of each account by the hour, and the secondary ones by the minute. All is
generous until a test sets it (`set`)."""

import collections

HOUR_S, MINUTE_S = 3600, 60


class Budget:
    """Requests of one account in an hour."""

    def __init__(self, limit, now_s):
        self.limit, self.used, self.reset_s = limit, 0, int(now_s) + HOUR_S


class Limits:
    def __init__(self, world):
        self.world = world
        self.limit, self.anonymous_limit = 5000, 60
        # 0 = no limit. Points: a read is 1, a write 5.
        self.points_per_minute = self.writes_per_minute = self.retry_after_s = 0
        self.budgets = {}
        self.recent = collections.defaultdict(collections.deque)

    def set(self, **values):
        """Any number above by its name; with `login` also `remaining` and `reset_in_s` of that account."""
        login = values.pop("login", None)
        budget = self.budget_of(login)
        if "remaining" in values:
            budget.used = budget.limit - values.pop("remaining")
        if "reset_in_s" in values:
            budget.reset_s = int(self.world.seconds() + values.pop("reset_in_s"))
        if login is not None and "limit" in values:
            budget.limit = values.pop("limit")
        for name, value in values.items():
            if not isinstance(getattr(self, name, None), int):
                raise ValueError(f"there is no limit {name}")
            setattr(self, name, value)

    def budget_of(self, login):
        now_s = self.world.seconds()
        budget = self.budgets.get(login)
        if budget is None or budget.reset_s <= now_s:
            limit = budget.limit if budget else self.limit if login else self.anonymous_limit
            budget = self.budgets[login] = Budget(limit, now_s)
        return budget

    @staticmethod
    def login_of(request):
        return request.user.login if request.user else None

    def check(self, request):
        """@return which limit refuses the request, "primary" or "secondary", or None"""
        login = self.login_of(request)
        if request.path.endswith("/rate_limit"):
            return None
        budget = self.budget_of(login)
        if budget.used >= budget.limit:
            return "primary"
        now_s, cost = self.world.seconds(), 1 if request.method in ("GET", "HEAD") else 5
        recent = self.recent[login]
        while recent and recent[0][0] <= now_s - MINUTE_S:
            recent.popleft()
        points = sum(row[1] for row in recent) + cost
        writes = sum(1 for row in recent if row[1] > 1) + (cost > 1)
        if 0 < self.points_per_minute < points or 0 < self.writes_per_minute < writes:
            return "secondary"
        recent.append((now_s, cost))
        return None

    def wait_s(self, kind, request):
        if kind == "secondary":
            return self.retry_after_s
        return max(0, self.budget_of(self.login_of(request)).reset_s - int(self.world.seconds()))

    def count(self, request, status):
        """Answers "not modified" cost nothing when one is logged in."""
        budget = self.budget_of(self.login_of(request))
        if not (status == 304 and request.user) and not request.path.endswith("/rate_limit"):
            budget.used = min(budget.limit, budget.used + 1)
