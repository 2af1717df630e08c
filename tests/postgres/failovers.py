# SPDX-License-Identifier: Apache-2.0
"""The primary is killed, and its synchronous standby promoted; then the former primary comes back as a standby, by
pg_rewind or as a new copy, and the same happens again the other way round."""

import re
import time
import unittest

from world import World, quantile, setting


# See position_base() in schema.sql.
POSITIONS = 1 << 39


class Failovers(World):
    database_options = ("--set", "wal_log_hints=on")
    primary, standby = "a", "b"

    def setUp(self):
        super().setUp()
        self.base.perform("standby b a sync")

    def address(self):
        folder = re.search(r"host=([^&]+)", self.base.address).group(1)
        ports = [self.base.perform(f"port {name}") for name in ("a", "b")]
        return f"postgresql://rondo@/rondo?host={folder},{folder}&port={','.join(ports)}"

    def test_a_standby_that_takes_over_has_what_was_acknowledged(self):
        count, outages = setting("failovers", 4), []
        self.add_machines(3)
        self.start_machines()
        self.begin_load(active=12)
        for number in range(count):
            self.wait_for_progress(30)
            time.sleep(self.random.uniform(0, 0.5))
            outages.append(self.fail_over())
            self.bring_back(number)
        self.settle()
        findings, _ = self.check(self.primary)
        self.report(
            f"{count} failovers, {findings.figures()}; {self.starter.repeated} requests repeated; from the kill to the next "
            f"acknowledged event p50 {quantile(outages, 0.5):.2f} s, longest {max(outages):.2f} s"
        )

    def fail_over(self):
        """@return seconds until something was acknowledged again"""
        began = time.monotonic()
        self.base.perform(f"kill {self.primary}")
        before = self.follower.last
        self.base.perform(f"promote {self.standby}")
        self.tell(f"{self.primary} is killed, {self.standby} promoted after {time.monotonic() - began:.2f} s")
        self.primary, self.standby = self.standby, self.primary
        self.revive()
        # What the stream had read before may still be on its way; positions of the new primary are far beyond.
        self.wait_until(lambda: self.follower.last > before + POSITIONS)
        return time.monotonic() - began

    def bring_back(self, number):
        how = "rejoin" if number % 2 == 0 else "standby"
        self.base.perform(f"{how} {self.standby} {self.primary} sync")
        self.tell(f"{self.standby} follows {self.primary} by {how}")


if __name__ == "__main__":
    unittest.main()
