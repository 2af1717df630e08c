// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a YAML tree by the tables of fields: gives the normal form and findings. Inside src/role.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "role/fields.h"
#include "role/findings.h"
#include "role/yaml.h"

struct role;
struct rondo_error;

struct role_reader {
    struct role_findings *findings;
    enum role_schema schema;
    struct buf path; /**< of the value at hand: "spec.tools[2]" */
    bool is_flat;    /**< paths are without `metadata` and `spec`; see flat_to_envelope() */
};

/** Read an object of a shape. @param node a map, or NULL for all defaults @return owned */
struct json_object *reader_read_object(struct role_reader *reader, const struct role_shape *shape,
                                       const struct yaml_node *node);

/** What a field is called in the file. */
const char *reader_shown_name(const struct role_reader *reader, const char *name);
/** Lengthen the path by ".name"; @return what reader_leave takes it back to */
size_t reader_enter(struct role_reader *reader, const char *name, size_t len);
/** Lengthen the path by "[index]". */
size_t reader_enter_index(struct role_reader *reader, size_t index);
void reader_leave(struct role_reader *reader, size_t mark);

/** Report at a node, with the path at hand. @param hint what would be right, or NULL */
void reader_error(struct role_reader *reader, const struct yaml_node *node, const char *hint,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
void reader_warning(struct role_reader *reader, const struct yaml_node *node, const char *hint,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
/** A protection that the file requests and that is not given. */
void reader_unprotected(struct role_reader *reader, const struct yaml_node *node, const char *hint,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/** Errors so far. */
size_t reader_errors(const struct role_reader *reader);

/*
 * Coercions, as pydantic does them without `strict`. Each gives NULL when the value does not fit;
 * nothing is reported.
 */

/** true, 1, 1.0, "yes", "on", ... @return owned JSON boolean */
struct json_object *coerce_boolean(const struct yaml_node *node);
/** 5, 5.0, "5", " 5.0 ", "1_000", true. @return owned JSON integer */
struct json_object *coerce_integer(const struct yaml_node *node);
/** 0.5, 1, "0.5", "1e3", true; finite ones only. @return owned JSON number with a fraction */
struct json_object *coerce_number(const struct yaml_node *node);

/* Checks of single values (checks.c). role_check_fn. */
void check_agent_name(struct role_reader *reader, const struct yaml_node *node, const char *text);
void check_identifier(struct role_reader *reader, const struct yaml_node *node, const char *text);
void check_not_blank(struct role_reader *reader, const struct yaml_node *node, const char *text);
void check_pattern(struct role_reader *reader, const struct yaml_node *node, const char *text);
void check_permission(struct role_reader *reader, const struct yaml_node *node, const char *text);
void check_docker_memory(struct role_reader *reader, const struct yaml_node *node,
                         const char *text);
void check_docker_argument(struct role_reader *reader, const struct yaml_node *node,
                           const char *text);
void check_absolute(struct role_reader *reader, const struct yaml_node *node, const char *text);
void check_cron(struct role_reader *reader, const struct yaml_node *node, const char *text);
void check_pool(struct role_reader *reader, const struct yaml_node *node, const char *text);
void check_zone(struct role_reader *reader, const struct yaml_node *node, const char *text);
void check_condition_name(struct role_reader *reader, const struct yaml_node *node,
                          const char *text);
void check_command(struct role_reader *reader, const struct yaml_node *node, const char *text);
void check_one_conversation(struct role_reader *reader, const struct yaml_node *node,
                            const char *text);
void check_not_empty(struct role_reader *reader, const struct yaml_node *node, const char *text);
void check_fallback_on(struct role_reader *reader, const struct yaml_node *node, const char *text);

/* Checks of objects (shape_checks.c). role_shape_check_fn. */
void check_file(struct role_reader *reader, const struct yaml_node *node,
                struct json_object *normal);
void check_model(struct role_reader *reader, const struct yaml_node *node,
                 struct json_object *normal);
void check_spec(struct role_reader *reader, const struct yaml_node *node,
                struct json_object *normal);
void check_reasoning(struct role_reader *reader, const struct yaml_node *node,
                     struct json_object *normal);
void check_guardrails(struct role_reader *reader, const struct yaml_node *node,
                      struct json_object *normal);
void check_autonomy(struct role_reader *reader, const struct yaml_node *node,
                    struct json_object *normal);
void check_condition(struct role_reader *reader, const struct yaml_node *node,
                     struct json_object *normal);
void check_output(struct role_reader *reader, const struct yaml_node *node,
                  struct json_object *normal);
void check_chunking(struct role_reader *reader, const struct yaml_node *node,
                    struct json_object *normal);
void check_memory(struct role_reader *reader, const struct yaml_node *node,
                  struct json_object *normal);
void check_docker(struct role_reader *reader, const struct yaml_node *node,
                  struct json_object *normal);
void check_security(struct role_reader *reader, const struct yaml_node *node,
                    struct json_object *normal);
void check_webhook(struct role_reader *reader, const struct yaml_node *node,
                   struct json_object *normal);
void check_heartbeat(struct role_reader *reader, const struct yaml_node *node,
                     struct json_object *normal);
void check_mcp(struct role_reader *reader, const struct yaml_node *node,
               struct json_object *normal);
void check_delegate(struct role_reader *reader, const struct yaml_node *node,
                    struct json_object *normal);
void check_script(struct role_reader *reader, const struct yaml_node *node,
                  struct json_object *normal);
void check_email(struct role_reader *reader, const struct yaml_node *node,
                 struct json_object *normal);
void check_search(struct role_reader *reader, const struct yaml_node *node,
                  struct json_object *normal);

/**
 * Append the role's text with the values of its variables (variables.c).
 * @return how many values are missing or wrong, which is reported
 */
size_t variables_write(const struct role *role, struct role_findings *findings,
                       struct buf *ret_text);

/**
 * Make the role of a normal form, which it takes over also when it fails.
 * @param path of the file, made absolute
 */
int role_fill(struct json_object *normal, const char *path, struct role **ret_role,
              struct rondo_error *err);

/** Report what is wrong with scalars anywhere in a tree (dates that are none), and repeated keys.
 */
void reader_check_tree(struct role_reader *reader, const struct yaml_node *node);

/*
 * The flat form (flat.c; spec_version 3, InitRunner 2026.8): the keys of `metadata` and `spec` side
 * by side at the top level. It is turned into the tree of an envelope, whose nodes keep their
 * places, so that one table of fields reads both.
 */

/** Whether a document without `kind` is in the flat form. */
bool flat_is(const struct yaml_node *root);

/**
 * The envelope of a flat document. Keys that it does not know are errors. From here on the reader
 * shows paths as the file has them: without `metadata` and `spec`.
 * @param arena holds the nodes that are added
 * @return NULL when the document is not one of a single agent
 */
const struct yaml_node *flat_to_envelope(struct role_reader *reader, const struct yaml_node *root,
                                         struct arena *arena);
