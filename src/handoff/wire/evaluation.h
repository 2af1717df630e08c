// SPDX-License-Identifier: Apache-2.0
/*
 * What was evaluated: the contexts of the newest actions that agents asked about, and the answers.
 * They say what another profile would have answered, and with which context an approved action is
 * asked about again. Arguments are not among them. Entries wait in memory until they are written
 * together; those of the last moments before a crash are lost. Documents: `evaluation`, by number.
 * Any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/json/json.h"
#include "store/store.h"

#define EVALUATION_COLLECTION "evaluation"

struct evaluation_log;
struct json_object;

/** An evaluation. Texts are borrowed. */
struct evaluated_action {
    int64_t time_ns;
    const char *agent_id;
    const char *lane_id; /**< NULL = none, as the next ones */
    const char *run_id;
    const char *profile;
    const char *tool;
    const char *action_digest;
    const char *context; /**< a JSON object */
    bool has_approval;   /**< it was asked again with an approval */
    bool is_evidence;    /**< its lane gathered evidence */
    uint32_t rework_count;
    const char *outcome; /**< "allow", ... */
    const char *rule;    /**< that decided */
    const char *reasons; /**< a JSON array of texts */
    const char *policy_hash;
};

/** Never NULL; evaluation_log_free(). @param store borrowed */
struct evaluation_log *evaluation_log_new(struct store *store);
/** What was not written is lost. NULL is allowed. */
void evaluation_log_free(struct evaluation_log *log);

/** Add one. It is dropped when LIMIT_EVALUATIONS_WAITING wait, or its context is too large. */
void evaluation_log_add(struct evaluation_log *log, const struct evaluated_action *evaluation);

/** Write what waits; the oldest beyond LIMIT_EVALUATIONS are deleted. */
int evaluation_log_flush(struct evaluation_log *log, struct rondo_error *err);

/** Whether an agent says of an action that something happens: it is not harmless by its context. */
bool evaluation_is_actionable(struct json_object *context);

/**
 * Write the members of figures of a window of time: how many actions agents asked about, with which
 * outcome, and the share of those that are actionable for which a person was needed. Repetitions
 * with an approval do not count.
 */
int evaluation_write_figures(struct store *store, int64_t from_ns, int64_t to_ns,
                             struct json_writer *writer, struct rondo_error *err);

/**
 * Append the newest context of an agent and an action.
 * @return RONDO_ERR_NOT_FOUND
 */
int evaluation_find(struct evaluation_log *log, const char *agent_id, const char *action_digest,
                    struct buf *ret_context, struct rondo_error *err);
