# SPDX-License-Identifier: Apache-2.0
"""The decorator: functions of every kind, both modes, hooks, resuming, results."""

import asyncio
import dataclasses
import inspect
import os
import threading
import time
import unittest
from unittest import mock

import relaytrace as rt
from support import RISKY, SAFE, World


class Decoration(World):
    def test_the_minimal_example_runs_as_written(self):
        relaytrace_supervised = rt.relaytrace_supervised

        @relaytrace_supervised(
          agent_id="sec-triage-01",
          supervisors=["sec-oncall", "sec-lead"],
          policy_profile="default-security"
        )  # fmt: skip
        def run_agent(task_input):
            ...

        self.assertIsNone(run_agent("a task"))

    def test_name_signature_and_kind_are_kept(self):
        def plain(task: str, *, n=1) -> str:
            """What it does."""

        async def coroutine(): ...
        def generator():
            yield 1

        async def async_generator():
            yield 1

        wrapped = self.supervised(plain)
        self.assertEqual((wrapped.__name__, wrapped.__doc__), ("plain", "What it does."))
        self.assertEqual(inspect.signature(wrapped), inspect.signature(plain))
        self.assertTrue(inspect.iscoroutinefunction(self.supervised(coroutine)))
        self.assertTrue(inspect.isgeneratorfunction(self.supervised(generator)))
        self.assertTrue(inspect.isasyncgenfunction(self.supervised(async_generator)))

    def test_wrong_configuration_is_an_error_at_decoration(self):
        wrong = [
            {"agent_id": ""}, {"agent_id": "a b"}, {"supervisors": ["a\n"]}, {"mode": "hope"}, {"timeout": 0},
            {"timeout": "x"}, {"budget": float("nan")}, {"endpoint": "ftp://x"}, {"endpoint": "http://u:p@127.0.0.1"},
            {"endpoint": "http://example.org"}, {"endpoint": "unix:relative"}, {"token": "a b"}, {"token": "ä"},
            {"signing_secret": "whsec_AAAA"}, {"checkpoint_strategy": "hope"}, {"checkpoint_strategy": object()},
            {"on_decision": 3}, {"lane": 3}, {"policy_profile": "../x"}, {"allow_offline": "a b"},
        ]  # fmt: skip
        for options in wrong:
            with self.subTest(options), self.assertRaises(rt.ConfigError):
                self.supervised(lambda: None, **options)
        with self.assertRaises(TypeError):
            self.supervised(lambda: None, no_such_option=1)

    def test_variables_configure_and_arguments_win(self):
        variables = {
            "RELAYTRACE_AGENT_ID": "from-env", "RELAYTRACE_SUPERVISORS": "a, b", "RELAYTRACE_MODE": "suspend",
            "RELAYTRACE_ENDPOINT": "unix:/run/x.sock", "RELAYTRACE_POLICY_PROFILE": "strict",
        }  # fmt: skip
        with mock.patch.dict(os.environ, variables):
            config = rt.relaytrace_supervised(mode="wait")(lambda: None).supervisor.config
        self.assertEqual((config.agent_id, config.supervisors, config.mode), ("from-env", ("a", "b"), "wait"))
        self.assertEqual((str(config.endpoint), config.policy_profile), ("unix:/run/x.sock", "strict"))

    def test_nothing_is_connected_to_before_an_action(self):
        self.supervised(lambda: 1)()
        self.assertEqual(self.server.calls, [])

    def test_an_action_outside_of_a_supervised_function_is_refused(self):
        with self.assertRaises(rt.RelayTraceError):
            self.tool()("a")
        self.assertEqual(self.ran, [])


