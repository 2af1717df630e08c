// SPDX-License-Identifier: Apache-2.0
/* The table of what a start request may hold, and the one way to read each kind of value. */
#include "server/api/start_members.h"

#include "agent/spec/options.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/labels.h"
#include "base/text/plain.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE        (-1)
#define MILLIONTHS  1e6
#define MOST_NUMBER (INT64_MAX / 2)

enum start_member_kind {
    MEMBER_TEXT, /* at most `high` bytes */
    MEMBER_LIST, /* of texts, at most `high` of them */
    MEMBER_NUMBER,
    MEMBER_MONEY, /* dollars */
    MEMBER_FLAG,
    MEMBER_CHOICE,
    MEMBER_CONDITIONS,
};

struct member_choice {
    const char *name;
    int64_t value;
};

struct start_member {
    const char *name;
    enum start_member_kind kind;
    unsigned of; /* kinds of runs */
    size_t offset;
    int64_t low, high;
    const struct member_choice *choices;
};

static const struct member_choice tiers[] = {
    {"namespace", SANDBOX_NAMESPACE}, {"landlock", SANDBOX_LANDLOCK}, {"none", SANDBOX_NONE}, {0}};
static const struct member_choice durabilities[] = {
    {"strict", DURABILITY_STRICT}, {"best_effort", DURABILITY_BEST_EFFORT}, {0}};
static const struct member_choice modes[] = {
    {"autonomous", AGENT_AUTONOMOUS}, {"single", AGENT_SINGLE}, {0}};

/** A path of the machine, bytes. */
#define PATH_BYTES 4095

#define AT(member) offsetof(struct start_members, member)
#define TEXT(word, member, kinds, most)                                                          \
    {                                                                                            \
        .name = (word), .kind = MEMBER_TEXT, .of = (kinds), .offset = AT(member), .high = (most) \
    }
#define LIST(word, member, kinds)                                                 \
    {                                                                             \
        .name = (word), .kind = MEMBER_LIST, .of = (kinds), .offset = AT(member), \
        .high = LIMIT_ARGUMENTS                                                   \
    }
#define NUMBER(word, member, kinds, least, most)                                    \
    {                                                                               \
        .name = (word), .kind = MEMBER_NUMBER, .of = (kinds), .offset = AT(member), \
        .low = (least), .high = (most)                                              \
    }
#define FLAG(word, member, kinds)                                                \
    {                                                                            \
        .name = (word), .kind = MEMBER_FLAG, .of = (kinds), .offset = AT(member) \
    }
#define CHOICE(word, member, kinds, names)                                          \
    {                                                                               \
        .name = (word), .kind = MEMBER_CHOICE, .of = (kinds), .offset = AT(member), \
        .choices = (names)                                                          \
    }

