#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Rondo writes into a prd.json of Ralph or ralph-tui is accepted by what these tools read it with.

    tests/unit/prd/readers.py RONDO

The expressions for jq, and the rules of ralph-tui's reader, are written anew from what the tools do. Each file is made by
`rondo prd convert` or by hand, then `rondo prd run` carries it out with a worker that fails at one task.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MARKDOWN = """# PRD: Reading
> Branch: ralph/reading

## User Stories

### US-001: First
**Acceptance Criteria:**
- [ ] It is there

### US-002: Second
**Priority:** P2
**Depends on:** US-001
**Acceptance Criteria:**
- [ ] It is "there", too

### US-003: Third
**Acceptance Criteria:**
- [ ] Never
"""

BY_HAND = """{
  "project": "Reading",
  "branchName": "ralph/reading",
  "description": "By hand",
  "userStories": [
    { "id": "US-001", "title": "First", "description": "d", "acceptanceCriteria": [ "a" ], "priority": 1, "passes": false, "notes": "" },
    { "id": "US-002", "title": "Second", "description": "d", "acceptanceCriteria": [ "a" ], "priority": 2, "passes": false, "notes": "" },
    { "id": "US-003", "title": "Third", "description": "d", "acceptanceCriteria": [ "a" ], "priority": 3, "passes": false, "notes": "mine" }
  ],
  "own": { "kept": [1, 2.50, "\\u00e9"] }
}
"""

WORKER = 'test "$RONDO_TASK_ID" != US-003 && echo done >"$RONDO_TASK_ID"'

# What the script, its prompt and its page for people ask of the file, and what must come out at the end.
QUESTIONS = [
    (".branchName // empty", ["ralph/reading"]),
    (".userStories | length", ["3"]),
    ("[.userStories[] | select(.passes == false)] | sort_by(.priority) | .[0].id", ["US-003"]),
    (".userStories[] | {id, title, passes} | select(.passes) | .id", ["US-001", "US-002"]),
    ("all(.userStories[]; .passes)", ["false"]),
    ("[.userStories[] | .passes | type] | unique | .[]", ["boolean"]),
]


def jq(expression, path):
    asked = subprocess.run(["jq", "-r", expression, path], capture_output=True, text=True, check=True)
    return asked.stdout.split("\n")[:-1]


def is_texts(value):
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def tui_refuses(prd):
    """Why the reader of ralph-tui refuses a file; an empty list = it does not."""
    wrong = []
    if "tasks" in prd or not isinstance(prd.get("userStories"), list):
        wrong.append("the list is not userStories")
    if not isinstance(prd.get("name", prd.get("project")), str):
        wrong.append("no name")
    for story in prd.get("userStories", []):
        wrong += [f"{key} is no text" for key in ("id", "title") if not isinstance(story.get(key), str)]
        wrong += ["passes is not true or false"] if not isinstance(story.get("passes"), bool) else []
        wrong += [f"a member {key}" for key in ("status", "subtasks") if key in story]
        lists = ("acceptanceCriteria", "dependsOn", "labels")
        wrong += [f"{key} is no list of texts" for key in lists if key in story and not is_texts(story[key])]
        if "priority" in story and not isinstance(story["priority"], int):
            wrong.append("priority is no number")
    return wrong


class Project:
    def __init__(self, rondo, folder):
        self.rondo, self.folder = rondo, folder
        own = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
        self.environment = own | {"LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
        (folder / "home").mkdir()
        self.place = folder / "project"
        self.place.mkdir()
        self.path = self.place / "prd.json"
        (self.place / "Makefile").write_text("test:\n\ttrue\n")

    def call(self, *words, code=0):
        done = subprocess.run(words, cwd=self.place, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode != code:
            raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")

    def convert(self, dialect):
        (self.place / "PRD.md").write_text(MARKDOWN)
        self.call(self.rondo, "prd", "convert", "PRD.md", "--dialect", dialect, "-o", "prd.json")

    def carry_out(self):
        self.call("git", "init", "-q", "-b", "main", ".")
        self.call("git", "config", "user.name", "You")
        self.call("git", "config", "user.email", "you@example.org")
        self.call("git", "add", ".")
        self.call("git", "commit", "-q", "-m", "Begin")
        self.call(self.rondo, "prd", "run", "prd.json", "--quiet", "--attempts", "1", "--", "sh", "-c", WORKER, code=3)


def questions(project):
    seen = [(expression, jq(expression, project.path)) for expression, _ in QUESTIONS]
    assert seen == QUESTIONS, seen


def ralph(project):
    """ralph.sh reads a file that was converted for it"""
    project.convert("ralph")
    project.carry_out()
    questions(project)


def ralph_tui(project):
    """ralph-tui reads a file that was converted for it"""
    project.convert("ralph-tui")
    assert tui_refuses(json.loads(project.path.read_text())) == []
    project.carry_out()
    assert tui_refuses(json.loads(project.path.read_text())) == []
    questions(project)


def by_hand(project):
    """only passes and notes of a file that was made by hand change"""
    project.path.write_text(BY_HAND)
    project.carry_out()
    questions(project)
    text = project.path.read_text()
    assert tui_refuses(json.loads(text)) == []
    values = re.compile(r'"passes": (?:true|false), "notes": "(?:[^"\\]|\\.)*"')
    assert values.sub("", text) == values.sub("", BY_HAND), text


def main():
    rondo = os.path.realpath(sys.argv[1])
    tests = [ralph, ralph_tui, by_hand]
    if shutil.which("jq") is None:
        print("1..0 # SKIP there is no jq")
        return 0
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        with tempfile.TemporaryDirectory(prefix="rondo-readers-") as folder:
            try:
                test(Project(rondo, pathlib.Path(folder)))
                print(f"ok {number} - {test.__doc__}")
            except (AssertionError, subprocess.CalledProcessError, OSError) as failure:
                failed += 1
                print(f"not ok {number} - {test.__doc__}")
                print("# " + str(failure).replace("\n", "\n# "))
        sys.stdout.flush()
    return int(failed > 0)


sys.exit(main())
