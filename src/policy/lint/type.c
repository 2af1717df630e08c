// SPDX-License-Identifier: Apache-2.0
/*
 * The walk over a policy's conditions with static types: the language's own structure, chains,
 * literals and variables. The rules of operators and attributes are in files of their own.
 *
 * As in evaluation, `a && b` gets to `b` only when `a` is true, so a test of the action, of the
 * resource's type or with `has` on the left guards what is on the right.
 */
#include "base/auto.h"
#include "base/buf.h"
#include "policy/lint/lint_internal.h"

/** Presence of everything: what holds where evaluation never gets. */
#define EVERYTHING UINT32_MAX

struct lint_outcome outcome_of(struct lint_facts given, unsigned kind)
{
    struct lint_outcome outcome = {.when = {given, given}};
    for (size_t i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        outcome.types[i] = (struct type){.kind = (uint8_t)kind, .inner = KIND_ANY};
    }
    return outcome;
}

static struct lint_outcome check_bool(struct lint *lint, const struct expression *expression,
                                      struct lint_facts given, const char *by)
{
    struct lint_outcome outcome = lint_check(lint, expression, given);
    lint_require(lint, expression, &outcome, given.live, CEDAR_BOOL, by);
    return outcome;
}

static struct lint_facts either(struct lint_facts a, struct lint_facts b)
{
    return (struct lint_facts){
        .live = a.live | b.live,
        .present = (a.live == 0 ? EVERYTHING : a.present) & (b.live == 0 ? EVERYTHING : b.present),
    };
}

/** `&&` continues with the next operand when one is true, `||` when it is false. */
static struct lint_outcome check_chain(struct lint *lint, const struct expression *expression,
                                       struct lint_facts given)
{
    bool continues = expression->kind == EXPRESSION_AND;
    struct lint_outcome outcome = outcome_of(given, CEDAR_BOOL);
    struct lint_facts decided = {.present = EVERYTHING};
    for (uint32_t i = 0; i < expression->count; i++) {
        struct lint_outcome operand = check_bool(lint, expression->operands[i], given,
                                                 continues ? "`&&` works on" : "`||` works on");
        decided = either(decided, operand.when[!continues]);
        given = operand.when[continues];
    }
    outcome.when[continues] = given;
    outcome.when[!continues] = decided;
    return outcome;
}

static struct lint_outcome check_not(struct lint *lint, const struct expression *expression,
                                     struct lint_facts given)
{
    struct lint_outcome operand = check_bool(lint, expression->operands[0], given, "`!` works on");
    struct lint_outcome outcome = outcome_of(given, CEDAR_BOOL);
    outcome.when[0] = operand.when[1];
    outcome.when[1] = operand.when[0];
    return outcome;
}

/** A type that holds for both; what differs is not known. */
static struct type join(struct type a, struct type b)
{
    struct type type = a;
    if (a.kind != b.kind) {
        return (struct type){.kind = KIND_ANY, .inner = KIND_ANY};
    }
    type.owner = a.owner == b.owner ? a.owner : OWNER_NONE;
    type.path = a.path == b.path ? a.path : PATH_NONE;
    type.inner = a.inner == b.inner ? a.inner : KIND_ANY;
    return type;
}

static struct lint_outcome check_if(struct lint *lint, const struct expression *expression,
                                    struct lint_facts given)
{
    struct lint_outcome guard = check_bool(lint, expression->operands[0], given, "`if` asks for");
    struct lint_outcome yes = lint_check(lint, expression->operands[1], guard.when[1]);
    struct lint_outcome no = lint_check(lint, expression->operands[2], guard.when[0]);
    struct lint_outcome outcome = outcome_of(given, KIND_ANY);
    for (unsigned i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        bool is_yes = (guard.when[1].live & VOCABULARY_ACTION_BIT(i)) != 0;
        bool is_no = (guard.when[0].live & VOCABULARY_ACTION_BIT(i)) != 0;
        outcome.types[i] = is_yes && is_no ? join(yes.types[i], no.types[i])
                           : is_yes        ? yes.types[i]
                                           : no.types[i];
    }
    for (size_t truth = 0; truth < 2; truth++) {
        outcome.when[truth] = either(yes.when[truth], no.when[truth]);
    }
    return outcome;
}

