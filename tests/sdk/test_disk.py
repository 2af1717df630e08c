# SPDX-License-Identifier: Apache-2.0
"""What the Python client keeps on disk, when somebody else has been there: linked, replaced, huge, read by two."""

import os
import stat
import unittest

import relaytrace as rt
from relaytrace import files
from relaytrace.errors import ServerAnswerInvalid
from support import RISKY, SAFE, World


class Files(World):
    def test_a_link_a_pipe_and_a_file_that_others_can_write_are_not_read(self):
        good = self.folder / "good.json"
        files.write(good, b"{}")
        (self.folder / "link.json").symlink_to(good)
        os.mkfifo(self.folder / "pipe.json")
        (self.folder / "open.json").write_bytes(b"{}")
        (self.folder / "open.json").chmod(0o666)
        self.assertEqual(files.read(good, 10), b"{}")
        for name in ("link.json", "pipe.json", "open.json"):
            with self.assertRaises(OSError, msg=name):
                files.read(self.folder / name, 10)

    def test_nothing_is_kept_in_a_folder_that_others_can_write(self):
        (self.folder / "shared").mkdir()
        (self.folder / "shared").chmod(0o777)
        with self.assertRaises(OSError):
            files.write(self.folder / "shared" / "a.json", b"{}")
        files.write(self.folder / "own" / "a.json", b"{}")
        self.assertEqual(stat.S_IMODE((self.folder / "own").stat().st_mode), 0o700)

    def test_a_checkpoint_that_is_a_link_or_lacks_something_is_a_mismatch(self):
        tool = self.tool()
        agent = self.supervised(lambda host: tool(host), mode="suspend")
        with self.assertRaises(rt.HandoffPending) as pending:
            agent("a")
        request_id = pending.exception.request_id
        self.server.decide(request_id, "approved")
        checkpoints = agent.supervisor.config.checkpoints
        state = checkpoints.load(request_id)
        checkpoints.save(request_id, {name: value for name, value in state.items() if name != "action_digest"})
        for call in (lambda: agent.resume(request_id), lambda: rt.answer(request_id, ["a"])):
            with self.assertRaises(rt.CheckpointMismatch):
                call()
        path = self.folder / "checkpoints" / f"{request_id}.json"
        path.rename(self.folder / "elsewhere.json")
        path.symlink_to(self.folder / "elsewhere.json")
        with self.assertRaises(rt.CheckpointMismatch):
            agent.resume(request_id)
        self.assertEqual(self.ran, [])


class Reports(World):
    """The reports that could not be sent."""

    def setUp(self):
        super().setUp()
        self.spool = self.supervised(lambda: 1).supervisor.spool
        self.spool.add("/v1/audit/receipts", {"n": 1})
        self.spool.add("/v1/audit/receipts", {"n": 2})

    def kept(self):
        return sorted(self.spool.folder.iterdir())

    def test_two_processes_that_send_them_do_not_disturb_each_other(self):
        sent = []

        def send(_path, value):
            sent.append(value["n"])
            for path in self.kept():
                path.unlink()  # the other process was faster

        self.assertEqual(self.spool.flush(send), 0)
        self.assertEqual(sent, [1])

    def test_an_answer_that_makes_no_sense_loses_none(self):
        def send(_path, _value):
            raise ServerAnswerInvalid("a page of a proxy")

        self.assertEqual(self.spool.flush(send), 2)
        self.assertEqual({path.suffix for path in self.kept()}, {".json"})

    def test_what_is_no_report_is_set_aside_and_the_action_has_its_result(self):
        first, second = self.kept()
        first.unlink()
        os.mkfifo(first)
        second.write_bytes(b"[" * 70_000)
        tool = self.tool(**SAFE)
        self.assertEqual(self.supervised(lambda: tool("a"))(), "isolated a")
        self.assertEqual({path.suffix for path in self.kept()}, {".damaged"})


class Operands(World):
    """Files that an action names."""

    def run_agent(self, change):
        script = self.folder / "deploy.sh"
        script.write_text("echo good")
        run = rt.guarded(operands=lambda args: [args["path"]], **RISKY)(lambda path: self.ran.append(path))

        def people(request):
            change(script)
            self.server.decide(request["id"], "approved")

        self.server.on_submit = people
        self.supervised(lambda: run(str(script)))()

    def test_one_that_was_changed_while_people_decided_voids_the_approval(self):
        for change in (lambda script: script.write_text("echo evil"), lambda script: script.unlink()):
            self.server.requests.clear()
            with self.assertRaises(rt.DecisionInvalid):
                self.run_agent(change)
            self.assertEqual(self.ran, [])
            self.assertEqual(self.only_request()["application"], "failed")

    def test_one_that_is_as_it_was_is_approved(self):
        self.run_agent(lambda _script: None)
        self.assertEqual(len(self.ran), 1)


if __name__ == "__main__":
    unittest.main()
