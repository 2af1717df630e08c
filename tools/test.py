#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs everything that must hold and counts it.

    tools/test.py [--build FOLDER] [--only STAGE]...

The stages are the rows of STAGES below. Some run side by side, because much of it waits: each worker takes
the first row whose needs are done. Each case is counted by itself: a cmocka case, a scenario, a code block, a check. Skipped ones are listed with their reason. The very last line is
`N passed, N failed`; the exit code is 1 if anything failed or nothing ran.
"""

import argparse
import concurrent.futures
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
from testlib import acceptance, meson, npm, sanitizers
from testlib.report import ROOT, Report, run

# Scripts that say by their exit code whether something holds.
CHECKS = [
    ("layers: each file includes its own layer and lower ones", ["tools/check-layers.py"]),
    ("opens: what agents can write is opened in one way", ["tools/check-opens.py"]),
    ("pages: what they name exists, and each folder of src has one", ["tools/check-docs.py"]),
    ("types: no two have one name", ["tools/check-types.py"]),
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


def stage_setup(report, _arguments):
    return report.check("setup: Debian packages are there", ["tools/setup.sh", "build", "test"])


def stage_build(report, arguments):
    name = "build: everything compiles, in a new folder with -Werror"
    # lld is quicker than ld; there are hundreds of programs.
    return report.check(name, ["env", "CC_LD=lld", "tools/build.sh", arguments.build, WERROR])


def stage_packages(_report, _arguments):
    """Bring what long stages install while others compile. What does not come, they say."""
    run(["tools/setup.sh", "acceptance", "browser"])
    run(["tools/setup.sh", "database"])
    install(npm.FOLDERS[:npm.FIRST])


def stage_clients(_report, _arguments):
    """The same for the others, which are larger and wanted later."""
    install(npm.FOLDERS[npm.FIRST :])


def install(folders):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(npm.install, folders))


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


def stage_forge(report, arguments):
    """The stand-in forge of the work queue's tests, the client of forges against it, and machines that race."""
    report.lines("forge", run(["tests/forge/run.py", "--build", arguments.build]))


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


def stage_sdk(report, arguments):
    """The clients for foreign agents, the one for TypeScript with the real Strands."""
    report.lines("sdk", run(["tests/sdk/run.py", "--build", arguments.build]))


def stage_web(report, arguments):
    """The dashboard in a browser; `make test-long` looks at every page in every theme and width too."""
    run(["tools/setup.sh", "browser"])
    parts = ["unit", "served", "mocked"]
    report.lines("web", run(["tests/web/run.py", "--build", arguments.build, *parts]))


def stage_acceptance(report, arguments):
    acceptance.test(report, arguments.build, tags="not @long")


