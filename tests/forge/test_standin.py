# SPDX-License-Identifier: Apache-2.0
"""What GitHub's shape of the stand-in answers, and its git."""

import email.utils
import threading
import time

from client import ForgeCase, call, git


class Issues(ForgeCase):
    def test_they_are_listed_newest_first_with_pull_requests(self):
        self.act("create-issue", title="first", count=2)
        self.push_branch("work")
        self.act("create-pull", head="work")
        numbers = [issue["number"] for issue in self.ok("GET", f"{self.home}/issues")]
        self.assertEqual(numbers, [3, 2, 1])
        rows = self.ok("GET", f"{self.home}/issues?direction=asc&sort=created")
        self.assertEqual([("pull_request" in row) for row in rows], [False, False, True])

    def test_filters_are_all_of_them_and_know_no_case(self):
        self.act("create-issue", labels=["Code", "task"])
        self.act("create-issue", labels=["code"])
        self.act("assign", number=2, login="rondo-bot")
        self.assertEqual([row["number"] for row in self.ok("GET", f"{self.home}/issues?labels=code,TASK")], [1])
        self.assertEqual([row["number"] for row in self.ok("GET", f"{self.home}/issues?assignee=none")], [1])
        self.assertEqual([row["number"] for row in self.ok("GET", f"{self.home}/issues?assignee=rondo-bot")], [2])
        self.assertEqual(self.ok("GET", f"{self.home}/issues?labels=code,absent"), [])

    def test_pages_lead_to_the_number_of_the_repository(self):
        self.act("create-issue", count=5)
        first = self.call("GET", f"{self.home}/issues?per_page=2&direction=asc")
        link = first.headers["Link"]
        self.assertIn(f"/api/v3/repositories/{self.forge.repository.id}/issues?", link)
        address = link.split(">")[0].lstrip("<")
        second = call(address, "GET", "?" + address.partition("?")[2], headers=self.auth("rondo-bot"))
        self.assertEqual([row["number"] for row in second.json], [3, 4])
        self.assertIn('rel="last"', link)
        last = self.call("GET", f"{self.home}/issues?per_page=2&page=3&direction=asc")
        self.assertNotIn('rel="next"', last.headers["Link"])

    def test_labels_keep_their_first_spelling_and_are_made_by_use(self):
        self.act("create-issue")
        self.ok("POST", f"{self.home}/labels", {"name": "In Progress", "color": "aabbcc"}, status=201)
        names = [row["name"] for row in self.ok("POST", f"{self.home}/issues/1/labels", {"labels": ["in progress", "new"]})]
        self.assertEqual(names, ["In Progress", "new"])
        self.assertEqual(self.ok("GET", f"{self.home}/labels/new")["color"], "ededed")
        self.ok("DELETE", f"{self.home}/issues/1/labels/IN%20PROGRESS")
        self.assertEqual(self.call("DELETE", f"{self.home}/issues/1/labels/in%20progress").status, 404)
        odd = self.ok("POST", f"{self.home}/issues/1/labels", {"labels": '["x"]'})
        self.assertEqual([row["name"] for row in odd], ["new", '["x"]'])
        self.assertEqual(self.call("POST", f"{self.home}/labels", {"name": "NEW"}).json["errors"][0]["code"], "already_exists")

    def test_without_the_right_labels_are_refused_and_assignees_ignored(self):
        self.act("create-issue")
        self.assertEqual(self.call("POST", f"{self.home}/issues/1/labels", {"labels": ["x"]}, login="sam").status, 403)
        answer = self.ok("POST", f"{self.home}/issues/1/assignees", {"assignees": ["sam"]}, login="sam", status=201)
        self.assertEqual(answer["assignees"], [])
        self.assertEqual(self.call("GET", f"{self.home}/assignees/sam").status, 404)
        self.assertEqual(self.call("GET", f"{self.home}/assignees/rondo-bot").status, 204)

    def test_comments_have_rising_ids_beyond_32_bits(self):
        self.act("create-issue")
        ids = [self.ok("POST", f"{self.home}/issues/1/comments", {"body": str(n)}, status=201)["id"] for n in range(3)]
        self.assertEqual(ids, sorted(ids))
        self.assertGreater(ids[0], 1 << 32)
        self.ok("PATCH", f"{self.home}/issues/comments/{ids[1]}", {"body": "edited"})
        self.assertEqual(self.call("PATCH", f"{self.home}/issues/comments/{ids[1]}", {"body": "x"}, login="sam").status, 403)
        self.ok("DELETE", f"{self.home}/issues/comments/{ids[0]}", status=204)
        self.assertEqual([row["body"] for row in self.ok("GET", f"{self.home}/issues/1/comments")], ["edited", "2"])

    def test_who_set_a_label_is_in_events(self):
        self.act("create-issue")
        self.act("label", number=1, label="code", **{"as": "sam"})
        self.ok("POST", f"{self.home}/issues/1/labels", {"labels": ["code", "more"]})
        events = self.ok("GET", f"{self.home}/issues/1/events")
        self.assertEqual([(row["label"]["name"], row["actor"]["login"]) for row in events], [("code", "sam"), ("more", "rondo-bot")])
        self.act("comment", number=1, body="words")
        self.assertEqual([row["event"] for row in self.ok("GET", f"{self.home}/issues/1/timeline")], ["labeled", "labeled", "commented"])

    def test_associations(self):
        self.act("create-issue", **{"as": "sam"})
        self.act("create-issue", **{"as": "maria"})
        rows = self.ok("GET", f"{self.home}/issues?direction=asc")
        self.assertEqual([row["author_association"] for row in rows], ["NONE", "MEMBER"])
        permission = self.ok("GET", f"{self.home}/collaborators/sam/permission")
        self.assertEqual((permission["permission"], permission["role_name"]), ("read", "read"))

    def test_transferred_and_deleted_ones(self):
        self.act("create-repository", repository="acme/other")
        self.act("create-issue", count=2)
        self.act("transfer", number=1, to="acme/other")
        moved = self.call("GET", f"{self.home}/issues/1")
        self.assertEqual(moved.status, 301)
        address = moved.headers["Location"]
        self.assertEqual(call(address, "GET", "").json["repository_url"].rsplit("/", 2)[1:], ["acme", "other"])
        self.act("delete-issue", number=2)
        self.assertEqual(self.call("GET", f"{self.home}/issues/2").status, 410)
        self.assertEqual(self.call("GET", f"{self.home}/issues/3").status, 404)
        self.assertEqual(self.ok("GET", f"{self.home}/issues"), [])

    def test_relations(self):
        self.act("create-issue", count=3)
        self.act("block", number=1, by=2)
        self.act("sub-issue", number=1, child=3)
        self.assertEqual([row["number"] for row in self.ok("GET", f"{self.home}/issues/1/dependencies/blocked_by")], [2])
        self.assertEqual([row["number"] for row in self.ok("GET", f"{self.home}/issues/1/sub_issues")], [3])
        self.assertEqual(self.ok("GET", f"{self.home}/issues/1")["issue_dependencies_summary"]["blocked_by"], 1)
        self.act("close", number=2)
        self.assertEqual(self.ok("GET", f"{self.home}/issues/1")["issue_dependencies_summary"]["blocked_by"], 0)


