// SPDX-License-Identifier: Apache-2.0
/*
 * Building policy sets and asking about them. A builder belongs to one thread; a finished set never
 * changes and may be read by any number of threads; only its count of references is written.
 */
#include "policy/cedar/policies.h"

#include "base/error.h"
#include "base/memory.h"
#include "policy/cedar/index.h"
#include "policy/cedar/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/** A policy under construction. */
struct policy_entry {
    struct policy policy;
    bool is_template;
    UT_hash_handle hh; /* by id */
};

struct cedar_builder {
    enum cedar_ids ids;
    struct cedar_policies *policies;
    struct policy_entry **entries;
    size_t count;
    size_t room;
    struct policy_entry *by_id;
    size_t parsed_count; /* for position ids; links have names of their own */
};

struct cedar_builder *cedar_builder_new(enum cedar_ids ids)
{
    struct cedar_builder *builder = memory_new_zero(1, sizeof(*builder));
    builder->ids = ids;
    builder->policies = memory_new_zero(1, sizeof(*builder->policies));
    builder->policies->references = 1;
    return builder;
}

static void free_entries(struct cedar_builder *builder)
{
    HASH_CLEAR(hh, builder->by_id);
    for (size_t i = 0; i < builder->count; i++) {
        free(builder->entries[i]);
    }
    free(builder->entries);
}

void cedar_builder_free(struct cedar_builder *builder)
{
    if (builder == NULL) {
        return;
    }
    free_entries(builder);
    cedar_policies_unref(builder->policies);
    free(builder);
}

static struct policy_entry *find_entry(const struct cedar_builder *builder,
                                       const struct cedar_text *id)
{
    struct policy_entry *entry = NULL;
    HASH_FIND(hh, builder->by_id, id->bytes, id->len, entry);
    return entry;
}

bool cedar_builder_has(const struct cedar_builder *builder, const char *id)
{
    struct policy_entry *entry = NULL;
    HASH_FIND(hh, builder->by_id, id, strlen(id), entry);
    return entry != NULL;
}

static void append_entry(struct cedar_builder *builder, const struct policy *policy,
                         bool is_template)
{
    if (builder->count == builder->room) {
        builder->room = builder->room * 2 + 16;
        builder->entries =
            memory_resize(builder->entries, builder->room, sizeof(*builder->entries));
    }
    struct policy_entry *entry = memory_new_zero(1, sizeof(*entry));
    entry->policy = *policy;
    entry->is_template = is_template;
    builder->entries[builder->count++] = entry;
    HASH_ADD_KEYPTR(hh, builder->by_id, entry->policy.id->bytes, entry->policy.id->len, entry);
}

/** Remove what was added after the first `count`. */
static void truncate_entries(struct cedar_builder *builder, size_t count)
{
    while (builder->count > count) {
        struct policy_entry *entry = builder->entries[--builder->count];
        HASH_DELETE(hh, builder->by_id, entry);
        free(entry);
    }
}

/** One text that is being added. */
struct addition {
    struct cedar_builder *builder;
    const struct policy_source *source;
    bool takes_templates;
    const struct cedar_text *id; /* instead of its own, or NULL */
    int code;                    /* negative when a policy cannot be taken */
    struct cedar_problem *problem;
};

static void refuse(struct addition *addition, int code, size_t offset, const char *message,
                   const char *id)
{
    if (addition->code < 0) {
        return;
    }
    addition->code = code;
    struct cedar_problem *problem = addition->problem;
    problem->offset = offset;
    policy_source_locate(addition->source, offset, &problem->line, &problem->column);
    snprintf(problem->message, sizeof(problem->message), message, id);
}

static const struct cedar_text *policy_id(struct addition *addition, const struct policy *policy)
{
    struct cedar_builder *builder = addition->builder;
    char name[32];
    size_t position = builder->parsed_count++;
    const struct cedar_text *annotation = policy_annotation(policy, "id", 2);
    if (addition->id != NULL) {
        return addition->id;
    }
    if (builder->ids == CEDAR_ANNOTATION_IDS && annotation != NULL) {
        return annotation;
    }
    int len = snprintf(name, sizeof(name), "policy%zu", position);
    return cedar_text_new(&builder->policies->arena, name, (size_t)len);
}

