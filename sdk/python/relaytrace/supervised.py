# SPDX-License-Identifier: Apache-2.0
"""The decorator of an agent's function, and what its code calls to make actions."""

import asyncio
import contextvars
import functools
import inspect
import os
import threading

from .permits import ActionContext, Permit
from .jcs import canonical, digest, parse
from .config import configure
from .decision import check_status, Expected, read_decision
from .errors import (
    ActionAlreadyDone, CanonicalError, CheckpointMismatch, ConfigError, HandoffExpired, HandoffPending, RelayTraceError,
)  # fmt: skip
from .lane import InsteadOf, Lane, current_lane, trace_of
from .supervisor import CancelToken, Supervisor, answer as send_answer, load_state

_functions = {}  # name of a supervised function: its wrapper; filled when modules are imported
_functions_lock = threading.Lock()


# ---- Running what blocks beside an event loop -------------------------------------------------------


async def _beside(function, *args, abandon=None):
    """Run a blocking function in a thread of its own; a cancelled caller cancels it.
    @param abandon called with the result when nobody waits for it any more"""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    cancel = CancelToken()
    context = contextvars.copy_context()

    def deliver(set_outcome, outcome):
        if not future.done():
            set_outcome(outcome)
        elif set_outcome == future.set_result and abandon is not None:
            threading.Thread(target=abandon, args=(outcome,), daemon=True).start()

    def work():
        try:
            outcome, setter = context.run(function, *args, cancel), future.set_result
        except BaseException as error:
            outcome, setter = error, future.set_exception
        if cancel.is_set() and setter == future.set_result:
            if abandon is not None:
                abandon(outcome)
            return
        try:
            loop.call_soon_threadsafe(deliver, setter, outcome)
        except RuntimeError:  # the loop has ended
            pass

    threading.Thread(target=work, name="relaytrace", daemon=True).start()
    try:
        return await future
    except asyncio.CancelledError:
        cancel.set()
        # Cancelled after the outcome had come, and before the caller has seen it.
        if abandon is not None and future.done() and not future.cancelled() and future.exception() is None:
            threading.Thread(target=abandon, args=(future.result(),), daemon=True).start()
        raise


# ---- Actions ----------------------------------------------------------------------------------------


def _lane(lane=None):
    lane = lane or current_lane()
    if lane is None:
        raise RelayTraceError("outside of a supervised function: no policy can permit this action")
    return lane


def _context(tool, args, facts):
    if isinstance(tool, ActionContext):
        return tool
    if isinstance(tool, dict):
        return ActionContext(**tool)
    return ActionContext(tool, args if args is not None else {}, **facts)


def before_action(tool, args=None, *, cancel=None, **facts):
    """Ask for the permission to make an action: returns a Permit, or raises why not.
    @param tool a name with `args` and facts (ActionContext), or an ActionContext, or a dict of one"""
    lane = _lane()
    return lane.supervisor.before_action(_context(tool, args, facts), lane, cancel)


def _abandon(permit):
    permit.lane.supervisor.after_action(permit, error=asyncio.CancelledError())


async def before_action_async(tool, args=None, **facts):
    """before_action() for coroutines: other tasks continue meanwhile."""
    lane = _lane()
    return await _beside(lane.supervisor.before_action, _context(tool, args, facts), lane, abandon=_abandon)


def after_action(permit, result=None, error=None):
    """Say what became of a permitted action; the first time counts."""
    return permit.lane.supervisor.after_action(permit, result, error)


async def after_action_async(permit, result=None, error=None):
    return await _beside(lambda _cancel: after_action(permit, result, error))


