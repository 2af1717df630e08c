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

/** The part of a page that is from one store. */
struct run_page {
    size_t index; /* of the store, when there are several */
    struct store_run_query query;
    struct store_run_place begin; /* as the cursor has it */
    struct store_run_place after; /* how far the store was read */
    bool has_begin;
    bool is_over;    /* the pages before had all of it */
    bool has_failed; /* it cannot be read, or is away */
    bool is_more;
    size_t shown;
    struct store_run_counts counts;
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

/** Where the page begins; in a list over several stores, in the part of this one. */
static bool read_cursor(struct call *call, struct run_page *page)
{
    char part[RUN_CURSOR_SIZE];
    const char *cursor = call_query(call, "cursor");
    if (cursor != NULL && call_spans_stores(call)) {
        page->is_over = !run_cursor_part(cursor, call->server->store_label, part);
        cursor = page->is_over || part[0] == '\0' ? NULL : part;
    }
    if (cursor == NULL) {
        return true;
    }
    page->query.after = &page->after;
    page->has_begin =
        run_cursor_read(cursor, page->query.order, page->query.is_ascending, &page->begin);
    page->after = page->begin;
    if (!page->has_begin) {
        call_problem(call, PROBLEM_MALFORMED,
                     "the cursor does not belong to a list with this order");
    }
    return page->has_begin;
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
    return read_cursor(call, page);
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
static int fill(struct call *call, struct run_page *page, struct rondo_error *err)
{
    size_t kept = 0;
    size_t looked_at = 0;
    page->is_more = true;
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
            page->is_more = false;
            break;
        }
    }
    page->count = kept;
    return 0;
}

static int count(struct call *call, struct run_page *page, struct rondo_error *err)
{
    struct store *store = call_store(call);
    struct store_run_query query = page->query;
    query.statuses = 0;
    query.after = NULL;
    query.limit = 0;
    return store->ops->count_runs(store, &query, &page->counts, err);
}

/** Read the part of the call's store. @return false: the answer is a problem */
static bool load(struct call *call, struct run_page *page)
{
    struct rondo_error err = {0};
    if (!read_page(call, page)) {
        return false;
    }
    page->damaged_writer = json_writer(&page->damaged);
    json_begin_array(&page->damaged_writer, NULL);
    int r = page->is_over ? 0 : fill(call, page, &err);
    json_end_array(&page->damaged_writer);
    r = r < 0 ? r : count(call, page, &err);
    page->has_failed = r < 0;
    if (r < 0 && call_spans_stores(call)) {
        call->reached[page->index].is_away = true;
    }
    if (r == 0 || call_spans_stores(call)) {
        page->count = r < 0 ? 0 : page->count;
        return true; /* The others are shown. */
    }
    call_error(call, &err);
    return false;
}

/* ---- Of all stores --------------------------------------------------------------------------- */

struct run_parts {
    struct run_page *pages; /* one for each store that the caller reaches */
    size_t count;
};

static bool comes_before(const struct run_page *a, const struct run_page *b)
{
    struct store_run_place places[2];
    run_cursor_place(&a->runs[a->shown], a->query.order, &places[0]);
    run_cursor_place(&b->runs[b->shown], b->query.order, &places[1]);
    int order = run_cursor_compare(&places[0], &places[1]);
    return a->query.is_ascending ? order < 0 : order > 0;
}

/** @return the part whose next run is shown next; NULL: there are no more */
static struct run_page *next_part(const struct run_parts *listing)
{
    struct run_page *first = NULL;
    for (size_t i = 0; i < listing->count; i++) {
        struct run_page *page = &listing->pages[i];
        if (page->shown < page->count && (first == NULL || comes_before(page, first))) {
            first = page;
        }
    }
    return first;
}

