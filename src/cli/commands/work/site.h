// SPDX-License-Identifier: Apache-2.0
/*
 * Where work is done: the repository of a forge, the token, and the clone. In a clone of the
 * repository it is that clone, else one in the cache. One thread.
 */
#pragma once

#include "cli/commands/work/queue_options.h"
#include "forge/forge.h"
#include "forge/place.h"
#include "git/access.h"

struct work_site {
    struct forge_place place;
    struct forge_token token;
    char *name;                        /**< "HOST/OWNER/NAME" */
    struct git_repository *repository; /**< the clone; NULL until work_site_open() */
    char *cache_folder;                /**< of a clone of ours; NULL = it is the person's clone */
    char *temporary_folder;            /**< of a clone that is removed again; or NULL */
    char *remote;                      /**< name, or address; NULL until it is known */
    char *origin;                      /**< that the token is for; NULL = none with git */
};

/**
 * Find repository and token. Reads the working directory's clone, the environment and the logins of
 * other programs; sends nothing to the forge.
 * @param uses_here whether the working directory's clone counts; else the repository must be given
 * @param ret_site work_site_fini()
 */
int work_site_find(const struct queue_values *values, bool uses_here, struct work_site *ret_site,
                   struct rondo_error *err);

/** What a site is opened with. Borrowed. */
struct work_site_parts {
    struct http_client *http;
    struct forge_paces *paces; /**< of the process; or NULL */
    struct cancel *cancel;     /**< or NULL */
    const char *base;          /**< branch; NULL = the default one */
    bool is_preview;           /**< leave nothing: a clone is not made, or only for the time */
};

/** Have a clone: open the person's, or make or open one in the cache, which asks the forge. */
int work_site_open(struct work_site *site, const struct work_site_parts *parts,
                   struct rondo_error *err);

/** A connection to the forge. @param ret_forge forge_close() */
int work_site_connect(const struct work_site *site, const struct work_site_parts *parts,
                      struct forge **ret_forge, struct rondo_error *err);

/** How git reaches the remote. Borrowed from the site. */
struct git_access work_site_access(const struct work_site *site);

/** The error for a call of the forge that did not end well. @return its code, negative */
int work_site_fail(const struct work_site *site, const struct forge *forge,
                   struct rondo_error *err);

void work_site_fini(struct work_site *site);

/**
 * Names of variables that may hold a forge's token: the well-known ones, `further`, and those of
 * this process, or of `variables`, whose value is the token.
 * @param further, hook names of variables; or NULL
 * @param token, variables or NULL
 * @return owned list
 */
char **work_token_variables(const char *further, const char *token, const char *hook,
                            const char *const *variables);

/** Remove them from this process, so that nothing which it starts, or which reads its environment,
 *  finds a token. Before there are other threads. */
void work_token_hide(const char *const *names);

/**
 * Hide all variables that may hold a token: the well-known ones, `further`, and those whose value
 * is that of one of these. Before there are other threads.
 * @param further names; or NULL
 * @return what they were, "NAME=value"; owned list
 */
char **work_token_take(const char *const *further);
