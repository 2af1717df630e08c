// SPDX-License-Identifier: Apache-2.0
/* The index of a policy set: made once, only read afterwards. */
#include "policy/cedar/index.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/** What a policy can be filed under. */
struct policy_key {
    uint64_t hash;
    enum request_variable variable;
    const struct cedar_uid *uid;   /* the variable is it, or in it */
    const struct cedar_text *type; /* the variable is of it; when there is no uid */
};

struct policy_bucket {
    struct policy_key key;
    uint32_t candidates; /* policies that could be filed here */
    uint32_t count;      /* policies that are */
    uint32_t room;
    uint32_t *policies;
};

struct policy_index {
    struct policy_bucket *buckets; /* open addressing; hash 0 = empty */
    size_t mask;
    const uint32_t *always;
    uint32_t always_count;
    bool has_uids[3]; /* by variable: whether there are keys of that kind at all, */
    bool has_in[3];   /* so that ancestors are looked up only where it can matter */
    bool has_types[3];
};

static struct policy_key uid_key(enum request_variable variable, const struct cedar_uid *uid)
{
    return (struct policy_key){
        .hash = (uid->hash + (uint64_t)variable) | 1, .variable = variable, .uid = uid};
}

static struct policy_key type_key(enum request_variable variable, const struct cedar_text *type)
{
    return (struct policy_key){
        .hash = (type->hash + 4 + (uint64_t)variable) | 1, .variable = variable, .type = type};
}

static bool keys_equal(const struct policy_key *a, const struct policy_key *b)
{
    if (a->hash != b->hash || a->variable != b->variable || (a->uid == NULL) != (b->uid == NULL)) {
        return false;
    }
    return a->uid != NULL ? cedar_uid_equals(a->uid, b->uid) : cedar_text_equals(a->type, b->type);
}

/** The bucket of a key, or the empty one where it would be. */
static struct policy_bucket *find_bucket(const struct policy_index *index,
                                         const struct policy_key *key)
{
    for (size_t i = (key->hash ^ key->hash >> 32) & index->mask;; i = (i + 1) & index->mask) {
        struct policy_bucket *bucket = &index->buckets[i];
        if (bucket->key.hash == 0 || keys_equal(&bucket->key, key)) {
            return bucket;
        }
    }
}

/** Keys of one part of a scope: none when it says nothing. An action may list several. */
static uint32_t scope_key_count(const struct scope *scope)
{
    return scope->kind == SCOPE_ANY ? 0 : scope->kind == SCOPE_IS ? 1 : scope->count;
}

static struct policy_key scope_key(const struct scope *scope, enum request_variable variable,
                                   uint32_t i)
{
    if (scope->kind == SCOPE_IS && scope->count == 0) {
        return type_key(variable, scope->type);
    }
    return uid_key(variable, scope->uids[i]);
}

typedef void key_fn(struct policy_index *index, const struct policy_key *key, uint32_t policy);

static void each_key(struct policy_index *index, const struct scope *scope,
                     enum request_variable variable, uint32_t policy, key_fn *fn)
{
    for (uint32_t i = 0; i < scope_key_count(scope); i++) {
        struct policy_key key = scope_key(scope, variable, i);
        fn(index, &key, policy);
    }
}

static void count_candidate(struct policy_index *index, const struct policy_key *key,
                            uint32_t policy)
{
    (void)policy;
    struct policy_bucket *bucket = find_bucket(index, key);
    bucket->key = *key;
    bucket->candidates++;
}

static void count_filed(struct policy_index *index, const struct policy_key *key, uint32_t policy)
{
    (void)policy;
    find_bucket(index, key)->room++;
}

static void file_policy(struct policy_index *index, const struct policy_key *key, uint32_t policy)
{
    struct policy_bucket *bucket = find_bucket(index, key);
    bucket->policies[bucket->count++] = policy;
}

/** How many policies share the scope's most crowded key. */
static uint32_t crowd(const struct policy_index *index, const struct scope *scope,
                      enum request_variable variable)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < scope_key_count(scope); i++) {
        struct policy_key key = scope_key(scope, variable, i);
        uint32_t candidates = find_bucket(index, &key)->candidates;
        most = candidates > most ? candidates : most;
    }
    return most;
}

/** The part of the scope to file a policy under; VARIABLE_CONTEXT when it has none. */
static enum request_variable choose(const struct policy_index *index, const struct policy *policy)
{
    enum request_variable best = VARIABLE_CONTEXT;
    uint32_t fewest = UINT32_MAX;
    for (enum request_variable i = VARIABLE_PRINCIPAL; i < VARIABLE_CONTEXT; i++) {
        const struct scope *scope = &policy->scopes[i];
        if (scope->kind == SCOPE_ANY) {
            continue;
        }
        uint32_t shared = crowd(index, scope, i);
        if (shared < fewest) {
            fewest = shared;
            best = i;
        }
    }
    return best;
}