static struct lint_outcome check_arithmetic(struct lint *lint, const struct expression *expression,
                                            struct lint_facts given)
{
    const char *by = expression->kind == EXPRESSION_SUM       ? "`+` and `-` work on"
                     : expression->kind == EXPRESSION_PRODUCT ? "`*` works on"
                                                              : "`-` works on";
    for (uint32_t i = 0; i < expression->count; i++) {
        struct lint_outcome operand = lint_check(lint, expression->operands[i], given);
        lint_require(lint, expression->operands[i], &operand, given.live, CEDAR_LONG, by);
    }
    return outcome_of(given, CEDAR_LONG);
}

static struct lint_outcome check_like(struct lint *lint, const struct expression *expression,
                                      struct lint_facts given)
{
    struct lint_outcome operand = lint_check(lint, expression->operands[0], given);
    lint_require(lint, expression->operands[0], &operand, given.live, CEDAR_STRING,
                 "`like` works on");
    return outcome_of(given, CEDAR_BOOL);
}

/** Kind that all elements have, or KIND_ANY; also for none, as an empty set fits everywhere. */
static uint8_t inner_of_set(const struct cedar_set *set)
{
    uint8_t inner = KIND_ANY;
    for (size_t i = 0; i < set->count; i++) {
        uint8_t kind = (uint8_t)set->values[i].kind;
        if (i > 0 && kind != inner) {
            return KIND_ANY;
        }
        inner = kind;
    }
    return inner;
}

static struct type type_of_value(struct cedar_value value)
{
    struct type type = {.kind = (uint8_t)value.kind, .inner = KIND_ANY};
    if (value.kind == CEDAR_ENTITY) {
        const struct cedar_text *name = cedar_as_uid(value)->type;
        type.owner = (uint8_t)vocabulary_entity_from_name(name->bytes, name->len);
    } else if (value.kind == CEDAR_SET) {
        type.inner = inner_of_set(cedar_as_set(value));
    }
    return type;
}

static struct lint_outcome check_value(struct lint *lint, const struct expression *expression,
                                       struct lint_facts given)
{
    (void)lint;
    struct lint_outcome outcome = outcome_of(given, KIND_ANY);
    struct type type = type_of_value(expression->value);
    for (size_t i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        outcome.types[i] = type;
    }
    if (expression->value.kind == CEDAR_BOOL) {
        outcome.when[!expression->value.as.truth].live = 0;
    }
    return outcome;
}

static struct lint_outcome check_variable(struct lint *lint, const struct expression *expression,
                                          struct lint_facts given)
{
    (void)lint;
    static const struct type types[] = {
        [VARIABLE_PRINCIPAL] = {CEDAR_ENTITY, OWNER_AGENT, PATH_PRINCIPAL, KIND_ANY},
        [VARIABLE_ACTION] = {CEDAR_ENTITY, OWNER_ACTION, PATH_NONE, KIND_ANY},
        [VARIABLE_RESOURCE] = {CEDAR_ENTITY, OWNER_NONE, PATH_RESOURCE, KIND_ANY},
        [VARIABLE_CONTEXT] = {CEDAR_RECORD, OWNER_CONTEXT, PATH_NONE, KIND_ANY},
    };
    struct lint_outcome outcome = outcome_of(given, KIND_ANY);
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        outcome.types[i] = types[expression->variable];
        if (expression->variable == VARIABLE_RESOURCE) {
            outcome.types[i].owner = (uint8_t)vocabulary_resource_owner(i);
        }
    }
    return outcome;
}

