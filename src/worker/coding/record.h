// SPDX-License-Identifier: Apache-2.0
/*
 * The record of a coding agent: how its command line is called and read. Rows of records.c, or a
 * file of the user's (custom.h). A run keeps it as JSON, so that a resume needs neither. Values;
 * any thread.
 *
 * Word lists are NULL-terminated. In `arguments` the words {permissions}, {model} and {session}
 * stand for the lists of the same names, {prompt} and {prompt_file} for the prompt and its file; in
 * `model` and the session lists {model} and {session} stand for the name and the id.
 */
#pragma once

#include "model/prices.h"
#include "worker/coding/records.h"
#include "worker/coding/result.h"

#include <stdbool.h>
#include <stddef.h>

/** Who protects what the agent does. */
enum coding_permissions {
    CODING_GUARDED = 0, /**< the agent's own permission system */
    CODING_UNATTENDED,  /**< Rondo's sandbox: the agent asks nobody */
};

struct coding_record {
    char *name;
    char *program;
    char *help; /**< what it is, for people; or NULL */
    enum coding_prompt prompt;
    enum coding_format format;
    char **arguments;
    char **unattended;     /**< {permissions} in a sandbox */
    char **guarded;        /**< {permissions} without one */
    char **model_words;    /**< {model}; NULL = it has no such option */
    char **start_words;    /**< {session} of a new session; NULL = the agent chooses its id */
    char **resume_words;   /**< {session} of an old one; NULL = it cannot resume */
    char **version_words;  /**< by which it prints its version */
    char **env;            /**< NAME=VALUE that it always gets */
    char **unattended_env; /**< NAME=VALUE that it gets in a sandbox */
    char **keys;           /**< variables of the user that it gets, the model's key among them */
    char **home; /**< NAME=VALUE PATH: folder of its login and sessions, and the variable that leads
                      there, for the sandbox. ~ is the home of the user */
    char *provider;      /**< whose prices hold, for those that report tokens only; or NULL */
    bool is_usage_total; /**< usage after a resume counts the whole session */
    struct coding_exit exits[CODING_EXITS];
    size_t exit_count;

    /* Of one run. */
    enum coding_permissions permissions;
    char *model;          /**< or NULL: the agent's default */
    char *program_path;   /**< absolute */
    char *agent_home;     /**< HOME that the user set for it; or NULL */
    bool keeps_session;   /**< later iterations resume the session of the first */
    bool is_single;       /**< one iteration */
    struct prices prices; /**< of the user's file; not known = those built in */
};

/** Names of what can be built in, in the order of the table. Static. NULL past the last one. */
const char *coding_record_name(size_t i);

/** A deep copy of a row. @return whether there is one of that name */
bool coding_record_find(const char *name, struct coding_record *ret_record);

void coding_record_fini(struct coding_record *record);

/** Append as a JSON object. */
void coding_record_encode(const struct coding_record *record, struct buf *ret_json);

/**
 * Read what coding_record_encode() wrote, or a user's own record.
 * @param ret_record coding_record_fini(); untouched on failure
 * @param ret_member name of the member that is wrong; static, or points into `json`; may be NULL
 * @return 0, or RONDO_ERR_INVALID with a message that begins with the member
 */
int coding_record_decode(struct json_object *json, struct coding_record *ret_record,
                         const char **ret_member, struct rondo_error *err);

/** Append a table of all rows, in Markdown. */
void coding_describe(struct buf *ret_text);

/** What stands for the words of `arguments`. Borrowed. */
struct coding_words {
    const char *session; /**< id; NULL = none is chosen */
    bool is_resumed;
    const char *prompt;
    const char *prompt_file;
};

/** Longest prompt that becomes an argument, bytes: Linux allows 128 KiB for one. */
#define CODING_PROMPT_ARGUMENT_BYTES LIMIT_PROMPT_ENV_BYTES

/** The command line. @return NULL-terminated, memory_free_list() */
char **coding_command(const struct coding_record *record, const struct coding_words *words);
