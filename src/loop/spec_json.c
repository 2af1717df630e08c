// SPDX-License-Identifier: Apache-2.0
/* The JSON form of a spec, driven by one table of members. */
#include "loop/spec.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <string.h>

enum spec_kind {
    KIND_INT,
    KIND_TEXT,
    KIND_LIST,
    KIND_JSON,
};

static const struct {
    const char *name;
    enum spec_kind kind;
    size_t offset;
} members[] = {
    {"agent_id", KIND_TEXT, offsetof(struct loop_spec, agent_id)},
    {"kind", KIND_TEXT, offsetof(struct loop_spec, kind)},
    {"workspace", KIND_TEXT, offsetof(struct loop_spec, workspace)},
    {"policy", KIND_TEXT, offsetof(struct loop_spec, policy)},
    {"pool", KIND_TEXT, offsetof(struct loop_spec, pool)},
    {"prompt", KIND_TEXT, offsetof(struct loop_spec, prompt)},
    {"agent", KIND_JSON, offsetof(struct loop_spec, agent)},
    {"coding", KIND_JSON, offsetof(struct loop_spec, coding)},
    {"work", KIND_JSON, offsetof(struct loop_spec, work)},
    {"command", KIND_LIST, offsetof(struct loop_spec, command)},
    {"max_iterations", KIND_INT, offsetof(struct loop_spec, max_iterations)},
    {"max_tokens", KIND_INT, offsetof(struct loop_spec, max_tokens)},
    {"max_cost_micro", KIND_INT, offsetof(struct loop_spec, max_cost_micro)},
    {"time_limit_ns", KIND_INT, offsetof(struct loop_spec, time_limit_ns)},
    {"iteration_timeout_ns", KIND_INT, offsetof(struct loop_spec, iteration_timeout_ns)},
    {"first_output_ns", KIND_INT, offsetof(struct loop_spec, first_output_ns)},
    {"silence_ns", KIND_INT, offsetof(struct loop_spec, silence_ns)},
    {"delay_ns", KIND_INT, offsetof(struct loop_spec, delay_ns)},
    {"checkpoint_interval", KIND_INT, offsetof(struct loop_spec, checkpoint_interval)},
    {"max_failures", KIND_INT, offsetof(struct loop_spec, max_failures)},
    {"durability", KIND_INT, offsetof(struct loop_spec, durability)},
    {"on_corrupt", KIND_INT, offsetof(struct loop_spec, on_corrupt)},
    {"is_exclusive", KIND_INT, offsetof(struct loop_spec, is_exclusive)},
    {"verifier_tier", KIND_INT, offsetof(struct loop_spec, verifier_tier)},
    {"worker_tier", KIND_INT, offsetof(struct loop_spec, worker_tier)},
    {"allow_network", KIND_INT, offsetof(struct loop_spec, allow_network)},
    {"read_paths", KIND_LIST, offsetof(struct loop_spec, read_paths)},
    {"write_paths", KIND_LIST, offsetof(struct loop_spec, write_paths)},
    {"env_names", KIND_LIST, offsetof(struct loop_spec, env_names)},
    {"denied_env", KIND_LIST, offsetof(struct loop_spec, denied_env)},
};
#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

static void encode_list(struct json_writer *writer, const char *name, char *const *list)
{
    if (list == NULL) {
        return;
    }
    json_begin_array(writer, name);
    for (size_t i = 0; list[i] != NULL; i++) {
        json_write_string(writer, NULL, list[i]);
    }
    json_end_array(writer);
}

static void encode_member(struct json_writer *writer, const struct loop_spec *spec, size_t i)
{
    const char *at = (const char *)spec + members[i].offset;
    switch (members[i].kind) {
    case KIND_INT: {
        int64_t number;
        memcpy(&number, at, sizeof(number));
        json_write_int(writer, members[i].name, number);
        break;
    }
    case KIND_TEXT:
    case KIND_JSON: {
        char *text;
        memcpy(&text, at, sizeof(text));
        if (text != NULL && members[i].kind == KIND_TEXT) {
            json_write_string(writer, members[i].name, text);
        } else if (text != NULL) {
            json_write_raw(writer, members[i].name, text);
        }
        break;
    }
    case KIND_LIST: {
        char **list;
        memcpy(&list, at, sizeof(list));
        encode_list(writer, members[i].name, list);
        break;
    }
    }
}