class action:  # noqa: N801 - used like a function
    """`with action("tool", {...}) as act:` makes act.args with permission; set act.result.
    after_action follows exactly once, also after an exception. Works with `async with`, too."""

    def __init__(self, tool, args=None, **facts):
        self._context = _context(tool, args, facts)
        self.permit = None
        self.result = None

    @property
    def args(self):
        return self.permit.args

    @property
    def idempotency_key(self):
        return self.permit.idempotency_key

    def kept(self, done):
        """The result of this action, if it was made before and was kept; else raises."""
        if self.permit is not None or not done.has_result:
            raise done
        return done.result

    def instead(self, fallback, expired):
        """What a fallback runs in, if it was this action about which nobody decided; else raises."""
        if self.permit is not None or fallback is None:
            raise expired
        return InsteadOf(expired)

    def __enter__(self):
        self.permit = before_action(self._context)
        return self

    def __exit__(self, _kind, error, _trace):
        after_action(self.permit, self.result, error)

    async def __aenter__(self):
        self.permit = await before_action_async(self._context)
        return self

    async def __aexit__(self, _kind, error, _trace):
        await after_action_async(self.permit, self.result, error)


class _Arguments:
    """The arguments of a tool function as an object of JSON, and back."""

    def __init__(self, function):
        self.signature = inspect.signature(function)
        kinds = [parameter.kind for parameter in self.signature.parameters.values()]
        if inspect.Parameter.VAR_POSITIONAL in kinds or inspect.Parameter.POSITIONAL_ONLY in kinds:
            raise ConfigError(f"{function.__name__}: the arguments of a guarded function have names")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ConfigError(f"{function.__name__}: a guarded function does its work before it returns; this is a generator")
        self.rest = next((p.name for p in self.signature.parameters.values() if p.kind is p.VAR_KEYWORD), None)
        first = next(iter(self.signature.parameters), None)
        self.owner = first if first in ("self", "cls") else None

    def read(self, args, named):
        bound = self.signature.bind(*args, **named)
        bound.apply_defaults()
        values = dict(bound.arguments)
        owner = {self.owner: values.pop(self.owner)} if self.owner else {}
        values.update(values.pop(self.rest, {}) if self.rest else {})
        return owner, values


def guarded(tool=None, *, fallback=None, **facts):
    """Decorate a function that is a tool: each call is permitted first, made with the permitted arguments, and
    reported. A call that was made before the agent was continued returns its kept result.
    @param fallback called with the same arguments when nobody decides in time. Its own actions must be reversible
                    and of at most medium risk, and policies must allow them; else HandoffExpired is raised
    @param facts of ActionContext; a function is called with the arguments of the call"""

    def decorate(function):
        name = tool if isinstance(tool, str) else function.__name__
        arguments = _Arguments(function)

        def prepare(args, named):
            owner, values = arguments.read(args, named)
            known = {key: fact(values) if callable(fact) else fact for key, fact in facts.items()}
            return owner, action(name, values, **known)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def call(*args, **named):
                owner, act = prepare(args, named)
                try:
                    async with act:
                        act.result = await function(**owner, **act.args)
                except ActionAlreadyDone as done:
                    return act.kept(done)
                except HandoffExpired as expired:
                    with act.instead(fallback, expired):
                        return await fallback(*args, **named)
                return act.result
        else:

            @functools.wraps(function)
            def call(*args, **named):
                owner, act = prepare(args, named)
                try:
                    with act:
                        act.result = function(**owner, **act.args)
                except ActionAlreadyDone as done:
                    return act.kept(done)
                except HandoffExpired as expired:
                    with act.instead(fallback, expired):
                        return fallback(*args, **named)
                return act.result

        return call

    return decorate(tool) if callable(tool) else decorate


# ---- Supervised functions ---------------------------------------------------------------------------


def _given(value, args, named):
    return value(*args, **named) if callable(value) else value


