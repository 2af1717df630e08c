// SPDX-License-Identifier: Apache-2.0
/* Sets of profiles: parsing, checking, and who has which profile. */
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "policy/profile/internal.h"
#include "policy/profile/profile_text.h"
#include "policy/vocabulary/severity.h"

#include <assert.h>
#include <json-c/json.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTITIES_NAME "profiles.entities.json"
/** Bytes of the word in an annotation @handoff. */
#define MOST_REASON 64

/* ---- Policies ------------------------------------------------------------------------------- */

static bool is_word(const char *text)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return len > 0 && len <= MOST_REASON && text[len] == '\0';
}

/** Annotations decide whether a person can help: a typing error must not make it so. */
static int check_annotations(const struct cedar_policies *policies, struct rondo_error *err)
{
    for (size_t i = 0; i < cedar_policies_count(policies); i++) {
        const char *file = NULL;
        unsigned line = 0;
        const char *reason = cedar_policies_annotation(policies, i, "handoff");
        const char *severity = cedar_policies_annotation(policies, i, "severity");
        cedar_policies_position(policies, i, &file, &line);
        if (reason != NULL && !is_word(reason)) {
            return error_set(err, RONDO_ERR_INVALID,
                             "%s:%u: @handoff needs a reason of 1 to %d of a-z, 0-9 and _", file,
                             line, MOST_REASON);
        }
        if (severity != NULL && policy_severity_from_name(severity) < 0) {
            return error_set(err, RONDO_ERR_INVALID,
                             "%s:%u: @severity is low, medium, high or critical", file, line);
        }
    }
    return 0;
}

static int parse(const char *file, const char *text, size_t len, struct cedar_policies **ret,
                 struct rondo_error *err)
{
    struct cedar_builder *builder = cedar_builder_new(CEDAR_ANNOTATION_IDS);
    int r = len > LIMIT_POLICY_BYTES ? error_set(err, RONDO_ERR_LIMIT, "%s has more than %zu bytes",
                                                 file, (size_t)LIMIT_POLICY_BYTES)
                                     : cedar_builder_add(builder, file, text, len, NULL, err);
    if (r < 0) {
        cedar_builder_free(builder);
        return r;
    }
    struct cedar_policies *policies = cedar_builder_finish(builder);
    r = check_annotations(policies, err);
    if (r < 0) {
        cedar_policies_unref(policies);
        return r;
    }
    *ret = policies;
    return 0;
}

static int add_profile(struct profiles *profiles, const char *name, const char *file,
                       const char *text, size_t len, struct rondo_error *err)
{
    struct profile profile = {.name = name};
    int r = parse(file, text, len, &profile.policies, err);
    if (r == 0) {
        profiles->items =
            memory_resize(profiles->items, profiles->count + 1, sizeof(*profiles->items));
        profiles->items[profiles->count++] = profile;
    }
    return r;
}

static int add_policies(struct profiles *profiles, const struct profiles_source *source,
                        struct rondo_error *err)
{
    if (source->policies != NULL) {
        return add_profile(profiles, NULL, PROFILES_NAME, source->policies, source->policies_len,
                           err);
    }
    int r = 0;
    for (const struct profile_text *row = profile_texts; row->name != NULL && r == 0; row++) {
        r = add_profile(profiles, row->name, row->name, row->text, row->len, err);
    }
    return r;
}

/* ---- Entities ------------------------------------------------------------------------------- */

static bool are_names(struct json_object *list)
{
    size_t count = json_length(list);
    bool are = count > 0 && count <= PROFILE_MOST_REASONS;
    for (size_t i = 0; i < count && are; i++) {
        are = json_object_is_type(json_object_array_get_idx(list, i), json_type_string);
    }
    return are;
}

