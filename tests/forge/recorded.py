# SPDX-License-Identifier: Apache-2.0
"""Exchanges with the real GitHub that Octokit has recorded, sent to the stand-in: the status is the recorded one,
and what the recorded answer has in members and headers, the stand-in's answer has too."""

import json
import re
import unittest
import urllib.parse

import prism
from client import ForgeCase

FOLDER = prism.MODULES / "@octokit/fixtures/scenarios/api.github.com"
OWNER = "octokit-fixture-org"
# GitHub has removed the list of references since; headers that say nothing of the exchange are not compared.
REMOVED = {("get", "/git/refs/")}
COMPARED = re.compile(r"etag|link|location|content-type|date|x-ratelimit-.*|x-github-.*|x-oauth-scopes")


def differences(recorded, ours, place=""):
    """What the recorded value has that ours has not, by places."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for name, value in recorded.items():
            if name not in ours:
                yield f"{place}.{name} is missing"
            else:
                yield from differences(value, ours[name], f"{place}.{name}")
    elif isinstance(recorded, list) and isinstance(ours, list):
        if recorded and ours:
            yield from differences(recorded[0], ours[0], f"{place}[0]")
    elif recorded is not None and ours is not None and type(recorded) is not type(ours):
        yield f"{place} is {type(ours).__name__}, was {type(recorded).__name__}"


def form_of_links(text):
    """Links with their order, queries and pages, without host and repository."""
    return [(path.rpartition("/")[2], sorted(urllib.parse.parse_qsl(query)), rel) for path, query, rel in links(text)]


def links(text):
    return re.findall(r"<[^>]*?(/repositories/\d+/[^?>]*)\?([^>]*)>; rel=\"(\w+)\"", text)


class Recorded(ForgeCase):
    @classmethod
    def setUpClass(cls):
        reason = prism.why_not()
        if reason is not None:
            raise unittest.SkipTest(reason)

    def start(self, name):
        self.act("create-repository", repository=f"{OWNER}/{name}")
        self.words = {"repository": f"{OWNER}/{name}"}
        self.where = self.forge.world.repository(f"{OWNER}/{name}")[0]
        commit = self.where.bare.head("main")
        self.commits = {f"{number:040d}": commit for number in (1, 2)}
        self.act("set-permission", login="maria", permission="admin", **self.words)

    def ours(self, text):
        """Numbers of the recording, as they are here."""
        for theirs, commit in self.commits.items():
            text = text.replace(theirs, commit)
        return text.replace("/repositories/1000", f"/repositories/{self.where.id}")

    def replay(self, scenario):
        rows = json.loads((FOLDER / scenario / "normalized-fixture.json").read_text())
        sent = 0
        for row in rows:
            if any(row["method"] == method and row["path"].endswith(end) for method, end in REMOVED):
                continue
            body = json.loads(self.ours(json.dumps(row["body"]))) or None
            reply = self.call(row["method"].upper(), self.ours(row["path"]), body, login="maria")
            what = f"{row['method']} {row['path']}"
            self.assertEqual(reply.status, row["status"], f"{what}: {reply.data}")
            if row["response"]:
                self.assertEqual(list(differences(row["response"], reply.json)), [], what)
            self.compare_headers(row["headers"], reply.headers, what)
            sent += 1
        self.assertGreater(sent, 0)

    def compare_headers(self, recorded, ours, what):
        for name, value in recorded.items():
            if COMPARED.fullmatch(name):
                self.assertIn(name, [each.lower() for each in ours], what)
            if name == "link":
                self.assertEqual(form_of_links(ours["Link"]), form_of_links(value), what)
            if name in ("content-type", "x-github-media-type", "x-ratelimit-resource"):
                self.assertEqual(ours[name], value, what)

    def test_root(self):
        self.start("root")
        self.replay("get-root")

    def test_repository(self):
        self.start("hello-world")
        self.replay("get-repository")

    def test_rename(self):
        self.start("rename-repository")
        self.replay("rename-repository")

    def test_labels(self):
        self.start("labels")
        self.act("create-label", label="bug", color="d73a4a", description="Something is broken", **self.words)
        self.replay("labels")

    def test_labels_of_an_issue(self):
        self.start("add-labels-to-issue")
        self.replay("add-labels-to-issue")

    def test_errors(self):
        self.start("errors")
        self.replay("errors")

    def test_lock(self):
        self.start("lock-issue")
        self.act("create-issue", **self.words)
        self.replay("lock-issue")

    def test_pages(self):
        self.start("paginate-issues")
        self.act("create-issue", count=13, **self.words)
        self.replay("paginate-issues")

    def test_statuses(self):
        self.start("create-status")
        self.replay("create-status")

    def test_references(self):
        self.start("git-refs")
        self.replay("git-refs")

    def test_a_difference_is_seen(self):
        found = list(differences({"a": 1, "b": [{"c": "x"}], "d": None}, {"a": "1", "b": [{}], "d": 2}))
        self.assertEqual(found, [".a is str, was int", ".b[0].c is missing"])