class Protocol(ForgeCase):
    def test_what_has_not_changed_is_not_sent_and_costs_nothing(self):
        self.act("create-issue")
        first = self.call("GET", f"{self.home}/issues")
        second = self.call("GET", f"{self.home}/issues", If_None_Match=first.headers["ETag"])
        self.assertEqual((second.status, second.data), (304, b""))
        self.assertEqual(first.headers["x-ratelimit-remaining"], second.headers["x-ratelimit-remaining"])
        self.act("comment", number=1, body="words")
        self.assertEqual(self.call("GET", f"{self.home}/issues", If_None_Match=first.headers["ETag"]).status, 200)

    def test_the_clock_is_the_forges(self):
        self.act("clock", offset_s=3600)
        date = email.utils.parsedate_to_datetime(self.call("GET", self.home).headers["Date"]).timestamp()
        self.assertGreater(date, time.time() + 3000)
        self.act("create-issue")
        self.assertGreater(self.control("GET", "state")["time"], time.time() + 3000)

    def test_the_primary_limit(self):
        self.act("limits", login="rondo-bot", remaining=1, reset_in_s=100)
        self.assertEqual(self.call("GET", self.home).headers["x-ratelimit-remaining"], "0")
        refused = self.call("GET", self.home)
        self.assertEqual((refused.status, refused.headers["x-ratelimit-remaining"]), (403, "0"))
        self.assertEqual(self.call("GET", self.home, login="sam").status, 200)
        self.act("clock", offset_s=200)
        self.assertEqual(self.call("GET", self.home).status, 200)

    def test_a_secondary_limit(self):
        self.act("limits", writes_per_minute=1, retry_after_s=7)
        self.ok("POST", f"{self.home}/issues", {"title": "one"}, status=201)
        refused = self.call("POST", f"{self.home}/issues", {"title": "two"})
        self.assertEqual((refused.status, refused.headers["retry-after"]), (403, "7"))

    def test_tokens(self):
        self.assertEqual(self.ok("GET", "/user")["login"], "rondo-bot")
        self.assertEqual(self.call("GET", "/user", login=None).status, 401)
        self.assertEqual(self.call("GET", self.home, login="nobody").status, 401)
        self.act("expire-token", token="token-rondo-bot")
        self.assertEqual(self.call("GET", self.home).status, 401)

    def test_a_private_repository_is_not_there_for_strangers(self):
        self.act("set-repository", private=True)
        self.assertEqual(self.call("GET", self.home, login="sam").status, 404)
        self.assertTrue(self.ok("GET", self.home)["permissions"]["push"])

    def test_an_archived_one_is_read_only(self):
        self.act("create-issue")
        self.act("set-repository", archived=True)
        self.assertEqual(self.call("POST", f"{self.home}/issues/1/comments", {"body": "x"}).status, 403)
        self.assertTrue(self.ok("GET", self.home)["archived"])

    def test_a_renamed_one_leads_on(self):
        self.act("rename-repository", to="acme/store")
        moved = self.call("GET", f"{self.home}/issues?state=all")
        self.assertEqual(moved.status, 301)
        self.assertTrue(moved.headers["Location"].endswith(f"/repositories/{self.forge.repository.id}/issues?state=all"))

    def test_the_log_has_every_request_and_who_wrote(self):
        self.act("create-issue")
        self.call("GET", f"{self.home}/issues/1")
        self.ok("POST", f"{self.home}/issues/1/labels", {"labels": ["x"]})
        self.ok("POST", f"{self.home}/issues/1/labels", {"labels": ["x"]})
        rows = self.control("GET", "log")
        self.assertEqual([(row["method"], row["wrote"]) for row in rows], [("GET", False), ("POST", True), ("POST", False)])
        self.assertEqual((rows[1]["body"], rows[1]["login"]), ({"labels": ["x"]}, "rondo-bot"))

    def test_a_wait_ends_when_something_changes(self):
        version = self.control("GET", "state")["version"]
        threading.Timer(0.05, lambda: self.act("create-issue")).start()
        self.assertGreater(self.control("GET", f"wait?version={version}&seconds=60")["version"], version)


