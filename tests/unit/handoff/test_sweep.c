// SPDX-License-Identifier: Apache-2.0
/* Deleting old handoffs: what goes, what stays, and that the audit chain is as it was. */
#include "handoff/storage/chain.h"
#include "handoff/storage/sweep.h"

#include "base/clock.h"
#include "handoff/inbox/inbox.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define HOUR  (3600 * NS_PER_S)
#define BEGIN (1800000000 * NS_PER_S)
#define LATER (BEGIN + 1000 * HOUR)

static const char action[] =
    "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";

static int set_up(void **state)
{
    *state = store_memory_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    store_close(*state);
    return 0;
}

#define TEST_OF_SWEEP(name) TEST_WITH(name, set_up, tear_down)

static const char *id_of(int number)
{
    static char ids[4][ID_SIZE];
    static unsigned next;
    char *id = ids[next++ % 4];
    snprintf(id, ID_SIZE, "e6a19e20-f630-5f7a-91bd-%012d", number);
    return id;
}

static struct handoff_store handoffs_of(struct store *store)
{
    return (struct handoff_store){.store = store, .rules = &handoff_default_rules};
}

static void submit(struct store *store, int number, int64_t now_ns)
{
    struct handoff_store handoffs = handoffs_of(store);
    struct handoff_request request = {.request_id = id_of(number),
                                      .agent_id = "agent",
                                      .lane_id = "lane",
                                      .action_digest = action,
                                      .body_digest = action,
                                      .is_foreign = true};
    struct handoff_result result;
    struct handoff handoff;
    assert_int_equal(handoff_submit(&handoffs, &request, "{\"a\":1}", now_ns, &result, NULL), 0);
    assert_int_equal(inbox_route(&handoffs, request.request_id, now_ns, &handoff, NULL), 0);
}

static void decide(struct store *store, int number, enum handoff_command_kind kind, int64_t now_ns)
{
    struct handoff_store handoffs = handoffs_of(store);
    struct inbox_decision decision = {
        .kind = kind, .by = "user:ann", .comment = "so", .revision = 1, .action_digest = action};
    struct inbox_result result;
    assert_int_equal(inbox_decide(&handoffs, id_of(number), &decision, now_ns, &result, NULL), 0);
    assert_int_equal(result.result.outcome, HANDOFF_DONE);
}

static bool count_one(const struct store_document *document, void *context)
{
    (void)document;
    ++*(size_t *)context;
    return true;
}

static size_t count(struct store *store, const char *collection)
{
    struct store_document_query query = {.collection = collection};
    size_t found = 0;
    assert_int_equal(store->ops->read_documents(store, &query, count_one, &found, NULL), 0);
    return found;
}

TEST_OF_SWEEP(what_was_decided_long_ago_goes_and_the_chain_stays)
{
    struct store *store = *state;
    static const struct audit_keys keys = {0};
    struct audit_report before = {0};
    struct audit_report after = {0};
    uint64_t deleted = 0;
    submit(store, 1, BEGIN);
    decide(store, 1, HANDOFF_REJECT, BEGIN + HOUR);
    submit(store, 2, LATER - HOUR);
    decide(store, 2, HANDOFF_REJECT, LATER);
    submit(store, 3, LATER);
    assert_int_equal(audit_chain_verify(store, &keys, NULL, &before, NULL), 0);
    assert_int_equal(handoff_sweep(store, LATER - 2 * HOUR, true, &deleted, NULL), 0);
    assert_int_equal(deleted, 1);
    assert_int_equal(count(store, HANDOFF_COLLECTION), 3);
    assert_int_equal(handoff_sweep(store, LATER - 2 * HOUR, false, &deleted, NULL), 0);
    assert_int_equal(deleted, 1);
    assert_int_equal(count(store, HANDOFF_COLLECTION), 2);
    assert_int_equal(count(store, HANDOFF_BODY_COLLECTION), 2);
    assert_int_equal(count(store, HANDOFF_THREAD_COLLECTION), 1);
    assert_int_equal(audit_chain_verify(store, &keys, NULL, &after, NULL), 0);
    assert_int_equal(after.size, before.size);
    assert_int_equal(handoff_sweep(store, LATER - 2 * HOUR, false, &deleted, NULL), 0);
    assert_int_equal(deleted, 0);
}

TEST_OF_SWEEP(what_waits_or_is_not_applied_yet_stays_however_old_it_is)
{
    struct store *store = *state;
    uint64_t deleted = 0;
    submit(store, 1, BEGIN);
    submit(store, 2, BEGIN);
    decide(store, 2, HANDOFF_APPROVE, BEGIN + HOUR);
    assert_int_equal(handoff_sweep(store, INT64_MAX, false, &deleted, NULL), 0);
    assert_int_equal(deleted, 0);
    assert_int_equal(count(store, HANDOFF_COLLECTION), 2);
}

TEST_OF_SWEEP(many_pages_are_swept)
{
    struct store *store = *state;
    uint64_t deleted = 0;
    for (int i = 1; i <= 450; i++) {
        submit(store, i, BEGIN);
        if (i % 3 != 0) {
            decide(store, i, HANDOFF_REJECT, BEGIN + HOUR);
        }
    }
    assert_int_equal(handoff_sweep(store, BEGIN + 2 * HOUR, false, &deleted, NULL), 0);
    assert_int_equal(deleted, 300);
    assert_int_equal(count(store, HANDOFF_COLLECTION), 150);
    assert_int_equal(count(store, HANDOFF_THREAD_COLLECTION), 0);
}
