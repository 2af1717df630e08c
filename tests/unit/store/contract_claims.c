// SPDX-License-Identifier: Apache-2.0
/* The contract: creating and claiming runs, leases, fencing of owners. */
#include "contract_parts.h"

#include <stdio.h>
#include <string.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"
#define RUN_B "01900000-0000-7000-8000-00000000000b"

/** Create a run without asserting that it is claimed. */
static int try_create(struct store *store, const char *run_id, const char *agent_id,
                      bool is_exclusive, struct store_claim_result *ret_result)
{
    struct store_run run = {.is_exclusive = is_exclusive};
    snprintf(run.id, sizeof(run.id), "%s", run_id);
    snprintf(run.agent_id, sizeof(run.agent_id), "%s", agent_id);
    struct store_claim claim = {.owner = "owner-b", .lease_ns = TEST_LEASE_NS};
    return store->ops->create_run(store, &run, NULL, 0, &claim, ret_result, NULL);
}

CONTRACT_TEST(a_new_run_is_held_by_its_creator_at_epoch_1)
{
    struct contract *contract = *state;
    struct store_claim_result result;
    assert_int_equal(try_create(contract->store, RUN_A, "agent", true, &result), 0);
    assert_int_equal(result.outcome, STORE_CLAIMED);
    assert_int_equal(result.epoch, 1);
    assert_string_equal(result.run.id, RUN_A);
    assert_string_equal(result.run.owner, "");

    struct store_run run = test_get(contract->store, RUN_A);
    assert_string_equal(run.agent_id, "agent");
    assert_true(run.is_exclusive);
    assert_int_equal(run.epoch, 1);
    assert_string_equal(run.owner, "owner-b");
    assert_int_equal(run.lease_until_ns, TEST_EPOCH_NS + TEST_LEASE_NS);
    assert_int_equal(run.created_ns, TEST_EPOCH_NS);
    assert_int_equal(run.updated_ns, TEST_EPOCH_NS);
    assert_int_equal(run.alive_ns, TEST_EPOCH_NS);
    assert_int_equal(run.ended_ns, 0);
    assert_int_equal(run.last_seq, 0);
}

CONTRACT_TEST(a_new_run_has_its_summary_and_first_events)
{
    struct store *store = ((struct contract *)*state)->store;
    struct store_run run = {.id = RUN_A,
                            .agent_id = "agent",
                            .summary = {.iteration_limit = 9, .warnings = 4, .is_paused = true}};
    struct store_event first[] = {test_event("{\"n\":1}"), test_event("{\"n\":2}")};
    struct store_claim claim = {.owner = "owner-a", .lease_ns = TEST_LEASE_NS};
    struct store_claim_result result;
    assert_int_equal(store->ops->create_run(store, &run, first, 2, &claim, &result, NULL), 0);
    run = test_get(store, RUN_A);
    assert_int_equal(run.last_seq, 2);
    assert_int_equal(run.summary.iteration_limit, 9);
    assert_int_equal(run.summary.warnings, 4);
    assert_true(run.summary.is_paused);
    assert_int_equal(test_count_events(store, RUN_A), 2);
    test_append(store, RUN_A, 3, "{}");
    assert_int_equal(test_count_events(store, RUN_A), 3);
}

CONTRACT_TEST(an_id_cannot_be_created_twice)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_claim_result result;
    assert_int_equal(try_create(store, RUN_A, "other", false, &result), RONDO_ERR_INVALID);
    assert_string_equal(test_get(store, RUN_A).agent_id, "agent");
}

CONTRACT_TEST(ids_and_agents_of_the_longest_size_are_kept_whole)
{
    struct store *store = ((struct contract *)*state)->store;
    char agent[LIMIT_AGENT_ID_LEN + 1];
    memset(agent, 'x', LIMIT_AGENT_ID_LEN);
    agent[LIMIT_AGENT_ID_LEN] = '\0';
    test_create(store, RUN_A, agent, false);
    assert_string_equal(test_get(store, RUN_A).agent_id, agent);
    assert_string_equal(test_get(store, RUN_A).id, RUN_A);
}

CONTRACT_TEST(an_owner_that_does_not_fit_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    char owner[STORE_OWNER_SIZE + 1];
    memset(owner, 'x', STORE_OWNER_SIZE);
    owner[STORE_OWNER_SIZE] = '\0';
    struct store_run run = {.id = RUN_A, .agent_id = "agent"};
    struct store_claim claim = {.owner = owner, .lease_ns = TEST_LEASE_NS};
    struct store_claim_result result;
    assert_int_equal(store->ops->create_run(store, &run, NULL, 0, &claim, &result, NULL),
                     RONDO_ERR_LIMIT);
    owner[STORE_OWNER_SIZE - 1] = '\0';
    assert_int_equal(store->ops->create_run(store, &run, NULL, 0, &claim, &result, NULL), 0);
    assert_string_equal(test_get(store, RUN_A).owner, owner);
}

