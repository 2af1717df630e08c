# SPDX-License-Identifier: Apache-2.0
"""The check of pages finds names of what is not there, and nothing else."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools/check-docs.py"
PAGE = "# src/loop\n\nThe engine.\n\nNot here: models.\n"


class PageCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.write("Makefile", "build:\n\ttrue\n")
        self.write("src/loop/step.c", "int step_next(struct step *step);\n#define LIMIT_STEPS 3\n")
        self.write("src/loop/README.md", PAGE)
        self.write("tests/unit/loop/test_time.c", "")
        self.write("tests/crash/test_kill.c", "")
        self.write("src/cli/framework/commands.def", 'COMMAND(run, run_options,\n    .name = "run")\n')
        self.write("src/cli/commands/policy/commands.c", '        .name = "policy check",\n        .name = "policy",\n')
        self.write("src/cli/commands/policy/README.md", PAGE.replace("src/loop", "src/cli/commands/policy"))
        self.write("src/cli/commands/run.c", '    {.name = "json",\n')
        self.write("src/cli/commands/README.md", PAGE.replace("src/loop", "src/cli/commands"))

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self):
        return subprocess.run([sys.executable, str(CHECKER), str(self.root)], capture_output=True, text=True)

    def assert_accepted(self, *tokens, page="docs/page.md"):
        self.write(page, "".join(f"Text `{token}`.\n" for token in tokens))
        result = self.check()
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def assert_refused(self, token, reason, page="docs/page.md"):
        self.write(page, f"First line\nand `{token}`\n")
        result = self.check()
        self.assertEqual(result.returncode, 1, token)
        self.assertEqual(result.stdout, f"{page}:2: `{token}`: {reason}\n")

    def test_tables_of_commands_make_manual_pages(self):
        self.write("src/cli/README.md", PAGE.replace("src/loop", "src/cli"))
        self.write("src/cli/commands/policy/commands.c", 'const struct command policy_commands[] = {\n')
        self.write("src/cli/meson.build", "cli_sources = files('commands/policy/commands.c')\nforeach table : [\n]\n")
        result = self.check()
        self.assertEqual(result.returncode, 1)
        self.assertIn("src/cli/commands/policy/commands.c: its commands have no manual pages", result.stdout)
        self.write("src/cli/meson.build", "foreach table : [\n  'commands/policy/commands.c',\n]\n")
        self.assertEqual(self.check().returncode, 0)

    def test_paths_from_the_root(self):
        self.assert_accepted("src/loop", "src/loop/step.c", "src/*/step.c", "src/<layer>/step.c", "src/loop/NAME.c", "tests/", "src/handoff")
        self.assert_refused("src/loop/gone.c", "no such path")
        self.assert_refused("src/loop/gone.c --all", "no such path")
        self.assert_refused("src/*/gone.c", "no such path")

    def test_files_and_tests_of_a_layer(self):
        self.assert_accepted("loop/step", "loop/step.c", "loop/time", "crash/kill", "text/plain", "server/discover")
        self.assert_refused("loop/gone", "no such file, folder or test")
        self.assert_refused("crash/gone", "no such file, folder or test")

    def test_files_named_alone(self):
        self.assert_accepted("step.c", "commands.def", "package.json")
        self.assert_refused("gone.c", "no such file")

    def test_functions_types_and_limits(self):
        self.assert_accepted("step_next()", "struct step", "LIMIT_STEPS")
        self.assert_refused("step_gone()", "no such function")
        self.assert_refused("struct gone", "no such type")
        self.assert_refused("LIMIT_GONE", "no such limit")

    def test_commands_and_options(self):
        self.assert_accepted("rondo run --json", "rondo policy check FILE", "rondo run x -- --other", "--json", "cc --other")
        self.assert_refused("rondo gone", "no command gone")
        self.assert_refused("rondo policy gone", "no command policy gone")
        self.assert_refused("rondo run --gone", "no option --gone")
        self.assert_refused("--gone", "no option --gone")

    def test_targets_of_make_on_pages_about_the_sources(self):
        self.assert_accepted("make build", page="CONTRIBUTING.md")
        self.assert_refused("make gone", "no such target", page="CONTRIBUTING.md")

    def test_targets_of_make_are_the_readers_own_elsewhere(self):
        self.assert_accepted("make gone")

    def test_links_to_files(self):
        self.write("docs/other.md", "")
        self.write("docs/page.md", "[a](other.md#part) [b](https://example.org) [c](#part)\n")
        self.assertEqual(self.check().stdout, "")
        self.write("docs/page.md", "[a](gone.md)\n")
        self.assertEqual(self.check().stdout, "docs/page.md:1: `gone.md`: no such file\n")

    def test_blocks_of_code_are_left_out(self):
        self.write("docs/page.md", "```sh\n`src/gone`\n```\n")
        self.assertEqual(self.check().returncode, 0)

    def test_a_folder_without_a_page(self):
        (self.root / "src/loop/README.md").unlink()
        self.assertIn("src/loop: no README.md", self.check().stdout)

    def test_a_page_of_a_folder_says_what_may_not_be_there(self):
        self.write("src/loop/README.md", "# src/loop\n\nThe engine.\n")
        self.assertIn("`Not here:`", self.check().stdout)

    def test_a_page_of_a_folder_is_short_and_has_its_name(self):
        self.write("src/loop/README.md", PAGE.replace("src/loop", "src/moved") + "more\n" * 10)
        out = self.check().stdout
        self.assertIn("the heading must be: # src/loop", out)
        self.assertIn("at most 10", out)


if __name__ == "__main__":
    unittest.main()
