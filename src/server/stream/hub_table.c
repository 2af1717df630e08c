// SPDX-License-Identifier: Apache-2.0
/*
 * Streams of the table of runs. Rows of runs that changed are read and written once, a few times a
 * second, whatever the number of streams; a list of the newest ones serves all streams. A stream
 * that lags past its end is told to reload the table.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "orchestrator/orchestrator.h"
#include "server/answer/run_json.h"
#include "server/stream/hub_internal.h"

#include <stdlib.h>
#include <string.h>

/** Counts are taken at most so often. */
#define COUNTS_NS (1000 * NS_PER_MS)
/** Entries of the ring whose runs a new stream reports. */
#define WELCOME_ENTRIES 256

void hub_table_init(struct hub *hub)
{
    hub->table.items = memory_new_zero(HUB_TABLE_ITEMS, sizeof(*hub->table.items));
    TAILQ_INIT(&hub->table.dirty);
}

static struct hub_item *item_at(struct hub_table *table, uint64_t number)
{
    return &table->items[number % HUB_TABLE_ITEMS];
}

static void drop_oldest(struct hub_table *table)
{
    struct hub_item *item = item_at(table, table->tail++);
    hub_text_unref(item->text);
    hub_run_unref(item->run);
}

static struct hub_run *take_dirty(struct hub_table *table)
{
    struct hub_run *run = TAILQ_FIRST(&table->dirty);
    TAILQ_REMOVE(&table->dirty, run, dirty_link);
    table->dirty_count--;
    run->is_dirty = false;
    return run;
}

static void forget_dirty(struct hub_table *table)
{
    while (!TAILQ_EMPTY(&table->dirty)) {
        hub_run_unref(take_dirty(table));
    }
}

void hub_table_fini(struct hub *hub)
{
    struct hub_table *table = &hub->table;
    forget_dirty(table);
    while (table->tail < table->head) {
        drop_oldest(table);
    }
    hub_text_unref(table->counts);
    free(table->items);
}

/** @param run with a reference for the list. Under the lock. */
static void make_dirty(struct hub *hub, struct hub_run *run)
{
    run->is_dirty = true;
    TAILQ_INSERT_TAIL(&hub->table.dirty, run, dirty_link);
    hub->table.dirty_count++;
}

void hub_table_touch(struct hub *hub, struct hub_run *run)
{
    if (hub->table.streams == 0) {
        return;
    }
    hub->table.wants_counts = true; /* they may have been taken since the row became dirty */
    if (!run->is_dirty) {
        run->references++;
        make_dirty(hub, run);
    }
}

void hub_table_look(struct hub *hub)
{
    char queued[HUB_TABLE_ROWS][ID_SIZE];
    size_t count =
        hub->options.orchestrator == NULL
            ? 0
            : orchestrator_take_queued(hub->options.orchestrator, queued, HUB_TABLE_ROWS);
    pthread_mutex_lock(&hub->lock);
    for (size_t i = 0; i < count; i++) {
        struct hub_run *run = hub_run_get(hub, queued[i]);
        hub_table_touch(hub, run);
        hub_run_unref(run);
    }
    pthread_mutex_unlock(&hub->lock);
}

void hub_table_welcome(struct hub *hub)
{
    const struct hub_ring *ring = &hub->ring;
    uint64_t from =
        ring->head - ring->tail > WELCOME_ENTRIES ? ring->head - WELCOME_ENTRIES : ring->tail;
    for (uint64_t number = from; number < ring->head; number++) {
        hub_table_touch(hub, hub_ring_at(ring, number)->run);
    }
    hub->table.wants_counts = true;
}

/* ---- Publishing ------------------------------------------------------------------------------ */

/** Under the lock. Takes the references of text and run. */
static void push(struct hub *hub, struct hub_run *run, struct hub_text *text, const char *agent_id)
{
    struct hub_table *table = &hub->table;
    if (table->head - table->tail == HUB_TABLE_ITEMS) {
        drop_oldest(table);
    }
    struct hub_item *item = item_at(table, table->head);
    *item = (struct hub_item){.run = run, .text = text};
    memcpy(item->agent_id, agent_id, strnlen(agent_id, LIMIT_AGENT_ID_LEN));
    if (run != NULL) {
        run->latest_item = table->head;
    }
    table->head++;
}

