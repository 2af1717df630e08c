// SPDX-License-Identifier: Apache-2.0
/*
 * What the parts of the hub share.
 *
 * hub.c         the thread: reads the journal, publishes, ticks; the newest events as frames, and
 *               the runs that they belong to
 * hub_stream.c  streams of events: from the store until they have caught up, then from the ring
 * hub_table.c   streams of the table of runs
 * hub_mux.c     streams over the hubs of several stores
 * hub_inbox.c   what happened to handoffs, for those
 *
 * One lock covers the ring, the runs, the list of streams and how far each stream is. A stream's
 * own frames are touched only by the thread that reads it. The store is never called under the
 * lock.
 */
#pragma once

#include "base/cancel.h"
#include "base/digest.h"
#include "journal/event.h"
#include "server/stream/hub.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

/** Most events in the ring. */
#define HUB_RING_EVENTS 65536
/** Events that a stream takes from the store at a time, and about how many bytes of them. */
#define HUB_BACKFILL_EVENTS 256
#define HUB_BACKFILL_BYTES  ((size_t)256 * 1024)
/** Reads of the store without any event that fits, after which a stream shows a sign of life. */
#define HUB_BACKFILL_ROUNDS 8
/** Rows of runs and frames of others that are kept for streams of the table. */
#define HUB_TABLE_ITEMS 8192
/** Rows that are read from the store at a time; the others follow at once, but events go first. */
#define HUB_TABLE_ROWS 50
/** Rows in one frame. */
#define HUB_FRAME_ROWS 64
#define HUB_BUCKETS    4096

/** Bytes that several streams send. */
struct hub_text {
    _Atomic unsigned references;
    size_t len;
    char text[];
};

struct hub_stream;
LIST_HEAD(hub_stream_list, hub_stream);

/** A run that the ring, a stream or the table knows. */
struct hub_run {
    LIST_ENTRY(hub_run) link;
    TAILQ_ENTRY(hub_run) dirty_link;
    unsigned references;
    char id[ID_SIZE];
    char agent_id[LIMIT_AGENT_ID_LEN + 1];
    bool has_agent;
    bool is_dirty; /**< its row changed since it was published */
    struct hub_stream_list streams;
    uint64_t latest_item; /**< of the table: its newest row; older ones are skipped */
};

LIST_HEAD(hub_run_list, hub_run);
TAILQ_HEAD(hub_dirty_list, hub_run);

struct hub_entry {
    uint64_t position;
    uint64_t seq;
    struct hub_run *run;
    char type[64];
    struct hub_text *text; /**< the frame but for its id */
};

/** Entries tail..head-1, at their number modulo the capacity. */
struct hub_ring {
    struct hub_entry *entries;
    size_t capacity;
    uint64_t tail;
    uint64_t head;
    size_t bytes;
    uint64_t forgotten; /**< position up to which nothing is in the ring */
};

/** Something for streams of the table: the row of a run, or a frame of another kind. */
struct hub_item {
    struct hub_run *run; /**< NULL = a frame */
    struct hub_text *text;
    char agent_id[LIMIT_AGENT_ID_LEN + 1];
};

struct hub_table {
    struct hub_item *items; /**< HUB_TABLE_ITEMS of them, used like the ring's */
    uint64_t tail;
    uint64_t head;
    struct hub_dirty_list dirty;
    uint64_t dirty_count;
    uint64_t streams;
    int64_t due_ns;          /**< when rows may be published again; the hub's thread only */
    struct hub_text *counts; /**< of all runs; or NULL */
    uint64_t counts_version; /**< raised when they may have changed */
    bool wants_counts;
    int64_t counts_due_ns;
};

struct hub {
    struct hub_options options;
    pthread_t thread;
    bool has_thread;
    struct cancel cancel;
    struct hub_text *greeting;
    struct hub_text *heartbeat;
    struct hub_text *farewell;

    pthread_mutex_t lock;
    uint64_t position; /**< of the last event published */
    struct hub_ring ring;
    struct hub_run_list runs[HUB_BUCKETS];
    struct hub_stream_list streams;
    uint64_t stream_count;
    uint64_t backfilled;
    bool is_draining;
    struct hub_table table;
    uint64_t inbox_position; /**< last entry of the audit chain that was told; the hub's thread */
    bool is_inbox_known;
};

/** A frame that a stream is about to send. */
struct hub_frame {
    struct hub_text *text;
    uint64_t id; /**< 0 = without */
};

struct hub_stream {
    LIST_ENTRY(hub_stream) link;
    LIST_ENTRY(hub_stream) run_link;
    struct hub *hub;
    struct http_stream *http;
    unsigned references; /**< the HTTP server's and the creator's */
    bool is_linked;
    bool is_closed;
    bool is_table;
    struct hub_run *run; /**< NULL = all */
    char **agents;       /**< NULL = all */
    char **types;
    int64_t wrote_ns;  /**< when it last had something to say */
    bool is_heart_due; /**< a comment shows that the server lives */

