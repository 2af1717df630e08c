// SPDX-License-Identifier: Apache-2.0
/*
 * GET /v1/inbox: what waits for people, the one that is due first first. Which and how many is
 * found in memory (handoff/inbox/index.h); what a page shows is read after.
 */
#include "base/ascii.h"
#include "base/auto.h"
#include "base/json/canonical.h"
#include "base/memory.h"
#include "base/text/utf8.h"
#include "handoff/desks/desks.h"
#include "handoff/inbox/index.h"
#include "handoff/storage/clock.h"
#include "orchestrator/orchestrator.h"
#include "server/api/handlers.h"
#include "server/api/inbox_call.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_PAGE 50
#define MAX_PAGE     200
/** Requests whose text one answer searches; the next page continues. */
#define MAX_SEARCHED 500
/** Bytes of the arguments that a row shows. */
#define PREVIEW_BYTES 200
/** Bytes of a cursor: how it is searched, a place and an id. */
#define CURSOR_SIZE 96

/** Where the words of a query are looked for. */
enum words_place {
    SEARCH_NAMES = 0, /**< tool, reason, agent, lane and id: in memory, of all */
    SEARCH_TEXT,      /**< the request itself: of so many */
};

struct inbox_page {
    struct call *call;
    struct handoff_store handoffs;
    struct handoff_query query;
    const char *words;
    enum words_place search;
    int64_t limit;
    struct handoff_place_in_list *places; /* candidates */
    size_t count;
    size_t room;
    int64_t shown;
};

/** Words of the parameter `state`: names of states, and of groups of them after those. */
enum state_group { GROUP_OPEN = HANDOFF_STATE_COUNT, GROUP_WAITING, GROUP_ALL, GROUP_END };

/* ---- Who sees what -------------------------------------------------------------------------- */

struct handoff_store call_handoffs(const struct call *call)
{
    return runtime_handoffs(call->server->options.runtime);
}

struct inbox_view_options call_inbox_view(struct call *call, bool has_thread)
{
    return (struct inbox_view_options){.has_thread = has_thread, .viewer = call_viewer(call)};
}

const char *call_viewer(const struct call *call)
{
    return call->grant.person[0] == '\0' ? NULL : call->grant.person;
}

bool call_sees_handoff(const struct call *call, const struct handoff *handoff)
{
    return token_grant_covers(&call->grant, handoff->agent_id);
}

/* ---- The parameters ------------------------------------------------------------------------- */

/** "SEARCH.RANK.TURN.ID" */
static bool read_cursor(struct call *call, struct inbox_page *page)
{
    const char *text = call_query(call, "cursor");
    struct handoff_place_in_list *after = &page->query.after;
    unsigned search = 0;
    char id[ID_SIZE] = "";
    int end = 0;
    if (text == NULL) {
        return true;
    }
    if (strlen(text) >= CURSOR_SIZE ||
        sscanf(text, "%1u.%19" SCNd64 ".%9" SCNu32 ".%36[0-9a-f-]%n", &search, &after->rank_ns,
               &after->turn, id, &end) != 4 ||
        text[end] != '\0' || !id_is_valid(id) || search > SEARCH_TEXT || after->rank_ns < 0) {
        call_problem(call, PROBLEM_MALFORMED, "the parameter cursor takes `next` of an answer");
        return false;
    }
    page->search = (enum words_place)search;
    memcpy(after->request_id, id, sizeof(id));
    return true;
}

/** @param state of `states` in read_parameters; -1 = none is given */
static void set_states(struct handoff_query *query, int state)
{
    query->states = state < 0 || state == GROUP_WAITING ? QUERY_WAITING
                    : state == GROUP_OPEN               ? QUERY_OPEN
                    : state == GROUP_ALL                ? QUERY_ALL
                                                        : QUERY_STATE;
    query->state = query->states == QUERY_STATE ? (enum handoff_state)state : HANDOFF_REQUESTED;
}