static void wake_all(struct hub *hub)
{
    struct hub_stream *stream = NULL;
    LIST_FOREACH(stream, &hub->streams, link)
    {
        if (stream->is_table) {
            http_stream_wake(stream->http);
        }
    }
}

/** Line ends would end the field; in JSON they are blanks. */
static struct hub_text *frame_new(const char *event, const char *json)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "event: %s\ndata: ", event);
    size_t at = text.len;
    buf_append_string(&text, json);
    for (size_t i = at; i < text.len; i++) {
        if (text.data[i] == '\n' || text.data[i] == '\r') {
            text.data[i] = ' ';
        }
    }
    buf_append_string(&text, "\n\n");
    return hub_text_new(text.data, text.len);
}

/** Read and publish the row of a run; takes its reference. */
static void publish_row(struct hub *hub, struct hub_run *run)
{
    struct store *store = writer_store(hub->options.writer);
    struct store_run row;
    int r = store->ops->get_run(store, run->id, &row, NULL);
    bool is_there = r == 0;
    auto_buf struct buf json = {0};
    if (is_there) {
        run_json_write(&row, hub->options.orchestrator, hub->options.store_label, &json);
    }
    pthread_mutex_lock(&hub->lock);
    if (is_there) {
        push(hub, run, hub_text_new(json.data, json.len), row.agent_id);
    } else if (r != RONDO_ERR_NOT_FOUND && !run->is_dirty) {
        make_dirty(hub, run); /* the store fails: again with the next rows */
    } else {
        hub_run_unref(run);
    }
    pthread_mutex_unlock(&hub->lock);
}

static struct hub_text *counts_new(struct hub *hub, char *const *agents)
{
    struct store *store = writer_store(hub->options.writer);
    /* As the lists of runs that people look at: attempts at tasks are seen with their PRD's run. */
    struct store_run_query query = {.agents = (const char *const *)agents, .is_top_only = true};
    struct store_run_counts counts;
    if (store->ops->count_runs(store, &query, &counts, NULL) < 0) {
        return NULL;
    }
    auto_buf struct buf json = {0};
    run_counts_write(&counts, hub->options.store_label, &json);
    return frame_new("counts", json.data);
}

static void publish_counts(struct hub *hub)
{
    struct hub_text *counts = counts_new(hub, NULL);
    pthread_mutex_lock(&hub->lock);
    struct hub_text *old = hub->table.counts;
    bool is_same = counts == NULL || (old != NULL && old->len == counts->len &&
                                      memcmp(old->text, counts->text, old->len) == 0);
    if (!is_same) {
        hub->table.counts = counts;
        hub->table.counts_version++;
    }
    pthread_mutex_unlock(&hub->lock);
    hub_text_unref(is_same ? counts : old);
}

/** @return how many runs were taken */
static size_t take_rows(struct hub *hub, struct hub_run **ret_runs)
{
    size_t count = 0;
    while (count < HUB_TABLE_ROWS && !TAILQ_EMPTY(&hub->table.dirty)) {
        ret_runs[count++] = take_dirty(&hub->table);
    }
    return count;
}

int64_t hub_table_wait_ns(const struct hub *hub, int64_t now_ns)
{
    const struct hub_table *table = &hub->table;
    int64_t due_ns = INT64_MAX;
    if (table->streams > 0 && table->dirty_count > 0) {
        due_ns = table->due_ns;
    }
    if (table->streams > 0 && table->wants_counts && table->counts_due_ns < due_ns) {
        due_ns = table->counts_due_ns;
    }
    return due_ns == INT64_MAX ? INT64_MAX : due_ns < now_ns ? 0 : due_ns - now_ns;
}

void hub_table_tick(struct hub *hub, int64_t now_ns)
{
    struct hub_table *table = &hub->table;
    struct hub_run *runs[HUB_TABLE_ROWS];
    size_t count = 0;
    bool is_counting = false;
    pthread_mutex_lock(&hub->lock);
    if (table->streams == 0) {
        forget_dirty(table);
    } else {
        count = now_ns >= table->due_ns ? take_rows(hub, runs) : 0;
        is_counting = table->wants_counts && now_ns >= table->counts_due_ns;
        table->wants_counts = table->wants_counts && !is_counting;
    }
    pthread_mutex_unlock(&hub->lock);
    for (size_t i = 0; i < count; i++) {
        publish_row(hub, runs[i]);
    }
    if (count > 0) {
        table->due_ns = count < HUB_TABLE_ROWS ? now_ns + HUB_ROWS_NS : now_ns;
    }
    if (is_counting) {
        table->counts_due_ns = now_ns + COUNTS_NS;
        publish_counts(hub);
    }
    if (count > 0 || is_counting) {
        pthread_mutex_lock(&hub->lock);
        wake_all(hub);
        pthread_mutex_unlock(&hub->lock);
    }
}

