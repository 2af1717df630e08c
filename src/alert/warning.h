// SPDX-License-Identifier: Apache-2.0
/*
 * A warning: what people should know of a run. From events of the journal to the JSON object that
 * the store keeps, that lists show and that sinks get (docs/warnings.md). Pure functions but for
 * warnings_read, which reads the store; any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/id.h"
#include "base/limits.h"
#include "journal/event.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WARNING_COLLECTION "warning"
/** Bytes of a warning's id, the NUL included: 20 digits, and what else distinguishes them. */
#define WARNING_ID_SIZE 80
/** Bytes of its message, the NUL included; longer ones are cut. */
#define WARNING_MESSAGE_SIZE 600

enum warning_kind {
    WARNING_LIMIT = 0,      /**< limit.warning */
    WARNING_POLICY,         /**< gate.denied: the run ended by policies or limits; step.denied */
    WARNING_ENDED_BADLY,    /**< run.finished with blocked, failed, timeout, error, ... */
    WARNING_STALLED,        /**< a run that executes had no event for stall_ns */
    WARNING_STORAGE,        /**< storage.degraded, checkpoint.corrupt */
    WARNING_POLICY_REFUSED, /**< a changed policy file is wrong */
    WARNING_HANDOFF,        /**< a call waits for the decision of a person */
    WARNING_EVENT,          /**< a notice: an event that did not become a run of its own */
    WARNING_TASK, /**< a task of a PRD has failed, its file cannot be used, or all is done */
    WARNING_TEST, /**< somebody tries a sink */
    WARNING_KIND_COUNT
};

/** "limit", "policy", "ended", "stalled", "storage", "policy_refused", "handoff", "event", "task",
 *  "test". Static. */
const char *warning_kind_name(enum warning_kind kind);

struct warning {
    enum warning_kind kind;
    char id[WARNING_ID_SIZE];
    char run_id[ID_SIZE]; /**< "" when it is of no run, like the next one */
    char agent_id[LIMIT_AGENT_ID_LEN + 1];
    int64_t time_ns;
    int64_t iteration;
    char limit_name[32]; /**< "" = the next two mean nothing */
    int64_t limit;       /**< in the journal's units */
    int64_t value;
    char status[32];          /**< of the run, when it ended */
    char request_id[ID_SIZE]; /**< of the handoff that waits; "" = the warning is of none */
    char message[WARNING_MESSAGE_SIZE];
    uint64_t seq;
    uint64_t position;
};

/** @return whether `name` is a kind; only then `*ret_kind` is set */
bool warning_kind_from_name(const char *name, enum warning_kind *ret_kind);

/** Keep as much of a text as fits, whole characters only. @param text NULL counts as "" */
void warning_set_text(char *slot, size_t size, const char *text);

/**
 * Whether an event is one that people are warned of.
 * @param ret_kind set when it is
 */
bool warning_is_wanted(const char *type_name, enum journal_type *ret_type,
                       enum warning_kind *ret_kind);

/** Fill a warning from an event, but for id, run_id, agent_id and position. */
void warning_from_event(const struct journal_event *event, enum warning_kind kind,
                        struct warning *ret_warning);

/** Append the warning as one JSON object. */
void warning_write(const struct warning *warning, struct buf *ret_json);

/**
 * A line for people who read it elsewhere: "*fixer*: near a limit: 8 of 10 iterations, 2 left".
 * @param json     as warning_write wrote it
 * @param run_url  or NULL
 * Written for Slack: &, < and > are escaped as it requires.
 */
void warning_tell(const char *json, size_t len, const char *run_url, struct buf *ret_text);

/** Which warnings to read, newest first. */
struct warning_query {
    const char *run_id;   /**< or NULL */
    const char *agent_id; /**< or NULL */
    int kind;             /**< -1 = all */
    const char *before;   /**< id of a warning: only older ones; or NULL */
    uint32_t limit;
};
/** Called with each warning as a JSON object (docs/api.md, Warning). */
typedef bool warning_fn(const char *id, const char *json, void *context);
int warnings_read(struct store *store, const struct warning_query *query, warning_fn *fn,
                  void *context, struct rondo_error *err);
