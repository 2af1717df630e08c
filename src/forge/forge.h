// SPDX-License-Identifier: Apache-2.0
/*
 * One repository of a forge (GitHub, Gitea and Forgejo, GitLab) over its REST API: issues, labels,
 * comments, pull requests. The differences between forges are a table (forge/kind.h); callers see
 * none of them.
 *
 * Every answer is hostile input: it is bounded, and what it names is not followed to another host.
 * The token is sent to the API's origin only, and is never in a message.
 *
 * Calls block. They wait for their turn (one write a second, limits that the server has told: of
 * all forges that share a pace, struct forge_paces), retry reads, and never send a write twice: a
 * write whose answer was lost ends as FORGE_UNCERTAIN, and the caller reads again what became of
 * it.
 *
 * One thread at a time uses a forge; several forges may share the HTTP client and the paces.
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/random.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cancel;
struct forge;
struct forge_paces;
struct http_client;

enum forge_kind { FORGE_GITHUB = 0, FORGE_GITEA, FORGE_GITLAB, FORGE_KIND_COUNT };

/** "github", "gitea", "gitlab". Static. */
const char *forge_kind_name(enum forge_kind kind);
bool forge_kind_from_name(const char *name, enum forge_kind *ret_kind);

/** Which repository. Texts are owned. */
struct forge_place {
    enum forge_kind kind;
    char *host;  /**< lower-case, with a port when it is not the usual one: "github.com" */
    char *api;   /**< "https://api.github.com", without a slash at its end */
    char *owner; /**< "acme"; with GitLab's groups "acme/team" */
    char *name;
};
void forge_place_fini(struct forge_place *place);
#define auto_place __attribute__((cleanup(forge_place_fini)))

/** Why a call has no result. */
enum forge_end {
    FORGE_OK = 0,
    FORGE_NOT_MODIFIED, /**< of a conditional read: as it was */
    FORGE_ABSENT,       /**< 404: not there, or not for this token */
    FORGE_GONE,         /**< 410: deleted */
    FORGE_MOVED,        /**< the issue or repository is now another one; `message` names it */
    FORGE_AUTH,         /**< 401: the token is missing, wrong or expired */
    FORGE_FORBIDDEN,    /**< 403 that is no limit: the token may not do this, or read-only */
    FORGE_CONFLICT,     /**< 409, 422: it exists already, or the forge refuses the content */
    FORGE_LIMITED,      /**< a limit: not before `until_ns` */
    FORGE_UNAVAILABLE,  /**< not reached, 5xx, or no JSON of the expected shape, after retries */
    FORGE_UNCERTAIN,    /**< a write whose answer was lost: it may have happened */
    FORGE_CANCELLED,
};

/** How the last call of a forge went. Valid until the next one. */
struct forge_outcome {
    enum forge_end end;
    int status;        /**< of HTTP; 0 = none came */
    int64_t until_ns;  /**< FORGE_LIMITED: clock of the forge (forge_now) */
    char message[256]; /**< for people; never a token */
};

/**
 * What the forges of a process with the same API and token have in common: turns to write, and
 * limits that the forge has told. Any thread.
 * @return forge_paces_free(), after the forges
 */
struct forge_paces *forge_paces_new(void);
void forge_paces_free(struct forge_paces *paces);

struct forge_options {
    const struct forge_place *place; /**< copied */
    const char *token;               /**< copied; NULL = anonymous, reads only */
    struct http_client *http;        /**< borrowed, as the next ones */
    const struct clock *clock;
    struct random *random;
    struct cancel *cancel;     /**< ends waits and calls; may be NULL */
    struct forge_paces *paces; /**< NULL = no other forge has this API and token */
    int64_t write_gap_ns;      /**< between two writes; 0 = FORGE_WRITE_GAP_NS */
};
#define FORGE_WRITE_GAP_NS INT64_C(1000000000)

/** @param ret_forge forge_close() */
int forge_open(const struct forge_options *options, struct forge **ret_forge,
               struct rondo_error *err);
void forge_close(struct forge *forge);
const struct forge_outcome *forge_outcome(const struct forge *forge);

/** Time by the forge's Date headers, so that machines with wrong clocks agree; wall clock, until
 *  one has come. */
int64_t forge_now(const struct forge *forge);

