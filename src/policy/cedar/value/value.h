// SPDX-License-Identifier: Apache-2.0
/*
 * Values of the Cedar language. A value is 16 bytes; what does not fit lies in an arena of its
 * creator (policy set, entities, context, or one decision's scratch memory) and never changes.
 *
 * Nothing is interned across objects, so that policy sets, entities and contexts share no table and
 * no lock: texts carry their hash, and two are equal when hash, length and bytes are.
 */
#pragma once

#include "base/arena.h"
#include "policy/cedar/value/extension.h"
#include "rondo/cedar.h"

/** Texts are compared in words of so many bytes. */
#define CEDAR_TEXT_WORD sizeof(uint64_t)

/** A string, an attribute name, a type name or an id. */
struct cedar_text {
    uint64_t hash;
    uint32_t len;
    char bytes[]; /**< followed by NULs up to the end of a word, at least one; may hold others */
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
    uint32_t count;
    uint32_t slot_mask;
    struct cedar_field *fields;
    const uint8_t *slots; /**< hash table: index + 1 into `fields`, 0 = empty; NULL = none */
};

const struct cedar_text *cedar_text_new(struct arena *arena, const char *bytes, size_t len);

/** Bytes of memory that a text of this length takes. */
static inline size_t cedar_text_size(size_t len)
{
    return sizeof(struct cedar_text) + (len / CEDAR_TEXT_WORD + 1) * CEDAR_TEXT_WORD;
}

/** Fill a text in memory of its size. @param bytes may be a part of the text itself */
void cedar_text_fill(struct cedar_text *ret_text, const char *bytes, size_t len);

/**
 * Whether two texts with one hash are equal. Compares without a call and without a rest that is
 * shorter than a word: names are short, and comparing them is most of a decision.
 */
static inline bool cedar_text_is_same(const struct cedar_text *a, const struct cedar_text *b)
{
    if (a->len != b->len) {
        return false;
    }
    for (size_t at = 0; at < a->len; at += CEDAR_TEXT_WORD) {
        uint64_t left = 0;
        uint64_t right = 0;
        __builtin_memcpy(&left, a->bytes + at, sizeof(left));
        __builtin_memcpy(&right, b->bytes + at, sizeof(right));
        if (left != right) {
            return false;
        }
    }
    return true;
}

static inline bool cedar_text_equals(const struct cedar_text *a, const struct cedar_text *b)
{
    return a == b || (a->hash == b->hash && cedar_text_is_same(a, b));
}

/** Fill a uid whose texts live as long as it does. */
struct cedar_uid cedar_uid_of(const struct cedar_text *type, const struct cedar_text *id);
/** The same in an arena. */
const struct cedar_uid *cedar_uid_make(struct arena *arena, const struct cedar_text *type,
                                       const struct cedar_text *id);

static inline bool cedar_uid_equals(const struct cedar_uid *a, const struct cedar_uid *b)
{
    return a == b || (a->hash == b->hash && cedar_text_is_same(a->type, b->type) &&
                      cedar_text_is_same(a->id, b->id));
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
/** As cedar_record_get, for records with a hash table. @param hash of the name */
static inline const struct cedar_value *cedar_record_look_up(const struct cedar_record *record,
                                                             uint64_t hash,
                                                             const struct cedar_text *name)
{
    for (uint64_t slot = hash & record->slot_mask; record->slots[slot] != 0;
         slot = (slot + 1) & record->slot_mask) {
        const struct cedar_field *field = &record->fields[record->slots[slot] - 1];
        if (field->hash == hash && cedar_text_is_same(field->name, name)) {
            return &field->value;
        }
    }
    return NULL;
}

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
