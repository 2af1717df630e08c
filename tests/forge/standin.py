#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A forge for tests: GitHub, Gitea or GitLab as far as a work queue uses them, with real git over HTTP.

    tests/forge/standin.py --kind github|gitea|gitlab --folder DIR [--listen ADDRESS] [--port N] [--repository O/R] [--setup FILE]

Its state is in memory and in bare repositories below DIR, which has to be empty or absent. It prints one line of
JSON with its addresses and tokens when it answers, and ends with its standard input (if that is a pipe) or when it
is terminated. README.md says what it can do and how tests make things go wrong.
"""

import argparse
import json
import os
import pathlib
import signal
import stat
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from control import Control
from faults import Faults
from limits import Limits
from serving import Log, Server, git_answer
from webhooks import Webhooks
from world import World

KINDS = ("github", "gitea", "gitlab")
# Who is there from the start: a maintainer, the account of the work queue, and a stranger.
PEOPLE = {"maria": "admin", "rondo-bot": "write", "sam": None}


def shape_class(kind):
    """Shapes are read when they are needed: starting is to be quick."""
    if kind == "gitea":
        from gitea import Gitea

        return Gitea
    if kind == "gitlab":
        from gitlab import GitLab

        return GitLab
    from github_code import WholeGitHub

    return WholeGitHub


class StandIn:
    """Answers at `address` until it is closed."""

    def __init__(self, kind, folder, port=0, repository="acme/shop", files=None, listen="127.0.0.1"):
        self.kind, self.closed = kind, threading.Event()
        self.permissions = {login: level for login, level in PEOPLE.items() if level}
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        self.world = World(folder, has_own_pull_numbers=kind == "gitlab")
        self.faults, self.log = Faults(), Log(self.world)
        self.shape = shape_class(kind)(self.world, Limits(self.world))
        self.control = Control(self)
        self.webhooks = Webhooks(kind, self.world)
        for login in PEOPLE:
            self.world.add_user(login)
        owner, _, name = repository.rpartition("/")
        self.repository = self.world.add_repository(owner, name, files=files)
        self.repository.permissions |= self.permissions
        self.server = Server(self, listen, port)
        self.address = f"http://{listen}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def serve_api(self, request, entry):
        with self.world.lock:
            before = self.world.version
            answer = self.shape.answer(request)
            entry["wrote"] = self.world.version != before
        return answer

    def serve_git(self, request, match, entry):
        return git_answer(self, request, match, entry)

    def act(self, do, **words):
        """An action of the control API, without HTTP."""
        with self.world.lock:
            return self.control.act({"do": do, **words})

    def facts(self):
        """What a test has to know to begin."""
        return {
            "kind": self.kind,
            "address": self.address,
            "api": self.shape.api_address(self.address),
            "repository": self.repository.full_name,
            "git": f"{self.address}/{self.repository.full_name}.git",
            "control": f"{self.address}/_control",
            "tokens": {login: f"token-{login}" for login in PEOPLE},
        }

    def close(self):
        self.closed.set()
        self.faults.clear()
        self.server.shutdown()
        self.server.server_close()


def wait_for_end():
    """Until standard input ends, if that is a pipe, or a signal comes."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    if stat.S_ISFIFO(os.fstat(0).st_mode) or stat.S_ISSOCK(os.fstat(0).st_mode):

        def read():
            while os.read(0, 4096):
                pass
            ended.set()

        threading.Thread(target=read, daemon=True).start()
    while not ended.wait(1):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kind", choices=KINDS, default="github")
    parser.add_argument("--folder", required=True, help="for the repositories; empty or absent")
    parser.add_argument("--listen", default="127.0.0.1", metavar="ADDRESS")
    parser.add_argument("--port", type=int, default=0, help="0 = any that is free")
    parser.add_argument("--repository", default="acme/shop", metavar="OWNER/NAME")
    parser.add_argument("--setup", metavar="FILE", help="JSON: a list of actions (README.md) to begin with")
    arguments = parser.parse_args()
    forge = StandIn(arguments.kind, arguments.folder, arguments.port, arguments.repository, listen=arguments.listen)
    if arguments.setup:
        for words in json.loads(pathlib.Path(arguments.setup).read_text()):
            forge.act(**words)
    print(json.dumps(forge.facts()), flush=True)
    wait_for_end()
    forge.close()


if __name__ == "__main__":
    main()
