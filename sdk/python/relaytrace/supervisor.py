# SPDX-License-Identifier: Apache-2.0
"""The way of an action: policies, perhaps a person, the grant, the action, its result.

The order is what makes it safe. A request has the same id wherever and whenever it is made, so one that was
decided is found again after a crash. The grant is taken after everything was verified and directly before the
action, and there is one for each decision. What was taken and has no result is in doubt, and is not repeated.
"""

import copy
import dataclasses
import datetime
import logging
import threading
import time

from . import files
from .permits import CONTRACT_VERSION, LEVELS, ActionContext, Permit, Trigger, raise_risk
from .jcs import canonical, digest, parse, request_id
from .checkpoints import MOST_BYTES, MOST_INLINE_BYTES
from .client import Client, result_digest, time_id
from .decision import Expected, check_status, clean, instant, narrow, read_decision
from .errors import (
    ActionAlreadyDone, ActionDenied, CanonicalError, CheckpointMismatch, DecisionInvalid, HandoffCancelled,
    HandoffExpired, HandoffNeedsInfo, HandoffPending, HandoffRejected, RelayTraceError, ServerRefused,
    ServerUnreachable,
)  # fmt: skip
from .lane import Lane, current_lane, expired_request
from .spool import Spool
from .transport import pause

log = logging.getLogger("relaytrace")

SDK = "rondo-relaytrace-python"
VERSION = "0.1.0"
MOST_ATTEMPTS = 4
MOST_ROUNDS = 8
MOST_LEASE_S = 60.0
MEDIUM = LEVELS.index("medium")
_CANCELLED = ("cancelled", "superseded", "unroutable", "dead_lettered")
_STATE_TEXTS = ("trace_id", "lane_id", "run_id", "action_digest")
_TERMINAL = ("approved", "rejected", "expired", "cancelled", "superseded", "dead_lettered")


def utc(seconds):
    text = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