static bool read_parameters(struct call *call, struct inbox_page *page)
{
    const char *states[GROUP_END + 1] = {
        [GROUP_OPEN] = "open", [GROUP_WAITING] = "waiting", [GROUP_ALL] = "all"};
    const char *levels[HANDOFF_LEVEL_COUNT + 1] = {0};
    struct handoff_query *query = &page->query;
    int state = -1;
    int priority = -1;
    bool is_mine = false;
    for (int i = 0; i < HANDOFF_STATE_COUNT; i++) {
        states[i] = handoff_state_name((enum handoff_state)i);
    }
    for (int i = 0; i < HANDOFF_LEVEL_COUNT; i++) {
        levels[i] = handoff_level_name((enum handoff_level)i);
    }
    page->words = call_query(call, "q");
    page->words = page->words != NULL && page->words[0] == '\0' ? NULL : page->words;
    if (!call_query_word(call, "state", states, &state) ||
        !call_query_word(call, "priority", levels, &priority) ||
        !call_query_bool(call, "mine", false, &is_mine) ||
        !call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &page->limit) ||
        !read_cursor(call, page)) {
        return false;
    }
    query->desk = call_query(call, "desk");
    query->agent_id = call_query(call, "agent");
    query->lane_id = call_query(call, "run");
    query->agents = (const char *const *)call->grant.agents;
    query->person = call->grant.person[0] == '\0' ? NULL : call->grant.person;
    query->whose = is_mine ? QUERY_MINE : QUERY_OF_ANYBODY;
    query->has_priority = priority >= 0;
    query->priority = priority < 0 ? HANDOFF_LOW : (enum handoff_level)priority;
    set_states(query, state);
    return true;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/** The beginning of the arguments as they are, and whether that is all. */
static void add_preview(struct json_object *row)
{
    auto_buf struct buf text = {0};
    struct json_object *args = json_member(json_member(row, "action"), "args");
    struct json_object *preview = json_object_new_object();
    const char *json =
        args == NULL ? "" : json_object_to_json_string_ext(args, JSON_C_TO_STRING_PLAIN);
    if (args == NULL || json_canonical(json, strlen(json), &text, NULL) < 0) {
        buf_clear(&text);
    }
    size_t len = text.len < PREVIEW_BYTES ? text.len : PREVIEW_BYTES;
    while (len > 0 && len < text.len && ((unsigned char)text.data[len] & 0xc0) == 0x80) {
        len--;
    }
    json_object_object_add(preview, "text",
                           json_object_new_string_len(len == 0 ? "" : text.data, (int)len));
    json_object_object_add(preview, "bytes", json_object_new_int64((int64_t)text.len));
    json_object_object_add(row, "args", preview);
    json_object_object_del(row, "action");
    json_object_object_del(row, "request");
}

/** Whether the text of a request has the words, of whatever case. */
static bool has_words(const char *json, const char *words)
{
    return words == NULL || words[0] == '\0' || strcasestr(json, words) != NULL;
}

/** Append the row of a handoff. @return 1 it is shown, 0 it is not, or a code */
static int write_row(struct inbox_page *page, const char *id, struct json_writer *writer,
                     struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    auto_json struct json_object *row = NULL;
    struct handoff handoff;
    struct inbox_view_options options = call_inbox_view(page->call, false);
    int r = handoff_read(&page->handoffs, id, &handoff, err);
    r = r < 0 ? r : inbox_view(&page->handoffs, &handoff, &options, &json, err);
    if (r == RONDO_ERR_NOT_FOUND || r == RONDO_ERR_CORRUPT) {
        return 0; /* Deleted meanwhile; what is damaged is `rondo inbox`'s to say. */
    }
    /* What the caller may not see finds nothing, either. */
    if (r < 0 || !has_words(buf_string(&json), page->words)) {
        return r;
    }
    r = json_parse(buf_string(&json), json.len, &row, err);
    if (r == 0) {
        add_preview(row);
        json_write_raw(writer, NULL, json_object_to_json_string_ext(row, JSON_C_TO_STRING_PLAIN));
    }
    return r < 0 ? r : 1;
}

static bool take_place(const struct handoff_summary *summary,
                       const struct handoff_place_in_list *place, void *context)
{
    struct inbox_page *page = context;
    (void)summary;
    page->places[page->count++] = *place;
    return page->count < page->room;
}

/** Find candidates, one more than can be shown or searched. */
static void find_places(struct inbox_page *page)
{
    bool is_in_text = page->words != NULL && page->search == SEARCH_TEXT;
    page->room = (size_t)(is_in_text ? MAX_SEARCHED : page->limit) + 1;
    page->places = memory_resize(page->places, page->room, sizeof(*page->places));
    page->count = 0;
    page->query.text = is_in_text ? NULL : page->words;
    handoff_index_list(orchestrator_handoffs(call_orchestrator(page->call)), page->handoffs.desks,
                       &page->query, take_place, page);
}

