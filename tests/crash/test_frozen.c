// SPDX-License-Identifier: Apache-2.0
/*
 * An owner is frozen for longer than its lease, another process takes its run over, and the first
 * one wakes up: its body is ended, it is refused, and it commits nothing more.
 */
#include "check.h"

#include "rondo/error.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

/** The shortest lease that the runtime accepts. */
#define LEASE_MS "500"

static struct child *start_owner(struct scene *scene, const char *run_id, const char *how)
{
    const char *const argv[] = {
        victim_path(),
        "--store",
        scene->store,
        "--effects",
        scene->effects,
        "--iterations",
        "1000000",
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

/** Lines "a ..." that an owner has said since `from`. */
static bool has_begun_more(const struct child *owner, size_t from)
{
    for (size_t i = from; i + 1 < owner->out.len; i++) {
        bool is_line = i == 0 || owner->out.data[i - 1] == '\n' || owner->out.data[i - 1] == '\0';
        if (is_line && owner->out.data[i] == 'a' && owner->out.data[i + 1] == ' ') {
            return true;
        }
    }
    return false;
}

/** @param how "--hold": frozen inside a body that lasts; otherwise anywhere in its turn */
static void freeze_and_take_over(struct scene *scene, const char *how)
{
    struct ledger ledger = {0};
    scene_clear(scene);
    struct child *owner = start_owner(scene, NULL, how);
    const char *line = child_expect(owner, "a ");
    char run_id[ID_SIZE] = "";
    assert_non_null(line);
    assert_int_equal(sscanf(line, "a %36s", run_id), 1);
    kill(-owner->pid, SIGSTOP);
    child_listen(owner, 0);

    /* It asks until the lease has ended: the frozen owner lives, so nothing shortens the wait. */
    struct child *heir = start_owner(scene, run_id, "--keep");
    assert_non_null(child_expect(heir, "w "));
    assert_non_null(child_expect(heir, "a "));
    size_t said = owner->out.len;
    kill(-owner->pid, SIGCONT);
    check_refused(owner);
    if (has_begun_more(owner, said)) {
        fail_msg("the old owner went on after the take-over:\n%s", buf_string(&owner->out));
    }
    child_tell(heir, "p");
    assert_int_equal(child_wait(heir), 0);
    ledger_read(&ledger, &owner->out);
    ledger_read(&ledger, &heir->out);
    struct findings findings = check_store(scene, &ledger);
    assert_int_equal(findings.claims, 2);
    ledger_clear(&ledger);
    child_end(owner);
    child_end(heir);
}

static void an_owner_frozen_inside_a_body_is_refused_when_it_wakes(void **state)
{
    int64_t rounds = scene_is_long() ? 100 : 6;
    for (int64_t i = 0; i < rounds; i++) {
        freeze_and_take_over(*state, "--hold");
    }
    print_message("%" PRId64 " rounds\n", rounds);
}

static void an_owner_frozen_between_bodies_is_refused_when_it_wakes(void **state)
{
    int64_t rounds = scene_is_long() ? 100 : 6;
    for (int64_t i = 0; i < rounds; i++) {
        freeze_and_take_over(*state, "--best-effort");
    }
    print_message("%" PRId64 " rounds\n", rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_owner_frozen_inside_a_body_is_refused_when_it_wakes,
                                        scene_setup, scene_teardown),
        cmocka_unit_test_setup_teardown(an_owner_frozen_between_bodies_is_refused_when_it_wakes,
                                        scene_setup, scene_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
