// SPDX-License-Identifier: Apache-2.0
/*
 * The files of a ruleset, looked at before every step. A change is parsed and checked as a
 * whole and then handed out; a bad one changes nothing and is said once. Looking costs one stat()
 * a file and takes no lock; only a change does.
 *
 * A file that was replaced as a whole (by rename) counts at once. One that is being rewritten in
 * place is left alone until it has rested for WATCH_REST_NS, because half a policy file can be a
 * valid one that forbids less.
 *
 * Files that agents can write are guarded: they count while a person has confirmed what they hold
 * (os/trust.h), all of them together, so that a part which was absent stays absent.
 */
#pragma once

#include "base/clock.h"
#include "policy/watch_files.h"

/** Path of the policy file beside a store; free() it. NULL for NULL. */
char *watch_default_path(const char *store_path);

/** Folder of a project with the policies that it shares, relative to it. */
#define WATCH_SHARED_NAME ".rondo/" WATCH_DEFAULT_NAME

/**
 * Path of the policies of a store, which need not exist; free() it. It is the file beside the
 * store; when there is none, and the store is that of a project in the state folder, the file that
 * the project shares (WATCH_SHARED_NAME), if that exists or was confirmed once. NULL for NULL.
 */
char *watch_path_of_store(const char *store_path);

/** Whether a path is that of policies which a project shares: they always must be confirmed. */
bool watch_is_shared_path(const char *path);

struct store;
struct watch;

/**
 * Called for each ruleset that was loaded, before it is handed out.
 * @param is_first whether it is the first one of this watch
 * @param by its author, as far as the file shows; may be overwritten with something better
 */
typedef void watch_loaded_fn(void *context, const struct ruleset *ruleset, bool is_first, char *by,
                             size_t by_size);

struct watch_options {
    /** File or folder; NULL = Rondo's own policies only. Copied. */
    const char *path;
    /** Whether the file may be missing, which then means Rondo's own policies. */
    bool is_optional;
    struct store *shared;    /**< whose policies the file is a copy of, if it is one
                                  (policy/replica.h); or NULL */
    watch_loaded_fn *loaded; /**< may be NULL */
    void *context;
};

/** Never NULL; reads nothing yet. watch_free() when nobody uses it any more. */
struct watch *watch_new(const struct watch_options *options);
void watch_free(struct watch *watch);

/** Whether agents can write the files of a watch, and a person confirms them, when a run begins. */
enum watch_reach {
    WATCH_OUT_OF_REACH = 0, /**< agents cannot write them */
    WATCH_IN_REACH,         /**< they count only when confirmed */
    WATCH_NAMED,            /**< the same, and a person names them now: what nobody has confirmed
                                 yet is confirmed by that */
};

/**
 * Say whether agents can write the files, before the first look of a run. Once they can, the watch
 * stays guarded for all that use it. Any thread.
 */
void watch_set_reach(struct watch *watch, enum watch_reach reach);

/** What one user of a watch has in hand. Zero at the start; watch_view_fini() at the end. */
struct watch_view {
    struct ruleset *ruleset;
    uint64_t generation;
    uint64_t refusal;
};

void watch_view_fini(struct watch_view *view);

enum watch_news {
    WATCH_SAME = 0,
    WATCH_CHANGED, /**< view->ruleset is another one */
    WATCH_REFUSED, /**< the files changed, are wrong, and the ruleset stays */
};

/** Author and change, for the journal. */
struct watch_message {
    char by[WATCH_BY_SIZE];
    char text[RONDO_ERROR_MESSAGE_SIZE]; /**< WATCH_REFUSED: what is wrong */
};

/**
 * Look at the files. Any thread; a view belongs to one thread.
 * @param ret_message filled for WATCH_CHANGED and WATCH_REFUSED
 * @return enum watch_news; negative only when the view has no ruleset and none can be loaded
 */
int watch_look(struct watch *watch, struct watch_view *view, struct watch_message *ret_message,
               struct rondo_error *err);

/**
 * Whether a look at what is on this machine is enough for a caller whose next commit has a premise:
 * that the store's policies are still those that it had at the last watch_look(). Call it before
 * watch_look_here(). Any thread.
 * @param ret_premise set when it is
 */
struct store_premise;
bool watch_rely(struct watch *watch, struct store_premise *ret_premise);

/** watch_look() without asking a store. Any thread. */
int watch_look_here(struct watch *watch, struct watch_view *view, struct watch_message *ret_message,
                    struct rondo_error *err);

/** Read and check the files at `path` once, for `rondo policy check`. See ruleset_make. */
int watch_read(const char *path, lint_fn *finding, void *context, struct ruleset **ret_ruleset,
               struct rondo_error *err);

/**
 * The same as if the file at `path` held a text, together with the entities and links that lie
 * beside it: what `rondo policy set` would put in force.
 */
int watch_read_as(const char *path, const char *text, size_t len, lint_fn *finding, void *context,
                  struct ruleset **ret_ruleset, struct rondo_error *err);
