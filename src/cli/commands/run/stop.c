// SPDX-License-Identifier: Apache-2.0
/* rondo stop: ask the owner of a run to end it, or end it here when it has none. */
#include "base/clock.h"
#include "cli/commands/run/steering.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/progress/summary.h"
#include "loop/control/control.h"
#include "store/find.h"

#include <stdio.h>

/** How long to wait for the end. */
#define DEFAULT_TIMEOUT_NS (30 * NS_PER_S)
/** How often to look. */
#define POLL_NS (50 * NS_PER_MS)

struct stop_values {
    int64_t timeout_ns;
    char *store;
    int64_t wants_json;
};

const struct option_row stop_options[] = {
    {.name = "timeout",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct stop_values, timeout_ns),
     .argument = "DURATION",
     .by_default = "30s",
     .help = "Time to wait for the end; 0 = do not wait",
     .group = "Waiting"},
    OPTION_ROW_STORE(struct stop_values),
    OPTION_ROW_JSON(struct stop_values, "The run's result as a JSON object"),
    {0},
};

/** @return 1 when it has ended, 0 when not in time, or a negative code */
static int wait_for_end(struct session *session, const char *run_id, int64_t timeout_ns,
                        struct rondo_error *err)
{
    const struct clock *clock = clock_system();
    int64_t deadline = clock_monotonic(clock) + timeout_ns;
    for (;;) {
        struct store_run run;
        int r = session->store->ops->get_run(session->store, run_id, &run, err);
        if (r < 0 || run.summary.status != RONDO_RUNNING) {
            return r < 0 ? r : 1;
        }
        if (clock_monotonic(clock) >= deadline) {
            return 0;
        }
        clock_sleep(clock, POLL_NS, NULL);
    }
}

static int print_end(struct session *session, const char *run_id, const struct stop_values *values)
{
    struct summary summary;
    struct rondo_error err = {0};
    if (summary_load(session->store, run_id, &summary, &err) < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    auto_buf struct buf out = {0};
    if (values->wants_json) {
        summary_json(&summary, &out);
    } else {
        buf_printf(&out, "run %.*s has ended: %s\n", SHORT_ID_LEN, run_id,
                   rondo_status_name(summary.run.summary.status));
    }
    report_output(&out);
    summary_fini(&summary);
    return EXIT_OK;
}

static int stop_run(struct session *session, const char *name, const struct stop_values *values)
{
    char by[160];
    steering_describe_self(by, sizeof(by));
    struct rondo_error err = {0};
    struct store_run run;
    struct loop_parts parts = {.runtime = session->runtime};
    int r = store_find_run(session->store, name, NULL, &run, &err);
    if (r == 0) {
        r = loop_stop_run(&parts, run.id, by, &err);
    }
    if (r == LOOP_CONTROL_POSTED) {
        r = values->timeout_ns == 0 ? 0 : wait_for_end(session, run.id, values->timeout_ns, &err);
        if (r == 0) {
            fprintf(stderr, "stop of run %.*s requested%s\n", SHORT_ID_LEN, run.id,
                    values->timeout_ns == 0 ? "" : "; it has not ended yet");
            return values->timeout_ns == 0 ? EXIT_OK : EXIT_OTHER;
        }
    }
    return r < 0 ? report_error_as(&err, values->wants_json != 0)
                 : print_end(session, run.id, values);
}

int cmd_stop(const struct invocation *invocation)
{
    struct stop_values values = {.timeout_ns = DEFAULT_TIMEOUT_NS};
    struct option_set set = {.rows = stop_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    if (!parsed.is_over) {
        struct session session;
        struct rondo_error err = {0};
        struct session_options options = {.store = values.store, .needs_runtime = true};
        if (session_open(&options, &session, &err) < 0) {
            parsed.exit_code = report_error_as(&err, values.wants_json != 0);
        } else {
            parsed.exit_code = stop_run(&session, parsed.argv[0], &values);
            session_close(&session);
        }
    }
    option_set_fini(&set);
    return parsed.exit_code;
}
