#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a C file that holds openapi.json, without the white space of the file.

    embed_text.py openapi.json OUTPUT.c
"""

import json
import pathlib
import sys

ROW = 24


def main():
    source, target = map(pathlib.Path, sys.argv[1:3])
    text = json.dumps(json.loads(source.read_text()), separators=(",", ":"), ensure_ascii=True)
    # Numbers: a string literal of this length is more than the standard promises.
    codes = [str(byte) for byte in text.encode("ascii")]
    rows = ["    " + ",".join(codes[i : i + ROW]) + "," for i in range(0, len(codes), ROW)]
    lines = [
        "/* Written by embed_text.py from openapi.json. */",
        '#include "server/openapi.h"',
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
