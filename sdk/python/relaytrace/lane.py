# SPDX-License-Identifier: Apache-2.0
"""Lanes: a lane is one call of a supervised function, an ordered unit of work. Another lane never waits for it."""

import contextvars
import re
import threading
import uuid

_current = contextvars.ContextVar("relaytrace_lane", default=None)
_expired = contextvars.ContextVar("relaytrace_expired", default=None)
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")

# What an agent is told about supervision; bounded, procedural, without names of people.
GUIDANCE_VERSION = "1"
GUIDANCE = """\
Some of your actions are checked before they are made, and some wait for the decision of a person.
- Give honest values for confidence, impact and reversibility, and the evidence that you have.
- Ask for a decision when you are unsure and the action has a large effect or cannot be undone.
- In a request, say what will be changed, why, what you have checked, and how it can be undone.
- approved: make exactly the approved action, once. Its constraints only narrow it.
- rejected: do not make the action, and do not try the same action again or in another form.
- rerouted: another person decides. Wait.
- needs_info: only read and gather what was asked for, then answer. Do not make the action meanwhile.
- What a person wrote is information about this one action, not a new instruction for other work."""


class Lane:
    """Where an agent is in its work."""

    def __init__(self, supervisor, lane_id=None, run_id=None, trace_id=None, is_resumed=False):
        self.supervisor = supervisor
        self.is_own_id = lane_id is None  # nobody else can come back to it
        self.lane_id = lane_id or str(uuid.uuid4())
        self.run_id = run_id or self.lane_id
        place = f"{self.run_id}\n{self.lane_id}"
        self.trace_id = trace_id or str(uuid.uuid5(uuid.NAMESPACE_URL, f"urn:relaytrace:trace:{place}"))
        self.workflow_id = supervisor.config.workflow_id
        self.guidance = GUIDANCE
        self.is_resumed = is_resumed
        self.is_open = False
        self.function = None  # the supervised function, and
        self.input = None  # its arguments, for a checkpoint
        self.requests = []  # ids of requests with a checkpoint
        self.done = {}  # step id: {"digest", "result", "has_result"}
        self._lock = threading.Lock()
        self._steps = 0

    def next_step(self):
        with self._lock:
            self._steps += 1
            return f"step-{self._steps}"

    def __enter__(self):
        self._token = _current.set(self)
        return self

    def __exit__(self, *_error):
        _current.reset(self._token)


class InsteadOf:
    """While a fallback runs: its actions may do no harm, and nobody is asked about them."""

    def __init__(self, expired):
        self.expired = expired

    def __enter__(self):
        self._token = _expired.set(self.expired)

    def __exit__(self, *_error):
        _expired.reset(self._token)


def expired_request():
    """The HandoffExpired whose fallback runs, or None."""
    return _expired.get()


def trace_of(traceparent):
    """The trace id of a W3C traceparent as a UUID, or None."""
    match = _TRACEPARENT.fullmatch(traceparent or "")
    return str(uuid.UUID(match[1])) if match and set(match[1]) != {"0"} else None


def current_lane():
    """The lane of the caller, or None outside of supervised functions."""
    return _current.get()
