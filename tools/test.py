#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs everything that must hold and counts it.

    tools/test.py [--build FOLDER] [--only STAGE]...

The stages are the rows of STAGES below. After the build two lanes of stages run side by side, because
much of it waits. Each case is counted by itself: a cmocka case, a scenario, a code block, a check. Skipped ones are listed with their reason. The very last line is
`N passed, N failed`; the exit code is 1 if anything failed or nothing ran.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import unittest

# Stages that have no state folder of their own must not use that of the user who runs them.
os.environ["XDG_STATE_HOME"] = str(pathlib.Path(__file__).resolve().parent.parent / "build/test-state")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from testlib import acceptance, meson
from testlib.report import ROOT, Report, run

# Scripts that say by their exit code whether something holds.
CHECKS = [
    ("layers: each file includes its own layer and lower ones", ["tools/check-layers.py"]),
    ("opens: what agents can write is opened in one way", ["tools/check-opens.py"]),
    ("pages: what they name exists, and each folder of src has one", ["tools/check-docs.py"]),
    ("sizes: files up to 800 lines, functions up to 60", ["tools/check-sizes.py"]),
    ("format: clang-format has nothing to change", ["tools/check-format.sh"]),
    ("headers: public headers compile alone as C17 and C++17", ["tools/check-headers.sh"]),
    ("scripts: shellcheck has no finding", ["tools/check-scripts.sh"]),
    ("portable: no file depends on the author's machine", ["tools/check-portable.py"]),
    ("docs: the generated pages are those of the binary", ["tools/docs.sh", "--check", "{build}"]),
]

WERROR = "-Dwerror=true"

# Seeds of the simulator under a sanitizer; without one its own tests in Meson run more.
SANITIZED_SEEDS = 300


def stage_build(report, arguments):
    for name, command in [
        ("setup: Debian packages are there", ["tools/setup.sh", "build", "test"]),
        ("build: everything compiles, in a new folder with -Werror", ["tools/build.sh", arguments.build, WERROR]),
    ]:
        if not report.check(name, command):
            return False
    return True


def stage_checks(report, arguments):
    for name, command in CHECKS:
        report.check(name, [part.format(build=arguments.build) for part in command])


def stage_tools(report, _arguments):
    """The tests of the checkers themselves."""
    suite = unittest.defaultTestLoader.discover(str(ROOT / "tests/lint"))
    result = unittest.TestResult()
    suite.run(result)
    bad = result.failures + result.errors
    report.passed("tools", result.testsRun - len(bad) - len(result.skipped))
    for test, text in bad:
        report.failed(f"tools: {test}", text)
    for test, reason in result.skipped:
        report.skipped(f"tools: {test}", reason)


def stage_meson(report, arguments):
    meson.test(report, arguments.build, "main", lambda _, suites: "long" not in suites)


def stage_docs(report, arguments):
    out = run(["tests/docs/check-readme.py", "--build", arguments.build])
    report.lines("docs", out)


def stage_mcp(report, arguments):
    """The MCP client against the official conformance suite and real servers."""
    report.lines("mcp", run(["tests/mcp/run.py", "--build", arguments.build]))


def stage_models(report, arguments):
    """The model clients against official SDKs and servers of others."""
    report.lines("models", run(["tests/models/run.py", "--build", arguments.build]))


def stage_telemetry(report, arguments):
    """Traces and metrics against official definitions, a back end and Prometheus."""
    report.lines("telemetry", run(["tests/telemetry/run.py", "--build", arguments.build]))


def stage_api(report, arguments):
    """The API against clients of others, and its description through a validating proxy."""
    report.lines("api", run(["tests/api/run.py", "--build", arguments.build]))


def stage_web(report, arguments):
    """The dashboard in a browser; `make test-long` looks at every page in every theme and width."""
    run(["tools/setup.sh", "browser"])
    parts = ["unit", "served", "mocked", "glance"]
    report.lines("web", run(["tests/web/run.py", "--build", arguments.build, *parts]))


def stage_acceptance(report, arguments):
    acceptance.test(report, arguments.build)


