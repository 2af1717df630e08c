// SPDX-License-Identifier: Apache-2.0
/* Events: pages of one run's journal or of all, and their streams. */
#include "base/auto.h"
#include "base/memory.h"
#include "base/parse.h"
#include "journal/backward.h"
#include "journal/describe.h"
#include "server/api/handlers.h"
#include "server/stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_PAGE 200
#define MAX_PAGE     1000
/** Events that one answer looks at, when it picks some of them out. */
#define MAX_LOOKED_AT 20000
/** Events that are read at a time, going back. */
#define WINDOW 1000
/** Bytes of an answer from which on it ends early. */
#define ANSWER_BYTES (8 * LIMIT_MIB)

static bool wants_stream(const struct call *call)
{
    const char *accept = http_exchange_header(call->exchange, "Accept");
    return accept != NULL && strcasestr(accept, "text/event-stream") != NULL;
}

/** A stream as HEAD sees it. @return false: it is GET */
static bool answer_head(struct call *call)
{
    if (strcmp(http_exchange_method(call->exchange), "HEAD") != 0) {
        return false;
    }
    http_exchange_add_header(call->exchange, "Content-Type", "text/event-stream");
    call->status = 200;
    return true;
}

/** The id after which a stream continues. @return false: a problem */
static bool read_after(struct call *call, int64_t by_default, int64_t *ret_after)
{
    const char *last = http_exchange_header(call->exchange, "Last-Event-ID");
    if (last == NULL || last[0] == '\0') {
        return call_query_int(call, "after", 0, INT64_MAX, by_default, ret_after);
    }
    if (parse_int(last, 0, INT64_MAX, ret_after, NULL) == 0) {
        return true;
    }
    call_problem(call, PROBLEM_MALFORMED, "Last-Event-ID is not the id of an event");
    return false;
}

/** The place of one store in the id of a stream over several: "NAME:POSITION,NAME:POSITION". A
 *  number alone is of the first store, from when it was the only one. */
static bool find_place(const char *last, const struct call_reach *reach, bool is_first,
                       int64_t *ret_after)
{
    size_t name_len = strlen(reach->name);
    if (is_first && parse_int(last, 0, INT64_MAX, ret_after, NULL) == 0) {
        return true;
    }
    while (*last != '\0') {
        char number[24];
        size_t len = strcspn(last, ",");
        if (len > name_len + 1 && len - name_len - 1 < sizeof(number) && last[name_len] == ':' &&
            strncmp(last, reach->name, name_len) == 0) {
            snprintf(number, sizeof(number), "%.*s", (int)(len - name_len - 1),
                     last + name_len + 1);
            return parse_int(number, 0, INT64_MAX, ret_after, NULL) == 0;
        }
        last += len + (last[len] == ',');
    }
    return true;
}

/** Where the part of one store continues. @return false: a problem */
static bool read_place(struct call *call, size_t index, int64_t *ret_after)
{
    const char *last = http_exchange_header(call->exchange, "Last-Event-ID");
    last = last == NULL || last[0] == '\0' ? call_query(call, "after") : last;
    *ret_after = -1;
    if (last == NULL || find_place(last, &call->reached[index], index == 0, ret_after)) {
        return true;
    }
    call_problem(call, PROBLEM_MALFORMED, "Last-Event-ID is not the id of an event");
    return false;
}

static uint64_t version_of_stores(const void *context)
{
    return stores_version(context);
}

/** What a stream or page selects; texts are owned. */
struct selection {
    char **types;
    char **agents;
};

static void selection_fini(struct selection *selection)
{
    call_list_free(selection->types);
    call_list_free(selection->agents);
}

static bool is_in(char *const *list, const char *word)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        if (strcmp(list[i], word) == 0) {
            return true;
        }
    }
    return list == NULL;
}

