// SPDX-License-Identifier: Apache-2.0
/* Names of InitRunner 1.0 to 2026.8 and the way of today. */
#include "cli/framework/old_commands.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NO_REGISTRY "there is no registry of roles: `rondo run FILE` runs a role file from anywhere"
#define ONE_AGENT                                                                             \
    "a role file has one agent; `rondo daemon ROLE...` keeps several agents on duty side by " \
    "side"
#define SERVED "`rondo serve` prints the address of the dashboard"
#define KEYS                                                                              \
    "keys come from the environment or from a file .env beside the role; `rondo doctor` " \
    "shows what is found"

static const struct {
    const char *command;
    const char *option; /**< or NULL */
    const char *today;
} rows[] = {
    {"a2a", NULL, "there is no A2A server; `rondo serve` has an API (docs/api.md)"},
    {"audit prune", NULL,
     "`rondo logs RUN --json` has every request and call of a run; `rondo gc` deletes old runs"},
    {"chat", NULL, "`rondo run ROLE` without -p is a conversation"},
    {"compose", NULL, ONE_AGENT},
    {"configure", NULL, "`rondo run ROLE --model PROVIDER:NAME` chooses the model"},
    {"cost", NULL, "`rondo show RUN` shows what a run cost, `rondo runs` all of them"},
    {"create", NULL, "write a role file by hand; `rondo validate ROLE` checks it"},
    {"dashboard", NULL, SERVED},
    {"desktop", NULL, SERVED},
    {"examples", NULL, "`rondo validate ROLE` explains a role file line by line"},
    {"export", NULL, "`rondo logs RUN --json` writes all of a run"},
    {"flow", NULL, ONE_AGENT},
    {"info", NULL, "`rondo validate ROLE` shows what a role file says"},
    {"ingest", NULL, "`rondo run ROLE` works without a step before it"},
    {"init", NULL, "write a role file by hand; `rondo validate ROLE` checks it"},
    {"install", NULL, NO_REGISTRY},
    {"list", NULL, "`rondo runs` lists runs; a role is a file"},
    {"login", NULL, NO_REGISTRY},
    {"logout", NULL, NO_REGISTRY},
    {"mcp", NULL, "`rondo tools list --role ROLE` lists the tools of MCP servers"},
    {"memory clear", NULL, "`rondo memory forget --all --agent NAME` deletes memories"},
    {"new", NULL, "write a role file by hand; `rondo validate ROLE` checks it"},
    {"pending", NULL, "`rondo inbox` lists the calls that wait for a person"},
    {"pipeline", NULL, ONE_AGENT},
    {"plan", NULL, "`rondo validate ROLE` shows what a run would use"},
    {"plugins", NULL, "there are no plug-ins; tools of others come by MCP, see `rondo tools list`"},
    {"publish", NULL, NO_REGISTRY},
    {"pull", NULL, NO_REGISTRY},
    {"search", NULL, NO_REGISTRY},
    {"service", NULL, "`rondo daemon ROLE...` under systemd: rondo-daemon.service"},
    {"setup", NULL, KEYS},
    {"skill", NULL, "skills are files that a role names; `rondo validate ROLE` finds them"},
    {"team", NULL, ONE_AGENT},
    {"telemetry", NULL,
     "nothing is sent anywhere; `rondo serve` exports traces where OTEL_EXPORTER_OTLP_ENDPOINT "
     "says"},
    {"test", NULL, "`rondo run ROLE --model scripted:FILE` plays answers that you write"},
    {"tool", NULL, "tools of your own are scripts or MCP servers; `rondo tools list` lists them"},
    {"tui", NULL, SERVED},
    {"ui", NULL, SERVED},
    {"uninstall", NULL, NO_REGISTRY},
    {"update", NULL, NO_REGISTRY},
    {"vault", NULL, KEYS},
    {"whoami", NULL, NO_REGISTRY},
    {"run", "--api-key", "`rondo token create` makes a token for `rondo serve`"},
    {"run", "--attach", "`rondo run ROLE -p` takes text only; tools read files"},
    {"run", "--audit-db", "`rondo run ROLE --store FILE` says where runs are kept"},
    {"run", "--autopilot", "`rondo daemon ROLE --autopilot`"},
    {"run", "--bot", "a `telegram` trigger and `rondo daemon ROLE`"},
    {"run", "--budget-timezone",
     "`guardrails.budget_timezone` in the role and `rondo daemon ROLE`"},
    {"run", "--confirm-role", "name the role: `rondo run ROLE`"},
    {"run", "--cors-origin", "`rondo serve --host NAME` names hosts that browsers use"},
    {"run", "--daemon", "`rondo daemon ROLE`"},
    {"run", "--dev", "`rondo run ROLE` shows each step as it is"},
    {"run", "--export-report", "`rondo run ROLE --json` writes the result for programs"},
    {"run", "--format", "`rondo run ROLE --json` writes the result for programs"},
    {"run", "--host", "`rondo serve --listen HOST:PORT`"},
    {"run", "--ingest", "`spec.ingest` in the role and `rondo run ROLE`"},
    {"run", "--list", "`rondo runs` lists runs"},
    {"run", "--memory", "`spec.memory` in the role and `rondo run ROLE`"},
    {"run", "--no-audit",
     "the journal is the run: `rondo run ROLE --store FILE` puts it elsewhere"},
    {"run", "--port", "`rondo serve --listen HOST:PORT`"},
    {"run", "--provider", "`rondo run ROLE --model PROVIDER:NAME`"},
    {"run", "--report", "`rondo run ROLE --json` writes the result for programs"},
    {"run", "--report-path", "`rondo run ROLE --json` writes the result for programs"},
    {"run", "--report-template", "`rondo run ROLE --json` writes the result for programs"},
    {"run", "--role-dir", "name the role: `rondo run ROLE`"},
    {"run", "--save", "write a role file by hand; `rondo validate ROLE` checks it"},
    {"run", "--sense", "name the role: `rondo run ROLE`"},
    {"run", "--serve", "`rondo serve` has an API that starts runs (docs/api.md)"},
    {"run", "--tool-profile", "`tools` in the role and `rondo run ROLE`"},
    {"run", "--tools", "`tools` in the role and `rondo run ROLE`"},
    {"daemon", "--audit-db", "`rondo daemon ROLE --store FILE` says where runs are kept"},
    {"daemon", "--no-audit",
     "the journal is the run: `rondo daemon ROLE --store FILE` puts it elsewhere"},
    {"serve", "--api-key", "`rondo token create` makes a token for `rondo serve`"},
    {"serve", "--audit-db", "`rondo serve --store FILE` says where runs are kept"},
    {"serve", "--cors-origin", "`rondo serve --host NAME` names hosts that browsers use"},
    {"serve", "--port", "`rondo serve --listen HOST:PORT`"},
    {"validate", "--explain", "`rondo validate ROLE` explains without an option"},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

const char *old_command_today(const char *command)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].option == NULL && strcmp(rows[i].command, command) == 0) {
            return rows[i].today;
        }
    }
    return NULL;
}

static const char *find_option(const char *command, const char *word)
{
    size_t len = strcspn(word, "=");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *option = rows[i].option;
        if (option != NULL && strcmp(rows[i].command, command) == 0 && strlen(option) == len &&
            strncmp(option, word, len) == 0) {
            return rows[i].today;
        }
    }
    return NULL;
}

const char *old_option_today(const char *command, int count, char *const *words)
{
    const char *today = NULL;
    for (int i = 0; i < count && today == NULL; i++) {
        if (strcmp(words[i], "--") == 0) {
            break;
        }
        today = find_option(command, words[i]);
    }
    return today;
}
