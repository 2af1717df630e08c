# SPDX-License-Identifier: Apache-2.0
"""The half of GitHub's shape that is about code: pull requests, reviews, checks, references."""

import github_views as views
from github import LISTED, PULL, SHORT, GitHub
from shape import Answer, route
from world import Refused


class WholeGitHub(GitHub):
    # ---- Pull requests ----

    def show_pull(self, request, issue):
        bare, head = issue.repository.bare, self.world.head_of(issue)
        base = bare.head(issue.pull.base) or issue.pull.base_id
        numbers = (bare.count(base, head), *bare.changed(base, head)) if head and issue.state == "open" else (1, 0, 0, 0)
        is_mergeable = self.world.is_mergeable(issue) if issue.state == "open" else None
        return views.whole_pull(request, issue, head, is_mergeable, numbers)

    @route("GET", SHORT + "/pulls")
    def pulls(self, request, repository):
        states = LISTED.get(request.one("state", "open"))
        if states is None:
            raise Refused(422, "Validation Failed", "invalid", "state", "PullRequest")
        owner, _, branch = request.one("head").rpartition(":")
        items = [issue for issue in repository.pulls.values() if issue.state in states]
        if owner:  # without one GitHub ignores the filter
            wanted = (owner.lower(), branch)
            items = [issue for issue in items if (issue.pull.source.owner.login.lower(), issue.pull.head) == wanted]
        if request.one("base"):
            items = [issue for issue in items if issue.pull.base == request.one("base")]
        keys = {"updated": lambda i: (i.updated, i.number)}
        is_falling = request.one("direction", "desc" if request.one("sort", "created") == "created" else "asc") != "asc"
        items.sort(key=keys.get(request.one("sort"), lambda i: i.number), reverse=is_falling)
        return self.list_of(request, repository, items, lambda each: views.pull(request, each, self.world.head_of(each)))

    @route("POST", SHORT + "/pulls", "user")
    def make_pull(self, request, repository):
        body = request.json()
        if body.get("draft") and not repository.has_drafts:
            raise Refused(422, "Draft pull requests are not supported in this repository.", "custom", None, "PullRequest")
        owner, _, branch = (body.get("head") or "").rpartition(":")
        name = body.get("head_repo")
        source = self.world.source(repository, owner or repository.owner.login, name) if owner or name else repository
        if source is None or not source.lets(request.user, "read"):
            raise Refused(422, "Validation Failed", "invalid", "head", "PullRequest")
        if not source.lets(request.user, "write"):
            raise Refused(403, "Must have admin rights to Repository.")
        words = (body.get("title"), branch, body.get("base"), body.get("body"), bool(body.get("draft")))
        issue = self.world.add_pull(repository, request.user, *words, source)
        value = self.show_pull(request, issue)
        return Answer(201, value, {"Location": value["url"]})

    def find_pull(self, repository, number):
        return self.world.issue(repository, number, is_pull=True)

    @route("GET", PULL)
    def read_pull(self, request, repository, number):
        return Answer(200, self.show_pull(request, self.find_pull(repository, number)))

    @route("PATCH", PULL, "write")
    def change_pull(self, request, repository, number):
        issue, body = self.find_pull(repository, number), request.json()
        self.world.edit_issue(issue, request.user, body.get("title"), body.get("body"))
        if body.get("base"):
            issue.pull.base = body["base"]
            self.world.touch(issue)
        if body.get("state"):
            self.world.set_state(issue, request.user, body["state"])
        return Answer(200, self.show_pull(request, issue))

    @route("GET", PULL + "/merge")
    def is_merged(self, request, repository, number):
        if self.find_pull(repository, number).pull.merged:
            return Answer(204)
        raise Refused(404, "Not Found")

    @route("PUT", PULL + "/merge", "write")
    def merge(self, request, repository, number):
        body = request.json()
        method = body.get("merge_method", "merge")
        commit = self.world.merge_pull(self.find_pull(repository, number), request.user, method, body.get("sha"))
        return Answer(200, {"sha": commit, "merged": True, "message": "Pull Request successfully merged"})

    # ---- Reviews ----

    @route("GET", PULL + "/reviews")
    def reviews(self, request, repository, number):
        issue = self.find_pull(repository, number)
        return self.list_of(request, repository, issue.pull.reviews, lambda each: views.review(request, issue, each))

    @route("POST", PULL + "/reviews", "user")
    def make_review(self, request, repository, number):
        issue, body = self.find_pull(repository, number), request.json()
        states = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}
        state = states.get(body.get("event"))
        if state is None or (issue.author is request.user and state != "COMMENTED"):
            raise Refused(422, "Unprocessable Entity")
        review = self.world.add_review(issue, request.user, state, body.get("body") or "", body.get("comments") or ())
        return Answer(200, views.review(request, issue, review))

    @route("GET", PULL + "/comments")
    def line_comments(self, request, repository, number):
        issue = self.find_pull(repository, number)
        since = self.moment_of(request.one("since")) if request.one("since") else None
        items = [each for each in issue.pull.line_comments if since is None or each.updated >= since]
        return self.list_of(request, repository, items, lambda each: views.line_comment(request, issue, each))

    # ---- Checks ----

    @staticmethod
    def commit_of(repository, name):
        bare = repository.bare
        commit = bare.head(name.removeprefix("heads/")) or (name if bare.has(name) else None)
        if commit is None:
            raise Refused(422, f"No commit found for SHA: {name}")
        return commit

    @route("GET", SHORT + "/commits/{commit}/check-runs")
    def check_runs(self, request, repository, commit):
        commit = self.commit_of(repository, commit)
        rows = list(repository.checks.get(commit, {}).values())
        answer = self.list_of(request, repository, rows, lambda row: views.check_run(request, repository, commit, row))
        return Answer(200, {"total_count": len(rows), "check_runs": answer.value}, {k: v for k, v in answer.headers.items() if k == "Link"})

    @route("GET", SHORT + "/commits/{commit}/status")
    def combined(self, request, repository, commit):
        commit = self.commit_of(repository, commit)
        rows = list(repository.statuses.get(commit, {}).values())
        states = {row["state"] for row in rows}
        state = "failure" if states & {"failure", "error"} else "success" if states == {"success"} else "pending"
        address = f"{views.repository_url(request, repository)}/commits/{commit}"
        value = {"state": state, "statuses": [views.status(request, repository, commit, row) for row in rows]}
        value |= {"sha": commit, "total_count": len(rows), "commit_url": address, "url": f"{address}/status"}
        return Answer(200, value | {"repository": views.minimal_repository(request, repository)})

    @route("GET", SHORT + "/commits/{commit}/statuses")
    def statuses(self, request, repository, commit):
        commit = self.commit_of(repository, commit)
        rows = list(repository.statuses.get(commit, {}).values())[::-1]

        def render(row):
            return views.status(request, repository, commit, row) | {"creator": views.user(request, repository.owner)}

        return self.list_of(request, repository, rows, render)

    @route("POST", SHORT + "/statuses/{commit}", "write")
    def make_status(self, request, repository, commit):
        body = request.json()
        if body.get("state") not in ("error", "failure", "pending", "success"):
            raise Refused(422, "Validation Failed", "invalid", "state", "Status")
        words = (body.get("context", "default"), body["state"], body.get("description"))
        row = self.world.add_status(repository, self.commit_of(repository, commit), *words)
        value = views.status(request, repository, commit, row) | {"creator": views.user(request, request.user)}
        return Answer(201, value, {"Location": value["url"]})

    # ---- Branches and references ----

    @route("GET", SHORT + "/branches")
    def branches(self, request, repository):
        rows = [(name.removeprefix("refs/heads/"), commit) for name, commit in repository.bare.refs("refs/heads/").items()]
        return self.list_of(request, repository, rows, lambda row: views.branch(request, repository, *row))

    @route("GET", SHORT + "/branches/{ref}")
    def branch(self, request, repository, ref):
        commit = repository.bare.head(ref)
        if commit is None:
            raise Refused(404, "Branch not found")
        return Answer(200, views.whole_branch(request, repository, ref, commit))

    @route("GET", SHORT + "/git/ref/{ref}")
    def read_ref(self, request, repository, ref):
        commit = repository.bare.ref(f"refs/{ref}")
        if commit is None:
            raise Refused(404, "Not Found")
        return Answer(200, views.ref(request, repository, f"refs/{ref}", commit))

    @route("GET", SHORT + "/git/matching-refs/{ref}")
    def refs(self, request, repository, ref):
        rows = list(repository.bare.refs(f"refs/{ref}").items())
        return self.list_of(request, repository, rows, lambda row: views.ref(request, repository, *row))

    @route("POST", SHORT + "/git/refs", "write")
    def make_ref(self, request, repository):
        body = request.json()
        self.world.make_ref(repository, body.get("ref") or "", body.get("sha"))
        value = views.ref(request, repository, body["ref"], body["sha"])
        return Answer(201, value, {"Location": value["url"]})

    @route("PATCH", SHORT + "/git/refs/{ref}", "write")
    def move_ref(self, request, repository, ref):
        body = request.json()
        self.world.move_ref(repository, f"refs/{ref}", body.get("sha") or "", bool(body.get("force")))
        return Answer(200, views.ref(request, repository, f"refs/{ref}", body["sha"]))

    @route("DELETE", SHORT + "/git/refs/{ref}", "write")
    def remove_ref(self, request, repository, ref):
        self.world.remove_ref(repository, f"refs/{ref}")
        self.world.settle_pulls(repository, request.user)
        return Answer(204)
