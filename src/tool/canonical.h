// SPDX-License-Identifier: Apache-2.0
/*
 * The arguments of a call as permissions and policies see them: one spelling for each meaning.
 * Paths are resolved (".", "..", double slashes, symbolic links) and relative to a folder where
 * they are in it; a command is its words, joined by one blank; a URL has a lower-case host, no user
 * and no default port. What a tool is given stays as the model wrote it.
 *
 * A command that starts another one (`env A=b git push`, `sh -c 'git push'`) is judged as both: it
 * has several forms, and the call may be made only if each of them may.
 */
#pragma once

#include "base/buf.h"
#include "tool/tool.h"

/** What the value of an argument is. */
enum argument_kind {
    ARGUMENT_PLAIN = 0,
    ARGUMENT_PATH,
    ARGUMENT_COMMAND,  /**< program and arguments; no shell reads it */
    ARGUMENT_SCRIPT,   /**< a command line for a shell */
    ARGUMENT_PROGRAM,  /**< source text of a program; policies see it as it is */
    ARGUMENT_URL,      /**< an absolute URL */
    ARGUMENT_URL_PATH, /**< path and query of one */
    ARGUMENT_HOST,
    ARGUMENT_METHOD, /**< of HTTP */
};

struct tool_argument {
    const char *name; /**< NULL ends a list */
    enum argument_kind kind;
};

/** No argument is anything but plain. */
extern const struct tool_argument canonical_none[];

/** Forms of one call. */
#define CANONICAL_FORMS_MAX 16

struct canonical_forms {
    struct json_object *forms[CANONICAL_FORMS_MAX]; /**< owned; the first is the call itself */
    size_t count;
};

/**
 * @param workspace  absolute
 * @param frame      absolute: the folder that paths are made relative to; NULL = workspace
 * @param arguments  an object
 * @param ret_forms  canonical_forms_fini()
 * @return false when the call starts more than CANONICAL_FORMS_MAX commands in one another
 */
bool canonical_make(const struct tool *tool, const char *workspace, const char *frame,
                    struct json_object *arguments, struct canonical_forms *ret_forms);
void canonical_forms_fini(struct canonical_forms *forms);

/** One text among the arguments, at whatever depth. */
typedef void canonical_text_fn(void *context, enum argument_kind kind, const char *text);

/** Go through the texts of a call's arguments, as the model wrote them. */
void canonical_visit(const struct tool *tool, struct json_object *arguments, canonical_text_fn *fn,
                     void *context);

/* ---- Of one value. Each appends to `ret_text`. ----------------------------------------------- */

/** @param base absolute folder of relative paths. @param frame see canonical_make */
void canonical_path(const char *base, const char *frame, const char *path, struct buf *ret_text);
void canonical_url(const char *url, struct buf *ret_text);
/** A path with a query, below some address: begins with one slash. */
void canonical_url_path(const char *path, struct buf *ret_text);
void canonical_host(const char *host, struct buf *ret_text);

/** Command lines: the whole one, and those that it starts. */
struct canonical_commands {
    char *lines[CANONICAL_FORMS_MAX]; /**< owned */
    size_t count;
    bool is_cut; /**< there are more */
};

/**
 * @param folder    where the command starts, absolute
 * @param is_script a shell reads the line
 */
void canonical_command(const char *line, const char *folder, bool is_script,
                       struct canonical_commands *ret_commands);
void canonical_commands_fini(struct canonical_commands *commands);

/**
 * The name of a program: that of a file which PATH has under its name is the name alone; another
 * file's is a path. Appends.
 */
void canonical_program(const char *word, const char *folder, struct buf *ret_text);
