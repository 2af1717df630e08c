# SPDX-License-Identifier: Apache-2.0
"""An action that is about to be made: what it is, what is known about its risk, and the permission to make it."""

import copy
import dataclasses
import math
import time

from .jcs import action_digest, canonical, operand
from .errors import CanonicalError, RelayTraceError

LEVELS = ("low", "medium", "high", "critical")
CONTRACT_VERSION = 1


@dataclasses.dataclass
class ActionContext:
    """What an agent says about an action. What is left out counts as risky: undeclared, an action has
    `impact` 2, cannot be undone, and has no confidence, so that a person is asked."""

    tool: str
    args: dict = dataclasses.field(default_factory=dict)
    resource: str | None = None
    operands: tuple = ()  # paths of files, or {"path", "digest"}
    confidence: float | None = None  # 0 to 1
    risk_level: int = 1  # 0 to 3
    impact: int = 2  # 0 to 3
    reversible: bool = False
    evidence: tuple = ()
    evidence_required: int = 0
    evidence_missing: tuple = ()
    violation_score: float = 0.0
    human_required: bool = False
    rework_count: int = 0
    classification: dict | None = None
    idempotent: bool = False  # may be made again when it is not known whether it was made
    summary: str = ""
    rollback: str | None = None
    priority: str | None = None
    required_by: str | None = None  # RFC 3339, UTC
    messages: tuple = ()
    artifacts: tuple = ()
    citations: tuple = ()
    step_id: str | None = None

    def __post_init__(self):
        if not isinstance(self.tool, str) or not 0 < len(self.tool) <= 256:
            raise RelayTraceError("the name of a tool has 1 to 256 characters")
        if not isinstance(self.args, dict):
            raise CanonicalError("the arguments of an action must be an object")
        canonical(self.args)
        self.args = copy.deepcopy(self.args)
        self._files = tuple(operand(item) for item in self.operands if not isinstance(item, dict))
        self.operands = (*(dict(item) for item in self.operands if isinstance(item, dict)), *self._files)
        self.operands = tuple(sorted(self.operands, key=lambda item: item["path"]))
        for name in ("risk_level", "impact"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 3:
                raise RelayTraceError(f"{name} is 0, 1, 2 or 3")
        self.confidence = _share(self.confidence, 0.0) if self.confidence is not None else None
        self.violation_score = _share(self.violation_score, 1.0)
        self.reversible = self.reversible is True
        if self.priority is not None and self.priority not in LEVELS:
            raise RelayTraceError(f"priority is one of {', '.join(LEVELS)}")

    @property
    def digest(self):
        return action_digest(self.tool, self.args, self.resource, self.operands)

    def has_changed_files(self):
        """Whether a file that was given by its path is not what it was."""
        try:
            return any(operand(item["path"]) != item for item in self._files)
        except OSError:
            return True

    def action(self):
        """The action as it is sent."""
        value = {"tool": self.tool, "args": self.args, "action_digest": self.digest}
        if self.resource is not None:
            value["resource"] = self.resource
        if self.operands:
            value["operands"] = [dict(item) for item in self.operands]
        return value

    def facts(self):
        """What policies are asked with."""
        value = {
            "risk_level": self.risk_level,
            "impact": self.impact,
            "reversible": self.reversible,
            "evidence_count": len(self.evidence),
            "evidence_required": self.evidence_required,
            "evidence_missing": list(self.evidence_missing),
            "violation_score": self.violation_score,
            "human_required": bool(self.human_required),
            "rework_count": self.rework_count,
        }
        if self.confidence is not None:
            value["confidence"] = self.confidence
        if self.classification is not None:
            value["classification"] = self.classification
        return value


def _share(value, otherwise):
    """A number from 0 to 1; anything else counts as the risky end."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return round(float(value), 4) if is_number and 0 <= value <= 1 else otherwise


@dataclasses.dataclass(frozen=True)
class Trigger:
    """Why a person is asked, for `on_risk_threshold`."""

    trigger_reason: str
    trigger_reasons: tuple
    policy_rule_id: str
    confidence_score: float
    risk_level: int
    policy_hash: str
    context: ActionContext


def raise_risk(context, change):
    """Take in what `on_risk_threshold` has returned: it adds, and raises the risk, but lowers nothing."""
    if change is None:
        return
    if not isinstance(change, dict):
        raise RelayTraceError("on_risk_threshold returns None or an object")
    if change.get("risk_level") in (0, 1, 2, 3):
        context.risk_level = max(context.risk_level, int(change["risk_level"]))
    if change.get("impact") in (0, 1, 2, 3):
        context.impact = max(context.impact, int(change["impact"]))
    if change.get("confidence") is not None:
        context.confidence = min(context.confidence or 0.0, _share(change["confidence"], 0.0))
    if change.get("priority") in LEVELS:
        now = context.priority or "low"
        context.priority = max(now, change["priority"], key=LEVELS.index)
    if change.get("human_required") is True:
        context.human_required = True
    for name in ("evidence", "evidence_missing", "messages", "artifacts", "citations"):
        setattr(context, name, (*getattr(context, name), *change.get(name, ())))
    if isinstance(change.get("summary"), str):
        context.summary = change["summary"]


class Permit:
    """The permission to make one action, once, with `args`. Ended by `after_action`, exactly once."""

    def __init__(self, context, lane, step_id, args, request_id=None, decision=None, is_offline=False):
        self.context, self.lane, self.step_id = context, lane, step_id
        self.args = args
        self.request_id = request_id
        self.decision = decision
        self.is_offline = is_offline
        self.action_digest = context.digest
        self.executed_digest = action_digest(context.tool, args, context.resource, context.operands)
        self.began = time.monotonic()
        self.is_ended = False

    @property
    def tool(self):
        return self.context.tool

    @property
    def idempotency_key(self):
        """The same for each attempt to make this action: for calls to services that recognise one."""
        return self.request_id or f"{self.lane.lane_id}:{self.step_id}"

    def __repr__(self):
        return f"<Permit {self.tool} {self.step_id} {self.request_id or 'allowed'}>"
