// SPDX-License-Identifier: Apache-2.0
/*
 * Entities as an immutable table: attributes, tags, and all ancestors of each.
 *
 * Entities share lists of ancestors. One with a single parent has the list of that parent and the
 * parent after it, so a list grows at its end and each entity owns a beginning of it: a chain of
 * n entities takes n places, not n * n / 2, and so do all members of a group.
 */
#pragma once

#include "policy/cedar/value/value.h"

/** Ancestors that are stored, shared lists counted once. */
#define CEDAR_LIMIT_ANCESTORS ((size_t)16 << 20)

struct cedar_entity {
    const struct cedar_uid *uid;
    const struct cedar_record *attributes;
    const struct cedar_record *tags;
    const struct cedar_uid *const *ancestors; /**< transitive; in no order, no duplicates */
    size_t ancestor_count;
    const uint32_t *ancestor_slots; /**< hash table: index + 1 into the shared list, 0 = empty */
    size_t ancestor_mask;
};

struct cedar_entities {
    struct arena arena;
    const struct cedar_entities *base; /**< asked for what is not here, or NULL */
    struct cedar_entity *entities;
    size_t count;
    uint32_t *slots; /**< hash table: index + 1 into `entities`, 0 = empty */
    size_t slot_mask;
};

/** @param entities may be NULL @return NULL when the entity is not known */
const struct cedar_entity *cedar_entities_find(const struct cedar_entities *entities,
                                               const struct cedar_uid *uid);

/** Whether `uid` is an ancestor of `entity`. */
bool cedar_entity_has_ancestor(const struct cedar_entity *entity, const struct cedar_uid *uid);

/** A context: a record whose values may be set again, and their memory. */
struct cedar_context {
    struct arena arena;
    struct cedar_record record;
    uint32_t *field_of;            /**< place in the list of names -> field of the sorted record */
    struct context_memory *memory; /**< by place; memory of strings and JSON values set later */
};