static const struct start_member table[] = {
    LIST("command", command, START_COMMAND),
    TEXT("agent_id", agent_id, START_PROGRAM, LIMIT_AGENT_ID_LEN),
    NUMBER("iteration_timeout_ns", iteration_timeout_ns, START_PROGRAM, 1, LIMIT_DURATION_NS),
    NUMBER("first_output_ns", first_output_ns, START_PROGRAM, 1, LIMIT_DURATION_NS),
    NUMBER("silence_ns", silence_ns, START_PROGRAM, 1, LIMIT_DURATION_NS),
    CHOICE("sandbox", sandbox, START_PROGRAM, tiers),
    LIST("read", read_paths, START_PROGRAM),
    LIST("write", write_paths, START_PROGRAM),
    LIST("env", env_names, START_PROGRAM),
    TEXT("coding_agent", coding_agent, START_CODING, LIMIT_AGENT_ID_LEN),
    TEXT("role", role, START_ROLE, LIMIT_ROLE_FILE_BYTES),
    TEXT("role_file", role_file, START_ROLE, PATH_BYTES),
    CHOICE("mode", mode, START_ROLE, modes),
    TEXT("model", model, START_ROLE | START_CODING, PATH_BYTES),
    NUMBER("token_budget", token_budget, START_ROLE, 1, MOST_NUMBER),
    LIST("allow_hosts", allow_hosts, START_ROLE),
    FLAG("dry_run", is_dry_run, START_ROLE),
    FLAG("accept_unprotected", accepts_unprotected, START_ROLE),
    TEXT("prompt", prompt, START_ALL, LIMIT_PROMPT_BYTES),
    TEXT("workspace", workspace, START_ALL, PATH_BYTES),
    TEXT("policy", policy, START_ALL, PATH_BYTES),
    TEXT("pool", pool, START_ALL, LABELS_SIZE - 1),
    {.name = "conditions",
     .kind = MEMBER_CONDITIONS,
     .of = START_ALL,
     .offset = AT(conditions),
     .high = LIMIT_CONDITIONS},
    NUMBER("max_iterations", max_iterations, START_ALL, 1, LIMIT_MAX_ITERATIONS),
    NUMBER("max_tokens", max_tokens, START_ALL, 1, MOST_NUMBER),
    {.name = "max_cost",
     .kind = MEMBER_MONEY,
     .of = START_ALL,
     .offset = AT(max_cost_micro),
     .low = 1,
     .high = MOST_NUMBER},
    NUMBER("time_limit_ns", time_limit_ns, START_ALL, 1, LIMIT_DURATION_NS),
    NUMBER("delay_ns", delay_ns, START_ALL, 0, LIMIT_DURATION_NS),
    NUMBER("checkpoint_interval", checkpoint_interval, START_ALL, 1, LIMIT_MAX_ITERATIONS),
    NUMBER("max_failures", max_failures, START_ALL, 1, LIMIT_MAX_ITERATIONS),
    CHOICE("durability", durability, START_ALL, durabilities),
    FLAG("exclusive", is_exclusive, START_ALL),
    FLAG("allow_network", allow_network, START_ALL),
    CHOICE("verifier_sandbox", verifier_sandbox, START_ALL, tiers),
    {0},
};

#define IN_CONDITION(member) offsetof(struct start_condition, member)

static const struct start_member condition_table[] = {
    {.name = "name",
     .kind = MEMBER_TEXT,
     .of = START_ALL,
     .offset = IN_CONDITION(name),
     .high = LIMIT_CONDITION_NAME_LEN},
    {.name = "command",
     .kind = MEMBER_TEXT,
     .of = START_ALL,
     .offset = IN_CONDITION(command),
     .high = LIMIT_COMMAND_BYTES},
    {.name = "timeout_ns",
     .kind = MEMBER_NUMBER,
     .of = START_ALL,
     .offset = IN_CONDITION(timeout_ns),
     .low = 1,
     .high = LIMIT_DURATION_NS},
    {0},
};

/** Where values go, and how a path to them begins ("conditions[2]."). */
struct target {
    void *values;
    const char *prefix;
};

static int wrong(const struct target *target, const struct start_member *member,
                 struct rondo_error *err, const char *what)
{
    return error_set(err, RONDO_ERR_INVALID, "%s%s: must be %s", target->prefix, member->name,
                     what);
}

static void put_number(const struct target *target, const struct start_member *member,
                       int64_t number)
{
    memcpy((char *)target->values + member->offset, &number, sizeof(number));
}

static void put_pointer(const struct target *target, const struct start_member *member,
                        const void *pointer)
{
    memcpy((char *)target->values + member->offset, &pointer, sizeof(pointer));
}

/** Whether a value is text that C can hold. */
static bool is_text(struct json_object *value)
{
    return json_object_is_type(value, json_type_string) &&
           strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value);
}

