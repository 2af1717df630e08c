# SPDX-License-Identifier: Apache-2.0
"""A plain client of the stand-in, for tests of it: one request a call, nothing repeated."""

import http.client
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import urllib.parse

from standin import StandIn

# Nothing here takes long; what comes near this hangs.
PATIENCE_S = 600


class Reply:
    def __init__(self, answer):
        self.status, self.headers = answer.status, answer.headers
        self.data = answer.read()

    @property
    def json(self):
        return json.loads(self.data)


def call(address, method, path, body=None, headers=None):
    where = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=PATIENCE_S)
    try:
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body)
        own = {"User-Agent": "test"} | ({"Content-Type": "application/json"} if data is not None else {})
        connection.request(method, where.path + path, data, own | (headers or {}))
        return Reply(connection.getresponse())
    finally:
        connection.close()


def git(*words, folder=None, is_allowed=(0,)):
    """Run git as a program on another machine would. @return the finished process"""
    own = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    who = {"GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "t@example.org"}
    who |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in who.items()}
    variables = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C"} | own | who
    done = subprocess.run(
        ["git", *words], cwd=folder, env=variables, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode in is_allowed, f"git {words}: {done.stderr}"
    return done


class ForgeCase(unittest.TestCase):
    """A stand-in of `kind` for each test."""

    kind = "github"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.forge = StandIn(self.kind, self.path / "forge")
        self.addCleanup(self.forge.close)
        self.home = "/repos/acme/shop"

    def auth(self, login):
        return {"Authorization": f"token token-{login}"} if login else {}

    def call(self, method, path, body=None, login="rondo-bot", **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return call(self.forge.facts()["api"], method, path, body, self.auth(login) | named)

    def ok(self, method, path, body=None, status=None, **words):
        """@return the JSON of an answer that has to be good"""
        reply = self.call(method, path, body, **words)
        good = (status,) if status else (200, 201, 204)
        self.assertIn(reply.status, good, f"{method} {path}: {reply.data}")
        return reply.json if reply.data else None

    def control(self, method, path, body=None):
        reply = call(self.forge.address, method, f"/_control/{path}", body)
        self.assertEqual(reply.status, 200, reply.data)
        return reply.json

    def act(self, do, **words):
        return self.control("POST", "act", {"do": do, **words})

    def fault(self, kind, **words):
        return self.control("POST", "faults", {"kind": kind, **words})

    def address_for(self, login="rondo-bot"):
        where = urllib.parse.urlsplit(self.forge.facts()["git"])
        return f"http://any:token-{login}@{where.netloc}{where.path}" if login else self.forge.facts()["git"]

    def clone(self, name="clone", login="rondo-bot"):
        git("clone", "-q", self.address_for(login), str(self.path / name))
        return self.path / name

    def push_branch(self, branch, files=None):
        return self.act("push", branch=branch, files=files or {f"{branch}.txt": "text\n"}, parent=self.main())["commit"]

    def main(self):
        return self.forge.repository.bare.head("main")
