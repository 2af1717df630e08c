// SPDX-License-Identifier: Apache-2.0
/* rondo continue: continue a paused run. */
#include "cli/commands/run/steering.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"

struct continue_values {
    char *store;
    int64_t wants_json;
};

const struct option_row continue_options[] = {
    OPTION_ROW_STORE(struct continue_values),
    OPTION_ROW_JSON(struct continue_values, "The outcome as a JSON object"),
    {0},
};

static int act(const struct loop_parts *parts, const char *run_id, const char *by,
               const void *context, struct rondo_error *err)
{
    (void)context;
    return loop_continue_run(parts, run_id, by, err);
}

int cmd_continue(const struct invocation *invocation)
{
    struct continue_values values = {0};
    struct option_set set = {.rows = continue_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    struct steering_command command = {
        .act = act,
        .done = "is no longer paused",
        .posted = "will continue",
        .nothing = "is not paused",
        .verb = "resume",
    };
    if (!parsed.is_over) {
        parsed.exit_code =
            steering_act(values.store, parsed.argv[0], values.wants_json != 0, &command);
    }
    option_set_fini(&set);
    return parsed.exit_code;
}
