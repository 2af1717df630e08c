#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GitHub's OpenAPI document, cut down to what the stand-in has, and Prism as a proxy that checks each request and
each answer by it: what breaks the document becomes status 422 or 500 with a problem of Prism's.

    tests/forge/prism.py ADDRESS

puts it in front of the stand-in at ADDRESS, prints an address for API, git and control as a line of JSON, and each
broken request or answer as another one; it ends with its standard input.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parents[1] / "tools"), str(FOLDER)]
from client import call
from front import PREFIX, Front
from standin import shape_class
from testlib import npm

MODULES = FOLDER / "node_modules"
DOCUMENT = MODULES / "@octokit/openapi/generated/api.github.com.json"
PROGRAM = MODULES / "@stoplight/prism-cli/dist/index.js"
CHOICES = {"$ref", "allOf", "anyOf", "oneOf", "enum"}
METHODS = ("get", "put", "post", "patch", "delete")


def why_not():
    """Install what is needed. @return None, or why it cannot be had"""
    return npm.install(npm.NODE_FOLDER) or npm.install(FOLDER)


def routes_of(kind):
    """@return [(method, path)] of a kind of stand-in"""
    functions = [getattr(shape_class(kind), name) for name in dir(shape_class(kind))]
    return [row[:2] for function in functions for row in getattr(function, "routes", [])]


def form(path):
    """A path without the names of its parts."""
    return re.sub(r"\{\w+\}", "{}", path)


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def mended(node):
    """Without examples, which are most of the document. Prism checks nothing by a schema that is `nullable` and has no
    type, and says nothing about that: such a schema gets null as another choice."""
    if isinstance(node, list):
        return [mended(value) for value in node]
    if not isinstance(node, dict):
        return node
    part = {key: mended(value) for key, value in node.items() if key != "examples" and not key.startswith("x-github")}
    if part.get("nullable") is True and "type" not in part:
        del part["nullable"]
        return {"anyOf": [part, {"type": "object", "nullable": True, "maxProperties": 0}]} if part.keys() & CHOICES else part
    return part


def cut(document, routes):
    """@param routes [(method, path)]; @return (the document with nothing but them, those that it does not have)"""
    named = {form(path): path for path in document["paths"]}
    paths, missing = {}, []
    for method, path in routes:
        name = named.get(form(path))
        if name is None or method.lower() not in document["paths"][name]:
            missing.append((method, path))
            continue
        whole = document["paths"][name]
        paths.setdefault(name, {key: value for key, value in whole.items() if key not in METHODS})
        paths[name][method.lower()] = whole[method.lower()]
    kept, wanted = {}, list(references(paths))
    while wanted:
        _, _, kind, name = wanted.pop().split("/", 3)
        if name not in kept.setdefault(kind, {}):
            kept[kind][name] = document["components"][kind][name]
            wanted += references(kept[kind][name])
    kept.pop("examples", None)
    part = {"openapi": document["openapi"], "info": document["info"], "paths": paths, "components": kept}
    return mended(part), missing


class Prism:
    """Checks at `address` what goes to `upstream` and comes from there, until it is closed."""

    def __init__(self, folder, upstream, routes):
        part, self.missing = cut(json.loads(DOCUMENT.read_text()), routes)
        file = pathlib.Path(folder) / "github.json"
        file.write_text(json.dumps(part))
        command = [str(npm.NODE), str(PROGRAM), "proxy", str(file), upstream, "--errors", "--port", "0", "--cors", "false"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        self.lines, self.address = [], None
        for line in self.process.stdout:
            self.lines.append(line)
            match = re.search(r"listening on (http://[\d.:]+)", line)
            if match:
                self.address = match[1]
                break
        else:
            raise RuntimeError("Prism did not start: " + "".join(self.lines[-20:]))
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        """What it prints must not fill the pipe."""
        for line in self.process.stdout:
            self.lines.append(line)

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Checked:
    """A stand-in with Prism in front of its API, under one address."""

    def __init__(self, folder, upstream):
        self.prism = Prism(folder, upstream, routes_of("github"))
        self.front = Front(upstream, self.prism.address)
        self.address = self.front.address
        where = {"do": "links", "host": self.address.removeprefix("http://"), "by_number": False}
        call(upstream, "POST", "/_control/act", where)

    def close(self):
        self.front.close()
        self.prism.close()


def main():
    reason = why_not()
    if reason is not None:
        sys.exit(f"prism.py: {reason}")
    with tempfile.TemporaryDirectory() as folder:
        checked = Checked(folder, sys.argv[1].rstrip("/"))
        print(json.dumps({"address": checked.address, "api": checked.address + PREFIX}), flush=True)
        checked.front.tell = lambda problem: print(json.dumps({"problem": problem}), flush=True)
        sys.stdin.read()
        checked.close()


if __name__ == "__main__":
    main()
