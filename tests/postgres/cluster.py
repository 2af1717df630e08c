# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL on several nodes, managed by Patroni, with etcd. Each node has process ids of its own, so that all of it is
killed or frozen at once, as a machine is; what docs/postgresql.md says about Patroni has these settings."""

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

from database import BUILD, ROOT
from machines import children_of, send

sys.path.insert(0, str(ROOT / "tests/support"))

import postgres

PATIENCE_S = 600
ALONE = ["/usr/bin/unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
# Changes in the time that they take: the shortest that Patroni allows.
SETTINGS = {
    "ttl": 20,
    "loop_wait": 2,
    "retry_timeout": 5,
    "synchronous_mode": True,
    "synchronous_mode_strict": True,
    "postgresql": {
        "use_pg_rewind": True,
        "use_slots": True,
        "parameters": {"max_connections": 60, "shared_buffers": "24MB", "dynamic_shared_memory_type": "mmap"},
    },
}


class Program:
    """Of a node: a process, and all that it starts."""

    def __init__(self, host, name, words):
        self.host, self.name, self.words, self.process = host, name, words, None

    def start(self):
        log = self.host.folder / f"{self.name}.log"
        with open(log, "ab") as output:
            self.process = self.host.start([*ALONE, *self.words], stdout=output, stderr=output)

    def pids(self):
        """The first is that of its own process ids: the others end with it."""
        found = children_of(self.process.pid)
        for pid in found:
            found += children_of(pid)
        return found

    def send(self, number):
        for pid in self.pids():
            send(pid, number)

    def kill(self):
        for pid in self.pids()[:1]:
            send(pid, signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def freeze(self):
        self.send(signal.SIGSTOP)
        self.send(signal.SIGSTOP)  # what it started meanwhile, too

    def thaw(self):
        self.send(signal.SIGCONT)


class Node(Program):
    """PostgreSQL and its Patroni."""

    def __init__(self, host, name, settings):
        self.port, self.rest, self.settings = postgres.free_port(), postgres.free_port(), settings
        self.path = host.folder / f"{name}.json"  # YAML has JSON in it
        super().__init__(host, name, ["/usr/bin/patroni", str(self.path)])

    def configure(self, endpoints):
        rest = f"127.0.0.1:{self.rest}"
        server = {
            "listen": f"127.0.0.1:{self.port}",
            "connect_address": f"127.0.0.1:{self.port}",
            "data_dir": str(self.host.folder / self.name),
            "bin_dir": self.host.binaries,
            "pgpass": str(self.host.folder / f"{self.name}.pgpass"),
            "use_unix_socket": True,
            "use_unix_socket_repl": True,
            "pg_hba": postgres.RULES.splitlines(),
            "parameters": {"unix_socket_directories": str(self.host.folder)},
            "authentication": {
                "superuser": {"username": "rondo", "password": postgres.PASSWORD},
                "replication": {"username": "replicator", "password": postgres.PASSWORD},
            },
        }
        text = {
            "scope": "rondo",
            "name": self.name,
            "restapi": {"listen": rest, "connect_address": rest},
            # Not etcd3: there Patroni 3.0 does not compare as it renews its lock, so a primary that was frozen for
            # longer than `ttl` takes the lock from its successor, and what that had committed is lost.
            "etcd": {"hosts": endpoints},
            "bootstrap": {"dcs": self.settings, "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}]},
            "postgresql": server,
        }
        self.path.write_text(json.dumps(text), encoding="utf-8")
        self.path.chmod(0o644)

    def is_leader(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.rest, timeout=2)
        try:
            connection.request("GET", "/leader")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class Cluster:
    """What a Database is for other tests. Its standbys are on the same machine, with sockets in one folder."""

    def __init__(self, nodes=3):
        if postgres.find_binaries() is None:
            raise unittest.SkipTest("there is no PostgreSQL")
        for path in ("/usr/bin/patroni", "/usr/bin/etcd"):
            if not os.access(path, os.X_OK):
                raise unittest.SkipTest(f"there is no {path} (packages patroni, python3-etcd and etcd-server)")
        self.host = postgres.Machine(argparse.Namespace(disk=False, build=str(BUILD)))
        tried = self.host.start([*ALONE, "true"], stderr=subprocess.PIPE, text=True)
        reason = tried.communicate()[1]
        if tried.returncode != 0:
            self.host.remove()
            raise unittest.SkipTest(f"nodes cannot have process ids of their own: {reason.strip()}")
        self.keepers = [Program(self.host, f"etcd{number}", []) for number in range(3)]
        self.nodes = [Node(self.host, f"node{number}", SETTINGS) for number in range(nodes)]
        self.lock = threading.Lock()
        self.configure()
        for program in [*self.keepers, *self.nodes]:
            program.start()

    def configure(self):
        clients = [postgres.free_port() for _ in self.keepers]
        peers = [postgres.free_port() for _ in self.keepers]
        url = "http://127.0.0.1:{}".format
        members = ",".join(f"{each.name}={url(port)}" for each, port in zip(self.keepers, peers))
        for keeper, client, peer in zip(self.keepers, clients, peers):
            keeper.words = [
                "/usr/bin/etcd", "--enable-v2", "--name", keeper.name, "--data-dir", str(self.host.folder / keeper.name),
                "--listen-client-urls", url(client), "--advertise-client-urls", url(client),
                "--listen-peer-urls", url(peer), "--initial-advertise-peer-urls", url(peer),
                "--initial-cluster", members, "--initial-cluster-state", "new",
            ]  # fmt: skip
        for node in self.nodes:
            node.configure([f"127.0.0.1:{port}" for port in clients])
        folders = ",".join(str(self.host.folder) for _ in self.nodes)
        ports = ",".join(str(node.port) for node in self.nodes)
        self.server = f"postgresql://rondo@/{{}}?host={folders}&port={ports}&target_session_attrs=read-write"
        self.address = self.server.format("rondo")

    def logs(self):
        return "\n".join(path.read_text(errors="replace")[-3000:] for path in sorted(self.host.folder.glob("*.log")))

    def psql(self, address, *words):
        """@return what it writes, or None when no node takes it"""
        with self.lock:
            done = subprocess.run(
                ["psql", "-X", "-q", "-A", "-t", "-d", address, *words], capture_output=True, text=True, check=False
            )
        return done.stdout if done.returncode == 0 else None

    def wait_until(self, check):
        limit = time.monotonic() + PATIENCE_S
        while not (answer := check()):
            if time.monotonic() > limit:
                raise AssertionError(f"Patroni does not get there:\n{self.logs()}")
            time.sleep(0.2)
        return answer

    def wait_leader(self):
        return self.wait_until(lambda: next((each for each in self.nodes if each.is_leader()), None))

    def is_whole(self):
        """Whether all standbys follow, and commits wait for one of them."""
        states = self.psql(self.address, "-c", "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'")
        return states is not None and len(states.split()) == len(self.nodes) - 1 and "sync" in states.split()

    def create(self):
        """Wait until the nodes are up, and create the database."""
        self.wait_leader()
        self.wait_until(lambda: self.psql(self.server.format("postgres"), "-c", "SELECT 1"))
        self.wait_until(lambda: self.psql(self.server.format("postgres"), "-c", "CREATE DATABASE rondo") is not None)
        self.wait_until(self.is_whole)

    # ---- As a Database ----

    def sql(self, statement, name="a"):
        text = self.psql(self.address, "-c", statement) or ""
        return ";".join(text.splitlines())

    def copy(self, query, name="a"):
        text = self.psql(self.address, "-c", f"COPY ({query}) TO STDOUT")
        if text is None:
            raise RuntimeError("no node answers")
        return [line.split("\t") for line in text.splitlines()]

    def close(self):
        for program in [*self.nodes, *self.keepers]:
            if program.process is not None and program.process.poll() is None:
                program.kill()
        self.host.remove()