class _Calls:
    """How lanes of one supervised function are made."""

    def __init__(self, function, supervisor, lane, run):
        self.function, self.supervisor, self.lane, self.run = function, supervisor, lane, run
        self.name = f"{function.__module__}.{function.__qualname__}"

    def begin(self, args, named):
        outer = current_lane()
        lane_id = _given(self.lane, args, named)
        run_id = _given(self.run, args, named) or (outer.run_id if outer else None)
        trace_id = outer.trace_id if outer else trace_of(os.environ.get("TRACEPARENT"))
        lane = Lane(self.supervisor, lane_id, run_id, trace_id)
        lane.function = self.name
        try:
            lane.input = parse(canonical({"args": list(args), "kwargs": named}))
        except CanonicalError:
            lane.input = None
        return lane

    def restore(self, request_id):
        """The lane of a request that was decided, from its checkpoint."""
        config = self.supervisor.config
        state = load_state(config, request_id)
        if state.get("agent_id") != config.agent_id or state.get("function") != self.name:
            raise CheckpointMismatch(request_id, "the checkpoint is that of another agent or function")
        status = self.supervisor.client.status(request_id)
        if status is None:
            raise CheckpointMismatch(request_id, "the server does not have the request")
        expected = Expected(request_id, state["trace_id"], config.agent_id, state["action_digest"])
        check_status(status, expected)
        if status.get("state_hash", digest(state)) != digest(state):
            raise CheckpointMismatch(request_id, "the checkpoint is not the one that the request was made with")
        if config.mode == "suspend" and not self._is_decided(status, expected):
            raise HandoffPending(request_id)
        if not isinstance(state.get("input"), dict):
            raise CheckpointMismatch(request_id, "the checkpoint has no arguments")
        lane = Lane(self.supervisor, state["lane_id"], state["run_id"], state["trace_id"], is_resumed=True)
        lane.function, lane.input, lane.done = self.name, state["input"], dict(state.get("done") or {})
        lane.requests.append(request_id)
        return lane

    @staticmethod
    def _is_decided(status, expected):
        if status.get("decision") is None:
            return status["state"] not in ("requested", "routed", "rerouted", "escalated", "needs_info")
        return read_decision(status["decision"], expected, status["revision"]).status != "rerouted"


def _wrap_function(calls):
    def run(lane, args, named):
        error = None
        try:
            with lane:
                return calls.function(*args, **named)
        except BaseException as caught:
            error = caught
            raise
        finally:
            calls.supervisor.end_lane(lane, error)

    def call(*args, **named):
        return run(calls.begin(args, named), args, named)

    return call, run


def _wrap_coroutine(calls):
    async def run(lane, args, named):
        error = None
        try:
            with lane:
                return await calls.function(*args, **named)
        except BaseException as caught:
            error = caught
            raise
        finally:
            await _end_beside(calls, lane, error)

    async def call(*args, **named):
        return await run(calls.begin(args, named), args, named)

    return call, run


async def _end_beside(calls, lane, error):
    if isinstance(error, (asyncio.CancelledError, GeneratorExit)):
        threading.Thread(target=calls.supervisor.end_lane, args=(lane, error), daemon=True).start()
    else:
        await _beside(lambda _cancel: calls.supervisor.end_lane(lane, error))


def _wrap_generator(calls):
    """The lane is the current one while the generator runs, and not between its values."""

    def run(lane, args, named):
        inner, error, step, value = calls.function(*args, **named), None, "send", None
        try:
            while True:
                try:
                    with lane:
                        item = inner.send(value) if step == "send" else inner.throw(value)
                except StopIteration as end:
                    return end.value
                try:
                    step, value = "send", (yield item)
                except GeneratorExit:
                    with lane:
                        inner.close()
                    raise
                except BaseException as thrown:
                    step, value = "throw", thrown
        except BaseException as caught:
            error = caught
            raise
        finally:
            calls.supervisor.end_lane(lane, None if isinstance(error, GeneratorExit) else error)

    def call(*args, **named):
        return (yield from run(calls.begin(args, named), args, named))

    return call, run