void hub_tell(struct hub *hub, const char *event, const char *agent_id, const char *json)
{
    struct hub_text *text = frame_new(event, json);
    pthread_mutex_lock(&hub->lock);
    push(hub, NULL, text, agent_id == NULL ? "" : agent_id);
    wake_all(hub);
    pthread_mutex_unlock(&hub->lock);
}

/* ---- A stream -------------------------------------------------------------------------------- */

/** What to send next; under the lock. */
struct hub_output {
    struct hub_text *rows[HUB_FRAME_ROWS];
    size_t row_count;
    struct hub_text *frame; /**< of another kind; or NULL */
    bool is_reset;
    bool has_counts; /**< `frame` is NULL: the stream has to count itself */
    uint64_t position;
};

static void gather_items(struct hub_stream *stream, struct hub_output *gathered)
{
    struct hub_table *table = &stream->hub->table;
    while (stream->cursor < table->head && gathered->row_count < HUB_FRAME_ROWS) {
        const struct hub_item *item = item_at(table, stream->cursor);
        bool is_row = item->run != NULL;
        if (!is_row && gathered->row_count > 0) {
            return; /* in the next frame */
        }
        stream->cursor++;
        bool is_old = is_row && item->run->latest_item != stream->cursor - 1;
        if (is_old || !hub_list_has(stream->agents, item->agent_id)) {
            continue;
        }
        if (!is_row) {
            gathered->frame = hub_text_ref(item->text);
            return;
        }
        gathered->rows[gathered->row_count++] = hub_text_ref(item->text);
    }
}

static void gather_counts(struct hub_stream *stream, struct hub_output *gathered)
{
    const struct hub_table *table = &stream->hub->table;
    if (stream->counts_version == table->counts_version) {
        return;
    }
    stream->counts_version = table->counts_version;
    gathered->has_counts = true;
    if (stream->agents == NULL) {
        gathered->frame = hub_text_ref(table->counts);
    }
}

static void gather(struct hub_stream *stream, struct hub_output *gathered)
{
    struct hub *hub = stream->hub;
    pthread_mutex_lock(&hub->lock);
    gathered->position = hub->position;
    gathered->is_reset = stream->needs_reset || stream->cursor < hub->table.tail;
    if (gathered->is_reset) {
        stream->needs_reset = false;
        stream->cursor = hub->table.head;
    } else {
        gather_items(stream, gathered);
        if (gathered->row_count == 0 && gathered->frame == NULL) {
            gather_counts(stream, gathered);
        }
    }
    pthread_mutex_unlock(&hub->lock);
}

static struct hub_text *join_rows(struct hub_output *gathered)
{
    auto_buf struct buf json = {0};
    buf_append_string(&json, "{\"runs\":[");
    for (size_t i = 0; i < gathered->row_count; i++) {
        buf_append_string(&json, i == 0 ? "" : ",");
        buf_append(&json, gathered->rows[i]->text, gathered->rows[i]->len);
        hub_text_unref(gathered->rows[i]);
    }
    buf_append_string(&json, "]}");
    return frame_new("runs", json.data);
}

int hub_table_next(struct hub_stream *stream)
{
    struct hub_output gathered = {0};
    gather(stream, &gathered);
    if (gathered.is_reset) {
        hub_stream_begin(stream, frame_new("reset", "{}"), gathered.position);
    } else if (gathered.row_count > 0) {
        hub_stream_begin(stream, join_rows(&gathered), gathered.position);
    } else if (gathered.frame != NULL) {
        hub_stream_begin(stream, gathered.frame, gathered.position);
    } else if (gathered.has_counts) {
        struct hub_text *counts = counts_new(stream->hub, stream->agents);
        if (counts == NULL) {
            return 0;
        }
        hub_stream_begin(stream, counts, gathered.position);
    } else {
        return 0;
    }
    return 1;
}
