# SPDX-License-Identifier: Apache-2.0
"""The HTTP server: reads requests, lets faults happen, asks the shape, git or the control API, and logs."""

import gzip
import http.server
import json
import re
import socket
import sys
import threading
import time

from bare import commands_of
from shape import Answer, Request

GIT = re.compile(r"/(?P<repository>.+?)(?:\.git)?/(?P<service>info/refs|git-upload-pack|git-receive-pack|HEAD|objects/.+)")
SERVER = "stand-in"
LOGGED_BYTES = 65536
PAGE = b"<html><body>A proxy says hello.\x00\x1b[2J</body></html>"
OTHER_HOST = "elsewhere.invalid"


class Lost(Exception):
    """The connection is closed without (the rest of) an answer."""


class Log:
    """All requests but those of the control API, in the order in which they came."""

    def __init__(self, world):
        self.world, self.lock = world, threading.Lock()
        self.entries, self.count, self.in_flight = [], 0, 0

    def begin(self, request, kind):
        with self.lock:
            self.count += 1
            self.in_flight += 1
            entry = {
                "number": self.count, "time": self.world.seconds(), "kind": kind, "method": request.method,
                "path": request.path, "query": {name: values[-1] for name, values in request.query.items()},
                "login": None, "token": request.token(), "agent": request.headers.get("User-Agent"),
                "began": time.monotonic(),
                "is_conditional": "If-None-Match" in request.headers, "in_flight": self.in_flight,
                "body": body_of(request) if kind == "api" else None,
                "status": None, "fault": None, "wrote": False,
            }  # fmt: skip
            self.entries.append(entry)
            return entry

    def end(self, entry, began):
        with self.lock:
            self.in_flight -= 1
            entry["seconds"] = round(time.monotonic() - began, 6)

    def clear(self):
        with self.lock:
            self.entries = []


def body_of(request):
    if not request.data:
        return None
    text = request.data[:LOGGED_BYTES].decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return text


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_words):
        pass

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return data
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def handle_any(self):
        forge = self.server.forge
        try:
            request = Request(self.command, self.path, self.headers, self.read_body())
            request.host = forge.world.host or request.host
            if request.path.startswith("/_control/"):
                self.send(request, forge.control.answer(request))
                return
            match = GIT.fullmatch(request.path)
            entry, began = forge.log.begin(request, "git" if match else "api"), time.monotonic()
            try:
                self.carry_out(forge, request, match, entry)
            finally:
                forge.log.end(entry, began)
        except (Lost, ConnectionError):
            self.close_connection = True

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = handle_any

    def carry_out(self, forge, request, match, entry):
        user = forge.world.tokens.get(request.token())
        entry["login"] = user.login if user else None
        with forge.world.lock:
            fault = forge.faults.take(request, entry["login"])
        if fault:
            entry["fault"] = fault.kind
        answer = self.before(forge, request, fault) if fault else None
        if answer is None:
            answer = forge.serve_git(request, match, entry) if match else forge.serve_api(request, entry)
            answer = self.after(request, answer, fault) if fault else answer
        entry["status"], entry["sent"] = answer.status, len(answer.data)
        self.send(request, answer, fault.kind == "cut" if fault else False)

    def before(self, forge, request, fault):
        """@return the answer of a fault instead of the forge's, or None"""
        if fault.kind == "delay":
            fault.cleared.wait(fault.seconds or 1)
        elif fault.kind == "hang":
            forge.closed.wait(fault.seconds or 600)
            raise Lost
        elif fault.kind == "drop-before":
            raise Lost
        elif fault.kind == "status":
            value = {"message": "Server Error"} if fault.answer is None else fault.answer
            return Answer(fault.status, value, fault.headers)
        elif fault.kind == "garbage":
            return Answer(200, data=PAGE, headers={"Content-Type": "text/html"})
        elif fault.kind in ("empty-object", "empty-list"):
            return Answer(200, {} if fault.kind == "empty-object" else [])
        elif fault.kind.startswith("limit-"):
            return forge.shape.limited(fault.kind.removeprefix("limit-"), self.seconds_of(fault))
        elif fault.kind == "expired-token":
            return forge.shape.expired(request)
        return None

    @staticmethod
    def seconds_of(fault):
        return fault.seconds if fault.seconds is not None else 60 if fault.kind == "limit-primary" else 0

    def after(self, request, answer, fault):
        """What a fault makes of the forge's answer."""
        if fault.kind == "drop-after":
            raise Lost
        if fault.kind == "delay-after":
            self.server.forge.closed.wait(fault.seconds or 1)
        elif fault.kind == "status-after":
            return Answer(fault.status, fault.answer or {"message": "Server Error"}, fault.headers)
        elif fault.kind == "headers":
            answer.headers |= fault.headers
        elif fault.kind == "other-host":
            for name in ("Link", "Location"):
                if name in answer.headers:
                    answer.headers[name] = answer.headers[name].replace(request.host, OTHER_HOST)
        return answer

    def send(self, request, answer, is_cut=False):
        """Head and body in one piece; the Date is of the forge's clock."""
        lines = [f"HTTP/1.1 {answer.status} {self.responses.get(answer.status, ('Unknown',))[0]}"]
        fixed = {"Server": SERVER, "Date": self.date_time_string(self.server.forge.world.seconds())}
        if answer.status not in (204, 304):
            fixed["Content-Length"] = str(len(answer.data))
        lines += [f"{name}: {value}" for name, value in (fixed | answer.headers).items() if value is not None]
        body = b"" if request.method == "HEAD" else answer.data
        body = body[: len(body) // 2] if is_cut else body
        self.wfile.write("\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body)
        if is_cut:
            raise Lost


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, forge, listen, port):
        self.forge = forge
        super().__init__((listen, port), Handler)

    def server_bind(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address[:2]

    def handle_error(self, *_words):
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError)):  # clients that were killed
            super().handle_error(*_words)


