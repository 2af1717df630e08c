#!/usr/bin/env python3
"""Writes the function that a task asks for: the smallest expression that fits the examples.

It reads nothing but the prompt ($RONDO_PROMPT): the function in the task's title, the examples and numbers in
its text, and, in later attempts, what the checks printed. It knows nothing about parcels. Expressions are made
of arguments, numbers of the text, + - * // max, the functions that are there already, and one condition.
"""

import importlib
import itertools
import operator
import os
import pathlib
import re
import sys

LARGEST = 11
MOST_EXPRESSIONS = 60_000
PARTS_OF_CONDITIONS = 3
EXAMPLE = r"`?{name}\(([\d, ]+)\)`? is (-?\d+)(?:, expected (-?\d+))?"
OPERATORS = {
    "({} + {})": operator.add,
    "({} - {})": operator.sub,
    "({} * {})": operator.mul,
    "({} // {})": operator.floordiv,
    "max({}, {})": max,
}


class Task:
    def __init__(self, prompt):
        title = re.search(r"^Task .*\b(\w+)\(([\w, ]+)\)", prompt)
        if title is None:
            sys.exit("worker.py: the title of the task names no function")
        self.name = title[1]
        self.parameters = title[2].split(", ")
        pattern = EXAMPLE.format(name=self.name)
        # What is printed by a check says the right value last.
        self.examples = {
            tuple(map(int, arguments.split(","))): int(expected or value)
            for arguments, value, expected in re.findall(pattern, prompt)
        }
        text = prompt.split("It is done when:")[0].split("\n", 1)[1]
        self.numbers = sorted(set(map(int, re.findall(r"\b\d+\b", re.sub(pattern, "", text)))))


def library(task):
    """The functions that other tasks have written."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.getcwd())
    names = sorted(path.stem for path in pathlib.Path("parcel").glob("[a-z]*.py"))
    modules = {name: importlib.import_module(f"parcel.{name}") for name in names if name != task.name}
    return {name: getattr(module, name) for name, module in modules.items()}


class Search:
    """Expressions by size; of those with the same values for all examples only the first."""

    def __init__(self, task, functions):
        self.inputs = list(task.examples)
        self.wanted = tuple(task.examples.values())
        self.sizes = {1: []}
        self.seen = {}
        for place, name in enumerate(task.parameters):
            self.add(1, name, tuple(arguments[place] for arguments in self.inputs))
        for number in task.numbers:
            self.add(1, str(number), (number,) * len(self.inputs))
        for name, function in functions.items():
            self.add_call(task, name, function)

    def add(self, size, text, values):
        if values not in self.seen:
            self.seen[values] = text
            self.sizes[size].append((text, values))

    def add_call(self, task, name, function):
        """A function of other tasks is called with what this one has by the same name."""
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        if set(names) <= set(task.parameters):
            places = [task.parameters.index(one) for one in names]
            values = tuple(function(*(arguments[place] for place in places)) for arguments in self.inputs)
            self.add(1, f"{name}({', '.join(names)})", values)

    def combine(self, size, function):
        for left in range(1, size - 1):
            for (one, a), (other, b) in itertools.product(self.sizes[left], self.sizes[size - 1 - left]):
                try:
                    yield one, other, tuple(map(function, a, b))
                except ZeroDivisionError:
                    continue

    def grow(self, size):
        self.sizes[size] = []
        for template, function in OPERATORS.items():
            for one, other, values in self.combine(size, function):
                self.add(size, template.format(one, other), values)

    def condition(self, size):
        """`A if B >= C else D`, of at most that size."""
        small = [one for part in range(1, PARTS_OF_CONDITIONS + 1) for one in self.sizes.get(part, [])]
        places = range(len(self.wanted))
        for (left, a), (right, b) in itertools.product(self.sizes[1], repeat=2):
            holds = [a[place] >= b[place] for place in places]
            if all(holds) or not any(holds):
                continue
            yes = next((t for t, v in small if all(v[i] == self.wanted[i] for i in places if holds[i])), None)
            no = next((t for t, v in small if all(v[i] == self.wanted[i] for i in places if not holds[i])), None)
            if yes is not None and no is not None:
                return f"{yes} if {left} >= {right} else {no}"
        return None

    def run(self):
        for size in range(1, LARGEST + 1):
            if size > 1:
                self.grow(size)
            if self.wanted in self.seen:
                return self.seen[self.wanted]
            found = self.condition(size) if size >= 8 else None
            if found is not None or len(self.seen) > MOST_EXPRESSIONS:
                return found
        return None


def write(task, expression, functions):
    used = [name for name in functions if re.search(rf"\b{name}\(", expression)]
    lines = [f"from parcel.{name} import {name}" for name in used]
    lines += ["", ""] if used else []
    if re.fullmatch(r"\((?!.* if ).*\)", expression):
        expression = expression[1:-1]
    lines += [f"def {task.name}({', '.join(task.parameters)}):", f"    return {expression}", ""]
    pathlib.Path(f"parcel/{task.name}.py").write_text("\n".join(lines))


def main():
    task = Task(os.environ["RONDO_PROMPT"])
    functions = library(task)
    expression = Search(task, functions).run()
    if expression is None:
        sys.exit(f"worker.py: no expression fits {len(task.examples)} examples of {task.name}")
    write(task, expression, functions)
    print(f"{task.name}: {expression} fits {len(task.examples)} examples")


main()
