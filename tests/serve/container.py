#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Containerfile says, tried without an image: the installed program as the first process of namespaces with a root
that is read-only, as another user, with the folders, variables and commands of the file. Exit code 77: bubblewrap cannot
do that here."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Containerfile").read_text()
PATIENCE_S = 60

ROLE = """apiVersion: initrunner/v1
kind: Agent
metadata: {name: nightly}
spec:
  role: You test.
  model: {provider: openai, name: gpt-5-mini}
  triggers: [{type: cron, schedule: "0 0 29 2 *", prompt: leap}]
"""


def setting(pattern):
    return re.search(pattern, TEXT, re.M).group(1)


def check_packages(program):
    """Each library that the program is linked with comes from a package of the image."""
    listed = set(setting(r"apt-get install -y --no-install-recommends \\\n((?:.*\\\n)+?)    &&").split())
    for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines():
        found = re.search(r"=> (/\S+)", line)
        if found is None or shutil.which("dpkg") is None:
            continue
        path = os.path.realpath(found.group(1))
        owner = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True, check=False).stdout.split(":")[0]
        assert owner in listed | {"", "libc6"}, f"{path} of the package {owner} is not in the image"


class Container:
    def __init__(self, program, top):
        self.volume = top / "volume"
        self.roles = top / "roles"
        self.roles.mkdir()
        (self.roles / "nightly.yaml").write_text(ROLE)
        for name in re.findall(r"/var/lib/rondo/(\w+)", setting(r"install -d ([\s\S]*?)\nCOPY")):
            (self.volume / name).mkdir(parents=True, mode=0o700)
        environment = dict(one.split("=", 1) for one in setting(r"^ENV (.*)$").split())
        variables = dict(environment, HOME="/var/lib/rondo", PATH="/usr/bin:/bin")
        self.command = [
            *("bwrap", "--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-pid", "--unshare-ipc"),
            *("--unshare-uts", "--die-with-parent", "--as-pid-1", "--clearenv", "--ro-bind", "/usr", "/usr"),
            *("--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"),
            *("--proc", "/proc", "--dev", "/dev", "--ro-bind", program, "/rondo"),
            *("--ro-bind", self.roles, "/roles", "--bind", self.volume, "/var/lib/rondo", "--remount-ro", "/"),
            *("--chdir", setting(r"^WORKDIR (/var\S+)$")),
        ]
        for name, value in variables.items():
            self.command += ["--setenv", name, value]

    def run(self, *words):
        return subprocess.run([*self.command, "/rondo", *words], capture_output=True, text=True, check=False)

    def start(self, words, log):
        """Start the program with a free port. Returns the process and its port."""
        process = subprocess.Popen([*self.command, "/rondo", *words], stderr=log.open("w"))
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.search(r"on http://0\.0\.0\.0:(\d+)", log.read_text())) is None:
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        return process, int(found.group(1))


def end(process, log):
    """As `podman stop` does: SIGTERM for the first process in there."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0, log.read_text()


def fetch(port, path, token=None):
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, None


def check_daemon(container, top):
    """The command of the head of the file, and the one that makes a token."""
    words = re.search(r"daemon /roles .*", TEXT).group(0).replace(":7466", ":0").split()
    log = top / "log"
    process, port = container.start(words, log)
    made = container.run(*re.search(r"rondo (token create .*)", TEXT).group(1).split())
    token = re.search(r"rondo_\S+", made.stdout).group(0)
    assert fetch(port, "/v1/sources")[0] == 401
    status, found = fetch(port, "/v1/sources", token)
    assert status == 200 and [one["role"] for one in found["sources"]] == ["nightly"], found
    end(process, log)
    process, port = container.start(words, log)
    assert fetch(port, "/v1/sources", token)[0] == 200, "the token is gone after a restart"
    end(process, log)


def check_serve(container, top):
    words = json.loads(setting(r"^CMD (\[.*\])$"))
    log = top / "log"
    process, port = container.start([one.replace(":7466", ":0") for one in words], log)
    assert fetch(port, "/v1/runs")[0] == 401
    end(process, log)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        subprocess.run(
            ["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", top / "out"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (program,) = (top / "out").rglob("bin/rondo")
        check_packages(program)
        container = Container(program, top)
        if shutil.which("bwrap") is None or container.run("--version").returncode != 0:
            print("bubblewrap cannot make the namespaces here")
            return 77
        check_daemon(container, top)
        check_serve(container, top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
