# SPDX-License-Identifier: Apache-2.0
"""Packages from npm that tests hold Rondo against."""

import hashlib
import shutil
import subprocess


def install(folder):
    """Install what the folder's lock file pins, unless it is there. @return None or why not"""
    if shutil.which("npm") is None:
        return "npm is not installed"
    digest = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / "node_modules/.rondo-installed"
    if stamp.exists() and stamp.read_text() == digest:
        return None
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return f"npm could not install the packages: {result.stderr.strip()[-300:]}"
    stamp.write_text(digest)
    return None
