# SPDX-License-Identifier: Apache-2.0
"""The smallest supervised agent. Its one risky action waits for a person; everything else is made at once.

    rondo serve &
    export RELAYTRACE_TOKEN=$(rondo token create --scope agent --agent sec-triage-01 triage)
    PYTHONPATH=sdk/python python3 examples/agentcore-wrapper-minimal/agent.py host-17
    rondo inbox, and then rondo approve ID
"""

import sys

from relaytrace import guarded, relaytrace_supervised


@guarded(impact=0, risk_level=0, reversible=True, confidence=0.95)
def read_alerts(host):
    return [f"{host}: 40 connections to an unknown address"]


@guarded(impact=3, risk_level=2, reversible=True, confidence=0.55, rollback="release_host")
def isolate_host(host):
    return f"{host} is isolated"


@relaytrace_supervised(
  agent_id="sec-triage-01",
  supervisors=["sec-oncall", "sec-lead"],
  policy_profile="default-security"
)  # fmt: skip
def run_agent(task_input):
    alerts = read_alerts(task_input)
    return isolate_host(task_input) if alerts else "nothing to do"


if __name__ == "__main__":
    print(run_agent(sys.argv[1] if len(sys.argv) > 1 else "host-1"))
