// SPDX-License-Identifier: Apache-2.0
/*
 * Calls to a remote without the surprises that its settings may hold. Nothing prompts.
 *
 * A call does not name the remote of the settings but one of its own, which exists in the
 * environment of that call only and has nothing but an address. So no remote.NAME.fetch, prune,
 * mirror, tagOpt or vcs counts, no address is an argument, and git updates no other reference than
 * it was told to.
 */
#pragma once

#include "git/access.h"

/** A remote that is ready for calls until the deadline. One thread. */
struct git_connection {
    struct git *git;
    char *address;        /**< with the user's insteadOf applied; may have a password in it */
    char **variables;     /**< "NAME=value" of each call; NULL-terminated */
    size_t setting_count; /**< GIT_CONFIG_KEY_* among them */
    int64_t until_ns;
};

/** Name of the remote in calls on a connection. */
#define GIT_CONNECTION "rondo-connection"
/** A call was not answered before the deadline: an outcome, no error. */
#define GIT_NOT_ANSWERED 1

/**
 * Find the address of a remote. No byte is sent.
 * @param is_push the address for pushes, of which there must be one
 * @param ret_connection git_connection_fini()
 * @return RONDO_ERR_INVALID for what cannot be reached safely: several addresses, helpers such as
 *         ext::; RONDO_ERR_NOT_FOUND when there is no remote of that name
 */
int git_connection_open(struct git *git, const struct git_access *access, bool is_push,
                        struct git_connection *ret_connection, struct rondo_error *err);
/** Add a variable to those of each call. */
void git_connection_add(struct git_connection *connection, const char *name, const char *value);
/**
 * Run git; directory, git folder (unless the call has one), names, variables and deadline are those
 * of the connection.
 * @return as git_call_run(); GIT_NOT_ANSWERED
 */
int git_connection_run(const struct git_connection *connection, struct git_call call,
                       struct git_reply *ret_reply, struct rondo_error *err);
/**
 * The same of a call that reads from the remote.
 * @param ret_reply as it was, when the end is NETWORK because git did not end in time
 * @param ret_end when it is not DONE, `err` says why, for people
 */
int git_connection_read(const struct git_connection *connection, const struct git_call *call,
                        struct git_reply *ret_reply, enum git_claim_end *ret_end,
                        struct rondo_error *err);
void git_connection_fini(struct git_connection *connection);
#define auto_git_connection __attribute__((cleanup(git_connection_fini)))
