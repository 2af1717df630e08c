# SPDX-License-Identifier: Apache-2.0
"""A real `rondo serve` for the tests of the clients, with a token of an agent, and people who decide by commands.

    served.py AGENT...      prints address and token; a line `approve|reject ID` on stdin decides
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

RONDO = os.environ.get("RONDO_BIN", "rondo")


class Served:
    """`rondo serve` on a new store, on a TCP port and a Unix socket."""

    def __init__(self, *agents):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rondo-sdk-"))
        self.environment = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "HOME": str(self.folder)}
        self.socket = f"unix:{self.folder}/rondo.sock"
        log = self.log = (self.folder / "log").open("wb")
        command = [RONDO, "serve", "--store", str(self.folder / "store"), "--listen", "127.0.0.1:0", "--listen", self.socket]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, env=self.environment)
        self.endpoint = self.wait_for_address()
        scope = [word for agent in agents for word in ("--agent", agent)]
        self.token = self.run("token", "create", "--scope", "agent", *scope, "sdk").split()[0]
        signed = self.run("token", "create", "--scope", "agent", "--signing", "required", *scope, "signed")
        self.signed_token, self.secret = signed.split()

    def wait_for_address(self):
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            found = re.search(r"http://127\.0\.0\.1:\d+", (self.folder / "log").read_text())
            if found:
                return found[0]
            time.sleep(0.02)
        raise AssertionError((self.folder / "log").read_text())

    def run(self, *words, is_good=True):
        command = [RONDO, *words, "--store", str(self.folder / "store")]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, cwd=self.folder, timeout=60, check=False)
        if is_good and done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout

    def has_routes(self):
        """Whether this server has the routes of agents."""
        request = urllib.request.Request(f"{self.endpoint}/v1/hitl/requests/x", headers={"Authorization": f"Bearer {self.token}"})
        try:
            urllib.request.urlopen(request, timeout=10).close()
        except urllib.error.HTTPError as error:
            with error:
                return b'"retryable"' in error.read()
        return True

    def waiting(self, count=1):
        """The ids of requests that wait, when there are so many."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            lines = self.run("inbox", "--json").splitlines()
            ids = [json.loads(line)["request_id"] for line in lines]
            if len(ids) >= count:
                return ids
            time.sleep(0.05)
        raise AssertionError(f"{len(ids)} requests wait, not {count}")

    def show(self, request_id):
        return json.loads(self.run("inbox", "show", request_id, "--json"))

    def approve(self, request_id):
        self.run("approve", request_id)

    def reject(self, request_id, comment="no"):
        self.run("reject", request_id, "-m", comment)

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


if __name__ == "__main__":
    served = Served(*sys.argv[1:])
    try:
        known = {"endpoint": served.endpoint, "token": served.signed_token, "signingSecret": served.secret}
        print(json.dumps({**known, "has_routes": served.has_routes()}), flush=True)
        for line in sys.stdin:
            verb, request_id = line.split()
            {"approve": served.approve, "reject": served.reject}[verb](request_id)
            print("done", flush=True)
    finally:
        served.close()
