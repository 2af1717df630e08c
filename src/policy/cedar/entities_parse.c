// SPDX-License-Identifier: Apache-2.0
/* From the text to entities with attributes, tags and direct parents. */
#include "base/memory.h"
#include "policy/cedar/entities_internal.h"

#include <stdlib.h>
#include <string.h>

/** Bytes of a uid that a message shows. */
#define SHOWN_BYTES 200

/* ---- Points --------------------------------------------------------------------------------- */

static void grow_points(struct entities_load *load)
{
    load->point_size = load->point_size == 0 ? 64 : load->point_size * 2;
    load->points = memory_resize(load->points, load->point_size, sizeof(*load->points));
    free(load->slots);
    load->slots = entities_load_slots(load->point_size, &load->slot_mask);
    for (uint32_t i = 0; i < load->point_count; i++) {
        size_t slot = load->points[i].uid->hash & load->slot_mask;
        while (load->slots[slot] != 0) {
            slot = (slot + 1) & load->slot_mask;
        }
        load->slots[slot] = i + 1;
    }
}

static const struct cedar_uid *copy_uid(struct arena *arena, const struct cedar_uid *uid)
{
    return cedar_uid_make(arena, cedar_text_new(arena, uid->type->bytes, uid->type->len),
                          cedar_text_new(arena, uid->id->bytes, uid->id->len));
}

uint32_t entities_load_point(struct entities_load *load, const struct cedar_uid *uid,
                             bool is_lasting)
{
    if (load->point_count == load->point_size) {
        grow_points(load);
    }
    size_t slot = uid->hash & load->slot_mask;
    for (; load->slots[slot] != 0; slot = (slot + 1) & load->slot_mask) {
        uint32_t point = load->slots[slot] - 1;
        if (cedar_uid_equals(load->points[point].uid, uid)) {
            return point;
        }
    }
    load->points[load->point_count] =
        (struct entity_point){.uid = is_lasting ? uid : copy_uid(&load->entities->arena, uid)};
    load->slots[slot] = ++load->point_count;
    return load->point_count - 1;
}

/* ---- One entity ----------------------------------------------------------------------------- */

/** The fields of an entity, in the order of the form as an array. */
struct entity_fields {
    const struct json_node *uid, *attrs, *parents, *tags;
};

static int fail_missing(struct json_reader *json, const struct json_node *node, const char *name)
{
    return json_reader_fail_at(json, node, "an entity without `%s`; expected %s", name,
                               "{\"uid\":{..},\"attrs\":{..},\"parents\":[..]}");
}

/** The real engine takes `[uid, attrs, parents]` and `[uid, attrs, parents, tags]` as well. */
static int find_elements(struct json_reader *json, const struct json_node *node,
                         struct entity_fields *ret_fields)
{
    if (node->count < 3 || node->count > 4) {
        return json_reader_fail_at(json, node, "expected an entity as an object");
    }
    const struct json_node *elements = node->as.children;
    *ret_fields = (struct entity_fields){.uid = &elements[0],
                                         .attrs = &elements[1],
                                         .parents = &elements[2],
                                         .tags = node->count == 4 ? &elements[3] : NULL};
    return 0;
}

static int find_fields(struct json_reader *json, const struct json_node *node,
                       struct entity_fields *ret_fields)
{
    if (node->kind == JSON_NODE_ARRAY) {
        return find_elements(json, node, ret_fields);
    }
    if (node->kind != JSON_NODE_OBJECT) {
        return json_reader_fail_at(json, node, "expected an entity as an object");
    }
    *ret_fields = (struct entity_fields){.uid = json_node_member(node, "uid"),
                                         .attrs = json_node_member(node, "attrs"),
                                         .parents = json_node_member(node, "parents"),
                                         .tags = json_node_member(node, "tags")};
    if (ret_fields->uid == NULL) {
        return fail_missing(json, node, "uid");
    }
    if (ret_fields->attrs == NULL) {
        return fail_missing(json, node, "attrs");
    }
    return ret_fields->parents == NULL ? fail_missing(json, node, "parents") : 0;
}

static int compare_points(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/** Sort and drop duplicates. @return how many are left */
static uint32_t make_distinct(uint32_t *points, uint32_t count)
{
    uint32_t kept = 0;
    if (count > 1) {
        qsort(points, count, sizeof(*points), compare_points);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || points[kept - 1] != points[i]) {
            points[kept++] = points[i];
        }
    }
    return kept;
}

static int read_uid(struct entities_load *load, const struct json_node *node, uint32_t *ret_point)
{
    const struct cedar_uid *uid = NULL;
    int r = cedar_json_to_uid(&load->json, node, &load->json.scratch, &uid);
    if (r == 0) {
        *ret_point = entities_load_point(load, uid, false);
    }
    return r;
}

