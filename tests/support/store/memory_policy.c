// SPDX-License-Identifier: Apache-2.0
/* The history of policies in the memory back end. Threads: one mutex over everything, callbacks
 * included. */
#include "base/memory.h"
#include "memory_rows.h"
#include "store/rules.h"

#include <stdlib.h>
#include <string.h>

static const struct memory_policy_change *newest_of(const struct memory_store *store,
                                                    const char *source)
{
    const struct memory_policy_change *change = store->policies;
    while (change != NULL && strcmp(change->source, source) != 0) {
        change = change->next;
    }
    return change;
}

/** The text with this change's digest; the change's own when there was none yet. */
static struct memory_policy_text *keep_text(struct memory_store *store,
                                            const struct store_policy_change *change)
{
    struct memory_policy_text *text = store->policy_texts;
    while (text != NULL && strcmp(text->digest, change->digest) != 0) {
        text = text->next;
    }
    if (text == NULL) {
        text = memory_new_zero(1, sizeof(*text));
        memcpy(text->digest, change->digest, sizeof(text->digest));
        text->text = memory_dup_bytes(change->text, change->text_len);
        text->text_len = change->text_len;
        DL_APPEND(store->policy_texts, text);
    }
    return text;
}

static void append(struct memory_store *store, const struct store_policy_change *change)
{
    struct memory_policy_change *added = memory_new_zero(1, sizeof(*added));
    added->number = store->policies != NULL ? store->policies->number + 1 : 1;
    added->text = keep_text(store, change);
    added->time_ns = change->time_ns;
    added->source = memory_dup_string(change->source);
    added->how = memory_dup_string(change->how);
    added->by = memory_dup_string(change->by);
    DL_PREPEND(store->policies, added);
}

int memory_record_policy(struct store *base, const struct store_policy_change *change,
                         uint64_t *ret_number, bool *ret_is_new, struct rondo_error *err)
{
    int rc = rules_check_policy(change, err);
    if (rc < 0) {
        return rc;
    }
    struct memory_store *store = memory_rows_lock(base);
    const struct memory_policy_change *newest = newest_of(store, change->source);
    bool is_new = newest == NULL || strcmp(newest->text->digest, change->digest) != 0;
    if (is_new) {
        append(store, change);
        newest = store->policies;
    }
    *ret_number = newest->number;
    *ret_is_new = is_new;
    memory_rows_unlock(store);
    return 0;
}

static bool give_change(const struct memory_policy_change *change, store_policy_fn *fn,
                        void *context)
{
    const struct store_policy_change view = {
        .number = change->number,
        .time_ns = change->time_ns,
        .source = change->source,
        .digest = change->text->digest,
        .how = change->how,
        .by = change->by,
        .text = change->text->text,
        .text_len = change->text->text_len,
    };
    return fn(&view, context);
}

int memory_read_policies(struct store *base, const char *source, uint64_t before,
                         store_policy_fn *fn, void *context, struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = memory_rows_lock(base);
    const struct memory_policy_change *change;
    DL_FOREACH(store->policies, change)
    {
        bool is_asked_for = (before == 0 || change->number < before) &&
                            (source == NULL || strcmp(change->source, source) == 0);
        if (is_asked_for && !give_change(change, fn, context)) {
            break;
        }
    }
    memory_rows_unlock(store);
    return 0;
}

void memory_policy_free_all(struct memory_store *store)
{
    struct memory_policy_change *change, *next_change;
    DL_FOREACH_SAFE(store->policies, change, next_change)
    {
        DL_DELETE(store->policies, change);
        free(change->source);
        free(change->how);
        free(change->by);
        free(change);
    }
    struct memory_policy_text *text, *next_text;
    DL_FOREACH_SAFE(store->policy_texts, text, next_text)
    {
        DL_DELETE(store->policy_texts, text);
        free(text->text);
        free(text);
    }
}
