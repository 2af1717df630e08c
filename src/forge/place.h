// SPDX-License-Identifier: Apache-2.0
/* Which repository of which forge, and with which token. Any thread. */
#pragma once

#include "forge/forge.h"
#include "git/access.h"

struct git;

/** What a person has said; NULL or "" where nothing was. */
struct forge_wish {
    const char
        *repository;    /**< "acme/shop", "https://git.example.org/acme/shop", or NULL = remote */
    const char *remote; /**< name of a remote of `git`; NULL = "origin" */
    const char *kind;   /**< "github", ...: of a host that is not known */
    const char *api;    /**< address of the API; NULL = what the kind has for its host */
};

/**
 * Find the repository. github.com, gitlab.com and codeberg.org are known; another host needs `kind`
 * (or an address of the API that shows it): it is never guessed. Such a host must be in
 * `repository`, `api`, or the variable of the kind's client (GH_HOST, GITLAB_HOST): that only the
 * clone's remote names it is not enough, for the token goes there. A remote that pushes to another
 * repository than it fetches from is refused.
 * @param git of the clone; NULL = there is none, and `repository` is needed
 * @param ret_place forge_place_fini()
 * @return RONDO_ERR_INVALID or RONDO_ERR_NOT_FOUND, with what to type
 */
int forge_place_find(const struct forge_wish *wish, struct git *git, struct forge_place *ret_place,
                     struct rondo_error *err);

/**
 * Another repository of the same forge.
 * @param path "OWNER/NAME"; with GitLab's groups "GROUP/SUBGROUP/NAME"
 * @param ret_place forge_place_fini()
 * @return RONDO_ERR_INVALID for what is no such path, and for the repository itself
 */
int forge_place_sibling(const struct forge_place *place, const char *path,
                        struct forge_place *ret_place, struct rondo_error *err);

/**
 * Whether an address that a forge names for clones is of the repository of that place: of its host
 * and port, by https (or as plain as the API), without a user. What a forge answers does not choose
 * where a token goes. @param address NULL = there is none
 */
bool forge_place_is_address(const struct forge_place *place, const char *address);

/**
 * The address that the token of a place is for, if git reaches a remote with it.
 * @return owned; NULL for an address that is not of HTTP, or is plainer than the API: anybody on
 * the way would read the token
 */
char *forge_place_origin(const struct forge_place *place, const char *address);

/**
 * How git reaches a remote. Borrows all.
 * @param origin forge_place_origin(); without it, or without a token, git uses its own credentials
 */
struct git_access forge_place_access(const struct forge_place *place, const char *remote,
                                     const char *origin, const char *token);

/** Where a token came from, for people: "GH_TOKEN", "gh auth login", "git credential". */
struct forge_token {
    char *text; /**< wiped by forge_token_fini(); NULL = none */
    char source[64];
};
void forge_token_fini(struct forge_token *token);

/**
 * Find the token: `given` (of a flag or file), the environment (GH_TOKEN, GITHUB_TOKEN for
 * github.com; GH_ENTERPRISE_TOKEN, GITHUB_ENTERPRISE_TOKEN for other GitHub hosts; GITLAB_TOKEN;
 * GITEA_TOKEN, FORGEJO_TOKEN), the login of `gh`, `glab` or `tea` for that host, git's credentials.
 * None is no error.
 * @param variables what is taken for the environment: "NAME=value", NULL-terminated; NULL = that of
 * this process
 */
int forge_token_find(const struct forge_place *place, const char *given,
                     const char *const *variables, struct git *git, struct forge_token *ret_token,
                     struct rondo_error *err);
