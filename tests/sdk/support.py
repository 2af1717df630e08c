# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python client share."""

import logging
import pathlib
import shutil
import tempfile
import threading
import unittest

import relaytrace as rt
from standin import StandIn

logging.disable(logging.CRITICAL)

RISKY = {"impact": 3, "confidence": 0.5}
SAFE = {"impact": 0, "risk_level": 0, "reversible": True, "confidence": 0.9}


class World(unittest.TestCase):
    """A stand-in, a folder for state, and functions that are supervised."""

    def setUp(self):
        self.server = StandIn()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="relaytrace"))
        self.ran = []
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self.server.close)

    def options(self, **options):
        base = {
            "agent_id": "sec-triage-01", "supervisors": ["sec-oncall"], "endpoint": self.server.endpoint,
            "state_dir": self.folder, "budget": 5, "timeout": 10, "token": "rondo_secret-token",
        }  # fmt: skip
        return {**base, **options}

    def supervised(self, function, **options):
        return rt.relaytrace_supervised(**self.options(**options))(function)

    def tool(self, **facts):
        """A guarded tool that records its calls."""

        def isolate_host(host, count=1):
            self.ran.append({"host": host, "count": count})
            return f"isolated {host}"

        return rt.guarded(**(facts or RISKY))(isolate_host)

    def answering(self, status, **more):
        """A person who decides at once."""
        self.server.on_submit = lambda request: self.server.decide(request["id"], status, **more)

    def later(self, function, *args):
        thread = threading.Thread(target=function, args=args, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 10)

    def only_request(self):
        (request,) = self.server.requests.values()
        return request

    def paths(self):
        return [path for _, path, _, _ in self.server.calls]
