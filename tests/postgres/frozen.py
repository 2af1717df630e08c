# SPDX-License-Identifier: Apache-2.0
"""Processes of Rondo are frozen for longer than their lease, then continue: others have their runs by then. What a
process that wakes up wants to record is refused, and it ends what it was doing."""

import time
import unittest

from world import World, setting, takeover_figures


class Frozen(World):
    def test_a_process_that_was_frozen_is_refused(self):
        count = setting("freezes", 6)
        self.add_machines(3)
        self.start_machines()
        self.begin_load(active=12)
        for _ in range(count):
            self.freeze_one()
        self.settle()
        findings, runs = self.check()
        self.report(
            f"{count} freezes, {findings.figures()}; lease {self.lease_s} s, {takeover_figures(self.find_takeovers(runs))}; "
            f"{len(findings.stale)} effects of processes that had lost their run, none of them recorded"
        )

    def freeze_one(self):
        """One that has runs, until others have all of them."""
        machine = self.random.choice(self.machines)
        self.wait_until(lambda: self.held_by(machine))
        machine.freeze()
        self.thawed.add(machine.name)
        self.kills[machine.name] = time.time()
        held = self.held_by(machine)
        self.tell(f"{machine.name} is frozen and has {len(held)} runs")
        self.wait_until(lambda: not set(held) & set(self.held_by(machine)))
        self.tell(f"{machine.name} continues")
        machine.thaw()


if __name__ == "__main__":
    unittest.main()