static void encode_condition(struct json_writer *writer, const struct loop_condition *condition)
{
    json_begin_object(writer, NULL);
    json_write_string(writer, "name", condition->name);
    json_write_string(writer, "command", condition->command);
    json_write_string(writer, "origin", condition->origin);
    if (condition->tool != NULL) {
        json_write_string(writer, "tool", condition->tool);
        json_write_raw(writer, "arguments", condition->arguments);
    }
    if (condition->server != NULL) {
        json_write_string(writer, "server", condition->server);
    }
    json_write_int(writer, "timeout_ns", condition->timeout_ns);
    json_end_object(writer);
}

void loop_spec_encode(const struct loop_spec *spec, struct buf *ret_buf)
{
    struct json_writer writer = json_writer(ret_buf);
    json_begin_object(&writer, NULL);
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        encode_member(&writer, spec, i);
    }
    json_begin_array(&writer, "conditions");
    for (size_t i = 0; i < spec->condition_count; i++) {
        encode_condition(&writer, &spec->conditions[i]);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

static char **decode_list(struct json_object *value)
{
    if (!json_object_is_type(value, json_type_array) ||
        json_object_array_length(value) > LIMIT_ARGUMENTS) {
        return NULL;
    }
    size_t count = json_object_array_length(value);
    char **list = memory_new_zero(count + 1, sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        list[i] = memory_dup_string(json_object_get_string(json_object_array_get_idx(value, i)));
        if (list[i] == NULL) {
            list[i] = memory_dup_string("");
        }
    }
    return list;
}

static void decode_member(struct json_object *root, size_t i, struct loop_spec *spec)
{
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(root, members[i].name, &value)) {
        return;
    }
    char *at = (char *)spec + members[i].offset;
    switch (members[i].kind) {
    case KIND_INT: {
        int64_t number = json_object_get_int64(value);
        memcpy(at, &number, sizeof(number));
        break;
    }
    case KIND_TEXT: {
        char *text = memory_dup_string(json_object_get_string(value));
        memcpy(at, &text, sizeof(text));
        break;
    }
    case KIND_JSON: {
        char *text =
            memory_dup_string(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
        memcpy(at, &text, sizeof(text));
        break;
    }
    case KIND_LIST: {
        char **list = decode_list(value);
        memcpy(at, &list, sizeof(list));
        break;
    }
    }
}

static int decode_condition(struct json_object *value, struct loop_spec *spec,
                            struct rondo_error *err)
{
    const char *name = json_get_string(value, "name", "");
    const char *tool = json_get_string(value, "tool", NULL);
    int64_t timeout_ns = json_get_int(value, "timeout_ns", 0);
    if (tool == NULL) {
        return loop_spec_add_condition(spec, name, json_get_string(value, "command", ""),
                                       json_get_string(value, "origin", "given"), timeout_ns, err);
    }
    struct json_object *arguments = NULL;
    json_object_object_get_ex(value, "arguments", &arguments);
    return loop_spec_add_tool_condition(
        spec, name, tool, json_get_string(value, "server", NULL),
        arguments == NULL ? NULL
                          : json_object_to_json_string_ext(arguments, JSON_C_TO_STRING_PLAIN),
        timeout_ns, err);
}

static int decode_conditions(struct json_object *root, struct loop_spec *spec,
                             struct rondo_error *err)
{
    struct json_object *list = NULL;
    if (!json_object_object_get_ex(root, "conditions", &list) ||
        !json_object_is_type(list, json_type_array)) {
        return 0;
    }
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        int r = decode_condition(json_object_array_get_idx(list, i), spec, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int loop_spec_decode(const char *json, size_t len, struct loop_spec *ret_spec,
                     struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    int r = json_parse(json, len, &root, err);
    if (r < 0) {
        error_prefix(err, "the stored options of the run");
        return r;
    }
    struct loop_spec spec = loop_spec_default();
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        decode_member(root, i, &spec);
    }
    r = decode_conditions(root, &spec, err);
    if (r == 0) {
        r = loop_spec_check(&spec, err);
    }
    if (r < 0) {
        error_prefix(err, "the stored options of the run");
        loop_spec_fini(&spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}
