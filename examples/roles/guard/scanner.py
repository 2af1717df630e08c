#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An MCP server with one tool: `scan` looks for passwords in the *.conf files of a folder.

It speaks JSON-RPC over its standard input and output, one message a line. Its result has an exit
code: 0 when nothing was found.
"""

import json
import os
import pathlib
import re
import sys

FOUND = re.compile(r"^\s*password\s*=\s*(?!\$\{)\S+", re.I)
TOOL = {
    "name": "scan",
    "description": "Look for passwords in the configuration files of the project.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},
}


def scan():
    """Findings as "file:line: what", one each."""
    folder = pathlib.Path(os.environ["SCAN_FOLDER"])
    findings = []
    for path in sorted(folder.glob("*.conf")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if FOUND.match(line):
                findings.append(f"{path.name}:{number}: password in plain text")
    return findings


def call_scan():
    findings = scan()
    text = "\n".join(findings) or "nothing found"
    result = {"exit_code": 1 if findings else 0, "findings": findings}
    return {"content": [{"type": "text", "text": text}], "structuredContent": result}


def answer(request):
    """The result of a request, or None when there is no such method."""
    method = request.get("method")
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        about = {"name": "conf-scanner", "version": "1.0"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call" and request["params"]["name"] == "scan":
        return call_scan()
    return {} if method == "ping" else None


def main():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue  # a notification
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        result = answer(request)
        if result is None:
            reply["error"] = {"code": -32601, "message": "there is no such method"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
