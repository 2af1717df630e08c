# SPDX-License-Identifier: Apache-2.0
"""What the shapes of all forges share: requests, answers, routes, pages, conditional reads, limits."""

import base64
import hashlib
import json
import re
import urllib.parse

from world import Refused

JSON = "application/json; charset=utf-8"


class Request:
    def __init__(self, method, target, headers, data):
        self.method, self.target, self.headers, self.data = method, target, headers, data
        self.path, _, query = target.partition("?")
        self.query = urllib.parse.parse_qs(query, keep_blank_values=True)
        self.host = headers.get("Host") or "127.0.0.1"
        self.user = None
        self.prefix = ""  # of the API's paths, as this request used it

    @property
    def site(self):
        return f"http://{self.host}"

    @property
    def api(self):
        return self.site + self.prefix

    def one(self, name, default=""):
        return self.query.get(name, [default])[-1]

    def number(self, name, default, most):
        text = self.one(name)
        return min(int(text), most) if text.isdigit() and int(text) > 0 else default

    def json(self):
        """The body; {} when there is none."""
        if not self.data:
            return {}
        if "x-www-form-urlencoded" in self.headers.get("Content-Type", ""):
            return {name: values[-1] for name, values in urllib.parse.parse_qs(self.data.decode()).items()}
        try:
            return json.loads(self.data)
        except ValueError as error:
            raise Refused(400, "Problems parsing JSON") from error

    def token(self):
        """@return the token that came along, or None"""
        kind, _, words = self.headers.get("Authorization", "").partition(" ")
        if kind.lower() in ("token", "bearer"):
            return words.strip()
        if kind.lower() == "basic":
            login, _, password = base64.b64decode(words).decode(errors="replace").partition(":")
            return password if password not in ("", "x-oauth-basic") else login
        return self.headers.get("PRIVATE-TOKEN")


class Answer:
    def __init__(self, status, value=None, headers=None, data=None):
        """@param value becomes JSON, unless `data` says the bytes"""
        self.status, self.value = status, value
        self.headers = dict(headers or {})
        self.data = data
        if data is None:
            self.data = b"" if value is None else json.dumps(value).encode()
            self.headers |= {"Content-Type": JSON} if value is not None else {}


def route(method, pattern, needs="read"):
    """@param needs of the account: read, user (any that is logged in), triage, write, maintain, admin"""

    def mark(function):
        function.routes = [*getattr(function, "routes", []), (method, pattern, needs)]
        return function

    return mark


def compiled(pattern):
    def part(match):
        name = match.group(1)
        return f"(?P<{name}>" + {"number": r"\d+", "id": r"\d+", "ref": ".+"}.get(name, "[^/]+") + ")"

    return re.compile(re.sub(r"\{(\w+)\}", part, pattern.replace(".", r"\.")) + "/?")


