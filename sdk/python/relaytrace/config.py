# SPDX-License-Identifier: Apache-2.0
"""The configuration of an agent: arguments of the decorator first, then the variables RELAYTRACE_*."""

import dataclasses
import math
import os
import pathlib
import re
from collections.abc import Callable

from . import signing
from .checkpoints import FileCheckpoints
from .errors import ConfigError
from .transport import Endpoint, Secret

DEFAULT_ENDPOINT = "http://127.0.0.1:7466"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,94}")
_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclasses.dataclass(frozen=True)
class Config:
    """A configuration that was checked."""

    agent_id: str
    supervisors: tuple
    policy_profile: str
    endpoint: Endpoint
    token: Secret | None
    signing_secret: Secret | None
    routing_policy_id: str | None
    callback_channel: str | None
    checkpoint_strategy: str
    checkpoints: object
    workflow_id: str
    mode: str
    timeout_s: float
    budget_s: float
    outage_s: float
    allow_offline: frozenset
    state_dir: pathlib.Path
    before_action: Callable | None
    after_action: Callable | None
    on_risk_threshold: Callable | None
    on_decision: Callable | None


def _first(value, name, otherwise):
    """An argument, or else the variable, or else the default."""
    return value if value is not None else _variable(name) or otherwise


def _variable(name):
    value = os.environ.get(f"RELAYTRACE_{name}")
    return value if value else None


def _name(what, text):
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        raise ConfigError(f"{what}: give 1 to 95 letters, digits and . _ : @ -")
    return text


def _names(what, names):
    if isinstance(names, str):
        names = [part.strip() for part in names.split(",")]
    if not isinstance(names, (list, tuple, set, frozenset)) or len(names) > 32:
        raise ConfigError(f"{what}: give a list of up to 32 names")
    return tuple(_name(what, name) for name in names)


def _one_of(what, value, choices):
    if value not in choices:
        raise ConfigError(f"{what}: give one of {', '.join(choices)}")
    return value


def _seconds(what, value):
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{what}: give a number of seconds") from None
    if isinstance(value, bool) or not math.isfinite(number) or not 0 < number <= 366 * 86400:
        raise ConfigError(f"{what}: give a number of seconds, more than 0 and up to a year")
    return number


def _secret(token):
    if token is None:
        return None
    text = token.reveal() if isinstance(token, Secret) else token
    if not isinstance(text, str) or not text.isascii() or not text.isprintable() or " " in text or not text:
        raise ConfigError("token: it has characters that no token has")
    return Secret(text)


def _signing(text):
    if text is None:
        return None
    try:
        return Secret(signing.read_secret(text))
    except (ValueError, AttributeError) as error:
        raise ConfigError(f"signing_secret: {error}") from None


def _state_dir(given):
    given = given or _variable("STATE_DIR")
    if given:
        return pathlib.Path(given)
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return pathlib.Path(base) / "relaytrace"


def _hook(what, hook):
    if hook is not None and not callable(hook):
        raise ConfigError(f"{what}: give a function")
    return hook


def _checkpoints(strategy, state_dir):
    if isinstance(strategy, str) or strategy is None:
        strategy = strategy or _variable("CHECKPOINT_STRATEGY") or "external-ref"
        _one_of("checkpoint_strategy", strategy.replace("_", "-"), ("inline", "external-ref"))
        return strategy.replace("_", "-"), FileCheckpoints(state_dir / "checkpoints")
    if not callable(getattr(strategy, "save", None)) or not callable(getattr(strategy, "load", None)):
        raise ConfigError("checkpoint_strategy: give inline, external-ref, or an object with save and load")
    return "external-ref", strategy


def _flag(name):
    value = _variable(name)
    if value is None:
        return False
    if value.lower() not in _FLAGS:
        raise ConfigError(f"RELAYTRACE_{name}: give 1 or 0")
    return _FLAGS[value.lower()]


def configure(
    agent_id=None, supervisors=None, policy_profile=None, *, endpoint=None, relaytrace_endpoint=None, token=None,
    signing_secret=None, routing_policy_id=None, callback_channel=None, checkpoint_strategy=None, workflow_id=None,
    mode=None, timeout=None, budget=None, outage=None, allow_offline=(), state_dir=None, before_action=None,
    after_action=None, on_risk_threshold=None, on_decision=None,
):  # fmt: skip
    """Merge arguments and variables, and check them. Opens no connection. Raises ConfigError."""
    agent_id = _name("agent_id", agent_id or _variable("AGENT_ID") or "")
    supervisors = supervisors if supervisors is not None else _variable("SUPERVISORS") or ()
    token = _secret(token if token is not None else _variable("TOKEN"))
    address = endpoint or relaytrace_endpoint or _variable("ENDPOINT") or DEFAULT_ENDPOINT
    if not isinstance(address, str):
        raise ConfigError("endpoint: give an address")
    folder = _state_dir(state_dir)
    strategy, checkpoints = _checkpoints(checkpoint_strategy, folder)
    routing = routing_policy_id or _variable("ROUTING_POLICY_ID")
    return Config(
        agent_id=agent_id,
        supervisors=_names("supervisors", supervisors),
        policy_profile=_name("policy_profile", policy_profile or _variable("POLICY_PROFILE") or "default-security"),
        endpoint=Endpoint(address, token is not None, _flag("ALLOW_PLAIN_HTTP")),
        token=token,
        signing_secret=_signing(signing_secret or _variable("SIGNING_SECRET")),
        routing_policy_id=_name("routing_policy_id", routing) if routing else None,
        callback_channel=callback_channel or _variable("CALLBACK_CHANNEL"),
        checkpoint_strategy=strategy,
        checkpoints=checkpoints,
        workflow_id=_name("workflow_id", workflow_id or _variable("WORKFLOW_ID") or agent_id),
        mode=_one_of("mode", mode or _variable("MODE") or "wait", ("wait", "suspend")),
        timeout_s=_seconds("timeout", _first(timeout, "TIMEOUT", 86400)),
        budget_s=_seconds("budget", _first(budget, "BUDGET", 30)),
        outage_s=_seconds("outage", _first(outage, "OUTAGE", 600)),
        allow_offline=frozenset(_names("allow_offline", allow_offline)),
        state_dir=folder,
        before_action=_hook("before_action", before_action),
        after_action=_hook("after_action", after_action),
        on_risk_threshold=_hook("on_risk_threshold", on_risk_threshold),
        on_decision=_hook("on_decision", on_decision),
    )
