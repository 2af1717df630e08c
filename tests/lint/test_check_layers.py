# SPDX-License-Identifier: Apache-2.0
"""The layer check finds what it must and nothing else."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools/check-layers.py"


class LayerCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for name in ("base/buf.h", "os/spawn/spawn.h", "loop/driver/driver.h", "api/api.h"):
            self.write(f"src/{name}", "#pragma once\n")
        for name in ("error.h", "types.h", "rondo.h"):
            self.write(f"include/rondo/{name}", "#pragma once\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self):
        command = [sys.executable, str(CHECKER), str(self.root)]
        return subprocess.run(command, capture_output=True, text=True)

    def assert_accepted(self):
        result = self.check()
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def assert_refused(self, *words):
        result = self.check()
        self.assertEqual(result.returncode, 1, result.stdout)
        for word in words:
            self.assertIn(word, result.stdout)

    def test_modules_of_a_layer_that_include_one_another_are_refused(self):
        self.write("src/os/a.h", "#pragma once\n")
        self.write("src/os/b.h", '#include "os/a.h"\n')
        self.write("src/os/a.c", '#include "os/a.h"\n#include "os/b.h"\n')
        self.assert_refused("src/os/a: includes one another in a circle: os/a os/b")

    def test_folders_that_include_one_another_are_refused(self):
        self.write("src/os/x/a.h", "#pragma once\n")
        self.write("src/os/y/b.h", '#include "os/x/a.h"\n')
        self.write("src/os/y/c.h", "#pragma once\n")
        self.write("src/os/x/d.h", '#include "os/y/c.h"\n')
        self.assert_refused("src/os/x: includes one another in a circle: os/x os/y")

    def test_a_module_may_include_its_own_internal_header(self):
        self.write("src/os/a.h", "#pragma once\n")
        self.write("src/os/a_internal.h", '#include "os/a.h"\n')
        self.write("src/os/a.c", '#include "os/a_internal.h"\n')
        self.assert_accepted()

    def test_a_layer_may_include_itself_and_lower_ones(self):
        self.write("src/loop/a.c", '#include "loop/driver/driver.h"\n#include "base/buf.h"\n')
        self.assert_accepted()

    def test_a_layer_may_not_include_a_higher_one(self):
        self.write("src/base/a.c", '#include "base/buf.h"\n#include "loop/driver/driver.h"\n')
        self.assert_refused("src/base/a.c:2", "layer base is below loop")

    def test_every_layer_may_use_the_public_types(self):
        self.write("src/base/a.c", '#include "rondo/types.h"\n#include "rondo/error.h"\n')
        self.assert_accepted()

    def test_only_the_api_and_above_may_use_the_public_api(self):
        self.write("src/api/a.c", '#include "rondo/rondo.h"\n')
        self.assert_accepted()
        self.write("src/loop/a.c", '#include "rondo/rondo.h"\n')
        self.assert_refused("src/loop/a.c:1")

    def test_the_cedar_engine_uses_nothing_but_base_and_its_own_header(self):
        self.write("include/rondo/cedar.h", "#pragma once\n")
        self.write("src/policy/cedar/a.h", '#include "rondo/cedar.h"\n#include "base/buf.h"\n')
        self.write("src/loop/a.c", '#include "rondo/cedar.h"\n')
        self.assert_accepted()
        self.write("src/policy/other.h", "#pragma once\n")
        self.write("src/policy/cedar/b.c", '#include "policy/other.h"\n')
        self.assert_refused("src/policy/cedar/b.c:1")

    def test_the_engine_knows_no_model(self):
        self.write("src/model/a.h", "#pragma once\n")
        self.write("src/agent/a.c", '#include "model/a.h"\n')
        self.assert_accepted()
        self.write("src/loop/a.c", '#include "model/a.h"\n')
        self.assert_refused("src/loop/a.c:1")

    def test_layers_below_the_policies_may_not_use_cedar(self):
        self.write("include/rondo/cedar.h", "#pragma once\n")
        self.write("src/os/a.c", '#include "rondo/cedar.h"\n')
        self.assert_refused("src/os/a.c:1")

    def test_an_include_without_its_layer_is_refused(self):
        self.write("src/base/a.c", '#include "buf.h"\n')
        self.assert_refused("does not name its layer")

    def test_an_include_with_dots_is_refused(self):
        self.write("src/base/a.c", '#include "../loop/driver.h"\n')
        self.assert_refused("src/base/a.c:1")

    def test_a_file_outside_the_layers_is_refused(self):
        self.write("src/misc/a.c", "int x;\n")
        self.assert_refused("not in the folder of a layer")

    def test_a_missing_file_is_named(self):
        self.write("src/os/a.c", '#include "base/gone.h"\n')
        self.assert_refused("no such file")

    def test_a_public_header_may_not_include_an_internal_one(self):
        self.write("include/rondo/rondo.h", '#include "base/buf.h"\n')
        self.assert_refused("include/rondo/rondo.h:1")


if __name__ == "__main__":
    unittest.main()