class Allowed(World):
    def test_a_permitted_action_runs_and_is_reported_once(self):
        tool = self.tool(**SAFE)
        self.assertEqual(self.supervised(lambda: tool("a"))(), "isolated a")
        (receipt,) = self.server.receipts.values()
        self.assertTrue(receipt["ok"])
        self.assertEqual(receipt["executed_digest"], rt.action_digest("isolate_host", {"host": "a", "count": 1}))
        self.assertEqual(receipt["result_digest"], rt.digest("isolated a"))

    def test_what_is_not_declared_counts_as_risky(self):
        self.answering("approved")
        tool = rt.guarded(lambda host: self.ran.append(host))
        self.supervised(lambda: tool("a"))()
        self.assertEqual(len(self.server.requests), 1)

    def test_after_action_is_sent_once_also_after_an_exception(self):
        seen = []

        def body():
            with rt.action("t", {}, **SAFE) as act:
                raise ValueError("secret-of-the-tool")

        with self.assertRaises(ValueError):
            self.supervised(body, after_action=seen.append)()
        (receipt,) = self.server.receipts.values()
        self.assertFalse(receipt["ok"])
        self.assertNotIn("secret-of-the-tool", str(receipt))
        self.assertEqual(len(seen), 1)
        self.assertFalse(rt.after_action(seen[0]["permit"], 1))
        self.assertEqual(len(self.server.receipts), 1)

    def test_a_report_that_cannot_be_sent_is_kept_and_sent_later(self):
        def body():
            with rt.action("t", {}, **SAFE):
                self.server.fail = lambda _method, path: 503 if "receipts" in path else None

        agent = self.supervised(body)
        # Reports are tried for so long; what comes before has the time that it takes.
        agent.supervisor.config = dataclasses.replace(agent.supervisor.config, budget_s=0.3)
        agent()
        self.assertEqual(self.server.receipts, {})
        self.server.fail = None
        self.assertEqual(agent.supervisor.flush(), 0)
        self.assertEqual(len(self.server.receipts), 1)
        self.assertEqual(agent.supervisor.flush(), 0)
        self.assertEqual(len(self.server.receipts), 1)

    def test_denied_actions_do_not_run(self):
        tool = rt.guarded("deny_all", **SAFE)(lambda: self.ran.append(1))
        with self.assertRaises(rt.ActionDenied) as caught:
            self.supervised(lambda: tool())()
        self.assertEqual((caught.exception.policy_rule_id, self.ran), ("st.01", []))

    def test_lanes_are_those_of_their_calls_also_in_coroutines(self):
        async def agent(name):
            first = rt.current_lane().lane_id
            await asyncio.sleep(0.01)
            self.assertEqual(rt.current_lane().lane_id, first)
            return first

        run = self.supervised(agent)

        async def both():
            return await asyncio.gather(run("a"), run("b"))

        self.assertEqual(len(set(asyncio.run(both()))), 2)
        self.assertIsNone(rt.current_lane())