static struct lint_outcome check_set(struct lint *lint, const struct expression *expression,
                                     struct lint_facts given)
{
    struct lint_outcome outcome = outcome_of(given, CEDAR_SET);
    for (uint32_t i = 0; i < expression->count; i++) {
        struct lint_outcome element = lint_check(lint, expression->operands[i], given);
        for (size_t action = 0; action < VOCABULARY_ACTION_COUNT; action++) {
            struct type *type = &outcome.types[action];
            bool fits = i == 0 || type->inner == element.types[action].kind;
            type->inner = fits ? element.types[action].kind : KIND_ANY;
        }
    }
    return outcome;
}

/** Fields of a record that a policy makes itself are not followed. */
static struct lint_outcome check_record(struct lint *lint, const struct expression *expression,
                                        struct lint_facts given)
{
    for (uint32_t i = 0; i < expression->count; i++) {
        lint_check(lint, expression->operands[i], given);
    }
    return outcome_of(given, CEDAR_RECORD);
}

static struct lint_outcome check_is_empty(struct lint *lint, const struct expression *expression,
                                          struct lint_facts given)
{
    struct lint_outcome operand = lint_check(lint, expression->operands[0], given);
    lint_require(lint, expression->operands[0], &operand, given.live, CEDAR_SET,
                 "`isEmpty` works on");
    return outcome_of(given, CEDAR_BOOL);
}

struct lint_outcome lint_check(struct lint *lint, const struct expression *expression,
                               struct lint_facts given)
{
    typedef struct lint_outcome check_fn(struct lint *, const struct expression *,
                                         struct lint_facts);
    static check_fn *const checks[] = {
        [EXPRESSION_VALUE] = check_value,
        [EXPRESSION_VARIABLE] = check_variable,
        [EXPRESSION_AND] = check_chain,
        [EXPRESSION_OR] = check_chain,
        [EXPRESSION_SUM] = check_arithmetic,
        [EXPRESSION_PRODUCT] = check_arithmetic,
        [EXPRESSION_NOT] = check_not,
        [EXPRESSION_NEGATE] = check_arithmetic,
        [EXPRESSION_IF] = check_if,
        [EXPRESSION_EQUAL] = lint_equal,
        [EXPRESSION_NOT_EQUAL] = lint_equal,
        [EXPRESSION_LESS] = lint_order,
        [EXPRESSION_LESS_EQUAL] = lint_order,
        [EXPRESSION_GREATER] = lint_order,
        [EXPRESSION_GREATER_EQUAL] = lint_order,
        [EXPRESSION_IN] = lint_in,
        [EXPRESSION_CONTAINS] = lint_contains,
        [EXPRESSION_CONTAINS_ALL] = lint_contains,
        [EXPRESSION_CONTAINS_ANY] = lint_contains,
        [EXPRESSION_HAS_TAG] = lint_tag,
        [EXPRESSION_GET_TAG] = lint_tag,
        [EXPRESSION_IS_EMPTY] = check_is_empty,
        [EXPRESSION_ATTRIBUTE] = lint_attribute,
        [EXPRESSION_HAS] = lint_has,
        [EXPRESSION_LIKE] = check_like,
        [EXPRESSION_IS] = lint_is,
        [EXPRESSION_CALL] = lint_call,
        [EXPRESSION_SET] = check_set,
        [EXPRESSION_RECORD] = check_record,
    };
    /* What is never evaluated cannot be wrong. */
    return given.live == 0 ? outcome_of(given, KIND_ANY)
                           : checks[expression->kind](lint, expression, given);
}

void lint_conditions(struct lint *lint, unsigned actions)
{
    struct lint_facts given = {.live = actions};
    for (uint32_t i = 0; i < lint->policy->condition_count; i++) {
        const struct condition *condition = &lint->policy->conditions[i];
        struct lint_outcome outcome =
            check_bool(lint, condition->expression, given, "a condition has to be");
        given = outcome.when[!condition->is_unless];
    }
}
