// SPDX-License-Identifier: Apache-2.0
/* A store, a hub over it, a server that streams what the query requests, and readers. */
#pragma once

#include "../../../support/hand_clock.h"
#include "../../../support/http_raw.h"
#include "../../../support/store/memory_store.h"
#include "base/clock.h"
#include "base/memory.h"
#include "orchestrator/orchestrator.h"
#include "server/answer/run_json.h"
#include "server/stream/hub.h"
#include "support/test.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of the hub's neighbours only what shows that it asked for the right thing. */
void run_json_write(const struct store_run *run, struct orchestrator *orchestrator,
                    const char *store, struct buf *ret_json)
{
    (void)store;
    (void)orchestrator;
    buf_printf(ret_json, "{\"run_id\":\"%s\",\"agent_id\":\"%s\",\"last_seq\":%" PRIu64 "}",
               run->id, run->agent_id, run->last_seq);
}

void run_counts_write(const struct store_run_counts *counts, const char *store,
                      struct buf *ret_json)
{
    (void)store;
    buf_printf(ret_json, "{\"running\":%" PRIu64 "}", counts->by_status[RONDO_RUNNING]);
}

/** Runs that begin to wait, once: the hub takes it for its orchestrator. */
struct waiting_runs {
    pthread_mutex_t lock;
    const char *queued;
};

size_t orchestrator_take_queued(struct orchestrator *orchestrator, char (*ret_run_ids)[ID_SIZE],
                                size_t size)
{
    struct waiting_runs *waiting = (struct waiting_runs *)orchestrator;
    pthread_mutex_lock(&waiting->lock);
    bool is_new = waiting->queued != NULL && size > 0;
    if (is_new) {
        memcpy(ret_run_ids[0], waiting->queued, ID_SIZE);
        waiting->queued = NULL;
    }
    pthread_mutex_unlock(&waiting->lock);
    return is_new ? 1 : 0;
}

struct hub_world {
    struct store *store;
    struct writer *writer;
    struct hub *hub;
    struct http_server *server;
    const struct clock *clock; /**< of the server; NULL = the machine's */
    const char *address;
};

/** "a,b" as a list that ends with NULL; cuts the text. */
static inline const char *const *split(char *text, const char **list)
{
    size_t count = 0;
    for (char *word = strtok_r(text, ",", &text); word != NULL; word = strtok_r(NULL, ",", &text)) {
        list[count++] = word;
    }
    list[count] = NULL;
    return list;
}

static inline void stream(void *context, struct http_exchange *exchange)
{
    struct hub_world *world = context;
    const char *agents[8];
    const char *types[8];
    const char *after = http_exchange_query(exchange, "after");
    const char *last = http_exchange_header(exchange, "Last-Event-ID");
    after = last != NULL ? last : after;
    char *agent_text = memory_dup_string(http_exchange_query(exchange, "agents"));
    char *type_text = memory_dup_string(http_exchange_query(exchange, "types"));
    struct hub_filter filter = {
        .run_id = http_exchange_query(exchange, "run"),
        .agents = agent_text == NULL ? NULL : split(agent_text, agents),
        .types = type_text == NULL ? NULL : split(type_text, types),
        .token = http_exchange_query(exchange, "token"),
        .after = after == NULL ? -1 : strtoll(after, NULL, 10),
    };
    if (strcmp(http_exchange_path(exchange), "/table") == 0) {
        hub_stream_runs(world->hub, exchange, &filter);
    } else {
        hub_stream_events(world->hub, exchange, &filter);
    }
    free(agent_text);
    free(type_text);
}

static inline void serve(struct hub_world *world, struct hub_options options, int64_t idle_ns)
{
    static const char *const listen[] = {"127.0.0.1:0", NULL};
    options.writer = world->writer;
    assert_int_equal(hub_start(&options, &world->hub, NULL), 0);
    struct http_server_options http = {.listen = listen,
                                       .handler = stream,
                                       .context = world,
                                       .request_ns = HTTP_RAW_PATIENCE_NS,
                                       .idle_ns = idle_ns,
                                       .clock = world->clock};
    assert_int_equal(http_server_start(&http, &world->server, NULL), 0);
    world->address = http_server_address(world->server, 0);
}

