# SPDX-License-Identifier: Apache-2.0
"""What comes back from the server about a request: read with suspicion, checked against what was asked."""

import copy
import dataclasses
import datetime
import math

from .jcs import digest
from .errors import CanonicalError, DecisionInvalid

STATUSES = ("approved", "rejected", "rerouted", "needs_info")
MOST_GUIDANCE = 4096
MOST_CONSTRAINTS = 32


@dataclasses.dataclass(frozen=True)
class Decision:
    """A decision that was verified."""

    request_id: str
    decision_id: str
    status: str
    revision: int
    operator_id: str
    operator_role: str
    guidance: str
    constraints: tuple
    questions: tuple
    reason_code: str
    approvers: tuple
    valid_until: float | None
    event: dict


@dataclasses.dataclass(frozen=True)
class Expected:
    """What an answer must be about."""

    request_id: str
    trace_id: str
    agent_id: str
    action_digest: str


def clean(text, most=MOST_GUIDANCE):
    """A text of a person for a model: bounded, without control characters and without marks of direction."""
    text = text if isinstance(text, str) else ""
    kept = "".join(c for c in text if c == "\n" or (c.isprintable() and not "\u202a" <= c <= "\u202e" and not "\u2066" <= c <= "\u2069"))
    return kept.encode("utf-8", "ignore")[:most].decode("utf-8", "ignore")


def instant(text):
    """Seconds of an RFC 3339 time in UTC; None when it is none."""
    if not isinstance(text, str) or len(text) > 40 or not text.endswith("Z"):
        return None
    try:
        return datetime.datetime.fromisoformat(text[:-1] + "+00:00").timestamp()
    except ValueError:
        return None


def _must(value, name, wanted, expected):
    if value.get(name) != wanted:
        raise DecisionInvalid(expected.request_id, f"the server's answer has another {name} than the request")


def check_status(value, expected):
    """Whether an answer is about this request of ours, at all. @return its revision"""
    _must(value, "request_id", expected.request_id, expected)
    _must(value, "action_digest", expected.action_digest, expected)
    for name in ("agent_id", "trace_id"):
        if name in value:
            _must(value, name, getattr(expected, name), expected)
    revision = value.get("revision")
    if not isinstance(revision, int) or isinstance(revision, bool) or revision < 1:
        raise DecisionInvalid(expected.request_id, "the server's answer has no revision")
    if not isinstance(value.get("state"), str):
        raise DecisionInvalid(expected.request_id, "the server's answer has no state")
    return revision


def _texts(value, name, most):
    items = value.get(name)
    if items is None:
        return ()
    if not isinstance(items, list) or len(items) > most:
        return None
    return tuple(items)


def _operators(chain):
    ids = [item.get("operator_id") if isinstance(item, dict) else item for item in chain]
    return tuple(dict.fromkeys(name for name in ids if isinstance(name, str)))


def read_decision(event, expected, revision):
    """Verify the event of a decision. Raises DecisionInvalid. @return a Decision"""

    def bad(what):
        return DecisionInvalid(expected.request_id, f"the decision {what}")

    if not isinstance(event, dict) or event.get("event_type") != "handoff.decided":
        raise bad("is none")
    for name in ("request_id", "trace_id", "action_digest"):
        if event.get(name) != getattr(expected, name):
            raise bad(f"has another {name} than the request")
    if event.get("agent_id", expected.agent_id) != expected.agent_id:
        raise bad("is for another agent")
    if type(event.get("revision")) is not int or event["revision"] != revision:
        raise bad("is about another revision of the request")
    inner = event.get("decision")
    if not isinstance(inner, dict) or inner.get("status") not in STATUSES:
        raise bad("has a status that is not known")
    if not isinstance(event.get("decision_id"), str) or not event["decision_id"]:
        raise bad("has no id")
    constraints = _texts(inner, "constraints", MOST_CONSTRAINTS)
    questions = _texts(event, "questions", 64)
    chain = _texts(event, "approval_chain", 64)
    if constraints is None or questions is None or chain is None:
        raise bad("has lists that are none")
    return Decision(
        request_id=expected.request_id,
        decision_id=event["decision_id"],
        status=inner["status"],
        revision=revision,
        operator_id=clean(inner.get("operator_id"), 200),
        operator_role=clean(inner.get("operator_role"), 200),
        guidance=clean(inner.get("context")),
        constraints=constraints,
        questions=tuple(clean(q if isinstance(q, str) else (q or {}).get("question") if isinstance(q, dict) else "") for q in questions),
        reason_code=clean(event.get("reason_code"), 60).replace("\n", " ") or inner["status"],
        approvers=_operators(chain),
        valid_until=instant(event.get("valid_until")),
        event=event,
    )


