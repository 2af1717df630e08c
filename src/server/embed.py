#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the dashboard of web/ and writes it as a table in C.

    embed.py --web WEB --bundle FOLDER --output FILE.c --depfile FILE.d [--node NODE --npm NPM] [--must]

Installs what web/package-lock.json pins, unless web/node_modules holds just that; so a second build
needs no network. Several build folders may do it at the same time: one installs, the others wait.
Without --node, or when the packages cannot be had and --must was not given, the table is empty: the
program is built without a dashboard, and says so.
"""

import argparse
import gzip
import hashlib
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from testlib import npm

ROW = 24
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}


def bundle(web, node, folder):
    """Run the bundler. A mistake in the sources is an error, whatever was asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [node, "build.mjs", str(folder.resolve())]
    result = subprocess.run(command, cwd=web, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"the dashboard could not be built: {(result.stderr or result.stdout).strip()}")
    return sorted(path for path in folder.iterdir() if path.suffix in TYPES)


def number_rows(data):
    codes = [str(byte) for byte in data]
    return ["    " + ",".join(codes[i : i + ROW]) + "," for i in range(0, len(codes), ROW)]


def array(name, data):
    return [f"static const unsigned char {name}[] = {{", *number_rows(data), "};", ""]


def entry(index, path, data, packed):
    name = "/" if path.name == "index.html" else f"/{path.name}"
    etag = hashlib.sha256(data).hexdigest()[:24]
    return [
        "    {",
        f'        .path = "{name}",',
        f'        .content_type = "{TYPES[path.suffix]}",',
        f'        .etag = "\\"{etag}\\"",',
        f"        .is_immutable = {'false' if name == '/' else 'true'},",
        f"        .bytes = bytes_{index},",
        f"        .len = sizeof(bytes_{index}),",
        f"        .gzip = {f'gzip_{index}' if packed else 'NULL'},",
        f"        .gzip_len = {f'sizeof(gzip_{index})' if packed else '0'},",
        "    },",
    ]


def table(files):
    arrays, entries = [], []
    for index, path in enumerate(files):
        data = path.read_bytes()
        packed = gzip.compress(data, 9, mtime=0)
        packed = packed if len(packed) < len(data) else b""
        arrays += array(f"bytes_{index}", data)
        arrays += array(f"gzip_{index}", packed) if packed else []
        entries += entry(index, path, data, packed)
    return [
        "/* Written by embed.py from web/. */",
        '#include "server/answer/assets_table.h"',
        "",
        *arrays,
        "const struct asset asset_table[] = {",
        *entries,
        "    {0},",
        "};",
        f"const size_t asset_table_len = {len(files)};",
        "",
    ]


def dependencies(web):
    names = ["build.mjs", "package.json", "package-lock.json"]
    sources = [path for path in (web / "src").rglob("*") if path.is_file()]
    return [web / name for name in names] + sorted(sources)


def build(arguments):
    if not arguments.node or not arguments.npm:
        return []
    reason = npm.install(arguments.web, arguments.npm)
    if reason is not None and arguments.must:
        sys.exit(reason)
    if reason is not None:
        print(f"warning: built without the dashboard: {reason}", file=sys.stderr)
        return []
    return bundle(arguments.web, arguments.node, arguments.bundle)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name in ("--web", "--bundle", "--output", "--depfile"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--node", default="")
    parser.add_argument("--npm", default="")
    parser.add_argument("--must", action="store_true")
    arguments = parser.parse_args()
    arguments.web = arguments.web.resolve()
    files = build(arguments)
    arguments.output.write_text("\n".join(table(files)))
    names = " ".join(str(path).replace(" ", "\\ ") for path in dependencies(arguments.web))
    arguments.depfile.write_text(f"{arguments.output}: {names}\n")


if __name__ == "__main__":
    main()
