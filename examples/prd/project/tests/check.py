"""Compares the functions of parcel/ with their cases: check.py [NAME]. Without a name: all that are there."""

import importlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
CASE = re.compile(r"\w+\((?P<arguments>[\d, ]*)\) is (?P<value>-?\d+)")


def check(name):
    function = getattr(importlib.import_module(f"parcel.{name}"), name)
    cases = [CASE.fullmatch(line) for line in (ROOT / f"tests/{name}.txt").read_text().splitlines()]
    wrong = 0
    for case in cases:
        arguments = [int(word) for word in case["arguments"].split(",")]
        value = function(*arguments)
        if value != int(case["value"]):
            wrong += 1
            print(f"{name}({case['arguments']}) is {value}, expected {case['value']}")
    print(f"{name}: {len(cases) - wrong} of {len(cases)} cases are right")
    return wrong == 0 and cases != []


def main():
    names = sys.argv[1:] or sorted(path.stem for path in ROOT.glob("parcel/[a-z]*.py"))
    missing = [name for name in names if not (ROOT / f"parcel/{name}.py").exists()]
    for name in missing:
        print(f"parcel/{name}.py is missing")
    results = [check(name) for name in names if name not in missing]
    return 0 if all(results) and not missing else 1


sys.exit(main())
