# SPDX-License-Identifier: Apache-2.0
"""The Python client against servers that answer nonsense, too much, too slowly, or about something else; and
against crashes and lost answers."""

import json
import socket
import struct
import threading
import time
import traceback
import unittest

import relaytrace as rt
from relaytrace import signing
from relaytrace import transport as transport_module
from support import RISKY, SAFE, World

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Hostile(World):
    def refused(self, error, tamper=None, **options):
        """Nothing runs, and the error is the expected one."""
        self.server.tamper = tamper
        tool = self.tool()
        options.setdefault("budget", 30 if error is rt.ServerAnswerInvalid else 0.5)
        with self.assertRaises(error) as caught:
            self.supervised(lambda: tool("secret-argument"), **options)()
        self.assertEqual(self.ran, [])
        text = "".join(traceback.format_exception_only(caught.exception))
        self.assertNotIn("secret-argument", text)
        self.assertNotIn("rondo_secret-token", text)
        return caught.exception

    def decision(self, change):
        """A tamper function that changes each decision on its way."""

        def tamper(_method, _path, answer):
            if isinstance(answer, dict) and isinstance(answer.get("decision"), dict):
                copy = json.loads(json.dumps(answer))
                change(copy)
                return copy
            return answer

        return tamper

    def test_decisions_about_something_else_are_refused(self):
        other = "00000000-0000-5000-8000-000000000000"
        changes = {
            "request": lambda a: a["decision"].update(request_id=other),
            "outer request": lambda a: a.update(request_id=other),
            "trace": lambda a: a["decision"].update(trace_id=other),
            "outer trace": lambda a: a.update(trace_id=other),
            "agent": lambda a: a["decision"].update(agent_id="other"),
            "revision": lambda a: a["decision"].update(revision=2),
            "revision that is none": lambda a: a["decision"].update(revision=True),
            "digest": lambda a: a["decision"].update(action_digest="sha256:0"),
            "outer digest": lambda a: a.update(action_digest="sha256:0"),
            "status": lambda a: a["decision"]["decision"].update(status="APPROVED"),
            "no status": lambda a: a["decision"]["decision"].pop("status"),
            "event": lambda a: a["decision"].update(event_type="handoff.requested"),
            "no id": lambda a: a["decision"].update(decision_id=""),
            "constraints": lambda a: a["decision"]["decision"].update(constraints={"kind": "max"}),
            "state": lambda a: a.update(application="somewhere"),
        }
        self.answering("approved")
        for name, change in changes.items():
            with self.subTest(name):
                self.server.requests.clear()
                self.refused(rt.DecisionInvalid, self.decision(change))

    def test_an_approval_with_another_state_than_approved_does_not_run(self):
        self.answering("approved")
        self.refused(rt.HandoffRejected, self.decision(lambda a: a.update(state="rejected")))

    def test_a_grant_that_is_for_something_else_is_none(self):
        self.answering("approved")
        for verb, answer in (("take", {}), ("start", {"request_id": "x", "application": "started"}), ("start", {"application": "leased"})):
            with self.subTest(verb):
                self.server.requests.clear()
                self.refused(rt.DecisionInvalid, lambda _m, path, a: answer if path.endswith(verb) else a)

    def test_a_grant_that_was_not_given_is_none(self):
        self.answering("approved")
        for verb, application in (("take", "available"), ("start", "leased")):
            with self.subTest(verb):
                self.server.requests.clear()
                self.refused(rt.DecisionInvalid, lambda _m, path, a: {**a, "application": application} if path.endswith(verb) else a)

    def test_policies_are_asked_again_with_the_approval(self):
        self.answering("approved")

        def tamper(_method, path, answer):
            asked = self.server.calls[-1][2]
            return {**answer, "outcome": "deny"} if path.endswith("evaluate") and "request_id" in asked else answer

        self.refused(rt.ActionDenied, tamper)
        self.assertEqual(self.only_request()["returned"], "policy")

    def test_evaluations_that_make_no_sense_permit_nothing(self):
        for change in ({"outcome": "ALLOW"}, {"outcome": None}, {"outcome": "allow", "errors": ["e"]},
                       {"outcome": "allow", "action_digest": "sha256:0"}, {"outcome": ["allow"]}):  # fmt: skip
            with self.subTest(change):
                self.refused(rt.ServerAnswerInvalid, lambda _m, path, a: {**a, **change} if "evaluate" in path else a)

    def test_answers_that_are_no_json_permit_nothing(self):
        for answer in (b"", b"allow", b"[]", b'{"outcome":"deny","outcome":"allow"}', b"\xff", b'{"a":NaN}', b"[" * 100000, b"null"):
            with self.subTest(answer[:20]):
                self.refused(rt.ServerAnswerInvalid, lambda _m, _p, _a: answer)

    def test_a_huge_answer_is_refused(self):
        most = transport_module.MOST_ANSWER_BYTES
        transport_module.MOST_ANSWER_BYTES = 1000
        self.addCleanup(setattr, transport_module, "MOST_ANSWER_BYTES", most)
        self.refused(rt.ServerAnswerInvalid, lambda _m, _p, a: {**a, "x": "x" * 1000}, timeout=0.3)

    def test_a_server_that_drips_is_not_waited_for(self):
        def drip(request):
            for byte in b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000:
                request.wfile.write(bytes([byte]))
                request.wfile.flush()
                time.sleep(0.02)

        begin = time.monotonic()
        self.refused(rt.ServerUnreachable, lambda _m, _p, _a: drip)
        self.assertLess(time.monotonic() - begin, 60)  # it drips for two minutes

    def test_an_answer_that_is_cut_off_is_none(self):
        def cut(request):
            request.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"outcome":"allow"}')

        self.refused(rt.ServerUnreachable, lambda _m, _p, _a: cut)

    def test_redirects_are_not_followed(self):
        def redirect(request):
            request.wfile.write(b"HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\n{}")

        self.refused(rt.ServerAnswerInvalid, lambda _m, _p, _a: redirect)

    def test_what_is_no_http_is_an_error(self):
        self.refused(rt.ServerAnswerInvalid, lambda _m, _p, _a: lambda request: request.wfile.write(b"SSH-2.0-x\r\n\r\n"))

    def test_without_a_server_nothing_runs_but_what_was_allowed_before(self):
        self.server.close()
        self.refused(rt.ServerUnreachable)
        tool = self.tool()
        agent = self.supervised(lambda: tool("a"), budget=0.2, allow_offline=["isolate_host"])
        self.assertEqual(agent(), "isolated a")
        self.ran.clear()
        self.refused(rt.ServerUnreachable, allow_offline=["another_tool"])

    def test_a_server_that_denies_is_not_gone(self):
        self.server.fail = lambda _m, path: 403 if "evaluate" in path else None
        self.refused(rt.ServerRefused, allow_offline=["isolate_host"])

    def test_client_errors_are_not_repeated_and_server_errors_are(self):
        self.server.fail = lambda _m, path: 422 if "evaluate" in path else None
        self.refused(rt.ServerRefused)
        self.assertEqual(self.paths().count("/v1/actions/evaluate"), 1)
        left = [503, 503]
        self.server.fail = lambda _m, path: left.pop() if left and "evaluate" in path else None
        self.answering("approved")
        tool = self.tool()
        self.supervised(lambda: tool("a"), budget=5)()
        self.assertEqual(len(self.ran), 1)

    def test_a_message_of_the_server_is_bounded_and_has_no_token(self):
        error = {"error": {"code": "c\n" * 99, "message": "rondo_secret-token \x1b[31m" + "x" * 9999}}

        def refuse(request):
            data = json.dumps(error).encode()
            request.wfile.write(b"HTTP/1.1 403 X\r\nContent-Length: %d\r\n\r\n" % len(data) + data)

        caught = self.refused(rt.ServerRefused, lambda _m, _p, _a: refuse)
        self.assertLess(len(str(caught)), 600)
        self.assertNotIn("\x1b", str(caught))

    def test_codes_of_the_server_have_no_token_and_no_control_characters(self):
        cut = "x" * 295 + "rondo_secret-token"  # the limit cuts the token, not what hides it
        error = {"error": {"code": "rondo_secret-token", "message": cut}}

        def refuse(request):
            data = json.dumps(error).encode()
            request.wfile.write(b"HTTP/1.1 403 X\r\nContent-Length: %d\r\n\r\n" % len(data) + data)

        caught = self.refused(rt.ServerRefused, lambda _m, _p, _a: refuse)
        self.assertNotIn("rondo", str(caught))
        self.server.requests.clear()
        self.answering("rejected", reason_code="no\n\x1b[31m" + "y" * 999)
        self.assertRegex(str(self.refused(rt.HandoffRejected)), r"\A[\x20-\x7e]{1,150}\Z")

    def test_secrets_are_not_shown(self):
        agent = self.supervised(lambda: 1, signing_secret=SECRET)
        for thing in (agent.supervisor.config, agent.supervisor.config.token, vars(agent.supervisor.client)):
            self.assertNotIn("secret-token", repr(thing))
            self.assertNotIn("MfKQ9r8", repr(thing))


