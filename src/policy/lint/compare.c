// SPDX-License-Identifier: Apache-2.0
/* Rules of `==`, `<` and their like, and of contains*: both sides must be of one kind. */
#include "base/auto.h"
#include "base/buf.h"
#include "policy/lint/lint_internal.h"

#include <string.h>

#define ORDERED_KINDS (KIND_BIT(CEDAR_LONG) | KIND_BIT(CEDAR_DATETIME) | KIND_BIT(CEDAR_DURATION))

/** Two operands that were checked. */
struct operand_pair {
    const struct expression *sides[2];
    struct lint_outcome outcomes[2];
};

static struct operand_pair check_pair(struct lint *lint, const struct expression *expression,
                                      struct lint_facts given)
{
    struct operand_pair pair = {.sides = {expression->operands[0], expression->operands[1]}};
    for (size_t i = 0; i < 2; i++) {
        pair.outcomes[i] = lint_check(lint, pair.sides[i], given);
    }
    return pair;
}

/** Append "; write `...`" when one side is a literal of the other's kind in a wrong dress. */
static void write_hint(const struct operand_pair *pair, unsigned actions, struct buf *ret_text)
{
    for (size_t i = 0; i < 2; i++) {
        auto_buf struct buf text = {0};
        if (lint_write_as(pair->sides[i], type_for(&pair->outcomes[1 - i], actions).kind, &text)) {
            buf_append_string(ret_text, "; write ");
            lint_quote(text.data, text.len, ret_text);
            return;
        }
    }
}

/** Append "`a` is a Long and `"b"` a String". */
static void write_kinds(const struct operand_pair *pair, unsigned actions, struct buf *ret_text)
{
    for (size_t i = 0; i < 2; i++) {
        buf_append_string(ret_text, i == 0 ? "" : " and ");
        lint_show(pair->sides[i], ret_text);
        buf_append_string(ret_text, i == 0 ? " is " : " ");
        type_describe(type_for(&pair->outcomes[i], actions), ret_text);
    }
}

/** Where a mismatch is shown: at the literal, as it is what people will change. */
static uint32_t offset_of(const struct operand_pair *pair)
{
    return pair
        ->sides[pair->sides[0]->kind != EXPRESSION_VALUE &&
                pair->sides[1]->kind == EXPRESSION_VALUE]
        ->begin;
}

/** Actions for which the sides are of different kinds. */
static unsigned different_kinds(const struct operand_pair *pair, unsigned live)
{
    unsigned different = 0;
    for (unsigned i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        unsigned a = pair->outcomes[0].types[i].kind;
        unsigned b = pair->outcomes[1].types[i].kind;
        bool is_different = a != KIND_ANY && b != KIND_ANY && a != b;
        different |= is_different ? VOCABULARY_ACTION_BIT(i) & live : 0;
    }
    return different;
}

/** Actions for which the sides are entities of different types. */
static unsigned different_types(const struct operand_pair *pair, unsigned live)
{
    unsigned different = 0;
    for (unsigned i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        struct type a = pair->outcomes[0].types[i];
        struct type b = pair->outcomes[1].types[i];
        bool is_different = a.kind == CEDAR_ENTITY && b.kind == CEDAR_ENTITY &&
                            a.owner != OWNER_NONE && b.owner != OWNER_NONE && a.owner != b.owner;
        different |= is_different ? VOCABULARY_ACTION_BIT(i) & live : 0;
    }
    return different;
}

static bool is_action_variable(const struct expression *expression)
{
    return expression->kind == EXPRESSION_VARIABLE && expression->variable == VARIABLE_ACTION;
}

