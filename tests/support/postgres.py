#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL servers for one test, from the binaries of Debian's packages, as an unprivileged user.

    postgres.py [--build FOLDER] [--tcp] [--disk] [--set NAME=VALUE]...

It starts one server, `a`, and writes `ok ADDRESS`; or `skip REASON` where this machine has no PostgreSQL, and
ends. Then each line of its standard input is a command, answered by one line, `ok ...` or `error ...`:

    address NAME                 the URI of a server's socket
    tcp NAME                     the URI of a server on 127.0.0.1, with a password (needs --tcp)
    port NAME                    its port there
    pid NAME                     of its first process
    sql NAME STATEMENT           runs it in the database `rondo`; rows joined by `;`, columns by `|`
    standby NAME OF [sync]       a new server that follows another one; `sync`: commits wait for it. One that has
                                 ended begins anew as a copy
    rejoin NAME OF [sync]        the same by pg_rewind, for a former primary that was killed (needs
                                 --set wal_log_hints=on)
    promote NAME                 a standby becomes a primary
    start NAME | stop NAME       stop is the fast shutdown
    kill NAME                    SIGKILL to all of its processes at once
    pause NAME | continue NAME   SIGSTOP and SIGCONT to all of its processes
    pooler NAME                  the URI of a pgbouncer before a server, in transaction mode, with two connections;
                                 empty where it is not installed

At the end of its input it ends the servers and deletes what they wrote; so nothing outlives a test, however that
ends. If this script is killed itself, the kernel tells the servers to shut down.

