#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the schema as a C file, without its comments.

    embed_sql.py OUTPUT.c SCHEMA.sql
"""

import pathlib
import re
import sys

ROW = 24


def main():
    target, source = map(pathlib.Path, sys.argv[1:])
    text = re.sub(r"^\s*--.*\n|\s+-- .*$", "", source.read_text(), flags=re.M)
    # Numbers: a string literal of this length is more than the standard promises.
    codes = [str(byte) for byte in text.encode("ascii")]
    rows = ["    " + ",".join(codes[i : i + ROW]) + "," for i in range(0, len(codes), ROW)]
    lines = [
        f"/* Written by embed_sql.py from {source.name}. */",
        '#include "store/postgres/schema.h"',
        "",
        "const char postgres_schema_sql[] = {",
        *rows,
        "    0,",
        "};",
        "",
    ]
    target.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
