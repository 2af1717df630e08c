#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays cases that the reference engine has answered, without the reference engine.

    golden.py --driver PROGRAM [FILE]

FILE is differential/seeds.jsonl unless given, as differential/golden.mjs writes it: the world that
most cases live in (entities and requests), then one case a line with what the reference said. A
request is a number where it is one of the world's. Exit code 0 when all agree, else 1.
"""

import argparse
import json
import pathlib
import sys

import engine

SEEDS = pathlib.Path(__file__).resolve().parent / "differential/seeds.jsonl"


def driver_line(case, world):
    requests = [
        world["requests"][request] if isinstance(request, int) else request
        for request in case["requests"]
    ]
    line = {"entities": world["entities"], **case, "requests": requests}
    return {key: value for key, value in line.items() if key != "expected"}


def differences(expected, outcome):
    """What is wrong with the outcome of a case, a text for each difference."""
    for part in ("parse", "entities"):
        if (outcome[part] is None) != expected[part]:
            said = "took" if expected[part] else "refused"
            return [f"{part}: {outcome[part] or 'taken'}; the reference {said} it"]
        if outcome[part] is not None:
            return []
    return engine.differences(expected["answers"], outcome)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("file", nargs="?", type=pathlib.Path, default=SEEDS)
    arguments = parser.parse_args()
    world, *cases = map(json.loads, arguments.file.read_text(encoding="utf-8").rstrip("\n").split("\n"))
    outcomes = engine.run(arguments.driver, [driver_line(case, world) for case in cases])
    found = [
        f"line {number}: {text}\n    {json.dumps(case)}"
        for number, (case, outcome) in enumerate(zip(cases, outcomes, strict=True), 2)
        for text in differences(case["expected"], outcome)
    ]
    for text in found:
        print(text)
    print(f"{len(cases)} cases, {len(found)} differences")
    return 1 if found or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
