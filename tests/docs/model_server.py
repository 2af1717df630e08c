# SPDX-License-Identifier: Apache-2.0
"""A model server for the pages: says the turns of a list, as OpenAI's Chat Completions does.

A turn has members of a script (docs/models.md): `text`, `tool_calls`, `usage`, `delay_ms`. Each
request gets the next one, whole or as a stream; when there is none left the answer is status 500.
"""

import http.server
import json
import threading
import time


def message_of(turn, number):
    calls = [
        {
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call.get("arguments", {}))},
        }
        for index, call in enumerate(turn.get("tool_calls", []))
    ]
    message = {"role": "assistant", "content": turn.get("text")}
    return {**message, "tool_calls": calls} if calls else message


def usage_of(turn):
    usage = turn.get("usage", {})
    read, written = usage.get("input", 0), usage.get("output", 0)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turn, number = self.server.next_turn()
        if turn is None:
            self.answer(500, "application/json", b'{"error": {"message": "no turn is left"}}')
            return
        time.sleep(turn.get("delay_ms", 0) / 1000)
        message = message_of(turn, number)
        reason = "tool_calls" if "tool_calls" in message else "stop"
        head = {"id": f"reply_{number}", "created": 0, "model": request["model"]}
        if request.get("stream"):
            self.stream(head, message, reason, usage_of(turn))
        else:
            choice = {"index": 0, "message": message, "finish_reason": reason}
            body = {**head, "object": "chat.completion", "choices": [choice]}
            body["usage"] = usage_of(turn)
            self.answer(200, "application/json", json.dumps(body).encode())

    def stream(self, head, message, reason, usage):
        for index, call in enumerate(message.get("tool_calls", [])):
            call["index"] = index
        head["object"] = "chat.completion.chunk"
        chunks = [
            {**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {**head, "choices": [], "usage": usage},
        ]
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        self.answer(200, "text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode())

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class ModelServer(http.server.ThreadingHTTPServer):
    """Listens on a free port of the loopback, on a thread of its own."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.say([])
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def say(self, turns):
        """The turns of the requests from now on."""
        with self.lock:
            self.turns, self.count = list(turns), 0

    def next_turn(self):
        with self.lock:
            self.count += 1
            has_one = self.count <= len(self.turns)
            return (self.turns[self.count - 1] if has_one else None), self.count

    def handle_error(self, *_):
        pass  # A client that was killed is part of some pages.
