// SPDX-License-Identifier: Apache-2.0
/*
 * Running the `git` command for this layer. Never with discovery from inside a folder that an agent
 * can write: the caller names the git folder, the working tree and the index. Hooks, file system
 * monitors, filters, external diffs and submodules are switched off for every call, the environment
 * is reduced, and every call has a deadline.
 */
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "rondo/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cancel;

/** Room for the id of an object, NUL included: SHA-256 is the longest. */
#define GIT_ID_SIZE 65

/** A repository, see git/repository.h. */
struct git_repository {
    char program[PATH_MAX]; /**< git itself, canonical */
    char *top_folder;       /**< the working tree, canonical; NULL in a bare repository */
    char *git_folder;       /**< git folder of that working tree */
    char *common_folder;    /**< git folder of all working trees */
    char *hooks_folder;     /**< from which git runs hooks (core.hooksPath included) */
    size_t id_len;          /**< hexadecimal digits of an id: 40 or 64 */
    char *author_name;      /**< NULL when nothing sets it */
    char *author_email;
    char *committer_name;
    char *committer_email;
    char **driver_settings; /**< "NAME=" that switch off drivers which settings define */
    bool has_filters;       /**< one of them is a filter, such as git-lfs: it does not run */
    char settings_digest[DIGEST_HEX_SIZE]; /**< of all settings and hooks */
};

/** One thread's use of a repository. The repository is shared by threads, this is not. */
struct git {
    const struct git_repository *repository; /**< borrowed */
    struct cancel *cancel;                   /**< ends git, too; may be NULL */
    const char *supervisor; /**< as in struct spawn_request: git ends with this process; or NULL */
    uint64_t process_count; /**< git processes started so far; for figures */
};

/** A call. Borrowed pointers. */
struct git_call {
    const char *const *arguments; /**< NULL-terminated, without "git" */
    const char *directory;        /**< working directory; NULL = the common git folder */
    const char *git_dir;          /**< GIT_DIR; NULL = the common git folder */
    bool finds_git_dir;           /**< no GIT_DIR: git looks for it from `directory`, a person's */
    const char *work_tree;        /**< GIT_WORK_TREE; NULL = none */
    const char *index_file;       /**< GIT_INDEX_FILE; NULL = none */
    const char *const *variables; /**< further "NAME=value"; or NULL */
    const char *const *names;     /**< further variables of ours to pass; or NULL */
    const char *input;            /**< stdin; NULL = /dev/null */
    size_t input_len;
    size_t output_limit; /**< bytes of stdout to take; 0 = LIMIT_GIT_OUTPUT_BYTES */
    int output_fd;       /**< stdout goes there in place of `output`; 0 = no */
    int64_t total_ns;    /**< deadline; 0 = GIT_CALL_NS */
    bool is_once;        /**< repeating it when somebody has killed git would do harm */
    bool is_brief;       /**< it only reads, and only here: nothing is lost when it outlives this
                              process for a moment, so it has no supervisor */
};

/** How a call went. */
struct git_reply {
    int exit_code;
    struct buf output; /**< stdout */
    struct buf errors; /**< end of stderr, one line a message */
    bool is_cut;       /**< there was more on stdout than the limit */
    uint64_t output_total;
};

#define GIT_CALL_NS (INT64_C(120) * 1000000000)

/**
 * Run git to its end. Exit codes are the caller's to judge. When somebody kills it, it is run once
 * more, unless the call says otherwise or what it printed has gone to `output_fd`.
 * @return RONDO_ERR_NOT_FOUND without git; RONDO_ERR_TIMEOUT, RONDO_ERR_CANCELLED; RONDO_ERR_SYSTEM
 *         when a signal ended it
 */
int git_call_run(struct git *git, const struct git_call *call, struct git_reply *ret_reply,
                 struct rondo_error *err);

/** The same where every exit code but 0 is an error, and so is too much output. */
int git_call_run_well(struct git *git, const struct git_call *call, struct git_reply *ret_reply,
                      struct rondo_error *err);

/** Record what git said as an error: "cannot ...: fatal: ...". @return RONDO_ERR_STATE */
int git_fail(const struct git_reply *reply, const char *subject, struct rondo_error *err);

/** Cut line ends off the output. @return it as a string */
const char *git_reply_line(struct git_reply *reply);

void git_reply_fini(struct git_reply *reply);
#define auto_git_reply __attribute__((cleanup(git_reply_fini)))
