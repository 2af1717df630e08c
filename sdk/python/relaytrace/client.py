# SPDX-License-Identifier: Apache-2.0
"""The calls of the API that an agent makes."""

import secrets
import time
import urllib.parse

from .jcs import digest as digest_of
from .decision import check_status
from .errors import DecisionInvalid, ServerAnswerInvalid, ServerRefused, ServerUnreachable
from .signing import verify
from .transport import Transport, pause

LONG_POLL_MS = 20_000
_OUTCOMES = ("allow", "handoff", "deny")


def time_id():
    """A UUID of version 7: its order is that of the times."""
    stamp = time.time_ns() // 1_000_000
    number = (stamp << 80) | (7 << 76) | (secrets.randbits(12) << 64) | (2 << 62) | secrets.randbits(62)
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def result_digest(value):
    """The digest of what a tool returned; of its type when that is not JSON."""
    try:
        return digest_of(value)
    except ValueError:
        return digest_of({"type": f"{type(value).__module__}.{type(value).__qualname__}"})


class Client:
    """One agent's calls. Any thread. Answers that make no sense raise, and permit nothing."""

    def __init__(self, config, transport=None):
        self.config = config
        self.transport = transport or Transport(
            config.endpoint, config.token, config.signing_secret, budget_s=config.budget_s
        )
        # One life of this process: who has taken what was approved.
        self.consumer = f"sdk-{secrets.token_hex(12)}"

    def _path(self, request_id, verb=None):
        path = f"/v1/hitl/requests/{urllib.parse.quote(request_id, safe='')}"
        return f"{path}/{verb}" if verb else path

    def evaluate(self, body, cancel=None):
        """Ask the policies. @return the answer, whose outcome is allow, handoff or deny"""
        answer = self.transport.call("POST", "/v1/actions/evaluate", body, cancel=cancel).value
        outcome = answer.get("outcome")
        if outcome not in _OUTCOMES:
            raise ServerAnswerInvalid("the evaluation has an outcome that is not known")
        if answer.get("action_digest") != body["action"]["action_digest"]:
            raise ServerAnswerInvalid("the evaluation is about another action")
        if answer.get("errors") and outcome == "allow":
            raise ServerAnswerInvalid("the evaluation permits and has errors")
        return answer

    def submit(self, body, cancel=None):
        """Hand a request in; the same one again is recognised."""
        answer = self.transport.call("POST", "/v1/hitl/requests", body, cancel=cancel).value
        if answer.get("request_id") != body["request_id"]:
            raise DecisionInvalid(body["request_id"], "the server has accepted another request")
        return answer

    def _status(self, request_id, wait_ms, cancel, call):
        query = f"?wait_ms={wait_ms}" if wait_ms else ""
        answer = call("GET", self._path(request_id) + query, cancel=cancel)
        secret = self.config.signing_secret
        if secret is not None and not verify(secret.reveal(), answer.headers, answer.body, self.transport.now()):
            raise DecisionInvalid(request_id, "the server's answer is not signed as it must be")
        if answer.value.get("request_id") != request_id:
            raise DecisionInvalid(request_id, "the server's answer is about another request")
        return answer.value

    def status(self, request_id, cancel=None):
        """How a request is now, or None when the server does not have it."""
        try:
            return self._status(request_id, 0, cancel, self.transport.call)
        except ServerRefused as refusal:
            if refusal.status == 404:
                return None
            raise

    def watch(self, request_id, rest_s, cancel=None):
        """How a request is, as soon as it changes, at the latest after a long poll. No repetition."""
        wait_ms = max(1, min(LONG_POLL_MS, int(rest_s * 1000)))

        def call(method, path, cancel):
            return self.transport.once(method, path, timeout_s=wait_ms / 1000 + 15, cancel=cancel)

        return self._status(request_id, wait_ms, cancel, call)

    def wait(self, expected, is_settled, timeout_s, cancel=None):
        """Follow a request until is_settled(status), across restarts of the server of up to `outage_s`.
        @return the status, or None when time is up"""
        end = time.monotonic() + timeout_s
        lost_since, attempt = None, 0
        while True:
            rest = end - time.monotonic()
            if rest <= 0:
                return None
            began = time.monotonic()
            try:
                status = self.watch(expected.request_id, rest, cancel)
            except (ServerUnreachable, ServerRefused) as error:
                if isinstance(error, ServerRefused) and not error.retryable:
                    raise
                lost_since = lost_since or time.monotonic()
                if time.monotonic() - lost_since > self.config.outage_s:
                    raise
                wait_s = max(self.transport.pause_s(attempt), getattr(error, "retry_after_s", 0.0))
                attempt += 1
                pause(min(wait_s, max(0.0, end - time.monotonic())), cancel)
                continue
            lost_since, attempt = None, 0
            check_status(status, expected)
            if is_settled(status):
                return status
            if time.monotonic() - began < 0.05:  # a server that does not wait is not asked without a pause
                pause(self.transport.pause_s(2), cancel)

    def _step(self, request_id, verb, body, application, cancel):
        path = self._path(request_id, verb)
        answer = self.transport.call("POST", path, {"consumer": self.consumer, **body}, cancel=cancel).value
        if answer.get("request_id") != request_id or answer.get("application") != application:
            raise DecisionInvalid(request_id, f"the server's answer to {verb} is not about this request")
        return answer

    def take(self, request_id, decision_id, cancel=None):
        """Take what was approved, to prepare it."""
        return self._step(request_id, "take", {"decision_id": decision_id}, "leased", cancel)

    def start(self, request_id, body, cancel=None):
        """Take the grant, of which there is one: the action is made next."""
        return self._step(request_id, "start", body, "started", cancel)

    def give_back(self, request_id, decision_id, reason, is_transient=False):
        """What was taken cannot be made. What fails here changes nothing: the lease ends by itself."""
        body = {"consumer": self.consumer, "decision_id": decision_id, "reason": reason, "is_transient": is_transient}
        try:
            self.transport.once("POST", self._path(request_id, "return"), body)
        except (ServerUnreachable, ServerRefused, ServerAnswerInvalid):
            pass

    def resubmit(self, request_id, body, cancel=None):
        """Answer the questions of a person."""
        return self.transport.call("POST", self._path(request_id, "resubmit"), body, cancel=cancel).value

    def cancel(self, request_id, reason="lane_ended"):
        """Take a request back, if it can be reached; else it expires."""
        try:
            self.transport.once("POST", self._path(request_id, "cancel"), {"reason": reason}, timeout_s=3)
        except (ServerUnreachable, ServerRefused, ServerAnswerInvalid):
            pass

    def send(self, path, value):
        """One message, once: of the spool."""
        self.transport.once("POST", path, value, timeout_s=5)

    def open_lane(self, body, cancel=None):
        self.transport.call("POST", "/v1/lanes", body, cancel=cancel)

    def close_lane(self, lane_id, state):
        """Say that a lane has ended, if the server can be reached."""
        path = f"/v1/lanes/{urllib.parse.quote(lane_id, safe='')}"
        try:
            self.transport.once("PATCH", path, {"agent_id": self.config.agent_id, "state": state}, timeout_s=3)
        except (ServerUnreachable, ServerRefused, ServerAnswerInvalid):
            pass
