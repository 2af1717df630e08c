# SPDX-License-Identifier: Apache-2.0
"""Servers of which nothing is wanted leave the database alone, and nevertheless show at once what another one does."""

import datetime
import time
import unittest

from clients import Follower
from world import World, quantile, setting

QUIET_S = 15  # Longer than a server looks for changes after the last write.
WRITTEN = "SELECT extract(epoch FROM clock_timestamp()), xact_commit FROM pg_stat_database WHERE datname = 'rondo'"


class TimedFollower(Follower):
    """Notes how long after its time each event arrives."""

    def __init__(self, machines):
        self.delays = []
        super().__init__(machines)

    def note(self, position, event):
        began = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()
        self.delays.append(time.time() - began)
        super().note(position, event)


class Idle(World):
    iterations, body_s = 20, 0.1

    def transactions(self):
        """@return (seconds, transactions), when all sessions have counted theirs"""
        time.sleep(2)
        seconds, count = self.base.sql(WRITTEN).split("|")
        return float(seconds), int(count)

    def test_idle_servers_send_less_than_one_query_a_second(self):
        self.add_machines(setting("servers", 3), apart=0)
        self.start_machines()
        time.sleep(QUIET_S)
        began_s, before = self.transactions()
        time.sleep(60)
        ended_s, after = self.transactions()
        rate = (after - before) / (ended_s - began_s) / len(self.machines)
        self.assertLess(rate, 1)
        delays = self.follow_another()
        self.report(
            f"{len(self.machines)} idle servers: {rate:.2f} transactions a second each; {len(delays)} events of another "
            f"server: p50 {quantile(delays, 0.5) * 1000:.0f} ms, p99 {quantile(delays, 0.99) * 1000:.0f} ms until they were "
            f"read"
        )

    def follow_another(self):
        """@return seconds from each event of a run of the first server until a reader of the second has it"""
        follower = TimedFollower(self.machines[1:2])
        self.clients.append(follower)
        body = {"command": [str(self.worker)], "max_iterations": self.iterations, "sandbox": "none", "agent_id": "one"}
        status, text = self.machines[0].ask("POST", "/v1/runs", body, {"Idempotency-Key": "one"})
        self.assertIn(status, (200, 201, 202), text)
        self.assertTrue(follower.wait_until(lambda: follower.finished, 600), self.machines[0].output()[-4000:])
        return follower.delays


if __name__ == "__main__":
    unittest.main()
