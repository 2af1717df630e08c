#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the MCP client against real peers from npm, pinned in package-lock.json.

    tests/mcp/run.py [--build FOLDER]

The official conformance suite drives tests/mcp/client.c (every scenario for clients but those of
OAuth), and `rondo tools` talks to two public servers over both transports. Each case is a TAP line;
the last line is `N passed, N failed`. Without npm all of it is skipped, with a message.
"""

import contextlib
import json
import os
import pathlib
import random
import select
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from testlib import npm

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
MODULES = FOLDER / "node_modules"
NODE = str(npm.NODE)
STABLE = str(MODULES / "@modelcontextprotocol/conformance/dist/index.js")
NEXT = str(MODULES / "conformance-next/dist/index.js")
EVERYTHING = str(MODULES / "@modelcontextprotocol/server-everything/dist/index.js")
FILESYSTEM = str(MODULES / "@modelcontextprotocol/server-filesystem/dist/index.js")
DEADLINE_S = 120

OLD = ["tools_call", "initialize"]
CURRENT = OLD + [
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "json-schema-2020-12-preservation",
]
MODERN = [
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
]
# Suite, its path, scenarios, and the version of the protocol that it is asked to speak.
CONFORMANCE = [
    ("0.1.16", STABLE, CURRENT[:4], None),
    ("0.2.0", NEXT, OLD, "2025-06-18"),
    ("0.2.0", NEXT, CURRENT, "2025-11-25"),
    ("0.2.0", NEXT, MODERN, "2026-07-28"),
]


def free_port():
    """A port below those that the system gives to whoever asks for any: nobody has it when the server starts."""
    while True:
        with socket.socket() as probe:
            port = random.randrange(20000, 32000)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def take(self, name, is_good, text=""):
        number = self.passed + self.failed + 1
        print(f"{'ok' if is_good else 'not ok'} {number} - {name}", flush=True)
        if is_good:
            self.passed += 1
        else:
            self.failed += 1
            print("\n".join("    " + line for line in text.splitlines()[-30:]), flush=True)


def run(command, **options):
    try:
        return subprocess.run(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=DEADLINE_S, check=False, **options
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        return subprocess.CompletedProcess(command, 124, f"{error}\n{error.stdout}")


def conformance(report, client):
    for suite, path, scenarios, version in CONFORMANCE:
        for scenario in scenarios:
            with tempfile.TemporaryDirectory() as out:
                command = [NODE, path, "client", "--command", client, "--scenario", scenario]
                command += ["-o", out] + (["--spec-version", version] if version else [])
                result = run(command)
            name = f"conformance {suite}: {scenario}" + (f" ({version})" if version else "")
            report.take(name, "OVERALL: PASSED" in result.stdout, result.stdout)


class HttpServer:
    """server-everything on a port of its own; up when the port answers."""

    def __enter__(self):
        self.port = free_port()
        self.process = subprocess.Popen(
            [NODE, EVERYTHING, "streamableHttp"], env=dict(os.environ, PORT=str(self.port)),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline and self.process.poll() is None:
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", self.port)) == 0:
                    return f"http://127.0.0.1:{self.port}/mcp"
            select.select([], [], [], 0.05)
        raise RuntimeError("server-everything did not start")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()


def everything(report, rondo, where, selector, words):
    """The same questions over either transport."""

    def tools(*arguments):
        return run([rondo, "tools", *arguments[:1], *selector, *arguments[1:], *words])

    name = f"server-everything over {where}: "
    listed = tools("list", "--json")
    names = [json.loads(line)["name"] for line in listed.stdout.splitlines() if line[:1] == "{"]
    report.take(name + "lists its tools", {"echo", "get-sum"} <= set(names), listed.stdout)
    cases = [
        ("echoes", 0, "Echo: gr\u00fc\u00df", "echo", '{"message":"gr\u00fc\u00df"}'),
        ("adds", 0, "The sum of 2 and 3 is 5.", "get-sum", '{"a":2,"b":3}'),
        ("describes an image", 0, "[image: image/png,", "get-tiny-image", "{}"),
        ("refuses wrong arguments", 2, "do not fit", "get-sum", '{"a":"x"}'),
    ]
    for what, code, text, tool, arguments in cases:
        if tool in names:
            result = tools("call", tool, arguments)
            is_good = result.returncode == code and text in result.stdout
            report.take(name + what, is_good, result.stdout)


def filesystem(report, rondo):
    # The server runs in a sandbox, which shows it the workspace: the working folder.
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        folder = os.path.realpath(folder)
        pathlib.Path(folder, "a.txt").write_text("hello\n")

        def read(path):
            arguments = json.dumps({"path": path})
            call = [rondo, "tools", "call", "read_text_file", arguments]
            return run([*call, "--", NODE, FILESYSTEM, folder], cwd=ROOT)

        good = read(f"{folder}/a.txt")
        report.take("server-filesystem: reads a file", good.stdout == "hello\n", good.stdout)
        bad = read("/etc/hostname")
        is_good = bad.returncode == 1 and bad.stdout.startswith("Error: ")
        report.take("server-filesystem: a refusal is exit code 1", is_good, bad.stdout)


def main():
    build = (ROOT / npm.options(__doc__).parse_args().build).resolve()
    reason = npm.install(npm.NODE_FOLDER) or npm.install(FOLDER)
    if reason is not None:
        return npm.skip("real peers", reason)
    report = Report()
    rondo = str(build / "src/cli/rondo")
    conformance(report, str(build / "tests/mcp/mcp_client"))
    everything(report, rondo, "stdio", [], ["--", NODE, EVERYTHING, "stdio"])
    with HttpServer() as url:
        everything(report, rondo, "HTTP", ["--url", url], [])
    filesystem(report, rondo)
    print(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
