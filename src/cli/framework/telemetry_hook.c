// SPDX-License-Identifier: Apache-2.0
/* The exporter around one run. */
#include "cli/framework/telemetry_hook.h"

#include "cli/framework/report.h"

static void warn(void *context, const char *line)
{
    (void)context;
    report_warning("%s", line);
}

struct telemetry *telemetry_hook_start(struct session *session, const char *run_id, uint64_t after)
{
    if (!telemetry_is_wanted(NULL)) {
        return NULL;
    }
    struct telemetry_options options = {
        .writer = runtime_writer(session->runtime),
        .run_id = run_id,
        .after = after,
        .log = warn,
    };
    struct telemetry *telemetry = NULL;
    struct rondo_error err = {0};
    if (telemetry_start(&options, &telemetry, &err) < 0) {
        report_warning("telemetry is not sent: %s", err.message);
    }
    return telemetry;
}

void telemetry_hook_stop(struct telemetry *telemetry)
{
    telemetry_stop(telemetry, TELEMETRY_FLUSH_NS);
}
