# SPDX-License-Identifier: Apache-2.0
"""Sessions of the database are terminated all the time, whatever they are doing."""

import time
import unittest

from world import PATIENCE_S, World, setting

END = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
    " WHERE application_name = 'rondo' AND random() < 0.3"
)


class Terminate(World):
    def test_sessions_that_are_ended_lose_nothing(self):
        goal, ended = setting("sessions", 300), 0
        self.add_machines(3)
        self.start_machines()
        self.begin_load(active=12)
        limit = time.monotonic() + PATIENCE_S
        while ended < goal and time.monotonic() < limit:
            ended += int(self.base.sql(END))
            time.sleep(self.random.uniform(0, 0.3))
        self.settle()
        findings, _ = self.check()
        self.assertGreaterEqual(ended, goal)
        self.report(f"{ended} sessions ended, {findings.figures()}; {self.starter.repeated} requests repeated")


if __name__ == "__main__":
    unittest.main()