static int read_parents(struct entities_load *load, const struct json_node *node,
                        struct entity_source *source)
{
    if (node->kind != JSON_NODE_ARRAY) {
        return json_reader_fail_at(&load->json, node, "expected an array of parents");
    }
    bool is_action = cedar_type_is_action(load->points[source->point].uid->type);
    uint32_t *parents = arena_new_array(&load->work, node->count, sizeof(*parents));
    for (uint32_t i = 0; i < node->count; i++) {
        const struct json_node *parent = &node->as.children[i];
        int r = read_uid(load, parent, &parents[i]);
        if (r != 0) {
            return r;
        }
        if (is_action && !cedar_type_is_action(load->points[parents[i]].uid->type)) {
            return json_reader_fail_at(&load->json, parent,
                                       "the parent of an action must be an "
                                       "action");
        }
    }
    source->parents = parents;
    source->parent_count = make_distinct(parents, node->count);
    return 0;
}

static int read_record(struct json_reader *json, const struct json_node *node,
                       const struct cedar_record **ret_record)
{
    static const struct json_node empty = {.kind = JSON_NODE_OBJECT};
    return cedar_json_to_record(json, node == NULL ? &empty : node, ret_record);
}

static bool are_records_equal(const struct cedar_record *a, const struct cedar_record *b)
{
    return cedar_value_equals(cedar_object(CEDAR_RECORD, a), cedar_object(CEDAR_RECORD, b));
}

static bool are_identical(const struct entities_load *load, size_t index,
                          const struct cedar_entity *entity, const struct entity_source *source)
{
    const struct cedar_entity *other = &load->entities->entities[index];
    const struct entity_source *other_source = &load->sources[index];
    return other_source->parent_count == source->parent_count &&
           memcmp(other_source->parents, source->parents,
                  source->parent_count * sizeof(*source->parents)) == 0 &&
           are_records_equal(other->attributes, entity->attributes) &&
           are_records_equal(other->tags, entity->tags);
}

static int fail_uid(struct entities_load *load, const struct json_node *node,
                    const struct cedar_uid *uid, const char *what)
{
    struct buf name = {0};
    cedar_uid_write(uid, &name);
    int len = name.len < SHOWN_BYTES ? (int)name.len : SHOWN_BYTES;
    int r = json_reader_fail_at(&load->json, node, "%.*s %s", len, buf_string(&name), what);
    buf_fini(&name);
    return r;
}

static void append(struct entities_load *load, const struct cedar_entity *entity,
                   const struct entity_source *source)
{
    struct cedar_entities *entities = load->entities;
    if (entities->count == load->size) {
        load->size = load->size == 0 ? 16 : load->size * 2;
        entities->entities =
            memory_resize(entities->entities, load->size, sizeof(*entities->entities));
        load->sources = memory_resize(load->sources, load->size, sizeof(*load->sources));
    }
    entities->entities[entities->count] = *entity;
    load->sources[entities->count] = *source;
    load->points[source->point].entity = (uint32_t)++entities->count;
}

static int load_entity(struct entities_load *load, const struct json_node *node)
{
    struct json_reader *json = &load->json;
    struct entity_fields fields = {0};
    struct entity_source source = {.at = node->at};
    struct cedar_entity entity = {0};
    int r = find_fields(json, node, &fields);
    r = r != 0 ? r : read_uid(load, fields.uid, &source.point);
    r = r != 0 ? r : read_record(json, fields.attrs, &entity.attributes);
    r = r != 0 ? r : read_parents(load, fields.parents, &source);
    r = r != 0 ? r : read_record(json, fields.tags, &entity.tags);
    if (r != 0) {
        return r;
    }
    const struct entity_point *point = &load->points[source.point];
    entity.uid = point->uid;
    if (point->entity == 0) {
        append(load, &entity, &source);
        return 0;
    }
    return are_identical(load, point->entity - 1, &entity, &source)
               ? 0
               : fail_uid(load, node, entity.uid, "is defined again, differently");
}

int entities_load_text(struct entities_load *load)
{
    struct json_reader *json = &load->json;
    int r = json_reader_expect(json, '[');
    if (r != 0 || json_reader_accept(json, ']')) {
        return r != 0 ? r : json_reader_end(json);
    }
    json->depth++;
    do {
        const struct json_node *node = NULL;
        r = json_reader_read(json, &node);
        r = r != 0 ? r : load_entity(load, node);
    } while (r == 0 && json_reader_accept(json, ','));
    r = r != 0 ? r : json_reader_expect(json, ']');
    return r != 0 ? r : json_reader_end(json);
}
