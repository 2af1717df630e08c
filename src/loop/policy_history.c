// SPDX-License-Identifier: Apache-2.0
/* Entering rulesets in the history. */
#include "loop/policy_history.h"

#include "store/store.h"

#include <stdio.h>
#include <string.h>

struct newest {
    const struct ruleset *ruleset;
    bool is_same;
    char by[WATCH_BY_SIZE];
};

static bool take_newest(const struct store_policy_change *change, void *context)
{
    struct newest *newest = context;
    newest->is_same = strcmp(change->digest, newest->ruleset->digest) == 0;
    snprintf(newest->by, sizeof(newest->by), "%s", change->by);
    return false;
}

void policy_history_enter(void *context, const struct ruleset *ruleset, bool is_first, char *by,
                          size_t by_size)
{
    struct store *store = context;
    struct newest newest = {.ruleset = ruleset};
    if (strcmp(ruleset->source, RULESET_BUILT_IN) == 0) {
        return;
    }
    /* Reading is cheap; writing would take the store's lock just to find the same again. */
    store->ops->read_policies(store, ruleset->source, 0, take_newest, &newest, NULL);
    if (newest.is_same) {
        snprintf(by, by_size, "%s", newest.by);
        return;
    }
    struct store_policy_change change = {
        .time_ns = clock_now(clock_system()),
        .source = ruleset->source,
        .digest = ruleset->digest,
        .how = is_first ? "found" : "edited",
        .by = by,
        .text = ruleset->text,
        .text_len = ruleset->text_len,
    };
    uint64_t number = 0;
    bool is_new = false;
    store->ops->record_policy(store, &change, &number, &is_new, NULL);
}
