// SPDX-License-Identifier: Apache-2.0
/*
 * What the lint's files share. A policy is checked in two passes: lint_words.c reads its text for
 * names of types, actions and annotations, wherever they are; lint_type.c walks its conditions
 * with a static type for each expression.
 *
 * Types are kept for each action apart, because the resource and the context depend on it. A place
 * that is wrong for every action for which it can be reached is an error; one that is wrong for
 * some of them is a warning. What is not known for certain is never reported.
 */
#pragma once

#include "policy/cedar/ast.h"
#include "policy/lint/lint.h"
#include "policy/vocabulary/vocabulary_table.h"

struct buf;

/** An offset of a policy's source whose place is known. */
struct source_mark {
    const struct policy *policy;
    size_t offset;
    struct source_place place;
};

/** One walk over the policies. */
struct lint {
    lint_fn *fn;
    void *context;
    size_t error_count;
    size_t finding_count;
    uint32_t index;
    const struct policy *policy; /**< the one being checked */
    struct source_mark latest;   /**< the latest finding: the next is often just after it */
};

/** Report a finding at an offset of the policy's source. */
void lint_report(struct lint *lint, bool is_error, size_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- Words ---------------------------------------------------------------------------------- */

/** Check the names in a policy's text, and its annotations. */
void lint_words(struct lint *lint);
/**
 * Mask of the actions for which a policy can apply by its scope; 0 when there are none. Says so
 * unless the reason was reported already, or the policy is meant for AgentCore.
 */
unsigned lint_scope(struct lint *lint);

/* ---- Texts ---------------------------------------------------------------------------------- */

/** Append bytes from a policy for a message: in backticks, cut when long, no control characters. */
void lint_quote(const char *bytes, size_t len, struct buf *ret_text);
/** Append the actions of a mask: "`a`, `b`". */
void lint_write_actions(unsigned actions, struct buf *ret_text);

/* ---- Types ---------------------------------------------------------------------------------- */

/** A kind beside those of enum cedar_kind: not known, fits everything. */
#define KIND_ANY 0xff

/** How an entity was reached, so that `has` on one place and access at another meet. */
enum lint_path {
    PATH_NONE,
    PATH_PRINCIPAL,
    PATH_RESOURCE,
    PATH_RESOURCE_AGENT,
};

struct type {
    uint8_t kind;  /**< enum cedar_kind, or KIND_ANY */
    uint8_t owner; /**< of an entity or record; OWNER_NONE = not known */
    uint8_t path;  /**< enum lint_path */
    uint8_t inner; /**< kind of a set's elements, or KIND_ANY */
};

/**
 * What holds where an expression is evaluated. An optional attribute that is known to be there is a
 * bit of `present`.
 */
struct lint_facts {
    unsigned live; /**< actions for which evaluation gets here */
    uint32_t present;
};

/** What is known of an expression's value. */
struct lint_outcome {
    struct type types[VOCABULARY_ACTION_COUNT];
    struct lint_facts when[2]; /**< what holds once it turned out false, or true */
};

/** Check the conditions of a policy. @param actions from lint_scope */
void lint_conditions(struct lint *lint, unsigned actions);

/** Check an expression, with all below it. Recursion is bounded by CEDAR_LIMIT_DEPTH. */
struct lint_outcome lint_check(struct lint *lint, const struct expression *expression,
                               struct lint_facts given);

/** An outcome of one kind for all actions, of which nothing else is known. */
struct lint_outcome outcome_of(struct lint_facts given, unsigned kind);
/** The bit of an optional attribute; 0 when the place is not followed. */
uint32_t presence_bit(enum lint_path path, const struct vocabulary_attribute *attribute);

/** Kinds as bits of a mask. */
#define KIND_BIT(kind) (1U << (kind))
/** Actions for which a type is known and not one of a mask of kinds. */
unsigned wrong_kinds(const struct lint_outcome *outcome, unsigned live, unsigned kinds);
/** The type for the first action of a mask that is not empty. */
struct type type_for(const struct lint_outcome *outcome, unsigned actions);
/** Append "a Long", "an entity", "an Agent". */
void type_describe(struct type type, struct buf *ret_text);
/** Append a path or a literal as it would be written. @return false: it is neither */
bool lint_write_plain(const struct expression *expression, struct buf *ret_text);
/** Append how a literal would be written as another kind: `100` for `"100"`. @return false: no idea
 */
bool lint_write_as(const struct expression *literal, unsigned kind, struct buf *ret_text);
/** Append the expression in backticks when it is a short path or literal, else "this". */
void lint_show(const struct expression *expression, struct buf *ret_text);

/**
 * Report that operands must be of one kind, where they are not.
 * @param by "`like` works on"
 */
void lint_require(struct lint *lint, const struct expression *expression,
                  const struct lint_outcome *outcome, unsigned live, enum cedar_kind kind,
                  const char *by);
/** Report something that is wrong for some of the live actions: an error when it is for all. */
void lint_report_for(struct lint *lint, unsigned wrong, unsigned live, size_t offset,
                     const char *message);

/* Rules of groups of expressions, called by lint_check. */
struct lint_outcome lint_attribute(struct lint *lint, const struct expression *expression,
                                   struct lint_facts given);
struct lint_outcome lint_has(struct lint *lint, const struct expression *expression,
                             struct lint_facts given);
struct lint_outcome lint_tag(struct lint *lint, const struct expression *expression,
                             struct lint_facts given);
struct lint_outcome lint_equal(struct lint *lint, const struct expression *expression,
                               struct lint_facts given);
struct lint_outcome lint_order(struct lint *lint, const struct expression *expression,
                               struct lint_facts given);
struct lint_outcome lint_contains(struct lint *lint, const struct expression *expression,
                                  struct lint_facts given);
struct lint_outcome lint_call(struct lint *lint, const struct expression *expression,
                              struct lint_facts given);
struct lint_outcome lint_in(struct lint *lint, const struct expression *expression,
                            struct lint_facts given);
struct lint_outcome lint_is(struct lint *lint, const struct expression *expression,
                            struct lint_facts given);
