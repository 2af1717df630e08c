// SPDX-License-Identifier: Apache-2.0
/*
 * The syntax tree of policies. It lies in the arena of its policy set and never changes once it is
 * parsed. Chains of one operator (`a && b && c`) are one node with many operands, so that the depth
 * of the tree is the nesting that a person wrote, which the parser limits.
 */
#pragma once

#include "policy/cedar/value/value.h"

enum expression_kind {
    EXPRESSION_VALUE, /* a literal, or an expression of literals that was computed */
    EXPRESSION_VARIABLE,
    EXPRESSION_AND,     /* chain */
    EXPRESSION_OR,      /* chain */
    EXPRESSION_SUM,     /* chain; operand i is subtracted when is_minus[i] */
    EXPRESSION_PRODUCT, /* chain */
    EXPRESSION_NOT,     /* one */
    EXPRESSION_NEGATE,  /* one */
    EXPRESSION_IF,      /* three */
    EXPRESSION_EQUAL,   /* two, as up to IN */
    EXPRESSION_NOT_EQUAL,
    EXPRESSION_LESS,
    EXPRESSION_LESS_EQUAL,
    EXPRESSION_GREATER,
    EXPRESSION_GREATER_EQUAL,
    EXPRESSION_IN,
    EXPRESSION_CONTAINS,
    EXPRESSION_CONTAINS_ALL,
    EXPRESSION_CONTAINS_ANY,
    EXPRESSION_HAS_TAG,
    EXPRESSION_GET_TAG,
    EXPRESSION_IS_EMPTY,  /* one */
    EXPRESSION_ATTRIBUTE, /* one, names[0] */
    EXPRESSION_HAS,       /* one, names */
    EXPRESSION_LIKE,      /* one, pattern */
    EXPRESSION_IS,        /* one, and with `in` a second; names[0] is the type */
    EXPRESSION_CALL,      /* arguments of an extension function or method */
    EXPRESSION_SET,
    EXPRESSION_RECORD, /* names[i] is the key of operand i */
};

enum request_variable {
    VARIABLE_PRINCIPAL,
    VARIABLE_ACTION,
    VARIABLE_RESOURCE,
    VARIABLE_CONTEXT,
};

/** A pattern of `like`: texts with any run of characters between them. */
struct like_pattern {
    size_t count; /**< of texts; one wildcard between each two */
    const struct cedar_text *const *texts;
};

struct expression {
    uint8_t kind; /**< enum expression_kind */
    uint8_t
        variable; /**< enum request_variable, also of the operand that is_of_variable tells of */
    bool is_of_variable; /**< ATTRIBUTE, HAS: of one name, and the operand is a variable */
    uint8_t depth;       /**< of the tree from here, at most CEDAR_LIMIT_DEPTH */
    int8_t function;     /**< for cedar_function_call */
    uint8_t order;       /**< CALL: EXPRESSION_LESS ... that it is for two decimals, or 0 */
    uint32_t count;      /**< of operands */
    uint32_t begin;      /**< source bytes, for messages */
    uint32_t end;
    uint32_t name_count;
    const struct expression *const *operands;
    union {
        struct cedar_value value;
        struct {
            const struct cedar_text *const *names;
            uint64_t name_hash; /**< is_of_variable: of names[0], to be at hand */
        };
        struct like_pattern pattern;
        const bool *is_minus;
    };
};

enum scope_kind {
    SCOPE_ANY,
    SCOPE_EQUAL, /**< uids[0] */
    SCOPE_IN,    /**< any of uids; an action may list none */
    SCOPE_IS,    /**< type, and with `in` uids[0] */
};

enum slot_kind {
    SLOT_NONE,
    SLOT_PRINCIPAL,
    SLOT_RESOURCE,
};

struct scope {
    enum scope_kind kind;
    enum slot_kind slot; /**< to be filled instead of uids[0] */
    const struct cedar_text *type;
    uint32_t count;
    const struct cedar_uid *const *uids;
    uint32_t begin, end; /**< source bytes, for messages */
};

struct annotation {
    const struct cedar_text *name;
    const struct cedar_text *value;
};

struct condition {
    bool is_unless;
    const struct expression *expression;
};

/** A text that policies came from. */
struct policy_source {
    const struct cedar_text *file;
    const char *text;
    size_t len;
};

/** Line and column (in code points) in a source, both from 1. */
struct source_place {
    uint32_t line, column;
};

/** What every decision looks at comes first. */
struct policy {
    /** Of a finished set, by enum request_variable: hash of the uid of SCOPE_EQUAL; 0 for other
     * scopes. */
    uint64_t scope_hashes[3];
    bool is_forbid;
    uint32_t condition_count;
    const struct condition *conditions;
    struct scope scopes[3]; /**< by enum request_variable */
    const struct cedar_text *id;
    const struct annotation *annotations;
    uint32_t annotation_count;
    const struct policy_source *source;
    uint32_t begin, end;       /**< in the source */
    struct source_place place; /**< of `begin` */
};

static inline bool policy_is_template(const struct policy *policy)
{
    return policy->scopes[VARIABLE_PRINCIPAL].slot != SLOT_NONE ||
           policy->scopes[VARIABLE_RESOURCE].slot != SLOT_NONE;
}

/** Whether a scope certainly does not match, at the price of one comparison. */
static inline bool policy_scope_is_other(const struct policy *policy,
                                         enum request_variable variable,
                                         const struct cedar_uid *uid)
{
    uint64_t hash = policy->scope_hashes[variable];
    return hash != 0 && hash != uid->hash;
}

/** Whether a policy of a finished set certainly cannot apply to a request. */
static inline bool policy_is_for_others(const struct policy *policy,
                                        const struct cedar_request *request)
{
    return policy_scope_is_other(policy, VARIABLE_ACTION, request->action) ||
           policy_scope_is_other(policy, VARIABLE_RESOURCE, request->resource) ||
           policy_scope_is_other(policy, VARIABLE_PRINCIPAL, request->principal);
}

/** An annotation's value, or NULL. */
const struct cedar_text *policy_annotation(const struct policy *policy, const char *name,
                                           size_t len);

/** The place of offset `to`, from that of an offset `from` before it. */
struct source_place policy_source_move(const struct policy_source *source,
                                       struct source_place place, size_t from, size_t to);

/** The place of an offset inside of a policy; takes as long as the policy is, not its source. */
struct source_place policy_place_of(const struct policy *policy, size_t offset);

/** Line and column of an offset, from the beginning of the source: for what is reported once. */
void policy_source_locate(const struct policy_source *source, size_t offset, unsigned *ret_line,
                          unsigned *ret_column);

/** "principal", ... Static. */
const char *variable_name(enum request_variable variable);
