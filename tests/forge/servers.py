# SPDX-License-Identifier: Apache-2.0
"""`rondo serve --work` with several repositories, while webhooks come, true and forged ones, and people read and steer
the work items over the API: meant for builds with a sanitizer, which end a process at the first finding."""

import hashlib
import hmac
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import unittest

from client import PATIENCE_S, ForgeCase

REPOSITORIES = ("acme/shop", "acme/parcels", "acme/bills")
ISSUES = 4
SECRET, TOKEN = "secret-of-hooks", "token-rondo-bot"
FILE = """
defaults:
  forge: github
  api: %(api)s
  token-env: SERVER_TOKEN
  hook-secret-env: SERVER_HOOK
  poll: 1s
  write-gap: 1ms
  sandbox: none
  gate: ["made=test -e made.txt"]
  max-concurrent: 2
  issues-per-hour: 1000
  command: [/bin/sh, -c, "sleep 0.1; echo made >made.txt"]
repositories:
"""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Servers(ForgeCase):
    def setUp(self):
        super().setUp()
        self.rondo = pathlib.Path(os.environ.get("RONDO_BUILD", "build")).resolve() / "src/cli/rondo"
        if not self.rondo.exists():
            self.skipTest(f"{self.rondo} is not built")
        (self.path / ".gitconfig").write_text("[user]\n\tname = Bot\n\temail = bot@example.org\n")
        for name in REPOSITORIES:
            if name != "acme/shop":
                self.act("create-repository", repository=name, files={"README": "text\n"})
                self.act("set-permission", repository=name, login="rondo-bot", permission="write")
            self.act("create-issue", repository=name, title="Make it", labels=["code"], count=ISSUES)
        facts = self.forge.facts()
        text = FILE % {"api": facts["api"]}
        text += "".join(f"  - repo: {self.forge.address}/{name}\n" for name in REPOSITORIES)
        (self.path / "work.yaml").write_text(text)
        self.socket, self.answers, self.failures, self.is_over = self.path / "socket", {}, [], False

    # ---- The server ----

    def start(self):
        variables = {
            "PATH": os.environ["PATH"], "HOME": str(self.path), "XDG_STATE_HOME": str(self.path / "state"),
            "XDG_CACHE_HOME": str(self.path / "cache"), "SERVER_TOKEN": TOKEN, "SERVER_HOOK": SECRET,
        }  # fmt: skip
        variables |= {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
        words = ["serve", "--work", "work.yaml", "--store", "server.db", "--listen", f"unix:{self.socket}"]
        words += ["--rate", "100000"]
        with open(self.path / "output", "a", encoding="utf-8") as output:
            process = subprocess.Popen(
                [str(self.rondo), *words], cwd=self.path, env=variables,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip
        self.addCleanup(process.kill)
        return process

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=PATIENCE_S), 0, (self.path / "output").read_text()[-4000:])

    # ---- What people and forges do meanwhile ----

    def ask(self, method, path, body=None, headers=None):
        """@return (status, body); (0, "") while there is no server"""
        connection = UnixConnection(self.socket)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()

    def note(self, what, status, text):
        if TOKEN in text or SECRET in text:
            self.failures.append(f"{what}: {text}")
        key = (what, status)
        self.answers[key] = self.answers.get(key, 0) + 1

    def send_hooks(self):
        data = b'{"action": "labeled"}'
        good = "sha256=" + hmac.new(SECRET.encode(), data, hashlib.sha256).hexdigest()
        for name, signature in (("true hook", good), ("forged hook", "sha256=" + "0" * 64)):
            self.note(name, *self.ask("POST", "/hooks/work", data, {"X-Hub-Signature-256": signature}))

    def steer(self):
        status, text = self.ask("GET", "/v1/work")
        self.note("list", status, text)
        for item in json.loads(text)["items"] if status == 200 else []:
            self.note("item", *self.ask("GET", f"/v1/work/{item['id']}"))
            # What cannot be retried now is refused: an issue that is released is left alone for an hour.
            self.note("retry", *self.ask("POST", f"/v1/work/{item['id']}/retry"))

    def keep_on(self, do):
        while not self.is_over:
            try:
                do()
            except Exception as error:  # a thread's failure is the test's
                self.failures.append(repr(error))
                return
            time.sleep(0.01)

    # ---- The test ----

    def wait_for(self, count):
        """Until so many issues are in review."""
        limit = time.monotonic() + PATIENCE_S
        while self.in_review() < count:
            self.assertLess(time.monotonic(), limit, (self.path / "output").read_text()[-4000:])
            time.sleep(0.1)

    def repositories(self):
        return self.control("GET", "state")["repositories"]

    def in_review(self):
        found = [issue["labels"] for name in REPOSITORIES for issue in self.repositories()[name]["issues"]]
        return sum("rondo:in-review" in labels for labels in found)

    def test_several_repositories_webhooks_and_people_at_once(self):
        deeds = (self.send_hooks, self.send_hooks, self.steer)
        threads = [threading.Thread(target=self.keep_on, args=(deed,)) for deed in deeds]
        process = self.start()
        for thread in threads:
            thread.start()
        try:
            self.wait_for(len(REPOSITORIES))
            self.end(process)
            process = self.start()
            self.wait_for(len(REPOSITORIES) * ISSUES)
        finally:
            self.is_over = True
            for thread in threads:
                thread.join()
        self.end(process)
        self.assertEqual(self.failures, [])
        self.assertTrue(self.answers.get(("true hook", 202)), self.answers)
        self.assertTrue(self.answers.get(("forged hook", 401)), self.answers)
        self.assertNotIn(("forged hook", 202), self.answers)
        self.assertTrue(self.answers.get(("item", 200)), self.answers)
        for name in REPOSITORIES:
            heads = [pull["pull"]["head"] for pull in self.repositories()[name]["pulls"]]
            self.assertEqual(len(heads), ISSUES, heads)
            self.assertEqual(len(set(heads)), ISSUES, heads)
        self.assertNotIn(TOKEN, (self.path / "output").read_text())