static void take_policy(const struct policy *policy, void *context)
{
    struct addition *addition = context;
    struct policy named = *policy;
    named.id = policy_id(addition, policy);
    bool is_template = policy_is_template(policy);
    if (is_template && !addition->takes_templates) {
        refuse(addition, RONDO_ERR_INVALID, policy->begin,
               "a policy with slots is a template and is not allowed here%s", "");
    } else if (addition->builder->count == CEDAR_LIMIT_POLICIES) {
        refuse(addition, RONDO_ERR_LIMIT, policy->begin, "more than a million policies%s", "");
    } else if (find_entry(addition->builder, named.id) != NULL) {
        refuse(addition, RONDO_ERR_INVALID, policy->begin,
               "a second policy with the id `%.128s`, expected another one", named.id->bytes);
    } else if (addition->code == 0) {
        append_entry(addition->builder, &named, is_template);
    }
}

static const struct policy_source *new_source(struct arena *arena, const char *file,
                                              const char *text, size_t len)
{
    struct policy_source *source = arena_new(arena, sizeof(*source));
    char *copy = arena_new(arena, len + 1);
    if (len > 0) {
        memcpy(copy, text, len);
    }
    copy[len] = '\0';
    *source = (struct policy_source){
        .file = cedar_text_new(arena, file, strlen(file)), .text = copy, .len = len};
    return source;
}

/** Parse a text into the builder, or leave it as it was. */
static int add_text(struct addition *addition, const char *file, const char *text, size_t len,
                    struct cedar_problem *ret_problem, struct rondo_error *err)
{
    struct cedar_problem own_problem = {0};
    struct cedar_builder *builder = addition->builder;
    size_t count = builder->count;
    size_t parsed_count = builder->parsed_count;
    if (len > CEDAR_LIMIT_TEXT_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "%s: a text of %zu bytes; the limit is %zu", file,
                         len, CEDAR_LIMIT_TEXT_BYTES);
    }
    addition->problem = ret_problem == NULL ? &own_problem : ret_problem;
    addition->source = new_source(&builder->policies->arena, file, text, len);
    /* A refused policy comes first in the text when both it and a later place are wrong. */
    struct cedar_problem syntax = {0};
    int r =
        parser_parse(addition->source, &builder->policies->arena, take_policy, addition, &syntax);
    if (r < 0 && addition->code == 0) {
        addition->code = RONDO_ERR_INVALID;
        *addition->problem = syntax;
    }
    if (addition->code == 0) {
        return 0;
    }
    truncate_entries(builder, count);
    builder->parsed_count = parsed_count;
    return error_set(err, addition->code, "%s:%u:%u: %s", file, addition->problem->line,
                     addition->problem->column, addition->problem->message);
}

int cedar_builder_add(struct cedar_builder *builder, const char *file, const char *text, size_t len,
                      struct cedar_problem *ret_problem, struct rondo_error *err)
{
    struct addition addition = {.builder = builder};
    return add_text(&addition, file, text, len, ret_problem, err);
}

int cedar_builder_add_templates(struct cedar_builder *builder, const char *file, const char *text,
                                size_t len, struct cedar_problem *ret_problem,
                                struct rondo_error *err)
{
    struct addition addition = {.builder = builder, .takes_templates = true};
    return add_text(&addition, file, text, len, ret_problem, err);
}

int cedar_builder_add_template(struct cedar_builder *builder, const char *id, const char *text,
                               size_t len, struct cedar_problem *ret_problem,
                               struct rondo_error *err)
{
    struct addition addition = {
        .builder = builder,
        .takes_templates = true,
        .id = cedar_text_new(&builder->policies->arena, id, strlen(id)),
    };
    size_t count = builder->count;
    size_t parsed_count = builder->parsed_count;
    int r = add_text(&addition, id, text, len, ret_problem, err);
    builder->parsed_count = parsed_count;
    if (r < 0) {
        return r;
    }
    if (builder->count != count + 1 || !builder->entries[count]->is_template) {
        truncate_entries(builder, count);
        return error_set(err, RONDO_ERR_INVALID, "%s: expected one policy with slots", id);
    }
    return 0;
}

static const struct cedar_uid *dup_uid(struct arena *arena, const struct cedar_uid *uid)
{
    return cedar_uid_make(arena, cedar_text_new(arena, uid->type->bytes, uid->type->len),
                          cedar_text_new(arena, uid->id->bytes, uid->id->len));
}

static int fill_slot(struct arena *arena, struct scope *scope, const struct cedar_uid *uid,
                     const char *slot, struct rondo_error *err)
{
    if ((scope->slot != SLOT_NONE) != (uid != NULL)) {
        return error_set(err, RONDO_ERR_INVALID,
                         uid == NULL ? "there is no value for the slot %s" : "there is no slot %s",
                         slot);
    }
    if (uid != NULL) {
        const struct cedar_uid **uids = arena_new(arena, sizeof(const struct cedar_uid *));
        *uids = dup_uid(arena, uid);
        scope->uids = uids;
        scope->slot = SLOT_NONE;
    }
    return 0;
}

