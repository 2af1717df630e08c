#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints figures of the C sources, to compare two versions of the tree.

    tools/metrics.py [--binary FILE] [--test-seconds N] [--details] [ROOT]

Lines, files, functions, files per folder, exported functions that nothing or one place uses, include
cycles, duplicates, types that share a name, and lines of generic code written by hand. --binary adds
the size of a release binary, stripped. --test-seconds adds a time of `make test` measured elsewhere.
--details names what was counted. It reads text, not what the compiler sees: functions are known by
our layout (their braces are in the first column), uses by their name.
"""

import argparse
import collections
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

AREAS = ("src", "include", "tests", "bench")
FOLDER_FILES = (25, 40)
# Tokens of two places that are the same before they count as a pair; numbers and texts may differ.
WINDOW_TOKENS = 50
# A window in more places than that is an idiom (a table of tests, a list of includes).
WINDOW_PLACES = 8

# Code that every program could have, by topic. Patterns of paths below src, so that a file keeps
# its topic when it moves.
GENERIC = {
    "time zones and dates": r"datetime|/calendar|/clock_text|/cron\.",
    "base64, hex, digests": r"base64|/hex\.|base/digest",
    "lists, buffers, characters": r"base/(arena|buf|memory|ascii)\.",
    "JSON: readers and checks": r"base/json/json|strict_json|cedar/json|json_walk",
    "YAML": r"role/(yaml|coerce)",
    "JSON schema": r"schema_check",
    "HTTP server": r"http_server|net/server/",
    "HTTP client": r"net/(client/)?(http_(?!server)|curl|sse|retry|cookie)",
    "Markdown": r"cli/.*markdown",
    "regular expressions": r"role/pattern",
    "archives, entities, UTF-8": r"base/(text/)?(zip|utf8|plain)|extract|html",
    "shell words, dotenv, git config": r"shell_words|dotenv|git_config|/extract_words",
}

WORD = re.compile(r"[A-Za-z_]\w*")
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\.?\d[\w.]*|\S')
COMMENT = re.compile(
    r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.DOTALL
)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
TYPE = re.compile(r"\b(struct|enum|union)\s+(\w+)\s*\{")


def without_comments(text):
    """The text with comments blank, so that line numbers stay."""
    return COMMENT.sub(lambda m: m.group(1) or re.sub(r"[^\n]", " ", m.group(0)), text)


class Function:
    def __init__(self, path, name, is_static, first, last):
        self.path, self.name, self.is_static = path, name, is_static
        self.first, self.last = first, last

    @property
    def lines(self):
        return self.last - self.first + 1


class Source:
    """One file: its text without comments, and its functions."""

    def __init__(self, root, path):
        self.path = str(path.relative_to(root))
        self.area = self.path.split("/", 1)[0]
        raw = path.read_text(errors="replace")
        self.line_count = raw.count("\n")
        self.text = without_comments(raw)
        self.lines = self.text.split("\n")
        self.includes = INCLUDE.findall(self.text)
        self.functions = list(self._functions())

    @property
    def is_product(self):
        return self.area in ("src", "include")

    def _functions(self):
        """Functions by layout: `{` and `}` alone in the first column, a signature above."""
        brace = None
        for i, line in enumerate(self.lines):
            if line == "{":
                brace = i
            elif line == "}" and brace is not None:
                first = brace
                while first > 0 and self.lines[first - 1].strip(" \\") and (
                    self.lines[first - 1][0] not in "}#"
                ):
                    first -= 1
                signature = " ".join(self.lines[first:brace])
                signature = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", signature)
                name = re.search(r"(\w+)\s*\(", signature)
                if name:
                    is_static = re.search(r"\bstatic\b", signature[: name.start()]) is not None
                    if name.group(1).isupper():  # a macro that makes the head: TEST(name)
                        name = re.search(r"([a-z]\w*)\s*[,)]", signature) or name
                    yield Function(self.path, name.group(1), is_static, brace, i)
                brace = None

    def uses(self):
        """How often each name is used: inside braces, after `=`, or in a macro; not declared."""
        counts = collections.Counter()
        depth, in_value, is_macro = 0, False, False
        for line in self.lines:
            if line.startswith("#") or is_macro:
                if "include" not in line[:10]:
                    counts.update(WORD.findall(re.sub(r'"(?:\\.|[^"\\])*"', "", line)))
                is_macro = line.endswith("\\")
                continue
            for token in TOKEN.findall(line):
                if token == "{":
                    depth += 1
                elif token == "}":
                    depth -= 1
                elif depth == 0 and token in "=;":
                    in_value = token == "="
                elif (depth > 0 or in_value) and (token[0].isalpha() or token[0] == "_"):
                    counts[token] += 1
        return counts


def read_sources(root):
    return [
        Source(root, path)
        for area in AREAS
        for path in sorted((root / area).rglob("*.[ch]"))
        if "node_modules" not in path.parts
    ]


class Report:
    def __init__(self, has_details):
        self.has_details = has_details

    def row(self, name, value, details=()):
        print(f"{name:<60} {value:>9}")
        if self.has_details:
            for detail in details:
                print(f"    {detail}")


def report_sizes(report, sources):
    for area in AREAS:
        own = [s for s in sources if s.area == area]
        functions = [f for s in own for f in s.functions]
        report.row(f"{area}: lines", sum(s.line_count for s in own))
        report.row(f"{area}: files", len(own))
        report.row(f"{area}: functions", len(functions))
        if functions:
            report.row(
                f"{area}: lines of a function, median",
                f"{statistics.median(f.lines for f in functions):g}",
            )
    report.row("lines of C", sum(s.line_count for s in sources))


def report_folders(report, sources):
    counts = collections.Counter(s.path.rsplit("/", 1)[0] for s in sources)
    for limit in FOLDER_FILES:
        big = [f"{n:4} {name}" for name, n in counts.most_common() if n > limit]
        report.row(f"folders with more than {limit} files", len(big), big)


def report_uses(report, sources):
    public = set()
    pasted = set()  # heads of names that a macro puts together
    uses = {}  # path -> names -> count
    for source in sources:
        uses[source.path] = source.uses()
        pasted.update(re.findall(r"\b(\w+_)##", source.text) if source.is_product else ())
        if source.area == "include":
            public.update(WORD.findall(source.text))
    totals = {True: collections.Counter(), False: collections.Counter()}
    places = collections.defaultdict(set)
    for source in sources:
        totals[source.is_product].update(uses[source.path])
        for name in uses[source.path] if source.is_product else ():
            places[name].add(source.path)
    exported = [
        f for s in sources if s.area == "src" for f in s.functions
        if not f.is_static and s.path.endswith(".c") and f.name not in public and f.name != "main"
    ]
    nobody, tests, own, one_file, once = [], [], [], [], []
    for function in exported:
        where = f"{function.name} ({function.path}, {function.lines} lines)"
        if function.name.startswith(tuple(pasted)):
            continue
        if totals[True][function.name] == 0:
            (tests if totals[False][function.name] else nobody).append(where)
        elif places[function.name] == {function.path}:
            own.append(where)
        elif len(places[function.name] - {function.path}) == 1:
            one_file.append(where)
        if totals[True][function.name] == 1:
            once.append(where)
    report.row("exported functions, public API apart", len(exported))
    report.row("  used by nobody", len(nobody), nobody)
    report.row("  used by tests only", len(tests), tests)
    report.row("  used in their own file only", len(own), own)
    report.row("  used in one other file", len(one_file))
    report.row("  used once", len(once))
    static = [f for s in sources if s.area == "src" for f in s.functions if f.is_static]
    static_once = [f for f in static if uses[f.path][f.name] == 1]
    report.row("static functions", len(static))
    report.row("  used once", len(static_once))


def components(graph):
    """Strongly connected components of more than one node (Tarjan's, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for start in graph:
        if start in index:
            continue
        work = [(start, iter(graph[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, edges = work[-1]
            for target in edges:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(graph[target])))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = []
                    while not members or members[-1] != node:
                        members.append(stack.pop())
                        on_stack.discard(members[-1])
                    if len(members) > 1:
                        found.append(sorted(members))
    return sorted(found, key=len, reverse=True)


def include_graph(sources, node_of, is_within):
    """Edges between node_of(file) for every include that is_within(from, to) accepts."""
    graph = collections.defaultdict(set)
    for source in sources:
        if source.area != "src":
            continue
        here = source.path.split("/", 1)[1]
        graph[node_of(here)]
        for target in source.includes:
            if node_of(here) != node_of(target) and is_within(here, target):
                graph[node_of(here)].add(node_of(target))
    for target in [t for edges in graph.values() for t in edges]:
        graph[target]
    return graph


def module(path):
    """A file, its header, its internal header and its table (x_table.h has rows of x.h's type)."""
    return re.sub(r"(_internal|_table)?\.[ch]$", "", path)


def include_cycles(sources, node_of, is_within):
    graph = include_graph(sources, node_of, is_within)
    for node in [n for n in graph if n.endswith("/internal")]:  # of no file alone
        del graph[node]
    return components({n: edges & graph.keys() for n, edges in graph.items()})


def same_layer(a, b):
    return a.split("/", 1)[0] == b.split("/", 1)[0]


def report_cycles(report, sources):
    def folder(path):
        return path.rsplit("/", 1)[0]

    headers = [s for s in sources if s.path.endswith(".h")]
    kinds = (
        ("headers", headers, str, lambda a, b: True),
        ("modules (x.c, x.h, x_internal.h, x_table.h) in a layer", sources, module, same_layer),
        ("modules over layers", sources, module, lambda a, b: True),
        ("folders", sources, folder, lambda a, b: True),
    )
    for name, chosen, node_of, is_within in kinds:
        cycles = include_cycles(chosen, node_of, is_within)
        if name == "modules over layers":
            cycles = [c for c in cycles if len({m.split("/", 1)[0] for m in c}) > 1]
        details = [f"{len(c)}: {' '.join(c)}" for c in cycles]
        report.row(f"include cycles: {name}", len(cycles), details)


def duplicate_pairs(sources):
    """Pairs of places with the same tokens: (tokens, path, line, path, line)."""
    streams = []
    windows = collections.defaultdict(list)
    for number, source in enumerate(sources):
        tokens = []
        for i, line in enumerate(source.lines, 1):
            if not line.startswith("#"):
                tokens += [("0" if t[0].isdigit() else t[:1] if t[0] in "\"'" else t, i)
                           for t in TOKEN.findall(line)]
        streams.append(tokens)
        words = [t for t, _ in tokens]
        for at in range(len(words) - WINDOW_TOKENS + 1):
            windows[hash(tuple(words[at : at + WINDOW_TOKENS]))].append((number, at))
    runs = {}  # (file, file, distance) -> places of windows in the first file
    for places in windows.values():
        if 2 <= len(places) <= WINDOW_PLACES:
            for i, (a, at) in enumerate(places):
                for b, bt in places[i + 1 :]:
                    if a != b or bt - at >= WINDOW_TOKENS:
                        runs.setdefault((a, b, bt - at), []).append(at)
    for (a, b, distance), starts in runs.items():
        starts.sort()
        first = previous = starts[0]
        for at in starts[1:] + [None]:
            if at is None or at > previous + WINDOW_TOKENS:
                yield (previous - first + WINDOW_TOKENS,
                       sources[a].path, streams[a][first][1],
                       sources[b].path, streams[b][first + distance][1])
                first = at
            previous = at


def report_duplicates(report, sources):
    for name, chosen in (
        ("src and include", [s for s in sources if s.is_product]),
        ("tests and bench", [s for s in sources if not s.is_product]),
    ):
        pairs = sorted(duplicate_pairs(chosen), reverse=True)
        details = [f"{n} tokens: {a}:{i} {b}:{j}" for n, a, i, b, j in pairs[:100]]
        report.row(f"duplicate pairs ({WINDOW_TOKENS} tokens): {name}", len(pairs), details)


def report_types(report, sources):
    for name, chosen in (
        ("src and include", [s for s in sources if s.is_product]),
        ("all", sources),
    ):
        places = collections.defaultdict(set)
        for source in chosen:
            for _, type_name in TYPE.findall(source.text):
                places[type_name].add(source.path)
        shared = {n: p for n, p in places.items() if len(p) > 1}
        details = [f"{n}: {' '.join(sorted(p))}" for n, p in sorted(shared.items())]
        report.row(f"types with the name of another: {name}", len(shared), details)


def report_generic(report, sources):
    total = 0
    for topic, pattern in GENERIC.items():
        own = [s for s in sources if s.area == "src" and re.search(pattern, s.path)]
        total += sum(s.line_count for s in own)
        details = [f"{s.line_count:5} {s.path}" for s in own]
        report.row(f"generic code: {topic}", sum(s.line_count for s in own), details)
    report.row("generic code: lines", total)


def stripped_size(binary):
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(["strip", "-o", copy.name, binary], check=True)
        return pathlib.Path(copy.name).stat().st_size


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--binary")
    parser.add_argument("--test-seconds", type=float)
    parser.add_argument("--details", action="store_true")
    default = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=default)
    arguments = parser.parse_args()
    sources = read_sources(arguments.root.resolve())
    if not sources:
        print(f"metrics.py: no C files in {arguments.root}", file=sys.stderr)
        return 1
    report = Report(arguments.details)
    report_sizes(report, sources)
    report_folders(report, sources)
    report_uses(report, sources)
    report_cycles(report, sources)
    report_duplicates(report, sources)
    report_types(report, sources)
    report_generic(report, sources)
    if arguments.binary:
        report.row("bytes of the stripped binary", stripped_size(arguments.binary))
    if arguments.test_seconds is not None:
        report.row("seconds of make test", f"{arguments.test_seconds:g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
