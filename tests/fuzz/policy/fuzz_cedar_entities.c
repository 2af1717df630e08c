// SPDX-License-Identifier: Apache-2.0
/*
 * Entities from JSON: what is taken is JSON; each entity is found, is not above itself, and has
 * the ancestors of its ancestors; the same text over itself as a base gives the same entities.
 */
#include "../fuzz.h"

#include "policy/cedar/entities.h"

#include <string.h>

static void check_ancestors(const struct cedar_entities *entities,
                            const struct cedar_entity *entity)
{
    FUZZ_CHECK(!cedar_entity_has_ancestor(entity, entity->uid));
    for (size_t i = 0; i < entity->ancestor_count; i++) {
        FUZZ_CHECK(cedar_entity_has_ancestor(entity, entity->ancestors[i]));
        const struct cedar_entity *ancestor = cedar_entities_find(entities, entity->ancestors[i]);
        for (size_t k = 0; ancestor != NULL && k < ancestor->ancestor_count; k++) {
            FUZZ_CHECK(cedar_entity_has_ancestor(entity, ancestor->ancestors[k]));
        }
    }
}

static void check_same(const struct cedar_entity *a, const struct cedar_entity *b)
{
    FUZZ_CHECK(cedar_uid_equals(a->uid, b->uid));
    FUZZ_CHECK(a->ancestor_count == b->ancestor_count);
    FUZZ_CHECK(cedar_value_equals(cedar_object(CEDAR_RECORD, a->attributes),
                                  cedar_object(CEDAR_RECORD, b->attributes)));
    FUZZ_CHECK(cedar_value_equals(cedar_object(CEDAR_RECORD, a->tags),
                                  cedar_object(CEDAR_RECORD, b->tags)));
    for (size_t i = 0; i < a->ancestor_count; i++) {
        FUZZ_CHECK(cedar_entity_has_ancestor(b, a->ancestors[i]));
    }
}

static void check_entities(const struct cedar_entities *entities, const char *json, size_t size)
{
    struct cedar_entities *over = cedar_entities_parse(json, size, entities, NULL);
    FUZZ_CHECK(over != NULL);
    FUZZ_CHECK(cedar_entities_count(over) == cedar_entities_count(entities));
    for (size_t i = 0; i < entities->count; i++) {
        const struct cedar_entity *entity = &entities->entities[i];
        FUZZ_CHECK(cedar_entities_find(entities, entity->uid) == entity);
        check_ancestors(entities, entity);
        check_same(entity, cedar_entities_find(over, entity->uid));
    }
    cedar_entities_free(over);
}

/** Over entities with names that inputs use as well: ways through the base may lead back. */
static void check_over_others(const char *json, size_t size)
{
    static const char text[] =
        "[{\"uid\":[\"U\",\"x\"],\"attrs\":{},\"parents\":[[\"G\",\"a\"]]},"
        "{\"uid\":[\"G\",\"a\"],\"attrs\":{},\"parents\":[[\"G\",\"b\"],[\"U\",\"1\"]]}]";
    struct cedar_entities *base = cedar_entities_parse(text, sizeof(text) - 1, NULL, NULL);
    struct cedar_entities *over = cedar_entities_parse(json, size, base, NULL);
    for (size_t i = 0; over != NULL && i < over->count; i++) {
        FUZZ_CHECK(!cedar_entity_has_ancestor(&over->entities[i], over->entities[i].uid));
    }
    cedar_entities_free(over);
    cedar_entities_free(base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *json = fuzz_bytes(data, size);
    struct rondo_error err = {0};
    struct cedar_entities *entities = cedar_entities_parse(json, size, NULL, &err);
    if (entities != NULL) {
        FUZZ_CHECK(fuzz_is_json(json, size));
        check_entities(entities, json, size);
        check_over_others(json, size);
    } else {
        FUZZ_CHECK(err.code == RONDO_ERR_INVALID || err.code == RONDO_ERR_LIMIT);
        FUZZ_CHECK(strlen(err.message) > 0);
    }
    cedar_entities_free(entities);
    free(json);
    return 0;
}