/** Only the store and its writer. */
static inline struct hub_world *begin_silent(void)
{
    struct hub_world *world = memory_new_zero(1, sizeof(*world));
    world->store = store_memory_new(NULL);
    world->writer = writer_new(world->store);
    return world;
}

static inline struct hub_world *begin_with(struct hub_options options, int64_t idle_ns)
{
    struct hub_world *world = begin_silent();
    serve(world, options, idle_ns);
    return world;
}

static inline struct hub_world *begin(void)
{
    return begin_with((struct hub_options){0}, 0);
}

static inline void stop_serving(struct hub_world *world)
{
    http_server_stop(world->server);
    assert_int_equal(hub_state(world->hub).streams, 0);
    hub_stop(world->hub);
}

static inline void end(struct hub_world *world)
{
    stop_serving(world);
    writer_free(world->writer);
    store_close(world->store);
    free(world);
}

struct run_name {
    char text[ID_SIZE];
};

static inline struct run_name name_run(unsigned number)
{
    struct run_name name;
    snprintf(name.text, sizeof(name.text), "018bcfe5-6800-7000-8000-%012x", number);
    return name;
}

#define run_name(number) name_run(number).text

static inline void create_child(struct hub_world *world, unsigned number, const char *agent,
                                unsigned parent)
{
    struct store_run run = {.summary.status = RONDO_RUNNING};
    memcpy(run.id, run_name(number), ID_SIZE);
    if (parent > 0) {
        memcpy(run.parent, run_name(parent), ID_SIZE);
    }
    snprintf(run.agent_id, sizeof(run.agent_id), "%s", agent);
    struct store_claim claim = {.owner = "me", .lease_ns = 600 * NS_PER_S};
    struct store_claim_result result;
    assert_int_equal(
        world->store->ops->create_run(world->store, &run, NULL, 0, &claim, &result, NULL), 0);
}

static inline void create_run(struct hub_world *world, unsigned number, const char *agent)
{
    create_child(world, number, agent, 0);
}

/** Append events first..first+count-1; each says its own number. */
static inline void append(struct hub_world *world, unsigned run, uint64_t first, size_t count,
                          const char *type)
{
    for (uint64_t seq = first; seq < first + count; seq++) {
        char data[64];
        snprintf(data, sizeof(data), "{\"name\":\"event %" PRIu64 "\"}", seq);
        struct store_event event = {
            .time_ns = (int64_t)seq, .type = type, .data = data, .data_len = strlen(data)};
        struct store_batch batch = {.run_id = run_name(run),
                                    .epoch = 1,
                                    .first_seq = seq,
                                    .events = &event,
                                    .event_count = 1,
                                    .lease_ns = 600 * NS_PER_S};
        struct store_commit_result result;
        assert_int_equal(writer_commit(world->writer, &batch, &result, NULL), 0);
        assert_int_equal(result.outcome, STORE_COMMITTED);
    }
}

/** A reader of a stream. */
struct hub_reader {
    int fd;
    struct buf bytes; /**< as they came */
    struct buf text;  /**< without head and chunks */
    size_t unpacked;  /**< bytes that `text` has */
    size_t searched;  /**< bytes of `text` in which the awaited one is not */
};

static inline void open_reader_with(struct hub_world *world, const char *target, int64_t last_id,
                                    int receive_bytes, struct hub_reader *ret_reader)
{
    char request[512];
    char last[64] = "";
    if (last_id >= 0) {
        snprintf(last, sizeof(last), "Last-Event-ID: %" PRId64 "\r\n", last_id);
    }
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n%s\r\n", target, last);
    *ret_reader = (struct hub_reader){.fd = http_raw_connect_with(world->address, receive_bytes)};
    assert_true(ret_reader->fd >= 0);
    assert_true(http_raw_send_text(ret_reader->fd, request));
}

