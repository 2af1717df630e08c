# SPDX-License-Identifier: Apache-2.0
"""The hook provider against a stub of the hooks of Strands for Python, which cannot be installed everywhere. The
stub does what the original does: writable members, interrupts that return their answer when the agent is resumed."""

import sys
import types
import unittest

from relaytrace.strands import RelayTraceHooks
from support import RISKY, World


class Interrupted(Exception):
    def __init__(self, name, reason):
        super().__init__(name)
        self.name, self.reason = name, reason


class Event:
    WRITABLE = ()

    def __init__(self, **members):
        self.__dict__.update(members)

    def __setattr__(self, name, value):
        if name not in self.WRITABLE:
            raise AttributeError(name)
        self.__dict__[name] = value


class BeforeInvocationEvent(Event):
    pass


class BeforeToolCallEvent(Event):
    WRITABLE = ("cancel_tool", "selected_tool", "tool_use")

    def interrupt(self, name, reason=None):
        answers = self.agent.answers
        if answers.get(name) is None:
            raise Interrupted(name, reason)
        return answers[name]


class AfterToolCallEvent(Event):
    WRITABLE = ("result", "retry")


class Agent:
    """Calls one tool, through the hooks."""

    def __init__(self, hooks, tool):
        self.callbacks, self.answers, self.tool = {}, {}, tool
        self.system_prompt = "You isolate hosts."
        hooks.register_hooks(self)

    def add_callback(self, event_type, callback):
        self.callbacks[event_type] = callback

    def __call__(self, args, tool_use_id="call-1"):
        self.callbacks[BeforeInvocationEvent](BeforeInvocationEvent(agent=self))
        use = {"name": "isolate", "toolUseId": tool_use_id, "input": args}
        before = BeforeToolCallEvent(agent=self, tool_use=use, selected_tool=None, invocation_state={}, cancel_tool=False)
        try:
            self.callbacks[BeforeToolCallEvent](before)
        except Interrupted as interrupt:
            return {"status": "interrupt", "name": interrupt.name, "reason": interrupt.reason}
        if before.cancel_tool:
            result = {"status": "error", "content": before.cancel_tool}
        else:
            result = {"status": "success", "content": self.tool(before.tool_use["input"])}
        after = AfterToolCallEvent(agent=self, tool_use=before.tool_use, result=result, exception=None)
        self.callbacks[AfterToolCallEvent](after)
        return result


class Strands(World):
    def setUp(self):
        super().setUp()
        hooks = types.ModuleType("strands.hooks")
        for event in (BeforeInvocationEvent, BeforeToolCallEvent, AfterToolCallEvent):
            setattr(hooks, event.__name__, event)
        sys.modules["strands"], sys.modules["strands.hooks"] = types.ModuleType("strands"), hooks
        self.addCleanup(sys.modules.pop, "strands")
        self.addCleanup(sys.modules.pop, "strands.hooks")

    def agent(self, **options):
        provider = RelayTraceHooks(facts={"isolate": RISKY}, lane="lane-1", run="run-1", **self.options(budget=0.5, **options))
        return Agent(provider, lambda args: self.ran.append(dict(args)) or "done")

    def test_an_approved_call_is_made_and_reported(self):
        self.answering("approved", constraints=[{"kind": "max", "pointer": "/count", "value": 1}])
        agent = self.agent()
        self.assertEqual(agent({"host": "a", "count": 3})["status"], "success")
        self.assertEqual(self.ran, [{"host": "a", "count": 1}])
        self.assertEqual(self.only_request()["application"], "applied")
        self.assertIn("rejected: do not make the action", agent.system_prompt)

    def test_rejected_denied_expired_and_unreachable_cancel_the_call(self):
        self.answering("rejected", context="not today")
        self.assertIn("not today", self.agent()({"host": "a"})["content"])
        self.answering("rejected", reason_code="expired")
        self.assertIn("in time", self.agent()({"host": "b"})["content"])
        self.answering("needs_info", questions=["why?"])
        self.assertIn("why?", self.agent()({"host": "c"})["content"])
        self.server.close()
        self.assertIn("ServerUnreachable", self.agent()({"host": "d"})["content"])
        self.assertIn("cannot be checked", self.agent()({"host": {1, 2}})["content"].replace("CanonicalError", "cannot be checked"))
        self.assertEqual(self.ran, [])

    def test_a_suspended_call_is_made_once_after_the_approval_whatever_is_answered(self):
        agent = self.agent(mode="suspend")
        paused = agent({"host": "a"})
        self.assertEqual((paused["status"], paused["name"]), ("interrupt", "relaytrace:call-1"))
        agent.answers[paused["name"]] = {"approved": True}
        again = agent({"host": "a"})
        self.assertEqual((again["status"], again["name"]), ("interrupt", "relaytrace:call-1:2"))
        self.assertEqual(self.ran, [])
        self.server.decide(paused["reason"]["request_id"], "approved")
        agent.answers[again["name"]] = {"decided": True}
        self.assertEqual(agent({"host": "a"})["status"], "success")
        self.assertEqual(self.ran, [{"host": "a"}])

    def test_a_restored_agent_that_is_answered_twice_makes_the_call_once(self):
        paused = self.agent(mode="suspend")({"host": "a"})
        self.server.decide(paused["reason"]["request_id"], "approved")
        results = [self.agent(mode="suspend")({"host": "a"})["status"] for _ in range(2)]
        self.assertEqual((results, self.ran), (["success", "error"], [{"host": "a"}]))

    def test_arguments_that_were_edited_after_the_request_are_not_approved(self):
        paused = self.agent(mode="suspend")({"host": "a"})
        self.server.decide(paused["reason"]["request_id"], "approved")
        edited = self.agent(mode="suspend")({"host": "evil"})
        self.assertEqual((edited["status"], self.ran), ("interrupt", []))

    def test_one_provider_is_for_one_agent(self):
        provider = RelayTraceHooks(facts={"isolate": RISKY}, **self.options())
        first, second = Agent(provider, print), Agent(provider, print)
        self.answering("rejected")
        first({"host": "a"})
        with self.assertRaises(Exception):
            second({"host": "a"})


if __name__ == "__main__":
    unittest.main()
