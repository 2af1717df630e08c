// SPDX-License-Identifier: Apache-2.0
/* The audit chain, and how well people and agents work together. */
#include "handoff/inbox/redaction.h"
#include "handoff/storage/chain.h"
#include "handoff/storage/stats.h"
#include "handoff/wire/evaluation.h"
#include "server/api/handlers.h"
#include "server/api/inbox_call.h"

#include <json-c/json.h>

#define DEFAULT_PAGE 100
#define MAX_PAGE     1000
/** Windows of statistics, seconds. */
#define SHORTEST_WINDOW 60
#define DEFAULT_WINDOW  (7 * 24 * 3600)
#define LONGEST_WINDOW  (366 * 24 * 3600)

void handle_verify_audit(struct call *call)
{
    struct rondo_error err = {0};
    struct audit_keys keys = {0};
    struct audit_report report = {0};
    int r = audit_keys_load(&keys, &err);
    r = r < 0 ? r : audit_chain_verify(call_store(call), &keys, NULL, &report, &err);
    if (r < 0 && r != RONDO_ERR_CORRUPT) {
        call_error(call, &err);
        return;
    }
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    audit_report_write(&report, r == 0, err.message, &writer);
    json_end_object(&writer);
}

struct audit_page {
    struct json_writer *writer;
    struct inbox_audit audit;
    int64_t limit;
    int64_t shown;
    int64_t last;
    bool is_more;
};

static bool take_entry(const char *text, size_t len, void *context)
{
    struct audit_page *page = context;
    auto_json struct json_object *entry = NULL;
    auto_buf struct buf shown = {0};
    page->is_more = page->shown == page->limit;
    if (page->is_more) {
        return false;
    }
    if (json_parse(text, len, &entry, NULL) == 0) {
        page->last = json_get_int(entry, "seq", 0);
        inbox_audit_entry(&page->audit, text, len, &shown);
        json_write_raw(page->writer, NULL, buf_string(&shown));
    }
    page->shown++;
    return true;
}

void handle_audit(struct call *call)
{
    struct rondo_error err = {0};
    struct handoff_store handoffs = call_handoffs(call);
    struct audit_page page = {.audit = {.handoffs = &handoffs, .viewer = call_viewer(call)}};
    int64_t after = 0;
    if (!call_query_int(call, "after", 0, INT64_MAX, 0, &after) ||
        !call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &page.limit)) {
        return;
    }
    struct json_writer writer = call_json(call, 200);
    page.writer = &writer;
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "entries");
    int r = audit_chain_read(call_store(call), (uint64_t)after, (uint32_t)page.limit + 1,
                             take_entry, &page, &err);
    inbox_audit_fini(&page.audit);
    json_end_array(&writer);
    if (page.is_more) {
        json_write_int(&writer, "next", page.last);
    } else {
        json_write_null(&writer, "next");
    }
    json_end_object(&writer);
    if (r < 0) {
        call_error(call, &err);
    }
}

/** Add the figures of what foreign agents asked the profiles. */
static int add_evaluations(struct call *call, int64_t from_ns, int64_t to_ns,
                           struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    (void)evaluation_log_flush(call->server->evaluations, NULL); /* The newest count, too. */
    json_begin_object(&writer, NULL);
    int r = evaluation_write_figures(call_store(call), from_ns, to_ns, &writer, err);
    json_end_object(&writer);
    call->answer.len--; /* its closing brace */
    buf_printf(&call->answer, ",\"evaluations\":%s}", buf_string(&json));
    return r;
}

void handle_hitl_metrics(struct call *call)
{
    struct rondo_error err = {0};
    struct handoff_store handoffs = call_handoffs(call);
    int64_t window_s = 0;
    if (!call_query_int(call, "window", SHORTEST_WINDOW, LONGEST_WINDOW, DEFAULT_WINDOW,
                        &window_s)) {
        return;
    }
    int64_t now_ns = clock_now(clock_system());
    call_json(call, 200);
    int64_t from_ns = now_ns - window_s * NS_PER_S;
    int r = handoff_stats(&handoffs, from_ns, now_ns + 1, &call->answer, &err);
    r = r < 0 ? r : add_evaluations(call, from_ns, now_ns + 1, &err);
    if (r < 0) {
        call_error(call, &err);
    }
}
