# SPDX-License-Identifier: Apache-2.0
"""`rondo hook`, as coding agents call it: the events of their hooks on stdin, their formats on stdout."""

import json
import os
import socket
import subprocess
import time
import unittest

from support import World

RONDO = os.environ.get("RONDO_BIN", "rondo")


class Hook(World):
    def call(self, tool="Bash", tool_input=None, *words, event=None, server=None, wait="5s", raw=None, environment=None, out=subprocess.PIPE):
        body = {
            "session_id": "5e55104e", "transcript_path": "/tmp/t.jsonl", "cwd": "/home/ann/project",
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_use_id": "toolu_1",
            "tool_input": {"command": "rm -rf build"} if tool_input is None else tool_input,
        }  # fmt: skip
        body.update(event or {})
        command = [RONDO, "hook", "--server", server or self.server.endpoint, "--wait", wait, *words]
        data = json.dumps(body).encode() if raw is None else raw
        env = {**os.environ, "RONDO_TOKEN": "rondo_secret-token", **(environment or {})}
        return subprocess.run(command, input=data, stdout=out, stderr=subprocess.PIPE, timeout=60, check=False, env=env)

    def decision(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        out = json.loads(done.stdout)["hookSpecificOutput"]
        self.assertEqual(out["hookEventName"], "PreToolUse")
        self.assertNotIn(b"secret-token", done.stdout + done.stderr)
        return out["permissionDecision"], out["permissionDecisionReason"]

    def impact_of(self, tool, tool_input, **event):
        """The impact that the policies are asked about."""
        self.call(tool, tool_input, event=event, wait="1ms")
        asked = [body for _, path, body, _ in self.server.calls if path == "/v1/actions/evaluate"]
        return asked[-1]["context"]["impact"]

    def test_what_policies_allow_is_left_to_the_agents_own_rules(self):
        done = self.call("Read", {"file_path": "/home/ann/project/a"})
        self.assertEqual((done.returncode, json.loads(done.stdout)), (0, {}))
        self.assertEqual(self.server.requests, {})

    def test_a_change_of_the_agents_own_settings_counts_as_risky(self):
        self.assertEqual(self.impact_of("Edit", {"file_path": "/home/ann/project/a"}), 1)
        for path in ("/home/ann/project/.claude/settings.json", "x/../.Codex/hooks.json"):
            self.assertEqual(self.impact_of("Edit", {"file_path": path}), 2, path)
        self.assertEqual(self.impact_of("apply_patch", {"input": "*** Update File: .codex/hooks.json"}), 2)
        self.assertEqual(self.impact_of("Write", {"file_path": "settings.json"}, cwd="/home/ann/.claude"), 2)
        self.assertEqual(self.impact_of("Read", {"file_path": ".claude/settings.json"}), 0)

    def test_a_link_to_the_agents_own_settings_counts_as_risky(self):
        (self.folder / ".claude").mkdir()
        (self.folder / "docs").symlink_to(".claude")
        (self.folder / "notes.json").symlink_to(".claude/settings.json")
        (self.folder / "plain").mkdir()
        (self.folder / ".claude" / "settings.json").write_text("{}")
        for name in ("docs/settings.json", "docs/new.json", "docs/new/new.json", "notes.json"):
            for path in (name, str(self.folder / name)):
                self.assertEqual(self.impact_of("Write", {"file_path": path, "content": ""}, cwd=str(self.folder)), 2, path)
        self.assertEqual(self.impact_of("Write", {"file_path": "plain/new.json", "content": "x"}, cwd=str(self.folder)), 1)

    def test_a_worker_asks_for_its_run_whatever_its_session_is(self):
        run = {"RONDO_RUN_ID": "01a20bc1-0a61-738c-a8f8-9ce74148f741"}
        self.assertEqual(self.decision(self.call(wait="1ms", environment=run))[0], "deny")
        request = self.only_request()
        self.assertEqual(request["body"]["workflow"]["run_id"], run["RONDO_RUN_ID"])
        self.call(wait="1ms", environment=run, event={"session_id": "another"})
        self.assertEqual(self.only_request(), request)
        self.call(wait="1ms", environment={"RONDO_RUN_ID": "../x"})
        self.assertEqual(len(self.server.requests), 2)

    def test_an_approved_call_is_permitted_once(self):
        self.answering("approved")
        self.assertEqual(self.decision(self.call())[0], "allow")
        request = self.only_request()
        self.assertEqual((request["application"], request["body"]["action"]["args"]), ("applied", {"command": "rm -rf build"}))
        self.assertEqual(request["body"]["action"]["resource"], "/home/ann/project")
        self.server.on_submit = None
        decision, reason = self.decision(self.call(wait="100ms"))
        self.assertEqual(decision, "deny")
        self.assertIn("waits for the decision", reason)
        self.assertEqual(len(self.server.requests), 2)

    def test_a_person_who_takes_long_is_asked_once_and_the_call_is_permitted_later(self):
        for _ in range(2):
            self.assertEqual(self.decision(self.call(wait="100ms"))[0], "deny")
        self.assertEqual(len(self.server.requests), 1)
        self.server.decide(self.only_request()["id"], "approved")
        self.assertEqual(self.decision(self.call())[0], "allow")
        self.assertEqual(len(self.server.requests), 1)

    def test_a_decision_during_the_wait_is_answered_at_once(self):
        self.later(lambda: self.server.decide(self.server.wait_for_request(), "approved"))
        begin = time.monotonic()
        self.assertEqual(self.decision(self.call(wait="50s"))[0], "allow")
        self.assertLess(time.monotonic() - begin, 20)

    def test_another_call_is_not_approved(self):
        self.answering("approved")
        self.call()
        self.server.on_submit = None
        for other in ({"command": "rm -rf /"}, {"command": "rm -rf build", "timeout": 1}):
            self.assertEqual(self.decision(self.call("Bash", other, wait="100ms"))[0], "deny")
        self.assertEqual(self.decision(self.call(event={"cwd": "/"}, wait="100ms"))[0], "deny")
        self.assertEqual(self.decision(self.call(event={"session_id": "other"}, wait="100ms"))[0], "deny")

    def test_rejected_and_denied_calls_are_denied_with_the_reason(self):
        self.answering("rejected", context="not \x1b[31mtoday")
        decision, reason = self.decision(self.call())
        self.assertEqual(decision, "deny")
        self.assertIn("not today", reason)
        decision, reason = self.decision(self.call("deny_tool", {}))
        self.assertEqual(decision, "deny")
        self.assertIn("st.01", reason)

    def test_constraints_that_a_hook_cannot_apply_deny(self):
        self.answering("approved", constraints=[{"kind": "max", "pointer": "/n", "value": 1}])
        self.assertEqual(self.decision(self.call())[0], "deny")
        self.assertEqual(self.only_request()["application"], "available")

    def test_codex_is_stopped_with_exit_code_2(self):
        done = self.call("Bash", None, "--format", "codex", wait="100ms")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"waits for the decision", done.stderr)
        self.answering("approved")
        self.server.requests.clear()
        done = self.call("Bash", None, "--format", "codex")
        self.assertEqual((done.returncode, json.loads(done.stdout)), (0, {}))
        self.assertEqual(self.only_request()["body"]["agent"]["agent_id"], "codex")

    def test_whatever_fails_is_denied(self):
        nobody = socket.socket()
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        self.assertEqual(self.decision(self.call("Read", {}, server=address))[0], "deny")
        nobody.close()
        for raw in (b"", b"{", b"[]", b"{}", b'{"a":1,"a":2}', b"\xff", b"x" * 300_000):
            with self.subTest(raw[:8]):
                self.assertEqual(self.decision(self.call(raw=raw))[0], "deny")
        for event in ({"hook_event_name": "PostToolUse"}, {"tool_input": "x"}, {"tool_name": ""}, {"session_id": ""}):
            with self.subTest(event):
                self.assertEqual(self.decision(self.call(event=event))[0], "deny")
        self.assertEqual(self.decision(self.call(server="http://example.org"))[0], "deny")
        self.assertEqual(self.call("Read", {}, "--no-such-option").returncode, 2)

    def test_a_name_that_is_cut_by_a_nul_is_denied(self):
        self.assertEqual(self.decision(self.call("Read\0evil", {}))[0], "deny")
        settings = {"file_path": "settings.json"}
        self.assertEqual(self.decision(self.call("Write", settings, event={"cwd": "/p\0/.claude"}))[0], "deny")

    def test_a_denial_that_cannot_be_written_stops_the_call(self):
        with open("/dev/full", "wb") as full:
            done = self.call(out=full, wait="1ms")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"waits for the decision", done.stderr)

    def test_a_token_is_not_sent_to_a_host_after_a_user(self):
        done = self.call("Read", {}, server="http://localhost:1@127.0.0.2:9")
        self.assertIn("over https only", self.decision(done)[1])

    def test_what_the_server_says_has_no_control_characters(self):
        def tamper(_method, _path, answer):
            return {**answer, "outcome": "deny", "trigger_reasons": ["y" * 59 + "\u00e9", "\x1b[31m"]}

        self.server.tamper = tamper
        done = self.call("Bash", None, "--format", "codex")
        self.assertNotIn(b"\x1b", done.stderr)
        done.stderr.decode()

    def test_answers_that_make_no_sense_deny(self):
        for answer in (b"", b"allow", b"[]", {"outcome": "ALLOW"}, {"outcome": "allow"}, b'{"outcome":"deny","outcome":"allow"}'):
            self.server.tamper = lambda _m, _p, _a, answer=answer: answer
            with self.subTest(answer):
                self.assertEqual(self.decision(self.call("Read", {}))[0], "deny")
        self.server.tamper = None
        self.server.fail = lambda _m, _p: 403
        self.assertEqual(self.decision(self.call("Read", {}))[0], "deny")

    def test_decisions_about_something_else_deny(self):
        self.answering("approved")
        for name in ("request_id", "trace_id", "action_digest", "revision", "decision_id", "event_type"):
            def tamper(_method, _path, answer, name=name):
                if isinstance(answer, dict) and answer.get("decision"):
                    return {**answer, "decision": {**answer["decision"], name: ""}}
                return answer

            self.server.requests.clear()
            self.server.tamper = tamper
            with self.subTest(name):
                self.assertEqual(self.decision(self.call())[0], "deny")

    def test_a_proxy_of_the_environment_does_not_get_the_token(self):
        done = self.call("Read", {}, environment={"http_proxy": "http://127.0.0.1:1"})
        self.assertEqual(json.loads(done.stdout), {})


if __name__ == "__main__":
    unittest.main()