/** Types and agents of the query, checked against the grant. @return false: a problem */
static bool read_selection(struct call *call, struct selection *ret_selection)
{
    const char *types = call_query(call, "types");
    const char *agent = call_query(call, "agent");
    *ret_selection = (struct selection){0};
    if (types != NULL && types[0] != '\0') {
        ret_selection->types = call_list_new(types);
    }
    for (size_t i = 0; ret_selection->types != NULL && ret_selection->types[i] != NULL; i++) {
        enum journal_type type;
        if (!journal_type_from_name(ret_selection->types[i], &type)) {
            call_problem(call, PROBLEM_MALFORMED, "there is no event type %.64s",
                         ret_selection->types[i]);
            return false;
        }
    }
    if (agent != NULL && !token_grant_covers(&call->grant, agent)) {
        call_problem(call, PROBLEM_FORBIDDEN, "the token is limited to other agents");
        return false;
    }
    if (agent != NULL) {
        ret_selection->agents = memory_new_zero(2, sizeof(char *));
        ret_selection->agents[0] = memory_dup_string(agent);
    }
    return true;
}

/** @param run NULL = all runs */
static void stream(struct call *call, const struct store_run *run, int64_t by_default)
{
    struct selection selection;
    const char *person = call->grant.person;
    struct hub_filter filter = {.run_id = run == NULL ? NULL : run->id,
                                .agent_of_run = run == NULL ? NULL : run->agent_id,
                                .viewer = person[0] == '\0' ? NULL : person,
                                .token = call->grant.digest};
    if (read_selection(call, &selection) && read_after(call, by_default, &filter.after) &&
        !answer_head(call)) {
        filter.types = (const char *const *)selection.types;
        filter.agents =
            (const char *const *)(selection.agents != NULL ? selection.agents : call->grant.agents);
        call->is_answered = true;
        hub_stream_events(call->server->hub, call->exchange, &filter);
    }
    selection_fini(&selection);
}

/** Whether the caller sees all that it selects. @return false: a problem */
static bool sees_selected(struct call *call)
{
    const char *agent = call_query(call, "agent");
    char *const *agents = call->grant.agents;
    bool is_seen = agent != NULL || agents != NULL || call_sees_content(call, NULL);
    if (agent != NULL) {
        return call_sees_content(call, agent);
    }
    for (size_t i = 0; is_seen && agents != NULL && agents[i] != NULL; i++) {
        is_seen = call_sees_content(call, agents[i]);
    }
    return is_seen;
}

/** The part of one store in a stream over several. @return false: a problem */
static bool add_part(struct call *call, size_t index, bool is_table, struct hub_part *ret_part)
{
    struct call_reach *reach = &call->reached[index];
    const char *agent = call_query(call, "agent");
    *ret_part = (struct hub_part){.name = reach->name};
    if (!read_place(call, index, &ret_part->filter.after)) {
        return false;
    }
    if (reach->is_away) {
        return true;
    }
    call_enter(call, index);
    if (!is_table && !sees_selected(call)) {
        return false;
    }
    ret_part->hub = reach->server->hub;
    ret_part->filter.agents = agent == NULL ? (const char *const *)reach->grant.agents : NULL;
    ret_part->filter.viewer = reach->grant.person[0] == '\0' ? NULL : reach->grant.person;
    ret_part->filter.token = reach->grant.digest;
    return true;
}

static void stream_stores(struct call *call, bool is_table)
{
    struct hub_part parts[STORES_MAX];
    struct selection selection = {0};
    struct hub_mux_options options = {
        .parts = parts,
        .count = call->reached_count,
        .is_table = is_table,
        .version = version_of_stores,
        .version_context = call->front->stores,
    };
    bool is_good = is_table || read_selection(call, &selection);
    for (size_t i = 0; i < call->reached_count && is_good; i++) {
        is_good = add_part(call, i, is_table, &parts[i]);
        if (selection.agents != NULL) {
            bool is_covered = token_grant_covers(&call->reached[i].grant, selection.agents[0]);
            parts[i].hub = is_covered ? parts[i].hub : NULL;
            parts[i].filter.agents = (const char *const *)selection.agents;
        }
        parts[i].filter.types = (const char *const *)selection.types;
    }
    if (is_good && !answer_head(call)) {
        call->is_answered = true;
        hub_mux_open(call->exchange, &options);
    }
    selection_fini(&selection);
}

