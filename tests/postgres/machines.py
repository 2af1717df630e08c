# SPDX-License-Identifier: Apache-2.0
"""Machines with one database: each has a state folder, a name and a process of `rondo serve`. Those that are `apart` have
process ids of their own too, so that no other can see whether their process lives: they are what other machines are."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

from database import BUILD

RONDO = BUILD / "src/cli/rondo"
PRELOADED = BUILD / "tests/forge/libmachine.so"
ANSWER_S = 60


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def children_of(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    except OSError:
        return []
    return [int(word) for word in text.split()]


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def make_token(address, folder):
    """@return headers of one who may start commands without a sandbox"""
    words = [str(RONDO), "token", "create", "client", "--scope", "administer", "--store", address]
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {"Authorization": f"Bearer {done.stdout.strip()}"}


class Machine:
    """Its process begins with start(), each time under a name of its own, which its workers and the journal have."""

    def __init__(self, folder, number, address, options=(), is_apart=True, wrapper=(), offset_s=0):
        self.number, self.address, self.options, self.is_apart = number, address, list(options), is_apart
        self.wrapper, self.offset_s = list(wrapper), offset_s
        self.folder = pathlib.Path(folder) / f"machine-{number}"
        self.folder.mkdir()
        self.socket = self.folder / "socket"
        self.starts, self.process, self.is_frozen = 0, None, False
        self.credentials = {}  # A client outside of a machine's process ids is a stranger there without a token.

    @property
    def name(self):
        """Of the present process."""
        return f"m{self.number}.{self.starts}"

    def command(self):
        words = [str(RONDO), "serve", "--store", self.address, "--listen", f"unix:{self.socket}", "--rate", "1000000"]
        words += ["--workspace", str(self.folder.parent / "work"), "--stall-after", "0", *self.options]
        if self.is_apart:
            alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
            if os.geteuid() != 0:
                alone[1:1] = ["--user", "--map-root-user"]
            words = [*alone, *words]
        return [*self.wrapper, *words]

    def start(self):
        self.starts += 1
        self.socket.unlink(missing_ok=True)
        variables = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "state"),
            "LC_ALL": "C", "LD_PRELOAD": str(PRELOADED), "MACHINE_NAME": self.name, "MACHINE_OFFSET_S": str(self.offset_s),
        }  # fmt: skip
        with open(self.folder / "output", "a", encoding="utf-8") as output:
            print(f"---- {self.name} at {time.time():.3f}", file=output, flush=True)
            self.process = subprocess.Popen(
                self.command(), cwd=self.folder, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def pid(self):
        """That of `rondo` itself; None until it has begun, or when it has ended."""
        pids = [self.process.pid] if self.is_running() else []
        for pid in pids:
            try:
                if os.path.samefile(f"/proc/{pid}/exe", RONDO):
                    return pid
            except OSError:
                pass
            pids += children_of(pid)
        return None

    def wait_ready(self, seconds=ANSWER_S):
        """@return whether it answers; False when it has ended before"""
        limit = time.monotonic() + seconds
        while self.is_running() and time.monotonic() < limit:
            if self.ask("GET", "/healthz")[0] == 200:
                return True
            time.sleep(0.05)
        return False

    def kill(self):
        """As `kill -9` does to the process. @return when, by the wall clock"""
        pid = self.pid()
        if pid is not None:
            send(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.is_frozen = False
        return time.time()

    def freeze(self):
        """The process only: what it has started continues. @return whether there was one"""
        pid = self.pid()
        if pid is None:
            return False
        send(pid, signal.SIGSTOP)
        self.is_frozen = True
        return True

    def thaw(self):
        pid = self.pid()
        if pid is not None:
            send(pid, signal.SIGCONT)
        self.is_frozen = False

    def end(self, seconds=600):
        """In good order. @return its exit code"""
        pid = self.pid()
        if pid is not None:
            send(pid, signal.SIGTERM)
        return self.process.wait(timeout=seconds)

    def output(self):
        return (self.folder / "output").read_text(encoding="utf-8", errors="replace")

    # ---- HTTP ----

    def connect(self, timeout=ANSWER_S):
        return UnixConnection(self.socket, timeout)

    def ask(self, method, path, body=None, headers=None, timeout=ANSWER_S):
        """@return (status, body); (0, reason) when there was no answer"""
        connection = self.connect(timeout)
        try:
            data = None if body is None else json.dumps(body)
            sent = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, data, sent | self.credentials | (headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, repr(error)
        finally:
            connection.close()
