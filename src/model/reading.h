// SPDX-License-Identifier: Apache-2.0
/*
 * A reply while it comes in, whole or in pieces: what the dialects fill in and what becomes a
 * struct model_reply. Whatever a server sends ends in a reply or in one failure; the first failure
 * counts. One thread.
 */
#pragma once

#include "base/buf.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

/** Bytes of the name of the model that answered; a longer one is left out. */
#define MODEL_NAME_BYTES ((size_t)200)

/** A call of which parts may be missing yet. */
struct reading_call {
    struct buf id;
    struct buf name;
    struct buf arguments;
    int64_t index;             /**< by which the server calls it */
    struct json_object *extra; /**< what must be sent back with it; owned, or NULL */
};

/** A part of an Anthropic reply, in the order in which they came. */
enum reading_part_kind {
    PART_TEXT,     /**< `len` bytes of the text */
    PART_CALL,     /**< call number `len` */
    PART_VERBATIM, /**< JSON in `first`, kept as it is */
    PART_THINKING, /**< thinking in `first`, its signature in `second` */
};

struct reading_part {
    enum reading_part_kind kind;
    size_t len;
    int64_t index; /**< by which the server calls it */
    struct buf first;
    struct buf second;
};

struct model_reading {
    const struct model *model;
    const struct model_request *request;
    struct buf text;
    struct buf thinking;
    struct buf model_name; /**< that the server names, MODEL_NAME_BYTES at most */
    struct reading_call *calls;
    size_t call_count;
    struct reading_part *parts;
    size_t part_count;
    struct json_object *details; /**< further things to send back; owned, or NULL */
    enum model_stop stop;
    bool has_stop;    /**< the server said why it stopped */
    bool is_complete; /**< the server said that this is all */
    bool keeps_reasoning;
    struct model_usage usage;
    enum model_failure failure;
    struct buf problem; /**< of a failure, for people; not redacted yet */
    long status;        /**< of a failure: the HTTP status that means the same; 0 = none */
    bool is_final;      /**< of a failure: another attempt will not help */
    int64_t first_ns;   /**< when the first piece of words came, monotonic; 0 = not yet */
};

void reading_init(struct model_reading *reading, const struct model *model,
                  const struct model_request *request);
void reading_fini(struct model_reading *reading);

/** Take in words for the user, or reasoning; anything but a string is nothing. The watcher hears
 * of it. */
void reading_add_text_of(struct model_reading *reading, struct json_object *value);
void reading_add_thinking_of(struct model_reading *reading, struct json_object *value);

/** Take in the name of the model that answers, the first time. Anything but a text is nothing. */
void reading_name_model(struct model_reading *reading, struct json_object *value);

/** Begin a call. @return it, or NULL after a failure, when there are too many */
struct reading_call *reading_begin_call(struct model_reading *reading, int64_t index);
/** Begin a part. @return it, or NULL after a failure, when there are too many */
struct reading_part *reading_begin_part(struct model_reading *reading, enum reading_part_kind kind,
                                        int64_t index);

/** Note why the model stopped. */
void reading_stop(struct model_reading *reading, enum model_stop stop);

/** Note a failure, unless there is one. `status` may be 0. */
void reading_fail(struct model_reading *reading, enum model_failure failure, long status,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/** Move everything into a reply. */
void reading_finish(struct model_reading *reading, struct model_reply *ret_reply);
