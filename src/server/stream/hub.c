// SPDX-License-Identifier: Apache-2.0
/*
 * The hub's thread. It reads what is committed, a batch at a time, puts it into the ring as frames
 * that are ready to be sent, and wakes the streams concerned; then it waits a little, so that many
 * small commits cost one write a stream.
 */
#include "server/stream/hub.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "journal/describe.h"
#include "server/stream/hub_internal.h"
#include "telemetry/metrics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_EVENTS 512
#define BATCH_BYTES  ((size_t)4 * 1024 * 1024)
/** Before the store is read again after a failure. */
#define RETRY_NS (200 * NS_PER_MS)

static const char greeting_text[] = "retry: 1000\n\n";
static const char heartbeat_text[] = ":\n\n";
static const char farewell_text[] = ": the server ends\nretry: 1000\n\n";

struct hub_batch {
    struct hub_entry entries[BATCH_EVENTS];
    size_t count;
    size_t bytes;
};

/* ---- Frames ---------------------------------------------------------------------------------- */

struct hub_text *hub_text_new(const char *bytes, size_t len)
{
    struct hub_text *text = memory_new(sizeof(*text) + len);
    atomic_init(&text->references, 1);
    text->len = len;
    memcpy(text->text, bytes, len);
    return text;
}

struct hub_text *hub_text_ref(struct hub_text *text)
{
    atomic_fetch_add(&text->references, 1);
    return text;
}

void hub_text_unref(struct hub_text *text)
{
    if (text != NULL && atomic_fetch_sub(&text->references, 1) == 1) {
        free(text);
    }
}

/** Line ends outside of JSON's strings are blanks; as they are they would end the field. */
static void join_lines(char *text)
{
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '\n' || *c == '\r') {
            *c = ' ';
        }
    }
}

struct hub_text *hub_frame_new(const struct journal_entry *entry)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "event: %s", entry->type_name);
    join_lines(text.data);
    buf_append_string(&text, "\ndata: ");
    size_t at = text.len;
    event_json_object(entry, &text);
    join_lines(text.data + at);
    buf_append_string(&text, "\n\n");
    return hub_text_new(text.data, text.len);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static struct hub_run_list *bucket_of(struct hub *hub, const char *run_id)
{
    return &hub->runs[hash_bytes(HASH_START, run_id, strlen(run_id)) % HUB_BUCKETS];
}

struct hub_run *hub_run_get(struct hub *hub, const char *run_id)
{
    struct hub_run_list *bucket = bucket_of(hub, run_id);
    struct hub_run *run = NULL;
    LIST_FOREACH(run, bucket, link)
    {
        if (strcmp(run->id, run_id) == 0) {
            run->references++;
            return run;
        }
    }
    run = memory_new_zero(1, sizeof(*run));
    run->references = 1;
    memcpy(run->id, run_id, strnlen(run_id, ID_SIZE - 1));
    LIST_INIT(&run->streams);
    LIST_INSERT_HEAD(bucket, run, link);
    return run;
}

void hub_run_unref(struct hub_run *run)
{
    if (run != NULL && --run->references == 0) {
        LIST_REMOVE(run, link);
        free(run);
    }
}

void hub_agent_of(struct hub *hub, const char *run_id, char ret_agent[LIMIT_AGENT_ID_LEN + 1])
{
    pthread_mutex_lock(&hub->lock);
    struct hub_run *run = hub_run_get(hub, run_id);
    bool has_agent = run->has_agent;
    memcpy(ret_agent, run->agent_id, sizeof(run->agent_id));
    pthread_mutex_unlock(&hub->lock);
    struct store_run row = {0};
    if (!has_agent) {
        struct store *store = writer_store(hub->options.writer);
        has_agent = store->ops->get_run(store, run_id, &row, NULL) == 0;
        memcpy(ret_agent, row.agent_id, sizeof(row.agent_id));
    }
    pthread_mutex_lock(&hub->lock);
    if (has_agent && !run->has_agent) {
        memcpy(run->agent_id, ret_agent, sizeof(run->agent_id));
        run->has_agent = true;
    }
    hub_run_unref(run);
    pthread_mutex_unlock(&hub->lock);
}

