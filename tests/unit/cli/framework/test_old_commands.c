// SPDX-License-Identifier: Apache-2.0
/* Names of InitRunner, and the way of today. */
#include "cli/framework/command.h"
#include "cli/framework/old_commands.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

static const char *const old_names[] = {
    "a2a",       "audit prune", "chat",     "compose",   "configure", "cost",      "create",
    "dashboard", "desktop",     "examples", "export",    "flow",      "info",      "ingest",
    "init",      "install",     "list",     "login",     "logout",    "mcp",       "memory clear",
    "new",       "pending",     "pipeline", "plan",      "plugins",   "publish",   "pull",
    "search",    "service",     "setup",    "skill",     "team",      "telemetry", "test",
    "tool",      "tui",         "ui",       "uninstall", "update",    "vault",     "whoami",
};

static const char *const old_run_options[] = {
    "--api-key",  "--attach",        "--audit-db", "--autopilot", "--bot",
    "--daemon",   "--dev",           "--format",   "--ingest",    "--list",
    "--memory",   "--no-audit",      "--provider", "--report",    "--report-template",
    "--role-dir", "--save",          "--sense",    "--serve",     "--tool-profile",
    "--tools",    "--export-report", "--port",
};

/** Each `rondo WORD` in a sentence is a command that there is. */
static void expect_real_commands(const char *sentence)
{
    const char *at = sentence;
    size_t found = 0;
    while ((at = strstr(at, "`rondo ")) != NULL) {
        char name[32] = "";
        at += strlen("`rondo ");
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, " `"), at);
        if (command_find(name) == NULL) {
            fail_msg("%s: there is no command %s", sentence, name);
        }
        found++;
    }
    assert_true(found > 0 || strchr(sentence, '`') != NULL);
}

TEST(commands_of_initrunner_name_a_command_of_today)
{
    for (size_t i = 0; i < COUNT(old_names); i++) {
        const char *today = old_command_today(old_names[i]);
        if (today == NULL) {
            fail_msg("%s is not known", old_names[i]);
        }
        expect_real_commands(today);
        assert_null(command_find(old_names[i]));
    }
    assert_null(old_command_today("frobnicate"));
    assert_null(old_command_today(""));
}

TEST(options_of_initrunner_name_a_command_of_today)
{
    for (size_t i = 0; i < COUNT(old_run_options); i++) {
        char word[32];
        char *const words[] = {"role.yaml", word};
        snprintf(word, sizeof(word), "%s%s", old_run_options[i], i % 2 == 0 ? "" : "=x");
        const char *today = old_option_today("run", 2, words);
        if (today == NULL) {
            fail_msg("%s is not known", word);
        }
        expect_real_commands(today);
    }
    char *const unknown[] = {"--serv", "--", "--serve"};
    assert_null(old_option_today("run", 3, unknown));
    assert_null(old_option_today("loop", 1, &unknown[2]));
}

/** An option that a command has is not an old one: it would never be told. */
TEST(no_old_option_is_one_of_today)
{
    const struct command *run = command_find("run");
    for (const struct option_row *row = run->options; row->name != NULL; row++) {
        char word[64];
        char *const words[] = {word};
        snprintf(word, sizeof(word), "--%s", row->name);
        assert_null(old_option_today("run", 1, words));
    }
}
