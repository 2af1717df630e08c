// SPDX-License-Identifier: Apache-2.0
/*
 * What sandboxed commands must not reach: the store, and the policies that decide about them. Lists
 * end with NULL and are owned by the caller.
 */
#pragma once

/** The store's folder when it is one of our own, else the store's and its policies' files. */
char **hidden_of_store(const char *store_path);

/**
 * Further the policies of one run.
 * @param of_runtime list that they are added to, or NULL
 * @param policy     path of the run's own policies, or NULL
 */
char **hidden_of_run(const char *const *of_runtime, const char *policy);

/** NULL is allowed. */
void hidden_free(char **paths);

static inline void auto_hidden_impl(char ***slot)
{
    hidden_free(*slot);
}
#define auto_hidden __attribute__((cleanup(auto_hidden_impl)))
