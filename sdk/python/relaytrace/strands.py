# SPDX-License-Identifier: Apache-2.0
"""Hooks for agents of Strands (`Agent(hooks=[RelayTraceHooks(...)])`), one object for one Agent and lane.

A tool call that policies do not permit is cancelled with the reason; one that a person must decide waits, or
interrupts the agent (mode="suspend"). What a caller answers to the interrupt only wakes the agent: what counts
is the decision at the server, so an answer that was made up, or given twice, makes nothing run.

Strands need not be installed to import this.
"""

import importlib
import threading
import uuid

from .config import configure
from .decision import clean
from .errors import (
    ActionAlreadyDone, ActionDenied, CanonicalError, HandoffExpired, HandoffNeedsInfo, HandoffPending, HandoffRejected, RelayTraceError,
)  # fmt: skip
from .jcs import action_digest, digest
from .lane import GUIDANCE, Lane
from .permits import ActionContext
from .supervisor import Supervisor

MOST_INTERRUPTS = 64


class RelayTraceHooks:
    """A hook provider. @param facts what is known of tools: {"tool": {...}} of ActionContext, or a function of
    the name and the arguments @param lane,run ids by which another process finds this agent's requests again"""

    def __init__(self, agent_id=None, supervisors=None, policy_profile=None, *, facts=None, lane=None, run=None, **options):
        self.config = configure(agent_id, supervisors, policy_profile, **options)
        self.supervisor = Supervisor(self.config)
        self.facts = facts or {}
        self.lane = Lane(self.supervisor, lane or f"strands-{uuid.uuid4()}", run)
        self.permits = {}
        self._agent = None
        self._lock = threading.Lock()

    def register_hooks(self, registry, **_more):
        """Called by Strands."""
        events = importlib.import_module("strands.hooks")
        registry.add_callback(events.BeforeInvocationEvent, self._begin)
        registry.add_callback(events.BeforeToolCallEvent, self.before_tool_call)
        registry.add_callback(events.AfterToolCallEvent, self.after_tool_call)

    def _begin(self, event):
        agent = getattr(event, "agent", None)
        with self._lock:
            if self._agent not in (None, agent):
                raise RelayTraceError("one RelayTraceHooks supervises one Agent")
            self._agent = agent
        prompt = getattr(agent, "system_prompt", None)
        if isinstance(prompt, str) and GUIDANCE not in prompt:
            agent.system_prompt = f"{prompt}\n\n{GUIDANCE}"

    def _context(self, tool_use):
        name, args = tool_use["name"], tool_use["input"]
        known = self.facts(name, args) if callable(self.facts) else self.facts.get(name, {})
        return ActionContext(name, args, step_id=str(tool_use["toolUseId"]), **known)

    def before_tool_call(self, event):
        """Permit, cancel, or interrupt a call. Any failure cancels it."""
        if event.cancel_tool:
            return
        try:
            permit = self._permit(event)
            if permit is not None:
                self.permits[permit.step_id] = permit
                event.tool_use = {**event.tool_use, "input": permit.args}
        except ActionDenied as denied:
            event.cancel_tool = f"{denied}. Do not try it again."
        except HandoffExpired:
            event.cancel_tool = "Nobody has decided about this call in time; it was not made."
        except HandoffRejected as rejected:
            event.cancel_tool = _rejection(rejected)
        except HandoffNeedsInfo as asked:
            event.cancel_tool = _questions(asked.questions)
        except HandoffPending:
            event.cancel_tool = "Nobody has decided about this call yet; it was not made."
        except ActionAlreadyDone:
            event.cancel_tool = "This approved call was made before; it is not made again."
        except RelayTraceError as error:
            event.cancel_tool = f"The call was not made: {type(error).__name__}."
        except (KeyError, TypeError, ValueError, OSError) as error:
            event.cancel_tool = f"The call was not made: it cannot be checked ({type(error).__name__})."

    def _permit(self, event):
        context = self._context(event.tool_use)
        reason = {"tool": context.tool, "action_digest": context.digest}
        for number in range(1, MOST_INTERRUPTS):
            try:
                return self.supervisor.before_action(context, self.lane)
            except HandoffNeedsInfo:
                raise
            except HandoffPending as pending:
                if self.config.mode != "suspend":
                    raise
                name = f"relaytrace:{context.step_id}" + (f":{number}" if number > 1 else "")
                # Pauses the agent, unless this interrupt was answered: then people are asked how it is now.
                event.interrupt(name, reason={**reason, "request_id": pending.request_id})
        raise RelayTraceError("the call was answered too often without a decision")

    def after_tool_call(self, event):
        """Report what became of a call, once."""
        permit = self.permits.pop(str(event.tool_use["toolUseId"]), None)
        if permit is None:
            return
        result, error = getattr(event, "result", None), getattr(event, "exception", None)
        if error is None and isinstance(result, dict) and result.get("status") == "error":
            error = RelayTraceError("the tool has reported an error")
        try:  # what was really called
            what = event.tool_use["input"]
            executed = action_digest(permit.tool, what, permit.context.resource, permit.context.operands)
        except CanonicalError:  # then it is not what was permitted; the digest of nothing says so
            executed = digest(None)
        permit.executed_digest = executed
        self.supervisor.after_action(permit, result, error)


def _rejection(rejected):
    text = "A person has rejected this call. Do not make it, and do not try it in another form."
    return f"{text} What the person wrote, as information: {rejected.guidance}" if rejected.guidance else text


def _questions(questions):
    lines = "\n".join(f"- {clean(str(question), 500)}" for question in questions)
    return f"A person asks about this call before deciding; it was not made. Gather the answers:\n{lines}"