class Waiting(World):
    def test_an_approved_action_runs_once_with_the_approved_arguments(self):
        tool = self.tool()
        self.later(lambda: self.server.decide(self.server.wait_for_request(), "approved"))
        self.assertEqual(self.supervised(lambda: tool("a"))(), "isolated a")
        request = self.only_request()
        self.assertEqual(self.ran, [{"host": "a", "count": 1}])
        self.assertEqual((request["application"], request["executed"]), ("applied", request["action_digest"]))
        self.assertEqual(request["result"], rt.digest("isolated a"))

    def test_the_request_says_what_the_founding_document_demands(self):
        self.answering("approved")
        tool = self.tool()
        self.supervised(lambda: tool("a"), routing_policy_id="rp-1")()
        body = self.only_request()["body"]
        for name in ("event_type", "request_id", "trace_id", "agent", "workflow", "routing", "intent", "checkpoint", "context"):
            self.assertIn(name, body)
        self.assertEqual(body["routing"]["routing_policy_id"], "rp-1")
        self.assertEqual(body["trigger"]["trigger_reason"], "low_confidence_high_impact")
        self.assertEqual(body["action"]["args"], {"host": "a", "count": 1})
        self.assertEqual(body["checkpoint"]["mode"], "external_ref")

    def test_a_rejected_action_does_not_run_whatever_the_hook_says(self):
        self.answering("rejected", context="not \u202enow\x00")
        tool = self.tool()
        for hook in (None, lambda decision: True, lambda decision: {"answers": ["x"], "status": "approved"}):
            self.server.requests.clear()
            with self.assertRaises(rt.HandoffRejected) as caught:
                self.supervised(lambda: tool("a"), on_decision=hook)()
            self.assertEqual(caught.exception.guidance, "not now")
        self.assertEqual(self.ran, [])

    def test_an_expired_request_is_an_error_of_its_own(self):
        self.answering("rejected", reason_code="expired")
        tool = self.tool()
        with self.assertRaises(rt.HandoffExpired):
            self.supervised(lambda: tool("a"))()

    def with_fallback(self, **facts):
        """What becomes of an action about which nobody decides, and whose fallback has these facts."""
        self.answering("rejected", reason_code="expired")
        ticket = rt.guarded("open_ticket", **facts)(lambda host: self.ran.append(f"ticket {host}") or "ticket")
        tool = rt.guarded("isolate_host", fallback=ticket, impact=3)(lambda host: self.ran.append(host))
        return self.supervised(lambda: tool("a"))()

    def test_a_fallback_runs_when_nobody_has_decided(self):
        self.assertEqual(self.with_fallback(impact=0, confidence=1.0, reversible=True, risk_level=1), "ticket")
        self.assertEqual(self.ran, ["ticket a"])
        self.assertEqual(len(self.server.requests), 1)

    def test_a_fallback_that_could_do_harm_does_not_run_and_asks_nobody(self):
        harmless = {"impact": 0, "confidence": 1.0, "reversible": True, "risk_level": 1}
        for harm in ({"reversible": False}, {"risk_level": 2}, {"human_required": True}, {"impact": 3, "confidence": 0}):
            self.server.requests.clear()
            with self.assertRaises(rt.HandoffExpired):
                self.with_fallback(**{**harmless, **harm})
            self.assertEqual(len(self.server.requests), 1)
        self.assertEqual(self.ran, [])

    def test_a_fallback_is_for_time_alone(self):
        self.answering("rejected")
        tool = rt.guarded("isolate_host", fallback=lambda host: self.ran.append(host), impact=3)(lambda host: self.ran.append(host))
        with self.assertRaises(rt.HandoffRejected):
            self.supervised(lambda: tool("a"))()
        self.assertEqual(self.ran, [])

    def test_a_coroutine_has_a_fallback_too(self):
        self.answering("rejected", reason_code="expired")

        @rt.guarded("open_ticket", impact=0, confidence=1.0, reversible=True, risk_level=0)
        async def ticket(host):
            return f"ticket {host}"

        @rt.guarded("isolate_host", fallback=ticket, impact=3)
        async def isolate(host):
            self.ran.append(host)

        async def agent():
            return await isolate("a")

        self.assertEqual(asyncio.run(self.supervised(agent)()), "ticket a")
        self.assertEqual(self.ran, [])

    def test_what_a_killed_process_had_taken_is_made_after_its_lease(self):
        self.server.lease_s = 0.5

        def approve_and_take(request):
            self.server.decide(request["id"], "approved")
            self.server.do_take(request, {"consumer": "one that was killed"})

        self.server.on_submit = approve_and_take
        tool = self.tool()
        self.supervised(lambda: tool("a"))()
        self.assertEqual(self.ran, [{"host": "a", "count": 1}])
        self.assertEqual(self.only_request()["application"], "applied")

    def test_a_hook_can_refuse_what_was_approved(self):
        self.answering("approved")
        tool = self.tool()
        with self.assertRaises(rt.HandoffRejected):
            self.supervised(lambda: tool("a"), on_decision=lambda decision: False)()
        self.assertEqual(self.ran, [])

    def test_the_risk_can_be_raised_and_not_lowered(self):
        self.answering("approved")
        tool = self.tool(impact=2, risk_level=2, confidence=0.5)
        lower = {"risk_level": 0, "impact": 0, "confidence": 1.0, "human_required": False, "priority": "low"}
        self.supervised(lambda: tool("a"), on_risk_threshold=lambda trigger: lower)()
        facts = self.only_request()["body"]["facts"]
        self.assertEqual((facts["risk_level"], facts["impact"], facts["confidence"]), (2, 2, 0.5))
        self.server.requests.clear()
        higher = {"risk_level": 3, "evidence": [{"id": "e1"}], "summary": "why"}
        self.supervised(lambda: tool("a"), on_risk_threshold=lambda trigger: higher)()
        body = self.only_request()["body"]
        self.assertEqual((body["intent"]["risk_level"], body["intent"]["summary"]), ("critical", "why"))
        self.assertEqual(body["evidence"]["count"], 1)

    def test_what_a_hook_does_to_the_action_lowers_nothing(self):
        self.answering("approved")
        tool = self.tool()

        def lower(trigger):
            trigger.context.risk_level = trigger.context.impact = 0

        self.supervised(lambda: tool("a"), on_risk_threshold=lower)()
        self.assertEqual(self.only_request()["body"]["facts"]["impact"], 3)

    def test_rerouted_is_waited_through(self):
        tool = self.tool()

        def people():
            request_id = self.server.wait_for_request()
            self.server.decide(request_id, "rerouted")
            time.sleep(0.1)
            self.server.decide(request_id, "approved")

        self.later(people)
        self.assertEqual(self.supervised(lambda: tool("a"))(), "isolated a")

    def test_questions_are_answered_and_the_action_runs_after_approval(self):
        def people(request):
            if request["answers"] is None:
                self.server.decide(request["id"], "needs_info", questions=["why this host?"])
            else:
                self.server.decide(request["id"], "approved")

        self.server.on_submit = people
        hook = lambda decision: {"answers": ["it scans"]} if decision.status == "needs_info" else None  # noqa: E731
        tool = self.tool()
        self.assertEqual(self.supervised(lambda: tool("a"), on_decision=hook)(), "isolated a")
        self.assertEqual(self.only_request()["answers"], [{"question": "why this host?", "answer": "it scans"}])
        self.assertEqual(self.only_request()["revision"], 2)

    def test_questions_without_answers_are_raised(self):
        self.answering("needs_info", questions=["why?"])
        tool = self.tool()
        with self.assertRaises(rt.HandoffNeedsInfo) as caught:
            self.supervised(lambda: tool("a"))()
        self.assertEqual(caught.exception.questions, ["why?"])

    def test_nobody_decides_in_time(self):
        tool = self.tool()
        with self.assertRaises(rt.HandoffPending):
            self.supervised(lambda: tool("a"), timeout=0.2)()
        self.assertEqual((self.ran, self.only_request()["state"]), ([], "cancelled"))

    def test_other_lanes_do_not_wait(self):
        ask, free = self.tool(), self.tool(**SAFE)
        agent = self.supervised(lambda host: (ask if host == "risky" else free)(host))
        self.later(agent, "risky")
        request_id = self.server.wait_for_request()
        for number in range(20):
            agent(f"h{number}")
        self.assertEqual(len(self.ran), 20)
        self.server.decide(request_id, "approved")

    def test_a_wait_can_be_cancelled(self):
        cancel = rt.CancelToken()
        agent = self.supervised(lambda: rt.before_action("t", {}, cancel=cancel, **RISKY))
        threading.Timer(0.3, cancel.set).start()
        begin = time.monotonic()
        with self.assertRaises(rt.Cancelled):
            agent()
        self.assertLess(time.monotonic() - begin, 9)  # without the cancellation it is 10


