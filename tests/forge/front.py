# SPDX-License-Identifier: Apache-2.0
"""One address for a stand-in whose API is checked by Prism: what is of the API goes through Prism, git and the
control API go to the stand-in itself. Prism's own refusals are in `problems`."""

import http.client
import http.server
import threading
import urllib.parse

import serving
from shape import Answer, Request

PREFIX = "/api/v3"
OF_THE_CONNECTION = {"connection", "transfer-encoding", "content-length", "keep-alive", "host"}


class Handler(serving.Handler):
    def handle_any(self):
        front = self.server.front
        request = Request(self.command, self.path, self.headers, self.read_body())
        try:
            self.give(front.forward(request))
        except (http.client.HTTPException, OSError):
            self.close_connection = True

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = handle_any

    def give(self, answer):
        lines = [f"HTTP/1.1 {answer.status} {self.responses.get(answer.status, ('Unknown',))[0]}"]
        headers = dict(answer.headers)
        if answer.status not in (204, 304):
            headers["Content-Length"] = str(len(answer.data))
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.wfile.write("\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + answer.data)


class Front:
    def __init__(self, standin, prism):
        """@param standin, prism their addresses"""
        self.standin, self.prism, self.problems = standin, prism, []
        self.tell = lambda _problem: None
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.front, self.server.daemon_threads = self, True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def forward(self, request):
        is_checked = request.path.startswith(PREFIX + "/")
        where = urllib.parse.urlsplit(self.prism if is_checked else self.standin)
        target = request.target[len(PREFIX) :] if is_checked else request.target
        headers = {name: value for name, value in request.headers.items() if name.lower() not in OF_THE_CONNECTION}
        connection = http.client.HTTPConnection(where.hostname, where.port)
        try:
            connection.request(request.method, target, request.data or None, headers)
            reply = connection.getresponse()
            kept = {name: value for name, value in reply.headers.items() if name.lower() not in OF_THE_CONNECTION}
            answer = Answer(reply.status, headers=kept, data=reply.read())
        finally:
            connection.close()
        if is_checked and b"stoplight.io/prism" in answer.data:
            problem = f"{request.method} {target}: {answer.data.decode(errors='replace')}"
            self.problems.append(problem)
            self.tell(problem)
        return answer

    def close(self):
        self.server.shutdown()
        self.server.server_close()
