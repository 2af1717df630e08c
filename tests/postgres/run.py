#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines that share a database, while everything fails that can: nothing that was acknowledged may be lost, and nothing
may be done twice.

    tests/postgres/run.py [--build FOLDER] [--NAME NUMBER]... [PART]...

Each part prints one line of TAP for its case, and its figures. Without a name all of them are run. What is not there
(PostgreSQL, the rights for namespaces) is skipped, with the reason. --seed repeats a part as far as its threads allow;
--keep FOLDER keeps what the machines have said.
"""

import argparse
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))

from testlib import tap

# Modules with the tests of each part.
PARTS = {
    "kills": "processes of Rondo are killed",
    "frozen": "processes are frozen for longer than their lease",
    "failovers": "the primary is killed, and its standby promoted",
    "patroni": "Patroni replaces a primary that is killed or frozen",
    "network": "links between machines and the database are cut",
    "clock": "clocks of machines are an hour wrong",
    "ten": "many servers execute many runs, and are killed",
    "terminate": "sessions of the database are ended",
    "full": "the disk of the database is full",
    "idle": "servers of which nothing is wanted leave the database alone, and show at once what another one does",
    "copies": "a store is copied, and the command killed",
}
NUMBERS = {
    "kills": "kills of processes",
    "freezes": "processes that are frozen",
    "failovers": "primaries that are killed",
    "leaders": "primaries of Patroni that are killed or frozen",
    "cuts": "of links",
    "servers": "of `ten` and `idle`",
    "runs": "of `ten`",
    "sessions": "sessions that are ended",
    "fills": "of the disk",
    "copies": "runs that are copied",
    "seed": "of what happens by chance",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--keep", metavar="FOLDER", help="where to keep what the machines have said")
    for name, text in NUMBERS.items():
        parser.add_argument(f"--{name}", type=int, metavar="N", help=text)
    parser.add_argument("parts", nargs="*", metavar="PART", help="; ".join(f"{k}: {v}" for k, v in PARTS.items()))
    arguments = parser.parse_args()
    if not PARTS.keys() >= set(arguments.parts):
        parser.error(f"parts are {', '.join(PARTS)}")
    os.environ["RONDO_BUILD"] = str(pathlib.Path(arguments.build).resolve())
    for name in [*NUMBERS, "keep"]:
        if getattr(arguments, name) is not None:
            os.environ[f"RONDO_POSTGRES_{name.upper()}"] = str(getattr(arguments, name))
    return 0 if tap.test(FOLDER, [f"{part}.py" for part in arguments.parts or PARTS]) else 1


if __name__ == "__main__":
    sys.exit(main())