void handle_stream(struct call *call)
{
    struct hub_filter filter = {.agents = (const char *const *)call->grant.agents,
                                .token = call->grant.digest};
    if (!wants_stream(call)) {
        call_problem(call, PROBLEM_MALFORMED, "this is a stream: send `Accept: text/event-stream`");
    } else if (call_spans_stores(call)) {
        stream_stores(call, true);
    } else if (read_after(call, -1, &filter.after) && !answer_head(call)) {
        call->is_answered = true;
        hub_stream_runs(call->server->hub, call->exchange, &filter);
    }
}

/* ---- Pages of one run ----------------------------------------------------------------------- */

/** One page being filled. */
struct event_page {
    const struct selection *selection;
    int64_t limit;
    int64_t before; /* exclusive; INT64_MAX = none */
    int64_t shown;
    int64_t looked_at;
    int64_t last; /* seq or position that was looked at last */
    bool is_full;
    struct buf *json; /* objects with commas, without brackets */
};

static bool is_enough(const struct event_page *page)
{
    return page->shown >= page->limit || page->looked_at >= MAX_LOOKED_AT ||
           page->json->len > ANSWER_BYTES;
}

static void show(struct event_page *page, const struct store_event *event)
{
    buf_append_string(page->json, page->shown++ > 0 ? "," : "");
    event_json_stored(event, page->json);
}

static bool take_forward(const struct store_event *event, void *context)
{
    struct event_page *page = context;
    if ((int64_t)event->seq >= page->before) {
        return false;
    }
    page->last = (int64_t)event->seq;
    page->looked_at++;
    if (is_in(page->selection->types, event->type)) {
        show(page, event);
    }
    page->is_full = is_enough(page);
    return !page->is_full;
}

static bool take_backward(const struct store_event *event, void *context)
{
    struct event_page *page = context;
    show(page, event);
    page->is_full = is_enough(page);
    return !page->is_full;
}

static int read_backward(struct store *store, const struct store_run *run, int64_t after,
                         struct event_page *page, struct rondo_error *err)
{
    uint64_t end = run->last_seq + 1;
    uint64_t reached = 0;
    struct backward backward = {
        .run_id = run->id,
        .before = (uint64_t)page->before < end ? (uint64_t)page->before : end,
        .after = (uint64_t)after,
        .types = (const char *const *)page->selection->types,
        .window =
            page->selection->types == NULL && page->limit < WINDOW ? (uint64_t)page->limit : WINDOW,
        .most = MAX_LOOKED_AT,
    };
    int r = backward_visit(store, &backward, take_backward, page, &reached, err);
    page->last = (int64_t)reached;
    return r;
}

static void answer_page(struct call *call, const struct event_page *page,
                        const struct store_run *run, bool is_more)
{
    struct json_writer writer = call_json(call, 200);
    auto_buf struct buf list = {0};
    buf_printf(&list, "[%s]", buf_string(page->json));
    json_begin_object(&writer, NULL);
    json_write_raw(&writer, "events", buf_string(&list));
    if (is_more) {
        json_write_int(&writer, "next", page->last);
    } else {
        json_write_null(&writer, "next");
    }
    if (run != NULL) {
        json_write_int(&writer, "last_seq", (int64_t)run->last_seq);
    }
    json_end_object(&writer);
}

static void read_run_page(struct call *call, const struct store_run *run,
                          const struct selection *selection)
{
    static const char *const orders[] = {"asc", "desc", NULL};
    struct rondo_error err = {0};
    auto_buf struct buf json = {0};
    struct event_page page = {.selection = selection, .json = &json};
    int64_t after = 0;
    int order = -1;
    if (!call_query_int(call, "after", 0, INT64_MAX - 1, 0, &after) ||
        !call_query_int(call, "before", 1, INT64_MAX, INT64_MAX, &page.before) ||
        !call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &page.limit) ||
        !call_query_word(call, "order", orders, &order)) {
        return;
    }
    struct store *store = call_store(call);
    int r = order == 1 ? read_backward(store, run, after, &page, &err)
                       : store->ops->read_events(store, run->id, (uint64_t)after, 0, take_forward,
                                                 &page, &err);
    int64_t end = (int64_t)run->last_seq + 1;
    end = page.before < end ? page.before : end;
    bool is_more =
        order == 1 ? page.last > after + 1 && end > after + 1 : page.is_full && page.last + 1 < end;
    if (r < 0) {
        call_error(call, &err);
    } else {
        answer_page(call, &page, run, is_more);
    }
}

