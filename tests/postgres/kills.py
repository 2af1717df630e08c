# SPDX-License-Identifier: Apache-2.0
"""Processes of Rondo are killed all the time. Two of five machines see one another's processes; what the others had is
taken over when its lease has run out."""

import time
import unittest

from world import World, quantile, setting, takeover_figures

# So long a scan for runs without an owner may take, and a machine that is as busy as this one may be late.
SCAN_S, BUSY_S = 2, 5
# So many are left alone, to take over.
LIVING = 2


class Kills(World):
    def test_servers_that_are_killed_lose_nothing_and_do_nothing_twice(self):
        kills = setting("kills", 40)
        self.add_machines(5, apart=3)
        self.start_machines()
        self.begin_load(active=24)
        while len(self.kills) < kills:
            self.kill_one()
        self.settle()
        findings, _ = self.check()
        apart = {f"m{each.number}" for each in self.machines if each.is_apart}
        far = [s for s, name in findings.takeovers if name.split(".")[0] in apart]
        near = [s for s, name in findings.takeovers if name.split(".")[0] not in apart]
        self.report(
            f"{kills} kills, {findings.figures()}; lease {self.lease_s} s, of other machines: {takeover_figures(far)}; "
            f"of this machine: {takeover_figures(near)}"
        )
        if far:
            self.assertLess(quantile(far, 0.5), self.lease_s + SCAN_S + BUSY_S, self.figures)

    def kill_one(self):
        """At a moment by chance, of one that executes something; it is back soon, or much later."""
        self.wait_for_progress(3)
        time.sleep(self.random.uniform(0, 0.6))
        running = [each for each in self.machines if each.is_running()]
        if len(running) > LIVING:
            self.kill(self.random.choice(running))
        for machine in self.machines:
            if not machine.is_running() and (len(running) <= LIVING + 1 or self.random.random() < 0.5):
                machine.start()


if __name__ == "__main__":
    unittest.main()