/** The uid that the action is compared with, or NULL when something else is compared. */
static const struct cedar_uid *compared_action(const struct operand_pair *pair)
{
    bool is_first = is_action_variable(pair->sides[0]);
    const struct expression *other = pair->sides[is_first];
    if (!(is_first || is_action_variable(pair->sides[1])) || other->kind != EXPRESSION_VALUE ||
        other->value.kind != CEDAR_ENTITY) {
        return NULL;
    }
    const struct cedar_uid *uid = cedar_as_uid(other->value);
    return cedar_type_is_action(uid->type) ? uid : NULL;
}

/** The action is known for each action that is live. @param ret_outcome of the comparison */
static void compare_action(struct lint *lint, const struct operand_pair *pair,
                           const struct cedar_uid *uid, bool when_equal,
                           struct lint_outcome *ret_outcome)
{
    unsigned live = ret_outcome->when[0].live;
    unsigned equal = vocabulary_actions_equal(uid->type->bytes, uid->id->bytes, uid->id->len);
    if (equal == 0 && !vocabulary_is_foreign(uid->type->bytes, uid->type->len)) {
        return; /* an unknown action, which was reported with the words */
    }
    if (equal != 0 && (equal & live) == 0) {
        auto_buf struct buf text = {0};
        lint_write_actions(live, &text);
        lint_report(lint, false, offset_of(pair), "the action is never this one here, only %s",
                    buf_string(&text));
    }
    ret_outcome->when[when_equal].live = live & equal;
    ret_outcome->when[!when_equal].live = live & ~equal;
}

struct lint_outcome lint_equal(struct lint *lint, const struct expression *expression,
                               struct lint_facts given)
{
    struct operand_pair pair = check_pair(lint, expression, given);
    bool when_equal = expression->kind == EXPRESSION_EQUAL;
    struct lint_outcome outcome = outcome_of(given, CEDAR_BOOL);
    unsigned wrong = different_kinds(&pair, given.live);
    unsigned unequal = different_types(&pair, given.live);
    const struct cedar_uid *action = compared_action(&pair);
    auto_buf struct buf text = {0};
    if (action != NULL) {
        compare_action(lint, &pair, action, when_equal, &outcome);
        return outcome;
    }
    outcome.when[when_equal].live &= ~unequal;
    if (wrong != 0) {
        write_kinds(&pair, wrong, &text);
        buf_append_string(&text, ": they are never equal");
        write_hint(&pair, wrong, &text);
        lint_report_for(lint, wrong, given.live, offset_of(&pair), buf_string(&text));
    } else if (unequal == given.live) {
        write_kinds(&pair, unequal, &text);
        lint_report(lint, false, offset_of(&pair), "%s: they are never equal", buf_string(&text));
    }
    return outcome;
}

/** Append "; use `a.lessThan(b)`" for a decimal on one side. */
static void write_decimal_hint(const struct expression *expression, const struct operand_pair *pair,
                               size_t decimal_side, struct buf *ret_text)
{
    static const char *const methods[2][4] = {
        {"lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual"},
        {"greaterThan", "greaterThanOrEqual", "lessThan", "lessThanOrEqual"},
    };
    auto_buf struct buf receiver = {0};
    auto_buf struct buf argument = {0};
    const struct expression *other = pair->sides[1 - decimal_side];
    bool is_plain = lint_write_plain(pair->sides[decimal_side], &receiver);
    bool is_good =
        lint_write_as(other, CEDAR_DECIMAL, &argument) || lint_write_plain(other, &argument);
    auto_buf struct buf call = {0};
    buf_printf(&call, "%s.%s(%s)", is_plain ? buf_string(&receiver) : "...",
               methods[decimal_side][expression->kind - EXPRESSION_LESS],
               is_good ? buf_string(&argument) : "...");
    buf_append_string(ret_text, "; use ");
    lint_quote(call.data, call.len, ret_text);
}

