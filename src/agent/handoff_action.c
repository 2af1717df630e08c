// SPDX-License-Identifier: Apache-2.0
/*
 * What a person decides about: a call with its arguments, its tool as it is defined, and the files
 * that it names. When any of them is another one now, what was approved is not what would be made.
 */
#include "agent/internal.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "handoff/identity.h"
#include "tool/canonical.h"

#include <json-c/json.h>
#include <string.h>

/** The reason of a question about a call that may have had its effect. */
#define IN_DOUBT_TRIGGER "in_doubt_execution"

static void digest_definition(const struct tool *tool, char ret_hex[DIGEST_HEX_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    struct digest hash = digest_begin();
    digest_add(&hash, tool->schema, strlen(tool->schema) + 1);
    digest_add(&hash, tool->description, strlen(tool->description));
    digest_finish(&hash, bytes);
    digest_hex(bytes, ret_hex);
}

static int digest_action(const struct agent_matter *matter, struct agent_action *action,
                         struct rondo_error *err)
{
    struct handoff_operand list[LIMIT_OPERANDS];
    for (size_t i = 0; i < action->operands.count; i++) {
        list[i] = (struct handoff_operand){action->operands.items[i].path,
                                           action->operands.items[i].digest};
    }
    struct handoff_action whole = {
        .tool = matter->tool->name,
        .arguments = matter->arguments,
        .resource = action->definition,
        .operands = list,
        .operand_count = action->operands.count,
    };
    return handoff_action_digest(&whole, action->digest, err);
}

int agent_action_read(const struct agent *agent, const struct agent_matter *matter,
                      struct agent_action *ret_action, struct rondo_error *err)
{
    auto_json struct json_object *arguments = NULL;
    *ret_action = (struct agent_action){0};
    int r = json_parse(matter->arguments, strlen(matter->arguments), &arguments, err);
    if (r < 0) {
        return r;
    }
    toolbox_operands(agent->toolbox, matter->tool, arguments, &ret_action->operands);
    if (ret_action->operands.is_cut) {
        return error_set(err, RONDO_ERR_LIMIT,
                         "the call names too many files to be compared: at most %d files, of %d "
                         "words, and %d for a pattern; name fewer",
                         LIMIT_OPERANDS, LIMIT_OPERAND_WORDS, LIMIT_OPERAND_MATCHES);
    }
    digest_definition(matter->tool, ret_action->definition);
    return digest_action(matter, ret_action, err);
}

void agent_action_fini(struct agent_action *action)
{
    operands_fini(&action->operands);
}

void agent_action_write(const struct agent_matter *matter, const struct agent_action *action,
                        struct json_writer *writer)
{
    json_begin_object(writer, "action");
    json_write_string(writer, "tool", matter->tool->name);
    json_write_raw(writer, "args", matter->arguments);
    json_write_string(writer, "resource", action->definition);
    json_write_string(writer, "action_digest", action->digest);
    json_begin_array(writer, "operand_digests");
    for (size_t i = 0; i < action->operands.count; i++) {
        json_begin_object(writer, NULL);
        json_write_string(writer, "path", action->operands.items[i].path);
        json_write_string(writer, "digest", action->operands.items[i].digest);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_end_object(writer);
}

/* ---- Why people are asked ------------------------------------------------------------------- */

static enum handoff_level level_of(const struct policy_verdict *verdict)
{
    return verdict == NULL || verdict->ask_count == 0 ? HANDOFF_MEDIUM
                                                      : handoff_level_of(verdict->asks[0].severity);
}

enum handoff_level agent_matter_risk(const struct agent_matter *matter)
{
    enum handoff_level now = level_of(matter->verdict);
    bool was_higher = matter->before != NULL && matter->before->risk > now;
    return was_higher ? matter->before->risk : now;
}

/** Without policies of its own, a matter has the reasons of the request that it follows upon. */
static void copy_reasons(struct json_object *said, struct json_writer *writer)
{
    static const char *const names[] = {"trigger_reason", "trigger_reasons", "policy_rule_id",
                                        "policy_rule_ids", "policy_hash"};
    struct json_object *trigger = json_member(said, "trigger");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct json_object *value = json_member(trigger, names[i]);
        if (value != NULL) {
            json_write_raw(writer, names[i],
                           json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
        }
    }
}

static void write_reasons(const struct agent_matter *matter, struct json_writer *writer)
{
    const struct policy_verdict *verdict = matter->verdict;
    size_t count = verdict == NULL ? 0 : verdict->ask_count;
    const char *first = matter->is_in_doubt ? IN_DOUBT_TRIGGER
                        : count > 0         ? verdict->asks[0].trigger
                                            : VERDICT_TRIGGER;
    json_write_string(writer, "trigger_reason", first);
    json_begin_array(writer, "trigger_reasons");
    if (matter->is_in_doubt || count == 0) {
        json_write_string(writer, NULL, first);
    }
    for (size_t i = 0; i < count; i++) {
        json_write_string(writer, NULL, verdict->asks[i].trigger);
    }
    json_end_array(writer);
    json_begin_array(writer, "policy_rule_ids");
    for (size_t i = 0; i < count; i++) {
        json_write_string(writer, NULL, verdict->asks[i].rule);
    }
    json_end_array(writer);
    if (count > 0) {
        json_write_string(writer, "policy_rule_id", verdict->asks[0].rule);
        json_write_string(writer, "policy_hash", verdict->sha256);
    }
}

void agent_trigger_write(const struct agent_matter *matter, struct json_writer *writer)
{
    json_begin_object(writer, "trigger");
    if (matter->verdict == NULL && matter->said != NULL) {
        copy_reasons(matter->said, writer);
    } else {
        write_reasons(matter, writer);
    }
    json_write_string(writer, "risk_level", handoff_level_name(agent_matter_risk(matter)));
    json_write_string(writer, "message", matter->why);
    json_end_object(writer);
}

/* ---- What has changed ----------------------------------------------------------------------- */

static const char *find_now(const struct agent_action *action, const char *path)
{
    for (size_t i = 0; i < action->operands.count; i++) {
        if (strcmp(action->operands.items[i].path, path) == 0) {
            return action->operands.items[i].digest;
        }
    }
    return NULL;
}

static bool was_named(struct json_object *before, const char *path)
{
    bool is_known = false;
    for (size_t i = 0; i < json_length(before) && !is_known; i++) {
        struct json_object *item = json_object_array_get_idx(before, i);
        is_known = strcmp(json_get_string(item, "path", ""), path) == 0;
    }
    return is_known;
}

static void append_path(const char *path, const char *what, struct buf *ret_why)
{
    buf_append_string(ret_why, ret_why->len > 0 ? ", " : "");
    buf_printf(ret_why, "%s %s", path, what);
}

/** Files that are others now, by what was recorded of them. */
static void compare_files(struct json_object *before, const struct agent_action *action,
                          struct buf *ret_why)
{
    for (size_t i = 0; i < json_length(before); i++) {
        struct json_object *item = json_object_array_get_idx(before, i);
        const char *path = json_get_string(item, "path", "");
        const char *digest = find_now(action, path);
        if (digest == NULL) {
            append_path(path, "is gone", ret_why);
        } else if (strcmp(digest, json_get_string(item, "digest", "")) != 0) {
            append_path(path, "has changed", ret_why);
        }
    }
    for (size_t i = 0; i < action->operands.count; i++) {
        if (!was_named(before, action->operands.items[i].path)) {
            append_path(action->operands.items[i].path, "is new", ret_why);
        }
    }
}

void agent_action_compare(const struct agent_action *action, struct json_object *said,
                          struct buf *ret_why)
{
    if (said != NULL) {
        compare_files(json_member(json_member(said, "action"), "operand_digests"), action, ret_why);
    }
    if (ret_why->len == 0) {
        buf_append_string(ret_why, "the tool has changed");
    }
    buf_append_string(ret_why, " since the call was requested");
}