static int read_text(const struct target *target, const struct start_member *member,
                     struct json_object *value, struct rondo_error *err)
{
    if (!is_text(value)) {
        return wrong(target, member, err, "text without NUL bytes");
    }
    if (json_object_get_string_len(value) == 0) {
        return wrong(target, member, err, "text that is not empty");
    }
    if (json_object_get_string_len(value) > member->high) {
        return error_set(err, RONDO_ERR_LIMIT, "%s%s: is longer than %" PRId64 " bytes",
                         target->prefix, member->name, member->high);
    }
    put_pointer(target, member, json_object_get_string(value));
    return 0;
}

static int read_list(const struct target *target, const struct start_member *member,
                     struct json_object *value, struct rondo_error *err)
{
    if (!json_object_is_type(value, json_type_array)) {
        return wrong(target, member, err, "an array of strings");
    }
    size_t count = json_object_array_length(value);
    if (count > (size_t)member->high) {
        return error_set(err, RONDO_ERR_LIMIT, "%s%s: has %zu entries; the limit is %" PRId64,
                         target->prefix, member->name, count, member->high);
    }
    char **list = memory_new_zero(count + 1, sizeof(*list));
    put_pointer(target, member, list);
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(value, i);
        if (!is_text(item)) {
            return error_set(err, RONDO_ERR_INVALID, "%s%s[%zu]: must be text without NUL bytes",
                             target->prefix, member->name, i);
        }
        list[i] = (char *)json_object_get_string(item);
    }
    return 0;
}

static int out_of_range(const struct target *target, const struct start_member *member,
                        struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_INVALID,
                     "%s%s: must be an integer between %" PRId64 " and %" PRId64, target->prefix,
                     member->name, member->low, member->high);
}

static int read_number(const struct target *target, const struct start_member *member,
                       struct json_object *value, struct rondo_error *err)
{
    int64_t number =
        json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : INT64_MIN;
    if (number < member->low || number > member->high) {
        return out_of_range(target, member, err);
    }
    put_number(target, member, number);
    return 0;
}

static int read_money(const struct target *target, const struct start_member *member,
                      struct json_object *value, struct rondo_error *err)
{
    bool is_number =
        json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
    double micro = is_number ? json_object_get_double(value) * MILLIONTHS : NAN;
    /* What is not a number compares as false. */
    if (!(micro >= 0.5 && micro <= (double)(INT64_MAX / 4))) {
        return wrong(target, member, err, "an amount in dollars, at least 0.000001");
    }
    put_number(target, member, (int64_t)(micro + 0.5));
    return 0;
}

static int read_flag(const struct target *target, const struct start_member *member,
                     struct json_object *value, struct rondo_error *err)
{
    if (!json_object_is_type(value, json_type_boolean)) {
        return wrong(target, member, err, "true or false");
    }
    put_number(target, member, json_object_get_boolean(value) ? 1 : 0);
    return 0;
}

static int read_choice(const struct target *target, const struct start_member *member,
                       struct json_object *value, struct rondo_error *err)
{
    const char *given = is_text(value) ? json_object_get_string(value) : "";
    auto_buf struct buf names = {0};
    for (const struct member_choice *choice = member->choices; choice->name != NULL; choice++) {
        if (strcmp(choice->name, given) == 0) {
            put_number(target, member, choice->value);
            return 0;
        }
        buf_printf(&names, "%s\"%s\"", names.len > 0 ? ", " : "one of ", choice->name);
    }
    return wrong(target, member, err, buf_string(&names));
}

static int read_conditions(const struct target *target, const struct start_member *member,
                           struct json_object *value, struct rondo_error *err)
{
    if (!json_object_is_type(value, json_type_array)) {
        return wrong(target, member, err, "an array of objects");
    }
    if (json_object_array_length(value) > (size_t)member->high) {
        return error_set(err, RONDO_ERR_LIMIT,
                         "%s: a run takes at most %" PRId64 " exit conditions", member->name,
                         member->high);
    }
    put_pointer(target, member, value);
    return 0;
}

