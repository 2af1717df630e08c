// SPDX-License-Identifier: Apache-2.0
/*
 * An owner is frozen for longer than its lease, another process takes its run over, and the first
 * one wakes up: its body is ended, it is refused, and it commits nothing more.
 */
#include "check.h"

#include "base/clock.h"
#include "rondo/error.h"
#include "support/test.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/** The shortest lease that the runtime accepts. */
#define LEASE_MS "500"

static struct child *start_owner(struct crash_scene *scene, const char *run_id, const char *how,
                                 const char *body_us)
{
    const char *const argv[] = {
        victim_path(),
        "--store",
        scene->store,
        "--effects",
        scene->effects,
        "--iterations",
        "1000000",
        "--body-us",
        body_us,
        "--busy-ms",
        "1000",
        "--lease-ms",
        LEASE_MS,
        "--patience-ms",
        "30000",
        how,
        run_id == NULL ? NULL : "--resume",
        run_id,
        NULL,
    };
    return child_start(scene, argv);
}

static void check_refused(struct child *owner)
{
    const char *line = child_expect(owner, "x ");
    int code = 0;
    if (line == NULL || sscanf(line, "x %*s %d", &code) != 1 || code != RONDO_ERR_FENCED) {
        fail_msg("the old owner should be refused with %d, but says: %s", RONDO_ERR_FENCED,
                 line == NULL ? "nothing" : line);
    }
    int status = child_wait(owner);
    assert_true(WIFEXITED(status));
}

/** Seq of the iteration that the next line "a ..." after a line end has begun; 0 = none. */
static uint64_t begun_seq(const struct buf *said, size_t *at)
{
    const char *text = buf_string(said);
    const char *line = strstr(text + *at, "\na ");
    uint64_t seq = 0;
    if (line != NULL && sscanf(line, " a %*s %*u %*u %" SCNu64, &seq) == 1) {
        *at = (size_t)(line - text) + 1;
    }
    return seq;
}

/**
 * The instant between a look at the lease and the body cannot be closed: the iteration that the old
 * owner had begun before the take-over, and no other, may appear afterwards.
 */
static void check_begun_no_more(const struct child *owner, size_t from, const struct child *heir)
{
    size_t heir_at = 0, at = from - 1;
    uint64_t after_take_over = begun_seq(&heir->out, &heir_at);
    uint64_t seq = begun_seq(&owner->out, &at);
    if (seq != 0 && (seq >= after_take_over || begun_seq(&owner->out, &at) != 0)) {
        fail_msg("the old owner went on after the take-over:\n%s", buf_string(&owner->out));
    }
}

/** A frozen process keeps its locks. @return whether the store was locked, so nothing can be seen
 */
static bool is_locked_out(struct child *heir)
{
    const char *line;
    while ((line = child_line(heir)) != NULL && line[0] != 'w') {
        int code = 0;
        if (sscanf(line, "x %*s %d", &code) == 1 || sscanf(line, "f %d", &code) == 1) {
            if (code != RONDO_ERR_BUSY || strstr(line, "locked") == NULL) {
                fail_msg("the heir says: %s", line);
            }
            return true;
        }
    }
    assert_non_null(line);
    return false;
}

/** From the take-over on. */
static void wake_and_check(struct crash_scene *scene, struct child *owner, struct child *heir)
{
    struct ledger ledger = {0};
    assert_non_null(child_expect(heir, "a "));
    child_listen(owner, 20 * NS_PER_MS); /* What it had said before is in the pipe still. */
    size_t said = owner->out.len;
    kill(-owner->pid, SIGCONT);
    check_refused(owner);
    check_begun_no_more(owner, said, heir);
    child_tell(heir, "p");
    assert_int_equal(child_wait(heir), 0);
    ledger_read(&ledger, &owner->out);
    ledger_read(&ledger, &heir->out);
    struct check_findings findings = check_store(scene, &ledger);
    assert_int_equal(findings.claims, 2);
    ledger_clear(&ledger);
}

/**
 * @param how     "--hold": frozen inside a body that lasts; "--best-effort": anywhere in its turn
 * @param body_us how long a body takes otherwise
 * @return false when it froze inside a transaction, and therefore nobody can write
 */
static bool freeze_and_take_over(struct crash_scene *scene, const char *how, const char *body_us)
{
    scene_clear(scene);
    struct child *owner = start_owner(scene, NULL, how, body_us);
    const char *line = child_expect(owner, "a ");
    char run_id[ID_SIZE] = "";
    assert_non_null(line);
    assert_int_equal(sscanf(line, "a %36s", run_id), 1);
    child_listen(owner, (int64_t)random_below(&scene->random, 5 * NS_PER_MS));
    kill(-owner->pid, SIGSTOP);

    /* It asks until the lease has ended: the frozen owner lives, so nothing shortens the wait. */
    struct child *heir = start_owner(scene, run_id, "--keep", "0");
    bool is_locked = is_locked_out(heir);
    if (!is_locked) {
        wake_and_check(scene, owner, heir);
    }
    child_end(owner);
    child_end(heir);
    return !is_locked;
}

static void run_rounds(struct crash_scene *scene, const char *how, const char *body_us,
                       int64_t rounds)
{
    int64_t taken = 0, locked = 0;
    /* On a busy machine most of an owner's time is inside a transaction. */
    while (taken < rounds && locked <= 20 * rounds) {
        if (freeze_and_take_over(scene, how, body_us)) {
            taken++;
        } else {
            locked++;
        }
    }
    print_message("%" PRId64 " take-overs; %" PRId64 " times frozen inside a transaction\n", taken,
                  locked);
    assert_int_equal(taken, rounds);
}

TEST_WITH(an_owner_frozen_inside_a_body_is_refused_when_it_wakes, scene_setup, scene_teardown)
{
    run_rounds(*state, "--hold", "0", scene_is_long() ? 100 : 6);
}

TEST_WITH(an_owner_frozen_anywhere_is_refused_when_it_wakes, scene_setup, scene_teardown)
{
    run_rounds(*state, "--best-effort", scene_is_long() ? "300" : "5000",
               scene_is_long() ? 100 : 6);
}
