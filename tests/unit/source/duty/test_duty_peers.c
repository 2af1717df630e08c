// SPDX-License-Identifier: Apache-2.0
/* Daemons of other machines that die: what they accepted is adopted when their documents fall
 * silent. */
#include "source/duty/duty_internal.h"

#include "../intake_world.h"
#include "loop/runtime.h"

/** A daemon on another machine, as the kernel of this one knows nothing of it. */
#define FAR "pid=1 started=1 space=1 boot=far id=0 host=far"

struct peers_world {
    struct intake_world *far;
    struct runtime *runtime;
    struct duty duty; /* of this machine */
    char log[300];
    struct store_ops local; /* of the store where it is one of this machine */
    const struct store_ops *shared;
};

static void keep_log(void *context, const char *line)
{
    struct peers_world *world = context;
    snprintf(world->log, sizeof(world->log), "%s", line);
}

static int peers_up(void **state)
{
    struct peers_world *world = memory_new_zero(1, sizeof(*world));
    void *far = NULL;
    assert_int_equal(make_world(&far), 0);
    world->far = far;
    snprintf(world->far->owner, sizeof(world->far->owner), FAR);
    world_open(world->far);
    const struct runtime_options runtime = {.store = world->far->memory, .has_no_keeper = true};
    assert_int_equal(runtime_new(&runtime, &world->runtime, NULL), 0);
    world->duty = (struct duty){
        .options = {.runtime = world->runtime, .log = keep_log, .log_context = world},
        .store = world->far->memory,
        .clock = &world->far->clock,
    };
    pthread_mutex_init(&world->duty.peers_lock, NULL);
    const struct intake_options intake = {
        .store = world->far->memory,
        .clock = &world->far->clock,
        .owner = runtime_owner(world->runtime),
        .is_dead = duty_owner_is_dead,
        .context = &world->duty,
    };
    assert_int_equal(intake_open(&intake, &world->duty.intake, NULL), 0);
    intake_set_role(world->duty.intake, "fixer", &world_queue);
    assert_int_equal(duty_join_peers(&world->duty, NULL), 0);
    *state = world;
    return 0;
}

static int peers_down(void **state)
{
    struct peers_world *world = *state;
    void *far = world->far;
    if (world->shared != NULL) {
        world->far->memory->ops = world->shared;
    }
    intake_close(world->duty.intake);
    duty_leave_peers(&world->duty);
    pthread_mutex_destroy(&world->duty.peers_lock);
    runtime_free(world->runtime);
    free(world);
    return end_world(&far);
}

#define PEERS_TEST(name) TEST_WITH(name, peers_up, peers_down)

/** The daemon of the other machine writes its document. */
static void live(struct peers_world *world)
{
    bool is_applied = false;
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = DAEMON_COLLECTION,
                                        .key = FAR,
                                        .data = "{}",
                                        .data_len = 2,
                                        .if_version = STORE_ANY_VERSION};
    struct store *store = world->far->memory;
    assert_int_equal(store->ops->change_documents(store, &change, 1, &is_applied, NULL), 0);
}

/** Time passes, and this daemon looks. @return the prompt that it starts; "" = none */
static const char *look(struct peers_world *world, int64_t seconds)
{
    static char prompt[64];
    struct start_request request = {0};
    world->far->now_ns += seconds * NS_PER_S;
    duty_look_at_peers(&world->duty);
    int r = intake_next(world->duty.intake, &request, NULL);
    snprintf(prompt, sizeof(prompt), "%s", r == 1 ? request.prompt : "");
    start_request_fini(&request);
    return prompt;
}

