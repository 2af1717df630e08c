// SPDX-License-Identifier: Apache-2.0
/* For which actions a policy can apply by its scope, and policies that can apply for none. */
#include "base/auto.h"
#include "base/buf.h"
#include "policy/cedar/policies.h"
#include "policy/lint/lint_internal.h"

/** What is found out about a scope. */
struct reach {
    struct lint *lint;
    unsigned actions;
    bool is_quiet; /**< the reason for matching nothing is known: reported, or AgentCore */
};

static void report_scope(struct reach *reach, enum request_variable variable, const char *reason)
{
    lint_report(reach->lint, false, reach->lint->policy->scopes[variable].begin,
                "this policy never applies: %s", reason);
    reach->is_quiet = true;
}

/** Actions that one uid of the action scope stands for. */
static unsigned actions_of(struct reach *reach, const struct scope *scope,
                           const struct cedar_uid *uid)
{
    const char *type = uid->type->bytes;
    unsigned in = vocabulary_actions_in(type, uid->id->bytes, uid->id->len);
    unsigned equal = vocabulary_actions_equal(type, uid->id->bytes, uid->id->len);
    if (in == 0) {
        /* Either unknown, which was said already, or another one of AgentCore. */
        reach->is_quiet = true;
    } else if (scope->kind == SCOPE_EQUAL && equal == 0) {
        report_scope(reach, VARIABLE_ACTION,
                     "`" VOCABULARY_GROUP_TYPE "::\"" VOCABULARY_GROUP_ID
                     "\"` is a group; write `action in` instead of `action ==`");
    }
    return scope->kind == SCOPE_EQUAL ? equal : in;
}

static void reach_action(struct reach *reach)
{
    const struct scope *scope = &reach->lint->policy->scopes[VARIABLE_ACTION];
    if (scope->kind == SCOPE_ANY) {
        return;
    }
    unsigned actions = 0;
    for (uint32_t i = 0; i < scope->count; i++) {
        actions |= actions_of(reach, scope, scope->uids[i]);
    }
    reach->actions = actions;
    if (scope->count == 0) {
        report_scope(reach, VARIABLE_ACTION, "no action is in `[]`");
    }
}

/** Actions for which an entity of a type can be, or be in, one of the named type. */
static unsigned actions_for_type(struct reach *reach, enum request_variable variable,
                                 const struct cedar_text *type, bool is_in)
{
    enum vocabulary_owner owner = vocabulary_entity_from_name(type->bytes, type->len);
    if (owner == OWNER_NONE) {
        reach->is_quiet = true;
        return vocabulary_is_foreign(type->bytes, type->len) ? 0 : VOCABULARY_ALL_ACTIONS;
    }
    unsigned actions = 0;
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        enum vocabulary_owner own =
            variable == VARIABLE_PRINCIPAL ? OWNER_AGENT : vocabulary_resource_owner(i);
        bool can_be = is_in ? vocabulary_can_be_in(own, owner) : own == owner;
        actions |= can_be ? VOCABULARY_ACTION_BIT(i) : 0;
    }
    return actions;
}

static void report_entity(struct reach *reach, enum request_variable variable)
{
    auto_buf struct buf text = {0};
    if (variable == VARIABLE_PRINCIPAL) {
        buf_append_string(&text, "the principal is always an Agent, alone or in a Group");
    } else {
        const char *separator = "the resource of ";
        for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
            if ((reach->actions & VOCABULARY_ACTION_BIT(i)) != 0) {
                buf_printf(&text, "%s`%s` is a %s", separator, vocabulary_action_name(i),
                           vocabulary_action_resource(i));
                separator = ", that of ";
            }
        }
    }
    report_scope(reach, variable, buf_string(&text));
}

static void reach_entity(struct reach *reach, enum request_variable variable)
{
    const struct scope *scope = &reach->lint->policy->scopes[variable];
    unsigned actions = VOCABULARY_ALL_ACTIONS;
    if (scope->kind == SCOPE_IS) {
        actions &= actions_for_type(reach, variable, scope->type, false);
    }
    for (uint32_t i = 0; i < scope->count; i++) {
        actions &=
            actions_for_type(reach, variable, scope->uids[i]->type, scope->kind != SCOPE_EQUAL);
    }
    if ((reach->actions & actions) == 0 && !reach->is_quiet) {
        report_entity(reach, variable);
    }
    reach->actions &= actions;
}

unsigned lint_scope(struct lint *lint)
{
    struct reach reach = {.lint = lint, .actions = VOCABULARY_ALL_ACTIONS};
    reach_action(&reach);
    reach_entity(&reach, VARIABLE_PRINCIPAL);
    reach_entity(&reach, VARIABLE_RESOURCE);
    return reach.actions;
}

/** What is wrong with a scope is reported elsewhere. */
static void ignore(const struct lint_finding *finding, void *context)
{
    (void)finding;
    (void)context;
}

bool lint_has_permit_for(const struct cedar_policies *policies, enum vocabulary_action action)
{
    for (uint32_t i = 0; i < policies->count; i++) {
        const struct policy *policy = policies->policies[i];
        struct lint lint = {.fn = ignore, .index = i, .policy = policy};
        if (!policy->is_forbid && (lint_scope(&lint) & VOCABULARY_ACTION_BIT(action)) != 0) {
            return true;
        }
    }
    return false;
}
