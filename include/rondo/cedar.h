// SPDX-License-Identifier: Apache-2.0
/*
 * Cedar 4.5 in C: parse policies, read entities, decide.
 *
 *     struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
 *     cedar_builder_add(builder, "my.cedar", text, len, NULL, &err);
 *     struct cedar_policies *policies = cedar_builder_finish(builder);
 *     struct cedar_entities *entities = cedar_entities_parse(json, json_len, NULL, &err);
 *     struct cedar_uid *alice = cedar_uid_new("User", "alice", &err);
 *     ...
 *     struct cedar_evaluator *evaluator = cedar_evaluator_new();      one per thread
 *     struct cedar_answer answer;
 *     cedar_authorize(evaluator, policies, &(struct cedar_request){
 *         .principal = alice, .action = view, .resource = photo,
 *         .context = context, .entities = entities }, &answer);
 *
 * Policies and entities are immutable: any number of threads may decide with them at once, without
 * locks. A decision allocates nothing once its evaluator has seen the largest policy; it looks only
 * at policies whose scope can match (they are indexed by principal, action and resource).
 *
 * Semantics are those of the Cedar language reference, version 4.5: forbid wins, and a policy whose
 * evaluation fails is skipped and listed in the answer. Deciding to deny on such an error is the
 * caller's affair. Not here yet: schemas and policies in JSON form.
 *
 * What comes from outside is bounded by the limits below; going past one is an error, never a
 * crash. Strings are UTF-8.
 */
#pragma once

#include "rondo/error.h"
#include "rondo/export.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Nesting of expressions in a policy, and of values in JSON. */
#define CEDAR_LIMIT_DEPTH 200
/** Bytes of one policy text, and of one JSON text. */
#define CEDAR_LIMIT_TEXT_BYTES ((size_t)64 << 20)
/** Policies in one set, templates and links included. */
#define CEDAR_LIMIT_POLICIES 1000000

struct cedar_builder;
struct cedar_policies;
struct cedar_entities;
struct cedar_context;
struct cedar_uid;
struct cedar_evaluator;

/* ---- Policies ------------------------------------------------------------------------------- */

/** How policies are named. */
enum cedar_ids {
    CEDAR_POSITION_IDS = 0, /**< policy0, policy1, ... by position */
    CEDAR_ANNOTATION_IDS,   /**< by @id("...") where there is one; a name twice is an error */
};

/** Where a text is wrong. */
struct cedar_problem {
    size_t offset;                          /**< bytes from the start of the text */
    unsigned line;                          /**< from 1 */
    unsigned column;                        /**< from 1, in code points */
    char message[RONDO_ERROR_MESSAGE_SIZE]; /**< "unexpected `x`, expected ..." */
};

/** Begin a policy set. Never NULL; end with cedar_builder_finish() or cedar_builder_free(). */
RONDO_API struct cedar_builder *cedar_builder_new(enum cedar_ids ids);
RONDO_API void cedar_builder_free(struct cedar_builder *builder);

/**
 * Add the policies of a text. On an error nothing of this text is added.
 * @param file        name for messages, "my.cedar"; copied
 * @param ret_problem filled for RONDO_ERR_INVALID; may be NULL
 * @return 0; RONDO_ERR_INVALID with the message `file:line:column: what, expected what`, also for a
 *         text that holds slots; RONDO_ERR_LIMIT
 */
RONDO_API int cedar_builder_add(struct cedar_builder *builder, const char *file, const char *text,
                                size_t len, struct cedar_problem *ret_problem,
                                struct rondo_error *err);

/** As cedar_builder_add, but policies with slots become templates, to be linked. */
RONDO_API int cedar_builder_add_templates(struct cedar_builder *builder, const char *file,
                                          const char *text, size_t len,
                                          struct cedar_problem *ret_problem,
                                          struct rondo_error *err);

/**
 * Add one template under a name of its own. RONDO_ERR_INVALID when the text is not exactly one
 * policy with slots, or the name is taken.
 */
RONDO_API int cedar_builder_add_template(struct cedar_builder *builder, const char *id,
                                         const char *text, size_t len,
                                         struct cedar_problem *ret_problem,
                                         struct rondo_error *err);

