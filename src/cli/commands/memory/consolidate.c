// SPDX-License-Identifier: Apache-2.0
/* rondo memory consolidate. */
#include "agent/memory/consolidate.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "cli/commands/memory/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "net/client/http.h"

#include <inttypes.h>
#include <stdio.h>

struct memory_consolidate_values {
    char *agent;
    char *prices;
    char *store;
    int64_t wants_json;
};

const struct option_row memory_consolidate_options[] = {
    {.name = "agent",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct memory_consolidate_values, agent),
     .argument = "NAME",
     .help = "All episodes of this agent, even if they are not due",
     .group = "Selection"},
    {.name = "prices",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct memory_consolidate_values, prices),
     .argument = "FILE",
     .help = "Prices of models, as for `rondo run`",
     .completes = COMPLETE_FILE},
    OPTION_ROW_STORE(struct memory_consolidate_values),
    OPTION_ROW_JSON(struct memory_consolidate_values, "The counts as a JSON object"),
    {0},
};

static void print_report(const struct consolidation_report *report, bool wants_json)
{
    auto_buf struct buf out = {0};
    if (wants_json) {
        struct json_writer writer = json_writer(&out);
        json_begin_object(&writer, NULL);
        json_write_int(&writer, "episodes", (int64_t)report->episodes);
        json_write_int(&writer, "facts", (int64_t)report->facts);
        json_write_int(&writer, "waiting", (int64_t)report->waiting);
        json_write_int(&writer, "tokens", report->tokens);
        if (report->is_cost_unknown) {
            json_write_null(&writer, "cost_micro");
        } else {
            json_write_int(&writer, "cost_micro", report->cost_micro);
        }
        json_end_object(&writer);
        buf_append_string(&out, "\n");
        report_output(&out);
        return;
    }
    consolidation_describe(report, &out);
    fprintf(stderr, "%s\n", buf_string(&out));
    if (report->waiting > 0) {
        fprintf(stderr, "%" PRIu64 " run%s left for later, or for another process\n",
                report->waiting, report->waiting == 1 ? "" : "s");
    }
}

static int work(struct session *session, const struct memory_consolidate_values *values,
                struct consolidation_report *ret_report, struct rondo_error *err)
{
    struct consolidation_parts parts = {.runtime = session->runtime, .prices_file = values->prices};
    int r = http_client_new(NULL, &parts.http, err);
    if (r < 0) {
        return r;
    }
    r = values->agent != NULL ? consolidation_work_all(&parts, values->agent, ret_report, err)
                              : consolidation_work(&parts, NULL, ret_report, err);
    http_client_free(parts.http);
    if (r == 0 && ret_report->problem[0] != '\0') {
        r = error_set(err, RONDO_ERR_UNSUPPORTED, "%s", ret_report->problem);
    }
    return r;
}

static int run_consolidate_command(const struct memory_consolidate_values *values)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .needs_runtime = true};
    struct consolidation_report report = {0};
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = work(&session, values, &report, &err);
        session_close(&session);
    }
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    print_report(&report, values->wants_json != 0);
    return 0;
}

int cmd_memory_consolidate(const struct invocation *invocation)
{
    struct memory_consolidate_values values = {0};
    struct option_set set = {.rows = memory_consolidate_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.is_over ? parsed.exit_code : run_consolidate_command(&values);
    option_set_fini(&set);
    return exit_code;
}
