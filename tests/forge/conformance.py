# SPDX-License-Identifier: Apache-2.0
"""Each route of GitHub's shape through Prism, which checks requests and answers by GitHub's own OpenAPI document."""

import pathlib
import tempfile
import unittest

import prism
from client import call
from standin import StandIn

# The document is of the REST API only.
UNSENT = {("POST", "/graphql")}


class Conformance(unittest.TestCase):
    """One Prism and one stand-in for all; each test has a repository of its own."""

    @classmethod
    def setUpClass(cls):
        reason = prism.why_not()
        if reason is not None:
            raise unittest.SkipTest(reason)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.forge = StandIn("github", pathlib.Path(cls.folder.name) / "forge")
        cls.addClassCleanup(cls.forge.close)
        cls.routes = {(row[0], prism.form(row[4])) for row in cls.forge.shape.table}
        cls.prism = prism.Prism(cls.folder.name, cls.forge.address, prism.routes_of("github"))
        cls.addClassCleanup(cls.prism.close)
        cls.sent = set()

    def setUp(self):
        self.name = "acme/" + self.id().rpartition(".")[2].replace("test_", "")
        self.act("create-repository")
        self.home = f"/repos/{self.name}"

    def act(self, do, **words):
        return self.forge.act(do, repository=self.name, **words)

    def send(self, method, path, body=None, login="maria", status=200):
        headers = {"Authorization": f"Bearer token-{login}", "Accept": "application/vnd.github+json"}
        reply = call(self.prism.address, method, path, body, headers)
        shown = reply.data.decode(errors="replace")
        self.assertNotIn("stoplight.io/prism", shown, f"{method} {path}")
        self.assertEqual(reply.status, status, f"{method} {path}: {shown[:600]}")
        self.note(method, path.partition("?")[0])
        if reply.data and status < 300:
            self.check_is_looked_at(method, path, body, headers, status)
        return reply.json if reply.data else None

    def check_is_looked_at(self, method, path, body, headers, status):
        """Prism is silent about schemas that it cannot use."""
        with self.forge.world.lock:
            self.forge.faults.clear()
            self.forge.faults.add({"kind": "status", "status": status, "body": 7})
        bad = call(self.prism.address, method, path, body, headers)
        self.assertIn(b"VIOLATIONS", bad.data, f"{method} {path}: not checked")

    def note(self, method, path):
        """Which route that was."""
        for verb, pattern, _, _, words in self.forge.shape.table:
            if verb == method and pattern.fullmatch(path):
                self.sent.add((verb, prism.form(words)))
                return

    def branch(self, name):
        main = self.forge.world.repository(self.name)[0].bare.head("main")
        return self.act("push", branch=name, files={f"{name}.txt": "text\n"}, parent=main)["commit"]

    def test_accounts(self):
        self.send("GET", "/")
        self.send("GET", "/user")
        self.send("GET", "/user", login="nobody", status=401)
        self.send("GET", "/users/sam")
        self.send("GET", "/rate_limit")
        self.send("GET", self.home)
        self.send("GET", "/repos/acme/absent", status=404)
        self.send("PATCH", self.home, {"archived": False, "default_branch": "main"})
        self.send("GET", f"{self.home}/collaborators/sam/permission")
        self.send("GET", f"{self.home}/collaborators/rondo-bot", status=204)
        self.send("GET", f"{self.home}/collaborators/sam", status=404)
        self.assertTrue(self.send("GET", f"{self.home}/assignees"))
        self.send("GET", f"{self.home}/assignees/rondo-bot", status=204)
        self.send("GET", f"{self.home}/assignees/sam", status=404)

    def test_labels(self):
        body = {"name": "code", "color": "aabbcc", "description": "For the queue"}
        self.send("POST", f"{self.home}/labels", body, status=201)
        self.send("POST", f"{self.home}/labels", body, status=422)
        self.assertTrue(self.send("GET", f"{self.home}/labels"))
        self.send("GET", f"{self.home}/labels/code")
        self.send("PATCH", f"{self.home}/labels/code", {"new_name": "task", "color": "112233"})
        self.send("DELETE", f"{self.home}/labels/task", status=204)
        self.send("GET", f"{self.home}/labels/task", status=404)

    def test_issues(self):
        body = {"title": "An issue", "body": "Text", "labels": ["code"], "assignees": ["rondo-bot"]}
        self.send("POST", f"{self.home}/issues", body, status=201)
        self.act("create-issue", **{"as": "sam"})
        query = "state=open&labels=code&sort=created&direction=asc&per_page=100&assignee=*&since=2020-01-01T00:00:00Z"
        self.assertEqual(len(self.send("GET", f"{self.home}/issues?{query}")), 1)
        self.send("GET", f"{self.home}/issues/1")
        self.send("PATCH", f"{self.home}/issues/2", {"title": "Other", "body": "x", "state": "closed", "state_reason": "not_planned"})
        self.send("PATCH", f"{self.home}/issues/2", {"state": "open", "labels": [], "assignees": ["maria"]})
        self.send("PUT", f"{self.home}/issues/1/lock", {"lock_reason": "resolved"}, status=204)
        self.send("DELETE", f"{self.home}/issues/1/lock", status=204)
        self.act("delete-issue", number=2)
        self.send("GET", f"{self.home}/issues/2", status=410)
        self.send("GET", f"{self.home}/issues/9", status=404)

    def test_transferred(self):
        self.act("create-issue")
        self.act("transfer", number=1, to="acme/shop")
        # Prism follows it.
        self.assertTrue(self.send("GET", f"{self.home}/issues/1")["repository_url"].endswith("/acme/shop"))

    def test_labels_of_an_issue(self):
        self.act("create-issue")
        place = f"{self.home}/issues/1/labels"
        self.send("POST", place, {"labels": ["code", "in progress"]})
        self.send("PUT", place, {"labels": ["code", "task"]})
        self.assertEqual(len(self.send("GET", place)), 2)
        self.send("DELETE", f"{place}/task")
        self.send("DELETE", f"{place}/task", status=404)
        self.send("DELETE", place, status=204)

    def test_assignees_of_an_issue(self):
        self.act("create-issue")
        place = f"{self.home}/issues/1/assignees"
        self.send("POST", place, {"assignees": ["rondo-bot"]}, status=201)
        self.send("DELETE", place, {"assignees": ["rondo-bot"]})

    def test_comments(self):
        self.act("create-issue")
        place = f"{self.home}/issues/1/comments"
        number = self.send("POST", place, {"body": "words"}, status=201)["id"]
        self.assertTrue(self.send("GET", f"{place}?per_page=100&since=2020-01-01T00:00:00Z"))
        one = f"{self.home}/issues/comments/{number}"
        self.send("GET", one)
        self.send("PATCH", one, {"body": "edited"})
        self.send("DELETE", one, status=204)
        self.send("GET", one, status=404)

    def test_events(self):
        self.act("create-issue")
        for do, words in (
            ("label", {"label": "code"}),
            ("unlabel", {"label": "code"}),
            ("assign", {"login": "rondo-bot"}),
            ("unassign", {"login": "rondo-bot"}),
            ("edit-issue", {"title": "Other"}),
            ("comment", {"body": "words"}),
            ("lock", {}),
            ("unlock", {}),
            ("close", {}),
            ("reopen", {}),
        ):
            self.act(do, number=1, **words)
        self.assertEqual(len(self.send("GET", f"{self.home}/issues/1/events")), 9)
        self.assertEqual(len(self.send("GET", f"{self.home}/issues/1/timeline")), 10)

    def test_relations(self):
        ids = [self.act("create-issue")["id"] for _ in range(3)]
        self.send("POST", f"{self.home}/issues/1/dependencies/blocked_by", {"issue_id": ids[1]}, status=201)
        self.send("POST", f"{self.home}/issues/1/sub_issues", {"sub_issue_id": ids[2]}, status=201)
        self.assertTrue(self.send("GET", f"{self.home}/issues/1/dependencies/blocked_by"))
        self.assertTrue(self.send("GET", f"{self.home}/issues/1/sub_issues"))
        self.send("GET", f"{self.home}/issues/3")

    def test_pulls(self):
        head = self.branch("work")
        body = {"title": "Work", "head": "acme:work", "base": "main", "body": "Text", "draft": True, "maintainer_can_modify": False}
        self.send("POST", f"{self.home}/pulls", body, status=201)
        self.send("POST", f"{self.home}/pulls", body, status=422)
        self.assertTrue(self.send("GET", f"{self.home}/pulls?head=acme:work&state=all&per_page=100"))
        self.send("GET", f"{self.home}/pulls/1")
        self.send("PATCH", f"{self.home}/pulls/1", {"title": "Other", "body": "x"})
        self.send("PUT", f"{self.home}/pulls/1/merge", {"sha": head}, status=405)
        self.send("GET", f"{self.home}/issues/1")
        self.act("ready", pull=1)
        self.send("GET", f"{self.home}/pulls/1/merge", status=404)
        self.send("PUT", f"{self.home}/pulls/1/merge", {"sha": "0" * 40}, status=409)
        self.send("PUT", f"{self.home}/pulls/1/merge", {"sha": head, "merge_method": "squash"})
        self.send("GET", f"{self.home}/pulls/1/merge", status=204)
        self.send("GET", f"{self.home}/pulls/1")

    def test_forks(self):
        name = self.name.partition("/")[2]
        self.act("fork", owner="sam")
        fork = self.send("GET", f"/repos/sam/{name}", login="sam")
        self.assertEqual((fork["fork"], fork["parent"]["full_name"], fork["source"]["full_name"]), (True, self.name, self.name))
        main = self.forge.world.repository(self.name)[0].bare.head("main")
        self.forge.act("push", repository=f"sam/{name}", branch="work", files={"work.txt": "text\n"}, parent=main)
        body = {"title": "Work", "head": "sam:work", "head_repo": name, "base": "main", "body": "Text", "draft": True}
        self.send("POST", f"{self.home}/pulls", body | {"head": "sam:absent"}, login="sam", status=422)
        self.send("POST", f"{self.home}/pulls", body, login="sam", status=201)
        self.assertEqual(len(self.send("GET", f"{self.home}/pulls?head=sam:work&state=all")), 1)
        self.assertEqual(self.send("GET", f"{self.home}/pulls/1")["head"]["repo"]["full_name"], f"sam/{name}")

    def test_reviews(self):
        self.branch("work")
        self.act("create-pull", head="work", **{"as": "rondo-bot"})
        lines = [{"path": "work.txt", "body": "why", "line": 1}]
        self.send("POST", f"{self.home}/pulls/1/reviews", {"event": "REQUEST_CHANGES", "body": "no", "comments": lines})
        self.assertTrue(self.send("GET", f"{self.home}/pulls/1/reviews?per_page=100"))
        self.assertTrue(self.send("GET", f"{self.home}/pulls/1/comments?per_page=100"))

    def test_checks(self):
        head = self.branch("work")
        self.act("check", name="build", branch="work", conclusion="failure", summary="It does not compile.")
        self.act("check", name="test", branch="work", status="queued")
        self.assertEqual(self.send("GET", f"{self.home}/commits/{head}/check-runs?per_page=100")["total_count"], 2)
        self.send("POST", f"{self.home}/statuses/{head}", {"state": "success", "context": "ci"}, status=201)
        self.assertEqual(self.send("GET", f"{self.home}/commits/{head}/status")["state"], "success")
        self.assertTrue(self.send("GET", f"{self.home}/commits/{head}/statuses"))

    def test_refs(self):
        head = self.branch("work")
        self.assertEqual(len(self.send("GET", f"{self.home}/branches?per_page=1")), 1)
        self.send("GET", f"{self.home}/branches/work")
        self.send("GET", f"{self.home}/branches/absent", status=404)
        self.send("POST", f"{self.home}/git/refs", {"ref": "refs/heads/more", "sha": head}, status=201)
        self.send("POST", f"{self.home}/git/refs", {"ref": "refs/heads/more", "sha": head}, status=422)
        self.send("GET", f"{self.home}/git/ref/heads%2Fmore")
        self.assertEqual(len(self.send("GET", f"{self.home}/git/matching-refs/heads%2Fmo")), 1)
        self.send("PATCH", f"{self.home}/git/refs/heads%2Fmore", {"sha": head, "force": False})
        self.send("DELETE", f"{self.home}/git/refs/heads%2Fmore", status=204)

    def test_what_breaks_the_document_is_seen(self):
        self.act("create-issue")
        self.forge.faults.clear()
        self.forge.faults.add({"kind": "empty-object", "path": "/issues/1$"})
        bad = call(self.prism.address, "GET", f"{self.home}/issues/1")
        self.assertEqual((bad.status, b"VIOLATIONS" in bad.data), (500, True))
        odd = call(self.prism.address, "POST", f"{self.home}/issues/1/comments", {"text": "x"}, {"Authorization": "token token-maria"})
        self.assertEqual((odd.status, b"VALIDATION" in odd.data.upper()), (422, True), odd.data)
        self.assertEqual(call(self.prism.address, "GET", f"{self.home}/odd").status, 404)

    def test_zz_every_route_was_used(self):
        self.assertEqual(set(self.prism.missing), UNSENT)
        self.assertEqual(sorted(self.routes - self.sent - UNSENT), [])
