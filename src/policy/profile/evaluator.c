// SPDX-License-Identifier: Apache-2.0
/* What Cedar is given for a decision: principal, resource, entities and context. */
#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "policy/profile/internal.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HAS_CLASSIFICATION 1u
#define HAS_APPROVAL       2u

/** Names in the order of enum profile_slot; the optional ones follow where they are. */
static const char *const slots[] = {
    "confidence",        "risk_level",       "impact",          "reversible",     "evidence_count",
    "evidence_required", "evidence_missing", "violation_score", "human_required", "rework_count",
};

static struct cedar_context *new_context(unsigned shape)
{
    const char *names[SLOT_FIRST_OPTIONAL + 2];
    size_t count = SLOT_FIRST_OPTIONAL;
    memcpy(names, slots, sizeof(slots));
    if ((shape & HAS_CLASSIFICATION) != 0) {
        names[count++] = "classification";
    }
    if ((shape & HAS_APPROVAL) != 0) {
        names[count++] = "approval";
    }
    return cedar_context_new(names, count);
}

struct profile_evaluator *profile_evaluator_new(void)
{
    struct profile_evaluator *evaluator = memory_new_zero(1, sizeof(*evaluator));
    evaluator->cedar = cedar_evaluator_new();
    for (unsigned i = 0; i < PROFILE_SHAPES; i++) {
        evaluator->contexts[i] = new_context(i);
    }
    return evaluator;
}

static void forget(struct profile_evaluator *evaluator)
{
    cedar_uid_free(evaluator->principal);
    cedar_uid_free(evaluator->resource);
    cedar_entities_free(evaluator->entities); /* before the set, over whose entities they are */
    profiles_unref(evaluator->of);
    free(evaluator->profile);
    evaluator->principal = NULL;
    evaluator->resource = NULL;
    evaluator->entities = NULL;
    evaluator->profile = NULL;
    evaluator->of = NULL;
}

void profile_evaluator_free(struct profile_evaluator *evaluator)
{
    if (evaluator == NULL) {
        return;
    }
    forget(evaluator);
    for (unsigned i = 0; i < PROFILE_SHAPES; i++) {
        cedar_context_free(evaluator->contexts[i]);
    }
    cedar_evaluator_free(evaluator->cedar);
    free(evaluator);
}

/* ---- Entities ------------------------------------------------------------------------------- */

static bool is_uid(const struct cedar_uid *uid, const char *id)
{
    size_t len = 0;
    const char *own = uid == NULL ? NULL : cedar_uid_id(uid, &len);
    return own != NULL && strlen(id) == len && memcmp(own, id, len) == 0;
}

static void begin_entity(struct json_writer *writer, const char *type, const char *id)
{
    json_begin_object(writer, NULL);
    json_begin_object(writer, "uid");
    json_write_string(writer, "type", type);
    json_write_string(writer, "id", id);
    json_end_object(writer);
    json_begin_object(writer, "attrs");
}

static void end_entity(struct json_writer *writer)
{
    json_end_object(writer);
    json_begin_array(writer, "parents");
    json_end_array(writer);
    json_end_object(writer);
}

static void write_entities(const struct profiles *profiles, const char *agent_id, const char *tool,
                           const char *profile, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    struct json_object *requires_human = json_member(profiles->tools, tool);
    json_begin_array(&writer, NULL);
    begin_entity(&writer, PROFILE_AGENT_TYPE, agent_id);
    json_begin_array(&writer, "profiles");
    json_write_string(&writer, NULL, profile);
    json_end_array(&writer);
    end_entity(&writer);
    begin_entity(&writer, PROFILE_TOOL_TYPE, tool);
    json_write_bool(&writer, "requires_human", json_object_get_boolean(requires_human));
    end_entity(&writer);
    json_end_array(&writer);
}

