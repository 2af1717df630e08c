# SPDX-License-Identifier: Apache-2.0
"""What people and programs do with the machines, and what these acknowledge to them: runs that were accepted, and events
that a stream has shown."""

import http.client
import json
import random
import threading
import time

# A stream that says nothing for so long is that of a machine that is gone; heartbeats come more often.
SILENCE_S = 40
# These do not go away by themselves.
WRONG = (400, 401, 403, 404, 413, 415, 422)


class Client:
    def __init__(self, machines):
        self.machines, self.is_over, self.thread = machines, threading.Event(), threading.Thread(target=self.keep_on)

    def living(self):
        return [each for each in self.machines if each.is_running() and not each.is_frozen]

    def keep_on(self):
        try:
            self.work()
        except Exception as error:  # a thread's failure is the test's
            self.failure = repr(error)

    failure = None

    def end(self):
        self.is_over.set()
        self.thread.join()


class Follower(Client):
    """Follows all runs, on one machine after the other, from the first event of the store."""

    def __init__(self, machines):
        super().__init__(machines)
        self.last, self.events, self.finished, self.lock = 0, [], {}, threading.Condition()
        self.thread.start()

    def work(self):
        while not self.is_over.is_set():
            machines = self.living()
            if machines:
                self.follow(random.choice(machines))
            self.is_over.wait(0.05)

    def follow(self, machine):
        connection = machine.connect(SILENCE_S)
        try:
            headers = {"Accept": "text/event-stream", "Last-Event-ID": str(self.last)}
            connection.request("GET", "/v1/events", headers=headers | machine.credentials)
            answer = connection.getresponse()
            if answer.status == 200:
                self.read(answer)
        except (OSError, http.client.HTTPException, ValueError):
            pass  # The machine is gone.
        finally:
            connection.close()

    def read(self, answer):
        position, data = None, []
        while not self.is_over.is_set():
            line = answer.readline()
            if not line:
                return
            line = line.decode().rstrip("\r\n")
            if line.startswith("id:"):
                position = int(line[3:])
            elif line.startswith("data:"):
                data.append(line[5:])
            elif line == "" and position is not None and data:
                self.note(position, json.loads("\n".join(data)))
                position, data = None, []
            elif line == "":
                position, data = None, []

    def note(self, position, event):
        with self.lock:
            self.events.append((position, event))
            self.last = position
            if event["type"] == "run.finished":
                self.finished[event["run_id"]] = event
            self.lock.notify_all()

    def wait_until(self, check, seconds):
        """@return whether `check()` became true; it is asked after each event"""
        limit = time.monotonic() + seconds
        with self.lock:
            while not check() and time.monotonic() < limit:
                self.lock.wait(0.5)
            return check()


class Starter(Client):
    """Keeps so many runs unfinished until it is told that there are enough, or has started `total`. A request that fails is
    repeated with its key, perhaps on another machine."""

    def __init__(self, machines, follower, body, active, total=None, seed=0):
        super().__init__(machines)
        self.follower, self.body, self.active, self.total = follower, body, active, total
        self.runs, self.refusals, self.repeated, self.random = {}, {}, 0, random.Random(seed)
        self.is_enough, self.said = threading.Event(), ""
        self.thread.start()

    def work(self):
        while not self.is_enough.is_set() and not self.is_over.is_set() and len(self.runs) != self.total:
            if len(self.runs) - len(self.follower.finished) >= self.active:
                time.sleep(0.02)
            else:
                self.start(f"agent-{len(self.runs)}")

    def start(self, name):
        """It has to succeed some time, or the run may exist without having been accepted."""
        body = self.body | {"agent_id": name}
        is_first = True
        while not self.is_over.is_set():
            machines = self.living()
            if machines:
                machine = self.random.choice(machines)
                status, text = machine.ask("POST", "/v1/runs", body, {"Idempotency-Key": f"{name}-key"}, 20)
                if status in (200, 201, 202):
                    self.runs[json.loads(text)["run_id"]] = name
                    self.repeated += not is_first
                    return
                is_first = False
                self.refusals[status] = self.refusals.get(status, 0) + 1
                self.said = text
                assert status not in WRONG, text
            self.is_over.wait(0.1)

    def is_done(self):
        return not self.thread.is_alive()
