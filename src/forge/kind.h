// SPDX-License-Identifier: Apache-2.0
/*
 * What differs between kinds of forges: one row a kind, in a file of its own (github.c, gitea.c,
 * gitlab.c). Everything else (requests, pages, limits, shapes) is shared. A new kind is a file, a
 * constant of enum forge_kind and a row of kind.c.
 *
 * Functions return as those of forge.h, and set the outcome of the forge the same way.
 */
#pragma once

#include "base/buf.h"
#include "forge/forge.h"

struct check_listing;
struct forge_reply;
struct json_writer;
struct json_object;
struct review_listing;
struct secret;

/** Names in the answers of a kind. */
struct forge_names {
    const char *number;      /**< of an issue or pull request */
    const char *body;        /**< of an issue or pull request */
    const char *url;         /**< page for people */
    const char *author;      /**< the object of who wrote it */
    const char *login;       /**< name in such an object */
    const char *locked;      /**< whether strangers may no longer comment */
    const char *comments;    /**< how many */
    const char *open_state;  /**< "open", "opened" */
    const char *pulls;       /**< end of an address: "pulls", "merge_requests" */
    const char *notes;       /**< comments of an issue, end of an address */
    const char *notes_order; /**< further query of them */
    const char *pull_source; /**< branch of a pull request */
    const char *pull_target; /**< branch that it is to go to */
    const char *draft_mark;  /**< what begins the title of a draft; NULL = drafts have a member */
    const char *page_size;   /**< of a query: most entries of a page */
    const char *full_name;   /**< of a repository: "acme/shop" */
    const char *parents[2];  /**< of a repository: what it was forked from */
    const char *edit;        /**< method that changes a part: PATCH or PUT */
};

/** One kind. */
struct forge_ops {
    const char *name;
    const char *token_prefix; /**< of the Authorization header: "Bearer " */
    const char *accept;       /**< media type */
    struct forge_names names;

    /** The host that everybody knows, and its API when that is not the host with api_path. */
    const char *public_host;
    const char *public_api;
    const char *api_path; /**< "/api/v4" */
    /** Variables with a token: of the public host, and of others. NULL-terminated. */
    const char *const *public_token_variables;
    const char *const *token_variables;
    const char *host_variable; /**< for which host the latter is meant; NULL = there is none */
    /** Command of the kind's own client that prints the token of the host after it; NULL = none. */
    const char *const *login_command;
    const char *login_name; /**< where that comes from, for people: "gh auth login" */
    /** Variables by which that client finds its files. NULL-terminated. */
    const char *const *login_variables;
    /** Read the login from a file of that client, in place of a command. @return whether there is
     *  one */
    bool (*read_login)(const struct forge_place *place, struct secret *ret_token);

    /** Append the path of the repository: "/repos/acme/shop". */
    void (*write_root)(const struct forge_place *place, struct buf *ret_path);
    /** Append the query of open issues, oldest first. @param labels never NULL */
    void (*write_list_query)(const char *const *labels, struct buf *ret_query);
    /** Query of issues in any state, last changed first: whatever changes shows in it. NULL when
     *  the forge has no conditional requests. */
    const char *probe_query;
    /** Append the path of a comment below the repository. */
    void (*write_comment_path)(int64_t number, int64_t id, struct buf *ret_path);

    /** Append the query of pull requests from a branch, newest first; more may be listed.
     *  @param source the repository that has the branch */
    void (*write_pull_query)(const struct forge_place *source, const char *head,
                             struct buf *ret_query);
    /** Write the members of a new pull request that name a branch of a fork. NULL = repositories
     *  are named by number (source_project_id, target_project_id), and such a request is made
     *  below the fork. */
    void (*write_fork_head)(const struct forge_place *place, const struct forge_place *fork,
                            const char *head, struct json_writer *writer);

    /** Path of the accounts that may write; NULL when answers say what their authors are. */
    const char *members;
    /** What such an account may do. Only with `members`. */
    enum forge_trust (*trust_of_member)(struct json_object *member);
    enum forge_end (*read_trust)(struct forge *forge, const char *login,
                                 enum forge_trust *ret_trust);
    /** Path, below an issue, of its events; and of an event that put a label on, whose it was. */
    const char *label_events;
    struct json_object *(*labeller_of)(struct json_object *event);
    /** Paths, below an issue, of what blocks it, and of its parts; NULL = the forge has none. */
    const char *blockers;
    const char *children;
    /** @param ret_reply the issue after it; without JSON when nothing had to be changed */
    enum forge_end (*change_assignee)(struct forge *forge, int64_t number, const char *login,
                                      bool adds, struct forge_reply *ret_reply);
    /** Fill in comments and verdicts (forge/review.h). */
    enum forge_end (*read_reviews)(struct review_listing *listing);
    /** Fill in checks (forge/check.h). */
    enum forge_end (*read_checks)(struct check_listing *listing, const char *commit);

    enum forge_end (*ensure_label)(struct forge *forge, const char *name, const char *color,
                                   const char *description);
    enum forge_end (*add_label)(struct forge *forge, int64_t number, const char *label);
    enum forge_end (*remove_label)(struct forge *forge, int64_t number, const char *label);
    /** Fill in what is of this kind in the answer for the root of a repository. NULL = nothing */
    void (*take_repository)(struct json_object *answer, struct forge_repository *repository);
    /** Whether it has no branch, where the answer does not say so. NULL = it does */
    enum forge_end (*read_is_empty)(struct forge *forge, struct json_object *answer,
                                    bool *ret_is_empty);
};

/** Never NULL. */
const struct forge_ops *forge_ops_of(enum forge_kind kind);

extern const struct forge_ops forge_github;
extern const struct forge_ops forge_gitea;
extern const struct forge_ops forge_gitlab;
