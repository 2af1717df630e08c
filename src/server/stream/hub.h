// SPDX-License-Identifier: Apache-2.0
/*
 * Fan-out of committed events to server-sent streams. One thread reads the journal of all runs and
 * keeps the newest events, already written as frames, in a bounded ring; each stream has its own
 * place and takes from the ring, or from the store when it lags further. So a slow reader
 * costs nothing but its socket, and one that comes back misses nothing.
 *
 * Streams give each event exactly once and in order. Heartbeats are comments. Any thread.
 */
#pragma once

#include "net/server/http_server.h"
#include "store/writer.h"

struct hub;
struct orchestrator;
struct metrics;

/** Bytes of frames that the ring keeps. */
#define HUB_RING_BYTES (32L * 1024 * 1024)
/** Time between heartbeats of a stream that has nothing to say. */
#define HUB_HEARTBEAT_NS INT64_C(15000000000)
/** Rows of runs are sent at most so often. */
#define HUB_ROWS_NS INT64_C(200000000)
/** Changes of handoffs by other processes are looked for so often, while there is a reader. */
#define HUB_INBOX_NS INT64_C(200000000)
/** Streams are woken at most so often; so many commits cost one write a stream. */
#define HUB_PACE_NS INT64_C(20000000)

struct hub_options {
    struct writer *writer;             /**< borrowed, as the next ones */
    struct orchestrator *orchestrator; /**< knows which runs are queued; or NULL */
    struct metrics *metrics;           /**< counts what the hub reads, and the time of the writer's
                                            commits: outlives the last of them; or NULL */
    const char *store_label;           /**< for rows and counts; NULL = the only store */
    /** Whether somebody may no longer see what an agent said and did (call_sees_content); NULL =
     * never. @param viewer NULL = no person @param agent_id NULL = any */
    bool (*is_hidden)(void *context, const char *viewer, const char *agent_id);
    void *is_hidden_context;
    int64_t heartbeat_ns; /**< 0 = HUB_HEARTBEAT_NS */
    size_t ring_bytes;    /**< 0 = HUB_RING_BYTES */
};

int hub_start(const struct hub_options *options, struct hub **ret_hub, struct rondo_error *err);
/** Tell all streams to come back (retry) and end them at their next byte. */
void hub_drain(struct hub *hub);
/** After the HTTP server has stopped. NULL is allowed. */
void hub_stop(struct hub *hub);

/** What a stream selects. Texts are copied. */
struct hub_filter {
    const char *run_id;        /**< one run: ids of frames are seqs; NULL = all: positions */
    const char *const *agents; /**< NULL-terminated; NULL = all */
    const char *const *types;  /**< NULL-terminated; NULL = all */
    const char *token;  /**< digest of the caller's token: the stream ends when that counts no more;
                             "" or NULL = no token */
    const char *viewer; /**< the person who reads; NULL = no person */
    const char *agent_of_run; /**< with run_id: whose run it is */
    int64_t after;            /**< id of the last frame seen; -1 = begin with what comes now */
};

/** Answer an exchange with a stream of events. Adds its Content-Type; other headers before. */
void hub_stream_events(struct hub *hub, struct http_exchange *exchange,
                       const struct hub_filter *filter);
/**
 * Answer with the stream of the table of runs (GET /v1/stream): rows that change, coalesced. Of the
 * filter `agents` and `after` count: with a position it begins with "reset", because nobody knows
 * which rows changed meanwhile. Open the stream first, then load the list: so no change is missed.
 */
void hub_stream_runs(struct hub *hub, struct http_exchange *exchange,
                     const struct hub_filter *filter);
/** One store of a stream over several. */
struct hub_part {
    const char *name;         /**< of letters, digits and '-'; copied */
    struct hub *hub;          /**< NULL: it does not answer; the ids keep its place */
    struct hub_filter filter; /**< without run_id */
};

/** Stores of one stream. */
#define HUB_MUX_MAX 16

/** A stream over several stores. */
struct hub_mux_options {
    const struct hub_part *parts;
    size_t count;
    bool is_table; /**< as hub_stream_runs(), else hub_stream_events() */
    /** A number that changes when a store goes or comes: then the stream ends, and the client comes
     *  back with its id. */
    uint64_t (*version)(const void *context);
    const void *version_context;
};

/**
 * Answer with a stream over several stores. The events of each are in their order. The id of a
 * frame has the places in all of them: "NAME:POSITION,NAME:POSITION".
 */
void hub_mux_open(struct http_exchange *exchange, const struct hub_mux_options *options);
/** Something that is no event: a frame for all streams of the table ("warning"). @param agent_id of
 *  its run, for the filters */
void hub_tell(struct hub *hub, const char *event, const char *agent_id, const char *json);

struct hub_state {
    uint64_t position; /**< last event read */
    uint64_t streams;
    uint64_t backfilled; /**< events that streams took from the store */
};
struct hub_state hub_state(struct hub *hub);
