#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the code blocks of the README and of docs/, and prints one TAP line for each.

    tests/docs/check-readme.py --build FOLDER [PAGE...]

A page gets a scratch folder of its own; its blocks run there one after the other, so a later block
finds what an earlier one has made. By the language of the block:

    sh        a script, run with `sh -eu`. `sh exit=5` expects that exit code.
    console   lines with a `$ ` are commands; the others must be their output, in that order. `…`
              stands for any text, also for any number of lines when it is alone on its line.
    json      must be JSON. `json file=PATH` is written there first, for the blocks behind it.
    jsonl     the same with one JSON text a line
    yaml      a role file, or a part of one that begins with `spec:`. It must be valid, without
              warnings. `yaml file=PATH` is written there; `yaml file=PATH plain` is no role file.
    cedar     policies without an error or warning of `rondo policy check --strict`. With `file=PATH`
              they are written there and checked with what lies beside them. Without it they are a
              part of a file, whose rest permits everything.
    make      one make command a line: the target must exist (they are too long to run here)
    python    must compile; sdk/python can be imported. `python file=PATH` is written there.
    js, ts    `js file=PATH` is written there; otherwise not checked, as types and code are in tests/sdk
    text      is not checked. `text file=PATH` is written there.

An HTML comment `<!-- before: SCRIPT -->` runs SCRIPT first, `<!-- after: SCRIPT -->` at the end of the
page, whatever has failed. `<!-- model: TURNS -->`, one JSON object a line, is what a model of OpenAI's says
to the next requests (model_server.py). Other languages, and
indented blocks, are an error. What is not for the shell in docs/library.md has a test of its own.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import model_server

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 120
TOKEN = re.compile(
    r"^<!-- before:\s(?P<before>.*?)-->$|^<!-- after:\s(?P<after>.*?)-->$"
    r"|^<!-- model:\s(?P<model>.*?)-->$"
    r"|^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$",
    re.M | re.S,
)


class Failure(Exception):
    pass