def sanitized(report, arguments, name, compiler, sanitizer, is_wanted, environment):
    folder = f"{arguments.build}-{name}"
    options = [
        f"-Db_sanitize={sanitizer}",
        "-Db_lundef=false",
        WERROR,
        # Lines are all that a report needs, and quicker to compile.
        "-Doptimization=2",
        "-Ddebug=false",
        "-Dc_args=-g1",
    ]
    # lld takes a fifth of the time of ld; there are hundreds of programs.
    command = ["env", f"CC={compiler}", "CC_LD=lld", "tools/build.sh", folder, *options]
    run([*command, "build.ninja"])
    files = [*meson.files_of(folder, is_wanted), "tests/sim/sim"]
    if report.check(f"{name}: builds with {compiler} -Werror, -fsanitize={sanitizer}", [*command, *files]):
        meson.test(report, folder, name, is_wanted, timeout_factor=5, environment=environment)
        seeds = [f"{folder}/tests/sim/sim", "--seed", "1", "--count", str(SANITIZED_SEEDS)]
        variables = [f"{key}={value}" for key, value in environment.items()]
        report.check(f"{name}: simulator, {SANITIZED_SEEDS} seeds", ["env", *variables, *seeds])


def stage_address(report, arguments):
    environment = {
        "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
    wanted = {"unit", "fuzz"}
    sanitized(
        report, arguments, "address", "clang", "address,undefined",
        lambda name, suites: suites & wanted and "long" not in suites and not name.endswith("-indexed"),
        environment,
    )  # fmt: skip


def stage_thread(report, arguments):
    environment = {
        "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
    }
    # Tests of what several threads use, and those that say by their suite that they want this.
    names = re.compile(
        r"^(base/cancel|store/(writer|contract)|loop/(runtime|verify|many)"
        r"|api/(loop|conditions|events)$)"
    )
    sanitized(
        report, arguments, "thread", "gcc", "thread",
        lambda name, suites: "long" not in suites and ("thread" in suites or names.match(name)),
        environment,
    )  # fmt: skip


def compiled(report, arguments, compiler):
    command = ["env", f"CC={compiler}", "tools/build.sh", f"{arguments.build}-{compiler}"]
    report.check(f"compilers: {compiler} -Werror", [*command, WERROR])


def stage_gcc(report, arguments):
    compiled(report, arguments, "gcc")


def stage_clang(report, arguments):
    compiled(report, arguments, "clang")


# Name, function, lane: what is in no lane of `make test` runs only when it is asked for.
FIRST, ONE_LANE, OTHER_LANE, ON_DEMAND = range(4)
STAGES = [
    ("build", stage_build, FIRST),
    ("checks", stage_checks, ONE_LANE),
    ("tools", stage_tools, ONE_LANE),
    ("meson", stage_meson, ONE_LANE),
    ("docs", stage_docs, ONE_LANE),
    ("acceptance", stage_acceptance, ONE_LANE),
    ("mcp", stage_mcp, ONE_LANE),
    ("models", stage_models, ONE_LANE),
    ("telemetry", stage_telemetry, ONE_LANE),
    ("api", stage_api, ONE_LANE),
    ("address", stage_address, OTHER_LANE),
    ("thread", stage_thread, OTHER_LANE),
    ("web", stage_web, OTHER_LANE),
    # `build` compiles everything with the compiler of the machine, `address` with clang.
    ("gcc", stage_gcc, ON_DEMAND),
    ("clang", stage_clang, ON_DEMAND),
]


class Run:
    """One run of stages, on as many threads as there are lanes."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.report = Report()
        self.lock = threading.Lock()

    def is_wanted(self, name, lane):
        only = self.arguments.only
        return name in only if only else lane != ON_DEMAND

    def stage(self, name, function):
        """@return whether the stages behind it make sense"""
        begin = time.monotonic()
        stage = Report()
        try:
            goes_on = function(stage, self.arguments)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            stage.failed(f"{name}: the stage broke", str(error))
            goes_on = True
        with self.lock:
            self.report.take_in(name, stage, time.monotonic() - begin)
        return goes_on is not False

    def lane(self, lanes):
        for name, function, lane in STAGES:
            if lane in lanes and self.is_wanted(name, lane) and not self.stage(name, function):
                return False
        return True

    def all(self):
        if not self.lane({FIRST}):
            return
        others = threading.Thread(target=self.lane, args=({OTHER_LANE, ON_DEMAND},))
        others.start()
        self.lane({ONE_LANE})
        others.join()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--only", action="append", choices=[name for name, _, _ in STAGES])
    arguments = parser.parse_args()
    os.chdir(ROOT)
    run_of_stages = Run(arguments)
    run_of_stages.all()
    return run_of_stages.report.finish()


if __name__ == "__main__":
    sys.exit(main())