def git_answer(forge, request, match, entry):
    """One request of git over HTTP: pulls by anybody who may read, pushes by who may write."""
    if request.headers.get("Content-Encoding") == "gzip":
        request.data = gzip.decompress(request.data)
    service = request.one("service") or match["service"]
    is_push = service == "git-receive-pack"
    world, token = forge.world, request.token()
    user = world.tokens.get(token) if token not in world.expired else None
    repository, _ = world.repository(match["repository"].strip("/"))
    asks = {"WWW-Authenticate": 'Basic realm="Stand-in"'}
    if (token and user is None) or (is_push and user is None):
        return Answer(401, data=b"Authentication failed\n", headers=asks)
    if repository is None or not repository.lets(user, "read"):
        return Answer(404 if user else 401, data=b"Repository not found.\n", headers={} if user else asks)
    if is_push and (repository.is_archived or not repository.lets(user, "write")):
        why = "This repository was archived so it is read-only." if repository.is_archived else "Permission denied."
        return Answer(403, data=f"remote: {why}\n".encode())
    status, headers, body = repository.bare.serve(git_variables(request, match, user), request.data)
    if match["service"] == "git-receive-pack":
        note_push(world, repository, user, request.data, body, entry)
    return Answer(status, headers=dict(headers), data=body)


def git_variables(request, match, user):
    return {
        "PATH_INFO": f"/{match['service']}",
        "REQUEST_METHOD": request.method,
        "QUERY_STRING": request.target.partition("?")[2],
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(request.data)),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "REMOTE_USER": user.login if user else "",
        "REMOTE_ADDR": "127.0.0.1",
    }


def note_push(world, repository, user, data, body, entry):
    """Log which references moved, and let pull requests follow."""
    changes = []
    for old, new, name in commands_of(data):
        is_done = f"ok {name}".encode() in body
        changes.append({"ref": name, "old": old, "new": new, "done": is_done})
    entry["refs"] = changes
    entry["wrote"] = any(change["done"] for change in changes)
    if entry["wrote"]:
        with world.lock:
            world.version += 1
            world.settle_pulls(repository, user)