static void write_runs(struct call *call, const struct run_parts *listing,
                       struct json_writer *writer)
{
    bool is_over = false;
    json_begin_array(writer, "runs");
    for (size_t shown = 0; !is_over; shown++) {
        struct run_page *page = next_part(listing);
        is_over = page == NULL || shown + 1 == page->room;
        if (is_over) {
            continue;
        }
        if (call->reached != NULL) {
            call_enter(call, page->index);
        }
        json_begin_object(writer, NULL);
        run_json_members(&page->runs[page->shown++], NULL, call_orchestrator(call),
                         call->server->store_label, writer);
        json_end_object(writer);
    }
    json_end_array(writer);
}

/** Where the next page begins in one store. @return false: it has no more */
static bool next_begin(struct run_page *page, struct store_run_place *ret_place)
{
    *ret_place = page->after;
    if (page->shown == page->count) {
        return page->is_more && !page->is_over && !page->has_failed;
    }
    *ret_place = page->begin;
    if (page->shown > 0) {
        run_cursor_place(&page->runs[page->shown - 1], page->query.order, ret_place);
    }
    return true;
}

static void write_cursor(const struct call *call, const struct run_parts *listing,
                         struct json_writer *writer)
{
    auto_buf struct buf cursor = {0};
    for (size_t i = 0; i < listing->count; i++) {
        struct store_run_place place;
        struct run_page *page = &listing->pages[i];
        if (!next_begin(page, &place)) {
            continue;
        }
        if (call_spans_stores(call)) {
            run_cursor_begin_part(&cursor, call->reached[page->index].name);
        }
        if (page->shown > 0 || page->has_begin || page->count == 0) {
            run_cursor_write(&place, page->query.order, page->query.is_ascending, &cursor);
        }
    }
    json_write_string(writer, "next_cursor", cursor.len == 0 ? NULL : buf_string(&cursor));
}

static void write_counts(const struct run_parts *listing, struct json_writer *writer)
{
    struct store_run_counts sum = {0};
    auto_buf struct buf json = {0};
    for (size_t i = 0; i < listing->count; i++) {
        const struct store_run_counts *counts = &listing->pages[i].counts;
        for (int status = 0; status < RONDO_STATUS_COUNT; status++) {
            sum.by_status[status] += counts->by_status[status];
        }
        sum.paused += counts->paused;
    }
    run_counts_write(&sum, NULL, &json);
    json_write_raw(writer, "counts", buf_string(&json));
}

static void write_damaged(const struct run_parts *listing, struct json_writer *writer)
{
    auto_buf struct buf all = {0};
    buf_append_string(&all, "[");
    for (size_t i = 0; i < listing->count; i++) {
        const struct buf *damaged = &listing->pages[i].damaged;
        if (damaged->len > 2) { /* without its brackets */
            buf_printf(&all, "%s%.*s", all.len > 1 ? "," : "", (int)(damaged->len - 2),
                       damaged->data + 1);
        }
    }
    buf_append_string(&all, "]");
    json_write_raw(writer, "damaged", buf_string(&all));
}

static void answer_list(struct call *call, const struct run_parts *listing)
{
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    write_runs(call, listing, &writer);
    write_cursor(call, listing, &writer);
    write_counts(listing, &writer);
    write_damaged(listing, &writer);
    if (call_spans_stores(call)) {
        handler_write_stores(call, &writer);
    }
    json_end_object(&writer);
}

void handle_list_runs(struct call *call)
{
    bool is_good = true;
    struct run_parts listing = {.count = call_spans_stores(call) ? call->reached_count : 1};
    listing.pages = memory_new_zero(listing.count, sizeof(*listing.pages));
    for (size_t i = 0; i < listing.count && is_good; i++) {
        struct run_page *page = &listing.pages[i];
        page->index = i;
        page->has_failed = call_spans_stores(call) && call->reached[i].is_away;
        if (call_spans_stores(call) && !page->has_failed) {
            call_enter(call, i);
        }
        is_good = page->has_failed || load(call, page);
    }
    if (is_good) {
        answer_list(call, &listing);
    }
    for (size_t i = 0; i < listing.count; i++) {
        buf_fini(&listing.pages[i].damaged);
        free(listing.pages[i].runs);
    }
    free(listing.pages);
}