CONTRACT_TEST(a_claim_without_owner_or_lease_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_claim_result result;
    struct store_claim nobody = {.owner = "", .lease_ns = TEST_LEASE_NS};
    struct store_claim no_time = {.owner = "owner-b", .lease_ns = 0};
    assert_int_equal(store->ops->claim_run(store, RUN_A, &nobody, &result, NULL),
                     RONDO_ERR_INVALID);
    assert_int_equal(store->ops->claim_run(store, RUN_A, &no_time, &result, NULL),
                     RONDO_ERR_INVALID);
}

CONTRACT_TEST(a_run_is_not_created_beside_an_exclusive_one)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", true);
    struct store_claim_result result;
    assert_int_equal(try_create(store, RUN_B, "agent", false, &result), 0);
    assert_int_equal(result.outcome, STORE_HELD);
    assert_string_equal(result.holder.id, RUN_A);
    assert_string_equal(result.holder.owner, "owner-a");
    struct store_run run;
    assert_int_equal(store->ops->get_run(store, RUN_B, &run, NULL), RONDO_ERR_NOT_FOUND);
}

CONTRACT_TEST(an_exclusive_run_is_not_created_beside_another)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_claim_result result;
    assert_int_equal(try_create(store, RUN_B, "agent", true, &result), 0);
    assert_int_equal(result.outcome, STORE_HELD);
    assert_string_equal(result.holder.id, RUN_A);
}

CONTRACT_TEST(runs_that_are_not_exclusive_execute_side_by_side)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    test_create(store, RUN_B, "agent", false);
    assert_string_equal(test_get(store, RUN_A).owner, "owner-a");
    assert_string_equal(test_get(store, RUN_B).owner, "owner-a");
}

CONTRACT_TEST(exclusive_runs_of_different_agents_execute_side_by_side)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent-1", true);
    test_create(store, RUN_B, "agent-2", true);
    assert_string_equal(test_get(store, RUN_B).owner, "owner-a");
}

CONTRACT_TEST(a_claim_of_a_held_run_names_the_holder)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_claim_result result = test_claim(store, RUN_A, "owner-b");
    assert_int_equal(result.outcome, STORE_HELD);
    assert_string_equal(result.holder.id, RUN_A);
    assert_string_equal(result.holder.owner, "owner-a");
    assert_int_equal(test_get(store, RUN_A).epoch, 1);
}

CONTRACT_TEST(a_run_is_checked_against_its_own_holder_too)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    assert_int_equal(test_claim(store, RUN_A, "owner-a").outcome, STORE_HELD);
}

CONTRACT_TEST(a_run_can_be_claimed_when_its_lease_has_run_out)
{
    struct contract *contract = *state;
    test_create(contract->store, RUN_A, "agent", false);
    test_clock_advance(&contract->clock, TEST_LEASE_NS - 1);
    assert_int_equal(test_claim(contract->store, RUN_A, "owner-b").outcome, STORE_HELD);
    test_clock_advance(&contract->clock, 1);
    struct store_claim_result result = test_claim(contract->store, RUN_A, "owner-b");
    assert_int_equal(result.outcome, STORE_CLAIMED);
    assert_int_equal(result.epoch, 2);
    assert_int_equal(result.run.epoch, 1);
    assert_string_equal(result.run.owner, "owner-a");
    struct store_run run = test_get(contract->store, RUN_A);
    assert_int_equal(run.epoch, 2);
    assert_string_equal(run.owner, "owner-b");
    assert_int_equal(run.lease_until_ns, TEST_EPOCH_NS + 2 * TEST_LEASE_NS);
    assert_int_equal(run.alive_ns, TEST_EPOCH_NS + TEST_LEASE_NS);
}

CONTRACT_TEST(a_run_that_does_not_exist_cannot_be_claimed)
{
    struct store *store = ((struct contract *)*state)->store;
    struct store_claim claim = {.owner = "owner-a", .lease_ns = TEST_LEASE_NS};
    struct store_claim_result result;
    assert_int_equal(store->ops->claim_run(store, RUN_A, &claim, &result, NULL),
                     RONDO_ERR_NOT_FOUND);
}

CONTRACT_TEST(a_run_with_a_final_status_can_be_claimed)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    struct store_batch last = test_batch(RUN_A, 1, 1, NULL, 0);
    last.lease_ns = 0;
    last.summary.status = RONDO_CANCELLED;
    test_commit(store, &last);
    struct store_claim_result result = test_claim(store, RUN_A, "owner-b");
    assert_int_equal(result.outcome, STORE_CLAIMED);
    assert_int_equal(result.run.summary.status, RONDO_CANCELLED);
    assert_int_equal(result.epoch, 2);
}

