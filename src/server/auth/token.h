// SPDX-License-Identifier: Apache-2.0
/*
 * Tokens of the API: opaque, random, kept as SHA-256 only (documents of the collection "token").
 * Text form: "rondo_" and 43 characters of base64url (256 bits).
 */
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "server/auth/token_keys.h"
#include "store/store.h"

#include <stdbool.h>

/** What a route needs, as bits. */
enum token_right {
    RIGHT_READ = 1,
    RIGHT_OPERATE = 2,    /**< start, resume, stop, pause runs, change their limits */
    RIGHT_ADMINISTER = 4, /**< policies, sinks */
    RIGHT_DECIDE = 8,     /**< decide handoffs, as a person */
    RIGHT_AGENT = 16,     /**< ask for decisions, as an agent */
    RIGHT_REVEAL = 32,    /**< see hidden values of requests, as a person whom the desk file lets */
};

/** Named sets of rights. None has RIGHT_DECIDE together with one that makes an agent act. */
enum token_scope {
    TOKEN_NONE = 0,
    TOKEN_READ,
    TOKEN_OPERATE,    /**< read and operate */
    TOKEN_ADMINISTER, /**< read, operate and administer */
    TOKEN_DECIDE,     /**< read and decide */
    TOKEN_REVEAL,     /**< read, decide and reveal */
    TOKEN_AGENT,      /**< nothing but the routes for agents, for the agents that it names */
    TOKEN_SCOPE_COUNT
};

/** Rights of a process that was proven to be the server's own user's: it decides like the CLI. */
#define RIGHTS_LOCAL (RIGHT_READ | RIGHT_OPERATE | RIGHT_ADMINISTER | RIGHT_DECIDE | RIGHT_REVEAL)

#define TOKEN_SIZE     64
#define TOKEN_NAME_LEN 64
#define TOKEN_AGENTS   64
#define LIMIT_TOKENS   1000

const char *token_scope_name(enum token_scope scope);
/** Bits of enum token_right. */
unsigned token_scope_rights(enum token_scope scope);
/** The scope that a right is named after: "decide". */
const char *token_right_name(enum token_right right);

/** What a caller may do. */
struct token_grant {
    enum token_scope scope;
    unsigned rights;                 /**< bits of enum token_right */
    char name[TOKEN_NAME_LEN + 1];   /**< for journals: "token NAME", "local user NAME" */
    char person[TOKEN_NAME_LEN + 1]; /**< "user:NAME" of what decides; "" = no person */
    char owner[TOKEN_NAME_LEN + 1];  /**< TOKEN_AGENT: "user:NAME" whose agent it is; "" = nobody */
    char **agents;                   /**< NULL-terminated; NULL = all agents */
    struct token_keys keys;          /**< with which its requests, and answers, are signed */
    char digest[DIGEST_HEX_SIZE];    /**< of the token, for token_still_counts; "" without one */
};
void token_grant_fini(struct token_grant *grant);
/** Whether a grant reaches an agent. */
bool token_grant_covers(const struct token_grant *grant, const char *agent_id);

/** A token to be made. Texts are borrowed. */
struct token_spec {
    const char *name;
    enum token_scope scope;
    const char *const *agents; /**< NULL-terminated list; NULL = all, but not with TOKEN_AGENT */
    /** With TOKEN_DECIDE and TOKEN_REVEAL who decides; NULL = the token's name. With TOKEN_AGENT
     * whose agent it is, and who never decides about it; NULL = nobody's. */
    const char *person;
    int64_t expires_ns;         /**< Unix time; 0 = never */
    enum token_signing signing; /**< with TOKEN_AGENT */
    const char *public_key;     /**< "whpk_...": of the agent's own pair; NULL = a secret is made */
};

/**
 * @param ret_token to be shown once
 * @param ret_secret SIGNING_TEXT_SIZE bytes: the secret that was made, to be shown once, "" = none;
 *        NULL where none is made
 * @return 0; RONDO_ERR_INVALID for a name that is taken or wrong, for what does not go with the
 *         scope, and for an agent that would decide; RONDO_ERR_LIMIT
 */
int token_create(struct store *store, const struct token_spec *spec, char ret_token[TOKEN_SIZE],
                 char *ret_secret, struct rondo_error *err);

/**
 * Make a new secret for a token that signs. The former ones count for so much longer.
 * @param ret_secret SIGNING_TEXT_SIZE bytes, to be shown once
 * @return RONDO_ERR_NOT_FOUND; RONDO_ERR_INVALID when it does not sign with a secret;
 *         RONDO_ERR_LIMIT when TOKEN_KEYS count
 */
int token_rotate(struct store *store, const char *name, int64_t now_ns, int64_t overlap_ns,
                 char *ret_secret, struct rondo_error *err);
/** RONDO_ERR_NOT_FOUND */
int token_revoke(struct store *store, const char *name, struct rondo_error *err);
/** Append a JSON array: name, scope, person, agents, created, expires, last_used. */
int token_list(struct store *store, struct buf *ret_json, struct rondo_error *err);

/**
 * Whether who would decide about an action is on the side of the agent that asks: it is an agent
 * itself, or has a token of the agent or of the one above it. When the store cannot be read it is.
 * @param person "user:NAME" @param parent_id "" = none
 */
bool token_is_of_agent(struct store *store, const char *person, const char *agent_id,
                       const char *parent_id);

/**
 * Look a token up by its digest.
 * @return 0 with `ret_grant`, whose scope is TOKEN_NONE when it is unknown, revoked or expired;
 *         a negative code when the store cannot be read: then nobody is let in
 */
int token_check(struct store *store, const char *token, int64_t now_ns,
                struct token_grant *ret_grant, struct rondo_error *err);

/** Tokens whose use was noted a moment ago. Zeroed, none. */
#define TOKEN_USES 256
struct token_uses {
    struct token_use {
        _Atomic uint64_t id;
        _Atomic int64_t time_ns;
    } uses[TOKEN_USES];
};

/** Note that a token was used: in the store once a minute. What fails is lost. Any thread. */
void token_note_use(struct store *store, struct token_uses *uses, const char *digest,
                    int64_t now_ns);

/**
 * Whether a token that was let in is still to be heard: neither revoked nor over. When the store
 * cannot be read it is.
 * @param digest of its grant
 */
bool token_still_counts(struct store *store, const char *digest, int64_t now_ns);
