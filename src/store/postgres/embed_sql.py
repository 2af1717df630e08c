#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the schema and the steps of its migrations as a C file, without comments.

    embed_sql.py OUTPUT.c SCHEMA.sql FUNCTIONS.sql... STEP.sql...

A line "-- ==== NAME" of the schema begins the part postgres_schema_NAME; before the first one it is
postgres_schema_tables. What is in the other files is added to postgres_schema_functions, but for the
step in VERSION.sql: that becomes postgres_step_VERSION.
"""

import pathlib
import re
import sys

ROW = 24


def array(name, text):
    text = re.sub(r"^\s*--.*\n|\s+-- .*$", "", text, flags=re.M)
    # Numbers: a string literal of this length is more than the standard promises.
    codes = [str(byte) for byte in text.encode("ascii")]
    rows = ["    " + ",".join(codes[i : i + ROW]) + "," for i in range(0, len(codes), ROW)]
    return [f"const char {name}[] = {{", *rows, "    0,", "};", ""]


def main():
    target, schema, *others = map(pathlib.Path, sys.argv[1:])
    lines = ["/* Written by embed_sql.py. */", '#include "store/postgres/schema.h"', ""]
    parts = re.split(r"^-- ==== (\w+)\n", "-- ==== tables\n" + schema.read_text(), flags=re.M)
    steps = [other for other in others if other.stem.isdecimal()]
    functions = "".join(other.read_text() for other in others if other not in steps)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        text += functions if name == "functions" else ""
        lines += array(f"postgres_schema_{name}", text)
    for step in steps:
        lines += array(f"postgres_step_{step.stem}", step.read_text())
    target.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