class Signed(World):
    def sign(self, stamp=0.0, secret=SECRET):
        def tamper(method, path, answer):
            if method != "GET" or not isinstance(answer, dict):
                return answer
            data = json.dumps(answer).encode()
            now = int(time.time() + stamp)
            signature = signing.sign(signing.read_secret(secret), "msg_1", now, data)

            def write(request):
                head = f"HTTP/1.1 {200 if 'decision' in answer else 404} X\r\nContent-Length: {len(data)}\r\nwebhook-id: msg_1\r\n"
                head += f"webhook-timestamp: {now}\r\nwebhook-signature: {signature}\r\n\r\n"
                request.wfile.write(head.encode() + data)

            return write

        return tamper

    def run_agent(self):
        self.answering("approved")
        tool = self.tool()
        return self.supervised(lambda: tool("a"), signing_secret=SECRET, budget=0.5)()

    def test_requests_are_signed_and_signed_decisions_accepted(self):
        self.server.tamper = self.sign()
        self.assertEqual(self.run_agent(), "isolated a")
        for method, _path, _body, headers in self.server.calls:
            names = {name.lower() for name in headers}
            self.assertEqual("webhook-signature" in names, method != "GET")

    def test_unsigned_forged_and_stale_decisions_are_refused(self):
        for tamper in (None, self.sign(secret="whsec_" + "A" * 32), self.sign(stamp=-400)):
            self.server.requests.clear()
            self.server.tamper = tamper
            with self.assertRaises(rt.DecisionInvalid):
                self.run_agent()
        self.assertEqual(self.ran, [])


