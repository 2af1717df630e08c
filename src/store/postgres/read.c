// SPDX-License-Identifier: Apache-2.0
/*
 * Reading runs, events, checkpoints and mail. Each statement is one snapshot; long ones are read in
 * pages, so that a slow reader does not keep a snapshot open.
 *
 * Threads: postgres_read_begin holds a connection's mutex until postgres_read_end, callbacks
 * included.
 */
#include "base/error.h"
#include "store/postgres/internal.h"
#include "store/rules.h"

/** Events that one statement gives. */
#define PAGE_EVENTS 500

int postgres_get_run(struct store *base, const char *run_id, struct store_run *ret_run,
                     struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct postgres_reading reading;
    auto_query struct postgres_query query = {.which = PG_RUN_GET};
    postgres_add_text(&query, run_id);
    int r = postgres_read_begin(store, &query, "read a run", &reading, err);
    if (r < 0) {
        return r;
    }
    r = postgres_read_row(&reading, err);
    if (r == 1) {
        struct checked_row row = postgres_row(store, reading.row, 0);
        int64_t key;
        int damage = postgres_row_run(&row, 0, ret_run, &key, err);
        r = damage < 0 ? damage : 1;
    }
    postgres_read_end(&reading);
    if (r == 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no run %s", run_id);
    }
    return r < 0 ? r : 0;
}

/** How long another program's transaction may hold readers back. */
#define HELD_BACK_NS (200 * NS_PER_MS)

/** Note which transaction was the oldest one that was open. @param next the id after all */
static void note_open(struct postgres_store *store, int64_t oldest, int64_t next)
{
    int64_t known = oldest == next ? 0 : oldest;
    if (atomic_exchange(&store->oldest_open, known) != known) {
        atomic_store(&store->oldest_open_since_ns, clock_monotonic(clock_system()));
    }
}

/**
 * Where a reader of all runs has to stop. The statements find it by themselves, by the oldest
 * transaction that is open in any database of the server. When that one stays, it is asked for once
 * more among ours only, which costs a round trip.
 * @param ret_end 0 = the statements find it
 */
static int find_end(struct postgres_store *store, int64_t *ret_end, struct rondo_error *err)
{
    int64_t since = clock_monotonic(clock_system()) - atomic_load(&store->oldest_open_since_ns);
    *ret_end = 0;
    if (atomic_load(&store->oldest_open) == 0 || since < HELD_BACK_NS) {
        return 0;
    }
    PGresult *result = NULL;
    auto_query struct postgres_query query = {.which = PG_EVENT_END};
    int r = postgres_perform_again(store, &query, &result, "read the last position", err);
    if (r == 0) {
        struct checked_row row = postgres_row(store, result, 0);
        r = postgres_check_answer(&row, "n", "read the last position", err);
        *ret_end = postgres_number(&row, 0);
        store->pq.clear(result);
    }
    return r;
}

static void add_end(struct postgres_query *query, int64_t end)
{
    if (end > 0) {
        postgres_add_number(query, end);
    } else {
        postgres_add_null_number(query);
    }
}

/** The place of a reader. */
struct event_place {
    struct postgres_store *store;
    const char *run_id; /**< NULL = all */
    store_event_fn *fn;
    void *context;
    uint64_t after; /**< seq, or position, of the last event that was passed */
    int64_t left;   /**< events that may still be given; negative = any number */
    int64_t rows;   /**< of the present page */
    bool is_stopped;
};

/** Give one event, or pass a damaged one of all runs, so that it does not hide the others. */
static int give_event(struct event_place *place, const struct postgres_reading *reading,
                      struct rondo_error *err)
{
    struct checked_row row = postgres_row(place->store, reading->row, 0);
    struct store_event event;
    bool is_one_run = place->run_id != NULL;
    int r = row_event(row, &event, err);
    if (r < 0 && !is_one_run && event.position > place->after) {
        place->after = event.position;
        return 0;
    }
    if (r < 0) {
        return r;
    }
    if (is_one_run && event.seq != place->after + 1) {
        return error_set(err, RONDO_ERR_CORRUPT, "%s is damaged: event %llu of a run is missing",
                         place->store->address.shown, (unsigned long long)place->after + 1);
    }
    place->after = is_one_run ? event.seq : event.position;
    place->left -= place->left > 0 ? 1 : 0;
    place->is_stopped = !place->fn(&event, place->context) || place->left == 0;
    return 0;
}

static int read_page(struct event_place *place, struct rondo_error *err)
{
    struct postgres_reading reading;
    int64_t end = 0;
    auto_query struct postgres_query query = {.which = PG_EVENT_READ_ALL};
    int r = place->run_id == NULL ? find_end(place->store, &end, err) : 0;
    if (r < 0) {
        return r;
    }
    if (place->run_id != NULL) {
        query.which = PG_EVENT_READ_RUN;
        postgres_add_text(&query, place->run_id);
    }
    postgres_add_unsigned(&query, place->after);
    postgres_add_number(&query,
                        place->left > 0 && place->left < PAGE_EVENTS ? place->left : PAGE_EVENTS);
    if (place->run_id == NULL) {
        add_end(&query, end);
    }
    r = postgres_read_begin(place->store, &query, "read events", &reading, err);
    if (r < 0) {
        return r;
    }
    place->rows = 0;
    while (!place->is_stopped && (r = postgres_read_row(&reading, err)) == 1) {
        place->rows++;
        r = give_event(place, &reading, err);
        if (r < 0) {
            break;
        }
    }
    postgres_read_end(&reading);
    return r < 0 ? r : 0;
}

