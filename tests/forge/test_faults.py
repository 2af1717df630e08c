# SPDX-License-Identifier: Apache-2.0
"""Faults by rule: what the client sees, and whether the request was carried out."""

import http.client
import threading
import time

from client import ForgeCase, call, git


class Faults(ForgeCase):
    def setUp(self):
        super().setUp()
        self.act("create-issue")
        self.place = f"{self.home}/issues/1/comments"

    def comment(self):
        return self.call("POST", self.place, {"body": "words"})

    def made(self):
        return len(self.control("GET", "state")["repositories"]["acme/shop"]["issues"][0]["comments"])

    def lose(self):
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            self.comment()

    def test_nothing_is_done(self):
        self.fault("drop-before", method="POST", path="/comments$")
        self.lose()
        self.fault("status", status=503, body={"message": "no"}, headers={"Retry-After": "9"})
        refused = self.comment()
        self.assertEqual((refused.status, refused.json, refused.headers["Retry-After"]), (503, {"message": "no"}, "9"))
        for kind, data in (("empty-object", b"{}"), ("empty-list", b"[]")):
            self.fault(kind)
            self.assertEqual(self.comment().data, data)
        self.fault("garbage")
        self.assertIn(b"<html>", self.comment().data)
        self.fault("expired-token")
        self.assertEqual(self.comment().status, 401)
        self.assertEqual(self.made(), 0)
        self.assertEqual(self.comment().status, 201)

    def test_it_is_done_and_the_answer_is_not_what_it_was(self):
        self.fault("drop-after", method="POST")
        self.lose()
        self.fault("status-after", status=504)
        self.assertEqual(self.comment().status, 504)
        self.fault("cut")
        self.lose()
        self.fault("delay-after", seconds=0.1)
        began = time.monotonic()
        self.assertEqual(self.comment().status, 201)
        self.assertGreaterEqual(time.monotonic() - began, 0.1)
        self.assertEqual(self.made(), 4)
        rows = self.control("GET", "log")
        self.assertEqual([row["fault"] for row in rows], ["drop-after", "status-after", "cut", "delay-after"])
        self.assertEqual([(row["status"], row["wrote"]) for row in rows][0], (None, True))

    def test_a_delay_ends_when_faults_are_cleared(self):
        self.fault("delay", seconds=600)
        answers = []
        asking = threading.Thread(target=lambda: answers.append(self.comment().status))
        asking.start()
        while not any(row["fault"] for row in self.control("GET", "log")):
            time.sleep(0.01)
        self.assertEqual((answers, self.made()), ([], 0))
        self.control("DELETE", "faults")
        asking.join()
        self.assertEqual((answers, self.made()), ([201], 1))

    def test_limits(self):
        began = time.time()
        self.fault("limit-primary", seconds=30)
        refused = self.comment()
        self.assertEqual((refused.status, refused.headers["x-ratelimit-remaining"]), (403, "0"))
        self.assertGreaterEqual(int(refused.headers["x-ratelimit-reset"]), began + 20)
        self.fault("limit-secondary")
        refused = self.comment()
        self.assertEqual((refused.status, refused.headers["retry-after"]), (403, None))
        self.assertIn("secondary", refused.json["message"])
        self.fault("limit-secondary", seconds=5)
        self.assertEqual(self.comment().headers["retry-after"], "5")

    def test_which_requests_and_how_often(self):
        self.fault("status", method="POST", path="/comments$", login="rondo-bot", body_has="wo.ds", times=2, skip=1)
        self.assertEqual(self.call("GET", self.place).status, 200)
        self.assertEqual(self.call("POST", self.place, {"body": "words"}, login="maria").status, 201)
        self.assertEqual(self.call("POST", self.place, {"body": "text"}).status, 201)
        self.assertEqual([self.comment().status for _ in range(4)], [201, 502, 502, 201])
        self.assertEqual([(row["hits"], row["left"]) for row in self.control("GET", "faults")], [(4, 0)])
        self.control("DELETE", "faults")
        self.fault("status", times=0)
        self.assertEqual({self.comment().status for _ in range(3)}, {502})

    def test_headers(self):
        self.act("create-issue", count=3)
        self.fault("other-host")
        self.assertIn("<http://elsewhere.invalid/", self.call("GET", f"{self.home}/issues?per_page=1").headers["Link"])
        self.fault("headers", headers={"X-Poll-Interval": "90", "Date": None})
        reply = self.call("GET", f"{self.home}/issues")
        self.assertEqual((reply.headers["X-Poll-Interval"], reply.headers["Date"]), ("90", None))

    def test_a_hang_ends_without_an_answer(self):
        self.fault("hang", seconds=0.1)
        self.lose()
        self.assertEqual(self.made(), 0)

    def test_a_push_whose_answer_is_lost_is_done(self):
        """git sends a push again by itself when a connection that it kept was closed without an answer."""
        clone = self.clone()
        self.fault("drop-after", path="/git-receive-pack$", times=2)
        git("push", "-q", "origin", "HEAD:refs/heads/work", folder=clone, is_allowed=(1, 128))
        self.assertIsNotNone(self.forge.repository.bare.head("work"))
        pushes = [row["refs"][0]["done"] for row in self.control("GET", "log") if row.get("refs")]
        self.assertEqual(pushes, [True, False])
        self.fault("drop-before", path="/git-receive-pack$", times=2)
        git("push", "-q", "origin", "HEAD:refs/heads/more", folder=clone, is_allowed=(1, 128))
        self.assertIsNone(self.forge.repository.bare.head("more"))

    def test_new_comments_may_be_seen_late(self):
        self.act("visibility", seconds=600)
        self.assertEqual(self.comment().status, 201)
        self.assertEqual(self.ok("GET", self.place), [])
        self.act("visibility", seconds=0)
        self.assertEqual(self.comment().status, 201)
        self.assertEqual(len(self.ok("GET", self.place)), 1)

    def test_errors_of_tests_are_told(self):
        for path, body in (("faults", {"kind": "odd"}), ("faults", {"kind": "cut", "odd": 1}), ("act", {"do": "odd"}), ("act", {"do": "close"})):
            reply = call(self.forge.address, "POST", f"/_control/{path}", body)
            self.assertEqual(reply.status, 400, reply.data)
            self.assertIn("error", reply.json)
