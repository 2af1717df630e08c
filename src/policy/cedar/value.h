// SPDX-License-Identifier: Apache-2.0
/*
 * Values of the Cedar language. A value is 16 bytes; what does not fit lies in an arena of whoever
 * made it (policy set, entities, context, or one decision's scratch memory) and never changes.
 *
 * Nothing is interned across objects, so that policy sets, entities and contexts share no table and
 * no lock: texts carry their hash, and two are equal when hash, length and bytes are.
 */
#pragma once

#include "base/arena.h"
#include "policy/cedar/extension.h"
#include "rondo/cedar.h"

/** A string, an attribute name, a type name or an id. */
struct cedar_text {
    uint64_t hash;
    uint32_t len;
    char bytes[]; /**< followed by a NUL; may hold others */
};

struct cedar_uid {
    uint64_t hash;
    const struct cedar_text *type; /**< "A::B", no spaces */
    const struct cedar_text *id;
};

/** Unordered, without duplicates; stored by ascending hash. */
struct cedar_set {
    size_t count;
    const uint64_t *hashes;
    const struct cedar_value *values;
};

struct cedar_field {
    uint64_t hash; /**< of the name */
    const struct cedar_text *name;
    struct cedar_value value;
};

/** Stored by ascending hash of the names. */
struct cedar_record {
    size_t count;
    struct cedar_field *fields;
};

/** Hash of bytes; the same in every process, never 0. */
uint64_t cedar_hash(const void *bytes, size_t len);

const struct cedar_text *cedar_text_new(struct arena *arena, const char *bytes, size_t len);

/** memcmp without a call: names are short, and comparing them is most of a decision. */
static inline bool cedar_bytes_equal(const char *a, const char *b, size_t len)
{
    uint64_t left = 0;
    uint64_t right = 0;
    for (; len >= sizeof(left); len -= sizeof(left)) {
        __builtin_memcpy(&left, a, sizeof(left));
        __builtin_memcpy(&right, b, sizeof(right));
        if (left != right) {
            return false;
        }
        a += sizeof(left);
        b += sizeof(right);
    }
    for (size_t i = 0; i < len; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

static inline bool cedar_text_equals(const struct cedar_text *a, const struct cedar_text *b)
{
    return a == b || (a->hash == b->hash && a->len == b->len &&
                      cedar_bytes_equal(a->bytes, b->bytes, a->len));
}

/** Fill a uid whose texts live as long as it does. */
struct cedar_uid cedar_uid_of(const struct cedar_text *type, const struct cedar_text *id);
/** The same in an arena. */
const struct cedar_uid *cedar_uid_make(struct arena *arena, const struct cedar_text *type,
                                       const struct cedar_text *id);

static inline bool cedar_uid_equals(const struct cedar_uid *a, const struct cedar_uid *b)
{
    return a == b || (a->hash == b->hash && cedar_text_equals(a->type, b->type) &&
                      cedar_text_equals(a->id, b->id));
}

/** Whether a type name is a path of identifiers, none of them reserved. */
bool cedar_type_is_valid(const char *text, size_t len);
/** Whether a type name is `Action` or ends in `::Action`. */
bool cedar_type_is_action(const struct cedar_text *type);

static inline struct cedar_value cedar_object(enum cedar_kind kind, const void *object)
{
    struct cedar_value value = {.kind = kind};
    value.as.object = object;
    return value;
}

static inline const struct cedar_text *cedar_as_text(struct cedar_value value)
{
    return value.as.object;
}
static inline const struct cedar_uid *cedar_as_uid(struct cedar_value value)
{
    return value.as.object;
}
static inline const struct cedar_set *cedar_as_set(struct cedar_value value)
{
    return value.as.object;
}
static inline const struct cedar_record *cedar_as_record(struct cedar_value value)
{
    return value.as.object;
}
static inline const struct cedar_ip *cedar_as_ip(struct cedar_value value)
{
    return value.as.object;
}

/** Structural equality; false across kinds. Recursion is bounded by CEDAR_LIMIT_DEPTH. */
bool cedar_value_equals(struct cedar_value a, struct cedar_value b);
/** Equal values have equal hashes. */
uint64_t cedar_value_hash(struct cedar_value value);

/** A set of the values, which are sorted in place and lose their duplicates. */
const struct cedar_set *cedar_set_make(struct arena *arena, struct cedar_value *values,
                                       size_t count);
bool cedar_set_contains(const struct cedar_set *set, struct cedar_value value);

/**
 * A record of the fields, which are sorted in place and kept. Sets each field's hash.
 * @return NULL when a name occurs twice
 */
const struct cedar_record *cedar_record_make(struct arena *arena, struct cedar_field *fields,
                                             size_t count);
/** @return NULL when there is no such field */
const struct cedar_value *cedar_record_get(const struct cedar_record *record,
                                           const struct cedar_text *name);

/** Name of a kind for messages: "long", "entity", ... Static. */
const char *cedar_kind_name(enum cedar_kind kind);

struct buf;
/** Append a value as Cedar text: `User::"a"`, `[1, 2]`, `decimal("1.5")`. */
void cedar_value_write(struct cedar_value value, struct buf *ret_buf);
/** Append a text in quotes, escaped so that the parser reads it back. */
void cedar_text_write(const char *bytes, size_t len, struct buf *ret_buf);
/** Append `Type::"id"`. */
void cedar_uid_write(const struct cedar_uid *uid, struct buf *ret_buf);