Data is in memory (/dev/shm), where fsync costs nothing and so stays on; with --disk it is in the temporary folder,
for tests of what a disk does. A first data folder is made once for each build and copied.
"""

import argparse
import ctypes
import fcntl
import glob
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

OLDEST = 15
PASSWORD = "only-for-tests"
PATIENCE_S = 600
PREFIX = "rondo-pg-"
PR_SET_PDEATHSIG = 1
SETTINGS = {
    "autovacuum_naptime": "'10min'",
    "dynamic_shared_memory_type": "mmap",  # a killed server leaves nothing outside of its folder
    "fsync": "on",
    "hot_standby": "on",
    "huge_pages": "off",
    "jit": "off",
    "log_line_prefix": "'%m [%p] %a '",
    "max_connections": "60",
    "max_prepared_transactions": "4",
    "max_wal_senders": "8",
    "shared_buffers": "'24MB'",
    "wal_keep_size": "'64MB'",
    "wal_level": "replica",
}
RULES = """\
local all all trust
local replication all trust
host all all samenet scram-sha-256
host replication all samenet scram-sha-256
"""


POOLER = """\
[databases]
rondo = host={folder} port={server} dbname=rondo user=rondo
[pgbouncer]
listen_port = {port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 2
server_reset_query =
"""


class Failure(Exception):
    pass


def find_binaries():
    """The folder of the newest server's programs, or None."""
    found = []
    for path in glob.glob("/usr/lib/postgresql/*/bin/initdb"):
        version = path.split("/")[4]
        if version.isdigit() and int(version) >= OLDEST:
            found.append((int(version), os.path.dirname(path)))
    return max(found)[1] if found else None


def find_user():
    """Whom the servers run as: PostgreSQL refuses root. None: whoever runs this."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise Failure("there is no user 'postgres' or 'nobody' to run PostgreSQL as")


def remove_orphans(parent):
    """Folders of scripts that were killed: nobody holds their lock, and they are not just being made."""
    for folder in parent.glob(PREFIX + "*"):
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - os.fstat(lock).st_mtime > 60:
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
        except OSError:
            continue


class Machine:
    """What the servers share: programs, user, folder."""

    def __init__(self, arguments):
        self.binaries = find_binaries()
        self.user = find_user()
        self.arguments = arguments
        memory = pathlib.Path("/dev/shm")
        is_usable = not arguments.disk and os.access(memory, os.W_OK | os.X_OK)
        parent = memory if is_usable else pathlib.Path(tempfile.gettempdir())
        remove_orphans(parent)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        self.lock = os.open(self.folder, os.O_RDONLY)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.give(self.folder)

    def give(self, path):
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def _prepare(self):
        """In the child: another user, and an end with this script."""
        if self.user is not None:
            os.setgroups([])
            os.setgid(self.user.pw_gid)
            os.setuid(self.user.pw_uid)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)

    def environment(self):
        kept = {"PATH": f"{self.binaries}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.folder)}
        return kept | {"TMPDIR": str(self.folder), "TZ": "UTC"}

    def start(self, words, **options):
        words = [os.path.join(self.binaries, words[0]), *map(str, words[1:])]
        return subprocess.Popen(
            words, preexec_fn=self._prepare, env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
            start_new_session=True, **options,
        )  # fmt: skip

    def run(self, *words):
        process = self.start(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output, _ = process.communicate(timeout=PATIENCE_S)
        if process.returncode != 0:
            raise Failure(f"{words[0]}: {output.strip()}")
        return output

    def copy(self, source, target):
        subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)

    def make_template(self, target):
        """initdb, and the database, in a folder that the user can write to; then moved to `target`."""
        folder = self.folder / "template"
        secret = self.folder / "password"
        secret.write_text(PASSWORD + "\n")
        self.give(secret)
        self.run(
            "initdb", "--no-sync", "--pgdata", folder, "--username", "rondo", "--pwfile", secret, "--encoding", "UTF8",
            "--locale", "C.UTF-8", "--wal-segsize", "1", "--auth-host", "scram-sha-256", "--auth-local", "trust",
        )  # fmt: skip
        secret.unlink()
        text = "CREATE DATABASE rondo TEMPLATE template0;\n"
        words = ["postgres", "--single", "-D", folder, "-c", "fsync=off", "postgres"]
        words = [f"{self.binaries}/postgres", *map(str, words[1:])]
        subprocess.run(
            words, input=text, text=True, preexec_fn=self._prepare, env=self.environment(), check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        target.parent.mkdir(parents=True, exist_ok=True)
        made = target.parent / f".{target.name}.{os.getpid()}"
        self.copy(folder, made)
        os.rename(made, target)
        shutil.rmtree(folder)

    def template(self):
        build = pathlib.Path(self.arguments.build).resolve()
        version = self.binaries.split("/")[4]
        target = build / "test-postgres" / f"data-{version}-{self.user.pw_uid if self.user else os.getuid()}"
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target.parent / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                self.make_template(target)
        return target

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children_of(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    except OSError:
        return []
    return [int(word) for word in text.split()]


class Server:
    def __init__(self, machine, name):
        self.machine = machine
        self.name = name
        self.data = machine.folder / name
        self.port = free_port()  # names the socket too
        self.process = None
        self.is_paused = False

    def address(self):
        return f"postgresql://rondo@/rondo?host={self.machine.folder}&port={self.port}"

    def tcp(self):
        if not self.machine.arguments.tcp:
            raise Failure("started without --tcp")
        return f"postgresql://rondo:{PASSWORD}@127.0.0.1:{self.port}/rondo"

    def configure(self):
        chosen = dict(word.split("=", 1) for word in self.machine.arguments.set)
        settings = SETTINGS | {
            "cluster_name": f"'{self.name}'",
            "listen_addresses": "'127.0.0.1'" if self.machine.arguments.tcp else "''",
            "port": str(self.port),
            "unix_socket_directories": f"'{self.machine.folder}'",
        }
        lines = [f"{name} = {value}\n" for name, value in (settings | chosen).items()]
        (self.data / "postgresql.conf").write_text("".join(lines))
        (self.data / "pg_hba.conf").write_text(RULES)

    def create(self):
        self.machine.copy(self.machine.template(), self.data)
        self.configure()

    def pids(self):
        if self.process is None:
            return []
        return [self.process.pid, *children_of(self.process.pid)]

    def is_ready(self):
        """Whether it lets clients in: what it writes on the last line of its lock file."""
        try:
            lines = (self.data / "postmaster.pid").read_text(encoding="utf-8").split("\n")
        except OSError:
            return False
        return lines[0] == str(self.process.pid) and len(lines) > 7 and lines[7].strip() in ("ready", "standby")

    def start(self):
        if self.process is not None and self.process.poll() is None:
            raise Failure("it is running")
        self.free_memory()
        with open(self.machine.folder / f"{self.name}.log", "ab") as log:
            self.process = self.machine.start(["postgres", "-D", self.data], stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failure(f"it did not start: {self.last_lines()}")
            time.sleep(0.005)

    def last_lines(self):
        text = (self.machine.folder / f"{self.name}.log").read_text(encoding="utf-8", errors="replace")
        return " / ".join(text.strip().split("\n")[-5:])

    def send(self, number):
        for pid in self.pids():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def stop(self, number=signal.SIGINT):
        if self.process is None:
            return
        if self.is_paused:
            self.proceed()
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE_S)
        self.process = None

    def pause(self):
        self.send(signal.SIGSTOP)
        self.send(signal.SIGSTOP)  # what it started meanwhile, too
        self.is_paused = True

    def proceed(self):
        self.send(signal.SIGCONT)
        self.is_paused = False

    def kill(self):
        """The first process stops first, so that it starts no others."""
        if self.process is None:
            raise Failure("it is not running")
        os.kill(self.process.pid, signal.SIGSTOP)
        pids = self.pids()
        self.send(signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        deadline = time.monotonic() + PATIENCE_S
        while any(pathlib.Path(f"/proc/{pid}").exists() and not is_zombie(pid) for pid in pids):
            if time.monotonic() > deadline:
                raise Failure("its processes do not end")
            time.sleep(0.005)
        self.process = None
        self.is_paused = False

    def free_memory(self):
        """What a killed server leaves: a segment of shared memory that marks the data folder as in use."""
        try:
            lines = (self.data / "postmaster.pid").read_text(encoding="utf-8").split("\n")
            segment = int(lines[6].split()[1])
        except (OSError, IndexError, ValueError):
            return
        ctypes.CDLL(None).shmctl(segment, 0, None)  # IPC_RMID

    def sql(self, statement):
        words = ["psql", "-X", "-q", "-A", "-t", "-R", ";", "-v", "ON_ERROR_STOP=1", "-d", self.address(), "-c", statement]
        return self.machine.run(*words).replace("\n", " ").strip()

    def follow(self, other, is_synchronous):
        """Become a copy of another server, which is followed from then on."""
        if self.process is not None and self.process.poll() is None:
            raise Failure("it is running")
        shutil.rmtree(self.data, ignore_errors=True)
        self.machine.run(
            "pg_basebackup", "-D", self.data, "-d", other.address(), "-X", "stream", "-c", "fast", "--no-sync", "-R",
        )  # fmt: skip
        self.begin_to_follow(other, is_synchronous)

    def rejoin(self, other, is_synchronous):
        """What it had and the other one has not is taken back."""
        other.sql("CHECKPOINT")  # Before, the other one does not say that it was promoted.
        self.free_memory()
        self.machine.run("pg_rewind", "-D", self.data, "--source-server", other.address(), "--no-sync", "-R")
        self.begin_to_follow(other, is_synchronous)

    def begin_to_follow(self, other, is_synchronous):
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        settings = self.data / "postgresql.auto.conf"
        text = settings.read_text(encoding="utf-8")
        text = re.sub(r"(?m)^synchronous_standby_names.*\n", "", text)
        # The last line counts: those before came with a copy of one that had followed another.
        before, name, after = text.rpartition("primary_conninfo = '")
        text = f"{re.sub('(?m)^primary_conninfo.*', '', before)}{name}application_name={self.name} {after}"
        settings.write_text(text)
        self.configure()
        self.start()
        if is_synchronous:
            other.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{self.name}'")
            other.sql("SELECT pg_reload_conf()")
            other.await_standby(self.name)

    def await_standby(self, name):
        question = f"SELECT count(*) FROM pg_stat_replication WHERE application_name = '{name}' AND sync_state = 'sync'"
        deadline = time.monotonic() + PATIENCE_S
        while self.sql(question) != "1":
            if time.monotonic() > deadline:
                raise Failure(f"{name} does not become a synchronous standby")
            time.sleep(0.02)

    def promote(self):
        self.sql("SELECT pg_promote(true, 600)")


class Pooler:
    """A pgbouncer, with what docs/postgresql.md says of its settings."""

    def __init__(self, server):
        self.machine, self.server, self.port = server.machine, server, free_port()
        self.process = None

    def start(self, program):
        folder = self.machine.folder
        settings = folder / "pgbouncer.ini"
        settings.write_text(POOLER.format(folder=folder, server=self.server.port, port=self.port))
        self.machine.give(settings)
        with open(folder / "pgbouncer.log", "ab") as log:
            self.process = self.machine.start([program, settings], stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE_S
        while not (folder / f".s.PGSQL.{self.port}").exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failure("pgbouncer did not start: " + (folder / "pgbouncer.log").read_text(encoding="utf-8")[-2000:])
            time.sleep(0.005)
        return f"postgresql://rondo@/rondo?host={folder}&port={self.port}"

    def stop(self):
        self.process.kill()
        self.process.wait(PATIENCE_S)


def is_zombie(pid):
    try:
        return ") Z " in pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return True


class Servers:
    def __init__(self, machine):
        self.machine = machine
        self.by_name = {}
        self.poolers = []

    def add(self, name):
        if name in self.by_name:
            raise Failure(f"there is a server {name}")
        self.by_name[name] = Server(self.machine, name)
        return self.by_name[name]

    def find(self, name):
        if name not in self.by_name:
            raise Failure(f"there is no server {name}")
        return self.by_name[name]

    def start_pooler(self, name):
        program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin")
        if program is None:
            return ""
        self.poolers.append(Pooler(self.find(name)))
        return self.poolers[-1].start(program)

    def perform(self, line):
        word, _, rest = line.strip().partition(" ")
        name, _, more = rest.strip().partition(" ")
        if word == "standby":
            of, _, kind = more.partition(" ")
            server = self.by_name[name] if name in self.by_name else self.add(name)
            server.follow(self.find(of), kind == "sync")
            return server.address()
        server = self.find(name)
        if word == "rejoin":
            of, _, kind = more.partition(" ")
            server.rejoin(self.find(of), kind == "sync")
            return server.address()
        actions = {
            "address": server.address,
            "tcp": server.tcp,
            "port": lambda: server.port,
            "pid": lambda: server.process.pid if server.process else 0,
            "sql": lambda: server.sql(more),
            "promote": server.promote,
            "start": server.start,
            "stop": server.stop,
            "kill": server.kill,
            "pause": server.pause,
            "continue": server.proceed,
            "pooler": lambda: self.start_pooler(name),
        }
        if word not in actions:
            raise Failure(f"unknown command {word}")
        return actions[word]()

    def end(self):
        for pooler in self.poolers:
            pooler.stop()
        for server in self.by_name.values():
            if server.process is not None:
                server.stop(signal.SIGQUIT)
            server.free_memory()


def say(word, text=""):
    sys.stdout.write(f"{word} {text}".replace("\n", " ").strip() + "\n")
    sys.stdout.flush()


def serve(servers):
    first = servers.add("a")
    first.create()
    first.start()
    say("ok", first.address())
    for line in sys.stdin:
        try:
            answer = servers.perform(line)
            say("ok", "" if answer is None else answer)
        except (Failure, OSError, subprocess.SubprocessError) as error:
            say("error", error)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(pathlib.Path(__file__).resolve().parents[2] / "build"))
    parser.add_argument("--tcp", action="store_true")
    parser.add_argument("--disk", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    if find_binaries() is None:
        say("skip", f"there is no PostgreSQL {OLDEST} or newer (package postgresql-15)")
        return
    # Whatever ends this script has to end the servers; SIGKILL is what PR_SET_PDEATHSIG is for.
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))
    machine = Machine(arguments)
    servers = Servers(machine)
    try:
        serve(servers)
    except (Failure, OSError, subprocess.SubprocessError) as error:
        say("error", error)
        sys.exit(1)
    finally:
        servers.end()
        machine.remove()


if __name__ == "__main__":
    main()
