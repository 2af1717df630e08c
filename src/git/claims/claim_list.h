// SPDX-License-Identifier: Apache-2.0
/* Claims, and what git prints about them: others have written it. Pure; any thread. */
#pragma once

#include "git/run.h"

#include <stdbool.h>
#include <stddef.h>

#define GIT_CLAIMS "refs/rondo/claims/"

/** One claim of the remote. */
struct git_claim {
    char *name;
    char id[GIT_ID_SIZE];
    char *text; /**< at most LIMIT_GIT_CLAIM_BYTES, any bytes; NULL when it is no claim that can be
                     read: it is taken, nobody knows by whom */
};
struct git_claims {
    struct git_claim *items;
    size_t count;
};
void git_claims_fini(struct git_claims *claims);

/**
 * Read the lines of a FETCH_HEAD. What is no claim with a usable name is left out, and so is a line
 * that was cut.
 * @param only this name; NULL = all
 * @param ret_claims sorted, each name once, without texts; at most LIMIT_GIT_CLAIMS
 */
void git_claim_list_parse(const char *lines, size_t id_len, const char *only,
                          struct git_claims *ret_claims);

/** The text of a claim's commit object. @return owned; NULL when it is none */
char *git_claim_text_parse(const char *object, size_t len);

/**
 * One entry "ID TYPE SIZE" of `git cat-file`.
 * @param line in it; moved to the next one
 * @return whether it is a commit that may be a claim
 */
bool git_claim_check_parse(const char **line, const char *id, size_t *ret_size);

/** A commit of more bytes is no claim. */
#define GIT_CLAIM_OBJECT_BYTES (LIMIT_GIT_CLAIM_BYTES + 1024)
