// SPDX-License-Identifier: Apache-2.0
/* Entities of a run, written as JSON and read by the engine, as everybody's are. */
#include "policy/subject_internal.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "policy/cedar/entities.h"
#include "policy/cedar/value/value_json.h"

#include <string.h>

#define NS_PER_SECOND INT64_C(1000000000)
/** Millionths in a ten-thousandth. */
#define MICRO_PER_UNIT 100

static void write_uid(struct json_writer *writer, const char *key, const char *type, const char *id)
{
    json_begin_object(writer, key);
    json_write_string(writer, "type", type);
    json_write_string(writer, "id", id);
    json_end_object(writer);
}

static void write_decimal(struct json_writer *writer, const char *key, int64_t units)
{
    char text[CEDAR_EXTENSION_TEXT_SIZE];
    cedar_decimal_format(units, text);
    json_begin_object(writer, key);
    json_begin_object(writer, "__extn");
    json_write_string(writer, "fn", "decimal");
    json_write_string(writer, "arg", text);
    json_end_object(writer);
    json_end_object(writer);
}

/** Round up: a limit counts as used up by the same rounding as what is measured against it. */
static int64_t divide_up(int64_t number, int64_t divisor)
{
    return number / divisor + (number % divisor > 0 ? 1 : 0);
}

static void write_run_attributes(struct json_writer *writer, const struct policy_run *run)
{
    json_begin_object(writer, "attrs");
    json_begin_object(writer, "agent");
    write_uid(writer, "__entity", "Agent", run->agent_id);
    json_end_object(writer);
    json_write_string(writer, "kind", run->kind);
    json_write_string(writer, "workspace", run->workspace);
    if (run->max_iterations > 0) {
        json_write_int(writer, "max_iterations", run->max_iterations);
    }
    if (run->max_tokens > 0) {
        json_write_int(writer, "max_tokens", run->max_tokens);
    }
    if (run->max_cost_micro > 0) {
        write_decimal(writer, "max_cost_usd", divide_up(run->max_cost_micro, MICRO_PER_UNIT));
    }
    if (run->max_elapsed_ns > 0) {
        json_write_int(writer, "max_elapsed_s", divide_up(run->max_elapsed_ns, NS_PER_SECOND));
    }
    json_end_object(writer);
}

static void write_run(struct json_writer *writer, const struct policy_run *run)
{
    json_begin_object(writer, NULL);
    write_uid(writer, "uid", "Run", run->run_id);
    write_run_attributes(writer, run);
    json_begin_array(writer, "parents");
    json_end_array(writer);
    json_end_object(writer);
}

static bool has_field(const struct cedar_record *record, const char *name)
{
    for (size_t i = 0; record != NULL && i < record->count; i++) {
        if (strcmp(record->fields[i].name->bytes, name) == 0) {
            return true;
        }
    }
    return false;
}

static void write_record(struct json_writer *writer, const struct cedar_record *record)
{
    for (size_t i = 0; record != NULL && i < record->count; i++) {
        cedar_value_write_json(record->fields[i].value, record->fields[i].name->bytes, writer);
    }
}

/** An id may hold NUL bytes, and cut there it would be another group's. */
static void write_parent(struct json_writer *writer, const struct cedar_uid *parent)
{
    json_begin_object(writer, NULL);
    json_write_string(writer, "type", parent->type->bytes);
    json_write_string_len(writer, "id", parent->id->bytes, parent->id->len);
    json_end_object(writer);
}

/** The end of an entity that somebody may have described: its parents and tags. */
static void write_given(struct json_writer *writer, const struct cedar_entity *given)
{
    json_begin_array(writer, "parents");
    for (size_t i = 0; given != NULL && i < given->ancestor_count; i++) {
        write_parent(writer, given->ancestors[i]);
    }
    json_end_array(writer);
    json_begin_object(writer, "tags");
    write_record(writer, given == NULL ? NULL : given->tags);
    json_end_object(writer);
}

/** The agent as the administrator has described it, with every declared attribute. */
static void write_agent(struct json_writer *writer, const char *agent_id,
                        const struct cedar_entity *given)
{
    const struct cedar_record *attributes = given == NULL ? NULL : given->attributes;
    json_begin_object(writer, NULL);
    write_uid(writer, "uid", "Agent", agent_id);
    json_begin_object(writer, "attrs");
    write_record(writer, attributes);
    if (!has_field(attributes, "trust")) {
        json_write_int(writer, "trust", 0);
    }
    if (!has_field(attributes, "environment")) {
        json_write_string(writer, "environment", "");
    }
    json_end_object(writer);
    write_given(writer, given);
    json_end_object(writer);
}

/**
 * A tool or model as the administrator has described it, with what the runtime knows: an
 * administrator's word about where a tool comes from, or what it changes, goes before a server's.
 */
static void write_resource(struct json_writer *writer, const struct policy_resource *resource,
                           const struct cedar_entity *given)
{
    bool is_model = resource->action == ACTION_CALL_MODEL;
    const struct cedar_record *attributes = given == NULL ? NULL : given->attributes;
    const char *origin = is_model ? "provider" : "server";
    json_begin_object(writer, NULL);
    write_uid(writer, "uid", vocabulary_action_resource(resource->action), resource->id);
    json_begin_object(writer, "attrs");
    write_record(writer, attributes);
    if (!has_field(attributes, origin)) {
        json_write_string(writer, origin, resource->origin);
    }
    if (!is_model && !has_field(attributes, "read_only")) {
        json_write_bool(writer, "read_only", resource->is_read_only);
    }
    if (!is_model && !has_field(attributes, "needs_confirmation")) {
        json_write_bool(writer, "needs_confirmation", resource->needs_confirmation);
    }
    json_end_object(writer);
    write_given(writer, given);
    json_end_object(writer);
}

static int write_resources(struct json_writer *writer, const struct policy_run *run,
                           const struct ruleset *ruleset, struct rondo_error *err)
{
    for (size_t i = 0; i < run->resource_count; i++) {
        const struct policy_resource *resource = &run->resources[i];
        const char *type = vocabulary_action_resource(resource->action);
        struct cedar_uid *uid = cedar_uid_new(type, resource->id, err);
        if (uid == NULL) {
            return RONDO_ERR_INVALID;
        }
        write_resource(writer, resource, cedar_entities_find(ruleset->entities, uid));
        cedar_uid_free(uid);
    }
    return 0;
}

struct cedar_entities *subject_entities_make(const struct policy_run *run,
                                             const struct ruleset *ruleset, struct rondo_error *err)
{
    struct cedar_uid *agent = cedar_uid_new("Agent", run->agent_id, err);
    if (agent == NULL) {
        return NULL;
    }
    auto_buf struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_array(&writer, NULL);
    write_agent(&writer, run->agent_id, cedar_entities_find(ruleset->entities, agent));
    write_run(&writer, run);
    cedar_uid_free(agent);
    if (write_resources(&writer, run, ruleset, err) < 0) {
        return NULL;
    }
    json_end_array(&writer);
    return cedar_entities_parse(json.data, json.len, ruleset->entities, err);
}
