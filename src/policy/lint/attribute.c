// SPDX-License-Identifier: Apache-2.0
/* Attributes and tags: whether there are such, and whether a guard precedes them. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/text/suggest.h"
#include "policy/lint/lint_internal.h"

enum attribute_lookup {
    FOUND_ANY, /* it may be there; nothing is known of it */
    FOUND_ROW,
    FOUND_MISSING,   /* there is no such attribute */
    FOUND_NO_HOLDER, /* the value has no attributes at all */
};

static enum attribute_lookup look_up(struct type of, enum vocabulary_action action,
                                     const struct cedar_text *name,
                                     const struct vocabulary_attribute **ret_row)
{
    if (of.kind == KIND_ANY) {
        return FOUND_ANY;
    }
    if (of.kind != CEDAR_ENTITY && of.kind != CEDAR_RECORD) {
        return FOUND_NO_HOLDER;
    }
    if (of.owner == OWNER_NONE || vocabulary_is_open(of.owner, action)) {
        return FOUND_ANY;
    }
    *ret_row = vocabulary_attribute_find(of.owner, action, name->bytes, name->len);
    return *ret_row == NULL ? FOUND_MISSING : FOUND_ROW;
}

static struct type type_of_row(const struct vocabulary_attribute *row, struct type of)
{
    bool is_agent_of_run = row->of == OWNER_AGENT && of.path == PATH_RESOURCE;
    return (struct type){
        .kind = (uint8_t)row->kind,
        .owner = (uint8_t)row->of,
        .path = is_agent_of_run ? PATH_RESOURCE_AGENT : PATH_NONE,
        .inner = KIND_ANY,
    };
}

/** What was found at one step of a path, as masks of actions. */
struct path_step {
    unsigned missing;
    unsigned no_holder;
    unsigned unsure;    /* it may be there or not, */
    unsigned unguarded; /* and nothing was asked before, though it is known to be optional */
    uint32_t bits;      /* presence bits of optional attributes */
};

/** Go from a value's types to those of its attribute. */
static struct path_step go(struct lint_outcome *value, struct lint_facts given,
                           const struct cedar_text *name)
{
    struct path_step step = {0};
    struct type *types = value->types;
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        unsigned bit = VOCABULARY_ACTION_BIT(i) & given.live;
        const struct vocabulary_attribute *row = NULL;
        struct type of = types[i];
        enum attribute_lookup found = look_up(of, i, name, &row);
        types[i] = (struct type){.kind = KIND_ANY, .inner = KIND_ANY};
        if (found == FOUND_ROW) {
            types[i] = type_of_row(row, of);
            uint32_t presence = row->is_optional ? presence_bit(of.path, row) : 0;
            step.unguarded |= (presence & ~given.present) != 0 ? bit : 0;
            step.bits |= bit == 0 ? 0 : presence;
        }
        bool is_unsure = found == FOUND_ANY || (row != NULL && row->is_optional);
        step.unsure |= is_unsure ? bit : 0;
        step.missing |= found == FOUND_MISSING ? bit : 0;
        step.no_holder |= found == FOUND_NO_HOLDER ? bit : 0;
    }
    return step;
}

/** The value whose attribute is asked for. */
struct holder {
    const struct expression *expression;
    const struct cedar_text *name; /* the step of a path that led to it, or NULL */
    const struct lint_outcome *value;
};

/** Append "`context`", "`resource` (a Tool)" or "this (an Agent)". */
static void write_holder(const struct holder *holder, unsigned actions, struct buf *ret_text)
{
    struct type type = type_for(holder->value, actions);
    if (holder->name == NULL) {
        lint_show(holder->expression, ret_text);
    } else {
        lint_quote(holder->name->bytes, holder->name->len, ret_text);
    }
    if (type.kind == CEDAR_ENTITY && type.path != PATH_PRINCIPAL) {
        buf_append_string(ret_text, " (");
        type_describe(type, ret_text);
        buf_append_string(ret_text, ")");
    }
}

/** Offer the attributes that a value has. */
static void offer_attributes(struct suggest *suggest, const struct lint_outcome *value,
                             unsigned live)
{
    const struct vocabulary_attribute *row = NULL;
    for (size_t i = 0; (row = vocabulary_attribute_at(i)) != NULL; i++) {
        for (unsigned action = 0; action < VOCABULARY_ACTION_COUNT; action++) {
            if ((live & row->actions & VOCABULARY_ACTION_BIT(action)) != 0 &&
                value->types[action].owner == row->owner) {
                suggest_offer(suggest, row->name);
                break;
            }
        }
    }
}

/** Actions for which the holder would have the attribute, were they allowed here. */
static unsigned elsewhere(enum vocabulary_owner owner, const struct cedar_text *name)
{
    unsigned actions = 0;
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        bool is_there = vocabulary_attribute_find(owner, i, name->bytes, name->len) != NULL;
        actions |= is_there ? VOCABULARY_ACTION_BIT(i) : 0;
    }
    return actions;
}

/**
 * An attribute that there is for none of the actions. Asking with `has` whether it is there is an
 * error only when it looks like a slip: people may ask for what other hosts of the policy have.
 */
