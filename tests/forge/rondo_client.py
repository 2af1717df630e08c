# SPDX-License-Identifier: Apache-2.0
"""Rondo's own client of forges (driver.c) against the stand-in: the same calls for every kind of forge, and what
becomes of them when answers are lost, refused or wrong."""

import json
import os
import pathlib
import subprocess
import unittest

from client import ForgeCase

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of enum forge_trust.
STRANGER, MEMBER = 0, 2


class Client:
    """The program; `call` is one call of it."""

    def __init__(self, forge, login, repository="acme/shop"):
        program = pathlib.Path(os.environ.get("RONDO_BUILD", ROOT / "build")) / "tests/forge/forge_client"
        if not program.exists():
            raise unittest.SkipTest(f"{program} is not built")
        owner, _, name = repository.rpartition("/")
        words = [str(program), forge.kind, forge.facts()["api"], owner, name, f"token-{login}" if login else ""]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(self, *words):
        self.process.stdin.write("\t".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Calls(ForgeCase):
    """The same for every kind; the kinds are the classes below."""

    def setUp(self):
        super().setUp()
        self.client = self.client_of("rondo-bot")

    def client_of(self, login):
        client = Client(self.forge, login)
        self.addCleanup(client.close)
        return client

    def ends(self, end, *words):
        answer = self.client.call(*words)
        self.assertEqual(answer["end"], end, f"{words}: {answer}")
        return answer.get("result")

    def does(self, *words):
        return self.ends("ok", *words)

    def issue(self, number=1):
        rows = self.control("GET", "state")["repositories"]["acme/shop"]["issues"]
        return next(row for row in rows if row["number"] == number)

    def requests(self):
        return [(row["method"], row["status"]) for row in self.control("GET", "log")]

    # ---- Issues ----

    def test_lists_oldest_first_with_all_labels(self):
        self.act("create-issue", labels=["Code", "task"], **{"as": "sam"})
        self.act("create-issue", labels=["code"])
        self.act("create-issue", labels=["task", "code"])
        self.push_branch("work")
        self.act("create-pull", head="work", title="Work")
        self.act("create-issue", labels=["code"])
        self.act("close", number=2)
        rows = self.does("list", "code")
        self.assertEqual([row["title"] for row in rows], ["An issue"] * 3)
        self.assertEqual([row["number"] for row in rows], [1, 3, 4 if self.kind == "gitlab" else 5])
        self.assertEqual([row["number"] for row in self.does("list", "code", "task")], [1, 3])
        self.assertEqual([row["trust"] for row in rows], [STRANGER, MEMBER, MEMBER])
        self.assertEqual(self.does("list", "absent"), [])

    def test_many_pages(self):
        self.act("create-issue", labels=["code"], count=130)
        rows = self.does("list", "code")
        self.assertEqual([row["number"] for row in rows], list(range(1, 131)))

    def test_what_has_not_changed(self):
        self.act("create-issue", labels=["code"])
        self.does("list", "code")
        if self.kind != "gitea":
            self.ends("not_modified", "list", "code")
            self.assertEqual(self.requests()[-1], ("GET", 304))
        self.act("label", number=1, label="more")
        self.assertEqual(self.does("list", "code")[0]["labels"], ["code", "more"])

    def test_reads_one(self):
        self.act("create-issue", title="One", body="Text", labels=["code"], assignees=["maria"])
        self.act("lock", number=1)
        row = self.does("read", 1)[0]
        shown = [row[name] for name in ("title", "body", "author", "labels", "assignees", "open", "locked", "pull")]
        self.assertEqual(shown, ["One", "Text", "maria", ["code"], ["maria"], True, True, False])
        self.act("close", number=1)
        self.assertFalse(self.does("read", 1)[0]["open"])
        self.ends("absent", "read", 9)

    def test_an_issue_that_is_gone(self):
        self.act("create-issue", count=2)
        self.act("create-repository", repository="acme/other")
        self.act("delete-issue", number=1)
        self.act("transfer", number=2, to="acme/other")
        self.ends("gone" if self.kind == "github" else "absent", "read", 1)
        self.ends("absent" if self.kind == "gitea" else "moved", "read", 2)

    def test_labels(self):
        self.act("create-issue", labels=["code"])
        self.does("ensure", "rondo:assigned", "0e8a16")
        self.does("ensure", "Rondo:Assigned", "0e8a16")
        for _ in range(2):
            self.does("label", 1, "rondo:assigned")
        self.does("label", 1, "new one")
        self.assertEqual(self.issue()["labels"], ["code", "rondo:assigned", "new one"])
        for _ in range(2):
            self.does("unlabel", 1, "rondo:assigned")
        self.does("unlabel", 1, "never")
        self.assertEqual(self.issue()["labels"], ["code", "new one"])

    def test_who_labelled(self):
        self.act("create-issue")
        self.act("label", number=1, label="code")
        self.act("unlabel", number=1, label="code")
        self.act("label", number=1, label="code", **{"as": "sam"})
        self.assertEqual(self.does("labeller", 1, "Code"), "sam")
        self.assertIsNone(self.does("labeller", 1, "other"))

    def test_trust(self):
        trusts = [self.does("trust", login) for login in ("maria", "rondo-bot", "sam", "nobody")]
        self.assertEqual(trusts, [MEMBER, MEMBER, STRANGER, STRANGER])

    def test_assignees_are_added(self):
        self.act("create-issue", assignees=["maria"])
        self.does("assign", 1, "rondo-bot")
        self.assertEqual(self.issue()["assignees"], ["maria", "rondo-bot"])
        self.does("unassign", 1, "rondo-bot")
        self.assertEqual(self.issue()["assignees"], ["maria"])

    def test_blockers(self):
        self.act("create-issue", count=3)
        self.act("block", number=1, by=2)
        self.act("block", number=1, by=3)
        self.act("close", number=2)
        self.assertEqual((self.does("blockers", 1), self.does("blockers", 3)), (1, 0))
        self.act("sub-issue", number=1, child=3)
        children = [row["number"] for row in self.does("children", 1)]
        self.assertEqual(children, [3] if self.kind == "github" else [])

    # ---- Comments ----

    def test_comments(self):
        self.act("create-issue")
        self.act("comment", number=1, body="theirs", **{"as": "sam"})
        first = self.does("comment", 1, "one")
        second = self.does("comment", 1, "two")
        self.assertGreater(second, first)
        self.act("label", number=1, label="code")
        rows = self.does("comments", 1, 0)
        self.assertEqual([row["body"] for row in rows], ["theirs", "one", "two"])
        self.assertEqual([(row["author"], row["trust"]) for row in rows[:2]], [("sam", STRANGER), ("rondo-bot", MEMBER)])
        self.does("edit", 1, first, "edited")
        self.does("delete", 1, second)
        self.assertEqual([row["body"] for row in self.does("comments", 1, rows[0]["id"])], ["edited"])

    def test_many_comments(self):
        self.act("create-issue")
        for number in range(120):
            self.act("comment", number=1, body=str(number))
        self.assertEqual([row["body"] for row in self.does("comments", 1, 0)], [str(number) for number in range(120)])

    # ---- Pull requests ----

    def test_pull_requests(self):
        self.ends("absent", "find-pull", "work")
        head = self.push_branch("work")
        made = self.does("create-pull", "work", "main", "draft", "Work")
        self.assertEqual([made[name] for name in ("head", "head_id", "base", "state", "draft")], ["work", head, "main", "open", True])
        self.ends("conflict", "create-pull", "work", "main", "draft", "Work")
        self.assertEqual(self.does("find-pull", "work")["number"], made["number"])
        self.act("merge", pull=made["number"])
        self.assertEqual(self.does("pull", made["number"])["state"], "merged")
        self.act("push", branch="more", files={"x": "y\n"}, parent=self.main())
        closed = self.does("create-pull", "more", "main", "ready", "More")
        self.assertFalse(closed["draft"])
        self.act("close", pull=closed["number"])
        self.assertEqual(self.does("find-pull", "more")["state"], "closed")

    def test_forks(self):
        """Who may only read works in a fork, and its pull request is not the one of another branch with that name."""
        self.act("user", login="eve", permission="read")
        fork = self.act("fork", owner="eve")["repository"]
        self.client = self.client_of("eve")
        self.assertEqual(self.does("repository")["push"], False)
        found = self.does("fork", fork)
        address = self.forge.facts()["git"].replace("acme/", "eve/")
        self.assertEqual(found, {"clone_url": address, "fork": True, "push": True, "archived": False})
        self.push_branch("work")
        own = self.act("create-pull", head="work")["number"]
        self.ends("absent", "find-pull", "work", fork)
        head = self.act("push", repository=fork, branch="work", files={"x": "y\n"}, parent=self.main())["commit"]
        made = self.does("create-pull", "work", "main", "draft", "Work", fork)
        self.assertEqual([made[name] for name in ("head", "head_id", "state", "draft")], ["work", head, "open", True])
        self.assertNotEqual(made["number"], own)
        self.ends("conflict", "create-pull", "work", "main", "draft", "Work", fork)
        self.assertEqual(self.does("find-pull", "work", fork.upper())["number"], made["number"])
        self.assertEqual(self.does("find-pull", "work")["number"], own)
        more = self.act("push", repository=fork, branch="work", files={"x": "z\n"})["commit"]
        self.assertEqual(self.does("pull", made["number"])["head_id"], more)
        self.act("merge", pull=made["number"])
        self.act("delete-branch", repository=fork, branch="work")
        found = self.does("find-pull", "work", fork)
        self.assertEqual([found[name] for name in ("number", "head", "state")], [made["number"], "work", "merged"])

    def test_what_is_no_fork_of_it(self):
        self.act("user", login="eve", permission="read")
        self.act("create-repository", repository="eve/shop")
        self.client = self.client_of("eve")
        found = self.does("fork", "eve/shop")
        self.assertEqual((found["fork"], found["push"]), (False, True))
        self.act("push", repository="eve/shop", branch="work", files={"x": "y\n"})
        self.assertIn(self.client.call("create-pull", "work", "main", "draft", "Work", "eve/shop")["end"], ("absent", "conflict"))
        self.act("fork", owner="sam")
        self.assertEqual(self.does("fork", "sam/shop")["push"], False)
        self.ends("absent", "fork", "sam/other")

    def test_who_may_only_read(self):
        self.act("create-issue", **{"as": "maria"})
        theirs = self.act("comment", number=1, body="theirs")["id"]
        self.client = self.client_of("sam")
        self.ends("forbidden", "label", 1, "code")
        self.ends("forbidden", "assign", 1, "sam")
        own = self.does("comment", 1, "mine")
        self.does("edit", 1, own, "edited")
        self.ends("forbidden", "edit", 1, theirs, "taken over")
        self.ends("forbidden", "delete", 1, theirs)
        self.does("delete", 1, own)
        self.assertEqual([row["body"] for row in self.issue()["comments"]], ["theirs"])

    def test_reviews(self):
        self.push_branch("work")
        number = self.act("create-pull", head="work")["number"]
        self.assertEqual(self.client.call("reviews", number)["wants_changes"], False)
        lines = [{"path": "work.txt", "body": "why"}]
        self.act("review", pull=number, state="CHANGES_REQUESTED", body="no", lines=lines)
        answer = self.client.call("reviews", number)
        self.assertTrue(answer["wants_changes"])
        self.assertTrue(any("why" in row["body"] for row in answer["result"]), answer)
        self.act("review", pull=number, state="APPROVED")
        self.assertFalse(self.client.call("reviews", number)["wants_changes"])

    def test_checks(self):
        head = self.push_branch("work")
        number = self.act("create-pull", head="work")["number"]
        self.assertEqual(self.does("checks", head), "none")
        self.act("check", name="build", pull=number, status="in_progress")
        self.assertEqual(self.does("checks", head), "pending")
        self.act("check", name="build", pull=number, conclusion="success")
        self.assertEqual(self.does("checks", head), "passed")
        self.act("status", context="lint", state="failure", pull=number)
        answer = self.client.call("checks", head)
        self.assertEqual((answer["result"], "lint" in answer["failed"]), ("failed", True))

    # ---- The repository and the token ----

    def test_repository(self):
        found = self.does("repository")
        self.assertEqual(found["clone_url"], self.forge.facts()["git"])
        wanted = {"default_branch": "main", "login": "rondo-bot", "push": True, "triage": True, "pull": True}
        wanted |= {"archived": False, "empty": False, "issues": True}
        self.assertEqual({name: found[name] for name in wanted}, wanted)
        self.act("set-repository", archived=True, has_issues=False)
        found = self.does("repository")
        self.assertEqual((found["archived"], found["issues"]), (True, False))
        self.client = self.client_of("sam")
        self.assertFalse(self.does("repository")["push"])

    def test_a_repository_that_was_renamed_has_moved(self):
        self.act("create-issue")
        self.act("rename-repository", to="acme/store")
        self.ends("moved", "repository")
        self.ends("moved", "read", 1)
        self.ends("moved", "comment", 1, "words")

    def test_refusals(self):
        self.act("create-issue")
        self.act("expire-token", token="token-rondo-bot")
        self.ends("auth", "read", 1)
        self.act("renew-token", token="token-rondo-bot")
        self.act("set-repository", archived=True)
        self.ends("forbidden", "comment", 1, "words")
        self.act("set-repository", archived=False)
        self.client = self.client_of("sam")
        self.ends("forbidden", "label", 1, "code")

    # ---- Faults ----

    def test_reads_are_repeated(self):
        self.act("create-issue", labels=["code"])
        for kind in ("status", "drop-before", "cut"):
            self.fault(kind, method="GET", path="/issues/1$")
            self.assertEqual(self.does("read", 1)[0]["number"], 1)

    def test_an_outage_is_no_empty_list(self):
        self.act("create-issue", labels=["code"])
        for kind in ("garbage", "empty-object", "status"):
            self.fault(kind, method="GET", times=0)
            self.ends("unavailable", "list", "code")
            self.control("DELETE", "faults")
        self.assertEqual(len(self.does("list", "code")), 1)

    def test_a_write_is_sent_once(self):
        self.act("create-issue")
        for kind, made in (("drop-after", 1), ("status-after", 1), ("cut", 1), ("drop-before", 0), ("status", 0)):
            before = len(self.issue()["comments"])
            self.fault(kind, method="POST")
            self.ends("uncertain", "comment", 1, "words")
            self.assertEqual(len(self.issue()["comments"]), before + made, kind)

    def test_limits_are_told(self):
        self.act("create-issue")
        self.fault("limit-secondary", seconds=5, times=0)
        self.ends("limited", "comment", 1, "words")
        self.control("DELETE", "faults")
        self.assertEqual(self.issue()["comments"], [])

    def test_time_is_the_forges(self):
        self.act("clock", offset_s=-3600)
        self.does("repository")
        self.assertLess(abs(self.does("time") - self.control("GET", "state")["time"]), 600)

    def test_no_link_leads_to_another_host(self):
        self.act("create-issue", labels=["code"], count=130)
        self.fault("other-host", times=0)
        answer = self.client.call("list", "code")
        self.assertEqual(answer["end"], "unavailable", answer["message"])


class GitHub(Calls):
    kind = "github"

    def test_no_drafts_on_this_plan(self):
        self.act("set-repository", has_drafts=False)
        self.push_branch("work")
        self.assertFalse(self.does("create-pull", "work", "main", "draft", "Work")["draft"])


class Gitea(Calls):
    kind = "gitea"


class GitLab(Calls):
    kind = "gitlab"


def load_tests(loader, _tests, _pattern):
    return unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in (GitHub, Gitea, GitLab))
