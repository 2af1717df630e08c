# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON, digests, ids and signatures of the Python client: vectors, and the traps."""

import enum
import json
import math
import random
import struct
import subprocess
import unittest

from relaytrace import jcs as c
from relaytrace import signing
from relaytrace.errors import CanonicalError

# Doubles and their canonical form: appendix B of RFC 8785.
NUMBERS = [
    (0x0000000000000000, "0"), (0x8000000000000000, "0"), (0x0000000000000001, "5e-324"),
    (0x8000000000000001, "-5e-324"), (0x7FEFFFFFFFFFFFFF, "1.7976931348623157e+308"),
    (0xFFEFFFFFFFFFFFFF, "-1.7976931348623157e+308"), (0x4340000000000000, "9007199254740992"),
    (0xC340000000000000, "-9007199254740992"), (0x4430000000000000, "295147905179352830000"),
    (0x44B52D02C7E14AF5, "9.999999999999997e+22"), (0x44B52D02C7E14AF6, "1e+23"),
    (0x44B52D02C7E14AF7, "1.0000000000000001e+23"), (0x444B1AE4D6E2EF4E, "999999999999999700000"),
    (0x444B1AE4D6E2EF4F, "999999999999999900000"), (0x444B1AE4D6E2EF50, "1e+21"),
    (0x3EB0C6F7A0B5ED8C, "9.999999999999997e-7"), (0x3EB0C6F7A0B5ED8D, "0.000001"),
    (0x41B3DE4355555553, "333333333.3333332"), (0x41B3DE4355555554, "333333333.33333325"),
    (0x41B3DE4355555555, "333333333.3333333"), (0x41B3DE4355555556, "333333333.3333334"),
    (0x41B3DE4355555557, "333333333.33333343"), (0xBECBF647612F3696, "-0.0000033333333333333333"),
    (0x43143FF3C1CB0959, "1424953923781206.2"),
]  # fmt: skip


class Canonical(unittest.TestCase):
    def test_numbers_are_written_as_the_rfc_says(self):
        for bits, text in NUMBERS:
            with self.subTest(text):
                self.assertEqual(c.number_text(struct.unpack(">d", struct.pack(">Q", bits))[0]), text)

    def test_names_are_ordered_by_utf16_units(self):
        value = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\xf6": 7}
        self.assertEqual(list(json.loads(c.canonical(value)).values()), [2, 4, 6, 7, 1, 5, 3])

    def test_strings_are_escaped_as_the_rfc_says(self):
        self.assertEqual(c.canonical("\u20ac$\x0f\nA'\x42\"\\\\\"/\x7f\b").decode(), '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/\x7f\\b"')

    def test_a_subclass_is_what_it_holds_and_not_what_it_says(self):
        class Host(str, enum.Enum):
            A = "host-a"

        class Liar(int):
            def __int__(self):
                return 1

        self.assertEqual(c.canonical({"host": Host.A, Host.A: Liar(7)}), b'{"host":"host-a","host-a":7}')

    def test_integers_that_a_double_holds_are_written_like_doubles(self):
        self.assertEqual(c.canonical([2**53, 10**20, 10**21, -0.0, True]), b"[9007199254740992,100000000000000000000,1e+21,0,true]")

    def test_values_without_a_canonical_form_are_refused(self):
        deep = []
        for _ in range(c.MOST_DEPTH):
            deep = [deep]
        for value in (2**53 + 1, math.nan, math.inf, "\ud800", {"\udfff": 1}, {1: 2}, {1, 2}, b"x", 10**400, deep):
            with self.subTest(type(value)), self.assertRaises(CanonicalError):
                c.canonical(value)

    def test_the_deepest_value_is_accepted(self):
        deep = 1
        for _ in range(c.MOST_DEPTH):
            deep = [deep]
        c.canonical(deep)

    def test_texts_that_readers_disagree_about_are_refused(self):
        for text in ('{"a":1,"a":2}', "NaN", "9007199254740993", '"\\ud800"', "1e400", "", "[1,]", "[" * 5000, b"\xff", "9" * 5000):
            with self.subTest(text[:10]), self.assertRaises(CanonicalError):
                c.parse(text)

    def test_random_values_are_those_of_javascript(self):
        rng = random.Random(14)
        doubles = [struct.unpack(">d", rng.randbytes(8))[0] for _ in range(20000)]
        doubles = [d for d in doubles if math.isfinite(d)] + [rng.randint(-10**6, 10**6) / 1000 for _ in range(2000)]
        program = "const a=JSON.parse(require('fs').readFileSync(0));console.log(a.map(String).join('\\n'))"
        node = NODE
        if node is None:
            self.skipTest("no node")
        out = subprocess.run([node, "-e", program], input=json.dumps(doubles), capture_output=True, text=True, check=True)
        self.assertEqual([c.number_text(d) for d in doubles], out.stdout.split())


class Identity(unittest.TestCase):
    def test_a_request_has_the_id_of_the_specification(self):
        action = c.action_digest("isolate_host", {"host": "a"})
        place = {"agent_id": "sec-triage-01", "workflow_id": "wf-1", "run_id": "run-1", "step_id": "step-7", "lane_id": "lane-a"}
        first = c.request_id(**place, action_digest=action)
        second = c.request_id(**place, action_digest=action, attempt=2)
        self.assertEqual(first, "e6a19e20-f630-5f7a-91bd-71be0c3eae0d")
        self.assertEqual(second, "7fce3aab-96f4-5117-817f-3579469c578b")

    def test_what_differs_has_another_digest(self):
        digests = {
            c.action_digest("t", {"a": 1}), c.action_digest("t", {"a": "1"}), c.action_digest("u", {"a": 1}),
            c.action_digest("t", {"a": 1}, "r"), c.action_digest("t", {"a": 1}, operands=[{"path": "p", "digest": "d"}]),
        }  # fmt: skip
        self.assertEqual(len(digests), 5)

    def test_a_file_that_an_action_names_is_part_of_its_digest(self):
        here = c.operand(__file__)
        self.assertEqual(here["path"], __file__)
        self.assertEqual(len(here["digest"]), 71)


class Signatures(unittest.TestCase):
    SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    BODY = b'{"test": 2432232314}'
    HEADERS = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }

    def check(self, body=None, now=1614265330, **headers):
        secret = signing.read_secret(self.SECRET)
        return signing.verify(secret, {**self.HEADERS, **headers}, self.BODY if body is None else body, now)

    def test_the_vector_of_the_standard_is_accepted(self):
        self.assertTrue(self.check())
        self.assertTrue(self.check(now=1614265330 + 300))
        self.assertTrue(self.check(**{"webhook-signature": "v1a,x v1,AAAA " + self.HEADERS["webhook-signature"]}))

    def test_what_was_changed_or_is_stale_is_refused(self):
        self.assertFalse(self.check(body=b'{"test": 2432232315}'))
        self.assertFalse(self.check(now=1614265330 + 301))
        self.assertFalse(self.check(now=1614265330 - 301))
        for name, value in (("webhook-id", "msg.x"), ("webhook-timestamp", "١"), ("webhook-timestamp", "1" * 400), ("webhook-signature", "v1,é")):
            with self.subTest(name):
                self.assertFalse(self.check(**{name: value}))
        self.assertFalse(self.check(**{"webhook-signature": ""}))

    def test_a_wrong_secret_is_not_shown(self):
        for text in ("whsec_####", "whsec_QUJD"):
            with self.assertRaises(ValueError) as caught:
                signing.read_secret(text)
            self.assertNotIn(text[6:], str(caught.exception))


NODE = __import__("shutil").which("node")
