# SPDX-License-Identifier: Apache-2.0
"""Machines have networks of their own, and their links to the database are cut: packets vanish, and both ends believe that
they are connected. A machine that is cut off for longer than its lease ends what it does before others have its runs."""

import ctypes
import os
import subprocess
import time
import unittest

from machines import send
from world import World, setting

CLONE_NEWNET = 0x40000000
NET = "10.213"


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise unittest.SkipTest(f"{' '.join(words)}: {done.stderr.strip()}")


class Network(World):
    database_options = ("--tcp", "--set", "listen_addresses='*'")
    lease_s, body_s, iterations = 10, 0.5, 5

    def setUp(self):
        self.enter()
        super().setUp()

    def enter(self):
        """A network of this test alone, which ends with its processes."""
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            self.skipTest(f"no network namespaces: {os.strerror(ctypes.get_errno())}")
        self.addCleanup(os.close, before)
        self.addCleanup(libc.setns, before, CLONE_NEWNET)
        run("ip", "link", "set", "lo", "up")

    def link(self, number):
        """A network for a machine, held by a process. @return how to begin there"""
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.addCleanup(holder.wait)
        self.addCleanup(send, holder.pid, 9)
        own = os.readlink("/proc/thread-self/ns/net")
        self.wait_until(lambda: os.readlink(f"/proc/{holder.pid}/ns/net") != own)
        inside = ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
        run("ip", "link", "add", f"m{number}", "type", "veth", "peer", "name", "db", "netns", str(holder.pid))
        run("ip", "address", "add", f"{NET}.{number}.1/24", "dev", f"m{number}")
        run("ip", "link", "set", f"m{number}", "up")
        run(*inside, "ip", "address", "add", f"{NET}.{number}.2/24", "dev", "db")
        run(*inside, "ip", "link", "set", "db", "up")
        run(*inside, "ip", "link", "set", "lo", "up")
        return inside

    def test_a_machine_that_is_cut_off_stops_before_its_lease_ends(self):
        count, cuts = setting("cuts", 6), []
        for number in (1, 2, 3):
            wrapper = self.link(number)
            self.add_machines(1, wrapper=wrapper)
            address = self.base.perform("tcp a").replace("127.0.0.1", f"{NET}.{number}.1")
            self.machines[-1].address = address
        self.start_machines()
        self.begin_load(active=12)
        for each in range(count):
            cuts.append(self.cut(self.random.choice(self.machines), each))
        self.settle()
        findings, _ = self.check()
        longer = sum(seconds > self.lease_s for seconds in cuts)
        self.report(
            f"{count} cuts, {longer} of them longer than the lease of {self.lease_s} s, {findings.figures()}; "
            f"{self.lost} runs went to other machines meanwhile"
        )

    lost = 0

    def cut(self, machine, number):
        """Every other time for longer than its lease: until others have what it had. @return s"""
        self.wait_until(lambda: self.held_by(machine))
        self.wait_for_progress()
        began, link = time.monotonic(), f"m{machine.number}"
        run("ip", "link", "set", link, "down")
        held = self.held_by(machine)
        if number % 2 == 0:
            self.wait_until(lambda: not set(held) & set(self.held_by(machine)))
            self.lost += len(held)
        else:
            time.sleep(self.random.uniform(0, self.lease_s / 2))
        run("ip", "link", "set", link, "up")
        self.tell(f"{machine.name} was cut off for {time.monotonic() - began:.1f} s, with {len(held)} runs")
        return time.monotonic() - began


if __name__ == "__main__":
    unittest.main()
