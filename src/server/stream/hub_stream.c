// SPDX-License-Identifier: Apache-2.0
/*
 * Streams. A stream of events begins with the store: it notes how far the ring is, reads the store
 * until there is no more, and from then on takes what the ring has after the noted position.
 * What was committed before the note was in the store when it was read; what came later is in the
 * ring; what is in both is recognised by its id. When the ring has forgotten what a stream needs,
 * it goes back to the store.
 */
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "server/auth/token.h"
#include "server/stream/hub_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What is being written; only the reading thread. ----------------------------------------- */

void hub_stream_begin(struct hub_stream *stream, struct hub_text *text, uint64_t id)
{
    int len = id == 0 ? 0 : snprintf(stream->head, sizeof(stream->head), "id: %" PRIu64 "\n", id);
    stream->text = text;
    stream->id = id;
    stream->head_len = (size_t)len;
    stream->offset = 0;
}

/** Copy from a piece that begins at `from` in the frame. */
static size_t copy_piece(struct hub_stream *stream, size_t from, const char *piece, size_t len,
                         char *bytes, size_t size)
{
    if (stream->offset < from || stream->offset >= from + len) {
        return 0;
    }
    size_t at = stream->offset - from;
    size_t n = len - at < size ? len - at : size;
    memcpy(bytes, piece + at, n);
    stream->offset += n;
    return n;
}

static size_t copy_frame(struct hub_stream *stream, char *bytes, size_t size)
{
    if (stream->text == NULL) {
        return 0;
    }
    size_t n = copy_piece(stream, 0, stream->head, stream->head_len, bytes, size);
    n += copy_piece(stream, stream->head_len, stream->text->text, stream->text->len, bytes + n,
                    size - n);
    if (stream->offset == stream->head_len + stream->text->len) {
        hub_text_unref(stream->text);
        stream->text = NULL;
    }
    return n;
}

/* ---- From the store. ------------------------------------------------------------------------- */

struct backfill {
    struct hub_stream *stream;
    size_t bytes;
    uint32_t count;
    uint64_t last;  /**< id of the last event seen */
    bool was_ended; /**< by us: there may be more */
    char (*run_ids)[ID_SIZE];
};

static bool take_stored(const struct store_event *event, void *context)
{
    struct backfill *backfill = context;
    struct hub_stream *stream = backfill->stream;
    uint64_t id = stream->run != NULL ? event->seq : event->position;
    backfill->last = id;
    backfill->count++;
    if (hub_list_has(stream->types, event->type)) {
        struct journal_entry entry;
        auto_json struct json_object *root = NULL;
        (void)journal_entry_decode(event, &entry, &root,
                                   NULL); /* A damaged one is sent as it is. */
        struct hub_text *text = hub_frame_new(&entry);
        if (backfill->run_ids != NULL) {
            memcpy(backfill->run_ids[stream->frame_count], event->run_id, ID_SIZE);
        }
        stream->frames[stream->frame_count++] = (struct hub_frame){.text = text, .id = id};
        backfill->bytes += text->len;
    }
    backfill->was_ended = backfill->bytes >= HUB_BACKFILL_BYTES;
    return !backfill->was_ended;
}

/** Drop the frames of other agents. */
static void keep_agents(struct hub_stream *stream, char (*run_ids)[ID_SIZE])
{
    size_t kept = 0;
    for (size_t i = 0; i < stream->frame_count; i++) {
        char agent[LIMIT_AGENT_ID_LEN + 1];
        hub_agent_of(stream->hub, run_ids[i], agent);
        if (hub_list_has(stream->agents, agent)) {
            stream->frames[kept++] = stream->frames[i];
        } else {
            hub_text_unref(stream->frames[i].text);
        }
    }
    stream->frame_count = kept;
}

