# SPDX-License-Identifier: Apache-2.0
"""Gitea's shape of the stand-in, where it is not GitHub's."""

from client import ForgeCase, call


class Gitea(ForgeCase):
    kind = "gitea"

    def test_labels_of_a_list_mean_any_and_unknown_ones_are_dropped(self):
        self.act("create-issue", labels=["code"])
        self.act("create-issue", labels=["task"])
        self.act("create-issue")
        for labels, numbers in (("code,task", [2, 1]), ("code,absent", [1]), ("absent", [3, 2, 1])):
            rows = self.ok("GET", f"{self.home}/issues?labels={labels}")
            self.assertEqual([row["number"] for row in rows], numbers)

    def test_pages_have_at_most_fifty(self):
        self.act("create-issue", count=60)
        first = self.call("GET", f"{self.home}/issues?limit=100")
        self.assertEqual((len(first.json), first.headers["X-Total-Count"], first.headers["ETag"]), (50, "60", None))
        self.assertIn('page=2>; rel="next"', first.headers["Link"])
        self.assertEqual(len(self.ok("GET", f"{self.home}/issues?limit=100&page=2")), 10)
        self.assertEqual(len(self.ok("GET", f"{self.home}/issues")), 30)

    def test_pull_requests_are_left_out_if_asked(self):
        self.act("create-issue")
        self.push_branch("work")
        self.act("create-pull", head="work")
        self.assertEqual([row["number"] for row in self.ok("GET", f"{self.home}/issues?type=issues")], [1])
        rows = self.ok("GET", f"{self.home}/issues")
        self.assertEqual([row["pull_request"] is None for row in rows], [False, True])

    def test_labels_are_taken_off_by_number_and_not_made_by_use(self):
        self.act("create-issue")
        made = self.ok("POST", f"{self.home}/labels", {"name": "code", "color": "#aabbcc"}, status=201)
        self.assertEqual(made["color"], "aabbcc")
        self.assertEqual(self.call("POST", f"{self.home}/labels", {"name": "x"}).status, 422)
        rows = self.ok("POST", f"{self.home}/issues/1/labels", {"labels": ["code", "unknown"]})
        self.assertEqual([row["name"] for row in rows], ["code"])
        for _ in range(2):
            self.ok("DELETE", f"{self.home}/issues/1/labels/{made['id']}", status=204)
        self.assertEqual(self.call("DELETE", f"{self.home}/issues/1/labels/7").status, 422)
        self.assertEqual(self.call("DELETE", f"{self.home}/issues/1/labels/code").status, 404)

    def test_assignees_are_replaced_by_a_patch(self):
        self.act("create-issue")
        self.assertIsNone(self.ok("GET", f"{self.home}/issues/1")["assignees"])
        self.act("assign", number=1, login="maria")
        issue = self.ok("PATCH", f"{self.home}/issues/1", {"assignees": ["rondo-bot"]}, status=201)
        self.assertEqual([user["login"] for user in issue["assignees"]], ["rondo-bot"])
        self.assertEqual(self.call("PATCH", f"{self.home}/issues/1", {"assignees": ["sam"]}).status, 422)
        self.assertEqual(self.call("POST", f"{self.home}/issues/1/assignees", {"assignees": ["maria"]}).status, 404)

    def test_a_draft_is_one_by_its_title(self):
        head = self.push_branch("work")
        body = {"title": "WIP: work", "head": "work", "base": "main"}
        pull = self.ok("POST", f"{self.home}/pulls", body, status=201)
        self.assertEqual((pull["draft"], pull["head"]["sha"]), (True, head))
        self.assertEqual(self.call("POST", f"{self.home}/pulls", body).status, 409)
        self.assertEqual(self.call("POST", f"{self.home}/pulls/1/merge", {"Do": "merge"}).status, 405)
        self.assertEqual(self.ok("GET", f"{self.home}/pulls/main/work")["number"], 1)
        self.act("merge", pull=1)
        self.assertEqual(self.call("GET", f"{self.home}/pulls/1/merge").status, 204)

    def test_a_fork_is_named_by_its_owner_or_by_its_whole_name(self):
        self.act("fork", owner="sam")
        self.act("fork", owner="acme", name="shop-2")
        for fork, head in (("sam/shop", "sam:work"), ("acme/shop-2", "acme/shop-2:work")):
            self.act("push", repository=fork, branch="work", files={"x": "y\n"}, parent=self.main())
            body = {"title": "Work", "head": head, "base": "main"}
            pull = self.ok("POST", f"{self.home}/pulls", body, login="sam", status=201)
            self.assertEqual((pull["head"]["ref"], pull["head"]["repo"]["full_name"]), ("work", fork))
        self.assertEqual(self.ok("GET", "/repos/sam/shop")["parent"]["full_name"], "acme/shop")
        self.act("delete-branch", repository="sam/shop", branch="work")
        head = self.ok("GET", f"{self.home}/pulls/1")["head"]
        self.assertEqual((head["label"], head["ref"]), ("work", "refs/pull/1/head"))
        for head in ("bob:work", "acme:work", "work", "sam:absent"):
            reply = self.call("POST", f"{self.home}/pulls", {"title": "x", "head": head, "base": "main"}, login="sam")
            self.assertEqual(reply.status, 404, head)

    def test_reviews_and_statuses(self):
        head = self.push_branch("work")
        self.act("create-pull", head="work")
        self.act("review", pull=1, state="CHANGES_REQUESTED", body="no", lines=[{"path": "work.txt", "body": "why"}])
        review = self.ok("GET", f"{self.home}/pulls/1/reviews")[0]
        self.assertEqual(review["state"], "REQUEST_CHANGES")
        self.assertEqual(self.ok("GET", f"{self.home}/pulls/1/reviews/{review['id']}/comments")[0]["body"], "why")
        self.assertEqual(self.ok("GET", f"{self.home}/commits/{head}/status")["state"], "")
        self.act("check", pull=1, name="build", conclusion="failure")
        self.assertEqual(self.ok("GET", f"{self.home}/commits/{head}/status")["state"], "failure")

    def test_who_set_a_label_is_in_the_timeline(self):
        self.act("create-issue")
        self.act("label", number=1, label="code", **{"as": "sam"})
        self.act("unlabel", number=1, label="code")
        rows = self.ok("GET", f"{self.home}/issues/1/timeline")
        shown = [(row["type"], row["body"], row["user"]["login"], row["label"]["name"]) for row in rows]
        self.assertEqual(shown, [("label", "1", "sam", "code"), ("label", "", "maria", "code")])

    def test_rights(self):
        self.assertEqual(self.call("GET", f"{self.home}/collaborators/sam/permission").status, 403)
        own = self.ok("GET", f"{self.home}/collaborators/rondo-bot/permission")
        self.assertEqual(own["permission"], "write")
        self.assertEqual(self.call("GET", f"{self.home}/collaborators/sam").status, 404)
        self.act("set-repository", archived=True)
        self.assertEqual(self.call("POST", f"{self.home}/labels", {"name": "x", "color": "#aaaaaa"}).status, 423)

    def test_nothing_is_at_the_root(self):
        self.assertEqual(call(self.forge.address, "GET", "/repos/acme/shop").status, 404)
        self.assertNotIn("x-ratelimit-limit", self.call("GET", self.home).headers)

    def test_branches(self):
        body = {"new_branch_name": "claims/7", "old_ref_name": "main"}
        self.ok("POST", f"{self.home}/branches", body, status=201)
        self.assertEqual(self.call("POST", f"{self.home}/branches", body).status, 409)
        self.assertEqual(self.ok("GET", f"{self.home}/branches/claims/7")["commit"]["id"], self.main())
