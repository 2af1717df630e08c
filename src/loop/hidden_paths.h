// SPDX-License-Identifier: Apache-2.0
/*
 * What sandboxed commands and tools must not reach: the state folder, the store, and the policies
 * that decide about them. Lists end with NULL and are owned by the caller.
 */
#pragma once

/**
 * The user's state folder; and of a store that is not in it the folder `.rondo`, or in another
 * folder the store's files, the hand-over folders of its workers and its policies, whether they
 * exist or not. The same of other stores that this user has made outside of the state folder.
 * @param store_path or NULL
 */
char **hidden_paths_of_store(const char *store_path);

/**
 * Further the policies of one run.
 * @param of_runtime list that they are added to, or NULL
 * @param policy     path of the run's own policies, or NULL
 */
char **hidden_paths_of_run(const char *const *of_runtime, const char *policy);

/**
 * What decides and lies in the workspace of a run: shown read-only to sandboxed commands, and not
 * written by tools. What gets past that is noticed, since it counts only as confirmed.
 * @param role path of the run's role file, or NULL
 */
char **protected_paths_of_run(const char *workspace, const char *role);

/** NULL is allowed. */
void hidden_paths_free(char **paths);

static inline void auto_hidden_paths_impl(char ***slot)
{
    hidden_paths_free(*slot);
}
#define auto_hidden_paths __attribute__((cleanup(auto_hidden_paths_impl)))
