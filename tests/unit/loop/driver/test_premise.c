// SPDX-License-Identifier: Apache-2.0
/*
 * Iterations that begin without a look at letters and policies before. The database is a store in
 * memory, a machine is a state folder.
 */
#include "../fixture.h"

#include "base/auto.h"
#include "os/file_folder.h"
#include "policy/change.h"
#include "store/locate/database.h"
#include "support/scratch.h"

#define ADDRESS "postgresql://me@db.example/rondo"

/** What the loop's process asks of the store, and what another one does in between. */
struct premise_world {
    struct loop_fixture *fixture;
    char top[64];
    char *paths[2]; /* of the policies, on each machine */
    struct store *store;
    struct runtime *runtime;
    unsigned reads;
    unsigned commits;
    void (*before_commit)(struct premise_world *shared); /* of the next one only */
    char run_id[ID_SIZE];
};

static enum store_fault count(void *context, const char *operation, uint64_t call, int *ret_code)
{
    struct premise_world *shared = context;
    (void)call;
    (void)ret_code;
    if (strcmp(operation, "commit") != 0) {
        shared->reads++;
        return STORE_FAULT_NONE;
    }
    shared->commits++;
    if (shared->before_commit != NULL) {
        void (*act)(struct premise_world *) = shared->before_commit;
        shared->before_commit = NULL;
        act(shared);
    }
    return STORE_FAULT_NONE;
}

static void enter_machine(const struct premise_world *shared, unsigned number)
{
    char folder[96];
    snprintf(folder, sizeof(folder), "%s/%u", shared->top, number);
    setenv("XDG_STATE_HOME", folder, 1);
}

static int premise_up(void **state)
{
    struct premise_world *shared = memory_new_zero(1, sizeof(*shared));
    void *fixture = NULL;
    fixture_up(&fixture);
    shared->fixture = fixture;
    assert_true(scratch_new(shared->top, sizeof(shared->top)));
    for (unsigned i = 2; i-- > 0;) {
        auto_free char *place = NULL;
        enter_machine(shared, i);
        assert_int_equal(store_database_place(ADDRESS, &place, NULL), 0);
        shared->paths[i] = watch_path_of_store(place);
    }
    const struct store_fault_plan plan = {.decide = count, .context = shared};
    shared->store = store_fault_new(shared->fixture->memory, &plan);
    const struct runtime_options options = {
        .store = shared->store,
        .clock = &shared->fixture->clock,
        .random = &shared->fixture->random,
        .lease_ns = 10 * NS_PER_S,
        .policy = shared->paths[0],
        .is_policy_optional = true,
        .has_no_keeper = true,
    };
    assert_int_equal(runtime_new(&options, &shared->runtime, NULL), 0);
    *state = shared;
    return 0;
}

static int premise_down(void **state)
{
    struct premise_world *shared = *state;
    void *fixture = shared->fixture;
    runtime_free(shared->runtime);
    store_close(shared->store);
    fixture_down(&fixture);
    file_remove_tree(shared->top, NULL);
    free(shared->paths[0]);
    free(shared->paths[1]);
    free(shared);
    return 0;
}

#define SHARED_TEST(function) TEST_WITH(function, premise_up, premise_down)

static struct loop *begin(struct premise_world *shared, struct loop_spec spec)
{
    struct runtime *other = shared->fixture->runtime;
    shared->fixture->runtime = shared->runtime;
    struct loop *loop = fixture_start(shared->fixture, spec);
    shared->fixture->runtime = other;
    snprintf(shared->run_id, sizeof(shared->run_id), "%s", loop_run_id(loop));
    return loop;
}

static unsigned events(const struct premise_world *shared, const char *type, const char *text)
{
    return fixture_events(shared->fixture, shared->run_id, type, text);
}

/** Set an iteration limit by policies, on the other machine. */
static void set_limit(struct premise_world *shared, unsigned limit)
{
    char text[256];
    struct policy_findings findings = {0};
    struct policy_changed changed = {0};
    struct ruleset *next = NULL;
    snprintf(text, sizeof(text),
             "permit (principal, action, resource);\n"
             "forbid (principal, action == Action::\"iterate\", resource)"
             " unless { context.iteration < %u };\n",
             limit);
    const struct policy_change change = {
        .path = shared->paths[1], .text = text, .len = strlen(text), .by = "alice"};
    enter_machine(shared, 1);
    assert_int_equal(policy_change_check(&change, &findings, &next, NULL), 0);
    assert_int_equal(policy_change_apply(shared->fixture->memory, &change, next, &changed, NULL),
                     0);
    enter_machine(shared, 0);
    policy_changed_fini(&changed);
    policy_findings_fini(&findings);
    ruleset_unref(next);
}

static void forbid_more(struct premise_world *shared)
{
    set_limit(shared, 2);
}

static void allow_ten(struct premise_world *shared)
{
    set_limit(shared, 10);
}

static void post(struct premise_world *shared, const char *kind)
{
    struct store *store = shared->fixture->memory;
    assert_int_equal(store->ops->post(store, shared->run_id, kind, "{\"by\":\"ann\"}", NULL), 0);
}

static void post_pause(struct premise_world *shared)
{
    post(shared, "pause");
}

