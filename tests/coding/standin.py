# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the services of models, as far as coding agents use them: the messages of Anthropic, the
responses of OpenAI and the contents of Google, as streams. What it answers depends on its mode alone:

    ok       a message
    tool     a call that writes a file, and after its result a message
    401, 429, 500    that status with the service's own error
    hang     nothing, until the client leaves
    garbage  status 200 with a page that is neither JSON nor a stream
"""

import http.server
import json
import threading

SAID = "The stand-in has answered."
# The words that Google's errors have for a status.
GOOGLE = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}
ERRORS = {
    401: ("authentication_error", "invalid_api_key", "invalid x-api-key"),
    429: ("rate_limit_error", "rate_limit_exceeded", "Too many requests"),
    500: ("api_error", "server_error", "Internal server error"),
}


def event(data):
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"


def message_stream(blocks, reason):
    """Events of Anthropic's messages."""
    usage = {"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-stand-in", "content": []}
    yield event({"type": "message_start", "message": message | {"stop_reason": None, "usage": usage}})
    for index, (block, delta) in enumerate(blocks):
        yield event({"type": "content_block_start", "index": index, "content_block": block})
        yield event({"type": "content_block_delta", "index": index, "delta": delta})
        yield event({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": reason, "stop_sequence": None}
    yield event({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 20}})
    yield event({"type": "message_stop"})


def anthropic(body, mode, file):
    is_answered = "tool_result" in json.dumps(body.get("messages", []))
    tools = [tool.get("name") for tool in body.get("tools", [])]
    name = "Write" if "Write" in tools else "write"  # of claude; of pi and opencode
    schema = json.dumps([tool for tool in body.get("tools", []) if tool.get("name") == name])
    place = next((key for key in ("file_path", "filePath") if key in schema), "path")
    if mode == "tool" and not is_answered and name in tools:
        block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
        words = json.dumps({place: file, "content": "written\n"})
        return message_stream([(block, {"type": "input_json_delta", "partial_json": words})], "tool_use")
    block = {"type": "text", "text": ""}
    return message_stream([(block, {"type": "text_delta", "text": SAID})], "end_turn")


def response_stream(item):
    """Events of OpenAI's responses."""
    yield event({"type": "response.created", "response": {"id": "resp_1"}})
    yield event({"type": "response.output_item.done", "output_index": 0, "item": item})
    usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    yield event({"type": "response.completed", "response": {"id": "resp_1", "usage": usage}})


def responses(body, mode, file):
    is_answered = any(item.get("type") == "function_call_output" for item in body.get("input", []))
    if mode == "tool" and not is_answered:
        words = json.dumps({"cmd": f"echo written > '{file}'"})
        call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "exec_command", "arguments": words}
        return response_stream(call)
    content = [{"type": "output_text", "text": SAID, "annotations": []}]
    return response_stream({"type": "message", "id": "msg_1", "role": "assistant", "content": content})


def part_stream(part, reason):
    """A chunk of Google's contents, which ends with the stream."""
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": reason, "index": 0}
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    yield f"data: {json.dumps({'candidates': [candidate], 'usageMetadata': usage, 'modelVersion': 'stand-in'})}\n\n"


def contents(body, mode, file):
    is_answered = "functionResponse" in json.dumps(body.get("contents", []))
    declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
    if mode == "tool" and not is_answered and any(one.get("name") == "write_file" for one in declared):
        call = {"name": "write_file", "args": {"file_path": file, "content": "written\n"}}
        return part_stream({"functionCall": call}, "STOP")
    return part_stream({"text": SAID}, "STOP")


def google_error(status):
    """What Google's services answer instead, with the reason of a refused key."""
    error = {"code": status, "message": ERRORS[status][2], "status": GOOGLE[status]}
    if status == 401:
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
        error["details"] = [info | {"domain": "googleapis.com", "metadata": {}}]
    return {"error": error}


def reader_of(path):
    return contents if "Generate" in path or "generate" in path else anthropic if "/messages" in path else responses


class StandIn:
    """Answers at `address` until it is closed."""

    def __init__(self, mode, file):
        self.mode, self.file, self.asked = mode, str(file), 0
        self.closed = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers.get("Content-Length") or 0)
                outer.answer(self, json.loads(self.rfile.read(length) or b"{}"))

            def do_GET(self):
                self.send_response(404)
                self.end_headers()

            do_HEAD = do_GET

            def log_message(self, *_words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_words):
                pass  # Clients that are killed leave in the middle.

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, request, body):
        self.asked += 1
        if self.mode == "hang":
            self.closed.wait()
        elif self.mode == "garbage":
            self.send(request, 200, "text/html", "<html><body>A proxy says hello.\x00\x1b[2J</body></html>")
        elif self.mode.isdigit():
            self.refuse(request, int(self.mode))
        else:
            reader = reader_of(request.path)
            self.send(request, 200, "text/event-stream", "".join(reader(body, self.mode, self.file)))

    def refuse(self, request, status):
        kind, code, message = ERRORS[status]
        error = {"type": "error", "error": {"type": kind, "code": code, "message": message}}
        error = google_error(status) if reader_of(request.path) is contents else error
        self.send(request, status, "application/json", json.dumps(error))

    @staticmethod
    def send(request, status, kind, text):
        data = text.encode()
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def close(self):
        self.closed.set()
        self.server.shutdown()
        self.server.server_close()
