// SPDX-License-Identifier: Apache-2.0
/*
 * What became of a coding agent's session: a pure function of what its stream said, its exit code,
 * our own signals, and what changed in the workspace where that is known. An exit code alone says
 * little: agents exit with 0 when every call was denied, when the API refused, and when a signal
 * ended them. Words in free text decide nothing; a session without the event that ends it failed.
 */
#pragma once

#include "os/process/spawn_request.h"
#include "worker/coding/stream.h"

/** Names are in the journal (worker.finished); `coding_class_name`. */
enum coding_class {
    CODING_OK = 0,
    CODING_NO_WORK,       /**< ended well, but its calls were denied or nothing was changed */
    CODING_API_TRANSIENT, /**< 429, 5xx, overload: again after a pause */
    CODING_API_QUOTA,     /**< a quota is used up: again when it is there again */
    CODING_AUTH,          /**< no key, or a refused one: nothing helps but a person */
    CODING_DENIED,        /**< the agent refused to begin: folder not trusted, not permitted */
    CODING_LIMIT,         /**< the agent's own limit (turns, budget) was reached */
    CODING_FAILED,        /**< it reported another failure */
    CODING_CRASH,         /**< it ended by a signal, or without a result */
    CODING_TIMEOUT,       /**< killed at a deadline */
    CODING_KILLED,        /**< killed because the run was asked to stop */
    CODING_CLASS_COUNT
};

/** "ok", "no_work", "api_transient", ... Static. */
const char *coding_class_name(enum coding_class outcome);
bool coding_class_from_name(const char *name, enum coding_class *ret_class);
/** What a class is and what a loop does then, for the reference. Static. */
const char *coding_class_help(enum coding_class outcome);

/** What an exit code of the program means, where its stream does not say. */
struct coding_exit {
    int code;
    enum coding_class outcome;
};

/** Whether the workspace changed. */
enum coding_change { CODING_CHANGE_UNKNOWN = 0, CODING_CHANGE_NONE, CODING_CHANGE_SOME };

struct coding_facts {
    const struct coding_said *said;
    bool is_text; /**< the format has no event that ends a session */
    const struct spawn_result *spawned;
    const struct coding_exit *exits; /**< or NULL */
    size_t exit_count;
    enum coding_change change;
    bool is_answer_enough; /**< it was asked a question: calls that were denied are no failure */
    int64_t now_ns;        /**< Unix time, for "try again in 3 hours" */
};

struct coding_verdict {
    enum coding_class outcome;
    int64_t resets_ns;                       /**< CODING_API_QUOTA: Unix time, 0 = not known */
    char message[CODING_MESSAGE_SIZE + 128]; /**< for people; "" when it is CODING_OK */
};

struct coding_verdict coding_classify(const struct coding_facts *facts);
