// SPDX-License-Identifier: Apache-2.0
/* The list of runs. */
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/status.h"
#include "server/answer/run_json.h"
#include "server/api/handlers.h"
#include "server/api/run_cursor.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_PAGE 50
#define MAX_PAGE     500
/** Runs of a narrower status are picked out of so many at most; then the page is short. */
#define MAX_LOOKED_AT 5000
/** Bytes of a search. */
#define LIMIT_SEARCH_BYTES 256
/** Runs that cannot be read, and that a page can be read past. */
#define MAX_DAMAGED 500

/** Kinds of running that only a look at each run distinguishes. */
static const char *const display_statuses[] = {"queued", "paused", "waiting", "parked",
                                               "interrupted"};
#define DISPLAY_STATUSES (sizeof(display_statuses) / sizeof(display_statuses[0]))

struct run_page {
    struct store_run_query query;
    struct store_run_place after;
    bool wants_status[DISPLAY_STATUSES];
    bool is_narrow; /* running ones are selected only by their display status */
    char **agents;  /* or NULL */
    struct store_run *runs;
    size_t count;
    size_t room;
    struct buf damaged; /* JSON array of runs that cannot be read */
    struct json_writer damaged_writer;
    int64_t
        damaged_rows[MAX_DAMAGED]; /* reading continues after the last good one: they come again */
    size_t damaged_count;
    bool is_hopeless; /* there are more */
    size_t passed;    /* rows of the last call of the store */
};

static bool take_run(const struct store_run *run, void *context)
{
    struct run_page *page = context;
    page->runs[page->count++] = *run;
    page->passed++;
    return page->count < page->room;
}

static void take_damaged(const struct store_damaged_run *damaged, void *context)
{
    struct run_page *page = context;
    page->passed++;
    for (size_t i = 0; i < page->damaged_count; i++) {
        if (page->damaged_rows[i] == damaged->row) {
            return;
        }
    }
    if (page->damaged_count == MAX_DAMAGED) {
        page->is_hopeless = true;
        return;
    }
    page->damaged_rows[page->damaged_count++] = damaged->row;
    json_begin_object(&page->damaged_writer, NULL);
    json_write_string(&page->damaged_writer, "run_id", damaged->id);
    json_write_string(&page->damaged_writer, "detail", damaged->detail);
    json_end_object(&page->damaged_writer);
}

static bool read_status(struct run_page *page, const char *word)
{
    enum rondo_status status;
    for (size_t i = 0; i < DISPLAY_STATUSES; i++) {
        if (strcmp(word, display_statuses[i]) == 0) {
            page->wants_status[i] = true;
            return true;
        }
    }
    if (!status_from_name(word, &status)) {
        return false;
    }
    page->query.statuses |= 1U << status;
    return true;
}

static bool read_statuses(struct call *call, struct run_page *page)
{
    const char *text = call_query(call, "status");
    if (text == NULL) {
        return true;
    }
    char **words = call_list_new(text);
    bool is_good = true;
    for (size_t i = 0; words[i] != NULL && is_good; i++) {
        is_good = read_status(page, words[i]);
        if (!is_good) {
            call_problem(call, PROBLEM_MALFORMED, "there is no status %.64s", words[i]);
        }
    }
    call_list_free(words);
    bool has_status = false;
    for (size_t i = 0; i < DISPLAY_STATUSES; i++) {
        has_status = has_status || page->wants_status[i];
    }
    page->is_narrow = has_status && (page->query.statuses & 1U << RONDO_RUNNING) == 0;
    page->query.statuses |= has_status ? 1U << RONDO_RUNNING : 0;
    return is_good;
}

static bool read_order(struct call *call, struct run_page *page)
{
    static const char *const orders[] = {"created", "updated", "agent",    "status", "iteration",
                                         "tokens",  "cost",    "warnings", NULL};
    static const char *const directions[] = {"desc", "asc", NULL};
    int order = -1;
    int direction = -1;
    if (!call_query_word(call, "sort", orders, &order) ||
        !call_query_word(call, "order", directions, &direction)) {
        return false;
    }
    page->query.order = order < 0 ? STORE_BY_CREATED : (enum store_run_order)order;
    page->query.is_ascending = direction == 1;
    const char *cursor = call_query(call, "cursor");
    if (cursor == NULL) {
        return true;
    }
    page->query.after = &page->after;
    if (run_cursor_read(cursor, page->query.order, page->query.is_ascending, &page->after)) {
        return true;
    }
    call_problem(call, PROBLEM_MALFORMED, "the cursor does not belong to a list with this order");
    return false;
}

/** Which runs by the run that they work for. @return false: the answer is a problem */
static bool read_family(struct call *call, struct run_page *page)
{
    static const char *const words[] = {"show", "hide", NULL};
    int word = -1;
    const char *parent = call_query(call, "parent");
    if (parent != NULL && !id_is_valid(parent)) {
        call_problem(call, PROBLEM_MALFORMED, "parent is not the id of a run");
        return false;
    }
    page->query.parent = parent;
    bool is_good = call_query_word(call, "children", words, &word);
    page->query.is_top_only = word == 1;
    return is_good;
}