# ---- Constraints ------------------------------------------------------------------------------------


class _Unmet(Exception):
    pass


def _find(args, pointer):
    """@return the container and the key that a JSON pointer names"""
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        raise _Unmet("has no pointer into the arguments")
    container, key = None, None
    value = args
    for part in pointer[1:].split("/"):
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
            container, key = value, int(part)
        elif isinstance(value, dict) and part in value:
            container, key = value, part
        else:
            raise _Unmet("names an argument that is not there")
        value = container[key]
    return container, key


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_scalar(value):
    return value is None or isinstance(value, (bool, int, float, str))


def _same(a, b):
    try:
        return digest(a) == digest(b)
    except CanonicalError:
        return False


def _equals(args, constraint):
    container, key = _find(args, constraint.get("pointer"))
    wanted = constraint.get("value")
    if _same(container[key], wanted):
        return
    both_numbers = _is_number(container[key]) and _is_number(wanted)
    if not _is_scalar(wanted) or not (both_numbers or type(container[key]) is type(wanted)):
        raise _Unmet("would change the type of an argument")
    container[key] = wanted


def _max(args, constraint):
    container, key = _find(args, constraint.get("pointer"))
    most = constraint.get("value")
    if not _is_number(most) or not _is_number(container[key]):
        raise _Unmet("compares what is no number")
    container[key] = min(container[key], most)


def _one_of(args, constraint):
    container, key = _find(args, constraint.get("pointer"))
    values = constraint.get("values")
    if not isinstance(values, list) or not any(_same(container[key], value) for value in values):
        raise _Unmet("permits other values only")


def _dry_run(args, constraint):
    container, key = _find(args, constraint.get("pointer", "/dry_run"))
    if not isinstance(container[key], bool):
        raise _Unmet("needs an argument that is true or false")
    container[key] = True


def _time_window(constraint, now):
    begin, end = instant(constraint.get("not_before")), instant(constraint.get("not_after"))
    if begin is None and end is None:
        raise _Unmet("has no time")
    for name, value in (("not_before", begin), ("not_after", end)):
        if name in constraint and value is None:
            raise _Unmet("has a time that is none")
    if (begin is not None and now < begin) or (end is not None and now > end):
        raise _Unmet("permits another time only")


_KEYS = {
    "equals": {"kind", "pointer", "value"},
    "max": {"kind", "pointer", "value"},
    "one_of": {"kind", "pointer", "values"},
    "dry_run": {"kind", "pointer"},
    "time_window": {"kind", "not_before", "not_after"},
    "max_count": {"kind", "count"},
    "require_second_approver": {"kind"},
}


def _apply(args, constraint, decision, now):
    kind = constraint.get("kind") if isinstance(constraint, dict) else None
    if not isinstance(kind, str) or kind not in _KEYS or not set(constraint) <= _KEYS[kind]:
        raise _Unmet("is not known")
    if kind == "time_window":
        _time_window(constraint, now)
    elif kind == "max_count":
        if type(constraint.get("count")) is not int or constraint["count"] < 1:
            raise _Unmet("permits no call")
    elif kind == "require_second_approver":
        if len(decision.approvers) < 2:
            raise _Unmet("needs a second person")
    else:
        {"equals": _equals, "max": _max, "one_of": _one_of, "dry_run": _dry_run}[kind](args, constraint)


def narrow(args, decision, now):
    """The arguments as the constraints permit them; the given ones are left as they are.
    Raises DecisionInvalid for a constraint that is not known or cannot be met."""
    narrowed = copy.deepcopy(args)
    for number, constraint in enumerate(decision.constraints, 1):
        try:
            _apply(narrowed, constraint, decision, now)
        except _Unmet as reason:
            raise DecisionInvalid(decision.request_id, f"constraint {number} of the decision {reason}") from None
    return narrowed