/** Read one batch. @return whether the store had no more, or -1 */
static int read_batch(struct hub_stream *stream)
{
    struct store *store = writer_store(stream->hub->options.writer);
    bool needs_agents = stream->agents != NULL && stream->run == NULL;
    struct backfill backfill = {.stream = stream, .last = stream->after};
    if (needs_agents) {
        backfill.run_ids = memory_new_zero(HUB_BACKFILL_EVENTS, ID_SIZE);
    }
    stream->frame_count = 0;
    stream->next_frame = 0;
    if (stream->frames == NULL) {
        stream->frames = memory_new(HUB_BACKFILL_EVENTS * sizeof(*stream->frames));
    }
    int r =
        store->ops->read_events(store, stream->run == NULL ? NULL : stream->run->id, stream->after,
                                HUB_BACKFILL_EVENTS, take_stored, &backfill, NULL);
    if (needs_agents) {
        keep_agents(stream, backfill.run_ids);
        free(backfill.run_ids);
    }
    stream->after = backfill.last;
    if (r < 0) {
        return -1;
    }
    return !backfill.was_ended && backfill.count < HUB_BACKFILL_EVENTS;
}

/** Continue with what the ring has after a position. Under the lock. */
static void go_live(struct hub_stream *stream, uint64_t position)
{
    const struct hub_ring *ring = &stream->hub->ring;
    if (position < ring->forgotten) {
        return; /* too slow: the store again */
    }
    stream->is_live = true;
    stream->has_pending = true;
    stream->cursor = hub_ring_find(ring, position);
}

/** @return 1 = frames were taken, or it is live; 0 = show a sign of life; -1 = the store fails */
static int take_from_store(struct hub_stream *stream)
{
    struct hub *hub = stream->hub;
    for (int round = 0; round < HUB_BACKFILL_ROUNDS; round++) {
        pthread_mutex_lock(&hub->lock);
        uint64_t position = hub->position; /* before the store is read */
        pthread_mutex_unlock(&hub->lock);
        int r = read_batch(stream);
        pthread_mutex_lock(&hub->lock);
        hub->backfilled += stream->frame_count;
        if (r > 0) {
            go_live(stream, position);
        }
        pthread_mutex_unlock(&hub->lock);
        if (r < 0 && stream->frame_count == 0) {
            return -1;
        }
        if (stream->frame_count > 0 || stream->is_live) {
            return 1;
        }
    }
    return 0;
}

/* ---- From the ring; under the lock. ---------------------------------------------------------- */

static bool takes(struct hub_stream *stream, const struct hub_entry *entry)
{
    if (stream->run != NULL && stream->run != entry->run) {
        return false;
    }
    uint64_t id = stream->run != NULL ? entry->seq : entry->position;
    if (id <= stream->after) {
        return false;
    }
    stream->after = id;
    return hub_list_has(stream->types, entry->type) &&
           (stream->run != NULL || hub_list_has(stream->agents, entry->run->agent_id));
}

static bool take_from_ring(struct hub_stream *stream)
{
    const struct hub_ring *ring = &stream->hub->ring;
    if (stream->has_pending && stream->cursor < ring->tail) {
        stream->is_live = false;
        return false;
    }
    while (stream->has_pending && stream->cursor < ring->head) {
        const struct hub_entry *entry = hub_ring_at(ring, stream->cursor++);
        if (takes(stream, entry)) {
            hub_stream_begin(stream, hub_text_ref(entry->text), stream->after);
            return true;
        }
    }
    stream->has_pending = false;
    return false;
}

/* ---- One frame after the other. -------------------------------------------------------------- */

/**
 * The greeting has the id of the place: a client that is cut off before its first event comes back
 * to there, and not to a later "now".
 */
static void greet(struct hub_stream *stream)
{
    hub_stream_begin(stream, hub_text_ref(stream->hub->greeting), 0);
    int len = snprintf(stream->head, sizeof(stream->head), "id: %" PRIu64 "\n", stream->after);
    stream->head_len = (size_t)len;
}