static bool read_page(struct call *call, struct run_page *page)
{
    int64_t limit = 0;
    const char *search = call_query(call, "q");
    page->query.agent_id = call_query(call, "agent");
    page->query.search = search == NULL || search[0] == '\0' ? NULL : search;
    page->query.damaged = take_damaged;
    page->query.agents = (const char *const *)call->grant.agents;
    if (search != NULL && strlen(search) > LIMIT_SEARCH_BYTES) {
        call_problem(call, PROBLEM_MALFORMED, "q takes %d bytes at most", LIMIT_SEARCH_BYTES);
        return false;
    }
    bool is_good = read_statuses(call, page) && read_order(call, page) && read_family(call, page) &&
                   call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &limit);
    page->room = (size_t)limit + 1; /* One more shows whether there is a next page. */
    return is_good;
}

static bool is_wanted(const struct call *call, const struct run_page *page,
                      const struct store_run *run)
{
    if (!page->is_narrow || run->summary.status != RONDO_RUNNING) {
        return true;
    }
    const char *status = run_json_status(run, call_orchestrator(call));
    for (size_t i = 0; i < DISPLAY_STATUSES; i++) {
        if (page->wants_status[i] && strcmp(status, display_statuses[i]) == 0) {
            return true;
        }
    }
    return false;
}

/** Read what follows, up to the end of the page. @return 1: there is more, 0: not, or an error */
static int read_on(struct call *call, struct run_page *page, struct rondo_error *err)
{
    struct store *store = call_store(call);
    size_t before = page->count;
    page->query.limit = (uint32_t)(page->room - before + page->damaged_count);
    page->passed = 0;
    int r = store->ops->list_runs(store, &page->query, take_run, page, err);
    if (r < 0) {
        return r;
    }
    if (page->is_hopeless) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "more than %d runs cannot be read; restore the store from a backup",
                         MAX_DAMAGED);
    }
    if (page->count > before) {
        run_cursor_place(&page->runs[page->count - 1], page->query.order, &page->after);
        page->query.after = &page->after;
    }
    return page->count == page->room || page->passed == page->query.limit;
}

/** Read until the page is full or nothing follows. What is picked out is done outside of the
 *  store's call, because it calls the orchestrator. */
static int fill(struct call *call, struct run_page *page, bool *ret_is_more,
                struct rondo_error *err)
{
    size_t kept = 0;
    size_t looked_at = 0;
    *ret_is_more = true;
    page->runs = memory_new_zero(page->room, sizeof(*page->runs));
    while (kept < page->room && looked_at < MAX_LOOKED_AT) {
        page->count = kept;
        int r = read_on(call, page, err);
        if (r < 0) {
            return r;
        }
        looked_at += page->passed;
        for (size_t i = kept; i < page->count; i++) {
            if (is_wanted(call, page, &page->runs[i])) {
                page->runs[kept++] = page->runs[i];
            }
        }
        if (r == 0) {
            *ret_is_more = false;
            break;
        }
    }
    page->count = kept;
    return 0;
}

static int count(struct call *call, const struct run_page *page, struct buf *ret_json,
                 struct rondo_error *err)
{
    struct store *store = call_store(call);
    struct store_run_counts counts = {0};
    struct store_run_query query = page->query;
    query.statuses = 0;
    query.after = NULL;
    query.limit = 0;
    int r = store->ops->count_runs(store, &query, &counts, err);
    if (r == 0) {
        run_counts_write(&counts, ret_json);
    }
    return r;
}

static void write_page(struct call *call, struct run_page *page, bool is_more, const char *counts)
{
    auto_buf struct buf cursor = {0};
    struct json_writer writer = call_json(call, 200);
    size_t shown = page->count < page->room ? page->count : page->room - 1;
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "runs");
    for (size_t i = 0; i < shown; i++) {
        json_begin_object(&writer, NULL);
        run_json_members(&page->runs[i], NULL, call_orchestrator(call), &writer);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    if (page->count == page->room) {
        run_cursor_place(&page->runs[shown - 1], page->query.order, &page->after);
    }
    if (is_more) {
        run_cursor_write(&page->after, page->query.order, page->query.is_ascending, &cursor);
    }
    json_write_string(&writer, "next_cursor", is_more ? buf_string(&cursor) : NULL);
    json_write_raw(&writer, "counts", counts);
    json_write_raw(&writer, "damaged", buf_string(&page->damaged));
    json_end_object(&writer);
}

void handle_list_runs(struct call *call)
{
    struct run_page page = {0};
    struct rondo_error err = {0};
    bool is_more = false;
    auto_buf struct buf counts = {0};
    if (!read_page(call, &page)) {
        return;
    }
    page.damaged_writer = json_writer(&page.damaged);
    json_begin_array(&page.damaged_writer, NULL);
    int r = fill(call, &page, &is_more, &err);
    json_end_array(&page.damaged_writer);
    if (r < 0 || count(call, &page, &counts, &err) < 0) {
        call_error(call, &err);
    } else {
        write_page(call, &page, is_more, buf_string(&counts));
    }
    buf_fini(&page.damaged);
    free(page.runs);
}
