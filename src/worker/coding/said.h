// SPDX-License-Identifier: Apache-2.0
/* What a coding agent's output says: the events that are reported, and the sum of them. Values. */
#pragma once

#include "base/buf.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** CODING_FORMAT_CLAUDE, ...: one for each row of format/formats.def. */
enum coding_format {
#define FORMAT(ID, id, name, help) CODING_FORMAT_##ID,
#include "worker/coding/formats.def"
    CODING_FORMAT_COUNT
};

enum coding_event_kind {
    CODING_EVENT_MESSAGE,     /**< words of the agent: `text` */
    CODING_EVENT_TOOL_CALL,   /**< `id`, `name`, `text` (its input) */
    CODING_EVENT_TOOL_RESULT, /**< `id`, perhaps `name`, `text` (its output), `is_error` */
};

/** Texts are borrowed for the time of the call; NULL where they are not known. */
struct coding_event {
    enum coding_event_kind kind;
    const char *id;
    const char *name;
    const char *text;
    size_t text_len;
    bool is_error;
};

typedef void coding_event_fn(void *context, const struct coding_event *event);

/** Bytes of an id, a name and a kind that are kept, with the NUL. */
#define CODING_WORD_SIZE 128
/** Bytes of the message of an error, with the NUL. */
#define CODING_MESSAGE_SIZE 512

/** An error that the agent reported in its fields. */
struct coding_error {
    bool is_set;
    bool is_retryable; /**< the agent says that another attempt may help */
    int status;        /**< HTTP status; 0 = not known */
    char kind[CODING_WORD_SIZE];
    char message[CODING_MESSAGE_SIZE];
};

/** What the stream has said so far. */
struct coding_said {
    char session[CODING_WORD_SIZE]; /**< "" = not known */
    char model[CODING_WORD_SIZE];   /**< model that answered, as reported; "" = not known */
    bool has_result;                /**< the event that ends a session came */
    bool has_usage;
    bool has_promise;              /**< the answer has a line <promise>...</promise>: only a hint */
    struct model_usage usage;      /**< `input` with cached tokens, as everywhere */
    int64_t cost_micro;            /**< COST_UNKNOWN = the agent reports none */
    struct coding_error error;     /**< the last one that ended a turn */
    bool is_hopeless;              /**< it tries again and again what was refused for good */
    char limit[CODING_WORD_SIZE];  /**< name of the agent's own limit that was reached, or "" */
    int64_t resets_ns;             /**< when a quota is there again, Unix ns; 0 = not known */
    uint64_t denials;              /**< tool calls that were refused for want of permission */
    char denied[CODING_WORD_SIZE]; /**< name of the first of them */
    uint64_t messages, tool_calls, tool_errors;
    uint64_t lines, unknown_lines, long_lines;
    struct buf answer; /**< the last words of the agent, at most LIMIT_SUMMARY_BYTES */
};