class Supervisor:
    """What makes sure that an agent's actions were permitted. Any thread."""

    def __init__(self, config, client=None):
        self.config = config
        self.client = client or Client(config)
        self.spool = Spool(config.state_dir, config.endpoint, config.agent_id)

    # ---- Before an action -------------------------------------------------------------------------

    def before_action(self, context, lane=None, cancel=None):
        """Permit an action, or raise why not. @param context ActionContext @return a Permit"""
        lane = lane or current_lane() or Lane(self)
        step_id = context.step_id or lane.next_step()
        if self.config.before_action is not None:
            self.config.before_action(context)
        self._refuse_repetition(context, lane, step_id)
        try:
            self._open_lane(lane, cancel)
            verdict = self._evaluate(context, lane, cancel)
        except ServerUnreachable:
            if context.tool not in self.config.allow_offline or expired_request() is not None:
                raise
            log.warning("%s is made without the server, as it is configured", context.tool)
            return Permit(context, lane, step_id, context.args, is_offline=True)
        expired = expired_request()
        if expired is not None and not (verdict["outcome"] == "allow" and context.reversible and context.risk_level <= MEDIUM):
            raise expired
        if verdict["outcome"] == "allow":
            return Permit(context, lane, step_id, context.args)
        if verdict["outcome"] == "deny":
            raise self._denial(context, verdict)
        return self._ask(context, lane, step_id, verdict, cancel)

    @staticmethod
    def _refuse_repetition(context, lane, step_id):
        done = lane.done.get(step_id)
        if done is None:
            return
        if done["digest"] != context.digest:
            raise CheckpointMismatch("", f"{step_id} was another action before the agent was continued")
        raise ActionAlreadyDone(step_id, done.get("result"), done.get("has_result", False))

    def _open_lane(self, lane, cancel):
        if not lane.is_open:
            body = {"agent_id": self.config.agent_id, "lane_id": lane.lane_id, "run_id": lane.run_id}
            self.client.open_lane(body, cancel)
            lane.is_open = True

    def _evaluate(self, context, lane, cancel, approved=None):
        body = {
            "agent_id": self.config.agent_id,
            "policy_profile": self.config.policy_profile,
            "lane_id": lane.lane_id,
            "run_id": lane.run_id,
            "action": context.action(),
            "context": context.facts(),
        }
        if approved is not None:
            body["request_id"] = approved
        return self.client.evaluate(body, cancel)

    @staticmethod
    def _denial(context, verdict):
        reasons = [clean(str(reason), 200) for reason in verdict.get("trigger_reasons") or ()]
        return ActionDenied(context.tool, reasons[:16], clean(verdict.get("policy_rule_id"), 200) or None)

    # ---- Asking a person --------------------------------------------------------------------------

    def _ask(self, context, lane, step_id, verdict, cancel):
        trigger = Trigger(
            trigger_reason=str(verdict.get("trigger_reason") or ""),
            trigger_reasons=tuple(verdict.get("trigger_reasons") or ()),
            policy_rule_id=str(verdict.get("policy_rule_id") or ""),
            confidence_score=context.confidence or 0.0,
            risk_level=context.risk_level,
            policy_hash=str(verdict.get("policy_hash") or ""),
            context=copy.deepcopy(context),
        )
        if self.config.on_risk_threshold is not None:
            facts = context.facts()
            raise_risk(context, self.config.on_risk_threshold(trigger))
            if context.facts() != facts and self._evaluate(context, lane, cancel)["outcome"] == "deny":
                raise self._denial(context, verdict)
        in_doubt = None
        for attempt in range(1, MOST_ATTEMPTS + 1):
            handoff = Handoff(self, context, lane, step_id, attempt, trigger, verdict, cancel)
            outcome = handoff.settle(in_doubt)
            if isinstance(outcome, Permit):
                return outcome
            in_doubt = handoff.request_id if outcome == "in_doubt" else None
        raise HandoffExpired(handoff.request_id, reason_code="lapsed")

    # ---- After an action --------------------------------------------------------------------------

    def after_action(self, permit, result=None, error=None):
        """Say what became of an action, once. What cannot be sent is kept and sent later.
        @return whether it was the first time"""
        if permit.is_ended:
            return False
        permit.is_ended = True
        ok = error is None
        value = result if ok else {"error": type(error).__name__}
        report = {
            "ok": ok,
            "action_digest": permit.action_digest,
            "executed_digest": permit.executed_digest,
            "result_digest": result_digest(value),
            "duration_ms": int((time.monotonic() - permit.began) * 1000),
        }
        self._remember(permit, result, ok)
        if permit.request_id is not None and permit.decision is not None:
            body = {"consumer": self.client.consumer, "decision_id": permit.decision.decision_id, **report}
            path = f"/v1/hitl/requests/{permit.request_id}/finish"
        else:
            body = {
                "receipt_id": time_id(), "kind": "executed", "agent_id": self.config.agent_id,
                "lane_id": permit.lane.lane_id, "run_id": permit.lane.run_id, "step_id": permit.step_id,
                "tool": permit.tool, "occurred_at": utc(time.time()), **report,
            }  # fmt: skip
            path = "/v1/audit/receipts"
        self._send(path, body)
        if self.config.after_action is not None:
            self.config.after_action({"permit": permit, "result": result, "error": error, **report})
        return True

    def _result_path(self, request_id):
        return self.config.state_dir / "results" / f"{request_id}.json"

    def _remember(self, permit, result, ok):
        """Keep the result of an action, so that it is not lost when the process is."""
        try:
            canonical(result)
            kept = {"digest": permit.action_digest, "result": result, "has_result": ok}
        except CanonicalError:
            kept = {"digest": permit.action_digest, "result": None, "has_result": False}
        permit.lane.done[permit.step_id] = kept
        if permit.request_id is not None:
            try:
                files.write(self._result_path(permit.request_id), canonical(kept))
            except OSError as error:
                log.warning("the result of an action is not kept: %s", error.strerror)

    def kept_result(self, request_id, action_digest):
        try:
            kept = parse(files.read(self._result_path(request_id), MOST_BYTES) or b"null")
        except (OSError, ValueError):
            kept = None
        return kept if isinstance(kept, dict) and kept.get("digest") == action_digest else {}

    def end_lane(self, lane, error=None):
        """A supervised function has returned, or ended with an error."""
        if isinstance(error, HandoffPending) and self.config.mode == "suspend":
            return
        if lane.is_open:
            self.client.close_lane(lane.lane_id, "halted" if error is not None else "done")
        if error is None:
            for request_id in lane.requests:
                self.config.checkpoints.delete(request_id)
                self._result_path(request_id).unlink(missing_ok=True)

    def _send(self, path, body):
        try:
            self.client.transport.call("POST", path, body, budget_s=min(3.0, self.config.budget_s))
        except RelayTraceError as problem:
            is_final = isinstance(problem, ServerRefused) and problem.status in (400, 404, 409, 422)
            log.warning("the result of an action was not taken: %s", problem if is_final else type(problem).__name__)
            if not is_final:
                self.spool.add(path, body)
        else:
            self.spool.flush(self.client.send)

    def flush(self):
        """Send what could not be sent. @return messages that are left"""
        return self.spool.flush(self.client.send)


