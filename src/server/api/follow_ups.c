// SPDX-License-Identifier: Apache-2.0
/* Runs that agents have scheduled for themselves: shown, changed, cancelled. */
#include "agent/follow_up.h"
#include "base/error.h"
#include "loop/runtime.h"
#include "server/api/handlers.h"
#include "tool/datetime/calendar.h"

#include <string.h>

struct follow_up_page {
    const struct call *call;
    struct follow_up_list list;
};

static bool add_to_page(const struct follow_up *follow_up, void *context)
{
    struct follow_up_page *page = context;
    if (token_grant_covers(&page->call->grant, follow_up->agent)) {
        follow_up_list_add(&page->list, follow_up);
    }
    return true;
}

static void write_page(struct follow_up_page *page, struct buf *list)
{
    follow_up_list_sort(&page->list);
    buf_append_string(list, "[");
    for (size_t i = 0; i < page->list.count; i++) {
        buf_append_string(list, i == 0 ? "" : ",");
        follow_up_write(&page->list.items[i], list);
    }
    buf_append_string(list, "]");
    follow_up_list_fini(&page->list);
}

void handle_follow_ups(struct call *call)
{
    struct rondo_error err = {0};
    struct follow_up_page page = {.call = call};
    auto_buf struct buf list = {0};
    if (!call_query_bool(call, "all", false, &page.list.wants_all)) {
        return;
    }
    int r = follow_ups_read(call_store(call), call_query(call, "agent"), add_to_page, &page, &err);
    write_page(&page, &list);
    call_answer_list(call, "follow_ups", &list, r, &err);
}

/** The follow-up of the path, if the caller reaches its agent. @return false: a problem */
static bool find(struct call *call, struct follow_up *ret_follow_up)
{
    struct rondo_error err = {0};
    struct follow_up found = {0};
    const char *id = call_value(call, "id");
    int r = follow_up_find(call_store(call), id, &found, &err);
    if (r > 0 && token_grant_covers(&call->grant, found.agent)) {
        *ret_follow_up = found;
        return true;
    }
    follow_up_fini(&found);
    if (r >= 0) {
        error_set(&err, RONDO_ERR_NOT_FOUND, "there is no follow-up %s", id);
    }
    call_error(call, &err);
    return false;
}

static void answer(struct call *call)
{
    struct follow_up follow_up;
    if (find(call, &follow_up)) {
        call_json(call, 200);
        follow_up_write(&follow_up, &call->answer);
        follow_up_fini(&follow_up);
    }
}

void handle_follow_up(struct call *call)
{
    answer(call);
}

/** Change the one of the path, and answer with what it is then. */
static void apply(struct call *call, const struct follow_up_change *change)
{
    struct rondo_error err = {0};
    struct follow_up before;
    if (!find(call, &before)) {
        return;
    }
    int r = follow_up_apply(call_store(call), before.id, change, &err);
    follow_up_fini(&before);
    if (r < 0) {
        call_error(call, &err);
        return;
    }
    runtime_notify(call->server->options.runtime);
    answer(call);
}

/** @return false: the answer is a problem */
static bool read_due(struct call *call, const char *text, int64_t *ret_due_ns)
{
    struct calendar_time time;
    if (!calendar_parse_iso(text, &time) || time.year < 1971 || time.year > 2200) {
        call_problem(call, PROBLEM_INVALID, "due takes a time such as 2026-01-15T14:30:00Z");
        return false;
    }
    int64_t seconds = calendar_days(time.year, time.month, time.day) * 86400 + time.hour * 3600 +
                      time.minute * 60 + time.second - time.offset_seconds;
    *ret_due_ns = seconds * NS_PER_S;
    return true;
}

void handle_change_follow_up(struct call *call)
{
    const char *due = NULL;
    struct follow_up_change change = {0};
    if (!call_check_members(call, call->body, "", "due,prompt") ||
        !call_member_text(call, "due", false, &due) ||
        !call_member_text(call, "prompt", false, &change.prompt) ||
        (due != NULL && !read_due(call, due, &change.due_ns))) {
        return;
    }
    if (due == NULL && change.prompt == NULL) {
        call_problem(call, PROBLEM_INVALID, "give due or prompt");
        return;
    }
    apply(call, &change);
}

void handle_cancel_follow_up(struct call *call)
{
    const struct follow_up_change change = {.is_cancelled = true};
    if (call->body == NULL || call_check_members(call, call->body, "", NULL)) {
        apply(call, &change);
    }
}