int postgres_read_events(struct store *base, const char *run_id, uint64_t after, uint32_t limit,
                         store_event_fn *fn, void *context, struct rondo_error *err)
{
    struct event_place place = {
        .store = (struct postgres_store *)base,
        .run_id = run_id,
        .fn = fn,
        .context = context,
        .after = after,
        .left = limit == 0 ? -1 : (int64_t)limit,
        .rows = 1,
    };
    int r = 0;
    while (r == 0 && place.rows > 0 && !place.is_stopped && place.after < INT64_MAX) {
        r = read_page(&place, err);
    }
    return r;
}

int postgres_list_checkpoints(struct store *base, const char *run_id, store_checkpoint_fn *fn,
                              void *context, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct postgres_reading reading;
    auto_query struct postgres_query query = {.which = PG_CHECKPOINT_LIST};
    postgres_add_text(&query, run_id);
    int r = postgres_read_begin(store, &query, "list checkpoints", &reading, err);
    if (r < 0) {
        return r;
    }
    while ((r = postgres_read_row(&reading, err)) == 1) {
        struct checked_row row = postgres_row(store, reading.row, 0);
        struct store_checkpoint checkpoint;
        r = row_checkpoint(row, false, &checkpoint, err);
        if (r < 0 || !fn(&checkpoint, context)) {
            break;
        }
    }
    postgres_read_end(&reading);
    return r < 0 ? r : 0;
}

int postgres_get_checkpoint(struct store *base, const char *run_id, uint64_t number,
                            store_checkpoint_fn *fn, void *context, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct postgres_reading reading;
    auto_query struct postgres_query query = {.which = number == 0 ? PG_CHECKPOINT_NEWEST
                                                       : number == STORE_INTERIM
                                                           ? PG_INTERIM_GET
                                                           : PG_CHECKPOINT_GET};
    postgres_add_text(&query, run_id);
    if (query.which == PG_CHECKPOINT_GET) {
        postgres_add_unsigned(&query, number);
    }
    int r = postgres_read_begin(store, &query, "read a checkpoint", &reading, err);
    if (r < 0) {
        return r;
    }
    r = postgres_read_row(&reading, err);
    if (r == 1) {
        struct checked_row row = postgres_row(store, reading.row, 0);
        struct store_checkpoint checkpoint;
        int damage = row_checkpoint(row, true, &checkpoint, err);
        r = damage < 0 ? damage : 1;
        if (r == 1) {
            fn(&checkpoint, context);
        }
    }
    postgres_read_end(&reading);
    if (r == 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "run %s has no such checkpoint", run_id);
    }
    return r < 0 ? r : 0;
}

int postgres_now(struct store *base, int64_t *ret_now_ns, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct postgres_reading reading;
    auto_query struct postgres_query query = {.which = PG_NOW};
    postgres_add_now(&query, store);
    int r = postgres_read_begin(store, &query, "read the clock", &reading, err);
    if (r < 0) {
        return r;
    }
    r = postgres_read_row(&reading, err);
    if (r >= 0) {
        struct checked_row row = postgres_row(store, reading.row, 0);
        r = postgres_check_answer(&row, "n", "read the clock", err);
        if (r == 0) {
            *ret_now_ns = postgres_number(&row, 0);
        }
    }
    postgres_read_end(&reading);
    return r < 0 ? r : 0;
}

int postgres_last_position(struct store *base, uint64_t *ret_position, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct postgres_reading reading;
    int64_t end = 0;
    auto_query struct postgres_query query = {.which = PG_EVENT_LAST_POSITION};
    int r = find_end(store, &end, err);
    if (r < 0) {
        return r;
    }
    add_end(&query, end);
    r = postgres_read_begin(store, &query, "read the last position", &reading, err);
    if (r < 0) {
        return r;
    }
    r = postgres_read_row(&reading, err);
    if (r >= 0) {
        struct checked_row row = postgres_row(store, reading.row, 0);
        r = postgres_check_answer(&row, "nnn", "read the last position", err);
        if (r == 0) {
            *ret_position = (uint64_t)postgres_number(&row, 0);
            note_open(store, postgres_number(&row, 1), postgres_number(&row, 2));
        }
    }
    postgres_read_end(&reading);
    return r;
}

int postgres_post(struct store *base, const char *run_id, const char *kind, const char *data,
                  struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    int r = rules_check_letter(kind, data, err);
    if (r < 0) {
        return r;
    }
    auto_query struct postgres_query query = {.which = PG_LETTER_POST};
    postgres_add_now(&query, store);
    postgres_add_text(&query, run_id);
    postgres_add_text(&query, kind);
    postgres_add_string(&query, data);
    r = postgres_perform(store, &query, NULL, "record a command", err);
    if (r == 0) {
        postgres_announce(store);
    }
    return r;
}

int postgres_read_mail(struct store *base, const char *run_id, const char *owner,
                       store_letter_fn *fn, void *context, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct postgres_reading reading;
    auto_query struct postgres_query query = {.which = run_id != NULL ? PG_LETTER_READ_RUN
                                                                      : PG_LETTER_READ_OWNER};
    postgres_add_text(&query, run_id != NULL ? run_id : owner);
    int r = postgres_read_begin(store, &query, "read mail", &reading, err);
    if (r < 0) {
        return r;
    }
    while ((r = postgres_read_row(&reading, err)) == 1) {
        struct checked_row row = postgres_row(store, reading.row, 0);
        struct store_letter letter;
        r = row_letter(row, &letter, err);
        if (r < 0 || !fn(&letter, context)) {
            break;
        }
    }
    postgres_read_end(&reading);
    return r < 0 ? r : 0;
}
