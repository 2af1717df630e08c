// SPDX-License-Identifier: Apache-2.0
/*
 * Hiding values of requests from people who may decide about them but not see everything in them.
 * A rule names places by JSON pointers (RFC 6901) in which a segment `*` is every member or index,
 * the roles from which they are hidden, and the roles that may have a value revealed. Digests are
 * taken before: what is approved is always the whole action.
 *
 * A hidden value is replaced by {"redacted":true,"reason":...,"hmac":...,"length":...}. The code is
 * keyed, so that equal values can be recognised and none can be guessed. Other texts of the
 * document in which a hidden text occurs have it replaced, too; numbers and texts shorter than
 * REDACT_SHORTEST_TEXT are hidden only where a pointer leads to them.
 *
 * Rules are constant; any thread.
 */
#pragma once

#include "base/digest.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct json_object;

/** Bytes of a text whose copies are hidden, too: shorter ones would blacken ordinary words. */
#define REDACT_SHORTEST_TEXT 6

struct redact_names {
    const char *const *names;
    size_t count;
};

struct redact_rule {
    const char *agent; /**< globs; NULL = all */
    const char *tool;
    struct redact_names pointers;    /**< redact_is_pointer() */
    struct redact_names hidden_from; /**< roles; none, or "*" = everybody */
    struct redact_names reveal;      /**< roles; none = nobody */
};

/** Rules, and who looks at what. */
struct redact_view {
    const struct redact_rule *rules;
    size_t count;
    const char *agent; /**< of the request; NULL = not known, so that rules of any may apply */
    const char *tool;
    /** Roles of the person; a person without roles, and readers who are no person, see nothing that
     * any rule hides. */
    struct redact_names roles;
    unsigned char key[DIGEST_SIZE]; /**< redact_key() */
};

/** Whether a text can be the pointer of a rule: at least one segment, `~` only in `~0`, `~1`. */
bool redact_is_pointer(const char *pointer);

/** The key of this user's codes; a random one where there is no state folder. */
void redact_key(unsigned char ret_key[DIGEST_SIZE]);

/** Whether any rule hides something of such requests from the one who looks. */
bool redact_hides(const struct redact_view *view);

/**
 * Hide what a person may not see in a document, but for copies of it.
 * @param texts an array to which the hidden texts are added, for redact_scrub()
 * @param paths an array to which the pointers of what was hidden are added; NULL
 * @return how many values were hidden
 */
size_t redact_hide(const struct redact_view *view, struct json_object *document,
                   struct json_object *texts, struct json_object *paths);

/** Replace hidden texts in all texts and names of a value. @param paths pointers of the texts that
 * were changed are added; NULL @return how many */
size_t redact_scrub(struct json_object *texts, struct json_object *value,
                    struct json_object *paths);

/**
 * Both.
 * @param paths an array to which the pointers of what was hidden are added; NULL
 * @return how many values were hidden
 */
size_t redact_apply(const struct redact_view *view, struct json_object *document,
                    struct json_object *paths);

/** The same for the text of a document. A text that is not JSON is hidden as a whole. */
size_t redact_apply_text(const struct redact_view *view, const char *json, size_t len,
                         struct buf *ret_json);

enum redact_verdict {
    REDACT_REVEALED = 0,
    REDACT_MISSING,       /**< there is no such value */
    REDACT_NOT_HIDDEN,    /**< the person sees it anyway */
    REDACT_NOT_PERMITTED, /**< a rule that hides it lets none of the person's roles reveal it */
};

/**
 * Whether a value may be revealed: one to which a rule leads, or a text with a copy of a hidden
 * one; then all rules that apply must let the person reveal.
 * @param pointer of one value: no wildcards
 * @param ret_value borrowed from the document; only with REDACT_REVEALED
 */
enum redact_verdict redact_reveal(const struct redact_view *view, struct json_object *document,
                                  const char *pointer, struct json_object **ret_value);