class Kinds(World):
    def setUp(self):
        super().setUp()
        self.answering("approved")

    def test_a_coroutine_waits_without_holding_up_others(self):
        self.server.on_submit = None

        @rt.guarded(**RISKY)
        async def isolate(host):
            self.ran.append(host)
            return host

        async def agent(host):
            return await isolate(host)

        run = self.supervised(agent)

        async def scenario():
            task = asyncio.create_task(run("a"))
            ticks = 0
            while not self.server.requests:
                await asyncio.sleep(0.01)
                ticks += 1
            await asyncio.sleep(0.05)
            self.assertFalse(task.done())
            self.server.decide(next(iter(self.server.requests)), "approved")
            return await task

        self.assertEqual(asyncio.run(scenario()), "a")
        self.assertEqual((self.ran, self.only_request()["application"]), (["a"], "applied"))

    def test_a_cancelled_coroutine_ends_at_once_and_takes_its_request_back(self):
        self.server.on_submit = None
        self.check_taken_back()

    def test_a_request_is_taken_back_although_its_answer_had_not_come(self):
        answered = threading.Event()
        self.addCleanup(answered.set)
        self.server.on_submit = lambda _request: answered.wait(60)
        self.check_taken_back()

    def check_taken_back(self):
        async def agent():
            async with rt.action("t", {}, **RISKY):
                self.ran.append(1)

        run = self.supervised(agent)

        async def scenario():
            task = asyncio.create_task(run())
            while not self.server.requests:
                await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(scenario())
        end = time.monotonic() + 60
        while self.only_request()["state"] != "cancelled" and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual((self.ran, self.only_request()["state"]), ([], "cancelled"))

    def test_a_permit_that_comes_with_a_cancellation_is_reported(self):
        agent = self.supervised(self.cancelled_at_the_last_moment)
        asyncio.run(agent())
        self.assertEqual(self.reported.wait(60), True)

    async def cancelled_at_the_last_moment(self):
        self.reported = threading.Event()
        lane = rt.current_lane()
        after, lane.supervisor.after_action = lane.supervisor.after_action, lambda *_a, **_n: self.reported.set()
        task = asyncio.create_task(rt.before_action_async("look", {}, **SAFE))
        loop = asyncio.get_running_loop()
        real = loop.call_soon_threadsafe

        def deliver_and_cancel(deliver, *args):
            real(lambda: (deliver(*args), task.cancel()))

        loop.call_soon_threadsafe = deliver_and_cancel
        with self.assertRaises(asyncio.CancelledError):
            await task
        loop.call_soon_threadsafe, lane.supervisor.after_action = real, after

    def test_a_generator_is_no_guarded_function(self):
        def stream():
            yield 1

        async def stream_async():
            yield 1

        for function in (stream, stream_async):
            with self.assertRaises(rt.ConfigError):
                rt.guarded(function)

    def test_a_generator_is_supervised_and_its_lane_does_not_leak(self):
        tool = self.tool()

        def agent(hosts):
            got = yield "begin"
            for host in hosts:
                yield tool(host), got
            return "end"

        generator = self.supervised(agent)(["a", "b"])
        self.assertEqual(next(generator), "begin")
        self.assertIsNone(rt.current_lane())
        self.assertEqual(generator.send("sent"), ("isolated a", "sent"))
        self.assertEqual(next(generator), ("isolated b", "sent"))
        with self.assertRaises(StopIteration) as caught:
            next(generator)
        self.assertEqual(caught.exception.value, "end")
        self.assertEqual(len(self.server.requests), 2)

    def test_an_exception_that_is_thrown_into_a_generator_arrives(self):
        def agent():
            try:
                yield 1
            except KeyError:
                yield "caught"

        generator = self.supervised(agent)()
        next(generator)
        self.assertEqual(generator.throw(KeyError("x")), "caught")
        generator.close()

    def test_an_async_generator_is_supervised(self):
        async def agent(hosts):
            for host in hosts:
                async with rt.action("isolate", {"host": host}, **RISKY) as act:
                    self.ran.append(act.args["host"])
                yield host

        async def scenario():
            return [host async for host in self.supervised(agent)(["a", "b"])]

        self.assertEqual(asyncio.run(scenario()), ["a", "b"])
        self.assertEqual(self.ran, ["a", "b"])


