// SPDX-License-Identifier: Apache-2.0
/* rondo limit: change the limits of a run that has not ended. */
#include "cli/commands/run/steering.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"

struct limit_values {
    struct steering_limits limits;
    char *store;
    int64_t wants_json;
};

const struct option_row limit_options[] = {
    STEERING_LIMIT_ROWS(struct limit_values),
    OPTION_ROW_STORE(struct limit_values),
    OPTION_ROW_JSON(struct limit_values, "The outcome as a JSON object"),
    {0},
};

static int act(const struct loop_parts *parts, const char *run_id, const char *by,
               const void *context, struct rondo_error *err)
{
    return loop_change_limits(parts, run_id, context, by, err);
}

static int run_limit(const struct invocation *invocation, const char *name,
                     const struct limit_values *values)
{
    struct loop_limits limits;
    struct rondo_error err = {0};
    int r = steering_read_limits(&values->limits, &limits, &err);
    if (r == 0) {
        r = loop_limits_check(&limits, &err);
    }
    if (r < 0) {
        return command_misuse(invocation->command, err.message);
    }
    struct steering_command command = {
        .act = act,
        .context = &limits,
        .done = "has the new limits now",
        .posted = "will use the new limits from its next step",
        .nothing = "already has these limits",
    };
    return steering_act(values->store, name, values->wants_json != 0, &command);
}

int cmd_limit(const struct invocation *invocation)
{
    struct limit_values values = {0};
    struct option_set set = {.rows = limit_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code =
        parsed.is_over ? parsed.exit_code : run_limit(invocation, parsed.argv[0], &values);
    option_set_fini(&set);
    return exit_code;
}
