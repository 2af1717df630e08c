// SPDX-License-Identifier: Apache-2.0
/* Records as JSON, by one table of their members. */
#include "handoff/record.h"

#include "base/error.h"
#include "base/json/json.h"

#include <json-c/json.h>
#include <string.h>

#define FORMAT 1

enum kind { KIND_TEXT, KIND_TIME, KIND_COUNT, KIND_VERSION, KIND_BOOL, KIND_NAME };

/** Words of an enum, and how many there are. */
typedef const char *name_fn(unsigned value);

static const char *state_name(unsigned value)
{
    return handoff_state_name((enum handoff_state)value);
}

static const char *application_name(unsigned value)
{
    return handoff_application_name((enum handoff_application)value);
}

static const char *level_name(unsigned value)
{
    return handoff_level_name((enum handoff_level)value);
}

struct record_member {
    const char *key;
    enum kind kind;
    size_t offset;
    size_t size;    /**< KIND_TEXT */
    name_fn *name;  /**< KIND_NAME */
    unsigned count; /**< KIND_NAME: values */
};

#define TEXT(member)                                          \
    {                                                         \
#member, KIND_TEXT, offsetof(struct handoff, member), \
            sizeof(((struct handoff *)0)->member), NULL, 0    \
    }
#define VALUE(member, kind)                                         \
    {                                                               \
#member, kind, offsetof(struct handoff, member), 0, NULL, 0 \
    }
#define NAME(member, name, count)                                            \
    {                                                                        \
#member, KIND_NAME, offsetof(struct handoff, member), 0, name, count \
    }

static const struct record_member members[] = {
    TEXT(request_id),
    TEXT(agent_id),
    TEXT(lane_id),
    TEXT(parent_id),
    TEXT(owner),
    TEXT(action_digest),
    TEXT(state_hash),
    TEXT(first_digest),
    TEXT(answer_digest),
    NAME(risk, level_name, HANDOFF_LEVEL_COUNT),
    NAME(priority, level_name, HANDOFF_LEVEL_COUNT),
    NAME(state, state_name, HANDOFF_STATE_COUNT),
    VALUE(revision, KIND_COUNT),
    VALUE(version, KIND_VERSION),
    VALUE(requested_ns, KIND_TIME),
    VALUE(required_by_ns, KIND_TIME),
    VALUE(sla_begin_ns, KIND_TIME),
    VALUE(sla_due_ns, KIND_TIME),
    VALUE(info_begin_ns, KIND_TIME),
    VALUE(info_due_ns, KIND_TIME),
    VALUE(is_extended, KIND_BOOL),
    VALUE(ladder_done, KIND_COUNT),
    VALUE(escalation_level, KIND_COUNT),
    VALUE(hops, KIND_COUNT),
    TEXT(asked_by),
    TEXT(claimed_by),
    VALUE(claim_until_ns, KIND_TIME),
    TEXT(decided_by),
    VALUE(decided_ns, KIND_TIME),
    TEXT(superseded_by),
    NAME(application, application_name, APPLICATION_COUNT),
    VALUE(is_foreign, KIND_BOOL),
    VALUE(is_idempotent, KIND_BOOL),
    TEXT(consumer),
    VALUE(lease_until_ns, KIND_TIME),
    VALUE(valid_until_ns, KIND_TIME),
    VALUE(deliveries, KIND_COUNT),
    TEXT(result_digest),
};

#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

/* ---- Writing -------------------------------------------------------------------------------- */

static void write_int(struct json_writer *writer, const char *key, int64_t number)
{
    if (number != 0) {
        json_write_int(writer, key, number);
    }
}

static void write_member(struct json_writer *writer, const struct handoff *handoff,
                         const struct record_member *member)
{
    const char *place = (const char *)handoff + member->offset;
    switch (member->kind) {
    case KIND_TEXT:
        if (place[0] != '\0') {
            json_write_string(writer, member->key, place);
        }
        return;
    case KIND_TIME:
        write_int(writer, member->key, *(const int64_t *)(const void *)place);
        return;
    case KIND_COUNT:
        write_int(writer, member->key, *(const uint32_t *)(const void *)place);
        return;
    case KIND_VERSION:
        write_int(writer, member->key, (int64_t) * (const uint64_t *)(const void *)place);
        return;
    case KIND_BOOL:
        if (*(const bool *)place) {
            json_write_bool(writer, member->key, true);
        }
        return;
    case KIND_NAME:
        json_write_string(writer, member->key,
                          member->name(*(const unsigned *)(const void *)place));
        return;
    }
}

void handoff_encode(const struct handoff *handoff, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", FORMAT);
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        write_member(&writer, handoff, &members[i]);
    }
    json_begin_array(&writer, "desks");
    for (uint32_t i = 0; i < handoff->desk_count; i++) {
        json_write_string(&writer, NULL, handoff->desks[i]);
    }
    json_end_array(&writer);
    json_begin_array(&writer, "approvals");
    for (uint32_t i = 0; i < handoff->approval_count; i++) {
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "operator_id", handoff->approvals[i].operator_id);
        json_write_int(&writer, "time_ns", handoff->approvals[i].time_ns);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/** @return whether the text fits */
