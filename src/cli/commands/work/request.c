// SPDX-License-Identifier: Apache-2.0
/*
 * rondo work release, rondo work retry: requests to the process that has the work item. They are
 * recorded in the store; where nobody runs, the next `rondo work` carries them out.
 */
#include "issues/request.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/commands/run/steering.h"
#include "cli/commands/work/commands.h"
#include "cli/commands/work/items.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "loop/owner.h"

#include <stdio.h>
#include <string.h>

struct work_request_values {
    char *store;
    int64_t wants_json;
};

const struct option_row work_request_options[] = {
    OPTION_ROW_STORE(struct work_request_values),
    OPTION_ROW_JSON(struct work_request_values, "As one JSON object"),
    {0},
};

static void print_request(const struct item *item, enum item_request_kind kind, bool wants_json)
{
    auto_buf struct buf out = {0};
    char worker[OWNER_DESCRIPTION_SIZE];
    work_item_worker(item, worker);
    if (wants_json) {
        struct json_writer writer = json_writer(&out);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "type", "work_request");
        json_write_string(&writer, "key", item->key);
        json_write_string(&writer, "request", item_request_name(kind));
        json_write_string(&writer, "worked_on_by", worker[0] == '\0' ? NULL : worker);
        json_end_object(&writer);
        buf_append_string(&out, "\n");
        report_output(&out);
        return;
    }
    work_item_name(item, &out);
    if (worker[0] != '\0') {
        buf_printf(&out, ": %s requested from %s\n", item_request_name(kind), worker);
    } else {
        buf_printf(&out, ": %s recorded; the next `rondo work` for this repository does it\n",
                   item_request_name(kind));
    }
    report_output(&out);
}

static int make_request(struct store *store, const char *word, enum item_request_kind kind,
                        bool wants_json, struct rondo_error *err)
{
    struct item item = {0};
    struct item_request request = {.kind = kind, .time_ns = clock_now(clock_system())};
    char by[STEERING_BY_SIZE];
    int r = work_item_find(store, word, &item, err);
    const char *obstacle = r < 0 ? NULL : item_request_obstacle(&item, kind);
    if (obstacle != NULL) {
        r = error_set(err, RONDO_ERR_STATE, "%s: %s", item.key, obstacle);
    }
    if (r == 0) {
        steering_describe_self(by, sizeof(by));
        snprintf(request.by, sizeof(request.by), "%.*s", ITEM_REQUEST_BY_SIZE - 1, by);
        r = item_request_put(store, item.key, &request, err);
    }
    if (r == 0) {
        print_request(&item, kind, wants_json);
    }
    item_fini(&item);
    return r;
}

static int request_command(const struct invocation *invocation, enum item_request_kind kind)
{
    struct work_request_values values = {0};
    struct option_set set = {.rows = work_request_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        struct session session;
        struct rondo_error err = {0};
        const struct session_options options = {.store = values.store};
        int r = session_open(&options, &session, &err);
        if (r == 0) {
            r = make_request(session.store, parsed.argv[0], kind, values.wants_json != 0, &err);
            session_close(&session);
        }
        exit_code = r < 0 ? report_error_as(&err, values.wants_json != 0) : EXIT_OK;
    }
    option_set_fini(&set);
    return exit_code;
}

int cmd_work_release(const struct invocation *invocation)
{
    return request_command(invocation, ITEM_REQUEST_RELEASE);
}

int cmd_work_retry(const struct invocation *invocation)
{
    return request_command(invocation, ITEM_REQUEST_RETRY);
}