void handle_run_events(struct call *call)
{
    struct store_run run;
    struct selection selection;
    if (!call_find_content(call, &run)) {
        return;
    }
    if (wants_stream(call)) {
        stream(call, &run, 0);
        return;
    }
    if (read_selection(call, &selection)) {
        read_run_page(call, &run, &selection);
    }
    selection_fini(&selection);
}

/* ---- Pages of all runs ---------------------------------------------------------------------- */

/** Events of a page with their runs, whose agents are looked up when the store's call is over. */
struct gathered_events {
    struct event_page *page;
    struct buf objects[MAX_PAGE];
    char runs[MAX_PAGE][ID_SIZE];
    int64_t positions[MAX_PAGE];
    size_t count;
};

static bool gather(const struct store_event *event, void *context)
{
    struct gathered_events *gathered = context;
    struct event_page *page = gathered->page;
    page->looked_at++;
    page->last = (int64_t)event->position;
    if (is_in(page->selection->types, event->type)) {
        size_t i = gathered->count++;
        memcpy(gathered->runs[i], event->run_id, ID_SIZE);
        gathered->positions[i] = (int64_t)event->position;
        event_json_stored(event, &gathered->objects[i]);
    }
    return gathered->count < (size_t)page->limit && page->looked_at < MAX_LOOKED_AT;
}

/** Whether an event's run matches the caller's filter and is visible to it. */
static bool is_reached(struct call *call, const struct selection *selection, const char *run_id,
                       struct store_run *cached)
{
    struct store *store = call_store(call);
    if (selection->agents == NULL && call->grant.agents == NULL) {
        return true;
    }
    if (strcmp(cached->id, run_id) != 0 && store->ops->get_run(store, run_id, cached, NULL) < 0) {
        cached->id[0] = '\0';
        return false;
    }
    return is_in(selection->agents, cached->agent_id) &&
           token_grant_covers(&call->grant, cached->agent_id);
}

static void show_gathered(struct call *call, struct gathered_events *gathered)
{
    struct store_run cached = {0};
    struct event_page *page = gathered->page;
    for (size_t i = 0; i < gathered->count; i++) {
        if (is_reached(call, page->selection, gathered->runs[i], &cached)) {
            buf_append_string(page->json, page->shown++ > 0 ? "," : "");
            buf_append(page->json, gathered->objects[i].data, gathered->objects[i].len);
        }
        buf_fini(&gathered->objects[i]);
    }
}

static void read_all_page(struct call *call, const struct selection *selection)
{
    struct rondo_error err = {0};
    auto_buf struct buf json = {0};
    struct event_page page = {.selection = selection, .json = &json};
    int64_t after = 0;
    if (!call_query_int(call, "after", 0, INT64_MAX, 0, &after) ||
        !call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &page.limit)) {
        return;
    }
    struct store *store = call_store(call);
    struct gathered_events *gathered = memory_new_zero(1, sizeof(*gathered));
    gathered->page = &page;
    page.last = after;
    int r = store->ops->read_events(store, NULL, (uint64_t)after, MAX_LOOKED_AT, gather, gathered,
                                    &err);
    show_gathered(call, gathered);
    free(gathered);
    if (r < 0) {
        call_error(call, &err);
    } else {
        answer_page(call, &page, NULL, true);
    }
}

void handle_all_events(struct call *call)
{
    struct selection selection;
    if (call_spans_stores(call) && wants_stream(call)) {
        stream_stores(call, false);
        return;
    }
    if (call_spans_stores(call) && call->reached_count > 1) {
        call_problem(call, PROBLEM_MALFORMED,
                     "positions are those of one store: name it with `store`, or read the stream");
        return;
    }
    if (!sees_selected(call)) {
        return;
    }
    if (wants_stream(call)) {
        stream(call, NULL, -1);
        return;
    }
    if (read_selection(call, &selection)) {
        read_all_page(call, &selection);
    }
    selection_fini(&selection);
}
