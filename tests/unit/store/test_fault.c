// SPDX-License-Identifier: Apache-2.0
/* The failing decorator: transparent with an empty plan, and failing as planned with another. */
#include "../../support/store/fault.h"
#include "../../support/store/memory_store.h"
#include "contract.h"
#include "support.h"

#include <string.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"

/** Fails one operation in one way. */
struct fault_plan {
    const char *operation;
    enum store_fault fault;
    int code; /**< 0 = leave what is preset */
    uint64_t calls;
};

static enum store_fault decide(void *context, const char *operation, uint64_t call, int *ret_code)
{
    struct fault_plan *plan = context;
    plan->calls++;
    assert_int_equal(call, plan->calls);
    if (plan->operation == NULL || strcmp(operation, plan->operation) != 0) {
        return STORE_FAULT_NONE;
    }
    if (plan->code != 0) {
        *ret_code = plan->code;
    }
    return plan->fault;
}

struct store_pair {
    struct store *inner;
    struct store *store;
    struct fault_plan plan;
};

static int make_pair(void **state)
{
    static struct store_pair pair;
    pair = (struct store_pair){.inner = store_memory_new(NULL)};
    pair.store = store_fault_new(
        pair.inner, &(struct store_fault_plan){.decide = decide, .context = &pair.plan});
    test_create(pair.store, RUN_A, "agent", false);
    *state = &pair;
    return 0;
}

static int free_pair(void **state)
{
    struct store_pair *pair = *state;
    store_close(pair->store);
    store_close(pair->inner);
    return 0;
}

static int try_append(struct store_pair *pair, struct store_commit_result *result,
                      struct rondo_error *err)
{
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    const struct store_batch *batches[] = {&batch};
    return pair->store->ops->commit(pair->store, batches, 1, result, err);
}

TEST_WITH(a_failure_before_has_no_effect, make_pair, free_pair)
{
    struct store_pair *pair = *state;
    pair->plan =
        (struct fault_plan){.operation = "commit", .fault = STORE_FAULT_BEFORE, .calls = 1};
    struct store_commit_result result = {.position = 42};
    struct rondo_error err = {0};
    assert_int_equal(try_append(pair, &result, &err), RONDO_ERR_IO);
    assert_int_equal(err.code, RONDO_ERR_IO);
    assert_non_null(strstr(err.message, "commit"));
    assert_int_equal(result.position, 42);
    assert_int_equal(test_count_events(pair->inner, RUN_A), 0);
}

TEST_WITH(a_failure_after_takes_effect_and_loses_the_answer, make_pair, free_pair)
{
    struct store_pair *pair = *state;
    pair->plan = (struct fault_plan){.operation = "commit", .fault = STORE_FAULT_AFTER, .calls = 1};
    struct store_commit_result result = {.position = 42};
    assert_int_equal(try_append(pair, &result, NULL), RONDO_ERR_IO);
    assert_int_equal(result.position, 42);
    assert_int_equal(test_count_events(pair->inner, RUN_A), 1);
    pair->plan.operation = NULL;
    assert_int_equal(try_append(pair, &result, NULL), 0);
    assert_int_equal(result.outcome, STORE_ALREADY_COMMITTED);
}

TEST_WITH(the_plan_chooses_the_code, make_pair, free_pair)
{
    struct store_pair *pair = *state;
    pair->plan = (struct fault_plan){.operation = "last_position",
                                     .fault = STORE_FAULT_BEFORE,
                                     .code = RONDO_ERR_FULL,
                                     .calls = 1};
    uint64_t position = 42;
    assert_int_equal(pair->store->ops->last_position(pair->store, &position, NULL), RONDO_ERR_FULL);
    assert_int_equal(position, 42);
}

static bool never_called(const struct store_event *event, void *context)
{
    (void)event;
    (void)context;
    fail();
    return false;
}

TEST_WITH(other_operations_go_through, make_pair, free_pair)
{
    struct store_pair *pair = *state;
    pair->plan =
        (struct fault_plan){.operation = "read_events", .fault = STORE_FAULT_BEFORE, .calls = 1};
    struct store_commit_result result;
    assert_int_equal(try_append(pair, &result, NULL), 0);
    assert_int_equal(
        pair->store->ops->read_events(pair->store, RUN_A, 0, 0, never_called, NULL, NULL),
        RONDO_ERR_IO);
}

static const struct store_policy_change policies = {
    .source = "built-in",
    .digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    .how = "found",
    .by = "test",
    .text = "",
};

