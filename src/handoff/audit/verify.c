// SPDX-License-Identifier: Apache-2.0
#include "handoff/audit/verify.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void audit_verifier_fini(struct audit_verifier *verifier)
{
    free(verifier->heads);
    verifier->heads = NULL;
}

static int order_by_size(const void *one, const void *other)
{
    const struct signed_head *a = one;
    const struct signed_head *b = other;
    return a->size < b->size ? -1 : a->size > b->size;
}

/** Compare a head with a chain of its size. */
static int compare(const struct audit_head *head, const struct signed_head *expected,
                   struct rondo_error *err)
{
    char root[HANDOFF_DIGEST_SIZE];
    audit_root(head, root);
    if (strcmp(root, expected->root) != 0 || strcmp(head->hash, expected->hash) != 0) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "the entries up to %" PRIu64 " of the audit chain are not those of which "
                         "the head was signed at %s",
                         head->size, expected->time);
    }
    return 0;
}

/** Compare the heads of the present size. */
static int pass_heads(struct audit_verifier *verifier, struct rondo_error *err)
{
    int r = 0;
    while (r == 0 && verifier->passed < verifier->head_count &&
           verifier->heads[verifier->passed].size == verifier->head.size) {
        r = compare(&verifier->head, &verifier->heads[verifier->passed++], err);
    }
    return r;
}

static int begin(struct audit_verifier *verifier, struct rondo_error *err)
{
    if (verifier->has_begun) {
        return 0;
    }
    verifier->has_begun = true;
    if (verifier->head_count > 0) {
        qsort(verifier->heads, verifier->head_count, sizeof(*verifier->heads), order_by_size);
    }
    return pass_heads(verifier, err);
}

int audit_verifier_expect(struct audit_verifier *verifier, const struct signed_head *head,
                          const struct audit_keys *keys, struct rondo_error *err)
{
    int r = signed_head_check(head, keys, err);
    if (r < 0) {
        return r;
    }
    if (verifier->head_count == verifier->head_room) {
        verifier->head_room = verifier->head_room * 2 + 8;
        verifier->heads =
            memory_resize(verifier->heads, verifier->head_room, sizeof(*verifier->heads));
    }
    verifier->heads[verifier->head_count++] = *head;
    return 0;
}

int audit_verifier_add(struct audit_verifier *verifier, const char *entry, size_t len,
                       bool may_be_redacted, struct rondo_error *err)
{
    bool is_redacted = false;
    int r = begin(verifier, err);
    if (r == 0 && may_be_redacted) {
        r = audit_check_redacted(&verifier->head, entry, len, &is_redacted, err);
    } else if (r == 0) {
        r = audit_check(&verifier->head, entry, len, err);
    }
    verifier->redacted += is_redacted ? 1 : 0;
    return r < 0 ? r : pass_heads(verifier, err);
}

int audit_verifier_compare(const struct audit_verifier *verifier, const struct signed_head *head,
                           const struct audit_keys *keys, struct rondo_error *err)
{
    int r = signed_head_check(head, keys, err);
    if (r == 0 && head->size != verifier->head.size) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "the audit chain ends at entry %" PRIu64 "; its head was signed at entry "
                         "%" PRIu64,
                         verifier->head.size, head->size);
    }
    return r < 0 ? r : compare(&verifier->head, head, err);
}

int audit_verifier_finish(struct audit_verifier *verifier, struct rondo_error *err)
{
    int r = begin(verifier, err);
    if (r == 0 && verifier->passed < verifier->head_count) {
        const struct signed_head *last = &verifier->heads[verifier->head_count - 1];
        return error_set(err, RONDO_ERR_CORRUPT,
                         "the audit chain was cut off: it ends at entry %" PRIu64
                         ", and a head was "
                         "signed at entry %" PRIu64 " at %s",
                         verifier->head.size, last->size, last->time);
    }
    return r;
}
