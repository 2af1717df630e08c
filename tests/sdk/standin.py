# SPDX-License-Identifier: Apache-2.0
"""A recording stand-in for `rondo serve`, for what a correct server never does: tampered, huge and slow answers,
lost acknowledgements. Everything else is also tested with the real one.

    standin.py      prints its address; `POST /decide` decides (for tests in other languages)
"""

import datetime
import http.server
import json
import pathlib
import sys
import threading
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "sdk/python"))
from relaytrace.jcs import action_digest, digest

OPEN = ("requested", "routed", "rerouted", "escalated", "needs_info")


class Refused(Exception):
    def __init__(self, status, code, retryable=False):
        super().__init__(code)
        self.status, self.code, self.retryable = status, code, retryable


def explain(facts, tool):
    """Rules like those of default-security."""
    reasons = []
    confidence = facts.get("confidence", 0)
    if facts["impact"] >= 2 and confidence < 0.8:
        reasons.append("low_confidence_high_impact")
    if not facts["reversible"] and facts["evidence_count"] < facts["evidence_required"]:
        reasons.append("missing_evidence_irreversible")
    if facts["human_required"] or tool.startswith("ask_"):
        reasons.append("explicit_agent_rule")
    if facts["risk_level"] >= 3:
        reasons.append("risk_level_high")
    return reasons


