// SPDX-License-Identifier: Apache-2.0
/*
 * What the reader of entities knows while it reads, and the steps of it. Every uid that occurs as
 * an entity or as an ancestor becomes a point, so that what follows works with small numbers.
 * One thread; nothing of this outlives cedar_entities_parse().
 */
#pragma once

#include "policy/cedar/entities.h"
#include "policy/cedar/json.h"

/** The first `count` points of a list. */
struct ancestor_list {
    uint32_t list; /**< index into `lists` */
    uint32_t count;
};

struct entity_point {
    const struct cedar_uid *uid;
    uint32_t entity;              /**< index + 1 into the entities that are read, 0 = not there */
    uint32_t mark;                /**< round in which it was last met */
    struct ancestor_list above;   /**< its ancestors, when they are known */
    struct ancestor_list upwards; /**< those and itself; `count` 0 until somebody needs it */
    bool is_known;
    bool is_in_base; /**< an ancestor of an entity of the base */
};

/** What belongs to an entity only until its ancestors are known. */
struct entity_source {
    uint32_t point;
    uint32_t at;             /**< place in the text */
    const uint32_t *parents; /**< points, ascending, no duplicates */
    uint32_t parent_count;
};

/** Points that one or more entities share as their ancestors. */
struct point_list {
    uint32_t *points;
    uint32_t count;
    uint32_t size;
};

struct entities_load {
    struct json_reader json;
    struct cedar_entities *entities; /**< what is filled */
    struct entity_source *sources;   /**< beside the entities */
    size_t size;                     /**< room of both */
    struct arena work;
    struct entity_point *points;
    uint32_t point_count;
    uint32_t point_size;
    uint32_t *slots; /**< hash table of the points, as in cedar_entities */
    size_t slot_mask;
    struct point_list *lists;
    uint32_t list_count;
    uint32_t list_size;
    uint32_t mark;
    size_t stored; /**< places in all lists */
};

/**
 * The point of a uid, a new one if need be.
 * @param is_lasting whether the uid lives as long as the entities; else it is copied
 */
uint32_t entities_load_point(struct entities_load *load, const struct cedar_uid *uid,
                             bool is_lasting);

/** Read the text of `json`: entities with their attributes, tags and parents. */
int entities_load_text(struct entities_load *load);

/**
 * Find the ancestors of all entities.
 * @return 0; RONDO_ERR_INVALID when an entity is its own ancestor; RONDO_ERR_LIMIT
 */
int entities_load_ancestors(struct entities_load *load);

/**
 * An empty hash table with room for `count`, at most half full; free() it.
 * @param ret_mask its size less one
 */
uint32_t *entities_load_slots(size_t count, size_t *ret_mask);
