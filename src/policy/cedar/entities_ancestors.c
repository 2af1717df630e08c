// SPDX-License-Identifier: Apache-2.0
/*
 * The transitive closure of the parents, bottom-up from the roots: an entity is looked at when all
 * its parents are done. The walk keeps its own stack, so that a chain of parents may be as long as
 * it likes. Ancestors of entities of the base are taken as the base knows them.
 */
#include "base/error.h"
#include "base/memory.h"
#include "policy/cedar/entities_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- Lists ---------------------------------------------------------------------------------- */

static int fail_limit(const struct entities_load *load)
{
    return error_set(load->json.err, RONDO_ERR_LIMIT,
                     "the entities have more than %zu ancestors together", CEDAR_LIMIT_ANCESTORS);
}

static int count_stored(struct entities_load *load, size_t count)
{
    load->stored += count;
    return load->stored > CEDAR_LIMIT_ANCESTORS ? fail_limit(load) : 0;
}

static void append(struct point_list *list, uint32_t point)
{
    if (list->count == list->size) {
        list->size = list->size == 0 ? 4 : list->size * 2;
        list->points = memory_resize(list->points, list->size, sizeof(*list->points));
    }
    list->points[list->count++] = point;
}

/** A new list, with room for `size` points. */
static int new_list(struct entities_load *load, size_t size, uint32_t *ret_list)
{
    int r = count_stored(load, size);
    if (r != 0) {
        return r;
    }
    if (load->list_count == load->list_size) {
        load->list_size = load->list_size == 0 ? 64 : load->list_size * 2;
        load->lists = memory_resize(load->lists, load->list_size, sizeof(*load->lists));
    }
    load->lists[load->list_count] = (struct point_list){
        .points = memory_new((size + 1) * sizeof(uint32_t)), .size = (uint32_t)size + 1};
    *ret_list = load->list_count++;
    return 0;
}

/** A list that begins with the points of another one. */
static int fork_list(struct entities_load *load, struct ancestor_list from, uint32_t *ret_list)
{
    int r = new_list(load, (size_t)from.count, ret_list);
    if (r == 0 && from.count > 0) {
        struct point_list *list = &load->lists[*ret_list];
        memcpy(list->points, load->lists[from.list].points, from.count * sizeof(*list->points));
        list->count = from.count;
    }
    return r;
}

/* ---- What is above a point ------------------------------------------------------------------ */

/** Ancestors of what is not among the entities that are read: the base may know them. */
static int look_into_base(struct entities_load *load, uint32_t point)
{
    const struct cedar_uid *uid = load->points[point].uid;
    const struct cedar_entity *entity = cedar_entities_find(load->entities->base, uid);
    struct ancestor_list above = {0};
    load->points[point].is_known = true;
    if (entity == NULL || entity->ancestor_count == 0) {
        return 0;
    }
    int r = new_list(load, entity->ancestor_count, &above.list);
    if (r != 0) {
        return r;
    }
    for (size_t i = 0; i < entity->ancestor_count; i++) {
        uint32_t ancestor = entities_load_point(load, entity->ancestors[i], true);
        load->points[ancestor].is_in_base = true;
        append(&load->lists[above.list], ancestor);
    }
    above.count = load->lists[above.list].count;
    load->points[point].above = above;
    return 0;
}

/** A point and its ancestors: what an entity inherits that has no other parent. */
static int look_upwards(struct entities_load *load, uint32_t point, struct ancestor_list *ret_list)
{
    int r = load->points[point].is_known ? 0 : look_into_base(load, point);
    struct entity_point *at = &load->points[point];
    if (r != 0 || at->upwards.count > 0) {
        *ret_list = at->upwards;
        return r;
    }
    struct ancestor_list list = at->above;
    /* Another entity may have continued after these ancestors: then a copy is needed. */
    if (list.count == 0 || load->lists[list.list].count != list.count) {
        r = fork_list(load, list, &list.list);
    }
    r = r != 0 ? r : count_stored(load, 1);
    if (r == 0) {
        append(&load->lists[list.list], point);
        list.count++;
        at->upwards = list;
        *ret_list = list;
    }
    return r;
}

/* ---- What is above an entity ---------------------------------------------------------------- */

/** A parent, and how much it brings. */
struct parent {
    uint32_t point;
    uint32_t count;
};

static int compare_parents(const void *left, const void *right)
{
    const struct parent *a = left;
    const struct parent *b = right;
    if (a->count != b->count) {
        return a->count > b->count ? -1 : 1;
    }
    return (a->point > b->point) - (a->point < b->point);
}

/** The parents, those that bring most first. */
static int sort_parents(struct entities_load *load, const struct entity_source *source,
                        struct parent *ret_parents)
{
    for (uint32_t i = 0; i < source->parent_count; i++) {
        uint32_t point = source->parents[i];
        int r = load->points[point].is_known ? 0 : look_into_base(load, point);
        if (r != 0) {
            return r;
        }
        ret_parents[i] = (struct parent){.point = point, .count = load->points[point].above.count};
    }
    qsort(ret_parents, source->parent_count, sizeof(*ret_parents), compare_parents);
    return 0;
}

static void gather_point(struct entities_load *load, uint32_t point, struct point_list *gathered)
{
    if (load->points[point].mark != load->mark) {
        load->points[point].mark = load->mark;
        append(gathered, point);
    }
}

/** All points above the parents, each once. */
static void gather(struct entities_load *load, const struct parent *parents, uint32_t count,
                   struct point_list *gathered)
{
    load->mark++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t point = parents[i].point;
        bool is_met = load->points[point].mark == load->mark;
        /* What is above an ancestor was met with it; but not so where the base says what is above
         * an entity that is defined anew here. */
        if (is_met && load->entities->base == NULL) {
            continue;
        }
        struct ancestor_list above = load->points[point].above;
        for (uint32_t k = 0; k < above.count; k++) {
            gather_point(load, load->lists[above.list].points[k], gathered);
        }
        gather_point(load, point, gathered);
    }
}

