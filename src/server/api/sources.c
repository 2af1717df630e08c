// SPDX-License-Identifier: Apache-2.0
/* Triggers of agents on duty, events that wait, and those that were refused. */
#include "server/api/handlers.h"
#include "source/duty/show.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_PAGE 50
#define MAX_PAGE     500
/** Bytes of the id of a refusal, the NUL included. */
#define REFUSAL_CURSOR_SIZE REFUSAL_KEY_SIZE

/** A list that is being answered. */
struct source_page {
    struct call *call;
    struct json_writer *writer;
    int64_t limit;
    int64_t shown;
    bool is_more;
    struct roles_on_duty roles;     /* of events that wait */
    char last[REFUSAL_CURSOR_SIZE]; /* key of the last refusal that is shown */
};

static bool write_source(const struct source_status *status, void *context)
{
    struct source_page *page = context;
    if (token_grant_covers(&page->call->grant, status->role)) {
        json_begin_object(page->writer, NULL);
        show_source_members(status, page->writer);
        json_end_object(page->writer);
    }
    return true;
}

void handle_sources(struct call *call)
{
    struct rondo_error err = {0};
    struct source_page page = {.call = call};
    struct json_writer writer = call_json(call, 200);
    page.writer = &writer;
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "sources");
    int r = source_statuses_read(call_store(call), write_source, &page, &err);
    json_end_array(&writer);
    json_end_object(&writer);
    if (r < 0) {
        call_error(call, &err);
    }
}

static bool write_request(const struct start_request *request, const char *id, void *context)
{
    struct source_page *page = context;
    (void)id;
    if (request == NULL || !token_grant_covers(&page->call->grant, request->role)) {
        return true;
    }
    page->is_more = page->shown == page->limit;
    if (!page->is_more) {
        page->shown++;
        json_begin_object(page->writer, NULL);
        show_request_members(request, &page->roles, page->writer);
        json_end_object(page->writer);
    }
    return !page->is_more;
}

void handle_queue(struct call *call)
{
    struct rondo_error err = {0};
    struct source_page page = {.call = call};
    if (!call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &page.limit)) {
        return;
    }
    struct json_writer writer = call_json(call, 200);
    page.writer = &writer;
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "requests");
    int r = roles_on_duty_read(call_store(call), &page.roles, &err);
    r = r < 0 ? r : start_requests_read(call_store(call), NULL, write_request, &page, &err);
    roles_on_duty_fini(&page.roles);
    json_end_array(&writer);
    json_write_bool(&writer, "has_more", page.is_more);
    json_end_object(&writer);
    if (r < 0) {
        call_error(call, &err);
    }
}

static bool write_refusal(const struct start_refusal *refusal, void *context)
{
    struct source_page *page = context;
    if (!token_grant_covers(&page->call->grant, refusal->role)) {
        return true;
    }
    page->is_more = page->shown == page->limit;
    if (!page->is_more) {
        page->shown++;
        snprintf(page->last, sizeof(page->last), "%s", refusal->key);
        json_begin_object(page->writer, NULL);
        show_refusal_members(refusal, page->writer);
        json_end_object(page->writer);
    }
    return !page->is_more;
}

void handle_refusals(struct call *call)
{
    struct rondo_error err = {0};
    struct source_page page = {.call = call};
    const char *before = call_query(call, "before");
    if (!call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &page.limit)) {
        return;
    }
    if (before != NULL && strlen(before) >= REFUSAL_CURSOR_SIZE) {
        call_problem(call, PROBLEM_MALFORMED, "the parameter before takes the id of a refusal");
        return;
    }
    struct json_writer writer = call_json(call, 200);
    page.writer = &writer;
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "refusals");
    int r = refusals_read(call_store(call), before, 0, write_refusal, &page, &err);
    json_end_array(&writer);
    json_write_string(&writer, "next", page.is_more ? page.last : NULL);
    json_end_object(&writer);
    if (r < 0) {
        call_error(call, &err);
    }
}