def load_state(config, request_id):
    """The checkpoint of a request. Raises CheckpointMismatch."""
    try:
        state = config.checkpoints.load(request_id)
    except (OSError, ValueError):
        raise CheckpointMismatch(request_id, "the checkpoint cannot be read") from None
    if state is None:
        raise CheckpointMismatch(request_id, "the checkpoint is missing")
    is_whole = isinstance(state, dict) and all(isinstance(state.get(name), str) for name in _STATE_TEXTS)
    if not is_whole or state.get("format") != 1:
        raise CheckpointMismatch(request_id, "the checkpoint has a format that is not known")
    return state


class Handoff:
    """One request to a person, in one attempt."""

    def __init__(self, supervisor, context, lane, step_id, attempt, trigger, verdict, cancel):
        self.supervisor, self.config, self.client = supervisor, supervisor.config, supervisor.client
        self.context, self.lane, self.step_id, self.attempt = context, lane, step_id, attempt
        self.trigger, self.verdict, self.cancel = trigger, verdict, cancel
        self.request_id = request_id(
            agent_id=self.config.agent_id, workflow_id=lane.workflow_id, run_id=lane.run_id, step_id=step_id,
            lane_id=lane.lane_id, action_digest=context.digest, attempt=attempt,
        )  # fmt: skip
        self.expected = Expected(self.request_id, lane.trace_id, self.config.agent_id, context.digest)
        self.state_hash = None
        self.revision = 1

    def settle(self, in_doubt):
        """@return a Permit, or "lapsed" or "in_doubt" when it must be asked for anew; raises all else"""
        status = self.client.status(self.request_id, self.cancel)
        try:
            if status is None:
                # May arrive although it fails here.
                self._submit(in_doubt)
            else:
                self._check_state(status)
            end = time.monotonic() + self.config.timeout_s
            for _ in range(MOST_ROUNDS):
                status = self._decided(end, status)
                outcome = self._continue(status)
                if outcome is not None:
                    return outcome
                status = None
        except BaseException as error:
            if self.lane.is_own_id and self.config.mode == "wait" and not isinstance(error, HandoffRejected):
                self._leave(error)
            raise
        raise DecisionInvalid(self.request_id, "questions were asked too often")

    def _leave(self, error):
        """Nobody will come back to this lane: people need not decide any more."""
        if not isinstance(error, (DecisionInvalid, CheckpointMismatch, ActionAlreadyDone, HandoffNeedsInfo)):
            self.client.cancel(self.request_id)

    # ---- The request ------------------------------------------------------------------------------

    def _submit(self, in_doubt):
        checkpoint = self._save()
        body = self._body(checkpoint, in_doubt)
        answer = self.client.submit(body, self.cancel)
        revision = answer.get("revision", 1)
        self.revision = revision if type(revision) is int and revision > 0 else 1

    def _save(self):
        """Keep what the lane is continued from."""
        if self.config.mode == "suspend" and self.lane.function and self.lane.input is None:
            raise CanonicalError("the arguments of the supervised function are not JSON, so it cannot be resumed")
        self.lane.requests.append(self.request_id)
        state = {
            "format": 1,
            "lane_id": self.lane.lane_id, "run_id": self.lane.run_id, "trace_id": self.lane.trace_id,
            "agent_id": self.config.agent_id, "function": self.lane.function, "step_id": self.step_id, "action_digest": self.context.digest,
            "input": self.lane.input, "done": self.lane.done,
        }  # fmt: skip
        self.state_hash = digest(state)
        try:
            reference = self.config.checkpoints.save(self.request_id, state)
        except OSError as error:
            raise RelayTraceError(f"the checkpoint cannot be kept: {error.strerror}") from None
        if self.config.checkpoint_strategy == "inline":
            if len(canonical(state)) > MOST_INLINE_BYTES:
                raise CanonicalError(f"an inline checkpoint has at most {MOST_INLINE_BYTES} bytes")
            return {"mode": "inline", "ref": reference, "state": state, "state_hash": self.state_hash}
        return {"mode": "external_ref", "ref": reference, "state_hash": self.state_hash}

    def _body(self, checkpoint, in_doubt):
        context, config = self.context, self.config
        reasons = list(self.trigger.trigger_reasons)
        context_block = {
            "messages": list(context.messages), "artifacts": list(context.artifacts),
            "citations": list(context.citations), "evidence": list(context.evidence),
        }  # fmt: skip
        if context.required_by is not None:
            context_block["required_by_ts"] = context.required_by
        routing = {"supervisors": list(config.supervisors), "priority": context.priority or LEVELS[context.risk_level]}
        if config.routing_policy_id:
            routing["routing_policy_id"] = config.routing_policy_id
        if config.callback_channel:
            routing["callback_channel"] = config.callback_channel
        body = {
            "contract_version": CONTRACT_VERSION,
            "event_type": "handoff.requested",
            "event_id": time_id(),
            "occurred_at": utc(self.client.transport.now()),
            "request_id": self.request_id,
            "trace_id": self.lane.trace_id,
            "lane_id": self.lane.lane_id,
            "revision": 1,
            "agent": {"agent_id": config.agent_id, "sdk": SDK, "version": VERSION},
            "workflow": {"workflow_id": self.lane.workflow_id, "run_id": self.lane.run_id, "step_id": self.step_id},
            "routing": routing,
            "intent": {
                "summary": context.summary or f"The agent is about to call {context.tool}.",
                "proposed_action": context.tool,
                "risk_level": LEVELS[context.risk_level],
                "confidence": context.confidence or 0.0,
            },
            "checkpoint": checkpoint,
            "context": context_block,
            "action": {**context.action(), "idempotent": context.idempotent},
            "trigger": {
                "trigger_reason": "in_doubt_execution" if in_doubt else self.trigger.trigger_reason,
                "trigger_reasons": ["in_doubt_execution", *reasons] if in_doubt else reasons,
                "policy_rule_id": self.trigger.policy_rule_id,
                "confidence_score": context.confidence or 0.0,
                "risk_level": LEVELS[context.risk_level],
                "policy_hash": self.trigger.policy_hash,
            },
            "evidence": {
                "count": len(context.evidence), "required": context.evidence_required,
                "missing": list(context.evidence_missing),
            },
            "reversible": context.reversible,
            "attempt": self.attempt,
            "facts": context.facts(),
        }  # fmt: skip
        if context.rollback is not None:
            body["rollback"] = context.rollback
        if in_doubt is not None:
            body["in_doubt"] = in_doubt
        return body

    def _check_state(self, status):
        """The request was made before: the checkpoint must be the one that it was made with."""
        checkpoint = status.get("checkpoint") if isinstance(status.get("checkpoint"), dict) else {}
        wanted = status.get("state_hash") or checkpoint.get("state_hash")
        state = load_state(self.config, self.request_id)
        self.state_hash = digest(state)
        if wanted is not None and wanted != self.state_hash:
            raise CheckpointMismatch(self.request_id, "the checkpoint is not the one that the request was made with")
        self.expected = dataclasses.replace(self.expected, trace_id=state["trace_id"])

    # ---- The decision -----------------------------------------------------------------------------

    @staticmethod
    def _is_settled(status):
        decision = status.get("decision")
        inner = decision.get("decision") if isinstance(decision, dict) else None
        if isinstance(inner, dict) and inner.get("status") == "rerouted":
            return status.get("state") in _TERMINAL  # a notice: somebody else decides
        return decision is not None or status.get("state") in _TERMINAL

    def _decided(self, end, status):
        """@return a status with a decision that is more than a notice"""
        if status is None and self.config.mode == "suspend":
            status = self.client.status(self.request_id, self.cancel)
        if status is not None:
            check_status(status, self.expected)
            if self._is_settled(status):
                return status
        if self.config.mode == "suspend":
            raise HandoffPending(self.request_id)
        status = self.client.wait(self.expected, self._is_settled, max(0.0, end - time.monotonic()), self.cancel)
        if status is None:
            raise HandoffPending(self.request_id, f"nobody has decided request {self.request_id} in time")
        return status

    def _continue(self, status):
        """@return a Permit, "lapsed" or "in_doubt", or None to wait on"""
        revision = check_status(status, self.expected)
        if status.get("decision") is None:
            raise self._ended(status["state"], None)
        decision = read_decision(status["decision"], self.expected, revision)
        wanted = self._hook(decision)
        if decision.status == "needs_info":
            return self._answer(decision, wanted)
        if decision.status != "approved" or status["state"] != "approved":
            raise self._ended(decision.reason_code, decision)
        if wanted is False:
            raise HandoffRejected(self.request_id, reason_code="on_decision")
        return self._apply(status, decision)

    def _hook(self, decision):
        if self.config.on_decision is None:
            return None
        return self.config.on_decision(decision)

    def _ended(self, reason, decision):
        guidance = decision.guidance if decision else ""
        constraints = decision.constraints if decision else ()
        kind = HandoffRejected
        if reason == "expired":
            kind = HandoffExpired
        elif reason in _CANCELLED:
            kind = HandoffCancelled
        return kind(self.request_id, guidance, constraints, reason)

    def _answer(self, decision, wanted):
        answers = wanted.get("answers") if isinstance(wanted, dict) else None
        if not answers:
            raise HandoffNeedsInfo(self.request_id, decision.questions)
        answer(self.client, decision, answers, wanted, self.expected.action_digest, self.cancel)
        return None

    # ---- What was approved ------------------------------------------------------------------------

    def _apply(self, status, decision):
        application = status.get("application")
        if application in ("lapsed", "failed"):
            return "lapsed"
        if application == "applied":
            kept = self.supervisor.kept_result(self.request_id, self.expected.action_digest)
            raise ActionAlreadyDone(self.request_id, kept.get("result"), kept.get("has_result", False))
        if application in ("started", "in_doubt") and not self.context.idempotent:
            return "in_doubt"
        if application not in ("available", "leased", "started", "in_doubt"):
            raise DecisionInvalid(self.request_id, "what was approved cannot be taken")
        if not self._take(status, decision):
            return None
        try:
            if self.context.has_changed_files():
                raise DecisionInvalid(self.request_id, "a file that the action names has changed since it was asked for")
            args = narrow(self.context.args, decision, self.client.transport.now())
            permit = Permit(self.context, self.lane, self.step_id, args, self.request_id, decision)
        except (DecisionInvalid, CanonicalError) as error:
            self.client.give_back(self.request_id, decision.decision_id, "constraint")
            raise DecisionInvalid(self.request_id, str(error)) from None
        verdict = self.supervisor._evaluate(self.context, self.lane, self.cancel, self.request_id)
        if verdict["outcome"] != "allow":
            self.client.give_back(self.request_id, decision.decision_id, "policy")
            raise self.supervisor._denial(self.context, verdict)
        body = {
            "decision_id": decision.decision_id,
            "action_digest": permit.action_digest,
            "executed_digest": permit.executed_digest,
        }
        if self.state_hash is not None:
            body["state_hash"] = self.state_hash
        self.client.start(self.request_id, body, self.cancel)
        permit.began = time.monotonic()
        return permit

    def _take(self, status, decision):
        """@return False: another process has it; look again after its lease, for it may have been killed"""
        try:
            answer = self.client.take(self.request_id, decision.decision_id, self.cancel)
        except ServerRefused as refusal:
            if refusal.code != "not_yours":
                raise
            now = self.client.transport.now()
            until = instant(status.get("lease_until")) or now
            pause(min(max(until - now, 0) + 0.2, MOST_LEASE_S), self.cancel)
            return False
        if answer.get("decision_id", decision.decision_id) != decision.decision_id:
            raise DecisionInvalid(self.request_id, "the server has leased another decision")
        return True


def answer(client, decision, answers, more, action_digest, cancel=None):
    """Resubmit a request with the answers to its questions."""
    if not isinstance(answers, (list, tuple)) or not all(isinstance(item, (str, dict)) for item in answers):
        raise RelayTraceError("answers are texts, or objects with question and answer")
    pairs = []
    for position, item in enumerate(answers):
        question = decision.questions[position] if position < len(decision.questions) else ""
        pairs.append(item if isinstance(item, dict) else {"question": question, "answer": item})
    body = {"revision": decision.revision + 1, "action_digest": action_digest, "answers": pairs}
    for name in ("context", "evidence"):
        if isinstance(more, dict) and more.get(name) is not None:
            body[name] = more[name]
    client.resubmit(decision.request_id, body, cancel)


class CancelToken(threading.Event):
    """Ends a wait: pass it, and `set()` it."""


