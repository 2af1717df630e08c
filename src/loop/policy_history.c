// SPDX-License-Identifier: Apache-2.0
/* Entering rulesets in the history. */
#include "loop/policy_history.h"

#include "policy/replica.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

/** Entries that are searched for the author of the very same policies. */
#define LOOK_BACK    8
#define LOOK_BACK_NS (10 * NS_PER_S)

struct history_search {
    const struct ruleset *ruleset;
    unsigned count;
    bool is_newest; /* the newest entry is the ruleset's */
    bool is_found;  /* it, or one that was set just now, is */
    char by[WATCH_BY_SIZE];
};

/**
 * The entry of `rondo policy set` need not be the newest: a process that still read the file before
 * may have entered that in between.
 */
static bool take_entry(const struct store_policy_change *change, void *context)
{
    struct history_search *search = context;
    bool is_same = strcmp(change->digest, search->ruleset->digest) == 0;
    bool is_recent = clock_now(clock_system()) - change->time_ns < LOOK_BACK_NS;
    search->is_newest = is_same && search->count == 0;
    search->is_found =
        search->is_newest || (is_same && is_recent && strcmp(change->how, "set") == 0);
    snprintf(search->by, sizeof(search->by), "%s", change->by);
    return !search->is_found && ++search->count < LOOK_BACK;
}

void policy_history_enter(void *context, const struct ruleset *ruleset, bool is_first, char *by,
                          size_t by_size)
{
    struct store *store = context;
    struct history_search search = {.ruleset = ruleset};
    if (strcmp(ruleset->source, RULESET_BUILT_IN) == 0) {
        return;
    }
    /* Reading is cheap; writing would take the store's lock just to find the same again. */
    const char *source = policy_history_source(ruleset->source);
    store->ops->read_policies(store, source, 0, take_entry, &search, NULL);
    if (search.is_found) {
        snprintf(by, by_size, "%s", search.by);
    }
    if (search.is_newest) {
        return;
    }
    struct store_policy_change change = {
        .time_ns = clock_now(clock_system()),
        .source = source,
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