class Suspending(World):
    """An agent that ends while people decide, and is continued, as if in another process."""

    def agent(self, **options):
        first, second = self.tool(**SAFE), self.tool()

        def agent(host):
            return [first(f"{host}-scan"), second(host)]

        return self.supervised(agent, mode="suspend", **options)

    def suspend(self, agent):
        with self.assertRaises(rt.HandoffPending) as caught:
            agent("a")
        return caught.exception.request_id

    def test_an_approved_agent_is_continued_and_repeats_nothing(self):
        request_id = self.suspend(self.agent())
        self.assertEqual([call["host"] for call in self.ran], ["a-scan"])
        with self.assertRaises(rt.HandoffPending):
            rt.resume(request_id)
        self.server.decide(request_id, "approved")
        self.assertEqual(self.agent().resume(request_id), ["isolated a-scan", "isolated a"])
        self.assertEqual([call["host"] for call in self.ran], ["a-scan", "a"])

    def test_a_decision_before_the_wait_is_not_lost(self):
        self.answering("approved")
        self.assertEqual(self.agent()("a"), ["isolated a-scan", "isolated a"])

    def test_continuing_twice_runs_once(self):
        agent = self.agent()
        request_id = self.suspend(agent)
        self.server.decide(request_id, "approved")
        state = agent.supervisor.config.checkpoints.load(request_id)
        agent.resume(request_id)
        agent.supervisor.config.checkpoints.save(request_id, state)
        with self.assertRaises(rt.ActionAlreadyDone):
            self.agent().resume(request_id)
        self.assertEqual([call["host"] for call in self.ran], ["a-scan", "a"])

    def test_a_changed_checkpoint_is_refused(self):
        agent = self.agent()
        request_id = self.suspend(agent)
        self.server.decide(request_id, "approved")
        checkpoints = agent.supervisor.config.checkpoints
        state = checkpoints.load(request_id)
        checkpoints.save(request_id, {**state, "input": {"args": ["evil"], "kwargs": {}}})
        with self.assertRaises(rt.CheckpointMismatch):
            agent.resume(request_id)
        checkpoints.delete(request_id)
        with self.assertRaises(rt.CheckpointMismatch):
            agent.resume(request_id)
        self.assertEqual([call["host"] for call in self.ran], ["a-scan"])

    def test_a_rejected_agent_learns_it_when_it_is_continued(self):
        agent = self.agent()
        request_id = self.suspend(agent)
        self.server.decide(request_id, "rejected", context="no")
        with self.assertRaises(rt.HandoffRejected):
            agent.resume(request_id)

    def test_an_inline_checkpoint_is_sent(self):
        self.suspend(self.agent(checkpoint_strategy="inline"))
        checkpoint = self.only_request()["body"]["checkpoint"]
        self.assertEqual(checkpoint["state_hash"], rt.digest(checkpoint["state"]))

    def test_questions_can_be_answered_from_outside(self):
        request_id = self.suspend(self.agent())
        self.server.decide(request_id, "needs_info", questions=["why?"])
        with self.assertRaises(rt.HandoffNeedsInfo):
            rt.resume(request_id)
        rt.answer(request_id, ["because"])
        self.assertEqual(self.only_request()["answers"][0]["answer"], "because")

    def test_what_cannot_be_resumed_is_not_suspended(self):
        tool = self.tool()
        with self.assertRaises(rt.CanonicalError):
            self.supervised(lambda thing: tool("a"), mode="suspend")(object())
        self.assertEqual(self.server.requests, {})

    def test_a_coroutine_is_continued(self):
        async def agent(host):
            async with rt.action("isolate", {"host": host}, **RISKY) as act:
                self.ran.append(act.args["host"])
            return host

        run = self.supervised(agent, mode="suspend")
        with self.assertRaises(rt.HandoffPending) as caught:
            asyncio.run(run("a"))
        self.server.decide(caught.exception.request_id, "approved")
        self.assertEqual(asyncio.run(rt.resume(caught.exception.request_id)), "a")
        self.assertEqual(self.ran, ["a"])


if __name__ == "__main__":
    unittest.main()