class Pulls(ForgeCase):
    def make(self, **words):
        self.head = self.push_branch("work")
        body = {"title": "Work", "head": "work", "base": "main", "body": "Closes #1", "draft": True, **words}
        self.act("create-issue")
        return self.ok("POST", f"{self.home}/pulls", body, status=201)

    def test_one_for_each_branch(self):
        pull = self.make()
        self.assertEqual((pull["head"]["sha"], pull["draft"], pull["mergeable_state"]), (self.head, True, "draft"))
        again = self.call("POST", f"{self.home}/pulls", {"title": "x", "head": "work", "base": "main"})
        self.assertIn("already exists", again.json["errors"][0]["message"])
        found = self.ok("GET", f"{self.home}/pulls?head=acme:work&state=all")
        self.assertEqual([row["number"] for row in found], [2])
        self.act("push", branch="empty", files={}, parent=self.main())
        nothing = self.call("POST", f"{self.home}/pulls", {"title": "x", "head": "gone", "base": "main"})
        self.assertEqual(nothing.status, 422)

    def test_a_merge_is_one_and_closes_the_issue(self):
        self.make(draft=False)
        moved = self.call("PUT", f"{self.home}/pulls/2/merge", {"sha": "0" * 40})
        self.assertEqual(moved.status, 409)
        commit = self.ok("PUT", f"{self.home}/pulls/2/merge", {"sha": self.head})["sha"]
        self.assertEqual(self.main(), commit)
        self.assertEqual(self.ok("GET", f"{self.home}/issues/1")["state"], "closed")
        self.assertTrue(self.ok("GET", f"{self.home}/pulls/2")["merged"])
        self.assertEqual(self.call("PUT", f"{self.home}/pulls/2/merge", {}).status, 405)

    def test_a_conflict_cannot_be_merged(self):
        self.make(draft=False)
        self.act("push", files={"work.txt": "other\n"})
        self.assertEqual(self.ok("GET", f"{self.home}/pulls/2")["mergeable_state"], "dirty")
        self.assertEqual(self.call("PUT", f"{self.home}/pulls/2/merge", {}).status, 405)

    def test_a_push_moves_its_head_and_a_push_to_the_base_merges_it(self):
        self.make(draft=False)
        clone = self.clone()
        git("checkout", "-q", "work", folder=clone)
        git("commit", "-q", "--allow-empty", "-m", "more", folder=clone)
        git("push", "-q", "origin", "work", folder=clone)
        head = git("rev-parse", "HEAD", folder=clone).stdout.strip()
        self.assertEqual(self.ok("GET", f"{self.home}/pulls/2")["head"]["sha"], head)
        git("push", "-q", "origin", "work:main", folder=clone)
        self.assertTrue(self.ok("GET", f"{self.home}/pulls/2")["merged"])

    def test_a_fork_is_pushed_to_by_its_owner_and_its_commits_can_be_merged(self):
        self.act("fork", owner="sam")
        clone = self.clone(login="sam")
        git("commit", "-q", "--allow-empty", "-m", "one", folder=clone)
        refused = git("push", "-q", "origin", "HEAD:refs/heads/work", folder=clone, is_allowed=(1, 128))
        self.assertIn("403", refused.stderr)
        address = self.address_for("sam").replace("acme/shop", "sam/shop")
        git("push", "-q", address, "HEAD:refs/heads/work", folder=clone)
        body = {"title": "Work", "head": "sam:work", "base": "main"}
        self.assertEqual(self.call("POST", f"{self.home}/pulls", body | {"head": "work"}, login="sam").status, 403)
        self.assertEqual(self.call("POST", f"{self.home}/pulls", body, login="rondo-bot").status, 403)
        pull = self.ok("POST", f"{self.home}/pulls", body, login="sam", status=201)
        self.assertEqual((pull["head"]["label"], pull["head"]["repo"]["fork"]), ("sam:work", True))
        git("commit", "-q", "--allow-empty", "-m", "two", folder=clone)
        git("push", "-q", address, "HEAD:refs/heads/work", folder=clone)
        head = git("rev-parse", "HEAD", folder=clone).stdout.strip()
        self.assertEqual(self.ok("GET", f"{self.home}/pulls/1")["head"]["sha"], head)
        self.ok("PUT", f"{self.home}/pulls/1/merge", {"sha": head})
        git("fetch", "-q", "origin", folder=clone)
        git("merge-base", "--is-ancestor", head, "origin/main", folder=clone)

    def test_reviews_and_checks(self):
        self.make()
        self.act("review", pull=2, state="CHANGES_REQUESTED", body="no", lines=[{"path": "work.txt", "body": "why"}])
        self.assertEqual([row["state"] for row in self.ok("GET", f"{self.home}/pulls/2/reviews")], ["CHANGES_REQUESTED"])
        self.assertEqual([row["body"] for row in self.ok("GET", f"{self.home}/pulls/2/comments")], ["why"])
        self.act("check", pull=2, name="build", status="in_progress")
        self.assertEqual(self.ok("GET", f"{self.home}/commits/{self.head}/check-runs")["check_runs"][0]["conclusion"], None)
        self.act("check", pull=2, name="build", conclusion="failure")
        runs = self.ok("GET", f"{self.home}/commits/{self.head}/check-runs")
        self.assertEqual((runs["total_count"], runs["check_runs"][0]["conclusion"]), (1, "failure"))
        self.act("status", pull=2, context="ci", state="success")
        self.assertEqual(self.ok("GET", f"{self.home}/commits/{self.head}/status")["state"], "success")

    def test_closed_ones_keep_their_head(self):
        self.make()
        self.act("close", pull=2)
        self.act("delete-branch", branch="work")
        pull = self.ok("GET", f"{self.home}/pulls/2")
        self.assertEqual((pull["state"], pull["merged"], pull["head"]["sha"]), ("closed", False, self.head))