class Shape:
    """One kind of API. Its routes are methods with @route: they get the request, the repository if the path names
    one, and the other parts of the path by name."""

    prefixes = ("",)
    size_name = "per_page"  # query parameter: how many on a page
    default_size, largest_size = 30, 100
    has_tags = True  # for conditional reads
    archived_status = 403

    def __init__(self, world, limits):
        self.world, self.limits = world, limits
        self.table = []
        for name in dir(type(self)):
            function = getattr(type(self), name)
            for method, pattern, needs in getattr(function, "routes", []):
                self.table.append((method, compiled(pattern), needs, getattr(self, name), pattern))
        # What is said by more words and fewer parts that vary is meant first.
        self.table.sort(key=lambda row: (row[4].count("{"), row[4].endswith("{ref}"), row[4]))

    # ---- To be said by each shape ----

    def refusal(self, request, error):
        raise NotImplementedError

    def limited(self, kind, seconds):
        raise NotImplementedError

    def limit_headers(self, request):
        return {}

    def find_repository(self, request, names):
        """@return (repository, whether by a former name); takes what names it out of `names`"""
        raise NotImplementedError

    def moved(self, request, repository):
        raise NotImplementedError

    def normalize(self, path):
        """Other paths that mean the same."""
        return path

    # ---- Answering ----

    def answer(self, request):
        """Called with the world's lock."""
        for prefix in self.prefixes:
            if prefix == "" or request.path.startswith(prefix + "/"):
                request.prefix = prefix
                break
        else:
            return self.refusal(request, Refused(404, "Not Found"))
        try:
            self.log_in(request)
            kind = self.limits.check(request)
            answer = self.limited(kind, self.limits.wait_s(kind, request)) if kind else self.dispatch(request)
        except Refused as error:
            answer = self.refusal(request, error)
        self.finish(request, answer)
        return answer

    def log_in(self, request):
        token = request.token()
        if token is None:
            return
        request.user = self.world.tokens.get(token) if token not in self.world.expired else None
        if request.user is None:
            raise Refused(401, "Bad credentials")

    def dispatch(self, request):
        path = self.normalize(request.path[len(request.prefix) :])
        method = "GET" if request.method == "HEAD" else request.method
        for verb, pattern, needs, function, _ in self.table:
            match = pattern.fullmatch(path)
            if match and verb == method:
                names = {name: urllib.parse.unquote(value) for name, value in match.groupdict().items()}
                return self.call(request, function, needs, names)
        raise Refused(404, "Not Found")

    def call(self, request, function, needs, names):
        words = []
        if "owner" in names or "project" in names:
            repository, is_former = self.find_repository(request, names)
            if repository is None or not repository.lets(request.user, "read"):
                raise Refused(404, "Not Found")
            if is_former:
                return self.moved(request, repository)
            words.append(repository)
        self.check_rights(request, needs, words[0] if words else None)
        names = {name: int(value) if name in ("number", "id") else value for name, value in names.items()}
        return function(request, *words, **names)

    def check_rights(self, request, needs, repository):
        if needs != "read" and request.user is None:
            raise Refused(401, "Requires authentication")
        if repository and repository.is_archived and request.method not in ("GET", "HEAD"):
            raise Refused(self.archived_status, "Repository was archived so is read-only.")
        if needs not in ("read", "user") and repository and not repository.lets(request.user, needs):
            raise Refused(403, "Must have admin rights to Repository.")

    def finish(self, request, answer):
        """Conditional reads and headers of limits."""
        tag = f'W/"{hashlib.sha256(answer.data).hexdigest()}"'
        if self.has_tags and answer.status in (200, 201):
            answer.headers["ETag"] = tag
        if self.has_tags and answer.status == 200 and request.method in ("GET", "HEAD"):
            asked = [word.strip() for word in request.headers.get("If-None-Match", "").split(",")]
            if tag in asked or tag.removeprefix("W/") in asked:
                answer.status, answer.data = 304, b""
                answer.headers.pop("Content-Type", None)
        self.limits.count(request, answer.status)
        answer.headers |= self.limit_headers(request)

    def page(self, request, items, render, most=None, path=None):
        """A list, or the part of it that is asked for, with links to the others. @param path in links"""
        size = request.number(self.size_name, self.default_size, most or self.largest_size)
        here = request.number("page", 1, 1_000_000)
        last = max(1, -(-len(items) // size))
        shown = [render(item) for item in items[(here - 1) * size : here * size]]
        places = {"prev": here - 1, "next": here + 1, "last": last, "first": 1}
        wanted = (["prev"] if here > 1 else []) + (["next", "last"] if here < last else []) + (["first"] if here > 1 else [])
        links = []
        for name in wanted:
            query = {**{key: values[-1] for key, values in request.query.items()}, "page": places[name]}
            address = f"{request.api}{path or request.path[len(request.prefix):]}?{urllib.parse.urlencode(query)}"
            links.append(f'<{address}>; rel="{name}"')
        headers = {"Link": ", ".join(links)} if links else {}
        return Answer(200, shown, headers | self.count_headers(len(items), here, size, last))

    def count_headers(self, _total, _page, _size, _last):
        return {}
