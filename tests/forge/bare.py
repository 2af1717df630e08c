# SPDX-License-Identifier: Apache-2.0
"""The git half of the stand-in: a bare repository in a folder, with the commands that a forge runs in it.

References are read from their files, because each answer needs some and a process for each is slow; for that
the repository never packs them.
"""

import os
import pathlib
import shutil
import subprocess

NOBODY = "0" * 40
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Forge",
    "GIT_AUTHOR_EMAIL": "forge@example.org",
    "GIT_COMMITTER_NAME": "Forge",
    "GIT_COMMITTER_EMAIL": "forge@example.org",
    "LC_ALL": "C",
}
CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
[http]
\treceivepack = true
[receive]
\tautogc = false
\tadvertiseAtomic = true
[gc]
\tauto = 0
[uploadpack]
\tallowFilter = true
"""
# Patterns of the shell, one a line; what matches is refused as a protected branch is.
HOOK = """#!/bin/sh
while read -r pattern; do
    case "$1" in
    $pattern)
        echo "error: GH006: Protected branch update failed for $1." >&2
        exit 1
        ;;
    esac
done <protected
"""


class GitFailed(Exception):
    """A git command failed; the text is what it said."""


class Bare:
    """One bare repository."""

    def __init__(self, folder, branch):
        self.folder = pathlib.Path(folder)
        # What `git init --bare` makes, without its process.
        for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "hooks", "info"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
        (self.folder / "config").write_text(CONFIG)

    def run(self, *words, data=None, is_allowed=(0,)):
        """@return the finished process; GitFailed if its exit code is not one of `is_allowed`"""
        command = ["git", f"--git-dir={self.folder}", *words]
        done = subprocess.run(command, input=data, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        if done.returncode not in is_allowed:
            raise GitFailed(done.stderr.strip() or f"git {words[0]}: exit code {done.returncode}")
        return done

    def ref(self, name):
        """@return the commit that a reference points to, or None"""
        try:
            return (self.folder / name).read_text().strip() or None
        except OSError:
            return None

    def head(self, branch):
        return self.ref(f"refs/heads/{branch}") if branch else None

    def refs(self, prefix="refs/"):
        """@return {name: commit}, in order of names"""
        found = {}
        # Folders come and go while others push; that is no error here.
        for folder, _, files in os.walk(self.folder / "refs"):
            for file in files:
                name = os.path.relpath(os.path.join(folder, file), self.folder)
                if name.startswith(prefix) and not name.endswith(".lock"):
                    found[name] = self.ref(name)
        return {name: commit for name, commit in sorted(found.items()) if commit}

    def has(self, commit):
        return self.run("cat-file", "-e", f"{commit}^{{commit}}", is_allowed=(0, 1, 128)).returncode == 0

    def set_ref(self, name, new, old=None):
        """Move it from `old` (None = from wherever it is) to `new`; NOBODY for `old` makes it. @return whether it moved"""
        words = ["update-ref", name, new] + ([old] if old else [])
        return self.run(*words, is_allowed=(0, 1, 128)).returncode == 0

    def delete_ref(self, name):
        self.run("update-ref", "-d", name)

    def commit(self, branch, files, message, parent=None, author="Forge"):
        """Commit files ({path: text, or None = remove}) on a branch. `parent` is a commit to begin at, which moves
        the branch by force; "" begins a new history. @return the commit"""
        name = f"refs/heads/{branch}"
        start = self.ref(name) if parent is None else parent
        lines = [f"commit {name}", f"committer {author} <{author}@example.org> now", *data_lines(message)]
        if start:
            lines.append(f"from {start}")
        for path, text in files.items():
            lines += [f"M 100644 inline {path}", *data_lines(text)] if text is not None else [f"D {path}"]
        if parent == "" and self.ref(name):
            self.delete_ref(name)
        self.run("fast-import", "--quiet", "--force", "--date-format=now", data="\n".join(lines) + "\n")
        return self.ref(name)

    def count(self, base, head):
        """Commits of head that base does not have."""
        return int(self.run("rev-list", "--count", head, f"^{base}").stdout)

    def has_ancestor(self, ancestor, commit):
        return self.run("merge-base", "--is-ancestor", ancestor, commit, is_allowed=(0, 1, 128)).returncode == 0

    def merged_tree(self, base, head):
        """@return the tree of both, or None when they conflict"""
        done = self.run("merge-tree", "--write-tree", base, head, is_allowed=(0, 1, 128))
        return done.stdout.split()[0] if done.returncode == 0 else None

    def make_commit(self, tree, parents, message):
        words = [word for parent in parents for word in ("-p", parent)]
        return self.run("commit-tree", tree, *words, data=message).stdout.strip()

    def messages(self, base, head):
        return self.run("log", "--format=%B", head, f"^{base}").stdout

    def changed(self, base, head):
        """@return (added lines, removed lines, files) between where they parted and head"""
        rows = [line.split("\t") for line in self.run("diff", "--numstat", f"{base}...{head}").stdout.splitlines()]
        numbers = [(int(row[0]), int(row[1])) for row in rows if row[0].isdigit()]
        return sum(row[0] for row in numbers), sum(row[1] for row in numbers), len(rows)

    def protect(self, patterns):
        """Refuse pushes to references that match one of the shell's patterns."""
        hook = self.folder / "hooks/update"
        if not patterns:
            hook.unlink(missing_ok=True)
            return
        (self.folder / "protected").write_text("".join(f"{pattern}\n" for pattern in patterns))
        hook.write_text(HOOK)
        hook.chmod(0o755)

    def fork(self, folder, branch):
        """Another repository with the same branches and tags. Each finds the other's objects, as in a network of forks.
        @return it"""
        forked = Bare(folder, branch)
        for kind in ("heads", "tags"):
            shutil.copytree(self.folder / "refs" / kind, forked.folder / "refs" / kind, dirs_exist_ok=True)
        for one, other in ((self, forked), (forked, self)):
            with open(one.folder / "objects/info/alternates", "a", encoding="utf-8") as file:
                file.write(f"{other.folder.resolve() / 'objects'}\n")
        return forked

    def serve(self, variables, data):
        """One request to `git http-backend`. @return (status, [(name, value)], body)"""
        own = {"GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1"}
        done = subprocess.run(
            ["git", "http-backend"], input=data, env=ENVIRONMENT | own | variables, capture_output=True, check=False
        )
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode("latin-1").split("\r\n") if ": " in line]
        status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200)
        if not head:
            return 500, [("Content-Type", "text/plain")], done.stderr
        return status, [row for row in headers if row[0] != "Status"], body


def data_lines(text):
    return [f"data {len(text.encode())}", text]


def commands_of(data):
    """Changes of references that the body of a push asks for: [(old, new, name)]."""
    found, place = [], 0
    while place + 4 <= len(data):
        try:
            size = int(data[place : place + 4], 16)
        except ValueError:
            break
        if size < 4:
            break
        line = data[place + 4 : place + size].split(b"\0")[0].decode(errors="replace").strip()
        words = line.split(" ", 2)
        if len(words) == 3 and len(words[0]) == 40:
            found.append((words[0], words[1], words[2]))
        place += size
    return found
