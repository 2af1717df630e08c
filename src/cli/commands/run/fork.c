// SPDX-License-Identifier: Apache-2.0
/* rondo fork: start a new run from another run's checkpoint. */
#include "agent/spec/options.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "cli/commands/run/steering.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "store/find.h"

#include <inttypes.h>
#include <string.h>

struct fork_values {
    struct steering_limits limits;
    char *store;
    int64_t wants_json;
};

const struct option_row fork_options[] = {
    STEERING_LIMIT_ROWS(struct fork_values),
    OPTION_ROW_STORE(struct fork_values),
    OPTION_ROW_JSON(struct fork_values, "The new run as a JSON object"),
    {0},
};

/** What was asked for. */
struct fork_command {
    const char *name;
    int64_t checkpoint; /* 0 = newest */
    struct loop_limits limits;
    bool has_limits;
    const struct fork_values *values;
};

static void print(const struct session *session, const struct fork_command *forking,
                  const char *from, const char *run_id)
{
    auto_buf struct buf out = {0};
    if (forking->values->wants_json) {
        struct json_writer writer = json_writer(&out);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "run_id", run_id);
        json_write_string(&writer, "forked_from", from);
        json_end_object(&writer);
        buf_append(&out, "\n", 1);
    } else {
        buf_printf(&out, "run %s is a fork of run %.*s\nresume with: ", run_id, SHORT_ID_LEN, from);
        session_hint(session, "resume", run_id, &out);
        buf_append(&out, "\n", 1);
    }
    report_output(&out);
}

static int fork_run(struct session *session, const struct fork_command *forking)
{
    char by[160];
    char run_id[ID_SIZE];
    struct rondo_error err = {0};
    struct store_run run;
    struct loop_parts parts = {
        .runtime = session->runtime,
        .check_limits = agent_check_limits,
    };
    steering_describe_self(by, sizeof(by));
    int r = store_find_run(session->store, forking->name, NULL, &run, &err);
    if (r == 0) {
        r = loop_fork(&parts, run.id, (uint64_t)forking->checkpoint,
                      forking->has_limits ? &forking->limits : NULL, by, run_id, &err);
    }
    if (r < 0) {
        return report_error_as(&err, forking->values->wants_json != 0);
    }
    print(session, forking, run.id, run_id);
    return EXIT_OK;
}

static int open_and_fork(const struct fork_command *forking)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = forking->values->store, .needs_runtime = true};
    if (session_open(&options, &session, &err) < 0) {
        return report_error_as(&err, forking->values->wants_json != 0);
    }
    int exit_code = fork_run(&session, forking);
    session_close(&session);
    return exit_code;
}

/** Read what was asked for. */
static int read_fork(const struct parsed *parsed, struct fork_command *forking,
                     struct rondo_error *err)
{
    const struct steering_limits *given = &forking->values->limits;
    forking->name = parsed->argv[0];
    int r = 0;
    if (parsed->argc > 1 && strcmp(parsed->argv[1], "last") != 0) {
        r = parse_int(parsed->argv[1], 1, INT64_MAX, &forking->checkpoint, err);
    }
    forking->has_limits = given->max_iterations != NULL || given->max_tokens != NULL ||
                          given->max_cost != NULL || given->time_limit != NULL;
    if (r == 0 && forking->has_limits) {
        r = steering_read_limits(given, &forking->limits, err);
    }
    if (r == 0 && forking->has_limits) {
        r = loop_limits_check(&forking->limits, err);
    }
    return r;
}

int cmd_fork(const struct invocation *invocation)
{
    struct fork_values values = {0};
    struct option_set set = {.rows = fork_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 2);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        struct fork_command forking = {.values = &values};
        struct rondo_error err = {0};
        exit_code = read_fork(&parsed, &forking, &err) < 0
                        ? command_misuse(invocation->command, err.message)
                        : open_and_fork(&forking);
    }
    option_set_fini(&set);
    return exit_code;
}
