// SPDX-License-Identifier: Apache-2.0
/* The newest events as frames that are ready to be sent, and the runs that they belong to. */
#include "base/memory.h"
#include "journal/describe.h"
#include "server/stream/hub_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
    uint32_t hash = 2166136261U;
    for (const char *c = run_id; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 16777619U;
    }
    return &hub->runs[hash % HUB_BUCKETS];
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

void hub_ring_push(struct hub *hub, const struct hub_entry *entry)
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

void hub_ring_fini(struct hub *hub)
{
    while (hub->ring.tail < hub->ring.head) {
        drop_oldest(&hub->ring);
    }
    free(hub->ring.entries);
}
