# SPDX-License-Identifier: Apache-2.0
"""The order in which tools/test.py runs its stages."""

import argparse
import contextlib
import importlib.util
import io
import pathlib
import threading
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


def load():
    spec = importlib.util.spec_from_file_location("stages", TOOLS / "test.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(stages, only=None):
    """@return the names of the stages that ran, in the order in which they began"""
    module = load()
    begun = []

    def row(name, needs, outcome):
        def stage(_report, _arguments):
            begun.append(name)
            return outcome() if callable(outcome) else outcome

        return name, stage, needs

    module.STAGES = [row(*stage) for stage in stages]
    with contextlib.redirect_stdout(io.StringIO()):
        module.Run(argparse.Namespace(only=only)).all()
    return begun


class Stages(unittest.TestCase):
    def test_a_stage_waits_for_what_it_needs(self):
        begun = run([("b", ["a"], True), ("c", ["b"], None), ("a", [], True)])
        self.assertEqual(begun, ["a", "b", "c"])

    def test_what_needs_a_failed_stage_is_not_run(self):
        begun = run([("a", [], False), ("b", ["a"], True), ("c", ["b"], True), ("d", [], True)])
        self.assertEqual(sorted(begun), ["a", "d"])

    def test_a_stage_that_breaks_stops_no_other(self):
        def breaks():
            raise OSError("no such thing")

        self.assertEqual(run([("a", [], breaks), ("b", ["a"], True)]), ["a", "b"])

    def test_only_what_is_asked_for_is_run(self):
        stages = [("a", [], True), ("b", ["a"], True), ("c", None, True)]
        self.assertEqual(run(stages, ["b"]), ["b"])
        self.assertEqual(run(stages, ["c"]), ["c"])
        self.assertEqual(run(stages), ["a", "b"])

    def test_stages_run_side_by_side(self):
        together = threading.Barrier(2, timeout=30)
        outcome = lambda: together.wait() >= 0  # noqa: E731
        self.assertEqual(sorted(run([("a", [], outcome), ("b", [], outcome)])), ["a", "b"])

    def test_the_needs_of_the_rows_are_rows(self):
        stages = load().STAGES
        names = {name for name, _, _ in stages}
        for _, _, needs in stages:
            self.assertLessEqual(set(needs or []), names)


if __name__ == "__main__":
    unittest.main()
