# SPDX-License-Identifier: Apache-2.0
"""The Python client, its hooks for Strands and `rondo hook` with a real `rondo serve`."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import relaytrace as rt
from served import RONDO, Served
from support import RISKY, SAFE

AGENT = "sec-triage-01"
SDK = pathlib.Path(rt.__file__).resolve().parents[1]
PROGRAM = """
import sys
import relaytrace as rt

@rt.guarded(impact=3, confidence=0.5)
def isolate_host(host):
    print("isolated", host, flush=True)
    if len(sys.argv) > 2 and sys.argv[2] == "die":
        import os
        os.kill(os.getpid(), 9)
    return host

@rt.relaytrace_supervised(mode="suspend", lane="lane-of-" + sys.argv[1], run="run-1")
def agent(host):
    return isolate_host(host)

try:
    print("returned", agent(sys.argv[1]))
except rt.HandoffPending as pending:
    print("pending", pending.request_id)
except rt.RelayTraceError as error:
    print(type(error).__name__)
"""


class WithServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Served(AGENT, "claude-code")
        cls.addClassCleanup(cls.server.close)
        if not cls.server.has_routes():
            raise unittest.SkipTest("this server has no routes for agents")

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="relaytrace"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.ran = []

    def supervised(self, function, **options):
        base = {"agent_id": AGENT, "endpoint": self.server.endpoint, "token": self.server.token, "state_dir": self.folder, "timeout": 30}
        return rt.relaytrace_supervised(**{**base, **options})(function)

    def tool(self, **facts):
        return rt.guarded("isolate_host", **(facts or RISKY))(lambda host: self.ran.append(host) or f"isolated {host}")

    def people(self, decide, *more):
        def work():
            (request_id,) = self.server.waiting()
            decide(request_id, *more)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 30)

    def program(self, *words):
        variables = {
            "RELAYTRACE_AGENT_ID": AGENT, "RELAYTRACE_ENDPOINT": self.server.socket, "RELAYTRACE_TOKEN": self.server.token,
            "RELAYTRACE_STATE_DIR": str(self.folder), "PYTHONPATH": str(SDK),
        }  # fmt: skip
        command = [sys.executable, "-c", PROGRAM, *words]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables}, timeout=60, check=False)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout.split("\n")[:-1]

    def test_a_permitted_action_runs(self):
        tool = self.tool(**SAFE)
        self.assertEqual(self.supervised(lambda: tool("a"))(), "isolated a")

    def test_an_approved_action_runs_once(self):
        tool = self.tool()
        self.people(self.server.approve)
        self.assertEqual(self.supervised(lambda: tool("approved"))(), "isolated approved")
        self.assertEqual(self.ran, ["approved"])

    def test_with_a_token_that_signs_requests_and_answers_are_signed(self):
        signed = {"token": self.server.signed_token, "signing_secret": self.server.secret}
        tool = self.tool()
        self.people(self.server.approve)
        self.assertEqual(self.supervised(lambda: tool("signed"), **signed)(), "isolated signed")
        another = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        for wrong in ({"token": self.server.signed_token}, {**signed, "signing_secret": another}):
            with self.assertRaises(rt.ServerRefused) as caught:
                self.supervised(lambda: tool("unsigned"), **wrong)()
            self.assertEqual(caught.exception.status, 401)
        self.assertEqual(self.ran, ["signed"])

    def test_a_server_that_does_not_sign_is_not_believed(self):
        tool = self.tool()
        with self.assertRaises(rt.DecisionInvalid):
            self.supervised(lambda: tool("a"), signing_secret=self.server.secret)()
        self.assertEqual(self.ran, [])
        (request_id,) = self.server.waiting()
        self.server.reject(request_id)

    def test_a_rejected_action_does_not_run_and_the_comment_arrives(self):
        tool = self.tool()
        self.people(self.server.reject, "not on a Friday")
        with self.assertRaises(rt.HandoffRejected) as caught:
            self.supervised(lambda: tool("rejected"))()
        self.assertEqual((caught.exception.guidance, self.ran), ("not on a Friday", []))

    def test_an_action_that_is_forbidden_is_denied(self):
        tool = self.tool(violation_score=0.95, **SAFE)
        with self.assertRaises(rt.ActionDenied) as caught:
            self.supervised(lambda: tool("a"))()
        self.assertEqual(caught.exception.policy_rule_id, "ds.20.hard-violation")

    def test_an_agent_of_another_name_is_refused(self):
        tool = self.tool(**SAFE)
        with self.assertRaises(rt.ServerRefused):
            self.supervised(lambda: tool("a"), agent_id="another")()
        self.assertEqual(self.ran, [])

    def test_a_lane_that_nobody_comes_back_to_takes_its_request_back(self):
        tool = self.tool()
        with self.assertRaises(rt.HandoffPending):
            self.supervised(lambda: tool("left"), timeout=0.3)()
        self.assertEqual(self.server.run("inbox", "--json"), "")

    def test_an_agent_is_continued_in_another_process_and_runs_once(self):
        (word, request_id) = self.program("suspended")[0].split()
        self.assertEqual(word, "pending")
        self.server.approve(request_id)
        self.assertEqual(self.program("suspended"), ["isolated suspended", "returned suspended"])
        self.assertNotIn("isolated suspended", self.program("suspended"))

    def test_after_a_kill_during_the_action_people_are_asked_and_nothing_is_repeated(self):
        request_id = self.program("killed")[0].split()[1]
        self.server.approve(request_id)
        self.assertEqual(self.program("killed", "die"), ["isolated killed"])
        (word, second) = self.program("killed")[0].split()
        self.assertEqual((word, second != request_id), ("pending", True))
        self.assertEqual(self.server.show(second)["request"]["trigger"]["trigger_reason"], "in_doubt_execution")
        self.server.reject(second)
        self.assertEqual(self.program("killed"), ["HandoffRejected"])

    def test_the_server_knows_which_actions_can_be_made_twice(self):
        for is_idempotent in (True, False):
            tool = self.tool(**RISKY, idempotent=is_idempotent)
            with self.assertRaises(rt.HandoffPending) as caught:
                self.supervised(lambda: tool(f"twice {is_idempotent}"), mode="suspend")()
            self.assertIs(self.server.show(caught.exception.request_id)["is_idempotent"], is_idempotent)
            self.server.reject(caught.exception.request_id)

    def test_a_person_sees_the_files_of_an_action_and_what_is_invisible(self):
        script = self.folder / "deploy\u200b.sh"
        script.write_text("echo")
        tool = self.tool(**RISKY, resource="prod\u202e", operands=[str(script)])
        with self.assertRaises(rt.HandoffPending) as caught:
            self.supervised(lambda: tool("files"), mode="suspend")()
        shown = self.server.run("inbox", "show", caught.exception.request_id)
        self.server.reject(caught.exception.request_id)
        self.assertIn("deploy\\u200b.sh (sha256:", shown)
        self.assertEqual(shown.count("prod\\u202e"), 1, shown)

    def test_the_hook_of_a_coding_agent_asks(self):
        event = {
            "session_id": "s-1", "cwd": "/work", "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": "make deploy"},
        }  # fmt: skip

        def call(wait):
            command = [RONDO, "hook", "--server", self.server.endpoint, "--wait", wait]
            env = {**os.environ, "RONDO_TOKEN": self.server.token}
            done = subprocess.run(command, input=json.dumps(event).encode(), capture_output=True, env=env, timeout=60, check=True)
            return json.loads(done.stdout)["hookSpecificOutput"]

        first = call("100ms")
        self.assertEqual(first["permissionDecision"], "deny")
        (request_id,) = self.server.waiting()
        self.assertIn(request_id, first["permissionDecisionReason"])
        self.server.approve(request_id)
        self.assertEqual(call("5s")["permissionDecision"], "allow", first)
        self.assertEqual(call("100ms")["permissionDecision"], "deny")
        self.server.reject(self.server.waiting()[0])


if __name__ == "__main__":
    unittest.main()
