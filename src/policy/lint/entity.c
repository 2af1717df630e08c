// SPDX-License-Identifier: Apache-2.0
/* Rules of `in` and `is`: what may be in what, and for which actions that leaves a way. */
#include "base/auto.h"
#include "base/buf.h"
#include "policy/lint/lint_internal.h"

/** Where an entity may be for each action. */
struct entity_positions {
    unsigned can_be; /* actions for which the answer may be yes */
    unsigned is;     /* actions for which it is yes for certain */
    bool is_quiet;   /* AgentCore's types, unknown types: nothing to say */
};

static bool is_action(const struct expression *expression)
{
    return expression->kind == EXPRESSION_VARIABLE && expression->variable == VARIABLE_ACTION;
}

/** Add what one literal entity on the right side lets through. */
static void judge_uid(struct entity_positions *verdict, const struct expression *left,
                      const struct lint_outcome *types, const struct cedar_uid *uid)
{
    if (is_action(left) && cedar_type_is_action(uid->type)) {
        unsigned in = vocabulary_actions_in(uid->type->bytes, uid->id->bytes, uid->id->len);
        bool is_unknown = in == 0 && !vocabulary_is_foreign(uid->type->bytes, uid->type->len);
        verdict->can_be |= is_unknown ? VOCABULARY_ALL_ACTIONS : in;
        verdict->is |= in;
        verdict->is_quiet |= in == 0;
        return;
    }
    enum vocabulary_owner owner = vocabulary_entity_from_name(uid->type->bytes, uid->type->len);
    bool is_foreign = vocabulary_is_foreign(uid->type->bytes, uid->type->len);
    verdict->is_quiet |= owner == OWNER_NONE;
    for (unsigned i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        struct type type = types->types[i];
        bool is_known = type.kind == CEDAR_ENTITY && type.owner != OWNER_NONE;
        bool can_be = !is_known ||
                      (owner == OWNER_NONE ? !is_foreign : vocabulary_can_be_in(type.owner, owner));
        verdict->can_be |= can_be ? VOCABULARY_ACTION_BIT(i) : 0;
    }
}

/** What the right side of `in` lets through. */
static struct entity_positions verdict_of(const struct expression *left,
                                          const struct lint_outcome *left_types,
                                          const struct expression *right,
                                          const struct lint_outcome *right_types)
{
    struct entity_positions verdict = {0};
    if (right->kind == EXPRESSION_VALUE && right->value.kind == CEDAR_ENTITY) {
        judge_uid(&verdict, left, left_types, cedar_as_uid(right->value));
        return verdict;
    }
    if (right->kind == EXPRESSION_VALUE && right->value.kind == CEDAR_SET) {
        const struct cedar_set *set = cedar_as_set(right->value);
        for (size_t i = 0; i < set->count; i++) {
            if (set->values[i].kind == CEDAR_ENTITY) {
                judge_uid(&verdict, left, left_types, cedar_as_uid(set->values[i]));
            }
        }
        verdict.is_quiet |= set->count == 0;
        return verdict;
    }
    for (unsigned i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        struct type a = left_types->types[i];
        struct type b = right_types->types[i];
        bool is_known = a.kind == CEDAR_ENTITY && b.kind == CEDAR_ENTITY && a.owner != OWNER_NONE &&
                        b.owner != OWNER_NONE;
        bool can_be = !is_known || vocabulary_can_be_in(a.owner, b.owner);
        verdict.can_be |= can_be ? VOCABULARY_ACTION_BIT(i) : 0;
    }
    return verdict;
}

/** The right side must be an entity or a set of entities. @return whether it is, as far as known */
static bool check_right(struct lint *lint, const struct expression *right,
                        const struct lint_outcome *types, struct lint_facts given)
{
    unsigned wrong = wrong_kinds(types, given.live, KIND_BIT(CEDAR_ENTITY) | KIND_BIT(CEDAR_SET));
    auto_buf struct buf text = {0};
    if (wrong != 0) {
        buf_append_string(&text, "the right side of `in` is an entity or a set of entities, but ");
        lint_show(right, &text);
        buf_append_string(&text, " is ");
        type_describe(type_for(types, wrong), &text);
        lint_report_for(lint, wrong, given.live, right->begin, buf_string(&text));
        return false;
    }
    for (unsigned i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        struct type type = types->types[i];
        bool is_wrong =
            type.kind == CEDAR_SET && type.inner != KIND_ANY && type.inner != CEDAR_ENTITY;
        wrong |= is_wrong ? VOCABULARY_ACTION_BIT(i) & given.live : 0;
    }
    if (wrong != 0) {
        lint_report_for(lint, wrong, given.live, right->begin,
                        "`in` asks for entities above an entity; to look into a set of other "
                        "values write `[...].contains(x)`");
    }
    return wrong == 0;
}