static int take_entity(struct profiles *profiles, struct json_object *entity,
                       struct rondo_error *err)
{
    struct json_object *uid = json_member(entity, "uid");
    struct json_object *attributes = json_member(entity, "attrs");
    const char *type = json_get_string(uid, "type", "");
    const char *id = json_get_string(uid, "id", "");
    if (strcmp(type, PROFILE_AGENT_TYPE) == 0) {
        struct json_object *names = json_member(attributes, "profiles");
        if (!are_names(names)) {
            return error_set(err, RONDO_ERR_INVALID,
                             ENTITIES_NAME ": agent %.64s needs `profiles`, a list of names", id);
        }
        json_object_object_add(profiles->agents, id, json_object_get(names));
    } else if (strcmp(type, PROFILE_TOOL_TYPE) == 0) {
        struct json_object *is_required = json_member(attributes, "requires_human");
        if (!json_object_is_type(is_required, json_type_boolean)) {
            return error_set(err, RONDO_ERR_INVALID,
                             ENTITIES_NAME ": tool %.64s needs `requires_human`, true or false",
                             id);
        }
        json_object_object_add(profiles->tools, id, json_object_get(is_required));
    }
    return 0;
}

static int add_entities(struct profiles *profiles, const struct profiles_source *source,
                        struct rondo_error *err)
{
    auto_json struct json_object *list = NULL;
    if (source->entities == NULL) {
        return 0;
    }
    int r = json_parse_strict(source->entities, source->entities_len, &list, err);
    if (r == 0) {
        profiles->entities =
            cedar_entities_parse(source->entities, source->entities_len, NULL, err);
        r = profiles->entities == NULL ? err->code : 0;
    }
    if (r < 0) {
        error_prefix(err, ENTITIES_NAME);
        return r;
    }
    for (size_t i = 0; i < json_length(list) && r == 0; i++) {
        r = take_entity(profiles, json_object_array_get_idx(list, i), err);
    }
    return r;
}

/* ---- Sets ----------------------------------------------------------------------------------- */

static void add_text(struct digest *digest, const char *text, size_t len)
{
    digest_add_u64(digest, len);
    digest_add(digest, text == NULL ? "" : text, len);
}

static void set_hash(struct profiles *profiles, const struct profiles_source *source)
{
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    if (source->policies != NULL) {
        add_text(&digest, source->policies, source->policies_len);
    }
    for (const struct profile_text *row = profile_texts;
         source->policies == NULL && row->name != NULL; row++) {
        add_text(&digest, row->text, row->len);
    }
    add_text(&digest, source->entities, source->entities_len);
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    snprintf(profiles->hash, sizeof(profiles->hash), "sha256:%s", hex);
}

int profiles_make(const struct profiles_source *source, struct profiles **ret_profiles,
                  struct rondo_error *err)
{
    struct rondo_error own = {0};
    struct profiles *profiles = memory_new_zero(1, sizeof(*profiles));
    err = err == NULL ? &own : err;
    atomic_init(&profiles->references, 1);
    profiles->action = cedar_uid_new("RelayTrace::Action", "execute", err);
    assert(profiles->action != NULL);
    profiles->agents = json_object_new_object();
    profiles->tools = json_object_new_object();
    int r = add_policies(profiles, source, err);
    r = r < 0 ? r : add_entities(profiles, source, err);
    if (r == 0 && source->policies != NULL) { /* The tests try the built-in ones. */
        r = profile_try_all(profiles, err);
    }
    if (r < 0) {
        profiles_unref(profiles);
        return r;
    }
    set_hash(profiles, source);
    *ret_profiles = profiles;
    return 0;
}

struct profiles *profiles_ref(struct profiles *profiles)
{
    atomic_fetch_add(&profiles->references, 1);
    return profiles;
}

void profiles_unref(struct profiles *profiles)
{
    if (profiles == NULL || atomic_fetch_sub(&profiles->references, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < profiles->count; i++) {
        cedar_policies_unref(profiles->items[i].policies);
    }
    free(profiles->items);
    cedar_uid_free(profiles->action);
    cedar_entities_free(profiles->entities);
    json_object_put(profiles->agents);
    json_object_put(profiles->tools);
    free(profiles);
}

const char *profiles_hash(const struct profiles *profiles)
{
    return profiles->hash;
}

bool profiles_is_text(const char *text, size_t len)
{
    static const char mark[] = "RelayTrace::Action";
    return memmem(text, len, mark, sizeof(mark) - 1) != NULL;
}

size_t profiles_count(const struct profiles *profiles)
{
    size_t count = 0;
    for (size_t i = 0; i < profiles->count; i++) {
        count += cedar_policies_count(profiles->items[i].policies);
    }
    return count;
}