static void note_kinds(struct policy_index *index, const struct scope *scope,
                       enum request_variable variable)
{
    bool is_type = scope->kind == SCOPE_IS && scope->count == 0;
    index->has_types[variable] |= is_type;
    index->has_uids[variable] |= !is_type;
    index->has_in[variable] |= !is_type && scope->kind != SCOPE_EQUAL;
}

static void make_buckets(struct policy_index *index, struct arena *arena,
                         const struct policy *const *policies, uint32_t count)
{
    size_t keys = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (enum request_variable v = VARIABLE_PRINCIPAL; v < VARIABLE_CONTEXT; v++) {
            keys += scope_key_count(&policies[i]->scopes[v]);
        }
    }
    size_t size = 16;
    while (size < keys * 2) {
        size *= 2;
    }
    index->mask = size - 1;
    index->buckets = arena_new_array(arena, size, sizeof(*index->buckets));
    memset(index->buckets, 0, size * sizeof(*index->buckets));
    for (uint32_t i = 0; i < count; i++) {
        for (enum request_variable v = VARIABLE_PRINCIPAL; v < VARIABLE_CONTEXT; v++) {
            each_key(index, &policies[i]->scopes[v], v, i, count_candidate);
        }
    }
}

static void make_rooms(struct policy_index *index, struct arena *arena)
{
    for (size_t i = 0; i <= index->mask; i++) {
        struct policy_bucket *bucket = &index->buckets[i];
        if (bucket->room > 0) {
            bucket->policies = arena_new_array(arena, bucket->room, sizeof(*bucket->policies));
        }
    }
}

struct policy_index *policy_index_make(struct arena *arena, const struct policy *const *policies,
                                       uint32_t count)
{
    struct policy_index *index = arena_new(arena, sizeof(*index));
    *index = (struct policy_index){0};
    make_buckets(index, arena, policies, count);
    uint32_t *always = arena_new_array(arena, count, sizeof(*always));
    enum request_variable *choices = memory_new(sizeof(*choices) * (count + 1));
    for (uint32_t i = 0; i < count; i++) {
        choices[i] = choose(index, policies[i]);
        if (choices[i] == VARIABLE_CONTEXT) {
            always[index->always_count++] = i;
            continue;
        }
        const struct scope *scope = &policies[i]->scopes[choices[i]];
        note_kinds(index, scope, choices[i]);
        each_key(index, scope, choices[i], i, count_filed);
    }
    make_rooms(index, arena);
    for (uint32_t i = 0; i < count; i++) {
        if (choices[i] != VARIABLE_CONTEXT) {
            each_key(index, &policies[i]->scopes[choices[i]], choices[i], i, file_policy);
        }
    }
    free(choices);
    index->always = always;
    return index;
}

static void look_under(const struct policy_index *index, const struct policy_key *key,
                       policy_index_fn *fn, void *context)
{
    const struct policy_bucket *bucket = find_bucket(index, key);
    for (uint32_t i = 0; i < bucket->count; i++) {
        fn(bucket->policies[i], context);
    }
}

static void look_under_variable(const struct policy_index *index, struct evaluation *evaluation,
                                enum request_variable variable, const struct cedar_uid *uid,
                                policy_index_fn *fn, void *context)
{
    if (index->has_uids[variable]) {
        struct policy_key key = uid_key(variable, uid);
        look_under(index, &key, fn, context);
    }
    const struct cedar_entity *entity =
        index->has_in[variable] ? evaluation_entity(evaluation, variable) : NULL;
    for (size_t i = 0; entity != NULL && i < entity->ancestor_count; i++) {
        struct policy_key key = uid_key(variable, entity->ancestors[i]);
        look_under(index, &key, fn, context);
    }
    if (index->has_types[variable]) {
        struct policy_key key = type_key(variable, uid->type);
        look_under(index, &key, fn, context);
    }
}

void policy_index_each(const struct policy_index *index, struct evaluation *evaluation,
                       policy_index_fn *fn, void *context)
{
    const struct cedar_request *request = evaluation->request;
    for (uint32_t i = 0; i < index->always_count; i++) {
        fn(index->always[i], context);
    }
    look_under_variable(index, evaluation, VARIABLE_PRINCIPAL, request->principal, fn, context);
    look_under_variable(index, evaluation, VARIABLE_ACTION, request->action, fn, context);
    look_under_variable(index, evaluation, VARIABLE_RESOURCE, request->resource, fn, context);
}
