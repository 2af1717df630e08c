// SPDX-License-Identifier: Apache-2.0
/*
 * Readers fetch in batches and hand out one event at a time. The store is the only source: the
 * wake-up of the writer is a hint to look, so nothing can be missed between backfill and live.
 */
#include "journal/reader.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/** Events fetched at a time. */
#define READER_BATCH 256

struct reader_row {
    char run_id[ID_SIZE];
    uint64_t position;
    uint64_t seq;
    int64_t time_ns;
    char *type;
    char *data;
    size_t data_len;
};

struct journal_reader {
    struct writer *writer;
    char *run_id;
    uint64_t after; /* seq or position handed out last */
    struct reader_row rows[READER_BATCH];
    size_t row_count;
    size_t next;
    bool has_all;     /* the last fetch ended where the store did, and nobody has waited since */
    uint64_t reached; /* position up to which it saw everything */
    struct journal_entry entry;
    struct json_object *root;
};

struct journal_reader *journal_reader_new(struct writer *writer, const char *run_id, uint64_t after)
{
    struct journal_reader *reader = memory_new_zero(1, sizeof(*reader));
    reader->writer = writer;
    reader->run_id = memory_dup_string(run_id);
    reader->after = after;
    return reader;
}

static void drop_rows(struct journal_reader *reader)
{
    for (size_t i = 0; i < reader->row_count; i++) {
        free(reader->rows[i].type);
        free(reader->rows[i].data);
    }
    reader->row_count = 0;
    reader->next = 0;
}

void journal_reader_free(struct journal_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    drop_rows(reader);
    json_object_put(reader->root);
    free(reader->run_id);
    free(reader);
}

static bool keep_row(const struct store_event *stored, void *context)
{
    struct journal_reader *reader = context;
    struct reader_row *row = &reader->rows[reader->row_count++];
    memcpy(row->run_id, stored->run_id, sizeof(row->run_id));
    row->position = stored->position;
    row->seq = stored->seq;
    row->time_ns = stored->time_ns;
    row->type = memory_dup_string(stored->type);
    row->data = memory_dup_bytes(stored->data, stored->data_len);
    row->data_len = stored->data_len;
    return reader->row_count < READER_BATCH;
}

static int hand_out(struct journal_reader *reader, const struct journal_entry **ret_entry,
                    struct rondo_error *err)
{
    const struct reader_row *row = &reader->rows[reader->next++];
    reader->after = reader->run_id == NULL ? row->position : row->seq;
    json_object_put(reader->root);
    reader->root = NULL;
    struct store_event stored = {
        .run_id = row->run_id,
        .position = row->position,
        .seq = row->seq,
        .time_ns = row->time_ns,
        .type = row->type,
        .data = row->data,
        .data_len = row->data_len,
    };
    int r = journal_entry_decode(&stored, &reader->entry, &reader->root, err);
    *ret_entry = &reader->entry;
    return r < 0 ? r : 1;
}

/** Fetch what there is. The position is read first: what comes later ends a wait at once. */
static int fetch(struct journal_reader *reader, struct rondo_error *err)
{
    struct store *store = writer_store(reader->writer);
    uint64_t position = 0;
    drop_rows(reader);
    reader->has_all = false;
    int r = store->ops->last_position(store, &position, err);
    if (r == 0) {
        r = store->ops->read_events(store, reader->run_id, reader->after, READER_BATCH, keep_row,
                                    reader, err);
    }
    if (r == 0) {
        size_t count = reader->row_count;
        uint64_t last = count > 0 ? reader->rows[count - 1].position : 0;
        reader->has_all = count < READER_BATCH;
        reader->reached = last > position ? last : position;
    }
    return r;
}

/** When a call of journal_reader_next() has to return. */
struct reader_wait {
    int64_t deadline_ns;
    struct cancel *cancel;
    uint64_t rings; /* as it began */
};

/** How long the caller may still wait; 0 = it must not. */
static int64_t time_left(const struct journal_reader *reader, const struct reader_wait *wait)
{
    int64_t left_ns = wait->deadline_ns - clock_monotonic(clock_system());
    bool must_end = cancel_is_set(wait->cancel) || wait->rings != writer_rings(reader->writer);
    return left_ns <= 0 || must_end ? 0 : left_ns;
}

int journal_reader_next(struct journal_reader *reader, int64_t timeout_ns, struct cancel *cancel,
                        const struct journal_entry **ret_entry, struct rondo_error *err)
{
    const struct reader_wait wait = {
        .deadline_ns = clock_monotonic(clock_system()) + timeout_ns,
        .cancel = cancel,
        .rings = writer_rings(reader->writer),
    };
    while (reader->next == reader->row_count) {
        int64_t left_ns = time_left(reader, &wait);
        if (left_ns > 0 && reader->has_all) {
            reader->has_all = false;
            writer_wait(reader->writer, reader->reached, left_ns, cancel);
        }
        int r = fetch(reader, err);
        if (r < 0) {
            return r;
        }
        if (reader->row_count == 0 && time_left(reader, &wait) == 0) {
            return 0;
        }
    }
    return hand_out(reader, ret_entry, err);
}

struct visiting {
    journal_visit_fn *fn;
    void *context;
    struct rondo_error *err;
    int result;
};

static bool visit_event(const struct store_event *stored, void *context)
{
    struct visiting *visiting = context;
    struct journal_entry entry;
    auto_json struct json_object *root = NULL;
    visiting->result = journal_entry_decode(stored, &entry, &root, visiting->err);
    return visiting->result == 0 && visiting->fn(&entry, visiting->context);
}

int journal_visit(struct store *store, const char *run_id, uint64_t after, uint32_t limit,
                  journal_visit_fn *fn, void *context, struct rondo_error *err)
{
    struct visiting visiting = {.fn = fn, .context = context, .err = err};
    int r = store->ops->read_events(store, run_id, after, limit, visit_event, &visiting, err);
    return r < 0 ? r : visiting.result;
}