static void report_never_in(struct lint *lint, const struct expression *left,
                            const struct lint_outcome *left_types, const struct expression *right,
                            struct lint_facts given)
{
    auto_buf struct buf text = {0};
    if (is_action(left)) {
        buf_append_string(&text, "the action is never in this here, only ");
        lint_write_actions(given.live, &text);
    } else {
        lint_show(left, &text);
        buf_append_string(&text, " is ");
        type_describe(type_for(left_types, given.live), &text);
        buf_append_string(&text, ", which is never in ");
        lint_show(right, &text);
    }
    lint_report(lint, false, right->begin, "%s", buf_string(&text));
}

/** @return what may be, of the actions that are live */
static struct entity_positions check_in(struct lint *lint, const struct expression *expression,
                                        const struct lint_outcome *left_types,
                                        struct lint_facts given)
{
    const struct expression *left = expression->operands[0];
    const struct expression *right = expression->operands[1];
    struct lint_outcome right_types = lint_check(lint, right, given);
    if (!check_right(lint, right, &right_types, given)) {
        return (struct entity_positions){.can_be = given.live};
    }
    struct entity_positions verdict = verdict_of(left, left_types, right, &right_types);
    if ((verdict.can_be & given.live) == 0 && !verdict.is_quiet) {
        report_never_in(lint, left, left_types, right, given);
    }
    verdict.can_be &= given.live;
    return verdict;
}

struct lint_outcome lint_in(struct lint *lint, const struct expression *expression,
                            struct lint_facts given)
{
    struct lint_outcome left = lint_check(lint, expression->operands[0], given);
    struct lint_outcome outcome = outcome_of(given, CEDAR_BOOL);
    unsigned wrong = wrong_kinds(&left, given.live, KIND_BIT(CEDAR_ENTITY));
    lint_require(lint, expression->operands[0], &left, given.live, CEDAR_ENTITY,
                 "`in` (for values in a set there is `contains`) works on");
    if (wrong != 0) {
        return outcome;
    }
    struct entity_positions verdict = check_in(lint, expression, &left, given);
    outcome.when[1].live = verdict.can_be;
    outcome.when[0].live = given.live & ~verdict.is;
    return outcome;
}

/** Actions for which an expression is, or may be, of the type that is named. */
static struct entity_positions verdict_of_type(const struct lint_outcome *types,
                                               const struct cedar_text *name)
{
    struct entity_positions verdict = {0};
    enum vocabulary_owner owner = vocabulary_entity_from_name(name->bytes, name->len);
    bool is_foreign = vocabulary_is_foreign(name->bytes, name->len);
    verdict.is_quiet = owner == OWNER_NONE;
    for (unsigned i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        struct type type = types->types[i];
        bool is_known = type.kind == CEDAR_ENTITY && type.owner != OWNER_NONE;
        bool is_type = is_known && type.owner == owner;
        bool can_be = is_type || !is_known || (owner == OWNER_NONE && !is_foreign);
        verdict.can_be |= can_be ? VOCABULARY_ACTION_BIT(i) : 0;
        verdict.is |= is_type ? VOCABULARY_ACTION_BIT(i) : 0;
    }
    return verdict;
}

struct lint_outcome lint_is(struct lint *lint, const struct expression *expression,
                            struct lint_facts given)
{
    const struct expression *left = expression->operands[0];
    struct lint_outcome types = lint_check(lint, left, given);
    struct lint_outcome outcome = outcome_of(given, CEDAR_BOOL);
    unsigned wrong = wrong_kinds(&types, given.live, KIND_BIT(CEDAR_ENTITY));
    lint_require(lint, left, &types, given.live, CEDAR_ENTITY, "`is` works on");
    if (wrong != 0) {
        return outcome;
    }
    struct entity_positions verdict = verdict_of_type(&types, expression->names[0]);
    outcome.when[1].live &= verdict.can_be;
    outcome.when[0].live &= ~verdict.is;
    if (outcome.when[1].live == 0 && !verdict.is_quiet) {
        auto_buf struct buf text = {0};
        lint_show(left, &text);
        buf_append_string(&text, " is always ");
        type_describe(type_for(&types, given.live), &text);
        lint_report(lint, false, expression->begin, "%s, so `is %s` is never true",
                    buf_string(&text), expression->names[0]->bytes);
    }
    if (expression->count == 2) {
        struct lint_facts inner = outcome.when[1];
        if (inner.live != 0) {
            outcome.when[1].live = check_in(lint, expression, &types, inner).can_be;
        }
        outcome.when[0].live = given.live;
    }
    return outcome;
}
