# SPDX-License-Identifier: Apache-2.0
"""The shape of GitLab's API v4. What differs from GitHub and is easily missed: a project is one part of the path,
encoded; issues and merge requests are counted apart; labels change by add_labels and remove_labels; what happened is
among the notes as system notes, newest first; scoped labels (key::value) exclude each other; a moved issue stays,
closed, with moved_to_id; limits are status 429."""

import datetime

import gitlab_views as views
from shape import Answer, Shape, route
from world import Refused

PROJECT = "/projects/{project}"
ISSUE = PROJECT + "/issues/{number}"
MERGE = PROJECT + "/merge_requests/{number}"
LISTED = {"opened": ("opened",), "closed": ("closed",), "merged": ("merged",), "all": ("opened", "closed", "merged"), "": None}
MESSAGES = {401: "401 Unauthorized", 403: "403 Forbidden", 404: "404 Not Found", 405: "405 Method Not Allowed", 410: "404 Not Found"}


def parts(value):
    return [name.strip() for name in (value or "").split(",") if name.strip()] if isinstance(value, str) else list(value or [])


class GitLab(Shape):
    prefixes = ("/api/v4",)
    default_size = 20

    def __init__(self, world, limits):
        super().__init__(world, limits)
        world.draft_marks = ("draft:", "[draft]", "(draft)")
        limits.limit, limits.anonymous_limit = 2000, 500

    def api_address(self, site):
        return f"{site}/api/v4"

    def find_repository(self, request, names):
        name = names.pop("project")
        if name.isdigit():
            return next((each for each in self.world.repositories if each.id == int(name)), None), False
        return self.world.repository(name)

    def moved(self, request, repository):
        rest = request.path[len(request.prefix) :].split("/", 3)[3:]
        address = "/".join([f"{request.api}/projects/{repository.id}", *rest])
        return Answer(301, {"message": "This resource has been moved permanently"}, {"Location": address})

    def refusal(self, request, error):
        if error.status == 401 and request.token():
            return self.expired(request)
        status = 404 if error.status == 410 else 400 if error.status == 422 else error.status
        return Answer(status, {"message": MESSAGES.get(error.status, error.message)}, error.headers)

    def expired(self, request):
        about = "Token is expired. You can either do re-authorization or token refresh."
        return Answer(401, {"error": "invalid_token", "error_description": about})

    def limited(self, kind, seconds):
        headers = {"Retry-After": str(seconds)} if seconds else {}
        return Answer(429, data=b"Retry later\n", headers=headers | {"Content-Type": "text/plain"})

    def limit_headers(self, request):
        budget = self.limits.budget_of(self.limits.login_of(request))
        return {
            "RateLimit-Limit": str(budget.limit),
            "RateLimit-Remaining": str(budget.limit - budget.used),
            "RateLimit-Observed": str(budget.used),
            "RateLimit-Reset": str(budget.reset_s),
            "RateLimit-Name": "throttle_authenticated_api",
        }

    def count_headers(self, total, page, size, last):
        return {
            "X-Total": str(total),
            "X-Total-Pages": str(last),
            "X-Page": str(page),
            "X-Per-Page": str(size),
            "X-Next-Page": str(page + 1) if page < last else "",
            "X-Prev-Page": str(page - 1) if page > 1 else "",
        }

    # ---- Accounts and the project ----

    @route("GET", "/version", "user")
    def version(self, request):
        return Answer(200, {"version": "17.6.0", "revision": "0000000"})

    @route("GET", "/user", "user")
    def me(self, request):
        return Answer(200, views.user(request, request.user))

    @route("GET", "/users")
    def users(self, request):
        wanted = request.one("username").lower()
        found = [user for user in self.world.users.values() if user.login.lower() == wanted and not user.is_organization]
        return self.page(request, found, lambda user: views.user(request, user))

    def user_by_id(self, number):
        user = next((user for user in self.world.users.values() if user.id == number), None)
        if user is None:
            raise Refused(404, "Not Found")
        return user

    @route("GET", PROJECT)
    def project(self, request, repository):
        return Answer(200, views.project(request, repository))

    def member(self, request, repository, user):
        level = views.LEVELS[repository.permissions[user.login.lower()]]
        return views.user(request, user) | {"access_level": level, "expires_at": None, "membership_state": "active"}

    @route("GET", PROJECT + "/members")
    @route("GET", PROJECT + "/members/all")
    def members(self, request, repository):
        wanted = request.one("query").lower()
        users = [self.world.users[login] for login in repository.permissions if login in self.world.users and wanted in login]
        return self.page(request, users, lambda user: self.member(request, repository, user))

    @route("GET", PROJECT + "/members/{id}")
    @route("GET", PROJECT + "/members/all/{id}")
    def read_member(self, request, repository, id):
        user = self.user_by_id(id)
        if user.login.lower() not in repository.permissions:
            raise Refused(404, "Not Found")
        return Answer(200, self.member(request, repository, user))

    # ---- Labels ----

    @route("GET", PROJECT + "/labels")
    def labels(self, request, repository):
        rows = sorted(repository.labels.values(), key=lambda label: label.name)
        rows = [label for label in rows if request.one("search").lower() in label.name.lower()]
        return self.page(request, rows, lambda label: views.label(request, label))

    def label_of(self, repository, name):
        by_id = next((label for label in repository.labels.values() if str(label.id) == name), None)
        return by_id or self.world.find_label(repository, name)

    @route("GET", PROJECT + "/labels/{label}")
    def read_label(self, request, repository, label):
        return Answer(200, views.label(request, self.label_of(repository, label)))

    @route("POST", PROJECT + "/labels", "triage")
    def make_label(self, request, repository):
        body = request.json()
        if not body.get("name") or not body.get("color"):
            return Answer(400, {"error": "name is missing" if not body.get("name") else "color is missing"})
        if body["name"].lower() in repository.labels:
            raise Refused(409, "Label already exists")
        label = self.world.add_label(repository, body["name"], body["color"], body.get("description"))
        return Answer(201, views.label(request, label))

    @route("PUT", PROJECT + "/labels/{label}", "triage")
    def change_label(self, request, repository, label):
        body, found = request.json(), self.label_of(repository, label)
        self.world.edit_label(repository, found, body.get("new_name"), body.get("color"), body.get("description"))
        return Answer(200, views.label(request, found))

    # ---- Issues ----

    def is_wanted(self, request, issue, default):
        states = LISTED.get(request.one("state"), None) or LISTED[default]
        labels, refused = parts(request.one("labels")), parts(request.one("not[labels]"))
        author = request.one("author_username").lower()
        since = request.one("updated_after")
        return (
            views.state_of(issue) in states
            and self.fits_labels(issue, labels)
            and not any(issue.has(name) for name in refused)
            and self.fits_assignee(request, issue)
            and author in ("", issue.author.login.lower())
            and (not since or issue.updated > datetime.datetime.fromisoformat(since.replace("Z", "+00:00")))
        )

    @staticmethod
    def fits_labels(issue, labels):
        if labels in (["None"], ["Any"]):
            return bool(issue.labels) is (labels == ["Any"])
        return all(issue.has(name) for name in labels)

    @staticmethod
    def fits_assignee(request, issue):
        wanted = request.one("assignee_id")
        names = request.query.get("assignee_username[]", request.query.get("assignee_username", []))
        logins = [user.login.lower() for user in issue.assignees]
        if wanted in ("None", "Any"):
            return bool(issue.assignees) is (wanted == "Any")
        is_id = not wanted or wanted in [str(user.id) for user in issue.assignees]
        return is_id and all(name.lower() in logins for name in names)

    def sorted_page(self, request, items, render):
        keys = {"updated_at": lambda i: (i.updated, i.number)}
        items.sort(key=keys.get(request.one("order_by"), lambda i: i.number), reverse=request.one("sort", "desc") != "asc")
        return self.page(request, items, render)

    @route("GET", PROJECT + "/issues")
    def issues(self, request, repository):
        items = [each for each in repository.issues.values() if not each.is_deleted and self.is_wanted(request, each, "all")]
        return self.sorted_page(request, items, lambda each: views.issue(request, each))

    @route("POST", PROJECT + "/issues", "user")
    def make_issue(self, request, repository):
        body, may = request.json(), repository.lets(request.user, "triage")
        labels = parts(body.get("labels")) if may else []
        issue = self.world.add_issue(repository, request.user, body.get("title"), body.get("description"), labels)
        return Answer(201, views.issue(request, issue))

    def find(self, repository, number, is_pull=False):
        return self.world.issue(repository, number, is_pull=is_pull or None)

    @route("GET", ISSUE)
    def read_issue(self, request, repository, number):
        return Answer(200, views.issue(request, self.find(repository, number)))

    @route("PUT", ISSUE, "user")
    def change_issue(self, request, repository, number):
        issue = self.find(repository, number)
        self.change(request, repository, issue)
        return Answer(200, views.issue(request, issue))

    def change(self, request, repository, issue):
        body, may = request.json(), repository.lets(request.user, "triage")
        if not may and issue.author is not request.user:
            raise Refused(403, "Forbidden")
        self.world.edit_issue(issue, request.user, body.get("title"), body.get("description"))
        if may:
            self.change_labels(request, issue, body)
        if may and "assignee_ids" in body:
            wanted = [self.user_by_id(int(each)) for each in body["assignee_ids"] or [] if int(each)]
            self.world.unassign(issue, request.user, [user.login for user in issue.assignees if user not in wanted])
            self.world.assign(issue, request.user, [user.login for user in wanted])
        if "discussion_locked" in body and may and bool(body["discussion_locked"]) is not issue.is_locked:
            self.world.lock_issue(issue, request.user, bool(body["discussion_locked"]))
        if body.get("state_event"):
            self.world.set_state(issue, request.user, {"close": "closed", "reopen": "open"}.get(body["state_event"], "?"))

    def change_labels(self, request, issue, body):
        if "labels" in body:
            self.world.set_labels(issue, request.user, parts(body["labels"]))
        for name in parts(body.get("remove_labels")):
            if issue.has(name):
                self.world.take_label(issue, request.user, name)
        for name in parts(body.get("add_labels")):
            scope = name.rpartition("::")[0]
            for other in [each.name for each in issue.labels]:
                if scope and other.rpartition("::")[0].lower() == scope.lower() and other.lower() != name.lower():
                    self.world.take_label(issue, request.user, other)
            self.world.put_labels(issue, request.user, [name])

    @route("GET", ISSUE + "/links")
    def links(self, request, repository, number):
        issue = self.find(repository, number)
        rows = [views.issue(request, each) | {"issue_link_id": each.id, "link_type": "is_blocked_by"} for each in issue.blockers]
        return Answer(200, rows)

    @route("GET", ISSUE + "/resource_label_events")
    def label_events(self, request, repository, number):
        issue = self.find(repository, number)
        rows = [event for event in issue.events if "label" in event.about]
        return self.page(request, rows, lambda event: views.label_event(request, issue, event))

    # ---- Notes, of issues and merge requests ----

    def notes_page(self, request, issue):
        items = [*issue.events, *self.world.comments(issue), *(issue.pull.line_comments if issue.pull else [])]
        items.sort(key=lambda each: each.id, reverse=request.one("sort", "desc") != "asc")

        def render(each):
            return views.system_note(request, issue, each) if hasattr(each, "kind") else views.note(request, issue, each)

        return self.page(request, items, render)

    def make_note_of(self, request, issue):
        comment = self.world.add_comment(issue, request.user, request.json().get("body"))
        return Answer(201, views.note(request, issue, comment))

    def note_of(self, request, repository, issue, number):
        comment = next((each for each in issue.comments if each.id == number), None)
        if comment is None:
            raise Refused(404, "Not Found")
        if request.method != "GET" and comment.author is not request.user and not repository.lets(request.user, "maintain"):
            raise Refused(403, "Forbidden")
        return comment

    def one_note(self, request, repository, issue, number):
        comment = self.note_of(request, repository, issue, number)
        if request.method == "DELETE":
            self.world.delete_comment(issue, comment)
            return Answer(204)
        if request.method == "PUT":
            self.world.edit_comment(issue, comment, request.json().get("body") or "")
        return Answer(200, views.note(request, issue, comment))

    @route("GET", ISSUE + "/notes")
    def notes(self, request, repository, number):
        return self.notes_page(request, self.find(repository, number))

    @route("POST", ISSUE + "/notes", "user")
    def make_note(self, request, repository, number):
        return self.make_note_of(request, self.find(repository, number))

    @route("GET", ISSUE + "/notes/{id}")
    @route("PUT", ISSUE + "/notes/{id}", "user")
    @route("DELETE", ISSUE + "/notes/{id}", "user")
    def note(self, request, repository, number, id):
        return self.one_note(request, repository, self.find(repository, number), id)

    @route("GET", MERGE + "/notes")
    def merge_notes(self, request, repository, number):
        return self.notes_page(request, self.find(repository, number, True))

    @route("POST", MERGE + "/notes", "user")
    def make_merge_note(self, request, repository, number):
        return self.make_note_of(request, self.find(repository, number, True))

    @route("GET", MERGE + "/notes/{id}")
    @route("PUT", MERGE + "/notes/{id}", "user")
    @route("DELETE", MERGE + "/notes/{id}", "user")
    def merge_note(self, request, repository, number, id):
        return self.one_note(request, repository, self.find(repository, number, True), id)

    # ---- Merge requests ----

    def show_merge(self, request, issue, render=views.whole_merge_request):
        is_mergeable = issue.state == "open" and self.world.is_mergeable(issue)
        return render(request, issue, self.world.head_of(issue), is_mergeable)

    @route("GET", PROJECT + "/merge_requests")
    def merges(self, request, repository):
        source, target = request.one("source_branch"), request.one("target_branch")
        items = [
            issue
            for issue in repository.pulls.values()
            if self.is_wanted(request, issue, "all") and source in ("", issue.pull.head) and target in ("", issue.pull.base)
        ]
        return self.sorted_page(request, items, lambda each: self.show_merge(request, each, views.merge_request))

    def target_of(self, request, repository, number):
        """@return the project with that number; None = it has nothing to do with this one"""
        if number is None:
            return repository
        target = next((each for each in self.world.repositories if each.id == int(number)), None)
        if target is None or not target.lets(request.user, "read"):
            raise Refused(404, "Not Found")
        return target if target.root is repository.root else None

    @route("POST", PROJECT + "/merge_requests", "write")
    def make_merge(self, request, repository):
        """The project of the path has the branch; that it goes to is another one if there is a target_project_id."""
        body = request.json()
        target = self.target_of(request, repository, body.get("target_project_id"))
        if target is None:
            return Answer(422, {"message": ["Source project is not a fork of the target project"]})
        for name in ("source_branch", "target_branch", "title"):
            if not body.get(name):
                return Answer(400, {"error": f"{name} is missing"})
        if not repository.bare.head(body["source_branch"]) or not target.bare.head(body["target_branch"]):
            return Answer(400, {"message": {"base": ["Source branch or target branch does not exist"]}})
        words = (body["title"], body["source_branch"], body["target_branch"], body.get("description"))
        try:
            issue = self.world.add_pull(target, request.user, *words, source=repository)
        except Refused as error:
            is_double = "already exists" in error.message
            raise Refused(409 if is_double else 400, [f"Another open merge request already exists for this source branch: {error.message}"]) from error
        return Answer(201, self.show_merge(request, issue))

    @route("GET", MERGE)
    def read_merge(self, request, repository, number):
        return Answer(200, self.show_merge(request, self.find(repository, number, True)))

    @route("PUT", MERGE, "user")
    def change_merge(self, request, repository, number):
        issue = self.find(repository, number, True)
        self.change(request, repository, issue)
        return Answer(200, self.show_merge(request, issue))

    @route("PUT", MERGE + "/merge", "write")
    def merge(self, request, repository, number):
        issue, body = self.find(repository, number, True), request.json()
        method = "squash" if body.get("squash") in (True, "true") else "merge"
        self.world.merge_pull(issue, request.user, method, body.get("sha"))
        return Answer(200, self.show_merge(request, issue))

    @route("GET", MERGE + "/approvals")
    def approvals(self, request, repository, number):
        issue = self.find(repository, number, True)
        latest = {each.author: each.state for each in issue.pull.reviews if each.state != "COMMENTED"}
        users = [user for user, state in latest.items() if state == "APPROVED"]
        return Answer(200, {"user_has_approved": False, "approved": bool(users), "approved_by": [{"user": views.user(request, u)} for u in users]})

    @route("GET", MERGE + "/reviewers")
    def reviewers(self, request, repository, number):
        issue = self.find(repository, number, True)
        states = {"APPROVED": "approved", "CHANGES_REQUESTED": "requested_changes", "COMMENTED": "reviewed"}
        latest = {each.author: each for each in issue.pull.reviews}
        rows = [
            {"user": views.user(request, user), "state": states[each.state], "created_at": views.moment(each.created)}
            for user, each in latest.items()
        ]
        return Answer(200, rows)

    # ---- Checks and branches ----

    @route("GET", PROJECT + "/repository/commits/{commit}/statuses")
    def statuses(self, request, repository, commit):
        commit = repository.bare.head(commit) or commit
        if not repository.bare.has(commit):
            raise Refused(404, "Not Found")
        return self.page(request, self.rows_of(repository, commit), lambda row: views.status(request, commit, row))

    @staticmethod
    def rows_of(repository, commit):
        """Statuses and checks are one thing here."""
        states = {"failure": "failed", "error": "failed", "cancelled": "canceled", "timed_out": "failed", "neutral": "success"}
        rows = []
        for row in repository.statuses.get(commit, {}).values():
            rows.append(row | {"state": states.get(row["state"], row["state"])})
        for row in repository.checks.get(commit, {}).values():
            state = "running" if row["status"] == "in_progress" else "pending"
            state = states.get(row["conclusion"], row["conclusion"]) if row["conclusion"] else state
            rows.append(row | {"context": row["name"], "state": state, "description": row["summary"]})
        return rows

    @route("GET", PROJECT + "/repository/branches")
    def branches(self, request, repository):
        rows = [(name.removeprefix("refs/heads/"), commit) for name, commit in repository.bare.refs("refs/heads/").items()]
        return self.page(request, rows, lambda row: views.branch(request, repository, *row))

    @route("GET", PROJECT + "/repository/branches/{branch}")
    def branch(self, request, repository, branch):
        commit = repository.bare.head(branch)
        if commit is None:
            raise Refused(404, "Branch Not Found")
        return Answer(200, views.branch(request, repository, branch, commit))

    @route("POST", PROJECT + "/repository/branches", "write")
    def make_branch(self, request, repository):
        words = request.json() | {name: values[-1] for name, values in request.query.items()}
        name, source = words.get("branch") or "", words.get("ref") or ""
        if repository.bare.head(name):
            raise Refused(400, "Branch already exists")
        self.world.make_ref(repository, f"refs/heads/{name}", repository.bare.head(source) or source)
        return Answer(201, views.branch(request, repository, name, repository.bare.head(name)))
