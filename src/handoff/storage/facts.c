// SPDX-License-Identifier: Apache-2.0
#include "handoff/storage/facts.h"

#include "base/json/json.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fact_named(const char *name, enum handoff_fact *ret_fact)
{
    for (int i = 0; i < FACT_COUNT; i++) {
        if (strcmp(handoff_fact_name((enum handoff_fact)i), name) == 0) {
            *ret_fact = (enum handoff_fact)i;
            return true;
        }
    }
    return false;
}

bool handoff_entry_read(const char *json, size_t len, struct handoff_entry *ret_entry)
{
    auto_json struct json_object *root = NULL;
    struct handoff_entry entry = {0};
    if (json_parse(json, len, &root, NULL) < 0 ||
        !fact_named(json_get_string(root, "kind", ""), &entry.fact)) {
        return false;
    }
    entry.number = (uint64_t)json_get_int(root, "seq", 0);
    entry.time_ns = strtoll(json_get_string(root, "time_ns", "0"), NULL, 10);
    entry.is_of_time = strcmp(json_get_string(root, "actor", ""), "system:time") == 0;
    entry.is_shed = strcmp(json_get_string(root, "actor", ""), HANDOFF_SHEDDER) == 0;
    snprintf(entry.request_id, sizeof(entry.request_id), "%s",
             json_get_string(root, "request_id", ""));
    snprintf(entry.role, sizeof(entry.role), "%s", json_get_string(root, "role", ""));
    *ret_entry = entry;
    return true;
}

static void copy(char *ret_text, size_t size, struct json_object *object, const char *name)
{
    const char *text = json_get_string(object, name, "none");
    snprintf(ret_text, size, "%s", text[0] == '\0' ? "none" : text);
}

static double read_confidence(struct json_object *object, const char *name)
{
    struct json_object *value = json_member(object, name);
    bool is_number =
        json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int);
    double number = is_number ? json_object_get_double(value) : -1;
    return number >= 0 && number <= 1 ? number : -1;
}

int handoff_facts_of(const struct handoff_store *handoffs, const char *request_id,
                     struct handoff_facts_of *ret_facts, struct rondo_error *err)
{
    struct handoff handoff;
    auto_buf struct buf json = {0};
    auto_json struct json_object *body = NULL;
    int r = handoff_read(handoffs, request_id, &handoff, err);
    if (r < 0) {
        return r;
    }
    /* What was sent may have been deleted; the record says the rest. */
    if (handoff_read_body(handoffs, request_id, 1, &json, NULL) == 0) {
        (void)json_parse(json.data, json.len, &body, NULL);
    }
    struct json_object *trigger = json_member(body, "trigger");
    *ret_facts = (struct handoff_facts_of){
        .confidence = read_confidence(trigger, "confidence_score"),
        .risk = handoff.risk,
        .priority = handoff.priority,
        .requested_ns = handoff.requested_ns,
        .decided_ns = handoff.decided_ns,
        .sla_begin_ns = handoff.sla_begin_ns,
        .escalation_level = handoff.escalation_level,
    };
    if (ret_facts->confidence < 0) {
        ret_facts->confidence = read_confidence(json_member(body, "intent"), "confidence");
    }
    snprintf(ret_facts->agent_id, sizeof(ret_facts->agent_id), "%s", handoff.agent_id);
    copy(ret_facts->trigger, sizeof(ret_facts->trigger), trigger, "trigger_reason");
    copy(ret_facts->rule, sizeof(ret_facts->rule), trigger, "policy_rule_id");
    copy(ret_facts->policy_hash, sizeof(ret_facts->policy_hash), trigger, "policy_hash");
    return 0;
}

bool handoff_is_stale(const struct handoff *handoff, int64_t now_ns)
{
    return handoff->sla_due_ns - now_ns < (handoff->sla_due_ns - handoff->sla_begin_ns) / 4;
}
