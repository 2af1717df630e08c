// SPDX-License-Identifier: Apache-2.0
/*
 * Tokens of the API: opaque, random, kept as SHA-256 only (documents of the collection "token").
 * Text form: "rondo_" and 43 characters of base64url (256 bits).
 */
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "store/store.h"

#include <stdbool.h>

/** Each contains the ones before it. */
enum token_scope {
    TOKEN_NONE = 0,
    TOKEN_READ,
    TOKEN_OPERATE,    /**< start, resume, stop, pause runs, change their limits */
    TOKEN_ADMINISTER, /**< policies, sinks */
};

#define TOKEN_SIZE     64
#define TOKEN_NAME_LEN 64
#define TOKEN_AGENTS   64
#define LIMIT_TOKENS   1000

const char *token_scope_name(enum token_scope scope);

/** What a caller may do. */
struct token_grant {
    enum token_scope scope;
    char name[TOKEN_NAME_LEN + 1]; /**< for journals: "token NAME", "local user NAME" */
    char **agents;                 /**< NULL-terminated; NULL = all agents */
    char digest[DIGEST_HEX_SIZE];  /**< of the token, for token_still_counts; "" without one */
};
void token_grant_fini(struct token_grant *grant);
/** Whether a grant reaches an agent. */
bool token_grant_covers(const struct token_grant *grant, const char *agent_id);

/**
 * @param agents     NULL-terminated list, or NULL = all
 * @param expires_ns Unix time; 0 = never
 * @param ret_token  to be shown once
 * @return 0; RONDO_ERR_INVALID for a name that is taken or wrong; RONDO_ERR_LIMIT
 */
int token_create(struct store *store, const char *name, enum token_scope scope,
                 const char *const *agents, int64_t expires_ns, char ret_token[TOKEN_SIZE],
                 struct rondo_error *err);
/** RONDO_ERR_NOT_FOUND */
int token_revoke(struct store *store, const char *name, struct rondo_error *err);
/** Append a JSON array: name, scope, agents, created, expires, last_used. */
int token_list(struct store *store, struct buf *ret_json, struct rondo_error *err);

/**
 * Look a token up by its digest.
 * @return 0 with `ret_grant`, whose scope is TOKEN_NONE when it is unknown, revoked or expired;
 *         a negative code when the store cannot be read: then nobody is let in
 */
int token_check(struct store *store, const char *token, int64_t now_ns,
                struct token_grant *ret_grant, struct rondo_error *err);

/**
 * Whether a token that was let in is still to be heard: neither revoked nor over. When the store
 * cannot be read it is.
 * @param digest of its grant
 */
bool token_still_counts(struct store *store, const char *digest, int64_t now_ns);