/** A side that cannot be ordered at all. */
static void report_unordered(struct lint *lint, const struct expression *expression,
                             const struct operand_pair *pair, size_t side, struct lint_facts given)
{
    static const char *const operators[] = {"<", "<=", ">", ">="};
    auto_buf struct buf text = {0};
    unsigned wrong = wrong_kinds(&pair->outcomes[side], given.live, ORDERED_KINDS);
    buf_printf(&text, "`%s` orders Longs, datetimes and durations, but ",
               operators[expression->kind - EXPRESSION_LESS]);
    lint_show(pair->sides[side], &text);
    buf_append_string(&text, " is ");
    type_describe(type_for(&pair->outcomes[side], wrong), &text);
    if (type_for(&pair->outcomes[side], wrong).kind == CEDAR_DECIMAL) {
        write_decimal_hint(expression, pair, side, &text);
    } else {
        write_hint(pair, wrong, &text);
    }
    lint_report_for(lint, wrong, given.live, pair->sides[side]->begin, buf_string(&text));
}

struct lint_outcome lint_order(struct lint *lint, const struct expression *expression,
                               struct lint_facts given)
{
    struct operand_pair pair = check_pair(lint, expression, given);
    unsigned wrong = different_kinds(&pair, given.live);
    for (size_t side = 0; side < 2; side++) {
        if (wrong_kinds(&pair.outcomes[side], given.live, ORDERED_KINDS) != 0) {
            report_unordered(lint, expression, &pair, side, given);
            return outcome_of(given, CEDAR_BOOL);
        }
    }
    if (wrong != 0) {
        auto_buf struct buf text = {0};
        write_kinds(&pair, wrong, &text);
        buf_append_string(&text, ": they cannot be ordered");
        lint_report_for(lint, wrong, given.live, offset_of(&pair), buf_string(&text));
    }
    return outcome_of(given, CEDAR_BOOL);
}

/** Actions for which the elements of a set are of another kind than what is looked for. */
static unsigned different_elements(const struct operand_pair *pair, bool is_set, unsigned live)
{
    unsigned different = 0;
    for (unsigned i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        struct type set = pair->outcomes[0].types[i];
        struct type item = pair->outcomes[1].types[i];
        unsigned kind = is_set ? item.inner : item.kind;
        bool is_known = set.kind == CEDAR_SET && (!is_set || item.kind == CEDAR_SET);
        if (is_known && set.inner != KIND_ANY && kind != KIND_ANY && set.inner != kind) {
            different |= VOCABULARY_ACTION_BIT(i) & live;
        }
    }
    return different;
}

struct lint_outcome lint_contains(struct lint *lint, const struct expression *expression,
                                  struct lint_facts given)
{
    static const char *const by[][2] = {
        {"`contains` works on", ""},
        {"`containsAll` works on", "`containsAll` takes"},
        {"`containsAny` works on", "`containsAny` takes"},
    };
    unsigned method = expression->kind - EXPRESSION_CONTAINS;
    bool takes_set = method > 0;
    struct operand_pair pair = check_pair(lint, expression, given);
    lint_require(lint, pair.sides[0], &pair.outcomes[0], given.live, CEDAR_SET, by[method][0]);
    if (takes_set) {
        lint_require(lint, pair.sides[1], &pair.outcomes[1], given.live, CEDAR_SET, by[method][1]);
    }
    unsigned wrong = different_elements(&pair, takes_set, given.live);
    if (wrong != 0) {
        auto_buf struct buf text = {0};
        struct type item = type_for(&pair.outcomes[1], wrong);
        item.kind = takes_set ? item.inner : item.kind;
        buf_append_string(&text, "the set never contains ");
        buf_append_string(&text,
                          takes_set ? "elements of the other: one is " : "this: an element is ");
        type_describe((struct type){.kind = type_for(&pair.outcomes[0], wrong).inner}, &text);
        buf_append_string(&text, takes_set ? ", there " : ", and this ");
        type_describe(item, &text);
        lint_report_for(lint, wrong, given.live, pair.sides[1]->begin, buf_string(&text));
    }
    return outcome_of(given, CEDAR_BOOL);
}
