// SPDX-License-Identifier: Apache-2.0
/* A repository that git tools work on: found when the entry is opened. */
#pragma once

#include "tool/builtin/shell_run.h"

struct git_tool_repository {
    struct command_place place; /**< its workspace is `top` */
    char *top;                  /**< root of the work tree, absolute */
    char *folder;               /**< where commands start: repo_path, absolute */
    char *git_folder;           /**< of this work tree: in a worktree part of the common one */
    char *common_folder;        /**< shared by the worktrees of the repository */
    char *user_name;            /**< of new commits: "NAME" and "EMAIL" as git is set up; or NULL */
    char *user_email;
    char **exclusions; /**< pathspecs of secret files and of what is hidden */
};

/** One command of git. Borrowed. */
struct git_command {
    const char *const *arguments; /**< before `--`; ends with NULL */
    const char *path;             /**< only this file or folder; NULL = all, "" = this folder */
    bool takes_paths;             /**< `path` and the exclusions follow */
    bool is_read_only;            /**< without locks */
    const char *input;            /**< stdin, or NULL */
};

/**
 * Find the repository of `repo_path`. Nothing that a repository can name is run for this.
 * @param may_write its .git may be written too
 * @param ret_repository git_repository_fini()
 * @return RONDO_ERR_INVALID when it is no work tree
 */
int git_repository_find(const struct tool_surroundings *around, struct json_object *config,
                        bool may_write, struct git_tool_repository *ret_repository,
                        struct rondo_error *err);
void git_repository_fini(struct git_tool_repository *repository);

/** A text in one of git's arguments. "" = it may be one, else why not; static. */
const char *git_ref_fault(const char *ref);
const char *git_path_fault(const char *path);

/**
 * A reference that can only be a commit, or a range of commits: what git would otherwise take for
 * a file's content, `REV:PATH` or the id of a blob, becomes an error of git.
 */
void git_commit_ref(const char *ref, struct buf *ret_ref);

/**
 * Run git with the options that are always given, and report to a model.
 * @return whether it ended with exit code 0
 */
bool git_run(const struct git_tool_repository *repository, const struct git_command *command,
             const struct tool_call *call, struct tool_result *ret_result);