def _utc(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat().replace("+00:00", "Z")


class StandIn:
    """A server with its requests, in memory."""

    def __init__(self):
        self.requests, self.calls, self.receipts, self.lanes = {}, [], {}, {}
        self.changed = threading.Condition()
        self.tamper = None  # function of (method, path, answer) -> answer
        self.fail = None  # function of (method, path) -> status, None, or "drop" (after the work is done)
        self.on_submit = None  # function of the request: a person who decides at once
        self.lease_s = 0.3  # how long another process waits for one that took a request and does not start
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                outer.handle(self)

            do_GET = do_POST = do_PATCH = handle_any

            def log_message(self, *_words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_words):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    # ---- Transport ----

    def handle(self, http_request):
        path, _, query = http_request.path.partition("?")
        length = int(http_request.headers.get("content-length") or 0)
        raw = http_request.rfile.read(length)
        body = json.loads(raw) if raw else {}
        method = http_request.command
        with self.changed:
            self.calls.append((method, path, body, dict(http_request.headers)))
        failure = self.fail(method, path) if self.fail else None
        try:
            if isinstance(failure, int):
                raise Refused(failure, "made_up", True)
            status, answer = self.route(method, path, query, body)
        except Refused as refusal:
            status = refusal.status
            error = {"code": refusal.code, "message": refusal.code, "retryable": refusal.retryable}
            answer = {"title": refusal.code, "status": status, "error": error}
        if failure == "drop":
            http_request.close_connection = True
            return
        if self.tamper is not None:
            answer = self.tamper(method, path, answer)
        if callable(answer):
            answer(http_request)
            http_request.close_connection = True
            return
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        http_request.send_response(status)
        http_request.send_header("Content-Type", "application/json")
        http_request.send_header("Content-Length", str(len(data)))
        http_request.end_headers()
        http_request.wfile.write(data)

    def route(self, method, path, query, body):
        parts = path.strip("/").split("/")
        if path == "/decide":
            self.decide(body.pop("request_id"), body.pop("status"), **body)
            return 200, {}
        if path == "/seen":
            return 200, {"calls": [list(call[:3]) for call in self.calls]}
        if path == "/v1/actions/evaluate":
            return 200, self.evaluate(body)
        if path == "/v1/hitl/requests":
            return self.submit(body)
        if parts[:3] == ["v1", "hitl", "requests"]:
            request = self.requests.get(parts[3])
            if request is None:
                raise Refused(404, "not_found")
            if method == "GET":
                return 200, self.watch(request, query)
            with self.changed:
                return 200, getattr(self, f"do_{parts[4]}")(request, body)
        if path == "/v1/lanes" or parts[:2] == ["v1", "lanes"]:
            self.lanes[body.get("lane_id") or parts[2]] = body.get("state", "running")
            return 200, {"lane_id": body.get("lane_id") or parts[2]}
        if path == "/v1/audit/receipts":
            self.receipts[body["receipt_id"]] = body
            return 201, {"receipt_id": body["receipt_id"]}
        raise Refused(404, "no_route")

    # ---- Policies and requests ----

    def evaluate(self, body):
        action, facts = body["action"], body["context"]
        own = action_digest(action["tool"], action["args"], action.get("resource"), action.get("operands", ()))
        if own != action["action_digest"]:
            raise Refused(422, "other_digest")
        reasons = explain(facts, action["tool"])
        outcome = "handoff" if reasons else "allow"
        request = self.requests.get(body.get("request_id"))
        if request is not None and request["state"] == "approved" and request["action_digest"] == own:
            outcome, reasons = "allow", []
        if action["tool"].startswith("deny_") or facts["violation_score"] >= 0.9:
            outcome, reasons = "deny", ["forbid"]
        return {
            "outcome": outcome, "trigger_reason": reasons[0] if reasons else None, "trigger_reasons": reasons,
            "policy_rule_id": "st.01", "risk_level": facts["risk_level"], "policy_hash": "sha256:0",
            "action_digest": own, "errors": [],
        }  # fmt: skip

    def submit(self, body):
        with self.changed:
            known = self.requests.get(body["request_id"])
            if known is not None:
                if known["digest"] != digest(body):
                    raise Refused(422, "other_body")
                return 200, self.view(known)
            request = {
                "id": body["request_id"], "body": body, "digest": digest(body), "state": "routed", "revision": 1,
                "version": 1, "application": "none", "decision": None, "consumer": None,
                "action_digest": body["action"]["action_digest"], "answers": None,
            }  # fmt: skip
            self.requests[body["request_id"]] = request
            self.changed.notify_all()
        if self.on_submit is not None:
            self.on_submit(request)
        return 201, self.view(request)

    def view(self, request):
        body = request["body"]
        return {
            "request_id": request["id"], "agent_id": body["agent"]["agent_id"], "trace_id": body["trace_id"],
            "state": request["state"], "application": request["application"], "revision": request["revision"],
            "version": request["version"], "action_digest": request["action_digest"],
            "state_hash": body["checkpoint"].get("state_hash"), "decision": request["decision"],
            "lease_until": _utc(request["lease_end"]) if request["application"] == "leased" else None,
        }  # fmt: skip

    def watch(self, request, query):
        wait_ms = int(query.partition("wait_ms=")[2] or 0)
        end = time.monotonic() + wait_ms / 1000
        with self.changed:
            before = (request["version"], bool(request["decision"]))
            while request["decision"] is None and (request["version"], False) == before:
                rest = end - time.monotonic()
                if rest <= 0:
                    break
                self.changed.wait(rest)
            return self.view(request)

    def decide(self, request_id, status, context="", constraints=(), questions=(), reason_code=None, approvers=("user:ann",)):
        with self.changed:
            request = self.requests[request_id]
            state = {"approved": "approved", "rejected": "rejected", "needs_info": "needs_info", "rerouted": "routed"}[status]
            if reason_code in ("expired", "cancelled"):
                state = reason_code
            request["state"] = state
            request["version"] += 1
            if status == "approved":
                request["application"] = "available"
            request["decision"] = {
                "event_type": "handoff.decided", "request_id": request_id, "trace_id": request["body"]["trace_id"],
                "agent_id": request["body"]["agent"]["agent_id"], "decision_id": str(uuid.uuid4()),
                "revision": request["revision"], "action_digest": request["action_digest"],
                "reason_code": reason_code or status, "questions": list(questions),
                "approval_chain": [{"operator_id": name} for name in approvers],
                "decision": {
                    "status": status, "operator_id": approvers[0], "operator_role": "operator",
                    "context": context, "constraints": list(constraints),
                },
                "decision_ts": "2026-01-01T00:00:00Z",
            }  # fmt: skip
            self.changed.notify_all()

    def wait_for_request(self, count=1, timeout_s=60):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.requests) >= count, timeout_s):
                raise AssertionError(f"{len(self.requests)} requests came, not {count}")
            return list(self.requests)[count - 1]

    # ---- What was approved ----

    def do_resubmit(self, request, body):
        if body["revision"] != request["revision"] + 1 or body["action_digest"] != request["action_digest"]:
            raise Refused(409, "other_revision")
        request.update(revision=body["revision"], answers=body["answers"], state="routed", decision=None)
        request["version"] += 1
        self.changed.notify_all()
        if self.on_submit is not None:
            threading.Thread(target=self.on_submit, args=(request,), daemon=True).start()
        return self.view(request)

    def do_cancel(self, request, _body):
        if request["state"] in OPEN:
            request["state"] = "cancelled"
        return self.view(request)

    def do_take(self, request, body):
        if request["application"] not in ("available", "leased", "in_doubt") or (
            request["application"] == "in_doubt" and not request["body"]["action"].get("idempotent")
        ):
            raise Refused(409, "no_application")
        if request["application"] == "leased" and request["consumer"] != body["consumer"] and time.time() < request["lease_end"]:
            raise Refused(403, "not_yours")
        request.update(application="leased", consumer=body["consumer"], lease_end=time.time() + self.lease_s)
        return {**self.view(request), "decision_id": request["decision"]["decision_id"]}

    def do_start(self, request, body):
        if request["consumer"] != body["consumer"]:
            raise Refused(403, "not_yours")
        if request["application"] == "started":
            return self.view(request)
        wanted = request["body"]["checkpoint"].get("state_hash")
        if body["action_digest"] != request["action_digest"] or body.get("state_hash") != wanted:
            request["application"] = "failed"
            raise Refused(409, "integrity")
        if request["application"] != "leased":
            raise Refused(409, "no_application")
        request.update(application="started", executed=body["executed_digest"])
        return self.view(request)

    def do_finish(self, request, body):
        if request["consumer"] != body["consumer"]:
            raise Refused(403, "not_yours")
        request.update(application="applied", result=body["result_digest"], ok=body["ok"])
        return self.view(request)

    def do_return(self, request, body):
        request["application"] = "available" if body["is_transient"] else "failed"
        request["returned"] = body["reason"]
        return self.view(request)


if __name__ == "__main__":
    print(StandIn().endpoint, flush=True)
    sys.stdin.read()  # until the test that started it ends
