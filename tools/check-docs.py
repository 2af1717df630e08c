#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what the pages name in backticks exists, and that each folder of src has a page.

    tools/check-docs.py [ROOT]

Pages are README.md, ARCHITECTURE.md, CONTRIBUTING.md, docs/*.md and src/**/README.md; blocks of code
are left to tests/docs. Checked are names that look like one of this tree:

    src/loop, tests/unit/*        a path from the root; *, <placeholder> and NAME match anything
    loop/step, os/sandbox/git     a file, folder or test of a layer, or a test of tests/
    routes.c, events.def          a source file somewhere in the tree
    error_prefix(), struct gate   a function or type of the sources; LIMIT_NAME
    rondo policy check, --store   a command and its options; also options of the tools
    make test                     a target, on pages about the sources

and targets of links to files. A folder of src with C files has a README.md of at most PAGE_LINES
lines that says what is in it and, from "Not here:" on, what may not be. Each table of a group of commands is
among those of src/cli/meson.build from which manual pages are made. Exit code 1 and one line for
each problem, else 0.
"""

import pathlib
import re
import sys

TOP = {"src", "tests", "tools", "docs", "include", "examples", "bench", "sdk", "share", "web"}
SUFFIXES = r"(?:c|h|def|py|sh|mjs|jsx|js|css)"
# Pages whose `make TARGET` is one of ours; elsewhere it is one of the reader's project.
ABOUT_SOURCES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "src/")
# Places of layers to come (ARCHITECTURE.md).
RESERVED = {"src/handoff"}
# Names that look like ours: methods of MCP, files of readers' projects.
FOREIGN = {"server/discover", "setup.py", "web/node_modules"}
# Options of other programs.
FOREIGN_OPTIONS = {"--api-key", "--attach", "--hostname"}
PAGE_LINES = 10
FENCE = re.compile(r"(?ms)^[ ]*(```|~~~).*?^[ ]*\1[ ]*$")


class Tree:
    """What exists."""

    def __init__(self, root):
        self.root = root
        skipped = {"node_modules", ".git"}
        self.files = set()
        for top in TOP:
            for path in (root / top).rglob("*"):
                if not skipped & set(path.parts):
                    self.files.add(path.relative_to(root).as_posix())
        self.names = {name.rsplit("/", 1)[-1] for name in self.files}
        self.layers = {name.split("/")[1] for name in self.files if name.startswith("src/") and name.count("/") == 1}
        self.layers |= {"cedar"}  # of src/policy, named alone in its own table
        self.test_folders = {name.split("/")[1] for name in self.files if name.startswith("tests/") and name.count("/") == 1}
        self.sources = "\n".join(
            (root / name).read_text(errors="replace")
            for name in sorted(self.files)
            if name.startswith(("src/", "include/", "tests/")) and name.endswith((".c", ".h", ".def"))
        )
        self.words = set(re.findall(r"[A-Za-z_]\w+", self.sources))
        self.structs = set(re.findall(r"\b(?:struct|enum) (\w+)", self.sources))
        makefile = root / "Makefile"
        text = makefile.read_text() if makefile.exists() else ""
        self.targets = set(re.findall(r"(?m)^([a-z-]+):", text))
        self.read_command_line()

    def read_command_line(self):
        """The words of commands, and all options of all programs."""
        self.commands, self.options = set(), {"--help"} | FOREIGN_OPTIONS
        for name in self.files:
            if name.startswith("src/cli/") and name.endswith((".c", ".h", ".def")):
                text = (self.root / name).read_text(errors="replace")
                self.commands |= set(re.findall(r'(?m)^\s*\.name = "([a-z -]+)"', text))
                self.options |= {"--" + option for option in re.findall(r'\.name = "([a-z][a-z0-9-]*)"', text)}
            elif name.startswith(("tools/", "tests/", "bench/")) and name.endswith((".py", "main.c")):
                text = (self.root / name).read_text(errors="replace")
                self.options |= set(re.findall(r'"(--[a-z-]+)"', text))
                self.options |= {"--" + option for option in re.findall(r'\{"([a-z-]+)", \w+_argument', text)}

    def has(self, pattern):
        """Whether a path of the tree matches; *, <placeholder> and NAME stand for anything."""
        pattern = re.sub(r"<[^>]*>|NAME", "*", pattern).rstrip("/")
        if pattern in self.files or pattern in TOP:
            return True
        expression = re.compile("[^/]*".join(map(re.escape, pattern.split("*"))))
        return "*" in pattern and any(expression.fullmatch(name) for name in self.files)

    def has_of_layer(self, name):
        """Whether layer/name is a folder, a file (with or without its ending) or a test; also of a folder in a layer."""
        name = name.rstrip("/")
        folder, _, last = name.rpartition("/")
        places = [f"src/{name}", f"src/*/{name}", f"src/*/{name}.*", f"include/{name}", f"tests/{name}", f"src/{name}.*", f"tests/unit/{folder}/test_{last}.c"]
        places += [f"tests/{folder}/test_{last}.c", f"tests/{folder}/test_{folder}_{last}.c"]
        return any(self.has(place) for place in places)


def problem_of(tree, page, token):
    """Why a token is stale, or None."""
    token = token.strip().rstrip(".,:;")
    if ".." in token:
        return None
    first = token.split(" ")[0]
    if token in FOREIGN or first in FOREIGN or first.rstrip("/") in RESERVED:
        return None
    if re.fullmatch(r"[\w.<>*-]+(/[\w.<>*-]+)*/?", first) and "/" in first:
        top = first.split("/")[0]
        if top in TOP:
            return None if tree.has(first) else "no such path"
        if top in tree.layers | tree.test_folders | {"rondo"} and first == token and not re.search(r"[A-Z]|\.db$", first):
            return None if tree.has_of_layer(first) else "no such file, folder or test"
        return None
    if re.fullmatch(rf"[a-z][\w-]*\.{SUFFIXES}", token):
        return None if token in tree.names else "no such file"
    if re.fullmatch(r"[a-z_]+\(\)", token):
        return None if token[:-2] in tree.words else "no such function"
    if re.fullmatch(r"(struct|enum) [a-z_]+", token):
        return None if token.split()[1] in tree.structs else "no such type"
    if re.fullmatch(r"LIMIT_[A-Z0-9_]+", token):
        return None if token in tree.words else "no such limit"
    if re.fullmatch(r"make [a-z-]+", token) and page.startswith(ABOUT_SOURCES):
        return None if token.split()[1] in tree.targets else "no such target"
    if first == "rondo" or first.startswith("--"):
        return problem_of_command(tree, token)
    return None