/** @param ret_last the last one that was looked at, if there are more; else -1 */
static int write_rows(struct inbox_page *page, struct json_writer *writer, int64_t *ret_last,
                      struct rondo_error *err)
{
    int64_t i = 0;
    int r = 0;
    for (; i + 1 < (int64_t)page->room && i < (int64_t)page->count && page->shown < page->limit &&
           r >= 0;
         i++) {
        r = write_row(page, page->places[i].request_id, writer, err);
        page->shown += r > 0;
    }
    *ret_last = i < (int64_t)page->count ? i - 1 : -1;
    return r < 0 ? r : 0;
}

/** The words are looked for among the names of all; when none has them, in the texts. */
static int write_found(struct inbox_page *page, struct json_writer *writer, int64_t *ret_last,
                       struct rondo_error *err)
{
    bool is_first = page->query.after.request_id[0] == '\0';
    struct redact_view view = desks_view(page->handoffs.desks, call_viewer(page->call), NULL, NULL);
    if (page->words != NULL && redact_hides(&view)) {
        page->search = SEARCH_TEXT; /* The index has reasons with what is hidden: a page of it would
                                       say whether the words are in one. */
    }
    json_begin_array(writer, "handoffs");
    find_places(page);
    int r = write_rows(page, writer, ret_last, err);
    if (r == 0 && page->words != NULL && is_first && page->shown == 0 && *ret_last < 0) {
        page->search = SEARCH_TEXT;
        find_places(page);
        r = write_rows(page, writer, ret_last, err);
    }
    json_end_array(writer);
    return r;
}

/** All that the caller sees and that waits, whatever the page shows. */
static void write_counts(const struct inbox_page *page, struct json_writer *writer)
{
    auto_free struct handoff_tally *tally = memory_new_zero(1, sizeof(*tally));
    struct handoff_query query = {.agents = page->query.agents, .person = page->query.person};
    handoff_index_count(orchestrator_handoffs(call_orchestrator(page->call)), page->handoffs.desks,
                        &query, handoff_now(&page->handoffs), tally);
    json_begin_object(writer, "counts");
    json_write_int(writer, "waiting", (int64_t)tally->waiting);
    json_write_int(writer, "mine", (int64_t)tally->mine);
    json_begin_object(writer, "priority");
    for (int i = 0; i < HANDOFF_LEVEL_COUNT; i++) {
        json_write_int(writer, handoff_level_name((enum handoff_level)i),
                       (int64_t)tally->by_priority[i]);
    }
    json_end_object(writer);
    json_begin_array(writer, "desks");
    for (size_t i = 0; i < tally->desk_count; i++) {
        json_begin_object(writer, NULL);
        json_write_string(writer, "name", tally->desks[i].name);
        json_write_int(writer, "count", (int64_t)tally->desks[i].waiting);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_end_object(writer);
}

static void write_next(const struct inbox_page *page, int64_t last, struct json_writer *writer)
{
    char next[CURSOR_SIZE];
    if (last >= 0) {
        const struct handoff_place_in_list *place = &page->places[last];
        snprintf(next, sizeof(next), "%d.%" PRId64 ".%" PRIu32 ".%s", (int)page->search,
                 place->rank_ns, place->turn, place->request_id);
    }
    json_write_string(writer, "next", last >= 0 ? next : NULL);
}

static int write_page(struct inbox_page *page, struct json_writer *writer, struct rondo_error *err)
{
    int64_t last = -1;
    page->handoffs = call_handoffs(page->call);
    int r = handoff_index_refresh(orchestrator_handoffs(call_orchestrator(page->call)),
                                  &page->handoffs, err);
    if (r < 0) {
        return r;
    }
    json_begin_object(writer, NULL);
    r = write_found(page, writer, &last, err);
    write_counts(page, writer);
    write_next(page, last, writer);
    json_write_time(writer, "now", handoff_now(&page->handoffs));
    json_end_object(writer);
    return r;
}

void handle_inbox(struct call *call)
{
    struct rondo_error err = {0};
    struct inbox_page page = {.call = call};
    if (!read_parameters(call, &page)) {
        return;
    }
    struct json_writer writer = call_json(call, 200);
    if (write_page(&page, &writer, &err) < 0) {
        call_error(call, &err);
    }
    free(page.places);
}
