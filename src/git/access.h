// SPDX-License-Identifier: Apache-2.0
/* With whose credentials a remote is reached, and what git's messages about it mean. Pure. */
#pragma once

#include "git/run.h"

#include <stdint.h>

/** Where and how the remote is reached. Borrowed. */
struct git_access {
    const char *remote; /**< name of a remote, or an address */
    const char *user;   /**< for HTTPS with `token`: "x-access-token", "oauth2"; NULL = git's own
                             credentials */
    const char *token;  /**< passed by the environment, never by arguments or files */
    const char *origin; /**< "https://github.com": the token is for nothing else */
    int64_t total_ns;   /**< deadline of each call; 0 = GIT_CALL_NS */
};

enum git_claim_end {
    GIT_CLAIM_DONE = 0,
    GIT_CLAIM_LOST,    /**< it, or the branch, is not (any more) what was expected: others were
                            faster */
    GIT_CLAIM_AUTH,    /**< no credentials, or no right to push */
    GIT_CLAIM_NETWORK, /**< not reached; whether it happened is not known: read the claim */
    GIT_CLAIM_REFUSED, /**< the server has rules against it; `reason` says which */
};

/** The variables of ours by which ssh and credential helpers find keys and agents; proxies. */
extern const char *const git_access_names[];
/** "NAME=value": whatever would ask a person fails at once. */
extern const char *const git_access_variables[];

/** Why a remote was not reached. */
enum git_trouble {
    GIT_TROUBLE_NONE, /**< git names no such reason */
    GIT_TROUBLE_AUTH,
    GIT_TROUBLE_NETWORK,
};

/** Judge by the messages of git, ssh and libcurl. Those of the remote itself do not count. Pure. */
enum git_trouble git_access_trouble(const struct git_reply *reply);

/** The end of a call that failed without a word about a reference. Pure. */
enum git_claim_end git_access_judge(const struct git_reply *reply);

/** What git said, for people, without passwords of addresses. @return owned */
char *git_access_reason(const struct git_reply *reply);