def _wrap_async_generator(calls):
    async def run(lane, args, named):
        inner, error, step, value = calls.function(*args, **named), None, "send", None
        try:
            while True:
                try:
                    with lane:
                        item = await (inner.asend(value) if step == "send" else inner.athrow(value))
                except StopAsyncIteration:
                    return
                try:
                    step, value = "send", (yield item)
                except GeneratorExit:
                    with lane:
                        await inner.aclose()
                    raise
                except BaseException as thrown:
                    step, value = "throw", thrown
        except BaseException as caught:
            error = caught
            raise
        finally:
            await _end_beside(calls, lane, error)

    async def call(*args, **named):
        inner = run(calls.begin(args, named), args, named)
        try:
            value = None
            while True:
                try:
                    item = await inner.asend(value)
                except StopAsyncIteration:
                    return
                value = yield item
        finally:
            await inner.aclose()

    return call, run


def _wrapper(calls):
    function = calls.function
    if inspect.isasyncgenfunction(function):
        return _wrap_async_generator(calls)
    if inspect.isgeneratorfunction(function):
        return _wrap_generator(calls)
    if inspect.iscoroutinefunction(function):
        return _wrap_coroutine(calls)
    return _wrap_function(calls)


def relaytrace_supervised(agent_id=None, supervisors=None, policy_profile=None, *, lane=None, run=None, **options):
    """Supervise the actions of a function: sync, async, generator or async generator.

    @param lane the id of the lane: a text, or a function of the call's arguments; a new one if left out. The
                same id in another process finds the requests of the first one again.
    @param run  the id of the run, in the same way
    @param options docs/sdk-python.md. Wrong ones raise ConfigError here; nothing is connected to yet.
    """
    config = configure(agent_id, supervisors, policy_profile, **options)
    for what, value in (("lane", lane), ("run", run)):
        if value is not None and not isinstance(value, str) and not callable(value):
            raise ConfigError(f"{what}: give a text or a function")

    def decorate(function):
        if not callable(function):
            raise ConfigError("relaytrace_supervised decorates a function")
        calls = _Calls(function, Supervisor(config), lane, run)
        call, run_lane = _wrapper(calls)
        wrapper = functools.wraps(function)(call)

        def resume_call(request_id):
            restored = calls.restore(request_id)
            return run_lane(restored, restored.input["args"], restored.input["kwargs"])

        wrapper.resume = resume_call
        wrapper.supervisor = calls.supervisor
        with _functions_lock:
            _functions[calls.name] = wrapper
        return wrapper

    return decorate


def _owner(request_id):
    with _functions_lock:
        known = list(_functions.items())
    for name, wrapper in known:
        config = wrapper.supervisor.config
        try:
            state = load_state(config, request_id)
        except CheckpointMismatch:
            continue
        if state.get("function") == name and state.get("agent_id") == config.agent_id:
            return wrapper, state
    raise CheckpointMismatch(request_id, "no function of this program has the checkpoint of this request")


def resume(request_id):
    """Continue the function that raised HandoffPending. It is called again with its arguments; guarded tools
    that were made return their results, and the action that was decided about is made, or refused."""
    return _owner(request_id)[0].resume(request_id)


def answer(request_id, answers, **more):
    """Answer the questions of HandoffNeedsInfo. @param more context, evidence"""
    wrapper, state = _owner(request_id)
    client = wrapper.supervisor.client
    status = client.status(request_id)
    if status is None:
        raise CheckpointMismatch(request_id, "the server does not have the request")
    expected = Expected(request_id, state["trace_id"], wrapper.supervisor.config.agent_id, state["action_digest"])
    decision = read_decision(status.get("decision"), expected, check_status(status, expected))
    if decision.status != "needs_info":
        raise RelayTraceError("nobody has asked a question about this request")
    send_answer(client, decision, answers, more, state["action_digest"])


def flush():
    """Send messages that could not be sent. @return how many are left"""
    with _functions_lock:
        known = list(_functions.values())
    return sum(wrapper.supervisor.flush() for wrapper in known)


__all__ = [
    "action", "after_action", "after_action_async", "answer", "before_action", "before_action_async", "flush",
    "guarded", "relaytrace_supervised", "resume", "Permit",
]  # fmt: skip
