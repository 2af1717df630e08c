// SPDX-License-Identifier: Apache-2.0
/* rondo doc: reference pages from the program's own tables, for the build. */
#include "cli/framework/command.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/manual.h"
#include "cli/framework/report.h"
#include "journal/describe.h"
#include "loop/detect.h"
#include "model/model.h"
#include "policy/vocabulary/vocabulary.h"
#include "role/role.h"
#include "server/api/openapi.h"
#include "telemetry/metrics.h"
#include "telemetry/otel_environment.h"
#include "worker/coding/record.h"

#include <string.h>

static const struct {
    const char *name;
    void (*write)(struct buf *ret_buf);
} pages[] = {
    {"events", event_write_reference},
    {"options", manual_options},
    {"exit-codes", exit_codes_describe},
    {"conditions", detect_describe},
    {"policies", vocabulary_describe},
    {"schema", vocabulary_write_schema},
    {"role", role_describe},
    {"models", model_describe},
    {"coding-agents", coding_describe},
    {"api", openapi_describe},
    {"metrics", metrics_describe},
    {"telemetry", otel_environment_describe},
};

static int write_manual(int argc, char **argv, struct buf *out)
{
    struct invocation asked = {0};
    if (argc > 0) {
        command_resolve(argc, argv, &asked);
        if (asked.command == NULL || asked.argc > 1) {
            return report_failure(EXIT_USAGE, "there is no command '%s'", argv[argc - 1]);
        }
    }
    manual_page(asked.command, out);
    return EXIT_OK;
}

static int write_page(const char *name, struct buf *out)
{
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        if (strcmp(pages[i].name, name) == 0) {
            pages[i].write(out);
            return EXIT_OK;
        }
    }
    return report_failure(
        EXIT_USAGE,
        "there is no page '%s'; pages are man, events, options, exit-codes, "
        "conditions, policies, role, models, coding-agents, metrics, telemetry, api and schema",
        name);
}

int cmd_doc(const struct invocation *invocation)
{
    struct option_set set = {.rows = no_options};
    struct parsed parsed = command_parse(invocation, &set, 1, 1 + COMMAND_WORDS_MAX);
    if (parsed.is_over) {
        return parsed.exit_code;
    }
    auto_buf struct buf out = {0};
    int exit_code = strcmp(parsed.argv[0], "man") == 0
                        ? write_manual(parsed.argc - 1, parsed.argv + 1, &out)
                        : write_page(parsed.argv[0], &out);
    report_output(&out);
    return exit_code;
}