bool profile_prepare(struct profile_evaluator *evaluator, struct profiles *profiles,
                     const char *agent_id, const char *tool, const char *profile,
                     struct buf *ret_errors)
{
    auto_buf struct buf json = {0};
    struct rondo_error err = {0};
    if (evaluator->of == profiles && strcmp(evaluator->profile, profile) == 0 &&
        is_uid(evaluator->principal, agent_id) && is_uid(evaluator->resource, tool)) {
        return true;
    }
    forget(evaluator);
    write_entities(profiles, agent_id, tool, profile, &json);
    evaluator->principal = cedar_uid_new(PROFILE_AGENT_TYPE, agent_id, &err);
    evaluator->resource = cedar_uid_new(PROFILE_TOOL_TYPE, tool, &err);
    evaluator->entities = cedar_entities_parse(json.data, json.len, profiles->entities, &err);
    if (evaluator->principal == NULL || evaluator->resource == NULL ||
        evaluator->entities == NULL) {
        forget(evaluator);
        profile_add_error(ret_errors, err.message);
        return false;
    }
    evaluator->profile = memory_dup_string(profile);
    evaluator->of = profiles_ref(profiles);
    return true;
}

/* ---- The context ---------------------------------------------------------------------------- */

/** Set an attribute that is not a number; what is written here is always valid. */
static void set_json(struct cedar_context *context, size_t slot, const struct buf *json)
{
    (void)cedar_context_set_json(context, slot, json->data, json->len, NULL);
}

static void set_missing(struct cedar_context *context, struct json_object *missing)
{
    auto_buf struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < json_length(missing); i++) {
        json_write_string(&writer, NULL,
                          json_object_get_string(json_object_array_get_idx(missing, i)));
    }
    json_end_array(&writer);
    set_json(context, SLOT_EVIDENCE_MISSING, &json);
}

static void set_classification(struct cedar_context *context, size_t slot,
                               const struct profile_context *values)
{
    auto_buf struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "label", json_object_get_string(values->label));
    json_begin_object(&writer, "margin");
    json_begin_object(&writer, "__extn");
    json_write_string(&writer, "fn", "decimal");
    char number[32];
    snprintf(number, sizeof(number), "%d.%04d", (int)(values->margin / 10000),
             (int)(values->margin % 10000));
    json_write_string(&writer, "arg", number);
    json_end_object(&writer);
    json_end_object(&writer);
    json_end_object(&writer);
    set_json(context, slot, &json);
}

static void set_approval(struct cedar_context *context, size_t slot,
                         const struct profile_approval *approval)
{
    auto_buf struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    json_write_bool(&writer, "valid", approval->is_valid);
    json_write_int(&writer, "count", approval->count);
    json_write_bool(&writer, "digest_match", approval->is_same_action);
    json_write_bool(&writer, "self_approved", approval->is_self_approved);
    json_write_bool(&writer, "expired", approval->is_expired);
    json_write_raw(&writer, "roles", approval->roles == NULL ? "[]" : approval->roles);
    json_end_object(&writer);
    set_json(context, slot, &json);
}

const struct cedar_context *profile_fill(struct profile_evaluator *evaluator,
                                         const struct profile_context *values,
                                         const struct profile_approval *approval)
{
    unsigned shape = (values->has_classification ? HAS_CLASSIFICATION : 0) |
                     (approval != NULL ? HAS_APPROVAL : 0);
    struct cedar_context *context = evaluator->contexts[shape];
    size_t next = SLOT_FIRST_OPTIONAL;
    cedar_context_set(context, SLOT_CONFIDENCE, cedar_decimal(values->confidence));
    cedar_context_set(context, SLOT_RISK_LEVEL, cedar_long(values->risk_level));
    cedar_context_set(context, SLOT_IMPACT, cedar_long(values->impact));
    cedar_context_set(context, SLOT_REVERSIBLE, cedar_bool(values->is_reversible));
    cedar_context_set(context, SLOT_EVIDENCE_COUNT, cedar_long(values->evidence_count));
    cedar_context_set(context, SLOT_EVIDENCE_REQUIRED, cedar_long(values->evidence_required));
    cedar_context_set(context, SLOT_VIOLATION_SCORE, cedar_decimal(values->violation_score));
    cedar_context_set(context, SLOT_HUMAN_REQUIRED, cedar_bool(values->is_human_required));
    cedar_context_set(context, SLOT_REWORK_COUNT, cedar_long(values->rework_count));
    set_missing(context, values->evidence_missing);
    if (values->has_classification) {
        set_classification(context, next++, values);
    }
    if (approval != NULL) {
        set_approval(context, next, approval);
    }
    return context;
}