/** Whether rules that came into force meanwhile hide what the stream shows. */
static bool is_hidden(const struct hub_stream *stream)
{
    const struct hub_options *options = &stream->hub->options;
    if (options->is_hidden == NULL || stream->is_table) {
        return false;
    }
    if (stream->agent_of_run != NULL || stream->agents == NULL) {
        return options->is_hidden(options->is_hidden_context, stream->viewer, stream->agent_of_run);
    }
    bool is_any = false;
    for (char *const *agent = stream->agents; *agent != NULL && !is_any; agent++) {
        is_any = options->is_hidden(options->is_hidden_context, stream->viewer, *agent);
    }
    return is_any;
}

/** Whether the stream's caller may still see it. A silent stream is checked with its heartbeat. */
static bool is_allowed(struct hub_stream *stream)
{
    int64_t now_ns = clock_monotonic(clock_system());
    if (now_ns - stream->checked_ns < stream->hub->options.heartbeat_ns) {
        return true;
    }
    stream->checked_ns = now_ns;
    bool is_known =
        stream->token[0] == '\0' || token_still_counts(writer_store(stream->hub->options.writer),
                                                       stream->token, clock_now(clock_system()));
    return is_known && !is_hidden(stream);
}

/** What comes before events: the greeting, the farewell. @return 1 = a frame, -1 = the end, or 0 */
static int take_formalities(struct hub_stream *stream)
{
    if (!stream->is_greeted) {
        stream->is_greeted = true;
        greet(stream);
        return 1;
    }
    if (stream->is_over || !is_allowed(stream)) {
        return -1;
    }
    pthread_mutex_lock(&stream->hub->lock);
    stream->is_over = stream->hub->is_draining;
    pthread_mutex_unlock(&stream->hub->lock);
    if (stream->is_over) {
        hub_stream_begin(stream, hub_text_ref(stream->hub->farewell), 0);
        return 1;
    }
    return 0;
}

/** A stream that has caught up sleeps for long: it keeps no room for what comes from the store. */
static void drop_frames(struct hub_stream *stream)
{
    if (stream->is_live) {
        free(stream->frames);
        stream->frames = NULL;
        stream->frame_count = 0;
        stream->next_frame = 0;
    }
}

/** @return 1 = a frame, 0 = nothing now, -1 = the store fails */
static int take_event(struct hub_stream *stream)
{
    for (;;) {
        if (stream->next_frame < stream->frame_count) {
            struct hub_frame *frame = &stream->frames[stream->next_frame++];
            hub_stream_begin(stream, frame->text, frame->id);
            return 1;
        }
        drop_frames(stream);
        pthread_mutex_lock(&stream->hub->lock);
        bool is_taken = stream->is_live && take_from_ring(stream);
        bool is_live = stream->is_live;
        pthread_mutex_unlock(&stream->hub->lock);
        if (is_taken || is_live) {
            return is_taken;
        }
        int r = take_from_store(stream);
        if (r < 0) {
            return -1;
        }
        if (r == 0) {
            hub_stream_begin(stream, hub_text_ref(stream->hub->heartbeat), 0);
            return 1;
        }
    }
}

static bool take_heartbeat(struct hub_stream *stream)
{
    pthread_mutex_lock(&stream->hub->lock);
    bool is_due = stream->is_heart_due;
    stream->is_heart_due = false;
    pthread_mutex_unlock(&stream->hub->lock);
    if (is_due) {
        hub_stream_begin(stream, hub_text_ref(stream->hub->heartbeat), 0);
    }
    return is_due;
}

int hub_stream_next(struct hub_stream *stream)
{
    int r = take_formalities(stream);
    if (r == 0) {
        r = stream->is_table ? hub_table_next(stream) : take_event(stream);
    }
    return r == 0 ? take_heartbeat(stream) : r;
}