# Name of the stage and folder, compiler, sanitizer, options.
ADDRESS = ("address", "clang", "address,undefined", ["-Doptimization=2", WERROR])
# Without -Werror: the optimizer, whose warnings depend on its level, has seen all of it in `build`.
THREAD = ("thread", "gcc", "thread", ["-Doptimization=1"])
ADDRESS_VARIABLES = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
THREAD_VARIABLES = {
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


def configured(arguments, name, compiler, sanitizer, options):
    """@return the folder, and the command that builds files which are appended"""
    folder = f"{arguments.build}-{name}"
    # Lines are all that a report needs, and quicker to compile. What ends a program at the first finding
    # is quicker to compile too.
    variables = [f"CC={compiler}", "CC_LD=lld", "CFLAGS=-g1 -fno-sanitize-recover=all"]
    options = [f"-Db_sanitize={sanitizer}", "-Db_lundef=false", "-Ddebug=false", *options]
    command = ["env", *variables, "tools/build.sh", folder, *options]
    run([*command, "build.ninja"])
    return folder, command


def stage_postgres(report, arguments):
    """The feature files again, with their stores in PostgreSQL."""
    run(["tools/setup.sh", "database"])
    acceptance.test(report, arguments.build, variables={"RONDO_TEST_STORE": "postgresql"})


def sanitized(report, arguments, row, is_wanted, environment):
    name, compiler, sanitizer, _ = row
    folder, command = configured(arguments, *row)
    files = [*meson.files_of(folder, is_wanted), "tests/sim/sim"]
    if report.check(f"{name}: builds with {compiler} -fsanitize={sanitizer}", [*command, *files]):
        meson.test(report, folder, name, is_wanted, timeout_factor=10, environment=environment)
        seeds = [f"{folder}/tests/sim/sim", "--seed", "1", "--count", str(SANITIZED_SEEDS)]
        variables = [f"{key}={value}" for key, value in environment.items()]
        report.check(f"{name}: simulator, {SANITIZED_SEEDS} seeds", ["env", *variables, *seeds])


def stage_address(report, arguments):
    wanted = {"unit", "fuzz"}
    sanitized(
        report, arguments, ADDRESS,
        lambda name, suites: suites & wanted and "long" not in suites and not name.endswith("-indexed"),
        ADDRESS_VARIABLES,
    )  # fmt: skip


def stage_thread(report, arguments):
    # Tests of what several threads use, and those that say by their suite that they want this.
    names = re.compile(
        r"^(base/cancel|store/(writer|contract)|loop/(runtime|verify|many)"
        r"|api/(loop|conditions|events)$)"
    )
    sanitized(
        report, arguments, THREAD,
        lambda name, suites: "long" not in suites and ("thread" in suites or names.match(name)),
        THREAD_VARIABLES,
    )  # fmt: skip


def stage_queue(report, arguments):
    """The work queue as a whole program with sanitizers. `make test` runs it without."""
    servers = ["features/work_server.feature", "features/work_servers.feature", "features/work_seen.feature"]
    for row, variables, features in (
        (ADDRESS, ADDRESS_VARIABLES, ["features/work_*.feature"]),
        (THREAD, THREAD_VARIABLES, servers),
    ):
        folder, command = configured(arguments, *row)
        if report.check(f"queue: builds with -fsanitize={row[2]}", [*command, sanitizers.PROGRAM]):
            wrapped = sanitizers.wrap(folder, variables)
            report.lines("queue", run(["tests/forge/run.py", "--build", str(wrapped), "servers"]))
            acceptance.test(report, folder, features, wrapped / sanitizers.PROGRAM)
            sanitizers.check(report, f"queue, {row[0]}", wrapped)


def compiled(report, arguments, compiler):
    command = ["env", f"CC={compiler}", "tools/build.sh", f"{arguments.build}-{compiler}"]
    report.check(f"compilers: {compiler} -Werror", [*command, WERROR])


def stage_gcc(report, arguments):
    compiled(report, arguments, "gcc")


def stage_clang(report, arguments):
    compiled(report, arguments, "clang")


# Name, function, names of those that have to be done before; what takes longest comes first, and what
# compiles beside what waits. Two compile at first, so that what waits can begin soon. None: only when it is asked for.
STAGES = [
    ("setup", stage_setup, []),
    ("build", stage_build, ["setup"]),
    ("packages", stage_packages, ["setup"]),
    ("address", stage_address, ["setup"]),
    ("acceptance", stage_acceptance, ["build", "packages"]),
    ("web", stage_web, ["build", "packages"]),
    ("meson", stage_meson, ["build", "packages"]),
    ("clients", stage_clients, ["packages"]),
    ("thread", stage_thread, ["build"]),
    ("sdk", stage_sdk, ["build"]),
    ("models", stage_models, ["build"]),
    ("mcp", stage_mcp, ["build"]),
    ("api", stage_api, ["build"]),
    ("telemetry", stage_telemetry, ["build"]),
    ("checks", stage_checks, ["build"]),
    ("docs", stage_docs, ["build"]),
    ("forge", stage_forge, ["build"]),
    ("tools", stage_tools, ["setup"]),
    # For `make test-long`.
    ("queue", stage_queue, None),
    # `build` compiles everything with the compiler of the machine, `address` with clang.
    ("gcc", stage_gcc, None),
    ("postgres", stage_postgres, None),
    ("clang", stage_clang, None),
]
# Two more than cores: much of what runs waits.
WORKERS = 2 + os.cpu_count()


class Run:
    """One run of stages, by several threads."""

    def __init__(self, arguments):
        only = arguments.only
        self.arguments = arguments
        self.report = Report()
        self.waiting = [row for row in STAGES if (row[0] in only if only else row[2] is not None)]
        # Stages that are not done; a stage that fails what others need stays one.
        self.open = {name for name, _, _ in self.waiting}
        self.running = 0
        self.changed = threading.Condition()

    def next(self):
        """@return the next row, or None when there is nothing left that can be run"""
        with self.changed:
            while True:
                for row in self.waiting:
                    if self.open.isdisjoint(row[2] or []):
                        self.waiting.remove(row)
                        self.running += 1
                        return row
                if self.running == 0 or not self.waiting:
                    return None
                self.changed.wait()

    def stage(self, name, function):
        begin = time.monotonic()
        stage = Report()
        try:
            is_usable = function(stage, self.arguments) is not False
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            stage.failed(f"{name}: the stage broke", str(error))
            is_usable = True
        with self.changed:
            self.report.take_in(name, stage, time.monotonic() - begin)
            self.running -= 1
            if is_usable:
                self.open.discard(name)
            self.changed.notify_all()

    def work(self):
        while (row := self.next()) is not None:
            self.stage(row[0], row[1])

    def all(self):
        workers = [threading.Thread(target=self.work) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


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
