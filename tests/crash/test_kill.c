// SPDX-License-Identifier: Apache-2.0
/* kill -9 at random instants while loops run, again and again on the same stores. */
#include "check.h"

#include "base/clock.h"
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/** Kills on one store before a new one is begun. */
#define KILLS_PER_STORE 20
/** Latest instant for a kill, after the start of the process; it has to connect to a server. */
#define LATEST_KILL_NS        (100 * NS_PER_MS)
#define LATEST_SERVER_KILL_NS (600 * NS_PER_MS)

struct figures {
    uint64_t kills;
    uint64_t facts;
    uint64_t finished;
    uint64_t interrupted;
    uint64_t effects;
    uint64_t idle; /* kills before anything new was acknowledged */
};

/** What the loops of one test do. */
struct way {
    const char *interval;
    const char *verify_us;
};

static struct child *start_victim(struct crash_scene *scene, const struct way *way,
                                  const char *runs)
{
    static const char *const sizes[] = {"0", "0", "3000", "40000"};
    const char *const argv[] = {
        victim_path(),
        "--store",
        scene->store,
        "--effects",
        scene->effects,
        "--runs",
        runs,
        "--threads",
        "3",
        "--iterations",
        "12",
        "--demand",
        "3",
        "--body-us",
        "200",
        "--interval",
        way->interval,
        "--verify-us",
        way->verify_us,
        "--state-bytes",
        sizes[random_below(&scene->random, 4)],
        NULL,
    };
    return child_start(scene, argv);
}

static void kill_once(struct crash_scene *scene, const struct way *way, struct ledger *ledger,
                      struct figures *figures)
{
    struct child *child = start_victim(scene, way, "100000");
    int64_t latest_ns = scene->server == NULL ? LATEST_KILL_NS : LATEST_SERVER_KILL_NS;
    child_listen(child, (int64_t)random_below(&scene->random, (uint64_t)latest_ns));
    child_kill(child);
    if (!WIFSIGNALED(child->status)) {
        fail_msg("the victim ended by itself:\n%s", buf_string(&child->out));
    }
    size_t before = ledger->count;
    ledger_read(ledger, &child->out);
    if (strstr(buf_string(&child->out), "\nh ") != NULL) {
        fail_msg("a dead holder was not taken over:\n%s", buf_string(&child->out));
    }
    figures->kills++;
    figures->facts += ledger->count - before;
    figures->idle += ledger->count == before;
    child_end(child);
    check_store(scene, ledger);
}

/** After the last kill everything is finished in peace. */
static void finish_store(struct crash_scene *scene, const struct way *way, struct ledger *ledger,
                         struct figures *figures)
{
    struct child *child = start_victim(scene, way, "1");
    int status = child_wait(child);
    if (status != 0) {
        fail_msg("resuming ended with status %x:\n%s", (unsigned)status, buf_string(&child->out));
    }
    ledger_read(ledger, &child->out);
    child_end(child);
    struct check_findings findings = check_store(scene, ledger);
    assert_int_equal(findings.unfinished_runs, 0);
    figures->finished += findings.finished;
    figures->interrupted += findings.interrupted;
    figures->effects += findings.effects;
    assert_true(findings.effects <= findings.finished + findings.interrupted);
}

static void kill_often(struct crash_scene *scene, const struct way *way)
{
    int64_t count = scene_number("RONDO_CRASH_COUNT", 20);
    struct figures figures = {0};
    struct ledger ledger = {0};
    for (int64_t i = 1; i <= count; i++) {
        kill_once(scene, way, &ledger, &figures);
        if (i % KILLS_PER_STORE == 0 || i == count) {
            finish_store(scene, way, &ledger, &figures);
            scene_clear(scene);
            ledger_clear(&ledger);
        }
    }
    print_message("%" PRIu64 " kills (%" PRIu64 " before the first acknowledgement), %" PRIu64
                  " acknowledged facts, 0 lost; %" PRIu64 " iterations finished once each, %" PRIu64
                  " interrupted, %" PRIu64 " effects\n",
                  figures.kills, figures.idle, figures.facts, figures.finished, figures.interrupted,
                  figures.effects);
}

TEST_WITH(loops_survive_kills_at_random_instants, scene_setup, scene_teardown)
{
    kill_often(*state, &(struct way){.interval = "1", .verify_us = "0"});
}

/** The victim says so when a body does not find the state that the iteration before it left. */
TEST_WITH(a_kill_while_an_iteration_is_verified_keeps_its_state, scene_setup, scene_teardown)
{
    kill_often(*state, &(struct way){.interval = "1", .verify_us = "2000"});
}

TEST_WITH(a_kill_between_two_checkpoints_keeps_the_state, scene_setup, scene_teardown)
{
    kill_often(*state, &(struct way){.interval = "4", .verify_us = "500"});
}
