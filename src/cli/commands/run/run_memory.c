// SPDX-License-Identifier: Apache-2.0
/* After a run: its episodes become facts. A failure is reported and changes no exit code. */
#include "cli/commands/run/run_memory.h"

#include "agent/memory/consolidate.h"
#include "base/auto.h"
#include "cli/framework/signals.h"

#include <stdio.h>

void run_consolidate(struct session *session, struct http_client *http, const char *prices_file,
                     const char *agent_id, bool is_quiet)
{
    const struct consolidation_parts parts = {
        .runtime = session->runtime, .http = http, .prices_file = prices_file};
    struct consolidation_report report;
    struct rondo_error err = {0};
    if (signals_want_stop()) {
        return;
    }
    if (consolidation_work(&parts, agent_id, &report, &err) < 0) {
        fprintf(stderr, "rondo: memories are not consolidated: %s\n", err.message);
    } else if (report.problem[0] != '\0') {
        fprintf(stderr, "rondo: memories are not consolidated yet: %s\n", report.problem);
    } else if (report.episodes > 0 && !is_quiet) {
        auto_buf struct buf text = {0};
        consolidation_describe(&report, &text);
        fprintf(stderr, "memory: %s\n", buf_string(&text));
    }
}
