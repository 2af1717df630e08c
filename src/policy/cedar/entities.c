// SPDX-License-Identifier: Apache-2.0
/* The table of entities: making it from what was read, and looking into it. */
#include "policy/cedar/entities.h"

#include "base/memory.h"
#include "policy/cedar/entities_internal.h"

#include <stdlib.h>
#include <string.h>

/** So few ancestors are looked through one by one. */
#define SCAN_ANCESTORS 8

static const struct cedar_entity *find_here(const struct cedar_entities *entities,
                                            const struct cedar_uid *uid)
{
    size_t slot = uid->hash & entities->slot_mask;
    for (; entities->slots[slot] != 0; slot = (slot + 1) & entities->slot_mask) {
        const struct cedar_entity *entity = &entities->entities[entities->slots[slot] - 1];
        if (cedar_uid_equals(entity->uid, uid)) {
            return entity;
        }
    }
    return NULL;
}

const struct cedar_entity *cedar_entities_find(const struct cedar_entities *entities,
                                               const struct cedar_uid *uid)
{
    const struct cedar_entity *found = NULL;
    for (; entities != NULL && found == NULL; entities = entities->base) {
        found = find_here(entities, uid);
    }
    return found;
}

bool cedar_entity_has_ancestor(const struct cedar_entity *entity, const struct cedar_uid *uid)
{
    if (entity->ancestor_count <= SCAN_ANCESTORS) {
        for (size_t i = 0; i < entity->ancestor_count; i++) {
            if (cedar_uid_equals(entity->ancestors[i], uid)) {
                return true;
            }
        }
        return false;
    }
    const uint32_t *slots = entity->ancestor_slots;
    size_t slot = uid->hash & entity->ancestor_mask;
    for (; slots[slot] != 0; slot = (slot + 1) & entity->ancestor_mask) {
        /* The list may continue after what belongs to this entity. */
        if (cedar_uid_equals(entity->ancestors[slots[slot] - 1], uid)) {
            return slots[slot] <= entity->ancestor_count;
        }
    }
    return false;
}

uint32_t *entities_load_slots(size_t count, size_t *ret_mask)
{
    size_t size = 4;
    while (size < count * 2) {
        size *= 2;
    }
    *ret_mask = size - 1;
    return memory_new_zero(size, sizeof(uint32_t));
}

/* ---- Finishing ------------------------------------------------------------------------------ */

static void fill_slot(uint32_t *slots, size_t mask, uint64_t hash, size_t index)
{
    size_t slot = hash & mask;
    while (slots[slot] != 0) {
        slot = (slot + 1) & mask;
    }
    slots[slot] = (uint32_t)index + 1;
}

/** A list as the entities keep it. */
struct kept_list {
    const struct cedar_uid **uids;
    const uint32_t *slots;
    size_t mask;
};

static struct kept_list keep_list(const struct entities_load *load, const struct point_list *list)
{
    struct arena *arena = &load->entities->arena;
    struct kept_list kept = {.uids = arena_new_array(arena, list->count, sizeof(*kept.uids))};
    for (uint32_t i = 0; i < list->count; i++) {
        kept.uids[i] = load->points[list->points[i]].uid;
    }
    if (list->count > SCAN_ANCESTORS) {
        size_t size = 4;
        while (size < (size_t)list->count + list->count / 2) {
            size *= 2;
        }
        uint32_t *slots = arena_new_array(arena, size, sizeof(*slots));
        memset(slots, 0, size * sizeof(*slots));
        for (uint32_t i = 0; i < list->count; i++) {
            fill_slot(slots, size - 1, kept.uids[i]->hash, i);
        }
        kept.slots = slots;
        kept.mask = size - 1;
    }
    return kept;
}

static void keep_ancestors(const struct entities_load *load)
{
    struct kept_list *lists = memory_new((load->list_count + (size_t)1) * sizeof(*lists));
    for (uint32_t i = 0; i < load->list_count; i++) {
        lists[i] = keep_list(load, &load->lists[i]);
    }
    for (size_t i = 0; i < load->entities->count; i++) {
        struct cedar_entity *entity = &load->entities->entities[i];
        struct ancestor_list above = load->points[load->sources[i].point].above;
        if (above.count > 0) {
            entity->ancestors = lists[above.list].uids;
            entity->ancestor_count = above.count;
            entity->ancestor_slots = lists[above.list].slots;
            entity->ancestor_mask = lists[above.list].mask;
        }
    }
    free(lists);
}

static void index_entities(struct cedar_entities *entities)
{
    entities->slots = entities_load_slots(entities->count, &entities->slot_mask);
    for (size_t i = 0; i < entities->count; i++) {
        fill_slot(entities->slots, entities->slot_mask, entities->entities[i].uid->hash, i);
    }
}

static void load_fini(struct entities_load *load)
{
    json_reader_fini(&load->json);
    arena_fini(&load->work);
    for (uint32_t i = 0; i < load->list_count; i++) {
        free(load->lists[i].points);
    }
    free(load->lists);
    free(load->points);
    free(load->slots);
    free(load->sources);
}

struct cedar_entities *cedar_entities_parse(const char *json, size_t len,
                                            const struct cedar_entities *base,
                                            struct rondo_error *err)
{
    struct cedar_entities *entities = memory_new_zero(1, sizeof(*entities));
    entities->base = base;
    struct entities_load load = {
        .json =
            {.text = json, .len = len, CEDAR_JSON_LIMITS, .arena = &entities->arena, .err = err},
        .entities = entities,
    };
    int r = json_reader_begin(&load.json);
    r = r != 0 ? r : entities_load_text(&load);
    r = r != 0 ? r : entities_load_ancestors(&load);
    if (r == 0) {
        keep_ancestors(&load);
        index_entities(entities);
    }
    load_fini(&load);
    if (r != 0) {
        cedar_entities_free(entities);
        return NULL;
    }
    return entities;
}

void cedar_entities_free(struct cedar_entities *entities)
{
    if (entities == NULL) {
        return;
    }
    arena_fini(&entities->arena);
    free(entities->entities);
    free(entities->slots);
    free(entities);
}

size_t cedar_entities_count(const struct cedar_entities *entities)
{
    return entities->count;
}
