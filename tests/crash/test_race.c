// SPDX-License-Identifier: Apache-2.0
/*
 * Several processes claim the same run, or the same exclusive agent, at the same instant: exactly
 * one gets it, and the others learn its holder. Every other round has two of them; in the rest four
 * make it likelier that one meddles with a lease that another has just got.
 */
#include "check.h"

#include "rondo/error.h"
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RACERS_ROOM 4

/** How the winner of a round leaves the run to the next one. */
enum leaving { LEAVE_BY_PARKING, LEAVE_BY_DYING };

static struct child *start_racer(struct crash_scene *scene, const char *run_id)
{
    const char *const argv[] = {
        victim_path(),  "--store", scene->store, "--effects", scene->effects,
        "--iterations", "1000000", "--barrier",  "--keep",    "--exclusive",
        "--agent",      "racer",   "--runs",     "1000000",   run_id == NULL ? NULL : "--resume",
        run_id,         NULL,
    };
    return child_start(scene, argv);
}

/** Give all racers their start at one instant: a byte in each pipe. */
static void release(struct child *const *racers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_non_null(child_expect(racers[i], "r"));
    }
    for (size_t i = 0; i < count; i++) {
        child_tell(racers[i], "g");
    }
}

/** Wait for the verdict of one racer. @return whether it won; the loser's words otherwise */
static bool has_won(struct child *racer, char *ret_words, size_t size)
{
    const char *line;
    while ((line = child_line(racer)) != NULL) {
        if (line[0] == 'w' || line[0] == 's') {
            return true;
        }
        if (line[0] == 'h' || line[0] == 'x' || line[0] == 'f' || line[0] == '!') {
            snprintf(ret_words, size, "%s", line);
            return false;
        }
    }
    fail_msg("a racer said nothing:\n%s", buf_string(&racer->out));
    return false;
}

static void check_loser(const char *words, pid_t winner)
{
    char expected[64];
    snprintf(expected, sizeof(expected), "process %d on ", (int)winner);
    if (words[0] != 'h' || strstr(words, expected) == NULL) {
        fail_msg("the loser should name process %d, but says: %s", (int)winner, words);
    }
}

static void leave(struct child *winner, enum leaving leaving)
{
    if (leaving == LEAVE_BY_DYING) {
        /* After its beginning was acknowledged, so that there is something to take over. */
        assert_non_null(child_expect(winner, "a "));
        child_kill(winner);
        return;
    }
    child_tell(winner, "p");
    int status = child_wait(winner);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("the winner could not give the run up:\n%s", buf_string(&winner->out));
    }
}

static void run_round(struct crash_scene *scene, struct ledger *ledger, const char *run_id,
                      size_t count, enum leaving leaving)
{
    struct child *racers[RACERS_ROOM];
    char words[RACERS_ROOM][1024] = {0};
    size_t winner = count;
    for (size_t i = 0; i < count; i++) {
        racers[i] = start_racer(scene, run_id);
    }
    release(racers, count);
    for (size_t i = 0; i < count; i++) {
        if (!has_won(racers[i], words[i], sizeof(words[i]))) {
            continue;
        }
        if (winner < count) {
            fail_msg("racers %zu and %zu won", winner, i);
        }
        winner = i;
    }
    if (winner == count) {
        fail_msg("nobody won; the first said: %s", words[0]);
    }
    for (size_t i = 0; i < count; i++) {
        if (i != winner) {
            check_loser(words[i], racers[winner]->pid);
        }
    }
    leave(racers[winner], leaving);
    for (size_t i = 0; i < count; i++) {
        child_wait(racers[i]);
        ledger_read(ledger, &racers[i]->out);
        child_end(racers[i]);
    }
}

TEST_WITH(one_of_those_that_resume_a_run_wins, scene_setup, scene_teardown)
{
    struct crash_scene *scene = *state;
    struct ledger ledger = {0};
    int64_t rounds = scene_number("RONDO_CRASH_RACES", scene_is_long() ? 1000 : 100);
    run_round(scene, &ledger, NULL, 1, LEAVE_BY_DYING);
    struct check_findings findings = check_store(scene, &ledger);
    assert_int_equal(findings.runs, 1);
    for (int64_t i = 0; i < rounds; i++) {
        run_round(scene, &ledger, findings.last_run, i % 4 < 2 ? 2 : RACERS_ROOM,
                  i % 2 == 0 ? LEAVE_BY_PARKING : LEAVE_BY_DYING);
    }
    uint64_t claims = check_store(scene, &ledger).claims;
    assert_int_equal(claims, (uint64_t)rounds + 1);
    print_message("%" PRId64 " rounds, one winner each\n", rounds);
    ledger_clear(&ledger);
}

TEST_WITH(one_of_those_that_start_an_exclusive_agent_wins, scene_setup, scene_teardown)
{
    struct crash_scene *scene = *state;
    struct ledger ledger = {0};
    int64_t rounds = scene_number("RONDO_CRASH_STARTS", scene_is_long() ? 300 : 30);
    for (int64_t i = 0; i < rounds; i++) {
        scene_clear(scene);
        run_round(scene, &ledger, NULL, i % 4 < 2 ? 2 : RACERS_ROOM,
                  i % 2 == 0 ? LEAVE_BY_PARKING : LEAVE_BY_DYING);
        assert_int_equal(check_store(scene, &ledger).runs, 1);
        ledger_clear(&ledger);
    }
    print_message("%" PRId64 " rounds, one winner each, on a store that both create\n", rounds);
}
