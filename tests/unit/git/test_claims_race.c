// SPDX-License-Identifier: Apache-2.0
/*
 * Machines that want one claim at the same time, each with a repository of its own, some of them
 * killed in the middle of the push: after each round one of them at most has the claim, and each
 * knows whether it is that one. The number of rounds may be the argument.
 */
#include "git_scene.h"

#include "base/clock.h"
#include "base/random.h"
#include "git/claims/claims.h"

#include <pthread.h>
#include <stdlib.h>

#define MACHINES 8

static long rounds_wanted = 5;
static struct random chance;

struct racing_machine {
    struct git_repository *repository;
    pthread_t thread;
    pthread_barrier_t *barrier;
    int number;
    /* Of a round: */
    const char *old_id;
    int64_t total_ns; /* a short one kills git in the middle */
    char text[80];
    char branch[40];
    struct git_claim_result result;
    bool has_heard; /* the end was known at once */
    const char *fault;
};

static struct racing_machine machines[MACHINES];
static char commit[GIT_ID_SIZE];

static int set_up(void **state)
{
    scene_set_up(state);
    shell("git init -q --bare far && git -C repo remote add origin %s/far && "
          "for i in $(seq 0 %d); do cp -r repo m$i; done",
          scene_folder, MACHINES - 1);
    for (int i = 0; i < MACHINES; i++) {
        char name[20];
        snprintf(name, sizeof(name), "m%d", i);
        machines[i] = (struct racing_machine){.number = i};
        assert_ok(git_repository_open(scene_path(name), NULL, &machines[i].repository, &scene_err));
    }
    snprintf(commit, sizeof(commit), "%s", scene_head());
    return 0;
}

static int tear_down(void **state)
{
    for (int i = 0; i < MACHINES; i++) {
        git_repository_free(machines[i].repository);
    }
    return scene_tear_down(state);
}

static enum git_claim_end change(struct racing_machine *machine, int64_t total_ns)
{
    struct git git = {.repository = machine->repository};
    struct rondo_error err = {0};
    const struct git_access access = {.remote = "origin", .total_ns = total_ns};
    const struct git_claim_change request = {.name = "7",
                                             .old_id = machine->old_id,
                                             .text = machine->text,
                                             .branch = machine->branch,
                                             .commit = commit};
    git_claim_result_fini(&machine->result);
    if (git_claim_change(&git, &access, &request, &machine->result, &err) != 0) {
        print_error("machine %d: %s\n", machine->number, err.message);
        machine->fault = "a change failed";
        return GIT_CLAIM_REFUSED;
    }
    return machine->result.end;
}

/** Whether the claim of the remote is this machine's. */
static bool is_mine(struct racing_machine *machine)
{
    struct git git = {.repository = machine->repository};
    const struct git_access access = {.remote = "origin"};
    struct git_claims claims = {0};
    enum git_claim_end end = GIT_CLAIM_NETWORK;
    bool is = false;
    if (git_claims_read(&git, &access, "7", &claims, &end, NULL) != 0 || end != GIT_CLAIM_DONE) {
        machine->fault = "claims cannot be read";
        return false;
    }
    if (claims.count == 1 && claims.items[0].text != NULL) {
        is = strcmp(claims.items[0].text, machine->text) == 0;
    }
    git_claims_fini(&claims);
    return is;
}

static void *run_machine(void *context)
{
    struct racing_machine *machine = context;
    pthread_barrier_wait(machine->barrier);
    enum git_claim_end end = change(machine, machine->total_ns);
    machine->has_heard = end != GIT_CLAIM_NETWORK;
    if (end == GIT_CLAIM_NETWORK && is_mine(machine) && change(machine, 0) != GIT_CLAIM_DONE) {
        machine->fault = "the same change by the owner had another end";
    }
    if (machine->has_heard && end != GIT_CLAIM_DONE && end != GIT_CLAIM_LOST) {
        print_error("machine %d: end %d: %s\n", machine->number, (int)end, machine->result.reason);
        machine->fault = "an end that cannot be";
    }
    return NULL;
}

