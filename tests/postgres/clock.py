# SPDX-License-Identifier: Apache-2.0
"""The clock of one machine is an hour ahead, that of another an hour behind, while processes are killed: leases are measured
by the clock of the database alone."""

import unittest

from kills import BUSY_S, SCAN_S, Kills
from world import quantile, setting, takeover_figures

HOUR_S = 3600


class Clock(Kills):
    def test_servers_that_are_killed_lose_nothing_and_do_nothing_twice(self):
        kills = setting("kills", 12)
        for offset_s in (HOUR_S, -HOUR_S, 0, 0):
            self.add_machines(1, offset_s=offset_s)
        self.start_machines()
        self.begin_load(active=16)
        while len(self.kills) < kills:
            self.kill_one()
        self.settle()
        findings, _ = self.check()
        takeovers = [each.seconds for each in findings.takeovers]
        self.report(
            f"clocks {HOUR_S} s ahead and behind, {kills} kills, {findings.figures()}; lease {self.lease_s} s, "
            f"{takeover_figures(findings.takeovers)}"
        )
        if takeovers:
            self.assertLess(quantile(takeovers, 0.5), self.lease_s + SCAN_S + BUSY_S, self.figures)
            self.assertGreater(min(takeovers), 0, self.figures)


def load_tests(loader, _tests, _pattern):
    """Without those of the class that is imported."""
    return loader.loadTestsFromTestCase(Clock)


if __name__ == "__main__":
    unittest.main()
