// SPDX-License-Identifier: Apache-2.0
/*
 * The monitor's parts. Its reading side (everything up to `lock`) belongs to the thread that calls
 * monitor_tick; its delivering side is guarded by `lock`.
 */
#pragma once

#include "alert/delivery.h"
#include "alert/monitor.h"
#include "alert/warning.h"
#include "alert/warning_follow.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <uthash.h>

#define MONITOR_COLLECTION     "monitor"
#define MONITOR_RUN_COLLECTION "monitor-run"
#define MONITOR_CURSOR_KEY     "cursor"
#define MONITOR_REFUSED_KEY    "refused"

/** Events read at a time, and matching ones among them. */
#define MONITOR_PAGE        4096
#define MONITOR_PAGE_WANTED 256
/** Bytes of matching events' data read at a time. */
#define MONITOR_PAGE_BYTES (4 * LIMIT_MIB)
/** Different denials that one run is warned of. */
#define MONITOR_DENIALS 64
/** Refused policies that are remembered, and for how long the same ones are not said again. */
#define MONITOR_REFUSALS   64
#define MONITOR_REFUSAL_NS (3600 * NS_PER_S)
/** Notices read at a time. */
#define MONITOR_NOTICES 64
/** Runs that are remembered in memory. */
#define MONITOR_NOTES 10000
/** Bytes of a mark of what was said, the NUL included. */
#define MONITOR_MARK_SIZE 17

/** What is known of a run. */
struct run_note {
    char run_id[ID_SIZE];
    char agent_id[LIMIT_AGENT_ID_LEN + 1];
    uint64_t forked_seq;  /**< events up to this one are another run's */
    int64_t delay_ns;     /**< pause between its iterations */
    bool is_prd;          /**< it carries out a PRD */
    bool is_part;         /**< it works on a task for the run of a PRD */
    char **sinks;         /**< that its role names, see result_sinks(); NULL = none. Owned */
    uint64_t stalled_seq; /**< last event when it was said to be silent; 0 = never */
    char denials[MONITOR_DENIALS][MONITOR_MARK_SIZE];
    size_t denial_count;
    bool is_stored;  /**< it has a document */
    bool is_changed; /**< the document must be written, or deleted when it is empty */
    UT_hash_handle hh;
};

/** An event that people may have to be warned of, as read. */
struct wanted_event {
    char run_id[ID_SIZE];
    uint64_t position;
    uint64_t seq;
    int64_t time_ns;
    enum journal_type type;
    enum warning_kind kind;
    char *data;
    size_t data_len;
};

struct refusal {
    char mark[MONITOR_MARK_SIZE];
    int64_t time_ns;
};

/** A delivery to a sink of a role that the next transaction makes. */
struct found_result {
    char id[WARNING_ID_SIZE];
    char sink[SINK_NAME_LEN + 1];
    char *json; /**< owned */
    int64_t epoch;
};

/** Warnings that the next transaction makes, with the runs' epochs. */
struct found_warnings {
    struct warning *items;
    int64_t *epochs;
    size_t count;
    size_t size;
};

struct monitor {
    struct writer *writer;
    struct store *store;
    struct http_client *http;
    struct runtime *runtime; /**< or NULL */
    char *supervisor;
    char *base_url;
    const struct clock *clock;
    struct random *random;
    char owner[STORE_OWNER_SIZE]; /**< this process, in the deliveries that it attempts */
    int64_t stall_ns;
    bool has_no_thread;
    void (*log)(void *context, const char *line);
    void *log_context;
    void (*on_warning)(void *context, const char *agent_id, const char *json);
    void *on_warning_context;
    struct cancel cancel; /**< ends everything */

    bool is_loaded;         /**< what follows is what the store has */
    int64_t version;        /**< of the cursor's document */
    int64_t warn_from_ns;   /**< events up to the next position, of before: too old to warn of */
    uint64_t history;       /**< last one when the first monitor of the store began */
    uint64_t committed;     /**< position in the store */
    int64_t committed_ns;   /**< when it was written (monotonic) */
    uint64_t reached;       /**< position up to which events were looked at */
    int64_t scanned_ns;     /**< last look for stalled runs (monotonic); 0 = none */
    struct run_note *notes; /**< uthash */
    struct refusal refusals[MONITOR_REFUSALS];
    size_t refusal_count;
    bool is_refusal_changed;
    struct found_warnings found;
    char notices[MONITOR_NOTICES][ID_SIZE]; /**< that the next transaction deletes */
    size_t notice_count;
    struct found_result *results;
    size_t result_count;
    uint64_t until_prune;          /**< warnings to be made until old ones are forgotten */
    struct warning_follow *follow; /**< what on_warning gets; NULL before the first look */
    bool is_failing;