/**
 * Link a template: a policy `new_id` with its slots filled.
 * @param principal for `?principal`, `resource` for `?resource`; NULL where the template has no
 *                  such slot. Copied.
 * @return RONDO_ERR_NOT_FOUND for an unknown template; RONDO_ERR_INVALID when the values do not fit
 *         the slots or the id is taken
 */
RONDO_API int cedar_builder_link(struct cedar_builder *builder, const char *template_id,
                                 const char *new_id, const struct cedar_uid *principal,
                                 const struct cedar_uid *resource, struct rondo_error *err);

/** Whether a policy or template of this id was added. */
RONDO_API bool cedar_builder_has(const struct cedar_builder *builder, const char *id);

/** The finished set; the builder is gone. Never NULL; cedar_policies_unref(). */
RONDO_API struct cedar_policies *cedar_builder_finish(struct cedar_builder *builder);

/** Any thread. @return `policies` */
RONDO_API struct cedar_policies *cedar_policies_ref(struct cedar_policies *policies);
/** Any thread. NULL is allowed. */
RONDO_API void cedar_policies_unref(struct cedar_policies *policies);

/** Policies that decide: static ones and links, in their order. */
RONDO_API size_t cedar_policies_count(const struct cedar_policies *policies);
/** Id of a policy. Borrowed. @param index below the count, as in the functions that follow */
RONDO_API const char *cedar_policies_id(const struct cedar_policies *policies, size_t index);
RONDO_API bool cedar_policies_is_forbid(const struct cedar_policies *policies, size_t index);
/** Value of an annotation; "" for one without a value; NULL when there is none. Borrowed. */
RONDO_API const char *cedar_policies_annotation(const struct cedar_policies *policies, size_t index,
                                                const char *name);
/** Source text of a policy, not NUL-terminated. Borrowed. */
RONDO_API const char *cedar_policies_text(const struct cedar_policies *policies, size_t index,
                                          size_t *ret_len);
/** Where a policy begins. @param ret_file borrowed */
RONDO_API void cedar_policies_position(const struct cedar_policies *policies, size_t index,
                                       const char **ret_file, unsigned *ret_line);
/** Bytes of memory that the set takes. */
RONDO_API size_t cedar_policies_memory(const struct cedar_policies *policies);

/* ---- Entities, uids, context ---------------------------------------------------------------- */

/** @param type "User" or "Name::Space::User" @return NULL with RONDO_ERR_INVALID; else _free it */
RONDO_API struct cedar_uid *cedar_uid_new(const char *type, const char *id,
                                          struct rondo_error *err);
/** From the form `User::"alice"`. */
RONDO_API struct cedar_uid *cedar_uid_parse(const char *text, struct rondo_error *err);
RONDO_API void cedar_uid_free(struct cedar_uid *uid);
RONDO_API const char *cedar_uid_type(const struct cedar_uid *uid);
/** May hold NUL bytes. */
RONDO_API const char *cedar_uid_id(const struct cedar_uid *uid, size_t *ret_len);

/**
 * Read entities: `[{"uid":{"type":..,"id":..},"attrs":{..},"parents":[..],"tags":{..}}]`.
 * @param base entities beneath these, or NULL; must outlive the result. One that is in both is
 *             taken from here, except where it is an ancestor of an entity of `base`.
 * @return NULL with RONDO_ERR_INVALID (and where), RONDO_ERR_LIMIT; else cedar_entities_free()
 */
RONDO_API struct cedar_entities *cedar_entities_parse(const char *json, size_t len,
                                                      const struct cedar_entities *base,
                                                      struct rondo_error *err);
RONDO_API void cedar_entities_free(struct cedar_entities *entities);
RONDO_API size_t cedar_entities_count(const struct cedar_entities *entities);

enum cedar_kind {
    CEDAR_BOOL = 0,
    CEDAR_LONG,
    CEDAR_STRING,
    CEDAR_ENTITY,
    CEDAR_SET,
    CEDAR_RECORD,
    CEDAR_DECIMAL,
    CEDAR_IP,
    CEDAR_DATETIME,
    CEDAR_DURATION,
};

/** A value; make it with the functions that follow. */
struct cedar_value {
    enum cedar_kind kind;
    union {
        bool truth;
        int64_t number; /**< Long; decimal in ten-thousandths; datetime and duration in ms */
        const void *object;
    } as;
};

static inline struct cedar_value cedar_bool(bool truth)
{
    struct cedar_value value;
    value.kind = CEDAR_BOOL;
    value.as.number = 0;
    value.as.truth = truth;
    return value;
}