/* ---- Issues ---- */

enum forge_trust {
    FORGE_STRANGER = 0, /**< anybody; also when the forge does not say */
    FORGE_CONTRIBUTOR,  /**< has had something merged */
    FORGE_MEMBER,       /**< collaborator, member, owner: may write */
};

struct forge_issue {
    int64_t number;
    char *title;
    char *body; /**< "" when there is none; at most LIMIT_FORGE_TEXT_BYTES, cut at a character */
    char *url;  /**< page for people */
    char *author;
    enum forge_trust author_trust;
    char **labels; /**< NULL-terminated, as the next one */
    char **assignees;
    int64_t created_ns, updated_ns;
    bool is_open;
    bool is_pull; /**< a pull request that the forge lists as an issue */
    bool is_locked;
    int64_t comments;
};
void forge_issue_fini(struct forge_issue *issue);

struct forge_issues {
    struct forge_issue *items;
    size_t count;
};
void forge_issues_fini(struct forge_issues *issues);

/**
 * All open issues that have every one of the labels, oldest first; pull requests are left out.
 * Conditional: when nothing has changed since the last call with the same labels, one request ends
 * as FORGE_NOT_MODIFIED. An answer that is no list is FORGE_UNAVAILABLE, never an empty list.
 * @param labels NULL-terminated; NULL or empty = any
 * @param ret_issues forge_issues_fini(); at most LIMIT_FORGE_ISSUES
 */
enum forge_end forge_list_issues(struct forge *forge, const char *const *labels,
                                 struct forge_issues *ret_issues);

/** Read one. FORGE_MOVED when it was transferred. @param ret_issue forge_issue_fini() */
enum forge_end forge_read_issue(struct forge *forge, int64_t number, struct forge_issue *ret_issue);

/** Issues that block this one and are open; 0 where the forge does not have such relations. */
enum forge_end forge_count_blockers(struct forge *forge, int64_t number, int64_t *ret_count);

/** Sub-issues of an issue, in order. None where the forge has none. */
enum forge_end forge_list_children(struct forge *forge, int64_t number,
                                   struct forge_issues *ret_issues);

/** What an account may do in the repository: whether its word starts work. */
enum forge_end forge_read_trust(struct forge *forge, const char *login,
                                enum forge_trust *ret_trust);

/** Who put a label on an issue last. FORGE_UNAVAILABLE when the issue has too many events to tell.
 *  @param ret_login owned; NULL when the forge does not say, as of an account that was deleted */
enum forge_end forge_find_labeller(struct forge *forge, int64_t number, const char *label,
                                   char **ret_login);

/* ---- Labels, assignees, comments. Done again they change nothing. ---- */

/** Make a label of the repository if it is not there. @param color six hexadecimal digits */
enum forge_end forge_ensure_label(struct forge *forge, const char *name, const char *color,
                                  const char *description);
/** Whether the repository has a label, in whatever case. Changes nothing. */
enum forge_end forge_has_label(struct forge *forge, const char *name, bool *ret_is_there);
enum forge_end forge_add_label(struct forge *forge, int64_t number, const char *label);
/** One that is not on the issue is removed already. */
enum forge_end forge_remove_label(struct forge *forge, int64_t number, const char *label);

/** Assign, beside others. FORGE_FORBIDDEN when the forge ignores it. */
enum forge_end forge_assign(struct forge *forge, int64_t number, const char *login);
enum forge_end forge_unassign(struct forge *forge, int64_t number, const char *login);

struct forge_comment {
    int64_t id; /**< rising */
    char *body;
    char *author;
    enum forge_trust author_trust;
    int64_t created_ns, updated_ns;
};
struct forge_comments {
    struct forge_comment *items;
    size_t count;
};
void forge_comments_fini(struct forge_comments *comments);

/** Comments with an id above `after`, in the order of ids; at most LIMIT_FORGE_COMMENTS. */
enum forge_end forge_list_comments(struct forge *forge, int64_t number, int64_t after,
                                   struct forge_comments *ret_comments);
enum forge_end forge_add_comment(struct forge *forge, int64_t number, const char *body,
                                 int64_t *ret_id);
enum forge_end forge_edit_comment(struct forge *forge, int64_t number, int64_t id,
                                  const char *body);