    uint64_t after;   /**< id of the last event taken or passed over */
    bool is_live;     /**< takes from the ring */
    bool has_pending; /**< live: there is something at `cursor` or after it */
    uint64_t cursor;  /**< number in the ring, or of the table's items */
    bool needs_reset;
    uint64_t counts_version; /**< that were sent */

    /* Only of the thread that reads: */
    char token[DIGEST_HEX_SIZE]; /**< digest; "" = none */
    int64_t checked_ns;          /**< when it was looked up last */
    char *viewer;                /**< NULL = no person */
    char *agent_of_run;          /**< NULL = those of `agents` */
    bool is_greeted;
    bool is_over;
    struct hub_frame *frames; /**< taken from the store: HUB_BACKFILL_EVENTS; NULL when live */
    size_t frame_count;
    size_t next_frame;
    struct hub_text *text; /**< being written */
    uint64_t id;           /**< its id; 0 = without */
    char head[48];         /**< the line of that */
    size_t head_len;
    size_t offset;
};

/* ---- hub.c ----------------------------------------------------------------------------------- */

/** A text of `len` bytes to be filled in, with one reference. */
struct hub_text *hub_text_new(const char *bytes, size_t len);
struct hub_text *hub_text_ref(struct hub_text *text);
void hub_text_unref(struct hub_text *text);
/** The frame of an event, but for its id. */
struct hub_text *hub_frame_new(const struct journal_entry *entry);

/** Find or make a run, with a reference. Under the lock, as the next ones. */
struct hub_run *hub_run_get(struct hub *hub, const char *run_id);
void hub_run_unref(struct hub_run *run);

const struct hub_entry *hub_ring_at(const struct hub_ring *ring, uint64_t number);
/** Number of the first event after a position. */
uint64_t hub_ring_find(const struct hub_ring *ring, uint64_t position);

/** The agent of a run, from memory or from the store. Not under the lock. */
void hub_agent_of(struct hub *hub, const char *run_id, char ret_agent[LIMIT_AGENT_ID_LEN + 1]);
/** Whether a list has a text; a list that is NULL has every one. */
bool hub_list_has(char *const *list, const char *text);

/* ---- hub_stream.c ---------------------------------------------------------------------------- */

/** A stream from its place on, not yet linked. */
struct hub_stream *hub_stream_new(struct hub *hub, const struct hub_filter *filter, bool is_table);
/** Let the hub wake it. @param http borrowed until hub_stream_unlink() */
void hub_stream_link(struct hub_stream *stream, struct http_stream *http);
/** Afterwards, and if it was never linked, it is the caller's alone. */
void hub_stream_unlink(struct hub_stream *stream);
/** Of one that is not linked. @param stream NULL is allowed */
void hub_stream_free(struct hub_stream *stream);
/** Begin the next frame. @return 1 = there is one in `text`, 0 = nothing now, -1 = the end */
int hub_stream_next(struct hub_stream *stream);
/** Make the stream and answer with it. */
void hub_stream_open(struct hub *hub, struct http_exchange *exchange,
                     const struct hub_filter *filter, bool is_table);
/** Begin to write a frame. @param text its reference is taken @param id 0 = without */
void hub_stream_begin(struct hub_stream *stream, struct hub_text *text, uint64_t id);
/** Tell the streams of a run that an entry of the ring is new. Under the lock. */
void hub_stream_announce(struct hub *hub, uint64_t number);
/** Tell streams of all runs that entries from `first` on are new. Under the lock. */
void hub_stream_publish(struct hub *hub, uint64_t first);
/** Let streams that were silent for long say something. Under the lock. */
void hub_stream_beat(struct hub *hub, int64_t now_ns);

/* ---- hub_table.c ----------------------------------------------------------------------------- */

void hub_table_init(struct hub *hub);
void hub_table_fini(struct hub *hub);
/** The row of a run changed. Under the lock. */
void hub_table_touch(struct hub *hub, struct hub_run *run);
/** Rows of runs that began to wait for their turn, which is no event. Not under the lock. */
void hub_table_look(struct hub *hub);
/** A stream begins: rows that changed just before it are published again. Under the lock. */
void hub_table_welcome(struct hub *hub);
/** When hub_table_tick has something to do, ns from now; under the lock. */
int64_t hub_table_wait_ns(const struct hub *hub, int64_t now_ns);
/** Publish rows when it is time to. By the hub's thread, not under the lock. */
void hub_table_tick(struct hub *hub, int64_t now_ns);
/** Tell streams of the table what happened to handoffs. By the hub's thread, not under the lock. */
void hub_inbox_look(struct hub *hub);
/** The next frame of a stream of the table. @return 1 with the stream's text set, 0 = none */
int hub_table_next(struct hub_stream *stream);
