# SPDX-License-Identifier: Apache-2.0
"""The mock model server itself: turns, framing, faults, counting.

    bench/mock_model/test_mock_model.py MOCK_MODEL
"""

import http.client
import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ.get("MOCK_MODEL", "")
PATIENCE = 30


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [PROGRAM, "--die-with-parent", *arguments], stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.process.stdout.readline().split()[1])

    def close(self):
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0
        self.process.stdout.close()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def call(self, method, path, body=None, headers=None):
        connection = self.connect()
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data, headers or {})
        reply = connection.getresponse()
        result = reply.status, dict(reply.getheaders()), reply.read()
        connection.close()
        return result

    def stats(self, conversation):
        return json.loads(self.call("GET", f"/c/{conversation}/stats")[2])

    def script(self, conversation, script):
        status, _, text = self.call("PUT", f"/c/{conversation}/script", script)
        assert status == 200, text

    def openai(self, conversation, messages, **more):
        body = {"model": "m", "messages": messages, **more}
        return self.call("POST", f"/c/{conversation}/v1/chat/completions", body)

    def anthropic(self, conversation, messages, **more):
        body = {"model": "m", "max_tokens": 9, "messages": messages, **more}
        headers = {"anthropic-version": "2023-06-01"}
        return self.call("POST", f"/c/{conversation}/v1/messages", body, headers)

    def raw(self, request):
        """Everything that comes back until the connection ends or nothing comes for a while."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as end:
            end.sendall(request)
            received = b""
            while select.select([end], [], [], 0.5)[0]:
                piece = end.recv(65536)
                if not piece:
                    return received, True
                received += piece
            return received, False


def events(text):
    """Server-sent events as (name, data)."""
    found = []
    for block in text.decode().split("\n\n"):
        name, data = None, []
        for line in block.split("\n"):
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data.append(line[6:])
        if data:
            found.append((name, "\n".join(data)))
    return found


def user(text="hello"):
    return {"role": "user", "content": text}


def message(reply):
    return json.loads(reply[2])["choices"][0]["message"]


def answers(said):
    return [
        {"role": "tool", "tool_call_id": call["id"], "content": "ok"}
        for call in said.get("tool_calls", [])
    ]


def said_again(said):
    return {key: said[key] for key in ("role", "content", "tool_calls") if key in said}


def openai_of_stream(text):
    """What the chunks of a stream add up to."""
    content, calls, reason, usage = "", {}, None, None
    pieces = events(text)
    assert pieces[-1][1] == "[DONE]"
    for _, data in pieces[:-1]:
        chunk = json.loads(data)
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            reason = choice["finish_reason"] or reason
            content += choice["delta"].get("content") or ""
            for call in choice["delta"].get("tool_calls", []):
                whole = calls.setdefault(call["index"], {"id": "", "name": "", "arguments": ""})
                whole["id"] += call.get("id", "")
                whole["name"] += call["function"].get("name", "")
                whole["arguments"] += call["function"].get("arguments", "")
    return content, [calls[i] for i in sorted(calls)], reason, usage


def anthropic_of_stream(text):
    blocks, stop = [], None
    for name, data in events(text):
        event = json.loads(data)
        assert name == event["type"], name
        if name == "content_block_start":
            assert event["index"] == len(blocks)
            blocks.append(dict(event["content_block"], partial=""))
        elif name == "content_block_delta":
            delta = event["delta"]
            key = {"text_delta": "text", "thinking_delta": "thinking",
                   "signature_delta": "signature", "input_json_delta": "partial"}[delta["type"]]
            blocks[event["index"]][key] += delta.get("partial_json", delta.get(key, ""))
        elif name == "message_delta":
            stop = event["delta"]["stop_reason"]
    for block in blocks:
        partial = block.pop("partial")
        if block["type"] == "tool_use":
            block["input"] = json.loads(partial)
    return blocks, stop, events(text)[-1][0]


FULL_TURN = {
    "thinking": "Let me see: ä€😀.",
    "text": "I look at täglich €😀 things.",
    "calls": [
        {"name": "read", "arguments": {"path": "a{turn}"}},
        {"name": "write", "arguments": {"path": "b", "text": "é😀" * 9}},
    ],
}


class Case(unittest.TestCase):
    arguments = ()

    def setUp(self):
        self.server = Server(*self.arguments)
        self.addCleanup(self.server.close)


class Loop(Case):
    arguments = ("--iterations", "3")

    def converse(self, keep):
        """Talk until finish_task; `keep` trims the history."""
        history, names = [user()], []
        for _ in range(20):
            said = message(self.server.openai("a", history))
            names.append([call["function"]["name"] for call in said.get("tool_calls", [])])
            history = keep(history + [said_again(said)] + (answers(said) or [user("go on")]))
            if names[-1] == ["finish_task"]:
                return names
        self.fail("it never finishes")

    def test_a_conversation_calls_talks_and_finishes(self):
        names = self.converse(lambda history: history)
        self.assertEqual(names, [["think"], [], ["think"], [], ["think"], ["finish_task"]])
        stats = self.server.stats("a")
        self.assertEqual(stats["completed"], 6)
        self.assertEqual([turn["completed"] for turn in stats["turns"]], [1] * 6)
        self.assertEqual((stats["repeated_turns"], stats["went_back"]), (0, 0))

    def test_a_trimmed_history_continues_at_the_same_turn(self):
        names = self.converse(lambda history: history[:1] + history[1:][-2:])
        self.assertEqual(names[-1], ["finish_task"])
        self.assertEqual(len(names), 6)

    def test_the_same_request_again_is_the_same_turn_and_is_counted(self):
        first = self.server.openai("a", [user()])
        self.assertEqual(self.server.openai("a", [user()])[2], first[2])
        stats = self.server.stats("a")
        self.assertEqual((stats["repeated_bodies"], stats["repeated_turns"]), (1, 1))
        self.assertEqual(stats["turns"][0]["received"], 2)
        self.assertTrue(stats["turns"][0]["same_body"])
        self.assertFalse(self.server.openai("a", [user("other")])[0] != 200)
        self.assertFalse(self.server.stats("a")["turns"][0]["same_body"])

    def test_a_turn_before_the_newest_is_noticed(self):
        said = message(self.server.openai("a", [user()]))
        self.server.openai("a", [user(), said_again(said), *answers(said)])
        self.assertEqual(self.server.stats("a")["went_back"], 0)
        self.server.openai("a", [user()])
        self.assertEqual(self.server.stats("a")["went_back"], 1)

    def test_idempotency_keys_are_compared(self):
        body = {"model": "m", "messages": [user()]}
        for key in ("k1", "k1", "k2"):
            self.server.call("POST", "/c/k/v1/chat/completions", body, {"Idempotency-Key": key})
            self.assertEqual(self.server.stats("k")["turns"][0]["same_key"], key == "k1")

    def test_conversations_and_sums_are_apart(self):
        self.server.openai("a", [user()])
        self.server.openai("b", [user()])
        self.server.openai("b", [user()])
        self.assertEqual(self.server.stats("a")["requests"], 1)
        sums = json.loads(self.server.call("GET", "/stats")[2])
        self.assertEqual((sums["requests"], sums["repeated_turns"]), (3, 1))

    def test_models_in_both_forms(self):
        openai = json.loads(self.server.call("GET", "/v1/models")[2])
        self.assertEqual(openai["object"], "list")
        headers = {"anthropic-version": "2023-06-01"}
        anthropic = json.loads(self.server.call("GET", "/v1/models", None, headers)[2])
        self.assertEqual(anthropic["data"][0]["type"], "model")


class Forms(Case):
    def setUp(self):
        super().setUp()
        self.server.script("s", {"turns": [FULL_TURN], "piece_bytes": 5})

    def test_openai_whole_and_stream_say_the_same(self):
        whole = message(self.server.openai("s", [user()]))
        status, headers, text = self.server.openai(
            "s", [user()], stream=True, stream_options={"include_usage": True}
        )
        content, calls, reason, usage = openai_of_stream(text)
        self.assertEqual(status, 200)
        self.assertTrue(headers["Content-Type"].startswith("text/event-stream"))
        self.assertEqual(content, whole["content"])
        self.assertEqual(
            calls, [dict(call["function"], id=call["id"]) for call in whole["tool_calls"]]
        )
        self.assertEqual(json.loads(calls[0]["arguments"]), {"path": "a1"})
        self.assertEqual(reason, "tool_calls")
        self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])

    def test_anthropic_whole_and_stream_say_the_same(self):
        whole = json.loads(self.server.anthropic("s", [user()])[2])
        blocks, stop, last = anthropic_of_stream(
            self.server.anthropic("s", [user()], stream=True)[2]
        )
        self.assertEqual([block["type"] for block in blocks],
                         ["thinking", "text", "tool_use", "tool_use"])
        self.assertEqual(blocks, whole["content"])
        self.assertEqual((stop, last), ("tool_use", "message_stop"))

    def test_the_chunks_of_http_hold_whole_events(self):
        body = json.dumps({"model": "m", "stream": True, "messages": [user()]}).encode()
        head = b"POST /c/s/v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        received, _ = self.server.raw(head % len(body) + body)
        at = received.index(b"\r\n\r\n") + 4
        while True:
            end = received.index(b"\r\n", at)
            size = int(received[at:end], 16)
            chunk = received[end + 2 : end + 2 + size]
            self.assertEqual(received[end + 2 + size : end + 4 + size], b"\r\n")
            at = end + 4 + size
            if size == 0:
                break
            self.assertTrue(chunk.startswith(b"data: ") and chunk.endswith(b"\n\n"))
        self.assertEqual(at, len(received))

    def test_bodies_may_be_chunked_and_requests_pipelined(self):
        body = json.dumps({"model": "m", "messages": [user()]}).encode()
        head = b"POST /c/s/v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        parts = [body[:7], body[7:]]
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
        received, is_closed = self.server.raw((head + b"\r\n" + chunks) * 2)
        self.assertEqual(received.count(b"HTTP/1.1 200 OK"), 2)
        self.assertFalse(is_closed)

    def test_expectations_are_answered(self):
        head = b"POST /v1/chat/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
        self.assertEqual(self.server.raw(head)[0], b"HTTP/1.1 100 Continue\r\n\r\n")


class Checks(Case):
    def refused(self, reply):
        self.assertEqual(reply[0], 400, reply[2])
        return json.loads(reply[2])["error"]["message"]

    def test_openai_refuses_results_without_calls_and_calls_without_results(self):
        said = message(self.server.openai("c", [user()]))
        lone = {"role": "tool", "tool_call_id": "call_x", "content": "ok"}
        self.refused(self.server.openai("c", [user(), lone]))
        self.refused(self.server.openai("c", [user(), said_again(said)]))
        self.refused(self.server.openai("c", [user(), said_again(said), user()]))
        self.refused(self.server.openai("c", []))
        self.assertEqual(self.server.stats("c")["refused"], 4)

    def test_anthropic_refuses_the_same(self):
        said = json.loads(self.server.anthropic("c", [user()])[2])
        reply = {"role": "assistant", "content": said["content"]}
        result = {"type": "tool_result", "tool_use_id": said["content"][0]["id"], "content": "ok"}
        self.assertEqual(
            self.server.anthropic("c", [user(), reply, {"role": "user", "content": [result]}])[0],
            200,
        )
        self.refused(self.server.anthropic("c", [user(), reply, user()]))
        self.refused(self.server.anthropic("c", [user(), reply]))
        self.refused(self.server.anthropic("c", [user(), {"role": "user", "content": [result]}]))
        self.refused(self.server.anthropic("c", [reply]))
        body = {"model": "m", "messages": [user()]}
        self.refused(self.server.call("POST", "/c/c/v1/messages", body))

    def test_changed_thinking_is_refused(self):
        self.server.script("t", {"turns": [{"thinking": "Hm.", "text": "Well."}]})
        said = json.loads(self.server.anthropic("t", [user()])[2])["content"]
        kept = {"role": "assistant", "content": said}
        self.assertEqual(self.server.anthropic("t", [user(), kept, user()])[0], 200)
        said[0]["thinking"] = "Ha."
        self.refused(self.server.anthropic("t", [user(), kept, user()]))

    def test_reasoning_models_take_no_temperature(self):
        for setting in ({"temperature": 0.1}, {"max_tokens": 5}):
            body = {"model": "o3-mini", "messages": [user()], **setting}
            self.refused(self.server.call("POST", "/v1/chat/completions", body))

    def test_what_is_no_json_is_refused(self):
        self.refused(self.server.call("POST", "/v1/chat/completions", b'{"model": '))


class Faults(Case):
    def fault(self, fault, **more):
        self.server.script("f", {"turns": [{"text": "a word or two", "faults": [fault]}], **more})

    def raw(self, is_streaming=False):
        body = json.dumps({"model": "m", "stream": is_streaming, "messages": [user()]}).encode()
        head = b"POST /c/f/v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)
        return self.server.raw(head + body)

    def test_a_status_comes_once_and_then_the_answer(self):
        self.fault({"status": 429, "retry_after": 2})
        status, headers, text = self.server.openai("f", [user()])
        self.assertEqual((status, headers["Retry-After"]), (429, "2"))
        self.assertIn("error", json.loads(text))
        self.assertEqual(message(self.server.openai("f", [user()]))["content"], "a word or two")
        stats = self.server.stats("f")
        self.assertEqual((stats["faults"], stats["completed"], stats["repeated_turns"]), (1, 1, 0))

    def test_a_fault_may_come_again_and_again(self):
        self.fault({"status": 529, "times": 0})
        for _ in range(4):
            self.assertEqual(self.server.anthropic("f", [user()])[0], 529)

    def test_a_loop_has_faults_by_turn(self):
        self.server.script("f", {"loop": {"iterations": 2}, "faults": {"2": [{"status": 500}]}})
        said = message(self.server.openai("f", [user()]))
        then = [user(), said_again(said), *answers(said)]
        self.assertEqual([self.server.openai("f", then)[0] for _ in range(2)], [500, 200])

    def test_cut_and_stalled_replies(self):
        self.fault({"kind": "cut"})
        received, is_closed = self.raw(True)
        self.assertTrue(is_closed)
        self.assertNotIn(b"[DONE]", received)
        self.assertIn(b"data: ", received)
        self.fault({"kind": "stall", "after_bytes": 3, "times": 0})
        received, is_closed = self.raw()
        self.assertFalse(is_closed)
        self.assertEqual(len(received.split(b"\r\n\r\n")[1]), 3)
        self.fault({"kind": "stall_headers", "times": 0})
        self.assertEqual(self.raw(), (b"", False))
        self.fault({"kind": "stall_headers", "delay_ms": 20, "times": 0})
        self.assertEqual(self.raw(), (b"", True))
        self.fault({"kind": "close", "times": 0})
        self.assertEqual(self.raw(), (b"", True))
        self.assertEqual(self.server.stats("f")["completed"], 0)

    def test_malformed_replies(self):
        self.fault({"kind": "malformed", "times": 0})
        status, _, text = self.server.openai("f", [user()])
        self.assertEqual(status, 200)
        with self.assertRaises(ValueError):
            json.loads(text)
        text = self.server.openai("f", [user()], stream=True)[2]
        with self.assertRaises(ValueError):
            openai_of_stream(text)
        self.assertIn(b"[DONE]", text)

    def test_a_huge_reply_is_as_long_as_it_says(self):
        self.fault({"kind": "huge", "bytes": 3000000, "times": 0})
        self.assertEqual(message(self.server.openai("f", [user()]))["content"], "a" * 3000000)
        content = openai_of_stream(self.server.openai("f", [user()], stream=True)[2])[0]
        self.assertEqual(len(content), 3000000)
        blocks = anthropic_of_stream(self.server.anthropic("f", [user()], stream=True)[2])[0]
        self.assertEqual(len(blocks[0]["text"]), 3000000)

    def test_slow_replies_are_whole_in_the_end(self):
        self.fault({"kind": "drip", "bytes": 40, "delay_ms": 1})
        self.assertEqual(message(self.server.openai("f", [user()]))["content"], "a word or two")
        self.assertEqual(self.server.stats("f")["completed"], 1)

    def test_empty_replies_and_pages(self):
        self.fault({"kind": "empty", "times": 0})
        self.assertEqual(self.server.openai("f", [user()])[2], b"")
        self.assertEqual(self.server.openai("f", [user()], stream=True)[2], b"")
        self.fault({"kind": "content_type"})
        status, headers, text = self.server.openai("f", [user()])
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html"))
        self.assertIn(b"<html>", text)

    def test_duplicated_events_and_errors_in_a_stream(self):
        self.fault({"kind": "duplicate"})
        twice = events(self.server.openai("f", [user()], stream=True)[2])
        self.assertEqual(twice[0::2], twice[1::2])
        self.fault({"kind": "stream_error", "times": 0})
        last = events(self.server.anthropic("f", [user()], stream=True)[2])[-1]
        self.assertEqual(last[0], "error")
        self.assertIn("error", json.loads(last[1]))

    def test_arguments_may_be_no_json(self):
        self.server.script("f", {"turns": [{"calls": [{"name": "no_tool", "arguments": '{"a":'}]}]})
        call = message(self.server.openai("f", [user()]))["tool_calls"][0]["function"]
        self.assertEqual(call, {"name": "no_tool", "arguments": '{"a":'})

    def test_turns_by_count_need_no_marks(self):
        turns = [{"text": "one"}, {"text": "two"}]
        self.server.script("n", {"turns": turns, "turns_by": "count", "after": "error"})
        said = [self.server.openai("n", [user(str(i))]) for i in (1, 1, 2, 3)]
        self.assertEqual([message(reply)["content"] for reply in said[:3]], ["one", "one", "two"])
        self.assertEqual(said[3][0], 500)

    def test_a_client_that_does_not_wait_is_counted(self):
        self.fault({"kind": "stall", "times": 0})
        self.raw()
        for _ in range(1000):
            if self.server.stats("f")["requests"] == 1:
                break
        self.assertEqual(self.server.stats("f")["completed"], 0)

    def test_a_wrong_script_is_refused(self):
        for script in (b"[]", b"{", {"turns": [{"faults": [{"kind": "none such"}]}]}):
            self.assertEqual(self.server.call("PUT", "/c/w/script", script)[0], 400)


class Options(unittest.TestCase):
    def serve(self, *arguments):
        server = Server(*arguments)
        self.addCleanup(server.close)
        return server

    def test_a_key_is_asked_for(self):
        server = self.serve("--key", "secret")
        body = {"model": "m", "messages": [user()]}
        path = "/v1/chat/completions"
        self.assertEqual(server.call("POST", path, body)[0], 401)
        wrong = {"Authorization": "Bearer secrets"}
        self.assertEqual(server.call("POST", path, body, wrong)[0], 401)
        right = {"Authorization": "Bearer secret"}
        self.assertEqual(server.call("POST", path, body, right)[0], 200)

    def test_bodies_are_kept_and_the_port_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            port_file = pathlib.Path(folder, "port")
            server = self.serve("--keep-bodies", folder, "--port-file", str(port_file))
            self.assertEqual(int(port_file.read_text()), server.port)
            server.openai("k", [user("kept")])
            body = json.loads(pathlib.Path(folder, "k-0001.json").read_text())
            self.assertEqual(body["messages"][0]["content"], "kept")
            self.assertIn("POST /c/k/v1/chat", pathlib.Path(folder, "k-0001.headers").read_text())

    def test_fast_servers_find_the_same_turns(self):
        server = self.serve("--fast", "--iterations", "2")
        history, turns = [user()], []
        for _ in range(4):
            body = json.dumps({"model": "m", "messages": history}, separators=(",", ":")).encode()
            said = message(server.call("POST", "/c/q/v1/chat/completions", body))
            turns.append("tool_calls" in said)
            history += [said_again(said)] + (answers(said) or [user("go on")])
        self.assertEqual(turns, [True, False, True, True])
        self.assertEqual(server.stats("q")["completed"], 4)

    def test_a_thousand_connections_at_once(self):
        server = self.serve("--delay-ms", "50", "--fast")
        body = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
        request = (b"POST /c/%d/v1/chat/completions HTTP/1.1\r\nConnection: close\r\n"
                   b"Content-Length: %d\r\n\r\n%s")
        ends = []
        for i in range(900):
            ends.append(socket.create_connection(("127.0.0.1", server.port), PATIENCE))
        for i, end in enumerate(ends):
            end.sendall(request % (i, len(body), body))
        for end in ends:
            with end, end.makefile("rb") as reply:
                self.assertTrue(reply.read().startswith(b"HTTP/1.1 200 OK"))
        sums = json.loads(server.call("GET", "/stats")[2])
        self.assertEqual((sums["conversations"], sums["completed"]), (900, 900))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
