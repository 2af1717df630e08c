# SPDX-License-Identifier: Apache-2.0
"""The shape of GitHub's REST API, version 2022-11-28, at the root and, as Enterprise has it, below /api/v3."""

import datetime
import math
import re

import github_views as views
from shape import Answer, Shape, route
from world import Refused

DOCUMENTATION = "https://docs.github.com/rest"
SHORT = "/repos/{owner}/{name}"
ISSUE = SHORT + "/issues/{number}"
PULL = SHORT + "/pulls/{number}"
LISTED = {"open": ("open",), "closed": ("closed",), "all": ("open", "closed")}


def names_of(value):
    """Labels as GitHub takes them: a list or an object with one, of texts or objects with a name; one text is one
    label, however odd."""
    value = value.get("labels") if isinstance(value, dict) else value
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not value:
        raise Refused(422, "Validation Failed", "missing_field", "labels", "Label")
    names = [each.get("name") if isinstance(each, dict) else each for each in value]
    if not all(isinstance(name, str) and name for name in names):
        raise Refused(422, "Validation Failed", "invalid", "labels", "Label")
    return names


class GitHub(Shape):
    prefixes = ("/api/v3", "")

    def api_address(self, site):
        return f"{site}/api/v3"

    # ---- What Shape needs ----

    def normalize(self, path):
        if path == "/api/graphql":  # as Enterprise has it
            return "/graphql"
        match = re.match(r"/repositories/(\d+)(/.*|)$", path)
        if match:
            repository = next((each for each in self.world.repositories if each.id == int(match[1])), None)
            return f"/repos/{repository.full_name}{match[2]}" if repository else path
        return path

    def find_repository(self, request, names):
        return self.world.repository(f"{names.pop('owner')}/{names.pop('name')}")

    def refusal(self, request, error):
        value = {"message": error.message, "documentation_url": DOCUMENTATION, "status": str(error.status)}
        if error.code:
            entry = {"resource": error.resource, "code": error.code}
            entry |= {"field": error.field} if error.field else {"message": error.message}
            value |= {"message": "Validation Failed", "errors": [entry]}
        return Answer(error.status, value, error.headers)

    def expired(self, request):
        return self.refusal(request, Refused(401, "Bad credentials"))

    def limited(self, kind, seconds):
        if kind == "primary":
            now = math.ceil(self.world.seconds())
            message = "API rate limit exceeded for user ID 1. If you reach out to GitHub Support for help, please include the request ID."
            numbers = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "0", "x-ratelimit-used": "5000"}
            numbers |= {"x-ratelimit-reset": str(now + seconds), "x-ratelimit-resource": "core"}
            return Answer(403, {"message": message, "documentation_url": DOCUMENTATION}, numbers)
        message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        headers = {"retry-after": str(seconds)} if seconds else {}
        return Answer(403, {"message": message, "documentation_url": DOCUMENTATION}, headers)

    def limit_headers(self, request):
        budget = self.limits.budget_of(self.limits.login_of(request))
        return {
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-GitHub-Request-Id": f"STAND:{self.world.version:X}",
            "x-github-api-version-selected": "2022-11-28",
            "X-OAuth-Scopes": "repo, read:org",
            "x-ratelimit-limit": str(budget.limit),
            "x-ratelimit-remaining": str(budget.limit - budget.used),
            "x-ratelimit-used": str(budget.used),
            "x-ratelimit-reset": str(budget.reset_s),
            "x-ratelimit-resource": "core",
        }

    def moved(self, request, repository):
        rest = request.path[len(request.prefix) :].split("/", 4)[4:]
        query = request.target.partition("?")[2]
        address = "/".join([f"{request.api}/repositories/{repository.id}", *rest]) + (f"?{query}" if query else "")
        return self.led_to(request, address)

    @staticmethod
    def led_to(request, address):
        status = 301 if request.method in ("GET", "HEAD") else 307
        value = {"message": "Moved Permanently", "url": address, "documentation_url": DOCUMENTATION}
        return Answer(status, value, {"Location": address})

    def find_issue(self, request, repository, number):
        """@return (issue, None), or (None, answer) when it was transferred"""
        issue = self.world.issue(repository, number)
        if issue.moved is None:
            return issue, None
        rest = request.path[len(request.prefix) :].split(f"/issues/{number}", 1)[1]
        place = issue.moved.repository
        address = f"{request.api}/repositories/{place.id}/issues/{issue.moved.number}{rest}"
        return None, self.led_to(request, address)

    def list_of(self, request, repository, items, render):
        """Links of pages lead to the repository's number, as GitHub's do."""
        if not self.world.links_by_number:
            return self.page(request, items, render)
        rest = request.path[len(request.prefix) :].split("/", 4)[4:]
        if request.path[len(request.prefix) :].startswith("/repositories/"):
            rest = request.path[len(request.prefix) :].split("/", 3)[3:]
        return self.page(request, items, render, path="/".join([f"/repositories/{repository.id}", *rest]))

    # ---- Accounts and the repository ----

    @route("GET", "/")
    def root(self, request):
        return Answer(200, views.root(request))

    @route("POST", "/graphql", "user")
    def graphql(self, request):
        """Of GraphQL only what `gh auth` asks: who one is."""
        query = request.json().get("query") or ""
        if re.search(r"\bviewer\b", query) and "repository" not in query:
            return Answer(200, {"data": {"viewer": {"login": request.user.login}}})
        return Answer(200, {"errors": [{"message": "the stand-in has no more of GraphQL than viewer"}]})

    @route("GET", "/user", "user")
    def me(self, request):
        return Answer(200, views.private_user(request, request.user, self.world.now().replace(hour=0, minute=0, second=0)))

    @route("GET", "/users/{login}")
    def account(self, request, login):
        now = self.world.now().replace(hour=0, minute=0, second=0)
        whole = views.private_user(request, self.world.user(login), now)
        del whole["two_factor_authentication"]
        return Answer(200, whole | {"user_view_type": "public"})

    @route("GET", "/rate_limit")
    def rate(self, request):
        budget = self.limits.budget_of(self.limits.login_of(request))
        core = {"limit": budget.limit, "used": budget.used, "remaining": budget.limit - budget.used, "reset": budget.reset_s}
        search = {"limit": 30, "used": 0, "remaining": 30, "reset": budget.reset_s}
        return Answer(200, {"resources": {"core": core, "search": search}, "rate": core})

    @route("GET", SHORT)
    def repository(self, request, repository):
        return Answer(200, views.whole_repository(request, repository))

    @route("PATCH", SHORT, "admin")
    def change_repository(self, request, repository):
        body = request.json()
        if body.get("name") and body["name"] != repository.name:
            self.world.rename(repository, repository.owner.login, body["name"])
        repository.is_archived = bool(body.get("archived", repository.is_archived))
        repository.default_branch = body.get("default_branch") or repository.default_branch
        return Answer(200, views.whole_repository(request, repository))

    @route("GET", SHORT + "/collaborators/{login}/permission", "user")
    def permission(self, request, repository, login):
        user = self.world.user(login)
        level = repository.level(user)
        simple = {"maintain": "write", "triage": "read"}.get(level, level)
        person = views.user(request, user) | {"permissions": views.permissions(repository, user), "role_name": level}
        return Answer(200, {"permission": simple, "role_name": level, "user": person})

    @route("GET", SHORT + "/collaborators/{login}", "write")
    def is_collaborator(self, request, repository, login):
        is_one = self.world.user(login).login.lower() in repository.permissions
        return Answer(204) if is_one else self.refusal(request, Refused(404, "Not Found"))

    @route("GET", SHORT + "/assignees")
    def assignees(self, request, repository):
        users = [user for user in self.world.users.values() if self.world.can_be_assigned(repository, user)]
        return self.list_of(request, repository, users, lambda user: views.user(request, user))

    @route("GET", SHORT + "/assignees/{login}")
    def is_assignee(self, request, repository, login):
        user = self.world.users.get(login.lower())
        if user and self.world.can_be_assigned(repository, user):
            return Answer(204)
        raise Refused(404, "Not Found")

    # ---- Labels of the repository ----

    @route("GET", SHORT + "/labels")
    def labels(self, request, repository):
        return self.list_of(request, repository, list(repository.labels.values()), lambda each: views.label(request, repository, each))

    @route("POST", SHORT + "/labels", "triage")
    def make_label(self, request, repository):
        body = request.json()
        if not re.fullmatch(r"[0-9a-fA-F]{6}", body.get("color") or "ededed"):
            raise Refused(422, "Validation Failed", "invalid", "color", "Label")
        label = self.world.add_label(repository, body.get("name") or "", body.get("color") or "ededed", body.get("description"))
        value = views.label(request, repository, label)
        return Answer(201, value, {"Location": value["url"]})

    @route("GET", SHORT + "/labels/{label}")
    def read_label(self, request, repository, label):
        return Answer(200, views.label(request, repository, self.world.find_label(repository, label)))

    @route("PATCH", SHORT + "/labels/{label}", "triage")
    def change_label(self, request, repository, label):
        body, found = request.json(), self.world.find_label(repository, label)
        self.world.edit_label(repository, found, body.get("new_name"), body.get("color"), body.get("description"))
        return Answer(200, views.label(request, repository, found))

    @route("DELETE", SHORT + "/labels/{label}", "triage")
    def remove_label(self, request, repository, label):
        self.world.delete_label(repository, self.world.find_label(repository, label))
        return Answer(204)

    # ---- Issues ----

    @route("GET", SHORT + "/issues")
    def issues(self, request, repository):
        is_wanted = self.filter_of(request)
        items = [issue for issue in self.world.all_of(repository) if is_wanted(issue)]
        keys = {"updated": lambda i: (i.updated, i.number), "comments": lambda i: (len(i.comments), i.number)}
        items.sort(key=keys.get(request.one("sort"), lambda i: i.number), reverse=request.one("direction", "desc") != "asc")
        return self.list_of(request, repository, items, lambda each: views.issue(request, each))

    def filter_of(self, request):
        """@return the function that says whether an issue is wanted"""
        labels = [name for name in request.one("labels").split(",") if name]
        assignee, creator, since = request.one("assignee"), request.one("creator").lower(), request.one("since")
        since = self.moment_of(since) if since else None
        states = LISTED.get(request.one("state", "open"))
        if states is None:
            raise Refused(422, "Validation Failed", "invalid", "state")

        def is_wanted(issue):
            return (
                issue.state in states
                and all(issue.has(name) for name in labels)
                and (not assignee or self.fits_assignee(assignee, [user.login.lower() for user in issue.assignees]))
                and (not creator or issue.author.login.lower() == creator)
                and (since is None or issue.updated >= since)
            )

        return is_wanted

    @staticmethod
    def fits_assignee(assignee, logins):
        return not logins if assignee == "none" else bool(logins) if assignee == "*" else assignee.lower() in logins

    @staticmethod
    def moment_of(text):
        try:
            when = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError as error:
            raise Refused(422, "Validation Failed", "invalid", "since") from error
        return when if when.tzinfo else when.replace(tzinfo=datetime.timezone.utc)

    @route("POST", SHORT + "/issues", "user")
    def make_issue(self, request, repository):
        body = request.json()
        may = repository.lets(request.user, "triage")
        labels = names_of(body) if body.get("labels") and may else []
        people = (body.get("assignees") or []) if may else []
        issue = self.world.add_issue(repository, request.user, body.get("title"), body.get("body"), labels, people)
        value = views.issue(request, issue)
        return Answer(201, value, {"Location": value["url"]})

    @route("GET", ISSUE)
    def read_issue(self, request, repository, number):
        issue, elsewhere = self.find_issue(request, repository, number)
        return elsewhere or Answer(200, views.issue(request, issue))

    @route("PATCH", ISSUE, "user")
    def change_issue(self, request, repository, number):
        issue, elsewhere = self.find_issue(request, repository, number)
        if elsewhere:
            return elsewhere
        body, may = request.json(), repository.lets(request.user, "triage")
        if not may and issue.author is not request.user:
            raise Refused(403, "Must have admin rights to Repository.")
        self.world.edit_issue(issue, request.user, body.get("title"), body.get("body"))
        if isinstance(body.get("labels"), list) and may:
            self.world.set_labels(issue, request.user, names_of(body) if body["labels"] else [])
        if isinstance(body.get("assignees"), list) and may:
            gone = [user.login for user in issue.assignees if user.login not in body["assignees"]]
            self.world.unassign(issue, request.user, gone)
            self.world.assign(issue, request.user, body["assignees"])
        if body.get("state"):
            self.world.set_state(issue, request.user, body["state"], body.get("state_reason"))
        return Answer(200, views.issue(request, issue))

    @route("PUT", ISSUE + "/lock", "triage")
    def lock(self, request, repository, number):
        self.world.lock_issue(self.world.issue(repository, number), request.user, True)
        return Answer(204)

    @route("DELETE", ISSUE + "/lock", "triage")
    def unlock(self, request, repository, number):
        self.world.lock_issue(self.world.issue(repository, number), request.user, False)
        return Answer(204)

    # ---- Labels and assignees of an issue ----

    def answer_labels(self, request, repository, issue):
        return self.list_of(request, repository, issue.labels, lambda each: views.label(request, repository, each))

    @route("GET", ISSUE + "/labels")
    def labels_of(self, request, repository, number):
        issue, elsewhere = self.find_issue(request, repository, number)
        return elsewhere or self.answer_labels(request, repository, issue)

    @route("POST", ISSUE + "/labels", "triage")
    def put_labels(self, request, repository, number):
        issue, elsewhere = self.find_issue(request, repository, number)
        if elsewhere:
            return elsewhere
        self.world.put_labels(issue, request.user, names_of(request.json()))
        return Answer(200, [views.label(request, repository, each) for each in issue.labels])

    @route("PUT", ISSUE + "/labels", "triage")
    def set_labels(self, request, repository, number):
        issue, elsewhere = self.find_issue(request, repository, number)
        if elsewhere:
            return elsewhere
        body = request.json()
        is_empty = body in ([], {}) or isinstance(body, dict) and body.get("labels") == []
        self.world.set_labels(issue, request.user, [] if is_empty else names_of(body))
        return Answer(200, [views.label(request, repository, each) for each in issue.labels])

    @route("DELETE", ISSUE + "/labels", "triage")
    def clear_labels(self, request, repository, number):
        issue, elsewhere = self.find_issue(request, repository, number)
        if elsewhere:
            return elsewhere
        self.world.set_labels(issue, request.user, [])
        return Answer(204)

    @route("DELETE", ISSUE + "/labels/{label}", "triage")
    def take_label(self, request, repository, number, label):
        issue, elsewhere = self.find_issue(request, repository, number)
        if elsewhere:
            return elsewhere
        self.world.take_label(issue, request.user, label)
        return Answer(200, [views.label(request, repository, each) for each in issue.labels])

    @route("POST", ISSUE + "/assignees", "user")
    def assign(self, request, repository, number):
        """Without the right to push it is silently ignored."""
        issue, elsewhere = self.find_issue(request, repository, number)
        if elsewhere:
            return elsewhere
        if repository.lets(request.user, "triage"):
            self.world.assign(issue, request.user, request.json().get("assignees") or [])
        return Answer(201, views.issue(request, issue))

    @route("DELETE", ISSUE + "/assignees", "user")
    def unassign(self, request, repository, number):
        issue, elsewhere = self.find_issue(request, repository, number)
        if elsewhere:
            return elsewhere
        if repository.lets(request.user, "triage"):
            self.world.unassign(issue, request.user, request.json().get("assignees") or [])
        return Answer(200, views.issue(request, issue))

    # ---- Comments, events, relations ----

    @route("GET", ISSUE + "/comments")
    def comments(self, request, repository, number):
        issue, elsewhere = self.find_issue(request, repository, number)
        if elsewhere:
            return elsewhere
        since = self.moment_of(request.one("since")) if request.one("since") else None
        items = [each for each in self.world.comments(issue) if since is None or each.updated >= since]
        return self.list_of(request, repository, items, lambda each: views.comment(request, issue, each))

    @route("POST", ISSUE + "/comments", "user")
    def make_comment(self, request, repository, number):
        issue, elsewhere = self.find_issue(request, repository, number)
        if elsewhere:
            return elsewhere
        comment = self.world.add_comment(issue, request.user, request.json().get("body"))
        value = views.comment(request, issue, comment)
        return Answer(201, value, {"Location": value["url"]})

    def own_comment(self, request, repository, number):
        issue, comment = self.world.find_comment(repository, number)
        if request.method != "GET" and comment.author is not request.user and not repository.lets(request.user, "write"):
            raise Refused(403, "Must have admin rights to Repository.")
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

    @route("GET", ISSUE + "/events")
    def events(self, request, repository, number):
        issue, elsewhere = self.find_issue(request, repository, number)
        return elsewhere or self.list_of(request, repository, self.events_of(issue), lambda each: views.event(request, issue, each))

    @staticmethod
    def events_of(issue):
        return [event for event in issue.events if event.kind != "reviewed"]

    @route("GET", ISSUE + "/timeline")
    def timeline(self, request, repository, number):
        """Events and comments, in the order in which they came."""
        issue, elsewhere = self.find_issue(request, repository, number)
        if elsewhere:
            return elsewhere
        items = sorted([*self.events_of(issue), *self.world.comments(issue)], key=lambda each: each.id)

        def render(each):
            if hasattr(each, "kind"):
                return views.event(request, issue, each)
            comment = views.comment(request, issue, each)
            return comment | {"event": "commented", "actor": comment["user"]}

        return self.list_of(request, repository, items, render)

    def related(self, request, repository, number, name):
        issue, elsewhere = self.find_issue(request, repository, number)
        if elsewhere:
            return elsewhere
        if not self.world.has_relations:
            raise Refused(404, "Not Found")
        return self.list_of(request, repository, getattr(issue, name), lambda each: views.issue(request, each))

    @route("GET", ISSUE + "/dependencies/blocked_by")
    def blockers(self, request, repository, number):
        return self.related(request, repository, number, "blockers")

    @route("GET", ISSUE + "/sub_issues")
    def children(self, request, repository, number):
        return self.related(request, repository, number, "children")

    def by_id(self, number):
        found = [issue for each in self.world.repositories for issue in each.issues.values() if issue.id == number]
        if not found:
            raise Refused(404, "Not Found")
        return found[0]

    @route("POST", ISSUE + "/dependencies/blocked_by", "triage")
    def block(self, request, repository, number):
        issue = self.world.issue(repository, number)
        self.world.block(issue, self.by_id(request.json().get("issue_id")))
        return Answer(201, views.issue(request, issue))

    @route("POST", ISSUE + "/sub_issues", "triage")
    def relate(self, request, repository, number):
        issue = self.world.issue(repository, number)
        self.world.relate(issue, self.by_id(request.json().get("sub_issue_id")))
        return Answer(201, views.issue(request, issue))
