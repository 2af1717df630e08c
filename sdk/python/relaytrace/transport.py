# SPDX-License-Identifier: Apache-2.0
"""HTTP to one server, over TCP, TLS or a Unix socket, with the standard library only.

Each call has a deadline for all of it, however slowly the server drips, a limit on the size of the answer, and
can be cancelled. Redirects are not followed, proxies of the environment are not used: the token goes to the
configured server and nowhere else.
"""

import email.utils
import http.client
import io
import random
import secrets
import socket
import ssl
import time
import urllib.parse

from . import signing
from .jcs import canonical, parse
from .errors import Cancelled, CanonicalError, ConfigError, ServerAnswerInvalid, ServerRefused, ServerUnreachable

MOST_ANSWER_BYTES = 4 << 20
MOST_MESSAGE = 300
_POLL_S = 0.2
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Secret:
    """A text that is never shown."""

    __slots__ = ("_text",)

    def __init__(self, text):
        self._text = text

    def reveal(self):
        return self._text

    def __repr__(self):
        return "***"

    __str__ = __repr__

    def __reduce__(self):
        raise TypeError("a secret is not serialised")


class Endpoint:
    """Where the server is: `http://HOST:PORT`, `https://HOST` or `unix:PATH`."""

    def __init__(self, text, is_token_given=False, allow_plain=False):
        self.socket_path = None
        self.is_tls = False
        if text.startswith("unix:"):
            self.socket_path = text[len("unix:") :].removeprefix("//")
            if not self.socket_path.startswith("/"):
                raise ConfigError("endpoint: a Unix socket is given as unix:/ABSOLUTE/PATH")
            self.host, self.port, self.base = "localhost", None, ""
            return
        try:
            parts = urllib.parse.urlsplit(text)
            self.host, self.port = parts.hostname, parts.port
        except ValueError:
            raise ConfigError("endpoint: not an address") from None
        if parts.scheme not in ("http", "https") or not self.host:
            raise ConfigError("endpoint: give http://HOST:PORT, https://HOST or unix:PATH")
        if parts.username is not None or parts.query or parts.fragment:
            raise ConfigError("endpoint: an address has no user, no query and no fragment")
        self.is_tls = parts.scheme == "https"
        self.base = parts.path.rstrip("/")
        if not self.is_tls and is_token_given and not allow_plain and self.host not in _LOOPBACK:
            raise ConfigError("endpoint: a token is sent to another machine over https only")

    def __str__(self):
        if self.socket_path:
            return f"unix:{self.socket_path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.is_tls else ''}://{host}{f':{self.port}' if self.port else ''}{self.base}"


class _TimeUp(OSError):
    pass


class _Reader(io.RawIOBase):
    """Reads a socket until the deadline of the call."""

    def __init__(self, sock, deadline, cancel):
        self.sock, self.deadline, self.cancel = sock, deadline, cancel

    def readable(self):
        return True

    def readinto(self, buffer):
        while True:
            rest = self.deadline - time.monotonic()
            if rest <= 0:
                raise _TimeUp("no complete answer in time")
            if self.cancel is not None and self.cancel.is_set():
                raise Cancelled("the call was cancelled")
            self.sock.settimeout(min(rest, _POLL_S))
            try:
                return self.sock.recv_into(buffer)
            except TimeoutError:
                continue


class _Socket:
    """What http.client uses of a socket."""

    def __init__(self, sock, deadline, cancel):
        self.sock, self.deadline, self.cancel = sock, deadline, cancel

    def makefile(self, *_args, **_named):
        return io.BufferedReader(_Reader(self.sock, self.deadline, self.cancel))

    def sendall(self, data):
        self.sock.settimeout(max(0.001, self.deadline - time.monotonic()))
        self.sock.sendall(data)

    def close(self):
        self.sock.close()


class _Connection(http.client.HTTPConnection):
    def __init__(self, endpoint, context, deadline, cancel):
        super().__init__(endpoint.host, endpoint.port or (443 if endpoint.is_tls else 80))
        self.endpoint, self.context, self.deadline, self.cancel = endpoint, context, deadline, cancel

    def connect(self):
        rest = min(10.0, max(0.001, self.deadline - time.monotonic()))
        if self.endpoint.socket_path:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(rest)
            sock.connect(self.endpoint.socket_path)
        else:
            sock = socket.create_connection((self.host, self.port), rest)
        if self.endpoint.is_tls:
            sock = self.context.wrap_socket(sock, server_hostname=self.endpoint.host)
        self.sock = _Socket(sock, self.deadline, self.cancel)


class Answer:
    """An answer that was read whole. `value` is its JSON, an object."""

    def __init__(self, status, headers, body, value):
        self.status, self.headers, self.body, self.value = status, headers, body, value


def plain(text, most=MOST_MESSAGE):
    """A text of the server for people: one line, bounded, without control characters."""
    text = text if isinstance(text, str) else ""
    text = "".join(c if c.isprintable() else " " for c in text[: most + 1])
    return text if len(text) <= most else text[:most] + "…"


