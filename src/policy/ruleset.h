// SPDX-License-Identifier: Apache-2.0
/*
 * The rules in force: policies of the administrator, Rondo's own ones after them, and the entities
 * that the administrator has described. A ruleset never changes; changing the rules means making a
 * new one and handing that out. Any number of threads may use one at once.
 *
 * Rondo's own policies are the options of a run (`--max-iterations 100`) as visible policies with
 * the ids limit.iterations, limit.tokens, limit.cost and limit.time. So is what a role says of its
 * tools: confirm.tool asks a person about a call of one that the role wants confirmed. A policy of
 * the administrator with one of these ids takes its place. Without any file everything else is
 * permitted.
 */
#pragma once

#include "base/digest.h"
#include "policy/lint/lint.h"

struct buf;

/** Iterations of a run that says nothing, when no policy of the administrator counts its agent's.
 */
#define RULESET_DEFAULT_ITERATIONS 10

/** The policy for tools whose calls the role wants confirmed. */
#define RULESET_CONFIRM "confirm.tool"

/** `source` when there is no file. */
#define RULESET_BUILT_IN "built-in"

enum ruleset_part {
    RULESET_POLICIES, /**< Cedar text, also templates */
    RULESET_ENTITIES, /**< Cedar entities JSON */
    RULESET_LINKS,    /**< JSON: [{"templateId":..,"newId":..,"values":{"?principal":uid}}] */
};

/** One file of the administrator. */
struct ruleset_text {
    enum ruleset_part part;
    const char *name; /**< for messages */
    const char *text;
    size_t len;
};

struct ruleset {
    _Atomic uint64_t references;
    struct cedar_policies *policies;
    struct cedar_entities *actions;  /**< what is always there */
    struct cedar_entities *entities; /**< over them; the same when the administrator has none */
    uint8_t *counters;               /**< by policy: see limit_counters */
    size_t given_count;              /**< the first ones are the administrator's */
    bool counts_iterations;       /**< whether one of those for `iterate` mentions the iteration */
    char digest[DIGEST_HEX_SIZE]; /**< SHA-256 over the administrator's texts */
    char *source;                 /**< absolute path, or RULESET_BUILT_IN */
    char *text;                   /**< the administrator's texts, one after the other; entities and
                links as comments */
    size_t text_len;
};

/**
 * Make a ruleset.
 * @param texts  parts in order; none = only Rondo's own policies
 * @param finding called for everything that the lint finds, and for a text that cannot be parsed
 *                (which is then the last); may be NULL
 * @param ret_ruleset ruleset_unref()
 * @return 0; RONDO_ERR_INVALID with `file:line:column: ...` for a text that is wrong, also when the
 *         lint finds an error; RONDO_ERR_LIMIT
 */
int ruleset_make(const char *source, const struct ruleset_text *texts, size_t count,
                 lint_fn *finding, void *context, struct ruleset **ret_ruleset,
                 struct rondo_error *err);

struct ruleset *ruleset_ref(struct ruleset *ruleset);
/** NULL is allowed. */
void ruleset_unref(struct ruleset *ruleset);

/**
 * Whether a policy of the administrator takes the place of one of Rondo's own, so that the option
 * that it reads does not count.
 * @param id "limit.iterations", ...
 */
bool ruleset_replaces(const struct ruleset *ruleset, const char *id);

/** Append the policies in force as Cedar text, Rondo's own ones with a comment. */
void ruleset_write(const struct ruleset *ruleset, struct buf *ret_text);
