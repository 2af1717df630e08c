// SPDX-License-Identifier: Apache-2.0
/*
 * The events of a run's journal: one table of types, one table of fields, and the JSON form that
 * follows from both. Adding a type or a field means adding a row in event.c; docs/events.md is
 * written from the same tables (`rondo doc events`).
 *
 * The format has a version, recorded in the first event of each run (`format`). Fields may be added
 * without raising it; a reader ignores what it does not know. Pure functions; any thread.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"
#include "rondo/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

/** Version of the event format; a run with a newer one is refused. */
#define JOURNAL_FORMAT 1

enum journal_type {
    JOURNAL_RUN_CREATED = 0,
    JOURNAL_RUN_CLAIMED,
    JOURNAL_RUN_OPTIONS,
    JOURNAL_STOP_REQUESTED,
    JOURNAL_PAUSED,
    JOURNAL_CONTINUED,
    JOURNAL_FORKED,
    JOURNAL_POLICY_CHANGED,
    JOURNAL_POLICY_REFUSED,
    JOURNAL_LIMIT_WARNING,
    JOURNAL_GATE_DENIED,
    JOURNAL_STEP_DENIED,
    JOURNAL_ITERATION_STARTED,
    JOURNAL_ITERATION_FINISHED,
    JOURNAL_ITERATION_INTERRUPTED,
    JOURNAL_MODEL_REQUESTED,
    JOURNAL_MODEL_RETRYING,
    JOURNAL_MODEL_REPLIED,
    JOURNAL_TOOL_REQUESTED,
    JOURNAL_TOOL_FINISHED,
    JOURNAL_PERSON_ANSWERED,
    JOURNAL_TIME_SKIPPED,
    JOURNAL_PLAN_UPDATED,
    JOURNAL_HISTORY_TRIMMED,
    JOURNAL_VERIFICATION_STARTED,
    JOURNAL_CONDITION_EVALUATED,
    JOURNAL_VERIFICATION_FINISHED,
    JOURNAL_FINISH_REJECTED,
    JOURNAL_CHECKPOINT_SAVED,
    JOURNAL_CHECKPOINT_CORRUPT,
    JOURNAL_STORAGE_DEGRADED,
    JOURNAL_NOTE,
    JOURNAL_RUN_FINISHED,
    JOURNAL_TYPE_COUNT
};

/**
 * One event in memory. Only the fields that the type's row names are written or read; the others
 * are ignored. Texts are borrowed: when decoded, from the json_object that the caller holds.
 */
struct journal_event {
    enum journal_type type;
    uint64_t seq; /**< set when reading, and by the driver when recording */
    int64_t time_ns;

    int64_t format;
    int64_t epoch;
    int64_t alive_ns;
    int64_t iteration;
    int64_t attempt;
    int64_t limit;
    int64_t value;
    int64_t exit_code;
    int64_t signal;
    int64_t duration_ns;
    int64_t output_bytes;
    int64_t tokens;
    int64_t cost_micro; /**< COST_UNKNOWN (base/plain.h) = nobody knows */
    int64_t number;
    int64_t bytes;
    int64_t met;
    int64_t total;
    int64_t failures;
    int64_t turn;
    int64_t index;
    int64_t messages;
    int64_t dropped;
    int64_t tokens_in;
    int64_t tokens_out;
    int64_t tokens_cached;
    int64_t tokens_reasoning;
    int64_t delay_ns;
    int64_t forked_seq;
    int64_t checkpoint;
    const char *agent_id;
    const char *version;
    const char *owner;
    const char *how;
    const char *outcome;
    const char *message;
    const char *output;
    size_t output_len; /**< 0 = `output` is NUL-terminated */
    const char *finish;
    const char *summary;
    const char *name;
    const char *status;
    const char *reason;
    const char *policy;
    const char *limit_name;
    const char *by;
    const char *sha256;
    const char *old_sha256;
    const char *source;
    const char *action;
    const char *verdict;
    const char *decision;
    const char *estimate;
    const char *model;
    const char *prompt;
    const char *thinking;
    const char *stop;
    const char *call_id;
    const char *arguments;
    const char *request_id;
    const char *response_model;
    const char *forked_from;
    const char *spec;        /**< JSON */
    const char *attributes;  /**< JSON */
    const char *custom_data; /**< JSON */
    const char *limits;      /**< JSON, as the next ones */
    const char *old_limits;
    const char *policies;
    const char *errors;
    const char *calls;
    const char *native;
    const char *plan;
};

/** Dotted name of a type ("iteration.started"). Static. */
const char *journal_type_name(enum journal_type type);

/** @return whether `name` is a type; only then `*ret_type` is set. */
bool journal_type_from_name(const char *name, enum journal_type *ret_type);

/** Append the event's fields as one JSON object. */
void journal_encode(const struct journal_event *event, struct buf *ret_buf);

/**
 * Read an event.
 * @param data     JSON object as journal_encode wrote it, perhaps by a newer version
 * @param ret_root holds the memory that the event's texts point into; json_object_put()
 * @return 0; RONDO_ERR_INVALID for what is not an event of that type; RONDO_ERR_NOT_FOUND for a
 * type that this version does not know (a reader skips it)
 */
int journal_decode(const char *type_name, const char *data, size_t len,
                   struct journal_event *ret_event, struct json_object **ret_root,
                   struct rondo_error *err);

/** Append the reference page of all events and fields, in Markdown. */
void journal_describe(struct buf *ret_buf);
