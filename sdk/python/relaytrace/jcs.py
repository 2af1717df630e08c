# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON (RFC 8785), and the digests and ids that client and server find each by itself.

Readers disagree about some values: half of a surrogate pair, NaN, an integer that a double cannot hold, a
name that occurs twice. Those have no canonical form here, so two actions that differ never share a digest.
"""

import hashlib
import json
import math
import re
import uuid

from .errors import CanonicalError

MOST_DEPTH = 64
# The UUIDv5 of "urn:relaytrace:request:v1" among URLs.
REQUEST_SPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:relaytrace:request:v1")

_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def _string(text):
    text = str.__str__(text)  # what a subclass says of itself is not what it is
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise CanonicalError("a string has half of a surrogate pair") from None
    quoted = _ESCAPED.sub(lambda m: _SHORT.get(m[0]) or f"\\u{ord(m[0]):04x}", text)
    return f'"{quoted}"'


def number_text(number):
    """A finite number as ECMAScript writes it: the shortest digits that are read back as it."""
    if not math.isfinite(number):
        raise CanonicalError("NaN and infinity are not JSON")
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    point = len(whole) + int(exponent or 0)  # digits before the decimal point
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def _integer(number):
    try:
        as_double = float(number)
    except OverflowError:
        raise CanonicalError("an integer is too large for JSON") from None
    if int(as_double) != number:
        raise CanonicalError("a double cannot hold an integer; write it as a string")
    return number_text(as_double)


def _object(value, depth):
    if not all(isinstance(key, str) for key in value):
        raise CanonicalError("a name in an object is not a string")
    names = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(f"{_string(name)}:{_text(value[name], depth)}" for name in names) + "}"


def _text(value, depth):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _integer(int.__int__(value))
    if isinstance(value, float):
        return number_text(float.__float__(value))
    if isinstance(value, str):
        return _string(value)
    if depth >= MOST_DEPTH:
        raise CanonicalError(f"more than {MOST_DEPTH} levels of nesting")
    if isinstance(value, dict):
        return _object(value, depth + 1)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_text(item, depth + 1) for item in value) + "]"
    raise CanonicalError(f"a {type(value).__name__} has no JSON form")


def canonical(value):
    """The canonical JSON of a value, as UTF-8. Raises CanonicalError when it has none."""
    return _text(value, 0).encode("utf-8")


def _pairs(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise CanonicalError("a name occurs twice in an object")
    return value


def _constant(name):
    raise CanonicalError(f"{name} is not JSON")


def parse(text, must_be_canonical=True):
    """Read JSON strictly: no name twice, no NaN. @param text bytes or str
    @param must_be_canonical refuse what has no canonical form"""
    try:
        if isinstance(text, (bytes, bytearray)):
            text = bytes(text).decode("utf-8")
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
        if must_be_canonical:
            canonical(value)
    except RecursionError:
        raise CanonicalError(f"more than {MOST_DEPTH} levels of nesting") from None
    except CanonicalError:
        raise
    except ValueError:
        raise CanonicalError("the text is not JSON") from None
    return value


def digest(value):
    """ "sha256:HEX" of the canonical JSON of a value. """
    return f"sha256:{hashlib.sha256(canonical(value)).hexdigest()}"


def _file_digest(path):
    sum_of_bytes = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 16):
            sum_of_bytes.update(chunk)
    return f"sha256:{sum_of_bytes.hexdigest()}"


def operand(path):
    """A file that an action names, as it is now: {path, digest}."""
    return {"path": str(path), "digest": _file_digest(path)}


def action_digest(tool, args, resource=None, operands=()):
    """The digest that names an action: of {args, operands, resource, tool}; what is empty is left out."""
    if not isinstance(args, dict):
        raise CanonicalError("the arguments of an action must be an object")
    action = {"tool": tool, "args": args}
    if operands:
        action["operands"] = [{"digest": item["digest"], "path": item["path"]} for item in operands]
    if resource is not None:
        action["resource"] = resource
    return digest(action)


def request_id(*, agent_id, workflow_id, run_id, step_id, lane_id, action_digest, attempt=1):
    """The id of a request: the same one for the same place in the agent's work."""
    place = {
        "action_digest": action_digest,
        "agent_id": agent_id,
        "attempt": attempt,
        "lane_id": lane_id,
        "run_id": run_id,
        "step_id": step_id,
        "workflow_id": workflow_id,
    }
    return str(uuid.uuid5(REQUEST_SPACE, canonical(place).decode("utf-8")))
