# SPDX-License-Identifier: Apache-2.0
"""Patroni manages three nodes of PostgreSQL, with three etcd. The node that is the primary is killed with all of its
processes, or frozen until another one is the primary; then it comes back as a standby."""

import time
import unittest

from cluster import Cluster
from failovers import POSITIONS
from world import World, quantile, setting


class Patroni(World):
    def open_database(self):
        base = Cluster()
        self.addCleanup(base.close)
        base.create()
        return base

    def test_the_primary_of_a_cluster_is_lost(self):
        count, outages = setting("leaders", 5), {"killed": [], "frozen": []}
        self.add_machines(3)
        self.start_machines()
        self.begin_load(active=12)
        for number in range(count):
            self.wait_for_progress(30)
            time.sleep(self.random.uniform(0, 0.5))
            how = "frozen" if number % 3 == 1 else "killed"
            outages[how].append(self.lose_leader(how))
        self.settle()
        findings, _ = self.check()
        figures = [f"{len(s)} {how}: p50 {quantile(s, 0.5):.1f} s, longest {max(s):.1f} s" for how, s in outages.items() if s]
        self.report(
            f"{count} primaries lost, {findings.figures()}; {self.starter.repeated} requests repeated; until the next "
            f"acknowledged event, {'; '.join(figures)}"
        )

    def lose_leader(self, how):
        """@return seconds until something was acknowledged again"""
        leader = self.base.wait_leader()
        began, before = time.monotonic(), self.follower.last
        if how == "frozen":
            leader.freeze()
        else:
            leader.kill()
        self.tell(f"{leader.name} is {how}")
        # What the stream had read before may still be on its way; positions of the new primary are far beyond.
        self.wait_until(self.has_passed(before + POSITIONS))
        took_s = time.monotonic() - began
        if how == "frozen":
            leader.thaw()
        else:
            leader.start()
        self.base.wait_until(self.base.is_whole)
        self.tell(f"after {took_s:.1f} s something was acknowledged; {leader.name} follows")
        return took_s

    def has_passed(self, position):
        def check():
            self.revive()
            return self.follower.last > position

        return check


if __name__ == "__main__":
    unittest.main()
