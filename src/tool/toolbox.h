// SPDX-License-Identifier: Apache-2.0
/*
 * The tools of one agent: opened from a role's entries, found by name, called after all checks
 * that must precede a call: arguments that are JSON and fit the schema, permissions, bounds.
 *
 * The loop evaluates the policies for a call before toolbox_call.
 */
#pragma once

#include "tool/tool.h"

struct json_writer;

/** Most of a call's arguments, bytes of JSON. */
#define TOOL_ARGUMENTS_MAX_BYTES ((size_t)1024 * 1024)
/** Most that any tool's result holds, bytes. */
#define TOOL_RESULT_MAX_BYTES ((size_t)1024 * 1024)
/** Tools of one agent. */
#define TOOLBOX_MAX_TOOLS 512

/** @param surroundings copied; what it points to is borrowed */
struct toolbox *toolbox_new(const struct tool_surroundings *surroundings);
/** Ends servers that were started. NULL is allowed. */
void toolbox_free(struct toolbox *toolbox);

/**
 * Whether an entry of a role wants a person's approval of each call. Doubt means yes.
 * @param config the entry in normal form
 */
bool toolbox_wants_confirmation(struct json_object *config);

const struct tool_surroundings *toolbox_surroundings(const struct toolbox *toolbox);

/**
 * Open one entry of a role's `tools`. A type that cannot run (RONDO_ERR_UNSUPPORTED) is the
 * caller's to report. When it fails, nothing of the entry stays; a server that fails or answers
 * with nonsense is RONDO_ERR_SYSTEM, never a code of the store.
 * @param err required
 * @param config kept (json_object_get)
 */
int toolbox_open(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err);

/**
 * Add a tool. RONDO_ERR_INVALID for a second one of a name, RONDO_ERR_LIMIT above
 * TOOLBOX_MAX_TOOLS.
 * @param tool its strings are taken over, also on failure; `context` stays the type's, see
 *             toolbox_own. Without a schema it takes no arguments. toolbox_open sets `permissions`
 *             where they are NULL, and `needs_confirmation` where the entry requests it
 */
int toolbox_add(struct toolbox *toolbox, const struct tool *tool, struct rondo_error *err);

/** A tool whose texts are known when it is written. Static. */
struct tool_function {
    const char *name;
    const char *description;
    const char *schema;
    void (*run)(const struct tool *tool, const struct tool_call *call,
                struct tool_result *ret_result);
    bool is_pure;
    bool is_idempotent;
    bool is_concurrent;
    bool is_read_only;
    const struct tool_argument *arguments; /**< NULL = all plain */
};

/** Make a tool from its static description, for toolbox_add. @param type of the entry, static */
struct tool toolbox_tool(const char *type, const struct tool_function *function, void *context);

/**
 * Append the schema of a tool whose parameters a role lists, with `name` and `required`.
 * @param write_parameter writes one as a member of `properties`
 */
void toolbox_write_schema(struct json_object *parameters,
                          void (*write_parameter)(struct json_writer *writer,
                                                  struct json_object *parameter),
                          struct buf *ret_schema);

/** Add a tool from its static description. */
int toolbox_add_function(struct toolbox *toolbox, const char *type,
                         const struct tool_function *function, void *context,
                         struct rondo_error *err);

/** Call `free_owned(owned)` when the toolbox is freed; last registered first. */
void toolbox_own(struct toolbox *toolbox, void *owned, void (*free_owned)(void *owned));

/* ---- Entries whose tools change ------------------------------------------------------------- */

/**
 * Look whether the tools of an entry have changed, and change them in the toolbox.
 * @param ret_news what changed, for people; a line each
 */
typedef void toolbox_refresh_fn(struct toolbox *toolbox, void *source, struct buf *ret_news);

/** Have `refresh` called by toolbox_refresh. */
void toolbox_watch(struct toolbox *toolbox, void *source, toolbox_refresh_fn *refresh);

/**
 * Take over what servers have changed. On the thread that opened the toolbox, while no call is
 * made: tools that are gone are freed.
 * @return whether anything changed
 */
bool toolbox_refresh(struct toolbox *toolbox, struct buf *ret_news);

/**
 * Add a tool of a source, or put it in the place of the one of its name and source.
 * @param config the entry, whose permissions and confirmation apply
 * @param tool   as for toolbox_add
 * @param ret_is_changed whether another definition was there, or none
 */
int toolbox_put(struct toolbox *toolbox, struct json_object *config, const struct tool *tool,
                bool *ret_is_changed, struct rondo_error *err);

/** Remove the tools of a source whose names `is_wanted` does not know. */
void toolbox_keep(struct toolbox *toolbox, const void *source,
                  bool (*is_wanted)(void *context, const char *name), void *context,
                  struct buf *ret_news);

size_t toolbox_count(const struct toolbox *toolbox);
const struct tool *toolbox_at(const struct toolbox *toolbox, size_t index);
/** NULL when there is none. */
const struct tool *toolbox_find(const struct toolbox *toolbox, const char *name);

/** Names, descriptions and schemas for a model, in the order of opening. */
struct model_tool;
void toolbox_describe(const struct toolbox *toolbox, struct model_tool *ret_tools);

/** Why a call cannot be made. */
enum tool_refusal {
    TOOL_READY = 0,
    TOOL_UNKNOWN,
    TOOL_BAD_ARGUMENTS,
    TOOL_NOT_PERMITTED,
};

/**
 * Look at a call before it is made.
 * @param arguments as the model wrote them; "" reads as {}
 * @param ret_arguments TOOL_READY: the arguments as an object, json_object_put()
 * @param ret_result otherwise: what to tell the model, so that it can do better
 */
enum tool_refusal toolbox_prepare(const struct toolbox *toolbox, const char *name,
                                  const char *arguments, struct json_object **ret_arguments,
                                  struct tool_result *ret_result);

/**
 * What policies see of a call that was prepared: each form must be allowed.
 * @return false when it has too many forms to be judged
 */
struct canonical_forms;
bool toolbox_forms(const struct toolbox *toolbox, const struct tool *tool,
                   struct json_object *arguments, struct canonical_forms *ret_forms);

/** The files that a call names, as they are now (tool/operands.h). */
struct tool_operands;
void toolbox_operands(const struct toolbox *toolbox, const struct tool *tool,
                      struct json_object *arguments, struct tool_operands *ret_operands);

/**
 * Make a call that was prepared. The result is bounded and valid UTF-8 without NUL bytes. A call
 * that is cancelled, or whose deadline has passed, before it begins is not made.
 */
void toolbox_call(const struct toolbox *toolbox, const struct tool *tool,
                  const struct tool_call *call, struct tool_result *ret_result);
