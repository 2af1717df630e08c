// SPDX-License-Identifier: Apache-2.0
/* The current state of a run, gathered from committed data only, and its form for programs. Any
 * thread. */
#pragma once

#include "journal/state.h"
#include "loop/spec.h"
#include "store/store.h"

/** A condition as evaluated last, with what the fold does not keep. */
struct summary_condition {
    char name[LIMIT_CONDITION_NAME_LEN + 1];
    bool is_met;
    bool is_evaluated;
    int64_t exit_code;
    int64_t duration_ns;
    int64_t iteration; /**< of the evaluation, as the next one */
    int64_t time_ns;
    char reason[160]; /**< for people; "" when met */
    char *output;     /**< end of the verifier's output, owned; may be NULL */
    size_t output_len;
};

/** A run's present state, gathered from the store. summary_fini(). */
struct summary {
    struct store_run run;
    struct loop_spec spec;
    struct run_state state;
    struct summary_condition conditions[LIMIT_CONDITIONS];
    size_t condition_count;
    char *message;              /**< of run.finished, or NULL */
    char *words;                /**< the worker's own summary, or NULL */
    char *stop;                 /**< why the last reply is no whole answer, or NULL */
    const char *answer;         /**< last words of an agent; the caller's to set; or NULL */
    const char *display_status; /**< run_display_status; a caller may know more, as of a queue */
    const char *server;         /**< living one that continues it; the caller's to set, or NULL */
    char *paused_by;            /**< of the last run.paused, or NULL */
    int64_t paused_ns;          /**< of the same */
    /* gate.denied, when that ended the run */
    char *policy;
    char *limit_name;
    int64_t limit;
    int64_t value;
    int64_t denied_iteration;
    char *denied_message;
    char *denied_reason;       /**< stable code: "forbidden", ... */
    char *verdict;             /**< "deny" or "ask" */
    char *policy_sha256;       /**< policies that decided, or "" */
    uint64_t storage_failures; /**< met by the process that executed it; the caller's to set */
    char *storage_message;     /**< of the latest storage.degraded among the last events, or NULL */
};

/** Whether the run is paused because a person must decide about calls. */
bool summary_is_waiting(const struct summary *summary);

/** Gather. @return 0 or the store's error; damaged events are RONDO_ERR_CORRUPT */
int summary_load(struct store *store, const char *run_id, struct summary *ret_summary,
                 struct rondo_error *err);
void summary_fini(struct summary *summary);

/** Append the final JSON object and a line end. */
void summary_json(const struct summary *summary, struct buf *ret_buf);

/** Append the members of that object, for `show`. */
struct json_writer;
void summary_json_members(const struct summary *summary, struct json_writer *writer);
/** Append the members of its `violation` that are not figures. */
void summary_json_denial(const struct summary *summary, struct json_writer *writer);
