#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins the pieces of the API's description and writes them as a C file, without their white space.

    embed_text.py OUTPUT.c PIECE.json...

What stands in the objects of several pieces becomes one object; a member that two pieces give is
an error.
"""

import json
import pathlib
import sys

ROW = 24


def join(whole, piece, path):
    for name, value in piece.items():
        if name not in whole:
            whole[name] = value
        elif isinstance(value, dict) and isinstance(whole[name], dict):
            join(whole[name], value, f"{path}/{name}")
        else:
            sys.exit(f"embed_text.py: {path}/{name} is given twice")


def main():
    target, *sources = map(pathlib.Path, sys.argv[1:])
    whole = {}
    for source in sources:
        join(whole, json.loads(source.read_text()), "")
    text = json.dumps(whole, separators=(",", ":"), ensure_ascii=True)
    # Numbers: a string literal of this length is more than the standard promises.
    codes = [str(byte) for byte in text.encode("ascii")]
    rows = ["    " + ",".join(codes[i : i + ROW]) + "," for i in range(0, len(codes), ROW)]
    lines = [
        "/* Written by embed_text.py from the pieces in openapi/. */",
        '#include "server/api/openapi.h"',
        "",
        "static const char text[] = {",
        *rows,
        "    0,",
        "};",
        "",
        "const char *openapi_text(size_t *ret_len)",
        "{",
        "    *ret_len = sizeof(text) - 1;",
        "    return text;",
        "}",
        "",
    ]
    target.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
