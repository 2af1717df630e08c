#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the rows of coding agents against the real command lines, pinned in package-lock.json.

    tests/coding/run.py [--build FOLDER] [NAME...]

Each agent is run by `rondo loop --agent`, offline, with the stand-in of standin.py for its model: a message, a call
that writes a file, refusals, silence, garbage. The class of each session must be the right one, no session may last
longer than its deadline, and no process may be left. NAME is of an agent. One line of TAP for each case; without
npm, or for an agent whose package does not run here, cases are skipped with the reason.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parents[1] / "tools"), str(FOLDER)]
from standin import SAID, StandIn
from testlib import npm

# opencode is its package for this platform: the one with its name is a script that unpacks it.
PROGRAMS = ":".join(str(FOLDER / "node_modules" / name) for name in (".bin", "opencode-linux-x64/bin"))
# What a session comes to. Garbage is a failure of any kind, since each client says something else of it.
EXPECTED = {
    "ok": {"ok"},
    "tool": {"ok"},
    "401": {"auth"},
    "429": {"api_transient"},
    "500": {"api_transient"},
    "hang": {"timeout"},
    "garbage": {"failed", "api_transient", "crash"},
}
# Some repeat what may pass for longer than anybody waits here: then the deadline of silence ends them.
ALSO = {(name, mode): "timeout" for name in ("opencode", "gemini") for mode in ("429", "500")} | {("opencode", "garbage"): "timeout"}
# Far longer than any case takes; a case that comes near it hangs.
PATIENCE_S = 300