CONTRACT_TEST(a_claim_respects_exclusive_runs_of_the_agent)
{
    struct contract *contract = *state;
    struct store *store = contract->store;
    test_create(store, RUN_A, "agent", true);
    test_clock_advance(&contract->clock, TEST_LEASE_NS);
    test_create(store, RUN_B, "agent", false);
    struct store_claim_result result = test_claim(store, RUN_A, "owner-b");
    assert_int_equal(result.outcome, STORE_HELD);
    assert_string_equal(result.holder.id, RUN_B);
}

CONTRACT_TEST(an_owner_whose_agent_was_taken_over_is_fenced_off)
{
    struct contract *contract = *state;
    struct store *store = contract->store;
    test_create(store, RUN_A, "agent", true);
    test_clock_advance(&contract->clock, TEST_LEASE_NS);
    struct store_claim_result result;
    assert_int_equal(try_create(store, RUN_B, "agent", true, &result), 0);
    assert_int_equal(result.outcome, STORE_CLAIMED);

    /* The late owner wakes up: neither a renewal nor a commit brings its lease back. */
    assert_int_equal(store->ops->renew_leases(store, "owner-a", TEST_LEASE_NS, NULL), 0);
    assert_string_equal(test_get(store, RUN_A).owner, "");
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    assert_int_equal(test_commit(store, &batch).outcome, STORE_FENCED);
}

CONTRACT_TEST(a_lease_that_was_ended_can_be_claimed_at_once)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    assert_int_equal(store->ops->expire_lease(store, RUN_A, 1, NULL), 0);
    struct store_run run = test_get(store, RUN_A);
    assert_string_equal(run.owner, "");
    assert_int_equal(run.lease_until_ns, 0);
    struct store_claim_result result = test_claim(store, RUN_A, "owner-b");
    assert_int_equal(result.outcome, STORE_CLAIMED);
    assert_int_equal(result.epoch, 2);
}

CONTRACT_TEST(ending_a_lease_of_an_old_epoch_does_nothing)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    assert_int_equal(store->ops->expire_lease(store, RUN_A, 1, NULL), 0);
    test_claim(store, RUN_A, "owner-b");
    assert_int_equal(store->ops->expire_lease(store, RUN_A, 1, NULL), 0);
    assert_string_equal(test_get(store, RUN_A).owner, "owner-b");
    assert_int_equal(store->ops->expire_lease(store, RUN_B, 1, NULL), 0);
}

CONTRACT_TEST(an_owner_cannot_hold_on_to_a_lease_that_was_ended)
{
    struct store *store = ((struct contract *)*state)->store;
    test_create(store, RUN_A, "agent", false);
    assert_int_equal(store->ops->expire_lease(store, RUN_A, 1, NULL), 0);
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    assert_int_equal(test_commit(store, &batch).outcome, STORE_FENCED);
    assert_int_equal(test_get(store, RUN_A).last_seq, 0);
}

CONTRACT_TEST(renewing_extends_all_leases_of_the_owner_and_no_others)
{
    struct contract *contract = *state;
    struct store *store = contract->store;
    test_create(store, RUN_A, "agent", false);
    struct store_claim_result result;
    assert_int_equal(try_create(store, RUN_B, "agent", false, &result), 0);
    struct test_id third = test_id(3);
    test_create(store, third.text, "agent", false);
    test_clock_advance(&contract->clock, 5);
    assert_int_equal(store->ops->renew_leases(store, "owner-a", 100, NULL), 0);
    assert_int_equal(test_get(store, RUN_A).lease_until_ns, TEST_EPOCH_NS + 105);
    assert_int_equal(test_get(store, RUN_A).alive_ns, TEST_EPOCH_NS + 5);
    assert_int_equal(test_get(store, third.text).lease_until_ns, TEST_EPOCH_NS + 105);
    assert_int_equal(test_get(store, RUN_B).lease_until_ns, TEST_EPOCH_NS + TEST_LEASE_NS);
    assert_int_equal(test_get(store, RUN_B).alive_ns, TEST_EPOCH_NS);
}

CONTRACT_TEST(leases_that_were_taken_over_stay_lost)
{
    struct contract *contract = *state;
    test_create(contract->store, RUN_A, "agent", false);
    test_clock_advance(&contract->clock, TEST_LEASE_NS);
    test_claim(contract->store, RUN_A, "owner-b");
    struct store *store = contract->store;
    assert_int_equal(store->ops->renew_leases(store, "owner-a", 7 * TEST_LEASE_NS, NULL), 0);
    assert_string_equal(test_get(store, RUN_A).owner, "owner-b");
    assert_int_equal(test_get(store, RUN_A).lease_until_ns, TEST_EPOCH_NS + 2 * TEST_LEASE_NS);
}