class Constraints(World):
    def with_constraints(self, *constraints, approvers=("user:ann",)):
        self.server.requests.clear()
        self.ran.clear()
        self.answering("approved", constraints=constraints, approvers=approvers)
        tool = self.tool()
        return self.supervised(lambda: tool("a", count=5))()

    def test_constraints_narrow_and_the_narrowed_action_is_reported(self):
        self.with_constraints({"kind": "max", "pointer": "/count", "value": 2})
        self.assertEqual(self.ran, [{"host": "a", "count": 2}])
        request = self.only_request()
        self.assertEqual(request["executed"], rt.action_digest("isolate_host", {"host": "a", "count": 2}))
        self.with_constraints({"kind": "max", "pointer": "/count", "value": 9}, {"kind": "one_of", "pointer": "/host", "values": ["a", "b"]})
        self.assertEqual(self.ran, [{"host": "a", "count": 5}])
        self.with_constraints({"kind": "equals", "pointer": "/count", "value": 1}, {"kind": "max_count", "count": 1})
        self.assertEqual(self.ran, [{"host": "a", "count": 1}])
        self.with_constraints({"kind": "require_second_approver"}, approvers=("user:ann", "user:ben"))
        self.assertEqual(len(self.ran), 1)

    def test_what_is_not_known_or_cannot_be_met_is_not_made(self):
        wrong = [
            "no_weekends", {}, {"kind": "hope"}, {"kind": "max", "pointer": "/count", "value": 2, "unless": "friday"},
            {"kind": "max", "pointer": "/host", "value": 2}, {"kind": "max", "pointer": "/none", "value": 2},
            {"kind": "max", "pointer": "count", "value": 2}, {"kind": "max", "pointer": "/count", "value": "2"},
            {"kind": "equals", "pointer": "/host", "value": ["b"]}, {"kind": "equals", "pointer": "/host", "value": 1},
            {"kind": "equals", "pointer": "/new", "value": 1}, {"kind": "one_of", "pointer": "/host", "values": ["b"]},
            {"kind": "one_of", "pointer": "/host", "values": "a"}, {"kind": "dry_run"}, {"kind": "max_count", "count": 0},
            {"kind": "max_count", "count": True}, {"kind": "require_second_approver"}, {"kind": "time_window"},
            {"kind": "time_window", "not_after": "2001-01-01T00:00:00Z"}, {"kind": "time_window", "not_before": "soon"},
            {"kind": ["max"]}, None,
        ]  # fmt: skip
        for constraint in wrong:
            with self.subTest(constraint), self.assertRaises(rt.DecisionInvalid):
                self.with_constraints(constraint)
            self.assertEqual(self.ran, [])
            self.assertEqual(self.only_request()["application"], "failed")