class Git(ForgeCase):
    CLAIM = "refs/rondo/claims/7"

    def claim(self, clone, text):
        tree = git("hash-object", "-w", "-t", "tree", "/dev/null", folder=clone).stdout.strip()
        return git("commit-tree", tree, "-m", text, folder=clone).stdout.strip()

    def push(self, clone, *words):
        return git("push", "-q", "--atomic", "origin", *words, folder=clone, is_allowed=(0, 1)).returncode == 0

    def test_one_of_many_makes_a_reference(self):
        clones = [self.clone(f"clone{n}") for n in range(4)]
        won = []
        pushes = [
            threading.Thread(target=lambda c=clone: won.append(self.push(c, f"{self.claim(c, str(c))}:{self.CLAIM}")))
            for clone in clones
        ]
        for thread in pushes:
            thread.start()
        for thread in pushes:
            thread.join()
        self.assertEqual(won.count(True), 1)
        self.assertEqual(list(self.control("GET", "state")["repositories"]["acme/shop"]["refs"]), ["refs/heads/main", self.CLAIM])

    def test_all_or_nothing(self):
        clone = self.clone()
        commit = self.claim(clone, "one")
        self.assertTrue(self.push(clone, f"{commit}:{self.CLAIM}"))
        other = self.claim(clone, "two")
        lease = f"--force-with-lease={self.CLAIM}:{'1' * 40}"
        self.assertFalse(self.push(clone, lease, f"{other}:{self.CLAIM}", "HEAD:refs/heads/work"))
        self.assertIsNone(self.forge.repository.bare.head("work"))
        lease = f"--force-with-lease={self.CLAIM}:{commit}"
        self.assertTrue(self.push(clone, lease, f"{other}:{self.CLAIM}", "HEAD:refs/heads/work"))
        rows = [row["refs"] for row in self.control("GET", "log") if row.get("refs")]
        self.assertEqual(rows[-1][0], {"ref": self.CLAIM, "old": commit, "new": other, "done": True})

    def test_who_may_not_push(self):
        theirs, ours = self.clone("theirs", "sam"), self.clone()
        self.assertIn("403", git("push", "origin", "HEAD:refs/heads/x", folder=theirs, is_allowed=(128,)).stderr)
        self.act("expire-token", token="token-rondo-bot")
        self.assertIn("Authentication failed", git("push", "origin", "HEAD:x", folder=ours, is_allowed=(128,)).stderr)
        self.act("renew-token", token="token-rondo-bot")
        self.act("set-repository", archived=True)
        self.assertIn("403", git("push", "origin", "HEAD:refs/heads/x", folder=ours, is_allowed=(128,)).stderr)
        self.assertEqual(list(self.forge.repository.bare.refs()), ["refs/heads/main"])

    def test_rules_of_the_server(self):
        self.act("set-repository", protected=["refs/rondo/*"])
        clone = self.clone()
        refused = git("push", "origin", f"HEAD:{self.CLAIM}", folder=clone, is_allowed=(1,))
        self.assertIn("GH006", refused.stderr)
        self.assertTrue(self.push(clone, "HEAD:refs/heads/work"))

    def test_large_pushes(self):
        clone = self.clone()
        (clone / "large.txt").write_text("".join(f"{n * n}\n" for n in range(400000)))
        git("add", "-A", folder=clone)
        git("commit", "-q", "-m", "large", folder=clone)
        git("-c", "http.postBuffer=65536", "push", "-q", "origin", "HEAD:refs/heads/large", folder=clone)
        self.assertIsNotNone(self.forge.repository.bare.head("large"))

    def test_a_forced_base(self):
        before = self.main()
        self.act("push", files={"new.txt": "new\n"}, parent="")
        self.assertFalse(self.forge.repository.bare.has_ancestor(before, self.main()))