static inline struct cedar_value cedar_number(enum cedar_kind kind, int64_t number)
{
    struct cedar_value value;
    value.kind = kind;
    value.as.number = number;
    return value;
}

static inline struct cedar_value cedar_long(int64_t number)
{
    return cedar_number(CEDAR_LONG, number);
}

/** @param units ten-thousandths: 1.5 is 15000 */
static inline struct cedar_value cedar_decimal(int64_t units)
{
    return cedar_number(CEDAR_DECIMAL, units);
}

/** @param ms since the Unix epoch */
static inline struct cedar_value cedar_datetime(int64_t ms)
{
    return cedar_number(CEDAR_DATETIME, ms);
}

/**
 * A context with a fixed list of attributes, to be set again before each decision without
 * allocating. One thread at a time. Attributes start as `false`.
 * @param names distinct; copied
 */
RONDO_API struct cedar_context *cedar_context_new(const char *const *names, size_t count);
/** A context from a JSON object. @return NULL with the error; cedar_context_free() */
RONDO_API struct cedar_context *cedar_context_parse(const char *json, size_t len,
                                                    struct rondo_error *err);
RONDO_API void cedar_context_free(struct cedar_context *context);
/** @param index place in the list of names */
RONDO_API void cedar_context_set(struct cedar_context *context, size_t index,
                                 struct cedar_value value);
/** A string; allocates only when it is longer than the ones before it. */
RONDO_API void cedar_context_set_string(struct cedar_context *context, size_t index,
                                        const char *text, size_t len);
/** Any value, from JSON. The attribute keeps its value on an error. */
RONDO_API int cedar_context_set_json(struct cedar_context *context, size_t index, const char *json,
                                     size_t len, struct rondo_error *err);

/* ---- Deciding ------------------------------------------------------------------------------- */

struct cedar_request {
    const struct cedar_uid *principal;
    const struct cedar_uid *action;
    const struct cedar_uid *resource;
    const struct cedar_context *context;   /**< NULL = empty */
    const struct cedar_entities *entities; /**< NULL = none */
};

/** Why the evaluation of a policy failed. */
enum cedar_failure_code {
    CEDAR_FAIL_NONE = 0,
    CEDAR_FAIL_TYPE,         /**< a value has the wrong type */
    CEDAR_FAIL_OVERFLOW,     /**< integer overflow */
    CEDAR_FAIL_NO_ATTRIBUTE, /**< no such attribute */
    CEDAR_FAIL_NO_TAG,       /**< no such tag */
    CEDAR_FAIL_NO_ENTITY,    /**< the entity is not known */
    CEDAR_FAIL_EXTENSION,    /**< bad text for ip(), decimal(), ... */
    CEDAR_FAIL_ARGUMENTS,    /**< wrong number of arguments of an extension method */
};

/** A policy that could not be evaluated. */
struct cedar_failure {
    uint32_t policy; /**< index of the policy */
    enum cedar_failure_code code;
    enum cedar_kind got;    /**< for CEDAR_FAIL_TYPE */
    const void *expression; /**< for cedar_failure_describe */
};

/** Borrowed from the evaluator until its next use. */
struct cedar_answer {
    bool is_allowed;
    const uint32_t *reasons; /**< indexes of the deciding policies, ascending */
    size_t reason_count;
    const struct cedar_failure *errors; /**< by index, ascending */
    size_t error_count;
};

/** What one thread needs to decide. Never NULL. */
RONDO_API struct cedar_evaluator *cedar_evaluator_new(void);
RONDO_API void cedar_evaluator_free(struct cedar_evaluator *evaluator);

/** Decide. Never fails. One thread at a time for an evaluator. */
RONDO_API void cedar_authorize(struct cedar_evaluator *evaluator,
                               const struct cedar_policies *policies,
                               const struct cedar_request *request,
                               struct cedar_answer *ret_answer);

/** A failure in words, with `file:line:column`. Cut to fit. */
RONDO_API void cedar_failure_describe(const struct cedar_policies *policies,
                                      const struct cedar_failure *failure, char *ret_text,
                                      size_t size);

/** Stable short name of a code ("type", "overflow", ...). Static. */
RONDO_API const char *cedar_failure_name(enum cedar_failure_code code);

#ifdef __cplusplus
}
#endif