def shell(script, folder, environment, expected=0):
    result = subprocess.run(
        ["sh", "-euc", script], cwd=folder, env=environment, timeout=SECONDS, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if expected is not None and result.returncode != expected:
        raise Failure(f"exit code {result.returncode}, not {expected}:\n{script}{result.stdout}")
    return result.stdout


def line_pattern(line):
    return ".*".join(re.escape(part) for part in re.sub(r" +", " ", line.strip()).split("…"))


def output_pattern(lines):
    parts = []
    for line in lines:
        parts.append(r"(?:[^\n]*\n)*?" if line.strip() == "…" else line_pattern(line) + r"\n")
    return "".join(parts)


def check_console(text, folder, environment):
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
        shown = shell(command, folder, environment, expected=None)
        plain = "".join(re.sub(r" +", " ", line.strip()) + "\n" for line in shown.splitlines())
        if not re.fullmatch(output_pattern(output.splitlines()), plain):
            raise Failure(f"{command}\nprints\n{shown}\nnot\n{output}")


def check_sh(text, options, folder, environment):
    match = re.search(r"exit=(\d+)", options)
    shell(text, folder, environment, int(match.group(1)) if match else 0)


def write_block(options, text, folder):
    """Write a block where its `file=` says. Returns the path, or None."""
    match = re.search(r"file=(\S+)", options)
    if match is None:
        return None
    path = folder / match.group(1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def check_cedar(text, options, folder, environment):
    path = write_block(options, text, folder)
    with tempfile.TemporaryDirectory() as scratch:
        if path is None:
            path = pathlib.Path(scratch, "part.cedar")
            path.write_text(f"permit (principal, action, resource);\n{text}")
        shell(f"rondo policy check --strict '{path}'", folder, environment)


def check_json(text, options, folder):
    json.loads(text)
    write_block(options, text, folder)


def check_jsonl(text, options, folder):
    for line in text.splitlines():
        json.loads(line)
    write_block(options, text, folder)


ENVELOPE = "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: part}\n"


def check_yaml(text, options, folder, environment):
    path = write_block(options, text, folder)
    if "plain" in options.split():
        return
    if text.startswith("spec:"):
        text = ENVELOPE + text
        if "\n  role:" not in text:
            text += "  role: a part\n"
        if "\n  model:" not in text:
            text += "  model: {provider: scripted, name: dry-run}\n"
    with tempfile.TemporaryDirectory() as scratch:
        if path is None:
            path = pathlib.Path(scratch, "part.yaml")
            path.write_text(text)
        shell(f"rondo validate --strict '{path}'", folder, environment)


def check_python(text, options, folder):
    compile(text, "block", "exec")
    write_block(options, text, folder)


def check_make(text):
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words:
            result = subprocess.run(
                [words[0], "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True
            )
            if result.returncode != 0:
                raise Failure(f"{line}\n{result.stderr}")


def check_block(language, text, folder, environment):
    name, _, options = language.partition(" ")
    if name == "sh":
        check_sh(text, options, folder, environment)
    elif name == "console":
        check_console(text, folder, environment)
    elif name == "json":
        check_json(text, options, folder)
    elif name == "cedar":
        check_cedar(text, options, folder, environment)
    elif name == "jsonl":
        check_jsonl(text, options, folder)
    elif name == "yaml":
        check_yaml(text, options, folder, environment)
    elif name == "python":
        check_python(text, options, folder)
    elif name in ("js", "ts", "text"):
        write_block(options, text, folder)
    elif name == "make":
        check_make(text)
    else:
        raise Failure(f"nothing is known about blocks of '{language}'")


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def result(self, name, problem=None):
        self.count += 1
        self.failed += problem is not None
        print(f"{'ok' if problem is None else 'not ok'} {self.count} - {name}")
        for line in (problem or "").splitlines():
            print(f"# {line}")
        sys.stdout.flush()


def environment_for(build, scratch, model):
    home = scratch / "home"
    home.mkdir()
    path = f"{(ROOT / build / 'src/cli').resolve()}:{home}/.local/bin:{os.environ['PATH']}"
    own = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb", "ROOT": str(ROOT)}
    own["PYTHONPATH"] = str(ROOT / "sdk/python")
    return {**own, "OPENAI_API_KEY": "for-the-pages", "OPENAI_BASE_URL": model.url}


def check_token(match, page, folder, environment, model):
    """Check a block, or do what a comment says. Returns whether it was a block."""
    if match.group("before") is not None:
        shell(match.group("before"), folder, environment)
        return False
    if match.group("after") is not None:
        return False
    if match.group("model") is not None:
        model.say([json.loads(line) for line in match.group("model").splitlines() if line])
        return False
    if page.name == "library.md" and match.group("language").startswith("c"):
        return False
    check_block(match.group("language"), match.group("text"), folder, environment)
    return True


def check_page(page, build, model, tap):
    text = page.read_text()
    name = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
    has_indented = re.search(r"^\n {4}[^ -]", re.sub(TOKEN, "", text), re.M)
    if page.name != "library.md" and has_indented:
        tap.result(f"{name}: code stands in fenced blocks", "there is an indented block")
    with tempfile.TemporaryDirectory(prefix="rondo-docs-") as top:
        scratch = pathlib.Path(top)
        folder = scratch / "work"
        folder.mkdir()
        environment = environment_for(build, scratch, model)
        matches = list(TOKEN.finditer(text))
        for match in matches:
            place = f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
            try:
                if check_token(match, page, folder, environment, model):
                    tap.result(place)
            except (Failure, ValueError, subprocess.TimeoutExpired) as failure:
                tap.result(place, str(failure))
        for match in filter(lambda match: match.group("after"), matches):
            shell(match.group("after"), folder, environment, expected=None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    pages = [page.resolve() for page in arguments.pages]
    default = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
    default += [ROOT / f"examples/{name}/README.md" for name in ("prd", "roles")]
    default += sorted((ROOT / "docs").glob("*.md"))
    tap = Tap()
    model = model_server.ModelServer()
    for page in pages or default:
        check_page(page, arguments.build, model, tap)
    print(f"1..{tap.count}")
    return 1 if tap.failed or tap.count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
