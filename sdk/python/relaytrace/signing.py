# SPDX-License-Identifier: Apache-2.0
"""Signatures of Standard Webhooks 1.0 (`v1`): HMAC-SHA256 over id, time and raw body."""

import base64
import binascii
import hashlib
import hmac
import time

TOLERANCE_S = 300
_SHORTEST_SECRET = 24
_LONGEST_SECRET = 64


def read_secret(text):
    """The bytes of a secret `whsec_BASE64`. Raises ValueError, without the secret."""
    try:
        secret = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise ValueError("the signing secret is not base64") from None
    if not _SHORTEST_SECRET <= len(secret) <= _LONGEST_SECRET:
        raise ValueError(f"the signing secret must have {_SHORTEST_SECRET} to {_LONGEST_SECRET} bytes")
    return secret


def sign(secret, message_id, timestamp, body):
    """The value of `webhook-signature`. @param timestamp seconds @param body bytes"""
    signed = f"{message_id}.{int(timestamp)}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


def verify(secret, headers, body, now=None):
    """Whether one of the signatures is right and fresh. @param headers a mapping of lower-case names"""
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not message_id or "." in message_id or not (timestamp.isascii() and timestamp.isdigit()):
        return False
    now = time.time() if now is None else now
    if len(timestamp) > 15 or abs(now - int(timestamp)) > TOLERANCE_S:
        return False
    expected = sign(secret, message_id, int(timestamp), body).encode()
    given = headers.get("webhook-signature", "").split(" ")
    return any([hmac.compare_digest(expected, one.encode("utf-8", "replace")) for one in given])