static void run_round(long round, const char *old_id)
{
    pthread_barrier_t barrier;
    bool has_kills = round % 2 == 1;
    /* A remote that is a folder is worked on by our processes: one that was killed leaves these. */
    shell("find far/refs -name '*.lock' -delete");
    pthread_barrier_init(&barrier, NULL, MACHINES);
    for (int i = 0; i < MACHINES; i++) {
        struct racing_machine *machine = &machines[i];
        machine->barrier = &barrier;
        machine->old_id = old_id;
        machine->total_ns =
            has_kills ? (int64_t)(1 + random_below(&chance, 150)) * NS_PER_MS : 600 * NS_PER_S;
        snprintf(machine->text, sizeof(machine->text), "machine %d in round %ld", i, round);
        snprintf(machine->branch, sizeof(machine->branch), "work/%ld-%d", round, i);
        assert_int_equal(pthread_create(&machine->thread, NULL, run_machine, machine), 0);
    }
    for (int i = 0; i < MACHINES; i++) {
        pthread_join(machines[i].thread, NULL);
    }
    pthread_barrier_destroy(&barrier);
}

/** @return the owner, or NULL when all were killed before they had it */
static struct racing_machine *find_owner(const char *old_id)
{
    struct racing_machine *owner = NULL;
    bool have_all_heard = true;
    char now[GIT_ID_SIZE];
    snprintf(now, sizeof(now), "%s",
             shell_line("git -C far rev-parse --quiet --verify refs/rondo/claims/7 || true"));
    for (int i = 0; i < MACHINES; i++) {
        struct racing_machine *machine = &machines[i];
        bool has = machine->result.end == GIT_CLAIM_DONE;
        if (machine->fault != NULL || (has && owner != NULL)) {
            fail_msg("machine %d: %s", i,
                     machine->fault != NULL ? machine->fault : "a second owner");
        }
        have_all_heard = have_all_heard && machine->has_heard;
        owner = has ? machine : owner;
    }
    if (owner == NULL) {
        assert_false(have_all_heard);
    }
    assert_string_equal(now, owner != NULL ? owner->result.id : old_id);
    return owner;
}

/** Who has heard that the claim was lost has pushed no branch; the owner has. */
static void check_branches(const struct racing_machine *owner)
{
    for (int i = 0; i < MACHINES; i++) {
        char command[200];
        snprintf(command, sizeof(command),
                 "git -C far rev-parse --quiet --verify refs/heads/%s || echo none",
                 machines[i].branch);
        const char *is = shell_line(command);
        if (&machines[i] == owner) {
            assert_string_equal(is, commit);
        } else if (machines[i].has_heard) {
            assert_string_equal(is, "none");
        }
    }
}

static void release(struct racing_machine *owner, const char *id, enum git_claim_end expected)
{
    struct git git = {.repository = owner->repository};
    const struct git_access access = {.remote = "origin"};
    const struct git_claim_change request = {.name = "7", .old_id = id};
    struct git_claim_result result = {0};
    assert_ok(git_claim_change(&git, &access, &request, &result, &scene_err));
    assert_int_equal(result.end, expected);
    git_claim_result_fini(&result);
}

TEST_WITH(one_machine_at_most_has_a_claim_and_each_knows_whether_it_does, set_up, tear_down)
{
    char old_id[GIT_ID_SIZE] = "";
    long owned = 0;
    chance = random_seeded(1);
    for (long round = 0; round < rounds_wanted; round++) {
        run_round(round, old_id);
        struct racing_machine *owner = find_owner(old_id);
        if (owner == NULL) {
            continue;
        }
        owned++;
        check_branches(owner);
        if (*old_id != '\0') {
            release(&machines[0], old_id, GIT_CLAIM_LOST);
        }
        /* The next round takes it over, or finds none. */
        snprintf(old_id, sizeof(old_id), "%s", owner->result.id);
        if (random_below(&chance, 2) == 0) {
            release(owner, old_id, GIT_CLAIM_DONE);
            old_id[0] = '\0';
        }
    }
    for (int i = 0; i < MACHINES; i++) {
        git_claim_result_fini(&machines[i].result);
    }
    assert_true(owned >= (rounds_wanted + 1) / 2); /* nobody is killed in every other round */
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        rounds_wanted = strtol(argv[1], NULL, 10);
    }
    return test_run(NULL, NULL);
}
