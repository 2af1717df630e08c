# SPDX-License-Identifier: Apache-2.0
"""RelayTrace: the Python client of Rondo's handoffs. An action that policies do not permit waits for a person.

    import relaytrace as rt

    @rt.guarded(impact=3, reversible=False)
    def isolate_host(host): ...

    @rt.relaytrace_supervised(agent_id="sec-triage-01", supervisors=["sec-oncall", "sec-lead"])
    def run_agent(task): ...

Standard library only. docs/sdk-python.md explains it.
"""

from .permits import ActionContext, Permit, Trigger
from .jcs import action_digest, canonical, digest, operand, request_id
from .checkpoints import FileCheckpoints
from .decision import Decision
from .errors import (
    ActionAlreadyDone, ActionDenied, Cancelled, CanonicalError, CheckpointMismatch, ConfigError, DecisionInvalid,
    HandoffCancelled, HandoffError, HandoffExpired, HandoffNeedsInfo, HandoffPending, HandoffRejected,
    RelayTraceError, ServerAnswerInvalid, ServerRefused, ServerUnreachable,
)  # fmt: skip
from .lane import GUIDANCE, GUIDANCE_VERSION, Lane, current_lane
from .supervised import (
    action, after_action, after_action_async, answer, before_action, before_action_async, flush, guarded,
    relaytrace_supervised, resume,
)  # fmt: skip
from .supervisor import VERSION as __version__
from .supervisor import CancelToken, Supervisor

__all__ = [name for name in dir() if not name.startswith("_")]
