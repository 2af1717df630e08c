# SPDX-License-Identifier: Apache-2.0
"""Messages that could not be sent, on disk, until they can. They contain digests and ids, no arguments."""

import hashlib
import logging
import os
import time

from . import files
from .jcs import canonical, parse
from .errors import RelayTraceError, ServerAnswerInvalid, ServerRefused, ServerUnreachable

log = logging.getLogger("relaytrace")

MOST_MESSAGES = 10_000
MOST_BYTES = 64 << 10
_FINAL = (400, 403, 404, 409, 413, 422)


class Spool:
    """The messages of one agent to one server. They may be sent twice; the server recognises them by their ids."""

    def __init__(self, folder, endpoint, agent_id):
        name = hashlib.sha256(f"{endpoint}\n{agent_id}".encode()).hexdigest()[:32]
        self.folder = folder / "spool" / name

    def add(self, path, value):
        """Keep a message. @return whether it was kept; what fails is logged, never raised"""
        try:
            files.make_folder(self.folder)
            if len(self._names()) >= MOST_MESSAGES:
                log.error("%d messages could not be sent; the next one is dropped", MOST_MESSAGES)
                return False
            name = f"{time.time_ns():020d}-{os.urandom(4).hex()}.json"
            files.write(self.folder / name, canonical({"path": path, "value": value}))
        except (OSError, RelayTraceError) as error:
            log.error("a message could not be kept: %s", type(error).__name__)
            return False
        return True

    def _names(self):
        try:
            return sorted(name for name in os.listdir(self.folder) if name.endswith(".json") and name[0] != ".")
        except FileNotFoundError:
            return []
        except OSError as error:
            log.error("the kept messages cannot be read: %s", error.strerror)
            return []

    @staticmethod
    def _set_aside(path, why):
        """A message that is not sent any more. Another process may have sent it meanwhile."""
        try:
            path.rename(path.with_suffix(why))
        except OSError:
            pass

    def flush(self, send):
        """Send what is kept, the oldest first; several processes may do so at the same time. Raises nothing.
        @param send called with (path, value) @return how many are left"""
        names = self._names()
        for position, name in enumerate(names):
            path = self.folder / name
            try:
                data = files.read(path, MOST_BYTES)
                if data is None:
                    continue  # another process has sent it
                message = parse(data)
                send(message["path"], message["value"])
                path.unlink(missing_ok=True)
            except (ServerUnreachable, ServerAnswerInvalid):
                return len(names) - position
            except ServerRefused as refusal:
                if refusal.status not in _FINAL:
                    return len(names) - position
                log.error("a kept message was refused: %s", refusal.code)
                self._set_aside(path, ".refused")
            except (RelayTraceError, ValueError, KeyError, TypeError, OSError):
                log.error("a kept message cannot be read: %s", name)
                self._set_aside(path, ".damaged")
        return 0