/** Whether the first parent brings the others: then its list will do. */
static int keep_gathered(struct entities_load *load, const struct parent *parents,
                         const struct point_list *gathered, struct ancestor_list *ret_list)
{
    if (gathered->count == parents[0].count + 1) {
        return look_upwards(load, parents[0].point, ret_list);
    }
    uint32_t list = 0;
    int r = new_list(load, gathered->count, &list);
    if (r == 0) {
        memcpy(load->lists[list].points, gathered->points,
               gathered->count * sizeof(*gathered->points));
        load->lists[list].count = gathered->count;
        *ret_list = (struct ancestor_list){.list = list, .count = gathered->count};
    }
    return r;
}

/**
 * Whether the first parent is seen to bring the others without looking at every point: they are on
 * the list of its ancestors. So a chain in which entities name distant ancestors as well stays
 * cheap.
 */
static bool are_on_list(const struct entities_load *load, const struct parent *parents,
                        uint32_t count)
{
    struct ancestor_list above = load->points[parents[0].point].above;
    for (uint32_t i = 1; i < count; i++) {
        struct ancestor_list upwards = load->points[parents[i].point].upwards;
        if (upwards.count == 0 || upwards.count > above.count || upwards.list != above.list) {
            return false;
        }
    }
    return true;
}

static int look_above_parents(struct entities_load *load, const struct entity_source *source,
                              struct ancestor_list *ret_list)
{
    struct parent *parents = memory_new(source->parent_count * sizeof(*parents));
    struct point_list gathered = {0};
    int r = sort_parents(load, source, parents);
    if (r == 0 && are_on_list(load, parents, source->parent_count)) {
        r = look_upwards(load, parents[0].point, ret_list);
    } else if (r == 0) {
        gather(load, parents, source->parent_count, &gathered);
        r = keep_gathered(load, parents, &gathered, ret_list);
    }
    free(gathered.points);
    free(parents);
    return r;
}

static int fail_cycle(struct entities_load *load, const struct entity_source *source)
{
    struct buf name = {0};
    struct json_node place = {.at = source->at};
    cedar_uid_write(load->points[source->point].uid, &name);
    int len = name.len < 200 ? (int)name.len : 200;
    int r = json_reader_fail_at(&load->json, &place, "%.*s is an ancestor of itself", len,
                                buf_string(&name));
    buf_fini(&name);
    return r;
}

/** A way through the base may lead back to an entity; the walk does not see those. */
static bool is_above_itself(const struct entities_load *load, const struct entity_source *source)
{
    const struct entity_point *point = &load->points[source->point];
    for (uint32_t i = 0; point->is_in_base && i < point->above.count; i++) {
        if (load->lists[point->above.list].points[i] == source->point) {
            return true;
        }
    }
    return false;
}

/** All parents are done: now the entity. */
static int finish_entity(struct entities_load *load, const struct entity_source *source)
{
    struct ancestor_list above = {0};
    int r = 0;
    if (source->parent_count == 1) {
        r = look_upwards(load, source->parents[0], &above);
    } else if (source->parent_count > 1) {
        r = look_above_parents(load, source, &above);
    }
    if (r != 0) {
        return r;
    }
    load->points[source->point].above = above;
    load->points[source->point].is_known = true;
    return is_above_itself(load, source) ? fail_cycle(load, source) : 0;
}

/* ---- The walk ------------------------------------------------------------------------------- */

enum progress {
    PROGRESS_NONE = 0,
    PROGRESS_BEGUN,
    PROGRESS_DONE,
};

/** An entity whose parents are being looked at. */
struct ancestor_step {
    uint32_t entity;
    uint32_t next; /**< index into its parents */
};

struct ancestor_walk {
    struct ancestor_step *steps; /**< a path of entities, each a parent of the one before it */
    size_t count;
    unsigned char *progress; /**< by entity */
};

static void begin_entity(struct ancestor_walk *walk, uint32_t entity)
{
    walk->progress[entity] = PROGRESS_BEGUN;
    walk->steps[walk->count++] = (struct ancestor_step){.entity = entity};
}

/** Go up to the next parent of the last entity of the path, or finish it. */
static int walk_on(struct entities_load *load, struct ancestor_walk *walk)
{
    struct ancestor_step *step = &walk->steps[walk->count - 1];
    const struct entity_source *source = &load->sources[step->entity];
    if (step->next == source->parent_count) {
        walk->progress[step->entity] = PROGRESS_DONE;
        walk->count--;
        return finish_entity(load, source);
    }
    uint32_t entity = load->points[source->parents[step->next++]].entity;
    if (entity == 0 || walk->progress[entity - 1] == PROGRESS_DONE) {
        return 0;
    }
    if (walk->progress[entity - 1] == PROGRESS_BEGUN) {
        return fail_cycle(load, &load->sources[entity - 1]);
    }
    begin_entity(walk, entity - 1);
    return 0;
}

int entities_load_ancestors(struct entities_load *load)
{
    size_t count = load->entities->count;
    struct ancestor_walk walk = {.steps = memory_new((count + 1) * sizeof(*walk.steps)),
                                 .progress = memory_new_zero(count + 1, 1)};
    int r = 0;
    for (uint32_t i = 0; i < count && r == 0; i++) {
        if (walk.progress[i] != PROGRESS_NONE) {
            continue;
        }
        begin_entity(&walk, i);
        while (r == 0 && walk.count > 0) {
            r = walk_on(load, &walk);
        }
    }
    free(walk.steps);
    free(walk.progress);
    return r;
}
