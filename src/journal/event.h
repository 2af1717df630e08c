// SPDX-License-Identifier: Apache-2.0
/*
 * The events of a run's journal. events.def lists the types with their fields; what is here and in
 * event.c follows from it: a struct for each type, and the JSON form.
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
struct store_event;

/** Version of the event format; a run with a newer one is refused. */
#define JOURNAL_FORMAT 1

/** JOURNAL_RUN_CREATED, ... */
enum journal_type {
#define EVENT(ID, id, name, CATEGORY, LEVEL, FOLD, help) JOURNAL_##ID,
#include "journal/events.def"
    JOURNAL_TYPE_COUNT
};

/* struct event_run_created { int64_t format; const char *version; ... }; and so on. Texts are
 * borrowed: when decoded, from the json_object that the caller holds. */
#define EVENT_INT(member)    int64_t member;
#define EVENT_COST(member)   int64_t member; /* COST_UNKNOWN (base/text/plain.h) = not known */
#define EVENT_COUNT(member)  int64_t member;
#define EVENT_AMOUNT(member) int64_t member;
#define EVENT_TIME(member)   int64_t member;
#define EVENT_TEXT(member)   const char *member;
#define EVENT_JSON(member)   const char *member;
#define EVENT_OUTPUT(member) \
    const char *member;      \
    size_t member##_len; /* 0 = `member` is NUL-terminated */
#define EVENT(ID, id, name, CATEGORY, LEVEL, FOLD, help) struct event_##id {
#define FIELD_AS(KIND, member, wire, help)               EVENT_##KIND(member)
#define END() \
    }         \
    ;
#include "journal/events.def"

/** One event in memory. Only the member that belongs to the type may be read. */
struct journal_event {
    enum journal_type type;
    uint64_t seq; /**< set when reading, and by the driver when recording */
    int64_t time_ns;
    union {
#define EVENT(ID, id, name, CATEGORY, LEVEL, FOLD, help) struct event_##id id;
#include "journal/events.def"
    };
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

/** journal_decode() for an event as stored: with its number and time. */
int journal_decode_stored(const struct store_event *stored, struct journal_event *ret_event,
                          struct json_object **ret_root, struct rondo_error *err);

/** One event as read, with its place. */
struct journal_entry {
    const char *run_id;
    uint64_t position;
    const char *data; /**< the stored JSON */
    const char *type_name;
    bool is_known; /**< `event` is decoded; false for types of a newer version */
    struct journal_event event;
};

/**
 * Decode an event as stored, with its place.
 * @param ret_entry set in any case; borrows from `stored` and `*ret_root`
 * @param ret_root  NULL before; json_object_put()
 * @return 0, also for a type of a newer version, or RONDO_ERR_CORRUPT
 */
int journal_entry_decode(const struct store_event *stored, struct journal_entry *ret_entry,
                         struct json_object **ret_root, struct rondo_error *err);

/** The iteration that an event belongs to; 0 when its type has none. */
int64_t journal_event_iteration(const struct journal_event *event);

/** The options of a run that an event holds; NULL when it holds none. */
const char *journal_event_spec(const struct journal_event *event);

/** The output of a command or tool, or the text of a reply; NULL when there is none. */
const char *journal_event_output(const struct journal_event *event, size_t *ret_len);

/** Length of a field of the kind OUTPUT. @param len its `_len` */
size_t journal_output_len(const char *output, size_t len);

/** What a type means, for the reference page. Static. */
const char *journal_type_help(enum journal_type type);
/** Append a type's fields as a table, in Markdown. */
void journal_write_fields(enum journal_type type, struct buf *ret_buf);
