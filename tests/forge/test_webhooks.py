# SPDX-License-Identifier: Apache-2.0
"""Webhooks of the stand-in are signed over what was sent."""

import hashlib
import hmac
import http.server
import json
import threading

from client import PATIENCE_S, ForgeCase


class Receiver:
    def __init__(self):
        self.rows, self.arrived = [], threading.Condition()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                data = self.rfile.read(int(self.headers["Content-Length"]))
                with outer.arrived:
                    outer.rows.append((dict(self.headers), data))
                    outer.arrived.notify_all()
                self.send_response(202)
                self.end_headers()

            def log_message(self, *_words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def wait(self, count):
        with self.arrived:
            self.arrived.wait_for(lambda: len(self.rows) >= count, PATIENCE_S)
            return self.rows

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Webhooks(ForgeCase):
    def setUp(self):
        super().setUp()
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)
        self.act("webhook", url=f"http://127.0.0.1:{self.receiver.server.server_port}/hook", secret="It's a Secret to Everybody")

    def test_a_label_is_told_of(self):
        self.act("create-issue", title="One")
        self.receiver.wait(1)
        self.act("label", number=1, label="code")
        headers, data = self.receiver.wait(2)[1]
        body = json.loads(data)
        self.assertEqual((body["action"], body["issue"]["number"], body["sender"]["login"]), ("labeled", 1, "maria"))
        self.check_signature(headers, data)

    def check_signature(self, headers, data):
        digest = hmac.new(b"It's a Secret to Everybody", data, hashlib.sha256).hexdigest()
        self.assertEqual(headers["X-Hub-Signature-256"], f"sha256={digest}")

    def test_it_can_be_sent_again(self):
        self.act("create-issue")
        first = self.receiver.wait(1)[0]
        while not self.control("GET", "deliveries"):
            pass
        self.act("redeliver", number=0)
        self.assertEqual(self.receiver.wait(2)[1], first)


class GiteaWebhooks(Webhooks):
    kind = "gitea"

    def check_signature(self, headers, data):
        digest = hmac.new(b"It's a Secret to Everybody", data, hashlib.sha256).hexdigest()
        self.assertEqual(headers["X-Gitea-Signature"], digest)


class GitLabWebhooks(Webhooks):
    kind = "gitlab"

    def test_a_label_is_told_of(self):
        self.act("create-issue", title="One")
        headers, data = self.receiver.wait(1)[0]
        self.assertEqual(json.loads(data)["object_attributes"]["iid"], 1)
        self.assertEqual(headers["X-Gitlab-Token"], "It's a Secret to Everybody")
