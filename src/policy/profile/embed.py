#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the built-in profiles as a C file.

    embed.py OUTPUT.c NAME.cedar...
"""

import pathlib
import sys

ROW = 24


def main():
    target, *sources = map(pathlib.Path, sys.argv[1:])
    lines = [
        "/* Written by embed.py from share/profiles. */",
        '#include "policy/profile/profile_text.h"',
        "",
        "#include <stddef.h>",
        "",
    ]
    rows = []
    for number, source in enumerate(sources):
        # Numbers: a string literal of this length is more than the standard promises.
        codes = [str(byte) for byte in source.read_bytes()]
        lines.append(f"static const char text_{number}[] = {{")
        lines += ["    " + ",".join(codes[i : i + ROW]) + "," for i in range(0, len(codes), ROW)]
        lines += ["    0,", "};", ""]
        rows.append(f'    {{"{source.stem}", text_{number}, sizeof(text_{number}) - 1}},')
    lines += ["const struct profile_text profile_texts[] = {", *rows, "    {NULL, NULL, 0},", "};"]
    target.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
