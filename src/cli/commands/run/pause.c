// SPDX-License-Identifier: Apache-2.0
/* rondo pause: hold a run before its next iteration. */
#include "cli/commands/run/steering.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"

struct pause_values {
    char *store;
    int64_t wants_json;
};

const struct option_row pause_options[] = {
    OPTION_ROW_STORE(struct pause_values),
    OPTION_ROW_JSON(struct pause_values, "The outcome as a JSON object"),
    {0},
};

static int act(const struct loop_parts *parts, const char *run_id, const char *by,
               const void *context, struct rondo_error *err)
{
    (void)context;
    return loop_pause_run(parts, run_id, by, err);
}

int cmd_pause(const struct invocation *invocation)
{
    struct pause_values values = {0};
    struct option_set set = {.rows = pause_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    struct steering_command command = {
        .act = act,
        .done = "is paused",
        .posted = "will pause before its next iteration",
        .nothing = "is already paused",
        .verb = NULL,
    };
    if (!parsed.is_over) {
        parsed.exit_code =
            steering_act(values.store, parsed.argv[0], values.wants_json != 0, &command);
    }
    option_set_fini(&set);
    return parsed.exit_code;
}