static ssize_t read_frames(void *context, char *bytes, size_t size)
{
    struct hub_stream *stream = context;
    size_t used = 0;
    int r = 1;
    while (used < size && r > 0) {
        used += copy_frame(stream, bytes + used, size - used);
        if (used < size) {
            r = hub_stream_next(stream);
        }
    }
    if (used > 0) {
        pthread_mutex_lock(&stream->hub->lock);
        stream->wrote_ns = clock_monotonic(clock_system());
        stream->is_heart_due = false;
        pthread_mutex_unlock(&stream->hub->lock);
    } else if (r < 0) {
        return -1;
    }
    return (ssize_t)used;
}

/* ---- Opening and closing. -------------------------------------------------------------------- */

void hub_stream_free(struct hub_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    while (stream->next_frame < stream->frame_count) {
        hub_text_unref(stream->frames[stream->next_frame++].text);
    }
    free(stream->frames);
    hub_text_unref(stream->text);
    http_stream_unref(stream->http);
    memory_free_list(stream->agents);
    free(stream->viewer);
    free(stream->agent_of_run);
    memory_free_list(stream->types);
    free(stream);
}

/** Under the lock. @return whether it must be freed, without the lock */
static bool unref_stream(struct hub_stream *stream)
{
    if (--stream->references > 0) {
        return false;
    }
    hub_run_unref(stream->run);
    stream->run = NULL;
    return true;
}

static void unlink_stream(struct hub_stream *stream)
{
    struct hub *hub = stream->hub;
    LIST_REMOVE(stream, link);
    if (stream->run != NULL) {
        LIST_REMOVE(stream, run_link);
    }
    hub->stream_count--;
    hub->table.streams -= stream->is_table;
    stream->is_linked = false;
}

static void link_stream(struct hub_stream *stream)
{
    struct hub *hub = stream->hub;
    LIST_INSERT_HEAD(&hub->streams, stream, link);
    if (stream->run != NULL) {
        LIST_INSERT_HEAD(&stream->run->streams, stream, run_link);
    }
    hub->stream_count++;
    hub->table.streams += stream->is_table;
    if (stream->is_table) {
        hub_table_welcome(hub);
    }
    stream->is_linked = true;
}

static void close_stream(void *context)
{
    struct hub_stream *stream = context;
    struct hub *hub = stream->hub;
    pthread_mutex_lock(&hub->lock);
    stream->is_closed = true;
    if (stream->is_linked) {
        unlink_stream(stream);
    }
    bool is_last = unref_stream(stream);
    pthread_mutex_unlock(&hub->lock);
    if (is_last) {
        hub_stream_free(stream);
    }
}

/** Where it begins. Under the lock. */
static void set_place(struct hub_stream *stream, const struct hub_filter *filter, uint64_t last)
{
    struct hub *hub = stream->hub;
    stream->after = filter->after < 0 ? hub->position : (uint64_t)filter->after;
    if (stream->is_table) {
        stream->cursor = hub->table.head;
        stream->needs_reset = filter->after >= 0;
    } else if (stream->run != NULL) {
        stream->after = filter->after < 0 ? last : stream->after;
    } else if (filter->after < 0 || stream->after > last) {
        stream->after = hub->position; /* of another store, or restored: continue with what comes */
        go_live(stream, hub->position);
    }
}

/** The last id that the store has for the stream. */
static uint64_t last_id(struct hub *hub, const struct hub_filter *filter)
{
    struct store *store = writer_store(hub->options.writer);
    struct store_run run = {0};
    uint64_t position = 0;
    if (filter->run_id != NULL) {
        return store->ops->get_run(store, filter->run_id, &run, NULL) < 0 ? 0 : run.last_seq;
    }
    return store->ops->last_position(store, &position, NULL) < 0 ? UINT64_MAX : position;
}

