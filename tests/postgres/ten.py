# SPDX-License-Identifier: Apache-2.0
"""Many servers with one database execute many runs, while servers are killed: each run is executed once, and all finish."""

import time
import unittest

from world import PATIENCE_S, World, setting, takeover_figures


class Ten(World):
    database_options = ("--set", "max_connections=200")
    iterations, body_s = 2, 0.05

    def test_each_of_many_runs_is_executed_once(self):
        runs, every_s, began, kills = setting("runs", 400), 3, time.monotonic(), 0
        self.add_machines(setting("servers", 10))
        self.start_machines()
        self.begin_load(active=200, total=runs)
        limit = time.monotonic() + max(PATIENCE_S, runs)
        while self.count_done() < runs and time.monotonic() < limit:
            time.sleep(self.random.uniform(0, 2 * every_s))
            running = [each for each in self.machines if each.is_running()]
            if len(running) > 1 and self.count_done() < runs:
                self.kill(self.random.choice(running))
                kills += 1
            self.revive()
        took_s = time.monotonic() - began
        self.settle()
        findings, _ = self.check()
        takeovers = takeover_figures(findings.takeovers)
        self.report(
            f"{len(self.machines)} servers, {kills} of them killed, {findings.figures()}, in {took_s:.0f} s; "
            f"lease {self.lease_s} s, {takeovers}"
        )


if __name__ == "__main__":
    unittest.main()