PEERS_TEST(requests_of_a_machine_that_died_are_adopted_when_its_daemon_is_silent)
{
    struct peers_world *world = *state;
    struct start_request request = {0};
    world_submit(world->far, "fixer", "one", NULL);
    for (int i = 0; i < 20; i++) {
        live(world);
        assert_string_equal(look(world, 5), "");
    }
    assert_string_equal(look(world, 19), ""); /* since the last sign of life was seen */
    assert_int_equal(world_count(world->far, DAEMON_COLLECTION), 2);
    assert_string_equal(look(world, 1), "one");
    assert_int_equal(world_count(world->far, DAEMON_COLLECTION), 1);
    /* It was frozen only: it starts nothing that another daemon has. */
    assert_string_equal(world_next(world->far, &request), "");
}

PEERS_TEST(requests_of_a_daemon_that_ended_before_this_one_began_are_adopted)
{
    struct peers_world *world = *state;
    world_submit(world->far, "fixer", "one", NULL);
    assert_int_equal(intake_adopt(world->duty.intake, NULL), 0); /* As at the start. */
    assert_string_equal(look(world, 19), "");
    assert_string_equal(look(world, 1), "one");
}

PEERS_TEST(an_adoption_that_fails_is_tried_with_the_next_look)
{
    struct peers_world *world = *state;
    live(world);
    world_submit(world->far, "fixer", "one", NULL);
    assert_string_equal(look(world, 0), "");
    struct intake *good = world->duty.intake;
    const struct intake_options options = {
        .store = world->far->store, /* that can fail */
        .clock = &world->far->clock,
        .owner = runtime_owner(world->runtime),
        .is_dead = duty_owner_is_dead,
        .context = &world->duty,
    };
    assert_int_equal(intake_open(&options, &world->duty.intake, NULL), 0);
    intake_close(good);
    intake_set_role(world->duty.intake, "fixer", &world_queue);
    world->far->dies_at = world->far->calls + 1;
    assert_string_equal(look(world, 20), "");
    assert_string_not_equal(world->log, "");
    world->far->dies_at = 0;
    assert_string_equal(look(world, 5), "one");
}

/* ---- On a store of one machine ----------------------------------------------------------------
 */

/** The other daemon was on this machine: before it was booted again, or in another container. */
static void be_local(struct peers_world *world)
{
    struct store *store = world->far->memory;
    world->shared = store->ops;
    world->local = *store->ops;
    world->local.is_local = true;
    store->ops = &world->local;
}

PEERS_TEST(requests_of_a_daemon_before_a_reboot_are_adopted)
{
    struct peers_world *world = *state;
    be_local(world);
    live(world);
    world_submit(world->far, "fixer", "one", NULL);
    assert_string_equal(look(world, 0), "");
    assert_string_equal(look(world, 89), "");
    assert_string_equal(look(world, 1), "one");
}

PEERS_TEST(a_daemon_in_another_container_that_lives_keeps_its_requests)
{
    struct peers_world *world = *state;
    be_local(world);
    live(world);
    world_submit(world->far, "fixer", "one", NULL);
    for (int i = 0; i < 20; i++) {
        assert_string_equal(look(world, 30), "");
        if (world_count(world->far, DAEMON_COLLECTION) == 1) { /* It is asked whether it lives. */
            live(world);
        }
    }
    world->far->now_ns += 120 * NS_PER_S;
    assert_string_equal(look(world, 0), "");
    assert_string_equal(look(world, 90), "one");
}

PEERS_TEST(a_daemon_that_is_asked_whether_it_lives_says_so)
{
    struct peers_world *world = *state;
    bool is_applied = false;
    be_local(world);
    assert_string_equal(look(world, 0), "");
    struct store *store = world->far->memory;
    const struct store_change change = {.kind = STORE_DELETE,
                                        .collection = DAEMON_COLLECTION,
                                        .key = runtime_owner(world->runtime),
                                        .if_version = STORE_ANY_VERSION};
    assert_int_equal(store->ops->change_documents(store, &change, 1, &is_applied, NULL), 0);
    assert_int_equal(world_count(world->far, DAEMON_COLLECTION), 0);
    assert_string_equal(look(world, 5), "");
    assert_int_equal(world_count(world->far, DAEMON_COLLECTION), 1);
}