struct hub_stream *hub_stream_new(struct hub *hub, const struct hub_filter *filter, bool is_table)
{
    uint64_t last = last_id(hub, filter);
    struct hub_stream *stream = memory_new_zero(1, sizeof(*stream));
    stream->hub = hub;
    stream->references = 2;
    stream->is_table = is_table;
    stream->agents = memory_dup_list(filter->agents);
    stream->types = memory_dup_list(filter->types);
    stream->viewer = memory_dup_string(filter->viewer);
    stream->agent_of_run = memory_dup_string(filter->agent_of_run);
    stream->wrote_ns = clock_monotonic(clock_system());
    stream->checked_ns = stream->wrote_ns;
    snprintf(stream->token, sizeof(stream->token), "%s",
             filter->token == NULL ? "" : filter->token);
    pthread_mutex_lock(&hub->lock);
    if (filter->run_id != NULL && !is_table) {
        stream->run = hub_run_get(hub, filter->run_id);
    }
    set_place(stream, filter, last);
    pthread_mutex_unlock(&hub->lock);
    return stream;
}

void hub_stream_link(struct hub_stream *stream, struct http_stream *http)
{
    struct hub *hub = stream->hub;
    pthread_mutex_lock(&hub->lock);
    stream->http = http;
    link_stream(stream);
    /* What was published since its place was set did not find it. */
    stream->has_pending = true;
    pthread_mutex_unlock(&hub->lock);
    writer_ring(hub->options.writer); /* The hub may rest. */
}

void hub_stream_unlink(struct hub_stream *stream)
{
    pthread_mutex_lock(&stream->hub->lock);
    if (stream->is_linked) {
        unlink_stream(stream);
    }
    stream->http = NULL;
    pthread_mutex_unlock(&stream->hub->lock);
}

void hub_stream_open(struct hub *hub, struct http_exchange *exchange,
                     const struct hub_filter *filter, bool is_table)
{
    struct hub_stream *stream = hub_stream_new(hub, filter, is_table);
    struct http_stream_source source = {
        .read = read_frames, .close = close_stream, .context = stream};
    http_exchange_add_header(exchange, "Content-Type", "text/event-stream");
    http_exchange_add_header(exchange, "X-Accel-Buffering", "no");
    http_exchange_stream(exchange, &source, &stream->http);
    pthread_mutex_lock(&hub->lock);
    if (!stream->is_closed) {
        link_stream(stream);
        /* What was published since its place was set did not find it. */
        stream->has_pending = true;
    }
    bool is_last = unref_stream(stream);
    pthread_mutex_unlock(&hub->lock);
    if (is_last) {
        hub_stream_free(stream);
    }
    writer_ring(hub->options.writer); /* The hub may rest. */
}

/* ---- Waking. --------------------------------------------------------------------------------- */

/** @return whether it has to be woken */
static bool announce(struct hub_stream *stream, uint64_t number)
{
    if (!stream->is_live || stream->has_pending) {
        return false;
    }
    stream->has_pending = true;
    stream->cursor = number;
    return true;
}

void hub_stream_announce(struct hub *hub, uint64_t number)
{
    struct hub_stream *stream = NULL;
    LIST_FOREACH(stream, &hub_ring_at(&hub->ring, number)->run->streams, run_link)
    {
        if (announce(stream, number)) {
            http_stream_wake(stream->http);
        }
    }
}

void hub_stream_publish(struct hub *hub, uint64_t first)
{
    struct hub_stream *stream = NULL;
    LIST_FOREACH(stream, &hub->streams, link)
    {
        if (stream->run == NULL && !stream->is_table && announce(stream, first)) {
            http_stream_wake(stream->http);
        }
    }
}

void hub_stream_beat(struct hub *hub, int64_t now_ns)
{
    struct hub_stream *stream = NULL;
    LIST_FOREACH(stream, &hub->streams, link)
    {
        if (now_ns - stream->wrote_ns >= hub->options.heartbeat_ns) {
            stream->wrote_ns = now_ns;
            stream->is_heart_due = true;
            http_stream_wake(stream->http);
        }
    }
}
