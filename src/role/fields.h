// SPDX-License-Identifier: Apache-2.0
/*
 * The fields of role files: one table. A row says how a key is written, what it may hold, what it
 * is when it is not given, since which version of InitRunner it exists, and what it means. Parsing,
 * checks, the normal form, warnings and the reference page all come from these rows.
 *
 * Files: fields_file.c (envelope, model, guardrails, autonomy), fields_spec.c (output, memory,
 * ingest, observability, execution), fields_security.c, tools.def (and fields_tools.c),
 * fields_triggers.c (and sinks).
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;
struct role_reader;
struct yaml_node;

enum role_field_kind {
    FIELD_TEXT = 0,
    FIELD_INTEGER,
    FIELD_NUMBER,
    FIELD_BOOLEAN,
    FIELD_CHOICE, /**< one of `choices` */
    FIELD_TEXT_LIST,
    FIELD_INTEGER_LIST,
    FIELD_TEXT_MAP,
    FIELD_ANY,
    FIELD_ANY_MAP,
    FIELD_OBJECT,       /**< of `shape` */
    FIELD_OBJECT_LIST,  /**< each of `shape` */
    FIELD_VARIANT_LIST, /**< each of the shape that its `type` names in `variants` */
    FIELD_CONDITIONS,   /**< a name, or an object of `shape` */
};

enum {
    FIELD_REQUIRED = 1U << 0,
    FIELD_NULLABLE = 1U << 1,
    FIELD_DEAD = 1U << 2, /**< accepted, but without effect anywhere: setting it is warned of */
    FIELD_UNHONOURED = 1U << 4, /**< protects, and is not honoured: another value than the default
                                     keeps the role from being run */
    FIELD_PROTECTS = 1U << 5,   /**< honoured; a key that looks like it was meant to protect */
    FIELD_OWN = 1U << 3,        /**< Rondo's addition: in the normal form only where it is given */
    FIELD_LATER = 1U << 6,      /**< of InitRunner 2026: likewise */
    FIELD_SPARSE = FIELD_OWN | FIELD_LATER,
};

/** Bounds of numbers. */
struct role_range {
    bool has_low, has_high;
    bool is_above; /**< `low` itself is too low */
    double low, high;
};

/** Checks a value that has the right type already; of lists each item. Reports with reader_error.
 */
typedef void role_check_fn(struct role_reader *reader, const struct yaml_node *node,
                           const char *text);

struct role_shape;

/** Versions of InitRunner's schema whose defaults the normal form fills in. */
enum role_schema {
    ROLE_SCHEMA_1_0,  /**< v1.0.0: what came later appears only where it is given */
    ROLE_SCHEMA_1_13, /**< v1.13: all of it */
};

struct role_field {
    const char *name; /**< NULL ends a table */
    enum role_field_kind kind;
    unsigned flags;
    unsigned since;         /**< 0 = v1.0, 7 = v1.7 */
    const char *by_default; /**< JSON; NULL = "" of a text, [] of a list, {} of a map or object */
    const char *by_default_1_0; /**< where v1.0 had another one, or NULL */
    const char *normal_name;    /**< name in the normal form where it differs, or NULL */
    const char *other_name;     /**< another spelling in files, or NULL */
    struct role_range range;
    const char *const *choices;
    const char *const *provides; /**< of a FIELD_UNHONOURED choice: values that are honoured all
                                      the same; or NULL */
    const struct role_shape *shape;
    const struct role_variants *variants;
    role_check_fn *check;
    const char *help;
    const char *idle; /**< why it has no effect here: another value than the default is warned of;
                           NULL = it has one */
};

/** A key of later versions of InitRunner, or of other tools. */
struct role_foreign {
    const char *name;
    bool protects; /**< it limits what the agent can do: without it, the role is not run */
};

/** Checks an object as a whole, when all its fields were right. May complete `normal`. */
typedef void role_shape_check_fn(struct role_reader *reader, const struct yaml_node *node,
                                 struct json_object *normal);

struct role_shape {
    const char *name; /**< of variants: the value of `type`; else for the reference */
    const char *help;
    const struct role_field *fields;
    role_shape_check_fn *check;
    const struct role_foreign *foreign; /**< known, not used; ends without a name; or NULL */
    bool protects;  /**< a key that it does not know may have been meant to protect */
    bool is_closed; /**< in the flat form, a key that it does not know is an error */
};

/** Objects whose `type` says what they are. */
struct role_variants {
    const char *what;                       /**< "tool", "trigger" */
    const struct role_shape *const *shapes; /**< ends with NULL */
    const struct role_field *common;        /**< fields of each beside its own, or NULL */
    bool takes_others; /**< an unknown type is kept, with its keys under `config` */
};

#define RANGE_FROM(a)               \
    {                               \
        .has_low = true, .low = (a) \
    }
#define RANGE_ABOVE(a)                                \
    {                                                 \
        .has_low = true, .is_above = true, .low = (a) \
    }
#define RANGE_BETWEEN(a, b)                                        \
    {                                                              \
        .has_low = true, .has_high = true, .low = (a), .high = (b) \
    }
#define RANGE_ABOVE_UP_TO(a, b)                                                       \
    {                                                                                 \
        .has_low = true, .is_above = true, .has_high = true, .low = (a), .high = (b), \
    }

extern const struct role_shape role_shape_file;
extern const struct role_shape role_shape_output;
extern const struct role_shape role_shape_embeddings;
extern const struct role_shape role_shape_ingest;
extern const struct role_shape role_shape_memory;
extern const struct role_shape role_shape_observability;
extern const struct role_shape role_shape_execution;
extern const struct role_shape role_shape_resources;
extern const struct role_shape role_shape_tool_search;
extern const struct role_shape role_shape_security;
extern const struct role_variants role_tools;
extern const struct role_variants role_triggers;
extern const struct role_variants role_sinks;
/** Front matter of a skill file. */
extern const struct role_shape role_shape_skill;

/** The shape of a variant, or NULL. */
const struct role_shape *role_variant_find(const struct role_variants *variants, const char *type,
                                           size_t len);

/** Whether a value requests a protection that is not given. @param value in normal form */
bool role_field_is_unhonoured(const struct role_field *field, struct json_object *value);

/** Whether a value requests something that has no effect here. @param value in normal form */
bool role_field_is_idle(const struct role_field *field, struct json_object *value);

/** A field's default for a schema as JSON text. @param is_1_0 v1.0, else v1.13 */
const char *role_field_default(const struct role_field *field, bool is_1_0);