static int read_value(const struct target *target, const struct start_member *member,
                      struct json_object *value, struct rondo_error *err)
{
    switch (member->kind) {
    case MEMBER_TEXT:
        return read_text(target, member, value, err);
    case MEMBER_LIST:
        return read_list(target, member, value, err);
    case MEMBER_NUMBER:
        return read_number(target, member, value, err);
    case MEMBER_MONEY:
        return read_money(target, member, value, err);
    case MEMBER_FLAG:
        return read_flag(target, member, value, err);
    case MEMBER_CHOICE:
        return read_choice(target, member, value, err);
    case MEMBER_CONDITIONS:
        return read_conditions(target, member, value, err);
    }
    return 0;
}

/** A name from outside, short and plain enough for a message. */
#define SHOWN_NAME_BYTES 64

static int unknown(const struct target *target, const char *name, struct rondo_error *err)
{
    auto_buf struct buf shown = {0};
    text_clean(name, strnlen(name, SHOWN_NAME_BYTES), &shown);
    return error_set(err, RONDO_ERR_INVALID, "%s%s: there is no such member", target->prefix,
                     buf_string(&shown));
}

static int read_member(const struct target *target, const struct start_member *members,
                       unsigned kind, const char *name, struct json_object *value,
                       struct rondo_error *err)
{
    const struct start_member *member = members;
    while (member->name != NULL && strcmp(member->name, name) != 0) {
        member++;
    }
    if (member->name == NULL) {
        return unknown(target, name, err);
    }
    if ((member->of & kind) == 0) {
        return error_set(err, RONDO_ERR_INVALID, "%s%s: has no meaning for a run of %s",
                         target->prefix, name,
                         kind == START_ROLE     ? "a role"
                         : kind == START_CODING ? "a coding agent"
                                                : "a worker command");
    }
    return value == NULL ? 0 : read_value(target, member, value, err);
}

static int read_object(const struct target *target, const struct start_member *members,
                       unsigned kind, struct json_object *object, struct rondo_error *err)
{
    struct json_object_iterator item = json_object_iter_begin(object);
    struct json_object_iterator end = json_object_iter_end(object);
    int r = 0;
    while (r == 0 && !json_object_iter_equal(&item, &end)) {
        r = read_member(target, members, kind, json_object_iter_peek_name(&item),
                        json_object_iter_peek_value(&item), err);
        json_object_iter_next(&item);
    }
    return r;
}

int start_members_read(struct json_object *request, unsigned kind,
                       struct start_members *ret_members, struct rondo_error *err)
{
    *ret_members = (struct start_members){
        .is_exclusive = NONE,
        .allow_network = NONE,
        .durability = NONE,
        .delay_ns = NONE,
        .sandbox = NONE,
        .verifier_sandbox = NONE,
    };
    struct target target = {.values = ret_members, .prefix = ""};
    return read_object(&target, table, kind, request, err);
}

void start_members_fini(struct start_members *members)
{
    free(members->command);
    free(members->read_paths);
    free(members->write_paths);
    free(members->env_names);
    free(members->allow_hosts);
    *members = (struct start_members){0};
}

int start_condition_read(struct json_object *conditions, size_t index,
                         struct start_condition *ret_condition, struct rondo_error *err)
{
    char prefix[48];
    snprintf(prefix, sizeof(prefix), "conditions[%zu]", index);
    struct json_object *object = json_object_array_get_idx(conditions, index);
    if (!json_object_is_type(object, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "%s: must be an object", prefix);
    }
    snprintf(prefix, sizeof(prefix), "conditions[%zu].", index);
    *ret_condition = (struct start_condition){0};
    struct target target = {.values = ret_condition, .prefix = prefix};
    int r = read_object(&target, condition_table, START_ALL, object, err);
    if (r == 0 && ret_condition->name == NULL) {
        r = error_set(err, RONDO_ERR_INVALID, "%sname: is missing", prefix);
    }
    return r;
}