static bool read_text(struct json_object *value, char *ret_text, size_t size)
{
    const char *text = value == NULL ? "" : json_object_get_string(value);
    size_t len = value == NULL ? 0 : (size_t)json_object_get_string_len(value);
    if ((value != NULL && !json_object_is_type(value, json_type_string)) || len >= size ||
        strlen(text) != len) {
        return false;
    }
    memcpy(ret_text, text, len + 1);
    return true;
}

/** @return whether there is nothing, or an integer from 0 to `most` */
static bool read_number(struct json_object *value, int64_t most, int64_t *ret_number)
{
    *ret_number = value == NULL ? 0 : json_object_get_int64(value);
    return value == NULL ||
           (json_object_is_type(value, json_type_int) && *ret_number >= 0 && *ret_number <= most);
}

static bool read_name(struct json_object *value, const struct record_member *member,
                      unsigned *ret_value)
{
    const char *name =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
    unsigned i = 0;
    while (i < member->count && strcmp(name, member->name(i)) != 0) {
        i++;
    }
    *ret_value = i;
    return i < member->count;
}

static bool read_member(struct json_object *root, const struct record_member *member,
                        struct handoff *handoff)
{
    char *place = (char *)handoff + member->offset;
    struct json_object *value = json_member(root, member->key);
    int64_t number = 0;
    bool is_valid = true;
    switch (member->kind) {
    case KIND_TEXT:
        return read_text(value, place, member->size);
    case KIND_TIME:
        return read_number(value, INT64_MAX, (int64_t *)(void *)place);
    case KIND_COUNT:
        is_valid = read_number(value, UINT32_MAX, &number);
        *(uint32_t *)(void *)place = (uint32_t)number;
        return is_valid;
    case KIND_VERSION:
        is_valid = read_number(value, INT64_MAX, &number);
        *(uint64_t *)(void *)place = (uint64_t)number;
        return is_valid;
    case KIND_BOOL:
        *(bool *)place = json_object_get_boolean(value);
        return value == NULL || json_object_is_type(value, json_type_boolean);
    case KIND_NAME:
        return read_name(value, member, (unsigned *)(void *)place);
    }
    return false;
}

static bool read_desks(struct json_object *list, struct handoff *handoff)
{
    size_t count = json_object_is_type(list, json_type_array) ? json_object_array_length(list)
                                                              : HANDOFF_MOST_DESKS + 1;
    if (count > HANDOFF_MOST_DESKS) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!read_text(json_object_array_get_idx(list, i), handoff->desks[i], HANDOFF_NAME_SIZE)) {
            return false;
        }
    }
    handoff->desk_count = (uint32_t)count;
    return true;
}

static bool read_approvals(struct json_object *list, struct handoff *handoff)
{
    size_t count = json_object_is_type(list, json_type_array) ? json_object_array_length(list)
                                                              : HANDOFF_MOST_APPROVALS + 1;
    if (count > HANDOFF_MOST_APPROVALS) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        struct handoff_approval *approval = &handoff->approvals[i];
        if (!read_text(json_member(item, "operator_id"), approval->operator_id,
                       HANDOFF_NAME_SIZE) ||
            !read_number(json_member(item, "time_ns"), INT64_MAX, &approval->time_ns)) {
            return false;
        }
    }
    handoff->approval_count = (uint32_t)count;
    return true;
}

/** What no step leaves out. */
static bool is_plausible(const struct handoff *handoff)
{
    bool is_approved = handoff->state == HANDOFF_APPROVED;
    return handoff->revision > 0 && handoff->version > 0 && id_is_valid(handoff->request_id) &&
           handoff->agent_id[0] != '\0' && handoff->sla_due_ns >= handoff->sla_begin_ns &&
           strlen(handoff->action_digest) == HANDOFF_DIGEST_SIZE - 1 &&
           is_approved == (handoff->application != APPLICATION_NONE) &&
           (!handoff_is_open(handoff) || handoff->desk_count > 0) &&
           (!is_approved || handoff->approval_count > 0);
}

int handoff_decode(const char *data, size_t len, struct handoff *ret_handoff,
                   struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    struct handoff handoff = {0};
    bool is_valid =
        json_parse_strict(data, len, &root, NULL) == 0 && json_get_int(root, "format", 0) == FORMAT;
    for (size_t i = 0; i < MEMBER_COUNT && is_valid; i++) {
        is_valid = read_member(root, &members[i], &handoff);
    }
    if (!is_valid || !read_desks(json_member(root, "desks"), &handoff) ||
        !read_approvals(json_member(root, "approvals"), &handoff) || !is_plausible(&handoff)) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "the record of a handoff cannot be read, or is of a newer version");
    }
    *ret_handoff = handoff;
    return 0;
}
