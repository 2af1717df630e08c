#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every file includes only its own layer and the ones below it.

    tools/check-layers.py [--stamp FILE] [ROOT]

The order of the layers is the architecture; it is only here. A file of src/<layer>/ may include
"<layer>/..." of its own layer and of those before it in the list, and the public types. Includes in
quotes always carry the layer, so "buf.h" alone is an error too. Exit code 1 and one line for each
violation, else 0. Within a layer neither modules nor folders may include one another in a circle.
"""

import argparse
import pathlib
import re
import sys

from metrics import include_cycles, module, read_sources, same_layer

LAYERS = [
    "base", "os", "net", "store", "journal", "policy", "role", "model", "tool", "mcp", "memory",
    "handoff", "git", "forge", "prd", "loop", "agent", "work", "worker", "alert", "orchestrator", "issues", "source", "telemetry",
    "server", "api", "cli",
]
# Public headers that describe words of the whole project; they are below every layer.
PUBLIC_TYPES = {"rondo/error.h", "rondo/types.h"}
# The Cedar engine has a public header of its own; the engine and what lies above it may use it.
PUBLIC_CEDAR = "rondo/cedar.h"
# The engine depends on nothing but base, so that other programs can take it as it is.
CEDAR = "policy/cedar"
CEDAR_MAY_USE = ("base/", CEDAR + "/", PUBLIC_CEDAR, "rondo/error.h")
# The engine runs any body: it knows no model, tool or role, though these are lower layers.
UNKNOWN_TO = {"loop": {"role", "model", "tool", "mcp", "memory"}}
# The public API proper: its implementation and the command line may use it.
PUBLIC_API_FROM = LAYERS.index("api")

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def includes(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1)


def problem_of(layer, included):
    """Why a file of `layer` may not include `included`, or None."""
    if "/" not in included:
        return f'"{included}" does not name its layer'
    target = included.split("/", 1)[0]
    if target == "rondo":
        if included == PUBLIC_CEDAR and LAYERS.index(layer) >= LAYERS.index("policy"):
            return None
        if included in PUBLIC_TYPES or LAYERS.index(layer) >= PUBLIC_API_FROM:
            return None
        return f'layer {layer} may use only {" and ".join(sorted(PUBLIC_TYPES))} of the public API'
    if target not in LAYERS:
        return f'"{target}" is not a layer'
    if target in UNKNOWN_TO.get(layer, ()):
        return f"layer {layer} knows nothing of {target}"
    if LAYERS.index(target) > LAYERS.index(layer):
        return f"layer {layer} is below {target}"
    return None


def problem_of_cedar(included):
    """Why the Cedar engine may not include `included`, or None."""
    if included.startswith(CEDAR_MAY_USE):
        return None
    return "the Cedar engine may use only " + ", ".join(CEDAR_MAY_USE)


def check_sources(root):
    problems = []
    for path in sorted((root / "src").rglob("*.[ch]")):
        relative = path.relative_to(root)
        layer = relative.parts[1]
        if len(relative.parts) < 3 or layer not in LAYERS:
            problems.append(f"{relative}:1: not in the folder of a layer")
            continue
        for number, included in includes(path):
            reason = problem_of(layer, included)
            if reason is None and relative.is_relative_to(f"src/{CEDAR}"):
                reason = problem_of_cedar(included)
            if reason is None and not any(
                (root / folder / included).is_file() for folder in ("src", "include")
            ):
                reason = "no such file"
            if reason is not None:
                problems.append(f'{relative}:{number}: #include "{included}": {reason}')
    return problems


def folder(path):
    return path.rsplit("/", 1)[0]


def check_cycles(root):
    sources = read_sources(root)
    cycles = include_cycles(sources, module, same_layer)
    cycles += include_cycles(sources, folder, same_layer)
    return [
        f"src/{cycle[0]}: includes one another in a circle: {' '.join(cycle)}" for cycle in cycles
    ]


def check_public(root):
    problems = []
    for path in sorted((root / "include").rglob("*.h")):
        for number, included in includes(path):
            if not included.startswith("rondo/"):
                problems.append(
                    f'{path.relative_to(root)}:{number}: #include "{included}": '
                    "a public header includes public headers only"
                )
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stamp", help="file to touch when all is well")
    default = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=default)
    arguments = parser.parse_args()
    problems = check_sources(arguments.root) + check_public(arguments.root)
    problems += check_cycles(arguments.root.resolve())
    for problem in problems:
        print(problem)
    if problems:
        return 1
    if arguments.stamp:
        pathlib.Path(arguments.stamp).touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