class Crashes(World):
    """The process is killed, or an answer is lost, at each step; the same agent runs again."""

    def agent(self, **options):
        tool = self.tool(idempotent=options.pop("idempotent", False), **RISKY)
        return self.supervised(lambda: tool("a"), lane="lane-1", run="run-1", budget=0.3, **options)

    def crash_after(self, verb):
        """The server does what it is asked, and the client dies before it reads the answer."""

        def tamper(method, path, answer):
            if method == "POST" and path.endswith(verb):
                self.server.tamper = None

                def kill(request):
                    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

                self.server.fail = lambda _m, _p: 503
                return kill
            return answer

        self.server.tamper = tamper
        with self.assertRaises(rt.RelayTraceError):
            self.agent()()
        self.server.fail = None

    def test_a_lost_answer_to_the_request_makes_no_second_one(self):
        self.crash_after("/v1/hitl/requests")
        self.server.decide(next(iter(self.server.requests)), "approved")
        self.assertEqual(self.agent()(), "isolated a")
        self.assertEqual((len(self.server.requests), len(self.ran)), (1, 1))

    def test_a_lost_answer_to_take_loses_nothing(self):
        self.answering("approved")
        self.crash_after("/take")
        self.assertEqual(self.agent()(), "isolated a")
        self.assertEqual((len(self.server.requests), len(self.ran)), (1, 1))

    def test_after_a_lost_grant_people_are_asked_and_nothing_is_repeated(self):
        self.answering("approved")
        self.crash_after("/start")
        self.assertEqual(self.ran, [])
        self.server.on_submit = None
        with self.assertRaises(rt.HandoffPending):
            self.agent(timeout=0.2)()
        self.assertEqual(self.ran, [])
        second = list(self.server.requests.values())[1]["body"]
        self.assertEqual(second["trigger"]["trigger_reason"], "in_doubt_execution")

    def test_an_idempotent_action_is_made_again_with_the_same_key(self):
        self.answering("approved")
        tool_keys = []

        def body():
            with rt.action("t", {}, idempotent=True, **RISKY) as act:
                tool_keys.append(act.idempotency_key)
                if len(tool_keys) == 1:
                    raise SystemExit

        agent = self.supervised(body, lane="lane-1", run="run-1")
        self.server.fail = lambda _m, path: 503 if path.endswith("finish") else None
        with self.assertRaises(SystemExit):
            agent()
        self.server.fail = None
        self.only_request()["application"] = "in_doubt"
        agent()
        self.assertEqual((len(tool_keys), len(set(tool_keys))), (2, 1))

    def test_a_finished_action_is_not_repeated_and_its_result_is_kept(self):
        self.answering("approved")
        agent = self.agent()
        agent.supervisor.end_lane = lambda lane, error=None: None  # killed before the lane has ended
        self.assertEqual(agent(), "isolated a")
        self.assertEqual(self.agent()(), "isolated a")
        self.assertEqual((len(self.server.requests), len(self.ran)), (1, 1))

    def test_a_server_that_restarts_is_waited_for(self):
        tool = self.tool()
        failing = threading.Event()
        self.server.fail = lambda _m, _p: 503 if failing.is_set() else None

        def people():
            request_id = self.server.wait_for_request()
            failing.set()
            self.server.decide(request_id, "approved")
            time.sleep(0.5)
            failing.clear()

        self.later(people)
        self.assertEqual(self.supervised(lambda: tool("a"), budget=30)(), "isolated a")

    def test_a_checkpoint_that_was_changed_meanwhile_is_refused(self):
        self.crash_after("/v1/hitl/requests")
        request_id = next(iter(self.server.requests))
        self.server.decide(request_id, "approved")
        agent = self.agent()
        checkpoints = agent.supervisor.config.checkpoints
        checkpoints.save(request_id, {**checkpoints.load(request_id), "done": {"step-9": {}}})
        with self.assertRaises(rt.CheckpointMismatch):
            agent()
        self.assertEqual(self.ran, [])

    def test_a_lapsed_approval_is_asked_for_anew(self):
        def people(request):
            self.server.decide(request["id"], "approved")
            if len(self.server.requests) == 1:
                request["application"] = "lapsed"

        self.server.on_submit = people
        self.assertEqual(self.agent()(), "isolated a")
        self.assertEqual((len(self.server.requests), len(self.ran)), (2, 1))


class Clocks(World):
    def test_a_time_window_is_that_of_the_servers_clock(self):
        transport = self.supervised(lambda: 1).supervisor.client.transport
        transport._note_time({"date": "Thu, 01 Jan 2032 00:00:00 GMT"})
        self.assertGreater(transport.now() - time.time(), 86400)
        transport._note_time({"date": "nonsense"})
        transport._note_time({})
        self.assertGreater(transport.now() - time.time(), 86400)

    def test_facts_that_are_no_numbers_count_as_risky(self):
        context = rt.ActionContext("t", {}, confidence=float("nan"), violation_score="high")
        self.assertEqual((context.confidence, context.violation_score), (0.0, 1.0))
        self.assertEqual(rt.ActionContext("t", {}, confidence=7).confidence, 0.0)
        self.assertIs(rt.ActionContext("t", {}, reversible="yes").reversible, False)
        with self.assertRaises(rt.RelayTraceError):
            rt.ActionContext("t", {}, impact=9)

    def test_arguments_are_those_of_the_time_of_the_call(self):
        args = {"hosts": ["a"]}
        context = rt.ActionContext("t", args, **SAFE)
        args["hosts"].append("b")
        self.assertEqual(context.args, {"hosts": ["a"]})


if __name__ == "__main__":
    unittest.main()
