// SPDX-License-Identifier: Apache-2.0
/* Addresses of remote repositories: what git takes, taken apart. */
#pragma once

#include "git/repository.h"

#include <stdint.h>

enum git_transport {
    GIT_LOCAL, /**< a path, or file: */
    GIT_SSH,
    GIT_HTTPS,
    GIT_HTTP,
    GIT_DAEMON, /**< git: */
    GIT_OTHER,  /**< any other scheme, and helpers such as ext:: */
};

/** Parts of an address. */
struct git_remote {
    enum git_transport transport;
    char *user; /**< NULL when there is none; a password is never kept */
    char *
        host; /**< lower-case, without brackets; NULL for local. May be an alias of ~/.ssh/config */
    uint16_t port; /**< 0 = the transport's own */
    char *path; /**< without leading and trailing slashes and one ".git"; of a local one as it is */
    bool has_password; /**< there was one in the address */
};

/**
 * Take an address apart. Pure; any thread.
 * @param ret_remote git_remote_fini()
 * @return RONDO_ERR_INVALID for what is no address
 */
int git_remote_parse(const char *address, struct git_remote *ret_remote, struct rondo_error *err);
void git_remote_fini(struct git_remote *remote);

/**
 * Owner and name of a repository of a forge: the last segment of the path, and all before it
 * (GitLab's groups nest).
 * @param forge_host such as "github.com"; compared without case. "www." and "ssh." before it on the
 *        side of the remote are the same host
 * @param ret_owner, ret_name owned
 * @return whether the remote is one of that forge; only then both are set
 */
bool git_remote_forge(const struct git_remote *remote, const char *forge_host, char **ret_owner,
                      char **ret_name);

/**
 * The page on which a person opens a pull (or merge) request for a branch, of github.com,
 * gitlab.com, codeberg.org and bitbucket.org. Pure.
 * @return owned; NULL when the remote is none of them
 */
char *git_remote_request_url(const struct git_remote *remote, const char *branch);

/**
 * Scheme and host of an address, as the origin that a token is for (git_access).
 * @param may_be_plain whether http: will do
 * @return owned; NULL for an address that is not of HTTP
 */
char *git_remote_origin(const char *address, bool may_be_plain);

/**
 * The address of a remote by name, with insteadOf applied.
 * @param ret_address owned; NULL when there is no such remote
 */
int git_remote_address(struct git *git, const char *name, char **ret_address,
                       struct rondo_error *err);
