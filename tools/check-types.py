#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no two structs, enums or unions of the tree have one name.

    tools/check-types.py [ROOT]

A name that two files define, be it for themselves only, makes a reader ask which one is meant. It
reads src, include, tests and bench. Exit code 1 and one line for each name, else 0.
"""

import collections
import pathlib
import sys

from metrics import AREAS, TYPE, without_comments


def definitions(root):
    """Each name with the places that define it."""
    places = collections.defaultdict(list)
    for area in AREAS:
        for path in sorted((root / area).rglob("*.[ch]")):
            if "node_modules" in path.parts:
                continue
            text = without_comments(path.read_text(errors="replace"))
            for match in TYPE.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                places[match.group(2)].append(f"{path.relative_to(root)}:{line}")
    return places


def main():
    default = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    shared = {name: p for name, p in definitions(root).items() if len(p) > 1}
    for name, places in sorted(shared.items()):
        print(f"{places[0]}: {name} is also defined in {', '.join(places[1:])}: name each for what it is")
    return 1 if shared else 0


if __name__ == "__main__":
    sys.exit(main())
