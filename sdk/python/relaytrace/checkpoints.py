# SPDX-License-Identifier: Apache-2.0
"""What a lane is continued from, kept where the agent runs. The server keeps its digest only, by which a
checkpoint that was changed meanwhile is recognised."""

import re

from . import files
from .jcs import canonical, parse
from .errors import CanonicalError

MOST_BYTES = 16 << 20
MOST_INLINE_BYTES = 64 << 10
_ID = re.compile(r"[0-9a-f-]{36}")


class FileCheckpoints:
    """One file for each request. Replace it by an object with the same methods: a database, an object store."""

    def __init__(self, folder):
        self.folder = folder

    def _path(self, request_id):
        if not _ID.fullmatch(request_id):
            raise ValueError("not the id of a request")
        return self.folder / f"{request_id}.json"

    def save(self, request_id, state):
        """Keep a state. @return its reference, for the request"""
        data = canonical(state)
        if len(data) > MOST_BYTES:
            raise CanonicalError(f"the checkpoint has more than {MOST_BYTES} bytes")
        files.write(self._path(request_id), data)
        return f"file:{request_id}"

    def load(self, request_id):
        """The state, or None when there is none. Raises ValueError when it cannot be read."""
        data = files.read(self._path(request_id), MOST_BYTES)
        return None if data is None else parse(data)

    def delete(self, request_id):
        self._path(request_id).unlink(missing_ok=True)