def problem_of_command(tree, line):
    """Why a command line of rondo, or an option alone, is stale; up to where another program begins."""
    words = re.split(r" (?:--|&&|\|) ", line)[0].split()
    if words[0] == "rondo" and len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]):
        if words[1] not in tree.commands:
            return f"no command {words[1]}"
        group = {command for command in tree.commands if command.startswith(words[1] + " ")}
        if group and len(words) > 2 and re.fullmatch(r"[a-z]+", words[2]) and " ".join(words[1:3]) not in group:
            return f"no command {words[1]} {words[2]}"
    for word in words:
        option = re.match(r"--[a-z][a-z0-9-]*", word)
        if option and option.group() not in tree.options:
            return f"no option {option.group()}"
    return None


def check_page(tree, page):
    """Problems of a page, each with its line."""
    text = (tree.root / page).read_text()
    plain = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    for match in re.finditer(r"`([^`\n]+)`|\]\(([^)#:\s]+)(?:#[^)]*)?\)", plain):
        token, link = match.groups()
        if link is not None:
            problem = None if (tree.root / page).parent.joinpath(link).exists() else "no such file"
        else:
            problem = problem_of(tree, page, token)
        if problem:
            line = plain.count("\n", 0, match.start()) + 1
            yield f"{page}:{line}: `{token or link}`: {problem}"


def check_folders(tree):
    """Folders of src without a page, or with one that does not say what it must."""
    folders = {name.rpartition("/")[0] for name in tree.files if name.startswith("src/") and name.endswith((".c", ".h"))}
    for folder in sorted(folders):
        page = tree.root / folder / "README.md"
        if not page.exists():
            yield f"{folder}: no README.md that says what is in it and what may not be"
            continue
        lines = page.read_text().splitlines()
        if not lines or lines[0] != f"# {folder}":
            yield f"{folder}/README.md:1: the heading must be: # {folder}"
        if not any(line.startswith("Not here:") for line in lines):
            yield f"{folder}/README.md: no line begins with `Not here:`"
        if len(lines) > PAGE_LINES:
            yield f"{folder}/README.md: {len(lines)} lines; at most {PAGE_LINES}"


def check_tables(tree):
    """Tables of command groups that make no manual pages."""
    build = tree.root / "src/cli/meson.build"
    names = re.findall(r"'(commands/[^']+\.c)'", build.read_text().partition("foreach table")[2]) if build.exists() else []
    for name in sorted(tree.files):
        inside = name.removeprefix("src/cli/")
        if not build.exists() or not inside.startswith("commands/") or not name.endswith(".c") or inside in names:
            continue
        if re.search(r"(?m)^const struct command \w+_commands\[\] = ", (tree.root / name).read_text()):
            yield f"{name}: its commands have no manual pages: add it to the tables in src/cli/meson.build"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    tree = Tree(root)
    pages = [root / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    pages += sorted((root / "docs").glob("*.md")) + sorted((root / "src").rglob("README.md"))
    problems = list(check_folders(tree)) + list(check_tables(tree))
    for page in pages:
        if page.exists():
            problems += check_page(tree, page.relative_to(root).as_posix())
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