static void post_stop(struct premise_world *shared)
{
    post(shared, "stop");
}

SHARED_TEST(an_iteration_is_one_commit_and_reads_nothing)
{
    struct premise_world *shared = *state;
    set_limit(shared, 9);
    struct loop *loop = begin(shared, fixture_spec(0));
    fixture_iterate(loop, 2);
    shared->reads = 0;
    shared->commits = 0;
    fixture_iterate(loop, 5);
    assert_int_equal(shared->reads, 0);
    assert_int_equal(shared->commits, 5);
    loop_free(loop);
}

SHARED_TEST(so_it_is_where_no_policies_are_set)
{
    struct premise_world *shared = *state;
    struct loop *loop = begin(shared, fixture_spec(0));
    fixture_iterate(loop, 2);
    shared->reads = 0;
    fixture_iterate(loop, 5);
    assert_int_equal(shared->reads, 0);
    loop_free(loop);
}

SHARED_TEST(a_letter_that_came_during_the_body_counts_for_the_next_iteration)
{
    struct premise_world *shared = *state;
    struct loop *loop = begin(shared, fixture_spec(0));
    fixture_iterate(loop, 2);
    post_pause(shared);
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    assert_int_equal(events(shared, "iteration.finished", NULL), 2);
    assert_int_equal(events(shared, "iteration.started", NULL), 2);
    assert_int_equal(events(shared, "run.paused", "\"by\":\"ann\""), 1);
    loop_free(loop);
}

SHARED_TEST(a_letter_that_comes_after_the_gate_counts_too)
{
    struct premise_world *shared = *state;
    struct loop *loop = begin(shared, fixture_spec(0));
    fixture_iterate(loop, 1);
    shared->before_commit = post_stop;
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_CANCELLED);
    assert_int_equal(events(shared, "iteration.finished", NULL), 1);
    assert_int_equal(events(shared, "iteration.started", NULL), 1);
    loop_free(loop);
}

SHARED_TEST(policies_that_another_machine_set_during_the_body_decide_at_the_next_gate)
{
    struct premise_world *shared = *state;
    struct loop *loop = begin(shared, fixture_spec(0));
    fixture_iterate(loop, 2);
    forbid_more(shared);
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_MAX_ITERATIONS);
    assert_int_equal(events(shared, "iteration.started", NULL), 2);
    assert_int_equal(events(shared, "policy.changed", "\"by\":\"alice\""), 1);
    loop_free(loop);
}

SHARED_TEST(policies_that_are_set_after_the_gate_decide_before_the_body)
{
    struct premise_world *shared = *state;
    struct loop *loop = begin(shared, fixture_spec(0));
    fixture_iterate(loop, 2);
    shared->before_commit = forbid_more;
    assert_int_equal(loop_next(loop, NULL), LOOP_ENDED);
    assert_int_equal(loop_state(loop)->status, RONDO_MAX_ITERATIONS);
    assert_int_equal(events(shared, "iteration.started", NULL), 2);
    loop_free(loop);
}

SHARED_TEST(an_iteration_that_other_policies_allow_as_well_begins_once)
{
    struct premise_world *shared = *state;
    struct loop *loop = begin(shared, fixture_spec(0));
    fixture_iterate(loop, 2);
    shared->before_commit = allow_ten;
    fixture_iterate(loop, 1);
    assert_int_equal(events(shared, "iteration.started", NULL), 3);
    assert_int_equal(events(shared, "iteration.started", "\"attempt\":2"), 0);
    assert_int_equal(events(shared, "policy.changed", "\"by\":\"alice\""), 1);
    shared->reads = 0;
    fixture_iterate(loop, 5);
    assert_int_equal(shared->reads, 0);
    loop_free(loop);
}

SHARED_TEST(what_old_policies_deny_new_ones_are_asked_about)
{
    struct premise_world *shared = *state;
    forbid_more(shared);
    struct loop *loop = begin(shared, fixture_spec(0));
    fixture_iterate(loop, 2);
    allow_ten(shared);
    fixture_iterate(loop, 1);
    assert_int_equal(events(shared, "gate.denied", NULL), 0);
    loop_free(loop);
}

SHARED_TEST(the_state_of_an_iteration_is_kept_when_the_next_one_is_taken_back)
{
    struct premise_world *shared = *state;
    struct loop_spec spec = fixture_spec(0);
    spec.checkpoint_interval = 100;
    struct loop *loop = begin(shared, spec);
    fixture_iterate(loop, 1);
    assert_int_equal(loop_set_agent_state(loop, "mine", 4, NULL), 0);
    shared->before_commit = post_pause;
    assert_int_equal(loop_next(loop, NULL), LOOP_PAUSED);
    loop_free(loop);
    runtime_tick(shared->runtime); /* The lease of a loop that was dropped. */
    struct loop *again = NULL;
    struct loop_opening opening;
    assert_int_equal(
        fixture_resume(shared->fixture, shared->run_id, ON_CORRUPT_FAIL, &again, &opening), 0);
    assert_int_equal(loop_agent_state(again)->len, 4);
    assert_memory_equal(loop_agent_state(again)->data, "mine", 4);
    loop_free(again);
}