    _Atomic uint64_t position; /**< copy of `reached` for other threads */
    _Atomic uint64_t made[WARNING_KIND_COUNT];
    _Atomic uint64_t deliveries_ok;
    _Atomic uint64_t deliveries_failed;
    _Atomic uint64_t deliveries_dead;
    pthread_t reader;
    struct writer_listener listener; /**< .call NULL: there are no threads */

    pthread_mutex_t lock;
    pthread_cond_t changed; /**< on CLOCK_MONOTONIC */
    bool is_ending;
    bool is_led; /**< a thread looks for what is due, the others wait */
    char busy[MONITOR_DELIVERIES][SINK_MARK_SIZE];
    size_t busy_count;
    size_t thread_count;
    pthread_t threads[MONITOR_DELIVERIES];
    uint64_t waiting; /**< as counted at counted_ns, plus what was made here since */
    uint64_t dead;
    int64_t counted_ns; /**< monotonic; 0 = never */
};

/** Say something to people. */
void monitor_say(struct monitor *monitor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- monitor_notes.c: what is known of runs --- */

/** What is known of a run; reads it when it is new. @param ret_note the monitor's */
int monitor_note(struct monitor *monitor, const char *run_id, struct run_note **ret_note,
                 struct rondo_error *err);
/** Forget all, when another monitor may have changed them. */
void monitor_forget_notes(struct monitor *monitor);
/** Append the document of a note. */
void monitor_note_encode(const struct run_note *note, struct buf *ret_json);
/** 16 hex digits of texts. NULL counts as "". */
void monitor_mark(const char *first, const char *second, const char *third,
                  char ret_mark[MONITOR_MARK_SIZE]);

/* --- monitor_events.c: from events to warnings --- */

/**
 * Read a page of events and add their warnings to `found`.
 * @param ret_is_more whether there may be more
 */
int monitor_read_page(struct monitor *monitor, bool *ret_is_more, struct rondo_error *err);
/** Add a warning to those that the next transaction makes. @return it, zeroed */
struct warning *monitor_add_found(struct monitor *monitor, int64_t epoch);

/** Forget the results that were found: they are committed, or found again. */
void monitor_forget_results(struct monitor *monitor);

/* --- monitor_stall.c --- */

/** Look for silent runs if it is time, and add their warnings to `found`. */
int monitor_find_stalled(struct monitor *monitor, struct rondo_error *err);
/** Time between two looks; -1 = there are none. */
int64_t monitor_stall_pause_ns(const struct monitor *monitor);

/* --- monitor_notices.c --- */

/** Read notices and add their warnings to `found`. */
int monitor_read_notices(struct monitor *monitor, struct rondo_error *err);

/* --- monitor_commit.c: what is made durable --- */

/** Read the cursor, or make it. */
int monitor_load(struct monitor *monitor, struct rondo_error *err);
/** Write what was found, the deliveries and the cursor, if it is time. */
int monitor_commit(struct monitor *monitor, bool is_forced, struct rondo_error *err);
/** Tell on_warning what is new. */
void monitor_tell(struct monitor *monitor);

/* --- monitor_deliver.c: attempts --- */

/**
 * Attempt what is due, one after the other, on this thread.
 * @param run_id only of this run; NULL = all
 */
int monitor_deliver_due(struct monitor *monitor, const char *run_id, struct rondo_error *err);
/** Start the threads. */
int monitor_start_deliveries(struct monitor *monitor, struct rondo_error *err);
/** Deliveries were made. */
void monitor_wake_deliveries(struct monitor *monitor, uint64_t count);
/** End and join the threads. */
void monitor_end_deliveries(struct monitor *monitor);
/** Count what waits and what was dead-lettered, at most once a second. */
void monitor_count_deliveries(struct monitor *monitor, uint64_t *ret_waiting, uint64_t *ret_dead);