static void report_unknown(struct lint *lint, const struct holder *holder,
                           const struct cedar_text *name, unsigned live,
                           const struct expression *expression)
{
    auto_buf struct buf text = {0};
    bool is_error = expression->kind == EXPRESSION_ATTRIBUTE;
    unsigned others = elsewhere(type_for(holder->value, live).owner, name);
    buf_append_string(&text, others == 0 ? "unknown attribute " : "the attribute ");
    lint_quote(name->bytes, name->len, &text);
    buf_append_string(&text, " of ");
    write_holder(holder, live, &text);
    if (others != 0) {
        buf_append_string(&text, " is there for ");
        lint_write_actions(others, &text);
        buf_append_string(&text, " only, and this is about ");
        lint_write_actions(live, &text);
    } else {
        struct suggest suggest = {.word = name->bytes, .len = name->len};
        offer_attributes(&suggest, holder->value, live);
        suggest_write(&suggest, "", "", &text);
        is_error = is_error || suggest_is_slip(&suggest);
    }
    lint_report(lint, is_error, expression->begin, "%s%s", buf_string(&text),
                is_error ? "" : ": this is never true");
}

/** One that is missing for some of them, or that may be missing for any. */
static void report_guard(struct lint *lint, const struct holder *holder,
                         const struct cedar_text *name, unsigned missing, size_t offset)
{
    auto_buf struct buf text = {0};
    auto_buf struct buf guard = {0};
    buf_append_string(&text, "the attribute ");
    lint_quote(name->bytes, name->len, &text);
    buf_append_string(&text, " of ");
    lint_show(holder->expression, &text);
    buf_append_string(&text, missing == 0 ? " may be missing" : " is missing for ");
    lint_write_actions(missing, &text);
    if (lint_write_plain(holder->expression, &guard)) {
        buf_printf(&guard, " has %s && ...", name->bytes);
        buf_append_string(&text, "; guard it with ");
        lint_quote(guard.data, guard.len, &text);
    }
    lint_report(lint, false, offset, "%s", buf_string(&text));
}

static void report_no_holder(struct lint *lint, const struct holder *holder, unsigned wrong,
                             unsigned live, size_t offset)
{
    auto_buf struct buf text = {0};
    lint_show(holder->expression, &text);
    buf_append_string(&text, " is ");
    type_describe(type_for(holder->value, wrong), &text);
    buf_append_string(&text, " and has no attributes");
    lint_report_for(lint, wrong, live, offset, buf_string(&text));
}

struct lint_outcome lint_attribute(struct lint *lint, const struct expression *expression,
                                   struct lint_facts given)
{
    const struct cedar_text *name = expression->names[0];
    struct lint_outcome of = lint_check(lint, expression->operands[0], given);
    struct holder holder = {.expression = expression->operands[0], .value = &of};
    struct lint_outcome outcome = of;
    struct path_step step = go(&outcome, given, name);
    outcome.when[0] = given;
    outcome.when[1] = given;
    if (step.no_holder != 0) {
        report_no_holder(lint, &holder, step.no_holder, given.live, expression->begin);
    } else if (step.missing == given.live) {
        report_unknown(lint, &holder, name, given.live, expression);
    } else if (step.missing != 0) {
        report_guard(lint, &holder, name, step.missing, expression->begin);
    } else if (step.unguarded != 0) {
        report_guard(lint, &holder, name, 0, expression->begin);
    }
    return outcome;
}

struct lint_outcome lint_has(struct lint *lint, const struct expression *expression,
                             struct lint_facts given)
{
    struct lint_outcome of = lint_check(lint, expression->operands[0], given);
    struct lint_outcome value = of;
    struct lint_facts yes = given;
    struct lint_facts no = {.present = given.present};
    for (uint32_t i = 0; i < expression->name_count && yes.live != 0; i++) {
        struct holder holder = {.expression = expression->operands[0], .value = &of};
        holder.name = i == 0 ? NULL : expression->names[i - 1];
        struct path_step step = go(&value, yes, expression->names[i]);
        if (step.no_holder != 0 && i == 0) {
            report_no_holder(lint, &holder, step.no_holder, yes.live, expression->begin);
        } else if (step.missing == yes.live) {
            report_unknown(lint, &holder, expression->names[i], yes.live, expression);
        }
        no.live |= step.missing | step.unsure | step.no_holder;
        yes.live &= ~step.missing;
        yes.present |= step.bits;
        of = value;
    }
    struct lint_outcome outcome = outcome_of(given, CEDAR_BOOL);
    outcome.when[0] = no;
    outcome.when[1] = yes;
    return outcome;
}

struct lint_outcome lint_tag(struct lint *lint, const struct expression *expression,
                             struct lint_facts given)
{
    bool is_get = expression->kind == EXPRESSION_GET_TAG;
    const char *by = is_get ? "`getTag` works on" : "`hasTag` works on";
    const struct expression *const *operands = expression->operands;
    struct lint_outcome of = lint_check(lint, operands[0], given);
    struct lint_outcome tag = lint_check(lint, operands[1], given);
    lint_require(lint, operands[0], &of, given.live, CEDAR_ENTITY, by);
    lint_require(lint, operands[1], &tag, given.live, CEDAR_STRING, "the name of a tag is");
    unsigned without = 0;
    for (unsigned i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        struct type type = of.types[i];
        bool has_none = type.kind == CEDAR_ENTITY && type.owner != OWNER_NONE &&
                        !vocabulary_entity(type.owner)->has_tags;
        without |= has_none ? VOCABULARY_ACTION_BIT(i) & given.live : 0;
    }
    if (without == given.live || (is_get && without != 0)) {
        auto_buf struct buf text = {0};
        type_describe(type_for(&of, without), &text);
        buf_append_string(&text, " has no tags");
        if (is_get) {
            lint_report_for(lint, without, given.live, expression->begin, buf_string(&text));
        } else {
            lint_report(lint, false, expression->begin, "%s: this is never true",
                        buf_string(&text));
        }
    }
    struct lint_outcome outcome = outcome_of(given, is_get ? CEDAR_STRING : CEDAR_BOOL);
    outcome.when[1].live &= ~without;
    return outcome;
}
