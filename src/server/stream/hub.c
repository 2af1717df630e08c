// SPDX-License-Identifier: Apache-2.0
/*
 * The hub's thread. It reads what is committed, a batch at a time, puts it into the ring and wakes
 * the streams concerned; then it waits a little, so that many small commits cost one write a
 * stream.
 */
#include "server/stream/hub.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "journal/reader.h"
#include "server/stream/hub_internal.h"
#include "telemetry/metrics.h"

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

/** Look up a run, with a reference, and its agent. */
static struct hub_run *find_run(struct hub *hub, const struct journal_entry *entry)
{
    pthread_mutex_lock(&hub->lock);
    struct hub_run *run = hub_run_get(hub, entry->run_id);
    bool is_created = entry->is_known && entry->event.type == JOURNAL_RUN_CREATED;
    const char *agent_id = is_created ? entry->event.run_created.agent_id : NULL;
    if (!run->has_agent && agent_id != NULL && strlen(agent_id) <= LIMIT_AGENT_ID_LEN) {
        memcpy(run->agent_id, agent_id, strlen(agent_id) + 1);
        run->has_agent = true;
    }
    bool has_agent = run->has_agent;
    pthread_mutex_unlock(&hub->lock);
    if (!has_agent) {
        char agent[LIMIT_AGENT_ID_LEN + 1];
        hub_agent_of(hub, entry->run_id, agent);
    }
    return run;
}

static void add(struct hub *hub, struct hub_batch *batch, const struct journal_entry *entry)
{
    struct hub_entry *added = &batch->entries[batch->count++];
    *added = (struct hub_entry){
        .position = entry->position,
        .seq = entry->event.seq,
        .run = find_run(hub, entry),
        .text = hub_frame_new(entry),
    };
    memcpy(added->type, entry->type_name, strnlen(entry->type_name, sizeof(added->type) - 1));
    batch->bytes += added->text->len;
    if (hub->options.metrics != NULL) {
        metrics_count(hub->options.metrics, entry);
    }
}

static void publish(struct hub *hub, struct hub_batch *batch)
{
    pthread_mutex_lock(&hub->lock);
    uint64_t first = hub->ring.head;
    for (size_t i = 0; i < batch->count; i++) {
        hub_table_touch(hub, batch->entries[i].run);
        hub_ring_push(hub, &batch->entries[i]);
        hub_stream_announce(hub, first + i);
    }
    hub_stream_publish(hub, first);
    pthread_mutex_unlock(&hub->lock);
    batch->count = 0;
    batch->bytes = 0;
}

/** Wait for events and take all that are there. @return false when the store cannot be read */
static bool fill(struct hub *hub, struct journal_reader *reader, int64_t wait_ns,
                 struct hub_batch *batch)
{
    while (batch->count < BATCH_EVENTS && batch->bytes < BATCH_BYTES) {
        const struct journal_entry *entry = NULL;
        int r = journal_reader_next(reader, batch->count == 0 ? wait_ns : 0, &hub->cancel, &entry,
                                    NULL);
        if (r == 0) {
            return true;
        }
        if (entry == NULL) {
            return false;
        }
        add(hub, batch, entry); /* also a damaged one: readers judge themselves */
    }
    return true;
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
    pthread_mutex_unlock(&hub->lock);
    longest = has_streams ? longest : writer_pace(hub->options.writer, longest);
    return table_ns < longest ? table_ns : longest;
}

static void tick(struct hub *hub)
{
    int64_t now = clock_monotonic(clock_system());
    hub_table_look(hub);
    hub_table_tick(hub, now);
    pthread_mutex_lock(&hub->lock);
    hub_stream_beat(hub, now);
    pthread_mutex_unlock(&hub->lock);
}

static void *run(void *context)
{
    struct hub *hub = context;
    struct hub_batch *batch = memory_new_zero(1, sizeof(*batch));
    struct journal_reader *reader =
        journal_reader_new(hub->options.writer, NULL, hub->ring.forgotten);
    while (!cancel_is_set(&hub->cancel)) {
        bool is_fine = fill(hub, reader, wait_ns(hub), batch);
        bool has_events = batch->count > 0;
        publish(hub, batch);
        tick(hub);
        if (!is_fine || has_events) {
            cancel_wait(&hub->cancel, is_fine ? HUB_PACE_NS : RETRY_NS);
        }
    }
    journal_reader_free(reader);
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
    hub_ring_fini(hub);
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
