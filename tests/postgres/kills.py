# SPDX-License-Identifier: Apache-2.0
"""Processes of Rondo are killed all the time. Two of five machines see one another's processes; what the others had is
taken over within two seconds after its lease has run out, even where the process that takes it over is killed, too."""

import time
import unittest

from world import Pulse, World, setting, takeover_figures

TAKE_S = 2
# What a takeover does one after the other (look, take, claim, commit), each of which may be late.
STEPS = 5
# So many are left alone, to take over.
LIVING = 2


class Kills(World):
    def test_servers_that_are_killed_lose_nothing_and_do_nothing_twice(self):
        kills, pulse = setting("kills", 40), Pulse()
        self.add_machines(5, apart=3)
        self.start_machines()
        self.begin_load(active=24)
        while len(self.kills) < kills:
            self.kill_one()
        self.settle()
        findings, _ = self.check()
        pulse.is_over.set()
        apart = {f"m{each.number}" for each in self.machines if each.is_apart}
        far = [each for each in findings.takeovers if each.machine.split(".")[0] in apart]
        near = [each for each in findings.takeovers if each.machine.split(".")[0] not in apart]
        self.report(
            f"{kills} kills, {findings.figures()}; lease {self.lease_s} s, of other machines: {takeover_figures(far)}; "
            f"of this machine: {takeover_figures(near)}; {sum(each.claims > 1 for each in findings.takeovers)} more than "
            f"once; this machine was up to {pulse.late_s:.2f} s late"
        )
        limit_s = self.lease_s + TAKE_S + STEPS * pulse.late_s
        # Each process that has claimed the run has had its lease.
        late = [each for each in findings.takeovers if each.seconds > limit_s * each.claims]
        self.assertEqual(late, [], self.figures)

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
