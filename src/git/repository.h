// SPDX-License-Identifier: Apache-2.0
/*
 * A git repository that a person named. Opening it reads where it is and its settings, once: what
 * an agent does to them later does not count, and git_repository_check notices it. Immutable after
 * the opening, so any number of threads may use one, each with a struct git of its own.
 */
#pragma once

#include "git/run.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>

/**
 * Open the repository of a folder, which may be any folder of its working tree.
 * @param ret_repository git_repository_free()
 * @return RONDO_ERR_NOT_FOUND when there is none, or no git; RONDO_ERR_INVALID for one that git
 *         refuses. The message says what to do
 */
int git_repository_open(const char *path, struct cancel *cancel,
                        struct git_repository **ret_repository, struct rondo_error *err);

/** NULL is allowed. */
void git_repository_free(struct git_repository *repository);

/**
 * Whether settings and hooks are still those of the opening (or of `digest`, a settings_digest that
 * was recorded earlier).
 * @param digest NULL = of the opening
 * @return RONDO_ERR_DENIED when they have changed; one git process
 */
int git_repository_check(struct git *git, const char *digest, struct rondo_error *err);

/** RONDO_ERR_STATE, with what to type, when nothing says who makes commits. */
int git_repository_check_author(const struct git_repository *repository, struct rondo_error *err);

/** Whether a text is a whole object id. Pure. */
bool git_id_is_valid(const struct git_repository *repository, const char *text);

/**
 * Resolve a name of a commit (branch, tag, "HEAD", id).
 * @return RONDO_ERR_NOT_FOUND when there is no such commit
 */
int git_resolve_commit(struct git *git, const char *name, char ret_id[GIT_ID_SIZE],
                       struct rondo_error *err);

/** Whether a commit has a file, or anything else, at a path below its top. */
int git_commit_has(struct git *git, const char *commit, const char *path, bool *ret_has,
                   struct rondo_error *err);

/** The tree of a commit, or of a tree. */
int git_resolve_tree(struct git *git, const char *name, char ret_id[GIT_ID_SIZE],
                     struct rondo_error *err);