def setup_claude(_home, address):
    return {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": address}


def with_few_retries(mode):
    """Claude repeats what may pass for minutes; a refused key Rondo itself must notice."""
    return {"CLAUDE_CODE_MAX_RETRIES": "1"} if mode != "401" else {}


def setup_gemini(home, address):
    folder = home / ".gemini"
    folder.mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"maxAttempts": 1, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    return {"GEMINI_API_KEY": "key", "GOOGLE_GEMINI_BASE_URL": address}


def setup_opencode(home, address):
    folder = home / ".config/opencode"
    folder.mkdir(parents=True)
    model = {"name": "stand-in", "limit": {"context": 100000, "output": 4096}}
    provider = {
        "npm": "@ai-sdk/anthropic",
        "options": {"baseURL": f"{address}/v1", "apiKey": "key"},
        "models": {"stand-in": model},
    }
    settings = {
        "model": "standin/stand-in",
        "small_model": "standin/stand-in",
        "provider": {"standin": provider},
        "autoupdate": False,
        "share": "disabled",
    }
    (folder / "opencode.json").write_text(json.dumps(settings))
    return {"OPENCODE_DISABLE_MODELS_FETCH": "true", "OPENCODE_DISABLE_LSP_DOWNLOAD": "true"}


def setup_codex(home, address):
    folder = home / ".codex"
    folder.mkdir()
    lines = [
        'model = "stand-in"',
        'model_provider = "standin"',
        "[model_providers.standin]",
        'name = "standin"',
        f'base_url = "{address}/v1"',
        'env_key = "OPENAI_API_KEY"',
        'wire_api = "responses"',
        "request_max_retries = 0",
        "stream_max_retries = 0",
    ]
    (folder / "config.toml").write_text("\n".join(lines) + "\n")
    return {"OPENAI_API_KEY": "key"}


def setup_pi(home, address):
    folder = home / ".pi/agent"
    folder.mkdir(parents=True)
    model = {"id": "stand-in", "name": "stand-in", "contextWindow": 100000, "maxTokens": 4096}
    provider = {"baseUrl": address, "api": "anthropic-messages", "apiKey": "key", "models": [model]}
    (folder / "models.json").write_text(json.dumps({"providers": {"standin": provider}}))
    retry = {"enabled": True, "maxRetries": 1, "baseDelayMs": 100}
    settings = {"defaultProvider": "standin", "defaultModel": "stand-in", "retry": retry}
    (folder / "settings.json").write_text(json.dumps(settings))
    return {}


AGENTS = {
    "claude": setup_claude,
    "codex": setup_codex,
    "gemini": setup_gemini,
    "opencode": setup_opencode,
    "pi": setup_pi,
}


class Failed(Exception):
    pass


def check(is_true, what):
    if not is_true:
        raise Failed(what)


def left_running(mark):
    """Processes that have the mark of a case in their environment."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:100])
        except OSError:
            continue
    return found


def wait_until_none(mark):
    limit = time.monotonic() + 30
    while (found := left_running(mark)) and time.monotonic() < limit:
        time.sleep(0.05)
    return found


def environment(place, agent, address, mark):
    home = place / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("LANG", "TZ") if name in os.environ}
    own = {"HOME": str(home), "PATH": f"{PROGRAMS}:{npm.NODE.parent}:/usr/bin:/bin", "RONDO_TEST_MARK": mark}
    return kept | own | AGENTS[agent](home, address)


def last_session(rondo, variables, store):
    """The event in which the last session of the only run ended."""
    listed = subprocess.run(
        [rondo, "runs", "--store", store, "--json"], env=variables, capture_output=True, text=True, check=True
    )
    run = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", listed.stdout).group()
    logs = subprocess.run(
        [rondo, "logs", run, "--store", store, "--json"], env=variables, capture_output=True, text=True, check=True
    )
    events = [json.loads(line) for line in logs.stdout.splitlines() if line.strip()]
    ended = [event for event in events if event.get("type") == "worker.finished"]
    check(ended, f"no session ended: {logs.stdout[-600:]}")
    return ended[-1].get("data", ended[-1])


def judge(agent, mode, result, ended, place):
    outcome = ended.get("outcome")
    words = f"{outcome}: {ended.get('message')}; {result.stderr[-600:]}"
    check(outcome in EXPECTED[mode] | {ALSO.get((agent, mode))}, f"{mode} came to {words}")
    if mode in ("ok", "tool"):
        check(result.returncode == 0, f"exit code {result.returncode}: {words}")
        check(SAID in result.stdout + result.stderr, f"the answer is missing: {words}")
        check(ended.get("tokens_in", 0) >= 100, f"no usage: {ended}")
        check(ended.get("session"), f"no session: {ended}")
    else:
        check(result.returncode != 0, f"exit code 0: {words}")
    if mode == "tool":
        check((place / "work/made.txt").read_text() == "written\n", "the file was not written")


def case(build, agent, mode, sandbox):
    mark = f"rondo-coding-{uuid.uuid4()}"
    # In the build folder, because codex refuses a home in a folder for temporary files.
    with tempfile.TemporaryDirectory(prefix="coding-", dir=build) as folder:
        rondo = str(build / "src/cli/rondo")
        place = pathlib.Path(folder)
        (place / "work").mkdir()
        server = StandIn(mode, place / "work/made.txt")
        variables = environment(place, agent, server.address, mark)
        variables |= with_few_retries(mode) if agent == "claude" else {}
        store = str(place / "store.db")
        command = [rondo, "loop", "--agent", agent, "-p", "Say something.", "--store", store, "--sandbox", sandbox]
        command += ["--max-failures", "1", "--silence-timeout", "10s" if mode == "hang" else "60s"]
        # opencode is silent until its model answers.
        command += ["--first-output-timeout", "100s"] if mode in ("hang", "garbage") else []
        try:
            result = subprocess.run(
                command, cwd=place / "work", env=variables, capture_output=True, text=True, timeout=PATIENCE_S, check=False
            )
            left = wait_until_none(mark)
            check(not left, f"still running: {left}")
            check(server.asked > 0, f"the stand-in was not asked: {result.stdout[-300:]} {result.stderr[-900:]}")
            judge(agent, mode, result, last_session(rondo, variables, store), place)
        finally:
            server.close()


def unpack_claude():
    """Scripts of packages are not run when they are installed; this one puts the program in its place.
    @return None or why not"""
    package = FOLDER / "node_modules/@anthropic-ai/claude-code"
    done = subprocess.run([str(npm.NODE), "install.cjs"], cwd=package, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"claude cannot be unpacked: {done.stderr.strip()[-200:]}"


def why_not(agent):
    """Why an agent cannot be run here; None = it can."""
    program = shutil.which(agent, path=PROGRAMS)
    if program is None:
        return "its package is not installed"
    path = f"{npm.NODE.parent}:/usr/bin:/bin"
    words = [program, "--version"]
    asked = subprocess.run(words, env={"PATH": path, "HOME": os.environ.get("TMPDIR", "/tmp")}, capture_output=True, text=True, check=False)
    return None if asked.returncode == 0 else f"it does not start: {asked.stderr.strip()[-200:]}"


def cases(names):
    for agent in names:
        for mode in EXPECTED:
            yield agent, mode, "none"
        yield agent, "tool", "namespace"


def main():
    parser = npm.options(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="agents; all without one")
    arguments = parser.parse_args()
    reason = npm.install(npm.NODE_FOLDER) or npm.install(FOLDER) or unpack_claude()
    if reason is not None:
        return npm.skip("coding agents", reason)
    build = pathlib.Path(arguments.build).resolve()
    names = arguments.names or list(AGENTS)
    absent = {name: why for name in names if (why := why_not(name))}
    counts = [0, 0]
    for number, (agent, mode, sandbox) in enumerate(cases(names), 1):
        name = f"{number} - {agent}: {mode}" + (f" in {sandbox}" if sandbox != "none" else "")
        if agent in absent:
            print(f"ok {name} # SKIP {absent[agent]}", flush=True)
            continue
        try:
            case(build, agent, mode, sandbox)
            print(f"ok {name}", flush=True)
            counts[0] += 1
        except (Failed, subprocess.TimeoutExpired, subprocess.CalledProcessError, OSError) as failure:
            counts[1] += 1
            print(f"not ok {name}\n  {failure}", flush=True)
    print(f"{counts[0]} passed, {counts[1]} failed")
    return int(counts[1] > 0)


if __name__ == "__main__":
    sys.exit(main())
