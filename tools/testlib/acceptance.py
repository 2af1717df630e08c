# SPDX-License-Identifier: Apache-2.0
"""Running the feature files with cucumber-js and counting their scenarios."""

import base64
import json
import os

from . import npm
from .report import ROOT, run

FOLDER = ROOT / "tests/acceptance"


def test(report, build, features=None, binary=None, variables=None, tags=None):
    """@param features paths or patterns in tests/acceptance; None = all @param binary None = that of the build
    @param tags an expression of cucumber-js for the tags of those that are wanted; None = all
    @param variables of the environment of scenarios, besides those of this process"""
    setup = run(["tools/setup.sh", "acceptance"])
    reason = setup.stdout if setup.returncode != 0 else npm.install(FOLDER)
    node = None
    if reason is None:
        node, reason = npm.any_node()
    if reason is not None:
        if os.environ.get("CI"):
            report.failed("acceptance: cucumber-js could not be installed", reason)
        else:
            report.skipped("acceptance: all scenarios", reason)
        return
    browser = run(["tools/setup.sh", "browser"])
    if browser.returncode != 0 and os.environ.get("CI"):
        report.failed("acceptance: chromium could not be installed", browser.stdout)
    log = ROOT / build / "acceptance.json"
    log.parent.mkdir(exist_ok=True)
    log.unlink(missing_ok=True)
    environment = dict(os.environ, RONDO_BUILD=str(ROOT / build), **(variables or {}))
    if binary is not None:
        environment["RONDO_BIN"] = str(binary)
    environment.setdefault("RONDO_BIN", str(ROOT / build / "src/cli/rondo"))
    program = "tests/acceptance/node_modules/@cucumber/cucumber/bin/cucumber.js"
    # Scenarios wait for most of their time.
    command = [node, str(ROOT / program), "--format", f"json:{log}", "--parallel", str(2 * os.cpu_count())]
    if tags is not None:
        command += ["--tags", tags]
    if features is not None:
        command += ["--config", choose(features, ROOT / build / "cucumber.json")]
    result = run(["env", "-C", str(FOLDER), *command], environment)
    if not log.exists() or log.stat().st_size == 0:
        report.failed("acceptance: cucumber-js wrote no results", result.stdout)
        return
    for feature in json.loads(log.read_text()):
        for scenario in feature["elements"]:
            count(report, feature["name"], scenario)


def choose(features, path):
    """Write a configuration with other paths. @return it as cucumber-js takes it"""
    configuration = json.loads((FOLDER / "cucumber.json").read_text())
    configuration["default"]["paths"] = features
    path.write_text(json.dumps(configuration))
    return os.path.relpath(path, FOLDER)


def logged(scenario):
    """Texts that the steps logged, which say why a scenario was skipped."""
    for step in scenario["steps"]:
        for attachment in step.get("embeddings", []):
            if attachment["mime_type"] == "text/x.cucumber.log+plain":
                yield base64.b64decode(attachment["data"]).decode(errors="replace")


def count(report, feature, scenario):
    name = f"acceptance: {feature}: {scenario['name']}"
    results = [(step, step["result"]) for step in scenario["steps"]]
    statuses = {result["status"] for _, result in results}
    if statuses <= {"passed"}:
        report.passed(name)
    elif statuses <= {"passed", "skipped"}:
        report.skipped(name, "; ".join(logged(scenario)))
    else:
        bad = [(s, r) for s, r in results if r["status"] not in ("passed", "skipped")]
        step, outcome = bad[0]
        text = f"{step['keyword']}{step.get('name', '')}: {outcome['status']}\n"
        report.failed(name, text + outcome.get("error_message", ""))