enum forge_end forge_delete_comment(struct forge *forge, int64_t number, int64_t id);

/* ---- Pull requests (merge requests) ---- */

enum forge_pull_state { FORGE_PULL_OPEN = 0, FORGE_PULL_MERGED, FORGE_PULL_CLOSED };
enum forge_checks {
    FORGE_CHECKS_NONE = 0,
    FORGE_CHECKS_PENDING,
    FORGE_CHECKS_PASSED,
    FORGE_CHECKS_FAILED
};

struct forge_pull {
    int64_t number;
    char *url;
    char *head;    /**< branch */
    char *head_id; /**< commit of it */
    char *base;    /**< branch */
    enum forge_pull_state state;
    bool is_draft;
};
void forge_pull_fini(struct forge_pull *pull);

/**
 * The newest pull request to this repository from a branch, whatever its state. FORGE_ABSENT
 * @param fork "OWNER/NAME" of the fork that has the branch; NULL = this repository
 */
enum forge_end forge_find_pull(struct forge *forge, const char *fork, const char *head,
                               struct forge_pull *ret_pull);
enum forge_end forge_read_pull(struct forge *forge, int64_t number, struct forge_pull *ret_pull);

/** Longest tag of an answer, with NUL; a longer one is not kept. */
#define FORGE_ETAG_SIZE 256
/**
 * Read it again, if it has changed: an answer without news costs nothing of GitHub's limits.
 * @param etag of the answer that was read last, "" = none; becomes that of this one
 * @return FORGE_NOT_MODIFIED when it is as it was
 */
enum forge_end forge_reread_pull(struct forge *forge, int64_t number, char etag[FORGE_ETAG_SIZE],
                                 struct forge_pull *ret_pull);

struct forge_new_pull {
    const char *title, *head, *base, *body;
    const char *fork; /**< "OWNER/NAME" ("GROUP/SUBGROUP/NAME") of the fork that has the branch
                           `head`; NULL = this repository */
    bool is_draft; /**< where the forge has no drafts, it gets an ordinary one, or a title with its
                        mark (WIP:, Draft:) */
};
/** FORGE_CONFLICT: there is one already, or no commit between. Look for one first. */
enum forge_end forge_create_pull(struct forge *forge, const struct forge_new_pull *pull,
                                 struct forge_pull *ret_pull);

/** What people and machines say about a pull request: reviews that ask for changes and comments on
 *  lines since `after_ns`, as comments; and the checks of its head. */
enum forge_end forge_read_reviews(struct forge *forge, int64_t number, int64_t after_ns,
                                  struct forge_comments *ret_comments, bool *ret_wants_changes);
enum forge_end forge_read_checks(struct forge *forge, const char *commit,
                                 enum forge_checks *ret_checks, char **ret_failed_names);

/* ---- The repository and the token ---- */

struct forge_repository {
    char *default_branch;
    char *clone_url;  /**< https */
    char *login;      /**< whose token it is; NULL when the forge does not say */
    bool can_push;    /**< refs and branches */
    bool can_triage;  /**< labels */
    bool can_pull;    /**< read */
    bool is_archived; /**< read-only */
    bool has_issues;
    bool is_empty;
};
void forge_repository_fini(struct forge_repository *repository);
enum forge_end forge_read_repository(struct forge *forge, struct forge_repository *ret_repository);

/** A repository that was forked from this one. */
struct forge_fork {
    int64_t id;       /**< of the repository: it stays when that is renamed */
    char *clone_url;  /**< at the forge's host, of the repository that was named, without a user */
    bool is_fork;     /**< the forge says that it is one of this repository; GitHub also says that
                           of a fork of a fork */
    bool can_push;    /**< the token: refs and branches of the fork */
    bool is_archived; /**< read-only */
};
void forge_fork_fini(struct forge_fork *fork);

/**
 * Read what a fork is. FORGE_ABSENT; FORGE_CONFLICT for what is no name of another repository;
 * FORGE_UNAVAILABLE also when the forge answers with another repository, or with an address at
 * another host.
 * @param fork as in struct forge_new_pull, never NULL
 * @param ret_fork forge_fork_fini()
 */
enum forge_end forge_read_fork(struct forge *forge, const char *fork, struct forge_fork *ret_fork);
