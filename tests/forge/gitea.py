# SPDX-License-Identifier: Apache-2.0
"""The shape of Gitea's API v1 (Forgejo's is the same as far as it goes). What differs from GitHub and is easily
missed: at most 50 on a page; `labels` of a list means any of them, and unknown names are dropped, so that a list for
none but unknown labels is a list of all; labels are taken off by number; there are no assignees below an issue, no
drafts but by title, no tags for conditional reads, no limits."""

import datetime

import gitea_views as views
from shape import Answer, Shape, route
from world import Refused

SHORT = "/repos/{owner}/{name}"
ISSUE = SHORT + "/issues/{number}"
PULL = SHORT + "/pulls/{number}"
LISTED = {"open": ("open",), "closed": ("closed",), "all": ("open", "closed"), "": ("open",)}


class Gitea(Shape):
    prefixes = ("/api/v1",)
    size_name = "limit"
    largest_size = 50
    has_tags = False
    archived_status = 423

    def __init__(self, world, limits):
        super().__init__(world, limits)
        world.makes_labels = False
        world.draft_marks = ("wip:", "[wip]")
        limits.limit = limits.anonymous_limit = 1 << 30

    def api_address(self, site):
        return f"{site}/api/v1"

    def find_repository(self, request, names):
        return self.world.repository(f"{names.pop('owner')}/{names.pop('name')}")

    def moved(self, request, repository):
        rest = request.path[len(request.prefix) :].split("/", 4)[4:]
        address = "/".join([f"{request.prefix}/repos/{repository.full_name}", *rest])
        return Answer(301 if request.method == "GET" else 307, data=b"", headers={"Location": address})

    def refusal(self, request, error):
        value = {"message": error.message, "url": f"{request.site}/api/swagger"}
        if error.status == 404:
            value |= {"errors": [], "message": "The target couldn't be found."}
        return Answer(404 if error.status == 410 else error.status, value, error.headers)

    def expired(self, request):
        return self.refusal(request, Refused(401, "user does not exist [uid: 0, name: ]"))

    def limited(self, kind, seconds):
        headers = {"Retry-After": str(seconds)} if seconds else {}
        return Answer(429, {"message": "Too many requests"}, headers)

    def count_headers(self, total, _page, _size, _last):
        return {"X-Total-Count": str(total), "Access-Control-Expose-Headers": "Link, X-Total-Count"}

    # ---- Accounts and the repository ----

    @route("GET", "/version")
    def version(self, request):
        return Answer(200, {"version": "1.23.1"})

    @route("GET", "/user", "user")
    def me(self, request):
        return Answer(200, views.user(request, request.user))

    @route("GET", "/users/{login}")
    def account(self, request, login):
        return Answer(200, views.user(request, self.world.user(login)))

    @route("GET", SHORT)
    def repository(self, request, repository):
        return Answer(200, views.repository(request, repository))

    @route("GET", SHORT + "/collaborators")
    def collaborators(self, request, repository):
        users = [self.world.users[login] for login in repository.permissions if login in self.world.users]
        return self.page(request, users, lambda user: views.user(request, user))

    @route("GET", SHORT + "/collaborators/{login}")
    def is_collaborator(self, request, repository, login):
        if self.world.user(login).login.lower() in repository.permissions:
            return Answer(204)
        raise Refused(404, "Not Found")

    @route("GET", SHORT + "/collaborators/{login}/permission", "user")
    def permission(self, request, repository, login):
        """Who does not administer the repository may only ask for itself."""
        user = self.world.user(login)
        if user is not request.user and not repository.lets(request.user, "admin"):
            raise Refused(403, "Only admins can query all permissions, repo admins can query all repo permissions, collaborators can query only their own")
        level = {"maintain": "write", "triage": "read"}.get(repository.level(user), repository.level(user))
        level = "owner" if user is repository.owner else level
        return Answer(200, {"permission": level, "role_name": level, "user": views.user(request, user)})

    @route("GET", SHORT + "/assignees")
    def assignees(self, request, repository):
        users = [user for user in self.world.users.values() if self.world.can_be_assigned(repository, user)]
        return Answer(200, [views.user(request, user) for user in users])

    # ---- Labels ----

    @route("GET", SHORT + "/labels")
    def labels(self, request, repository):
        return self.page(request, list(repository.labels.values()), lambda each: views.label(request, repository, each))

    @route("POST", SHORT + "/labels", "write")
    def make_label(self, request, repository):
        body = request.json()
        if not body.get("color"):
            raise Refused(422, "[Color]: Required")
        if (body.get("name") or "").lower() in repository.labels:
            # Gitea has two labels of one name then; who relies on that is in trouble.
            raise Refused(422, "the label exists")
        label = self.world.add_label(repository, body.get("name") or "", body["color"], body.get("description"))
        return Answer(201, views.label(request, repository, label))

    def label_of(self, repository, number):
        return next((label for label in repository.labels.values() if label.id == number), None)

    @route("GET", SHORT + "/labels/{id}")
    def read_label(self, request, repository, id):
        label = self.label_of(repository, id)
        if label is None:
            raise Refused(404, "Not Found")
        return Answer(200, views.label(request, repository, label))

    @route("PATCH", SHORT + "/labels/{id}", "write")
    def change_label(self, request, repository, id):
        body, label = request.json(), self.label_of(repository, id)
        if label is None:
            raise Refused(404, "Not Found")
        self.world.edit_label(repository, label, body.get("name"), body.get("color"), body.get("description"))
        return Answer(200, views.label(request, repository, label))

    def names_of(self, request, repository):
        """Labels by number or by name; those that the repository does not have are left out."""
        wanted = request.json().get("labels")
        if not isinstance(wanted, list) or len({type(each) for each in wanted}) > 1:
            raise Refused(400, "labels should be an array of strings or integers")
        found = [self.label_of(repository, each) if isinstance(each, int) else repository.labels.get(each.lower()) for each in wanted]
        return [label.name for label in found if label]

    def answer_labels(self, request, repository, issue):
        return Answer(200, [views.label(request, repository, each) for each in issue.labels])

    @route("GET", ISSUE + "/labels")
    def labels_of(self, request, repository, number):
        return self.answer_labels(request, repository, self.find(repository, number))

    @route("POST", ISSUE + "/labels", "write")
    def put_labels(self, request, repository, number):
        issue = self.find(repository, number)
        self.world.put_labels(issue, request.user, self.names_of(request, repository))
        return self.answer_labels(request, repository, issue)

    @route("PUT", ISSUE + "/labels", "write")
    def set_labels(self, request, repository, number):
        issue = self.find(repository, number)
        self.world.set_labels(issue, request.user, self.names_of(request, repository))
        return self.answer_labels(request, repository, issue)

    @route("DELETE", ISSUE + "/labels", "write")
    def clear_labels(self, request, repository, number):
        self.world.set_labels(self.find(repository, number), request.user, [])
        return Answer(204)

    @route("DELETE", ISSUE + "/labels/{id}", "write")
    def take_label(self, request, repository, number, id):
        issue, label = self.find(repository, number), self.label_of(repository, id)
        if label is None:
            raise Refused(422, f"label does not exist [label_id: {id}]")
        if label in issue.labels:
            self.world.take_label(issue, request.user, label.name)
        return Answer(204)

    # ---- Issues ----

    def find(self, repository, number):
        issue = self.world.issue(repository, number)
        if issue.moved:
            raise Refused(404, "Not Found")
        return issue

    @route("GET", SHORT + "/issues")
    def issues(self, request, repository):
        wanted = [repository.labels.get(name.lower()) for name in request.one("labels").split(",") if name]
        wanted = [label for label in wanted if label]
        kind, states = request.one("type"), LISTED.get(request.one("state"), ("open",))
        since = self.moment_of(request.one("since")) if request.one("since") else None
        items = [
            issue
            for issue in self.world.all_of(repository)
            if issue.state in states
            and (not wanted or any(label in issue.labels for label in wanted))
            and (kind not in ("issues", "pulls") or bool(issue.pull) is (kind == "pulls"))
            and (since is None or issue.updated >= since)
            and self.fits_people(request, issue)
        ]
        items.sort(key=lambda issue: issue.number, reverse=True)  # there is no other order
        return self.page(request, items, lambda each: views.issue(request, each))

    @staticmethod
    def fits_people(request, issue):
        author, assignee = request.one("created_by").lower(), request.one("assigned_by").lower()
        return author in ("", issue.author.login.lower()) and (not assignee or assignee in [u.login.lower() for u in issue.assignees])

    @staticmethod
    def moment_of(text):
        try:
            return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError as error:
            raise Refused(422, "a time is wrong") from error

    @route("POST", SHORT + "/issues", "user")
    def make_issue(self, request, repository):
        body, may = request.json(), repository.lets(request.user, "write")
        names = self.names_of(request, repository) if body.get("labels") and may else []
        people = (body.get("assignees") or []) if may else []
        issue = self.world.add_issue(repository, request.user, body.get("title"), body.get("body"), names, people)
        return Answer(201, views.issue(request, issue))

    @route("GET", ISSUE)
    def read_issue(self, request, repository, number):
        return Answer(200, views.issue(request, self.find(repository, number)))

    def change(self, request, issue, repository):
        body, may = request.json(), repository.lets(request.user, "write")
        if not may and issue.author is not request.user:
            raise Refused(403, "write permission is required")
        self.world.edit_issue(issue, request.user, body.get("title"), body.get("body"))
        if isinstance(body.get("assignees"), list) and may:
            for login in body["assignees"]:
                user = self.world.users.get(login.lower())
                if not user or not self.world.can_be_assigned(repository, user):
                    raise Refused(422, f"Assignee does not exist: [name: {login}]")
            wanted = [login.lower() for login in body["assignees"]]
            self.world.unassign(issue, request.user, [u.login for u in issue.assignees if u.login.lower() not in wanted])
            self.world.assign(issue, request.user, body["assignees"])
        if body.get("state"):
            self.world.set_state(issue, request.user, body["state"])

    @route("PATCH", ISSUE, "user")
    def change_issue(self, request, repository, number):
        issue = self.find(repository, number)
        self.change(request, issue, repository)
        return Answer(201, views.issue(request, issue))

    @route("GET", ISSUE + "/dependencies")
    def blockers(self, request, repository, number):
        return self.page(request, self.find(repository, number).blockers, lambda each: views.issue(request, each))

    @route("GET", ISSUE + "/timeline")
    def timeline(self, request, repository, number):
        issue = self.find(repository, number)
        items = sorted([*issue.events, *self.world.comments(issue)], key=lambda each: each.id)

        def render(each):
            is_event = hasattr(each, "kind")
            return views.event(request, issue, each) if is_event else views.comment(request, issue, each) | {"type": "comment"}

        return self.page(request, items, render)

    # ---- Comments ----

    @route("GET", ISSUE + "/comments")
    def comments(self, request, repository, number):
        """All of them: there are no pages."""
        issue = self.find(repository, number)
        since = self.moment_of(request.one("since")) if request.one("since") else None
        items = [each for each in self.world.comments(issue) if since is None or each.updated >= since]
        return Answer(200, [views.comment(request, issue, each) for each in items], self.count_headers(len(items), 1, 1, 1))

    @route("POST", ISSUE + "/comments", "user")
    def make_comment(self, request, repository, number):
        issue = self.find(repository, number)
        comment = self.world.add_comment(issue, request.user, request.json().get("body"))
        return Answer(201, views.comment(request, issue, comment))

    def own_comment(self, request, repository, number):
        issue, comment = self.world.find_comment(repository, number)
        if request.method != "GET" and comment.author is not request.user and not repository.lets(request.user, "write"):
            raise Refused(403, "you are not the author")
        return issue, comment

    @route("GET", SHORT + "/issues/comments/{id}")
    def read_comment(self, request, repository, id):
        return Answer(200, views.comment(request, *self.own_comment(request, repository, id)))

    @route("PATCH", SHORT + "/issues/comments/{id}", "user")
    def change_comment(self, request, repository, id):
        issue, comment = self.own_comment(request, repository, id)
        self.world.edit_comment(issue, comment, request.json().get("body") or "")
        return Answer(200, views.comment(request, issue, comment))

    @route("DELETE", SHORT + "/issues/comments/{id}", "user")
    def remove_comment(self, request, repository, id):
        self.world.delete_comment(*self.own_comment(request, repository, id))
        return Answer(204)

    # ---- Pull requests ----

    def show_pull(self, request, issue):
        is_mergeable = issue.state == "open" and not issue.is_draft and self.world.is_mergeable(issue)
        return views.pull(request, issue, self.world.head_of(issue), is_mergeable)

    @route("GET", SHORT + "/pulls")
    def pulls(self, request, repository):
        states = LISTED.get(request.one("state"), ("open",))
        items = [issue for issue in repository.pulls.values() if issue.state in states]
        items.sort(key=lambda issue: issue.number, reverse=request.one("sort") != "oldest")
        if request.one("sort") == "recentupdate":
            items.sort(key=lambda issue: (issue.updated, issue.number), reverse=True)
        return self.page(request, items, lambda each: self.show_pull(request, each))

    def source_of(self, request, repository, head):
        """BRANCH, OWNER:BRANCH (the owner's fork), or OWNER/NAME:BRANCH, which newer versions know.
        @return (repository, branch)"""
        place, _, branch = head.rpartition(":")
        owner, _, name = place.partition("/")
        source = self.world.source(repository, owner, name or None) if owner else repository
        if source is None or not source.lets(request.user, "read"):
            raise Refused(404, "Not Found")
        return source, branch

    @route("POST", SHORT + "/pulls", "user")
    def make_pull(self, request, repository):
        body = request.json()
        source, head = self.source_of(request, repository, body.get("head") or "")
        if not source.bare.head(head) or not repository.bare.head(body.get("base")):
            raise Refused(404, "Not Found")
        words = (body.get("title"), head, body["base"], body.get("body"))
        try:
            issue = self.world.add_pull(repository, request.user, *words, source=source)
        except Refused as error:
            is_double = "already exists" in error.message
            raise Refused(409 if is_double else 422, error.message.lower()) from error
        return Answer(201, self.show_pull(request, issue))

    @route("GET", PULL)
    def read_pull(self, request, repository, number):
        return Answer(200, self.show_pull(request, self.world.issue(repository, number, is_pull=True)))

    @route("GET", SHORT + "/pulls/{base}/{ref}")
    def pull_of(self, request, repository, base, ref):
        """The one from a branch to another."""
        wanted = (*self.source_of(request, repository, ref), base)
        found = [e for e in repository.pulls.values() if (e.pull.source, e.pull.head, e.pull.base) == wanted]
        if not found:
            raise Refused(404, "Not Found")
        return Answer(200, self.show_pull(request, found[0]))

    @route("PATCH", PULL, "user")
    def change_pull(self, request, repository, number):
        issue = self.world.issue(repository, number, is_pull=True)
        self.change(request, issue, repository)
        return Answer(201, self.show_pull(request, issue))

    @route("GET", PULL + "/merge")
    def is_merged(self, request, repository, number):
        if self.world.issue(repository, number, is_pull=True).pull.merged:
            return Answer(204)
        raise Refused(404, "Not Found")

    @route("POST", PULL + "/merge", "write")
    def merge(self, request, repository, number):
        issue, body = self.world.issue(repository, number, is_pull=True), request.json()
        if issue.is_draft:
            raise Refused(405, "Work in progress PRs cannot be merged")
        self.world.merge_pull(issue, request.user, body.get("Do") or "merge", body.get("head_commit_id"))
        return Answer(200, data=b"")

    @route("GET", PULL + "/reviews")
    def reviews(self, request, repository, number):
        issue = self.world.issue(repository, number, is_pull=True)
        return self.page(request, issue.pull.reviews, lambda each: views.review(request, issue, each))

    @route("GET", PULL + "/reviews/{id}/comments")
    def line_comments(self, request, repository, number, id):
        issue = self.world.issue(repository, number, is_pull=True)
        items = [each for each in issue.pull.line_comments if each.review.id == id]
        return Answer(200, [views.line_comment(request, issue, each) for each in items])

    # ---- Checks and branches ----

    def rows_of(self, repository, commit):
        """Checks are statuses here."""
        states = {"success": "success", "failure": "failure", None: "pending", "neutral": "success", "skipped": "success"}
        rows = list(repository.statuses.get(commit, {}).values())
        for row in repository.checks.get(commit, {}).values():
            state = states.get(row["conclusion"], "failure")
            rows.append(row | {"context": row["name"], "state": state, "description": row["summary"]})
        return rows

    def commit_of(self, repository, name):
        commit = repository.bare.head(name) or (name if repository.bare.has(name) else None)
        if commit is None:
            raise Refused(404, "Not Found")
        return commit

    @route("GET", SHORT + "/commits/{commit}/status")
    def combined(self, request, repository, commit):
        commit = self.commit_of(repository, commit)
        rows = self.rows_of(repository, commit)
        states = [row["state"] for row in rows]
        worst = next((state for state in ("error", "failure", "pending", "success") if state in states), "")
        shown = [views.status(request, repository, commit, row) for row in rows] or None
        value = {"state": worst, "sha": commit if rows else "", "total_count": len(rows), "statuses": shown}
        return Answer(200, value | {"repository": views.repository(request, repository) if rows else None, "commit_url": "", "url": ""})

    @route("GET", SHORT + "/statuses/{commit}")
    @route("GET", SHORT + "/commits/{commit}/statuses")
    def statuses(self, request, repository, commit):
        commit = self.commit_of(repository, commit)
        return self.page(request, self.rows_of(repository, commit), lambda row: views.status(request, repository, commit, row))

    @route("GET", SHORT + "/branches")
    def branches(self, request, repository):
        rows = [(name.removeprefix("refs/heads/"), commit) for name, commit in repository.bare.refs("refs/heads/").items()]
        return self.page(request, rows, lambda row: views.branch(repository, *row))

    @route("GET", SHORT + "/branches/{ref}")
    def branch(self, request, repository, ref):
        commit = repository.bare.head(ref)
        if commit is None:
            raise Refused(404, "Not Found")
        return Answer(200, views.branch(repository, ref, commit))

    @route("POST", SHORT + "/branches", "write")
    def make_branch(self, request, repository):
        body = request.json()
        name, source = body.get("new_branch_name") or "", body.get("old_ref_name") or repository.default_branch
        commit = self.commit_of(repository, source)
        if repository.bare.head(name):
            raise Refused(409, "The branch already exists.")
        self.world.make_ref(repository, f"refs/heads/{name}", commit)
        return Answer(201, views.branch(repository, name, commit))