/** Open a stream and wait until it is there. */
static inline void open_reader(struct hub_world *world, const char *target, int64_t last_id,
                               struct hub_reader *ret_reader)
{
    open_reader_with(world, target, last_id, 0, ret_reader);
    assert_true(http_raw_read_until(ret_reader->fd, &ret_reader->bytes, "retry: 1000\n\n",
                                    HTTP_RAW_PATIENCE_NS));
}

static inline void close_reader(struct hub_reader *reader)
{
    close(reader->fd);
    buf_fini(&reader->bytes);
    buf_fini(&reader->text);
}

/** The frames so far as text. */
static inline const char *text_of(struct hub_reader *reader)
{
    const char *bytes = buf_string(&reader->bytes);
    const char *head_end = reader->unpacked > 0 ? NULL : strstr(bytes, "\r\n\r\n");
    if (head_end != NULL) {
        reader->unpacked = (size_t)(head_end + 4 - bytes);
    }
    if (reader->unpacked > 0) {
        reader->unpacked += http_raw_unchunk(bytes + reader->unpacked,
                                             reader->bytes.len - reader->unpacked, &reader->text);
    }
    return buf_string(&reader->text);
}

/** Whether the text has come; looks at each byte once. */
static inline bool has_come(struct hub_reader *reader, const char *text)
{
    const char *from = text_of(reader) + reader->searched;
    size_t len = strlen(text);
    if (memmem(from, reader->text.len - reader->searched, text, len) != NULL) {
        return true;
    }
    reader->searched = reader->text.len >= len ? reader->text.len - len + 1 : 0;
    return false;
}

/** What a reader that waits in vain has got, for people. */
static inline void fail_waiting(const struct hub_reader *reader, const char *text, const char *why)
{
    size_t shown = reader->text.len < 300 ? reader->text.len : 300;
    fail_msg("%s without \"%s\", after %zu bytes: ...%.*s", why, text, reader->text.len, (int)shown,
             shown == 0 ? "" : reader->text.data + reader->text.len - shown);
}

/** Let each of the readers take what there is until all have the text. Heartbeats are no progress.
 */
static inline void await_in_turns(struct hub_reader *readers, size_t count, const char *text)
{
    int64_t deadline = clock_monotonic(clock_system()) + HTTP_RAW_PATIENCE_NS;
    for (size_t left = count; left > 0;) {
        left = 0;
        for (size_t i = 0; i < count; i++) {
            struct hub_reader *reader = &readers[i];
            size_t len = reader->text.len;
            bool has_ended =
                http_raw_read_all(reader->fd, &reader->bytes, 20 * NS_PER_MS / (int64_t)count);
            bool is_done = has_come(reader, text);
            left += is_done ? 0 : 1;
            if (memmem(buf_string(&reader->text) + len, reader->text.len - len, "id: ", 4) !=
                NULL) {
                deadline = clock_monotonic(clock_system()) + HTTP_RAW_PATIENCE_NS;
            }
            if (!is_done && (has_ended || clock_monotonic(clock_system()) > deadline)) {
                fail_waiting(reader, text, has_ended ? "the stream ended" : "nothing came");
            }
        }
    }
}

static inline void await(struct hub_reader *reader, const char *text)
{
    reader->searched = 0;
    await_in_turns(reader, 1, text);
}

/** Every event's id, in the order of frames; of frames without an event none. @return how many */
static inline size_t ids_of(struct hub_reader *reader, int64_t *ret_ids, size_t size)
{
    size_t count = 0;
    const char *line = text_of(reader);
    const char *end = line + reader->text.len;
    while (line < end) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        const char *next = line_end == NULL ? end : line_end + 1;
        if (strncmp(line, "id: ", 4) == 0 && strncmp(next, "event: ", 7) == 0) {
            assert_true(count < size);
            ret_ids[count++] = strtoll(line + 4, NULL, 10);
        }
        line = next;
    }
    return count;
}