TEST_WITH(policies_fail_as_planned_and_the_answer_is_lost, make_pair, free_pair)
{
    struct store_pair *pair = *state;
    pair->plan =
        (struct fault_plan){.operation = "record_policy", .fault = STORE_FAULT_BEFORE, .calls = 1};
    uint64_t number = 42;
    bool is_new = false;
    struct store *store = pair->store;
    assert_int_equal(store->ops->record_policy(store, &policies, &number, &is_new, NULL),
                     RONDO_ERR_IO);
    pair->plan.fault = STORE_FAULT_AFTER;
    assert_int_equal(store->ops->record_policy(store, &policies, &number, &is_new, NULL),
                     RONDO_ERR_IO);
    assert_int_equal(number, 42);
    pair->plan.operation = NULL;
    is_new = true;
    assert_int_equal(store->ops->record_policy(store, &policies, &number, &is_new, NULL), 0);
    assert_int_equal(number, 1);
    assert_false(is_new);
}

static bool no_policy_is_expected(const struct store_policy_change *change, void *context)
{
    (void)change;
    (void)context;
    fail();
    return false;
}

TEST_WITH(reading_policies_fails_as_planned, make_pair, free_pair)
{
    struct store_pair *pair = *state;
    uint64_t number;
    bool is_new;
    struct store *store = pair->store;
    pair->plan.calls = 1;
    assert_int_equal(store->ops->record_policy(store, &policies, &number, &is_new, NULL), 0);
    pair->plan =
        (struct fault_plan){.operation = "read_policies", .fault = STORE_FAULT_BEFORE, .calls = 2};
    assert_int_equal(store->ops->read_policies(store, NULL, 0, no_policy_is_expected, NULL, NULL),
                     RONDO_ERR_IO);
}

static const struct store_change note = {
    .collection = "notes", .key = "k", .data = "{}", .data_len = 2};

TEST_WITH(documents_fail_as_planned_and_the_answer_is_lost, make_pair, free_pair)
{
    struct store_pair *pair = *state;
    struct store *store = pair->store;
    pair->plan = (struct fault_plan){
        .operation = "change_documents", .fault = STORE_FAULT_BEFORE, .calls = 1};
    bool is_applied = false;
    assert_int_equal(store->ops->change_documents(store, &note, 1, &is_applied, NULL),
                     RONDO_ERR_IO);
    pair->plan.fault = STORE_FAULT_AFTER;
    assert_int_equal(store->ops->change_documents(store, &note, 1, &is_applied, NULL),
                     RONDO_ERR_IO);
    assert_false(is_applied);
    pair->plan.operation = NULL;
    is_applied = true;
    assert_int_equal(store->ops->change_documents(store, &note, 1, &is_applied, NULL), 0);
    assert_false(is_applied);
}

static bool no_document_is_expected(const struct store_document *document, void *context)
{
    (void)document;
    (void)context;
    fail();
    return false;
}

TEST_WITH(reading_documents_fails_as_planned, make_pair, free_pair)
{
    struct store_pair *pair = *state;
    struct store *store = pair->store;
    bool is_applied = false;
    pair->plan.calls = 1;
    assert_int_equal(store->ops->change_documents(store, &note, 1, &is_applied, NULL), 0);
    pair->plan =
        (struct fault_plan){.operation = "read_documents", .fault = STORE_FAULT_BEFORE, .calls = 2};
    struct store_document_query query = {.collection = "notes"};
    assert_int_equal(store->ops->read_documents(store, &query, no_document_is_expected, NULL, NULL),
                     RONDO_ERR_IO);
}

TEST_WITH(counting_fails_as_planned, make_pair, free_pair)
{
    struct store_pair *pair = *state;
    struct store *store = pair->store;
    pair->plan =
        (struct fault_plan){.operation = "count_runs", .fault = STORE_FAULT_AFTER, .calls = 1};
    struct store_run_counts counts = {.paused = 42};
    struct store_run_query query = {0};
    assert_int_equal(store->ops->count_runs(store, &query, &counts, NULL), RONDO_ERR_IO);
    assert_int_equal(counts.paused, 42);
}

/* For the contract: the inner store lives as long as the decorator. */
static struct store *contract_inner;

static struct store *open_for_contract(const struct clock *clock)
{
    contract_inner = store_memory_new(clock);
    return store_fault_new(contract_inner, &(struct store_fault_plan){0});
}

static void close_for_contract(struct store *store)
{
    store_close(store);
    store_close(contract_inner);
}

int main(void)
{
    const struct contract_backend backend = {
        .name = "fault",
        .open = open_for_contract,
        .close = close_for_contract,
    };
    return contract_run(&backend);
}
