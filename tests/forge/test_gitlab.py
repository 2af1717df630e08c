# SPDX-License-Identifier: Apache-2.0
"""GitLab's shape of the stand-in, where it is not GitHub's."""

from client import ForgeCase, git


class GitLab(ForgeCase):
    kind = "gitlab"

    def setUp(self):
        super().setUp()
        self.home = "/projects/acme%2Fshop"

    def auth(self, login):
        return {"PRIVATE-TOKEN": f"token-{login}"} if login else {}

    def numbers(self, query):
        return [row["iid"] for row in self.ok("GET", f"{self.home}/issues?{query}")]

    def test_projects_in_groups_and_by_number(self):
        self.act("create-repository", repository="acme/team/tool")
        project = self.ok("GET", "/projects/acme%2Fteam%2Ftool")
        self.assertEqual(project["path_with_namespace"], "acme/team/tool")
        self.assertEqual(project["permissions"]["project_access"]["access_level"], 30)
        self.assertEqual(self.ok("GET", f"/projects/{project['id']}")["id"], project["id"])
        address = self.address_for().replace("acme/shop", "acme/team/tool")
        git("clone", "-q", address, str(self.path / "tool"))

    def test_tokens(self):
        self.assertEqual(self.ok("GET", "/user")["username"], "rondo-bot")
        self.assertEqual(self.call("GET", "/user", login=None, Authorization="Bearer token-sam").json["username"], "sam")
        self.act("expire-token", token="token-rondo-bot")
        self.assertEqual(self.call("GET", self.home).json["error"], "invalid_token")

    def test_filters(self):
        self.act("create-issue", labels=["code", "task"])
        self.act("create-issue", labels=["code"])
        self.act("create-issue")
        self.act("assign", number=2, login="rondo-bot")
        self.assertEqual(self.numbers("labels=code,task"), [1])
        self.assertEqual(self.numbers("labels=None"), [3])
        self.assertEqual(self.numbers("not[labels]=task"), [3, 2])
        self.assertEqual(self.numbers("assignee_id=None&sort=asc"), [1, 3])
        self.assertEqual(self.numbers("assignee_username[]=rondo-bot"), [2])
        self.act("close", number=3)
        self.assertEqual(self.numbers("state=opened&sort=asc"), [1, 2])
        self.assertEqual(self.numbers(""), [3, 2, 1])

    def test_pages(self):
        self.act("create-issue", count=25)
        first = self.call("GET", f"{self.home}/issues")
        self.assertEqual((len(first.json), first.headers["X-Total"], first.headers["X-Next-Page"]), (20, "25", "2"))
        self.assertIn("/projects/acme%2Fshop/issues?page=2", first.headers["Link"])
        again = self.call("GET", f"{self.home}/issues", If_None_Match=first.headers["ETag"])
        self.assertEqual(again.status, 304)

    def test_labels_change_one_by_one_and_scoped_ones_exclude_each_other(self):
        self.act("create-issue", labels=["code", "state::open"])
        issue = self.ok("PUT", f"{self.home}/issues/1", {"add_labels": "state::done,new", "remove_labels": "absent,code"})
        self.assertEqual(issue["labels"], ["new", "state::done"])
        rows = self.ok("GET", f"{self.home}/issues/1/resource_label_events")
        self.assertEqual((rows[0]["user"]["username"], rows[-1]["user"]["username"]), ("maria", "rondo-bot"))
        self.assertEqual(self.call("PUT", f"{self.home}/issues/1", {"add_labels": "x"}, login="sam").status, 403)
        self.assertEqual(self.call("POST", f"{self.home}/labels", {"name": "NEW", "color": "#aabbcc"}).status, 409)

    def test_notes_are_newest_first_with_those_of_the_system(self):
        self.act("create-issue")
        made = self.ok("POST", f"{self.home}/issues/1/notes", {"body": "words"}, status=201)
        self.act("label", number=1, label="code")
        rows = self.ok("GET", f"{self.home}/issues/1/notes")
        self.assertEqual([row["system"] for row in rows], [True, False])
        self.ok("PUT", f"{self.home}/issues/1/notes/{made['id']}", {"body": "edited"})
        self.assertEqual(self.ok("GET", f"{self.home}/issues/1/notes?sort=asc")[0]["body"], "edited")
        self.ok("DELETE", f"{self.home}/issues/1/notes/{made['id']}", status=204)

    def test_merge_requests_are_counted_apart(self):
        self.act("create-issue")
        head = self.push_branch("work")
        body = {"title": "Draft: work", "source_branch": "work", "target_branch": "main", "description": "Closes #1"}
        made = self.ok("POST", f"{self.home}/merge_requests", body, status=201)
        self.assertEqual((made["iid"], made["sha"], made["draft"], made["detailed_merge_status"]), (1, head, True, "draft_status"))
        self.assertEqual(self.call("POST", f"{self.home}/merge_requests", body).status, 409)
        self.assertEqual(len(self.ok("GET", f"{self.home}/merge_requests?source_branch=work&state=all")), 1)
        self.act("review", pull=1, state="CHANGES_REQUESTED", body="no")
        self.assertEqual(self.ok("GET", f"{self.home}/merge_requests/1/reviewers")[0]["state"], "requested_changes")
        self.act("check", pull=1, name="build", conclusion="failure")
        self.assertEqual(self.ok("GET", f"{self.home}/repository/commits/{head}/statuses")[0]["status"], "failed")
        self.assertEqual(self.call("PUT", f"{self.home}/merge_requests/1/merge", {}).status, 405)
        self.act("ready", pull=1)
        self.assertEqual(self.call("PUT", f"{self.home}/merge_requests/1/merge", {"sha": "0" * 40}).status, 409)
        self.assertEqual(self.ok("PUT", f"{self.home}/merge_requests/1/merge", {"sha": head})["state"], "merged")
        self.assertEqual(self.ok("GET", f"{self.home}/issues/1")["state"], "closed")

    def test_assignees_are_numbers(self):
        self.act("create-issue")
        number = self.ok("GET", "/user")["id"]
        issue = self.ok("PUT", f"{self.home}/issues/1", {"assignee_ids": [number]})
        self.assertEqual([user["username"] for user in issue["assignees"]], ["rondo-bot"])
        self.assertEqual(self.ok("PUT", f"{self.home}/issues/1", {"assignee_ids": [0]})["assignees"], [])

    def test_a_moved_issue_stays(self):
        self.act("create-repository", repository="acme/other")
        self.act("create-issue")
        self.act("transfer", number=1, to="acme/other")
        issue = self.ok("GET", f"{self.home}/issues/1")
        self.assertEqual((issue["state"], issue["moved_to_id"] is None), ("closed", False))

    def test_limits(self):
        self.act("limits", login="rondo-bot", remaining=0, reset_in_s=50)
        refused = self.call("GET", self.home)
        self.assertEqual((refused.status, refused.headers["RateLimit-Remaining"]), (429, "0"))
        self.assertGreater(int(refused.headers["Retry-After"]), 40)

    def test_members(self):
        people = {name: self.ok("GET", f"/users?username={name}")[0]["id"] for name in ("maria", "sam")}
        self.assertEqual(self.ok("GET", f"{self.home}/members/all/{people['maria']}")["access_level"], 50)
        self.assertEqual(self.call("GET", f"{self.home}/members/all/{people['sam']}").status, 404)

    def test_branches(self):
        body = {"branch": "claims/7", "ref": "main"}
        self.ok("POST", f"{self.home}/repository/branches", body, status=201)
        self.assertEqual(self.call("POST", f"{self.home}/repository/branches", body).json["message"], "Branch already exists")
        self.assertEqual(self.ok("GET", f"{self.home}/repository/branches/claims%2F7")["commit"]["id"], self.main())

    def test_a_merge_request_of_a_fork_is_made_below_the_fork(self):
        self.act("fork", owner="sam/team")
        fork = "/projects/sam%2Fteam%2Fshop"
        self.act("set-permission", repository="sam/team/shop", login="sam", permission="write")
        self.act("push", repository="sam/team/shop", branch="work", files={"x": "y\n"}, parent=self.main())
        project = self.ok("GET", fork)
        self.assertEqual(project["forked_from_project"]["path_with_namespace"], "acme/shop")
        target = self.ok("GET", self.home)["id"]
        body = {"title": "Work", "source_branch": "work", "target_branch": "main", "target_project_id": target}
        self.assertEqual(self.call("POST", f"{fork}/merge_requests", body).status, 403)
        self.act("create-repository", repository="acme/other")
        other = self.ok("GET", "/projects/acme%2Fother")["id"]
        odd = self.call("POST", f"{fork}/merge_requests", body | {"target_project_id": other}, login="sam")
        self.assertEqual(odd.status, 422)
        merge = self.ok("POST", f"{fork}/merge_requests", body, login="sam", status=201)
        numbers = [merge[name] for name in ("source_project_id", "target_project_id", "iid")]
        self.assertEqual(numbers, [project["id"], target, 1])
        self.assertEqual(self.ok("GET", f"{self.home}/merge_requests?source_branch=work")[0]["source_project_id"], project["id"])
        self.assertEqual(self.ok("GET", f"{fork}/merge_requests"), [])