int cedar_builder_link(struct cedar_builder *builder, const char *template_id, const char *new_id,
                       const struct cedar_uid *principal, const struct cedar_uid *resource,
                       struct rondo_error *err)
{
    struct arena *arena = &builder->policies->arena;
    const struct cedar_text *from = cedar_text_new(arena, template_id, strlen(template_id));
    const struct cedar_text *id = cedar_text_new(arena, new_id, strlen(new_id));
    const struct policy_entry *entry = find_entry(builder, from);
    if (entry == NULL || !entry->is_template) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no template `%s`", template_id);
    }
    if (find_entry(builder, id) != NULL) {
        return error_set(err, RONDO_ERR_INVALID, "there is a policy `%s` already", new_id);
    }
    if (builder->count == CEDAR_LIMIT_POLICIES) {
        return error_set(err, RONDO_ERR_LIMIT, "more than a million policies");
    }
    struct policy link = entry->policy;
    link.id = id;
    int r = fill_slot(arena, &link.scopes[VARIABLE_PRINCIPAL], principal, "?principal", err);
    if (r == 0) {
        r = fill_slot(arena, &link.scopes[VARIABLE_RESOURCE], resource, "?resource", err);
    }
    if (r < 0) {
        error_prefix(err, "link `%s` of template `%s`", new_id, template_id);
        return r;
    }
    append_entry(builder, &link, false);
    return 0;
}

/** Most policies fail at a scope that names another entity: that should cost one comparison. */
static void hash_scopes(struct policy *policy)
{
    for (enum request_variable i = VARIABLE_PRINCIPAL; i < VARIABLE_CONTEXT; i++) {
        const struct scope *scope = &policy->scopes[i];
        policy->scope_hashes[i] = scope->kind == SCOPE_EQUAL ? scope->uids[0]->hash : 0;
    }
}

struct cedar_policies *cedar_builder_finish(struct cedar_builder *builder)
{
    struct cedar_policies *policies = builder->policies;
    const struct policy **list = arena_new_array(&policies->arena, builder->count, sizeof(*list));
    for (size_t i = 0; i < builder->count; i++) {
        if (!builder->entries[i]->is_template) {
            struct policy *policy = arena_new(&policies->arena, sizeof(*policy));
            *policy = builder->entries[i]->policy;
            hash_scopes(policy);
            list[policies->count++] = policy;
        }
    }
    policies->policies = list;
    if (policies->count >= INDEX_FROM_POLICIES) {
        policies->index = policy_index_make(&policies->arena, list, policies->count);
    }
    free_entries(builder);
    free(builder);
    return policies;
}

struct cedar_policies *cedar_policies_ref(struct cedar_policies *policies)
{
    atomic_fetch_add_explicit(&policies->references, 1, memory_order_relaxed);
    return policies;
}

void cedar_policies_unref(struct cedar_policies *policies)
{
    if (policies != NULL &&
        atomic_fetch_sub_explicit(&policies->references, 1, memory_order_acq_rel) == 1) {
        arena_fini(&policies->arena);
        free(policies);
    }
}

size_t cedar_policies_count(const struct cedar_policies *policies)
{
    return policies->count;
}

const char *cedar_policies_id(const struct cedar_policies *policies, size_t index)
{
    return policies->policies[index]->id->bytes;
}

bool cedar_policies_is_forbid(const struct cedar_policies *policies, size_t index)
{
    return policies->policies[index]->is_forbid;
}

const char *cedar_policies_annotation(const struct cedar_policies *policies, size_t index,
                                      const char *name)
{
    const struct cedar_text *value =
        policy_annotation(policies->policies[index], name, strlen(name));
    return value == NULL ? NULL : value->bytes;
}

const char *cedar_policies_text(const struct cedar_policies *policies, size_t index,
                                size_t *ret_len)
{
    const struct policy *policy = policies->policies[index];
    *ret_len = policy->end - policy->begin;
    return policy->source->text + policy->begin;
}

void cedar_policies_position(const struct cedar_policies *policies, size_t index,
                             const char **ret_file, unsigned *ret_line)
{
    const struct policy *policy = policies->policies[index];
    *ret_file = policy->source->file->bytes;
    *ret_line = policy->place.line;
}

size_t cedar_policies_memory(const struct cedar_policies *policies)
{
    return sizeof(*policies) + arena_size(&policies->arena);
}
