# SPDX-License-Identifier: Apache-2.0
"""GitHub's own command line against the stand-in: it must understand what the stand-in says, and be understood.

`gh` speaks plain HTTP only to github.localhost, at port 80. So all of this runs again in a network and a file system
of its own (`unshare`), where that name leads to the stand-in."""

import fcntl
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

from client import ForgeCase, git
from standin import StandIn

INSIDE = "RONDO_FORGE_GH"
HOSTS = "127.0.0.1 localhost api.github.localhost github.localhost\n"
UNSHARE = ["unshare", "--map-root-user", "--net", "--mount"]
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def why_not():
    if shutil.which("gh") is None:
        return "gh is not installed"
    done = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"no namespaces here: {done.stderr.strip()}"


def load_tests(_loader, _tests, _pattern):
    """Outside: one case, which runs the others inside."""
    cases = [GitHubCli] if os.environ.get(INSIDE) else [Outside]
    return unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in cases)


class Outside(unittest.TestCase):
    def test_gh(self):
        reason = why_not()
        if reason is not None:
            self.skipTest(reason)
        command = [*UNSHARE, sys.executable, __file__, "-v"]
        done = subprocess.run(
            command, env=os.environ | {INSIDE: "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("Ran 0 tests", done.stdout)


def prepare():
    """Bring the loopback up, and let the name lead to it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    file = tempfile.NamedTemporaryFile("w", suffix=".hosts")
    file.write(HOSTS)
    file.flush()
    subprocess.run(["mount", "--bind", file.name, "/etc/hosts"], check=True)
    return file


class GitHubCli(ForgeCase):
    """Without a login of its own: the token comes by the environment."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.forge = StandIn("github", self.path / "forge", port=80)
        self.addCleanup(self.forge.close)

    def gh(self, *words, data=None, code=0, token="token-rondo-bot"):
        own = {"GH_HOST": "github.localhost", "GH_TOKEN": token, "GH_CONFIG_DIR": str(self.path / "config")}
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.path), "NO_COLOR": "1", "GH_PROMPT_DISABLED": "1"} | own
        done = subprocess.run(["gh", *words], env=variables, input=data, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout} {done.stderr}")
        return done

    def api(self, *words, **options):
        text = self.gh("api", *words, **options).stdout
        return json.loads(text) if text else None

    def test_it_reads(self):
        self.act("create-issue", title="One", labels=["code"])
        self.assertEqual(self.api("user")["login"], "rondo-bot")
        self.assertEqual(self.api("repos/acme/shop")["default_branch"], "main")
        self.assertEqual(self.api("repos/acme/shop/issues?labels=code")[0]["title"], "One")

    def test_it_follows_pages(self):
        self.act("create-issue", count=5)
        text = self.gh("api", "--paginate", "repos/acme/shop/issues?per_page=2", "--jq", ".[].number").stdout
        self.assertEqual(text.split(), ["5", "4", "3", "2", "1"])

    def test_it_writes(self):
        self.act("create-issue")
        place = "repos/acme/shop/issues/1"
        self.api("-X", "POST", f"{place}/labels", "-f", "labels[]=in-progress", "-f", "labels[]=code")
        self.api("-X", "POST", f"{place}/labels", "--input", "-", data='{"labels":["more"]}')
        names = [row["name"] for row in self.api(f"{place}/labels")]
        self.assertEqual(names, ["in-progress", "code", "more"])
        self.api("-X", "DELETE", f"{place}/labels/in-progress")
        self.assertGreater(self.api(f"{place}/comments", "-f", "body=words")["id"], 1 << 32)

    def test_a_list_in_one_text_is_one_odd_label(self):
        """What an older queue did by mistake."""
        self.act("create-issue")
        rows = self.api("-X", "POST", "repos/acme/shop/issues/1/labels", "-f", 'labels=["in-progress"]')
        self.assertEqual([row["name"] for row in rows], ['["in-progress"]'])

    def test_errors_are_exit_code_one(self):
        done = self.gh("api", "repos/acme/absent", code=1)
        self.assertIn("Not Found (HTTP 404)", done.stderr)
        self.assertEqual(json.loads(done.stdout)["message"], "Not Found")
        self.fault("limit-secondary", seconds=5)
        limited = self.gh("api", "-i", "repos/acme/shop", code=1)
        self.assertIn("Retry-After: 5", limited.stdout.title().replace("Retry-after", "Retry-After"))
        self.gh("api", "user", code=1, token="odd")

    def test_its_login_is_a_token(self):
        self.gh("auth", "login", "--hostname", "github.localhost", "--with-token", data="token-maria\n", token="")
        self.assertEqual(self.gh("auth", "token", "--hostname", "github.localhost", token="").stdout.strip(), "token-maria")
        self.assertIn("maria", self.gh("auth", "status", "--hostname", "github.localhost", token="").stderr)

    def test_rondo_takes_its_login(self):
        rondo = pathlib.Path(os.environ.get("RONDO_BUILD", "build")).resolve() / "src/cli/rondo"
        if not rondo.exists():
            self.skipTest(f"{rondo} is not built")
        self.gh("auth", "login", "--hostname", "github.localhost", "--with-token", data="token-maria\n", token="")
        self.act("create-issue", title="Make it", labels=["code"])
        folder = str(self.path / "clone")
        git("clone", "-q", "http://github.localhost/acme/shop.git", folder)
        for name in ("name", "email"):
            git("config", f"user.{name}", "t@example.org", folder=folder)
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.path), "GH_CONFIG_DIR": str(self.path / "config")}
        command = [str(rondo), "work", "--dry-run", "--forge", "github", "--api", "http://github.localhost/api/v3", "--", "true"]
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
        logins = {row["login"] for row in self.control("GET", "log") if row["path"].startswith("/api/v3/repos/")}
        self.assertEqual((done.returncode, logins), (0, {"maria"}), done.stdout + done.stderr)
        self.assertIn("#1", done.stdout)
        self.assertNotIn("token-maria", done.stdout + done.stderr)


if __name__ == "__main__":
    KEPT = prepare()
    unittest.main()