bool hub_list_has(char *const *list, const char *text)
{
    if (list == NULL) {
        return true;
    }
    for (size_t i = 0; list[i] != NULL; i++) {
        if (strcmp(list[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- The ring -------------------------------------------------------------------------------- */

const struct hub_entry *hub_ring_at(const struct hub_ring *ring, uint64_t number)
{
    assert(number >= ring->tail && number < ring->head);
    return &ring->entries[number % ring->capacity];
}

static size_t cost_of(const struct hub_entry *entry)
{
    return sizeof(*entry) + sizeof(*entry->text) + entry->text->len;
}

static void drop_oldest(struct hub_ring *ring)
{
    struct hub_entry *entry = &ring->entries[ring->tail % ring->capacity];
    ring->tail++;
    ring->bytes -= cost_of(entry);
    ring->forgotten = entry->position;
    hub_text_unref(entry->text);
    hub_run_unref(entry->run);
}

/** A ring that is full. */
static void grow(struct hub_ring *ring)
{
    size_t capacity = ring->capacity == 0 ? 256 : ring->capacity * 2;
    struct hub_entry *entries = memory_new_zero(capacity, sizeof(*entries));
    for (size_t i = 0; i < ring->capacity; i++) {
        uint64_t number = ring->tail + i;
        entries[number % capacity] = ring->entries[number % ring->capacity];
    }
    free(ring->entries);
    ring->entries = entries;
    ring->capacity = capacity;
}

static void push(struct hub *hub, const struct hub_entry *entry)
{
    struct hub_ring *ring = &hub->ring;
    size_t cost = cost_of(entry);
    while (ring->head > ring->tail && (ring->bytes + cost > hub->options.ring_bytes ||
                                       ring->head - ring->tail == HUB_RING_EVENTS)) {
        drop_oldest(ring);
    }
    if (ring->head - ring->tail == ring->capacity) {
        grow(ring);
    }
    ring->entries[ring->head % ring->capacity] = *entry;
    ring->head++;
    ring->bytes += cost;
    hub->position = entry->position;
}

uint64_t hub_ring_find(const struct hub_ring *ring, uint64_t position)
{
    uint64_t low = ring->tail;
    uint64_t high = ring->head;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (hub_ring_at(ring, middle)->position > position) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void free_ring(struct hub *hub)
{
    while (hub->ring.tail < hub->ring.head) {
        drop_oldest(&hub->ring);
    }
    free(hub->ring.entries);
}

/* ---- The thread ------------------------------------------------------------------------------ */

struct hub_gathering {
    struct hub *hub;
    struct hub_batch *batch;
};

/** Find the run of an event, with a reference; its first event says who its agent is. */
static struct hub_run *find_run(struct hub *hub, const struct journal_entry *entry)
{
    bool is_created = entry->is_known && entry->event.type == JOURNAL_RUN_CREATED;
    const char *agent_id = is_created ? entry->event.run_created.agent_id : NULL;
    pthread_mutex_lock(&hub->lock);
    struct hub_run *run = hub_run_get(hub, entry->run_id);
    if (!run->has_agent && agent_id != NULL && strlen(agent_id) <= LIMIT_AGENT_ID_LEN) {
        memcpy(run->agent_id, agent_id, strlen(agent_id) + 1);
        run->has_agent = true;
    }
    pthread_mutex_unlock(&hub->lock);
    return run;
}

/** While the store is read, which must not be asked for anything else here. */
static bool gather(const struct store_event *event, void *context)
{
    struct hub_gathering *gathering = context;
    struct hub *hub = gathering->hub;
    struct hub_batch *batch = gathering->batch;
    struct journal_entry entry;
    auto_json struct json_object *root = NULL;
    (void)journal_entry_decode(event, &entry, &root, NULL); /* A damaged one is sent as it is. */
    struct hub_entry *added = &batch->entries[batch->count++];
    *added = (struct hub_entry){
        .position = event->position,
        .seq = event->seq,
        .run = find_run(hub, &entry),
        .text = hub_frame_new(&entry),
    };
    memcpy(added->type, event->type, strnlen(event->type, sizeof(added->type) - 1));
    batch->bytes += added->text->len;
    if (hub->options.metrics != NULL) {
        metrics_count(hub->options.metrics, &entry);
    }
    return batch->bytes < BATCH_BYTES;
}

/** Read what was committed, or wait for it. @return false when the store cannot be read */
static bool fill(struct hub *hub, int64_t wait_ns, struct hub_batch *batch)
{
    struct writer *writer = hub->options.writer;
    struct store *store = writer_store(writer);
    struct hub_gathering gathering = {.hub = hub, .batch = batch};
    uint64_t rings = writer_rings(writer);
    uint64_t position = 0; /* read first: what comes later ends the wait below at once */
    int r = store->ops->last_position(store, &position, NULL);
    r = r < 0 ? r
              : store->ops->read_events(store, NULL, hub->position, BATCH_EVENTS, gather,
                                        &gathering, NULL);
    if (r == 0 && batch->count == 0 && rings == writer_rings(writer)) {
        writer_wait(writer, position, wait_ns, &hub->cancel);
    }
    return r == 0;
}

static void learn_agents(struct hub *hub, const struct hub_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct hub_run *run = batch->entries[i].run;
        pthread_mutex_lock(&hub->lock);
        bool has_agent = run->has_agent;
        pthread_mutex_unlock(&hub->lock);
        if (!has_agent) {
            char agent[LIMIT_AGENT_ID_LEN + 1];
            hub_agent_of(hub, run->id, agent);
        }
    }
}

static void publish(struct hub *hub, struct hub_batch *batch)
{
    learn_agents(hub, batch);
    pthread_mutex_lock(&hub->lock);
    uint64_t first = hub->ring.head;
    for (size_t i = 0; i < batch->count; i++) {
        hub_table_touch(hub, batch->entries[i].run);
        push(hub, &batch->entries[i]);
        hub_stream_announce(hub, first + i);
    }
    hub_stream_publish(hub, first);
    pthread_mutex_unlock(&hub->lock);
    batch->count = 0;
    batch->bytes = 0;
}

/** Without streams and events, only the end of quiet or a new stream give it anything to do. */
static int64_t wait_ns(struct hub *hub)
{
    int64_t now = clock_monotonic(clock_system());
    int64_t longest = hub->options.heartbeat_ns / 4;
    longest = longest < NS_PER_S ? longest : NS_PER_S;
    pthread_mutex_lock(&hub->lock);
    int64_t table_ns = hub_table_wait_ns(hub, now);
    bool has_streams = !LIST_EMPTY(&hub->streams);
    longest = hub->table.streams > 0 && longest > HUB_INBOX_NS ? HUB_INBOX_NS : longest;
    pthread_mutex_unlock(&hub->lock);
    longest = has_streams ? longest : writer_pace(hub->options.writer, longest);
    return table_ns < longest ? table_ns : longest;
}

static void tick(struct hub *hub)
{
    int64_t now = clock_monotonic(clock_system());
    hub_table_look(hub);
    hub_table_tick(hub, now);
    hub_inbox_look(hub);
    pthread_mutex_lock(&hub->lock);
    hub_stream_beat(hub, now);
    pthread_mutex_unlock(&hub->lock);
}

static void *run(void *context)
{
    struct hub *hub = context;
    struct hub_batch *batch = memory_new_zero(1, sizeof(*batch));
    while (!cancel_is_set(&hub->cancel)) {
        bool is_fine = fill(hub, wait_ns(hub), batch);
        bool has_events = batch->count > 0;
        publish(hub, batch);
        tick(hub);
        if (!is_fine || has_events) {
            cancel_wait(&hub->cancel, is_fine ? HUB_PACE_NS : RETRY_NS);
        }
    }
    free(batch);
    return NULL;
}

static void count_commit(void *context, int64_t duration_ns)
{
    metrics_add(context, "rondo_commit_duration_seconds", NULL, (double)duration_ns / 1e9);
}

static int begin(struct hub *hub, struct rondo_error *err)
{
    struct store *store = writer_store(hub->options.writer);
    int r = cancel_init(&hub->cancel, err);
    r = r < 0 ? r : store->ops->last_position(store, &hub->position, err);
    if (r < 0) {
        return r;
    }
    hub->ring.forgotten = hub->position;
    int problem = pthread_create(&hub->thread, NULL, run, hub);
    if (problem != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, problem, "cannot start a thread");
    }
    hub->has_thread = true;
    return 0;
}

int hub_start(const struct hub_options *options, struct hub **ret_hub, struct rondo_error *err)
{
    struct hub *hub = memory_new_zero(1, sizeof(*hub));
    hub->options = *options;
    if (hub->options.heartbeat_ns == 0) {
        hub->options.heartbeat_ns = HUB_HEARTBEAT_NS;
    }
    if (hub->options.ring_bytes == 0) {
        hub->options.ring_bytes = HUB_RING_BYTES;
    }
    pthread_mutex_init(&hub->lock, NULL);
    hub_table_init(hub);
    hub->greeting = hub_text_new(greeting_text, strlen(greeting_text));
    hub->heartbeat = hub_text_new(heartbeat_text, strlen(heartbeat_text));
    hub->farewell = hub_text_new(farewell_text, strlen(farewell_text));
    int r = begin(hub, err);
    if (r < 0) {
        hub_stop(hub);
        return r;
    }
    if (hub->options.metrics != NULL) {
        writer_observe(hub->options.writer, count_commit, hub->options.metrics);
    }
    *ret_hub = hub;
    return 0;
}

void hub_drain(struct hub *hub)
{
    struct hub_stream *stream = NULL;
    pthread_mutex_lock(&hub->lock);
    hub->is_draining = true;
    LIST_FOREACH(stream, &hub->streams, link)
    {
        http_stream_wake(stream->http);
    }
    pthread_mutex_unlock(&hub->lock);
}

void hub_stop(struct hub *hub)
{
    if (hub == NULL) {
        return;
    }
    writer_observe(hub->options.writer, NULL, NULL);
    if (hub->has_thread) {
        cancel_set(&hub->cancel, CANCEL_NOW);
        pthread_join(hub->thread, NULL);
    }
    cancel_fini(&hub->cancel);
    free_ring(hub);
    hub_table_fini(hub);
    hub_text_unref(hub->greeting);
    hub_text_unref(hub->heartbeat);
    hub_text_unref(hub->farewell);
    pthread_mutex_destroy(&hub->lock);
    free(hub);
}

void hub_stream_events(struct hub *hub, struct http_exchange *exchange,
                       const struct hub_filter *filter)
{
    hub_stream_open(hub, exchange, filter, false);
}

void hub_stream_runs(struct hub *hub, struct http_exchange *exchange,
                     const struct hub_filter *filter)
{
    hub_stream_open(hub, exchange, filter, true);
}

struct hub_state hub_state(struct hub *hub)
{
    pthread_mutex_lock(&hub->lock);
    struct hub_state state = {
        .position = hub->position,
        .streams = hub->stream_count,
        .backfilled = hub->backfilled,
    };
    pthread_mutex_unlock(&hub->lock);
    return state;
}