class Transport:
    """Calls to one server. Any thread."""

    def __init__(self, endpoint, token=None, signing_secret=None, timeout_s=10.0, budget_s=30.0):
        self.endpoint = endpoint
        self.token = token
        self.signing_secret = signing_secret
        self.timeout_s = timeout_s
        self.budget_s = budget_s
        self.skew_s = 0.0  # the server's clock minus ours
        self.context = ssl.create_default_context() if endpoint.is_tls else None
        self._random = random.SystemRandom()

    def now(self):
        """The time of the server's clock, as far as it is known; seconds."""
        return time.time() + self.skew_s

    def _headers(self, body, extra):
        headers = {"Accept": "application/json", "User-Agent": "rondo-relaytrace-python/0.1"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token.reveal()}"
        if body is not None:
            headers["Content-Type"] = "application/json"
            if self.signing_secret is not None:
                message_id = f"msg_{secrets.token_hex(16)}"
                stamp = int(self.now())
                headers["webhook-id"] = message_id
                headers["webhook-timestamp"] = str(stamp)
                headers["webhook-signature"] = signing.sign(self.signing_secret.reveal(), message_id, stamp, body)
        headers.update(extra or {})
        return headers

    def _read(self, response):
        body = bytearray()
        while True:
            piece = response.read1(1 << 16)
            if not piece:
                break
            body += piece
            if len(body) > MOST_ANSWER_BYTES:
                raise ServerAnswerInvalid(f"{self.endpoint}: an answer of more than {MOST_ANSWER_BYTES} bytes")
        if response.length:
            raise http.client.IncompleteRead(b"")
        return bytes(body)

    def _note_time(self, headers):
        try:
            date = email.utils.parsedate_to_datetime(headers.get("date", "")).timestamp()
        except (TypeError, ValueError, OverflowError):
            return
        skew = date - time.time()
        self.skew_s = skew if abs(skew) > 2 else 0.0

    def _exchange(self, method, path, body, extra, timeout_s, cancel):
        deadline = time.monotonic() + timeout_s
        connection = _Connection(self.endpoint, self.context, deadline, cancel)
        try:
            connection.request(method, self.endpoint.base + path, body, self._headers(body, extra))
            response = connection.getresponse()
            raw = self._read(response)
            headers = {name.lower(): value for name, value in response.getheaders()}
        except http.client.IncompleteRead:
            raise ServerUnreachable(f"{self.endpoint}: the connection broke") from None
        except http.client.RemoteDisconnected:
            raise ServerUnreachable(f"{self.endpoint}: the server closed the connection") from None
        except http.client.HTTPException as error:
            raise ServerAnswerInvalid(f"{self.endpoint}: not an HTTP answer ({type(error).__name__})") from None
        except (OSError, ssl.SSLError) as error:
            raise ServerUnreachable(f"{self.endpoint}: {type(error).__name__}") from None
        finally:
            connection.close()
        self._note_time(headers)
        return response.status, headers, raw

    def _check(self, status, headers, raw):
        if status == 204:
            return Answer(status, headers, raw, {})
        try:
            value = parse(raw, must_be_canonical=False)
        except CanonicalError as error:
            if status >= 500:
                raise ServerRefused(status, "unavailable", "no explanation", True) from None
            raise ServerAnswerInvalid(f"{self.endpoint}: status {status}, {error}") from None
        if not isinstance(value, dict):
            raise ServerAnswerInvalid(f"{self.endpoint}: status {status}, and the answer is not an object")
        if 200 <= status < 300:
            return Answer(status, headers, raw, value)
        if 300 <= status < 400:
            raise ServerAnswerInvalid(f"{self.endpoint}: status {status}; redirects are not followed")
        raise self._refusal(status, value)

    def _refusal(self, status, value):
        error = value.get("error") if isinstance(value.get("error"), dict) else {}
        message = self._shown(error.get("message") or value.get("detail") or value.get("title") or "no explanation")
        retryable = error.get("retryable") is True if status in (409, 429) else status >= 500
        if status == 429 and "retryable" not in error:
            retryable = True
        return ServerRefused(status, self._shown(error.get("code") or "refused", 60), message, retryable)

    def _shown(self, text, most=MOST_MESSAGE):
        """A text of the server, without the token that it was sent."""
        if self.token is not None and isinstance(text, str):
            text = text.replace(self.token.reveal(), "***")
        return plain(text, most)

    def once(self, method, path, value=None, *, timeout_s=None, cancel=None, headers=None):
        """One call, not repeated."""
        if cancel is not None and cancel.is_set():
            raise Cancelled("the call was cancelled")
        body = None if value is None else canonical(value)
        answer = self._exchange(method, path, body, headers, timeout_s or self.timeout_s, cancel)
        try:
            return self._check(*answer)
        except ServerRefused as refusal:
            refusal.retry_after_s = _retry_after(answer[1])
            raise

    def call(self, method, path, value=None, *, budget_s=None, cancel=None, headers=None):
        """A call that may be repeated: on no answer, 5xx, and 409 and 429 that say so; within a budget."""
        end = time.monotonic() + (self.budget_s if budget_s is None else budget_s)
        attempt = 0
        while True:
            try:
                rest = max(0.01, end - time.monotonic())
                timeout_s = min(self.timeout_s, rest)
                return self.once(method, path, value, timeout_s=timeout_s, cancel=cancel, headers=headers)
            except (ServerUnreachable, ServerRefused) as error:
                if isinstance(error, ServerRefused) and not error.retryable:
                    raise
                wait_s = max(self.pause_s(attempt), getattr(error, "retry_after_s", 0.0))
                attempt += 1
                if time.monotonic() + wait_s >= end:
                    raise
            pause(wait_s, cancel)

    def pause_s(self, attempt):
        """How long to wait before the next attempt: longer each time, with full jitter."""
        return self._random.uniform(0.05, min(5.0, 0.2 * 2 ** min(attempt, 10)))


def _retry_after(headers):
    text = headers.get("retry-after", "")
    return min(float(text), 60.0) if text.isascii() and text.isdigit() and len(text) < 9 else 0.0


def pause(seconds, cancel=None):
    """Wait, unless the caller cancels."""
    if cancel is None:
        time.sleep(seconds)
    elif cancel.wait(seconds):
        raise Cancelled("the call was cancelled")
