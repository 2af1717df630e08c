# SPDX-License-Identifier: Apache-2.0
"""Small files that survive a crash: written beside, synced, renamed; readable by their owner only.

What others could have put there is not read: results and checkpoints decide what an agent does next.
"""

import errno
import os
import secrets
import stat

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def _check_owner(info, path):
    if info.st_uid not in (os.geteuid(), 0) or info.st_mode & _OTHERS_WRITE:
        raise PermissionError(errno.EPERM, "other users can write it", path.name)


def make_folder(folder):
    """Make a folder for its owner only. Raises OSError when there is one that others can write."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_owner(folder.stat(), folder)


def write(path, data):
    """Replace a file. @param data bytes"""
    make_folder(path.parent)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read(path, most):
    """The bytes of a file, or None when there is none. Raises ValueError when it has more than `most`, and OSError
    for links, for what is no file, and for what other users can write."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.EINVAL, "not a file", path.name)
        _check_owner(info, path)
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{path.name} has more than {most} bytes")
    return data
