// SPDX-License-Identifier: Apache-2.0
/* Explanations of policies: states and scopes. Conditions are explain_condition.c's. */
#include "policy/explain/explain.h"

#include "base/buf.h"
#include "base/memory.h"
#include "policy/cedar/policies.h"
#include "policy/explain/explain_internal.h"

#include <stdlib.h>
#include <string.h>

/** Longer texts and values are cut. */
#define SHOWN_BYTES 300
/** Groups that are named. */
#define SHOWN_GROUPS 8

const char *explain_state_name(enum explain_state state)
{
    static const char *const names[EXPLAIN_STATE_COUNT] = {"satisfied", "failed", "unsatisfied",
                                                           "out_of_scope"};
    return names[state];
}

const char *explain_truth_name(enum explain_truth truth)
{
    static const char *const names[] = {"false", "true", "error"};
    return names[truth];
}

struct explain *explain_new(const struct cedar_policies *policies,
                            const struct cedar_request *request)
{
    struct explain *explain = memory_new_zero(1, sizeof(*explain));
    explain->policies = policies;
    explain->request = request;
    return explain;
}

void explain_free(struct explain *explain)
{
    if (explain != NULL) {
        arena_fini(&explain->arena);
        free(explain);
    }
}

const char *explain_text(struct explain *explain, const char *bytes, size_t len)
{
    static const char dots[] = "...";
    size_t shown = len > SHOWN_BYTES ? SHOWN_BYTES : len;
    while (shown < len && shown > 0 && ((unsigned char)bytes[shown] & 0xc0) == 0x80) {
        shown--; /* never through the middle of a character */
    }
    char *text = arena_new_array(&explain->arena, shown + sizeof(dots), 1);
    memcpy(text, bytes, shown);
    memcpy(text + shown, shown < len ? dots : "", shown < len ? sizeof(dots) : 1);
    return text;
}

void explain_write_entity(struct explain *explain, const struct cedar_uid *uid,
                          struct buf *ret_text)
{
    cedar_uid_write(uid, ret_text);
    const struct cedar_entity *entity = cedar_entities_find(explain->request->entities, uid);
    size_t count = entity == NULL ? 0 : entity->ancestor_count;
    for (size_t i = 0; i < count && i < SHOWN_GROUPS; i++) {
        buf_append_string(ret_text, i == 0 ? ", in " : ", ");
        cedar_uid_write(entity->ancestors[i], ret_text);
    }
    if (count > SHOWN_GROUPS) {
        buf_printf(ret_text, " and %zu more", count - SHOWN_GROUPS);
    }
    buf_append_string(ret_text, count == 0 ? ", in no group" : "");
}

static void begin(struct explain *explain, uint32_t index)
{
    arena_clear(&explain->arena);
    evaluation_begin(&explain->evaluation, explain->request, &explain->arena);
    explain->index = index;
}

/** The first variable whose scope does not match; VARIABLE_CONTEXT when all do. */
static enum request_variable find_mismatch(struct explain *explain, const struct policy *policy)
{
    enum request_variable variable = VARIABLE_PRINCIPAL;
    while (variable < VARIABLE_CONTEXT &&
           evaluate_scope(&explain->evaluation, &policy->scopes[variable], variable)) {
        variable++;
    }
    return variable;
}

static enum explain_state state_of(struct explain *explain, const struct policy *policy)
{
    enum cedar_failure_code failure = CEDAR_FAIL_NONE;
    if (find_mismatch(explain, policy) != VARIABLE_CONTEXT) {
        return EXPLAIN_OUT_OF_SCOPE;
    }
    switch (evaluate_policy(&explain->evaluation, policy, &failure)) {
    case POLICY_SATISFIED:
        return EXPLAIN_SATISFIED;
    case POLICY_FAILED:
        return EXPLAIN_FAILED;
    case POLICY_NOT_SATISFIED:
        break;
    }
    return EXPLAIN_UNSATISFIED;
}

enum explain_state explain_state(struct explain *explain, uint32_t index)
{
    begin(explain, index);
    return state_of(explain, explain->policies->policies[index]);
}

/** A scope as it is after linking: slots have become entities. */
static void write_scope(const struct scope *scope, enum request_variable variable,
                        struct buf *ret_text)
{
    buf_append_string(ret_text, variable_name(variable));
    if (scope->kind == SCOPE_IS) {
        buf_printf(ret_text, " is %s", scope->type->bytes);
    }
    if (scope->kind == SCOPE_EQUAL || scope->count > 0 || scope->kind == SCOPE_IN) {
        buf_append_string(ret_text, scope->kind == SCOPE_EQUAL ? " == " : " in ");
    }
    bool is_list = scope->kind == SCOPE_IN && scope->count != 1;
    buf_append_string(ret_text, is_list ? "[" : "");
    for (uint32_t i = 0; i < scope->count; i++) {
        buf_append_string(ret_text, i > 0 ? ", " : "");
        cedar_uid_write(scope->uids[i], ret_text);
    }
    buf_append_string(ret_text, is_list ? "]" : "");
}

static void explain_scope(struct explain *explain, const struct policy *policy)
{
    const struct cedar_request *request = explain->request;
    const struct cedar_uid *const uids[] = {request->principal, request->action, request->resource};
    enum request_variable variable = find_mismatch(explain, policy);
    const struct scope *scope = &policy->scopes[variable];
    auto_buf struct buf text = {0};
    write_scope(scope, variable, &text);
    explain->policy.scope = explain_text(explain, text.data, text.len);
    explain->policy.scope_variable = variable_name(variable);
    buf_clear(&text);
    if (scope->kind == SCOPE_EQUAL || scope->count == 0) {
        cedar_uid_write(uids[variable], &text);
    } else {
        explain_write_entity(explain, uids[variable], &text);
    }
    explain->policy.scope_value = explain_text(explain, text.data, text.len);
}

const struct explain_policy *explain_policy(struct explain *explain, uint32_t index)
{
    const struct policy *policy = explain->policies->policies[index];
    const char *reason = cedar_policies_annotation(explain->policies, index, "reason");
    begin(explain, index);
    explain->policy = (struct explain_policy){
        .index = index,
        .state = state_of(explain, policy),
        .is_forbid = policy->is_forbid,
        .id = policy->id->bytes,
        .reason = reason == NULL ? "" : reason,
        .scope = "",
        .scope_variable = "",
        .scope_value = "",
    };
    cedar_policies_position(explain->policies, index, &explain->policy.file, &explain->policy.line);
    if (explain->policy.state == EXPLAIN_OUT_OF_SCOPE) {
        explain_scope(explain, policy);
    } else {
        explain_conditions(explain);
    }
    return &explain->policy;
}
