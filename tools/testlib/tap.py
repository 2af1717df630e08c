# SPDX-License-Identifier: Apache-2.0
"""Results of unittest as TAP, one line for each case as soon as it has ended."""

import unittest


class Tap(unittest.TestResult):
    """A case that has `figures` when it has passed shows them after its name."""

    said = 0

    def say(self, is_ok, test, text="", comment=""):
        self.said += 1
        print(f"{'ok' if is_ok else 'not ok'} {self.said} - {test.id()}{comment}", flush=True)
        print("".join(f"    {line}\n" for line in text.splitlines()), end="", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say(True, test, getattr(test, "figures", ""))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say(False, test, self._exc_info_to_string(err, test))

    def addError(self, test, err):
        super().addError(test, err)
        self.say(False, test, self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say(True, test, comment=f" # SKIP {reason}")


def test(folder, patterns):
    """Run the tests of the files in `folder` that match. @return whether all passed"""
    result = Tap()
    for pattern in patterns:
        unittest.TestLoader().discover(str(folder), pattern).run(result)
    return result.wasSuccessful()