/** Claim the run from a boot. @return whether it was claimed */
static bool claim_from(struct store *store, const char *run_id, const char *owner, const char *boot)
{
    struct store_claim claim = {.owner = owner, .lease_ns = TEST_LEASE_NS, .boot = boot};
    struct store_claim_result result;
    assert_int_equal(store->ops->claim_run(store, run_id, &claim, &result, NULL), 0);
    return result.outcome == STORE_CLAIMED;
}

static void hold_from_a_boot(struct contract *contract)
{
    test_create(contract->store, RUN_A, "agent", false);
    assert_int_equal(contract->store->ops->expire_lease(contract->store, RUN_A, 1, NULL), 0);
    assert_true(claim_from(contract->store, RUN_A, "owner-a", "boot"));
}

CONTRACT_TEST(a_clock_that_is_set_forward_ends_no_lease_of_the_same_boot)
{
    struct contract *contract = *state;
    hold_from_a_boot(contract);
    test_clock_set(&contract->clock, 24 * 3600 * NS_PER_S);
    assert_false(claim_from(contract->store, RUN_A, "owner-b", "boot"));
    assert_int_equal(
        contract->store->ops->renew_leases(contract->store, "owner-a", TEST_LEASE_NS, NULL), 0);
    test_clock_advance(&contract->clock, TEST_LEASE_NS - 1);
    assert_false(claim_from(contract->store, RUN_A, "owner-b", "boot"));
    test_clock_advance(&contract->clock, 1);
    assert_true(claim_from(contract->store, RUN_A, "owner-b", "boot"));
}

CONTRACT_TEST(a_clock_that_is_set_back_prolongs_no_lease_of_the_same_boot)
{
    struct contract *contract = *state;
    hold_from_a_boot(contract);
    test_clock_set(&contract->clock, -24 * 3600 * NS_PER_S);
    assert_false(claim_from(contract->store, RUN_A, "owner-b", "boot"));
    test_clock_advance(&contract->clock, TEST_LEASE_NS);
    assert_true(claim_from(contract->store, RUN_A, "owner-b", "boot"));
}

CONTRACT_TEST(a_commit_renews_the_lease_by_both_clocks)
{
    struct contract *contract = *state;
    hold_from_a_boot(contract);
    test_clock_set(&contract->clock, 24 * 3600 * NS_PER_S);
    test_clock_advance(&contract->clock, TEST_LEASE_NS - 1);
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 2, 1, &event, 1);
    batch.lease_ns = TEST_LEASE_NS;
    assert_int_equal(test_commit(contract->store, &batch).outcome, STORE_COMMITTED);
    test_clock_advance(&contract->clock, TEST_LEASE_NS - 1);
    assert_false(claim_from(contract->store, RUN_A, "owner-b", "boot"));
    test_clock_advance(&contract->clock, 1);
    assert_true(claim_from(contract->store, RUN_A, "owner-b", "boot"));
}

CONTRACT_TEST(a_lease_of_another_boot_ends_by_the_wall_clock)
{
    struct contract *contract = *state;
    hold_from_a_boot(contract);
    assert_false(claim_from(contract->store, RUN_A, "owner-b", "other boot"));
    assert_false(claim_from(contract->store, RUN_A, "owner-b", NULL));
    test_clock_set(&contract->clock, TEST_LEASE_NS);
    assert_true(claim_from(contract->store, RUN_A, "owner-b", "other boot"));
}

CONTRACT_TEST(exclusiveness_goes_by_the_same_clock)
{
    struct contract *contract = *state;
    struct store *store = contract->store;
    struct store_claim claim = {.owner = "owner-a", .lease_ns = TEST_LEASE_NS, .boot = "boot"};
    struct store_run run = {.id = RUN_A, .agent_id = "agent", .is_exclusive = true};
    struct store_run second = {.id = RUN_B, .agent_id = "agent", .is_exclusive = true};
    struct store_claim_result result;
    assert_int_equal(store->ops->create_run(store, &run, NULL, 0, &claim, &result, NULL), 0);
    test_clock_set(&contract->clock, 24 * 3600 * NS_PER_S);
    claim.owner = "owner-b";
    assert_int_equal(store->ops->create_run(store, &second, NULL, 0, &claim, &result, NULL), 0);
    assert_int_equal(result.outcome, STORE_HELD);
    assert_string_equal(result.holder.id, RUN_A);
    test_clock_set(&contract->clock, -48 * 3600 * NS_PER_S);
    test_clock_advance(&contract->clock, TEST_LEASE_NS);
    assert_int_equal(store->ops->create_run(store, &second, NULL, 0, &claim, &result, NULL), 0);
    assert_int_equal(result.outcome, STORE_CLAIMED);
}
