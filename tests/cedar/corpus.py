#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the official Cedar corpus through the engine and compares every answer.

    corpus.py --driver PROGRAM [CORPUS]

CORPUS is ../shared/data/cedar/corpus.jsonl.gz beside the source folder unless given: one JSON
object a line with policies, entities and requests, each with the answer of the reference engine.
Exit code 0 when all agree, 1 with the differences, 77 (skipped) when there is no corpus.
"""

import argparse
import gzip
import json
import pathlib
import sys

import engine

SOURCE_ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = SOURCE_ROOT.parent / "shared/data/cedar/corpus.jsonl.gz"
SKIPPED = 77
# Differences that are shown one by one; the rest is only counted.
SHOWN = 20


def driver_line(case):
    """A case in the form that the driver reads: JSON inside of strings."""
    requests = [
        {
            "principal": request["principal"],
            "action": request["action"],
            "resource": request["resource"],
            "context": json.dumps(request["context"]),
        }
        for request in case["requests"]
    ]
    return {
        "policies": case["policies"],
        "entities": json.dumps(case["entities"]),
        "requests": requests,
    }


def differences(case, outcome):
    """What is wrong with the outcome of a case, a text for each difference."""
    for part in ("parse", "entities"):
        if outcome[part] is not None:
            return [f"{part}: {outcome[part]}"]
    return engine.differences(case["requests"], outcome)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("corpus", nargs="?", type=pathlib.Path, default=CORPUS)
    arguments = parser.parse_args()
    if not arguments.corpus.exists():
        print("skipped: the corpus is not there (shared/data/cedar/corpus.jsonl.gz)")
        return SKIPPED
    with gzip.open(arguments.corpus, "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    outcomes = engine.run(arguments.driver, [driver_line(case) for case in cases])
    found = [
        f"{case['id']}: {text}"
        for case, outcome in zip(cases, outcomes, strict=True)
        for text in differences(case, outcome)
    ]
    for text in found[:SHOWN]:
        print(text)
    requests = sum(len(case["requests"]) for case in cases)
    print(f"{len(cases)} cases, {requests} requests, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
