// SPDX-License-Identifier: Apache-2.0
/*
 * EIO and ENOSPC at the N-th system call. A write that fails may be tried again; a sync that fails
 * never: whatever this process wrote may be gone, so it must acknowledge nothing more.
 */
#include "check.h"
#include "inject.h"

#include "rondo/error.h"
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define MOST_POINTS 60000

struct syscall_trial {
    const char *syscalls;
    const char *error;
    const char *suffix; /* "+" = from the N-th call on */
    uint64_t stride;    /* of the short version */
    bool is_sync;       /* nothing may be acknowledged after the fault */
};

static struct injected run_victim(struct crash_scene *scene, const char *syscalls,
                                  const char *fault)
{
    const char *const argv[] = {
        victim_path(), "--store", scene->store, "--effects", scene->effects, "--iterations", "4",
        "--hurry",     "50",      "--demand",   "2",         "--again",      NULL,
    };
    return inject_run(scene, syscalls, fault, argv);
}

/** The code in the victim's first complaint; 0 = it did not complain. */
static int first_complaint(const struct injected *result, char *ret_message, size_t size)
{
    const char *text = buf_string(&result->output);
    int code = 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        char found[512] = "";
        if (sscanf(line, "x %*s %d %511[^\n]", &code, found) == 2 ||
            sscanf(line, "f %d %511[^\n]", &code, found) == 2) {
            snprintf(ret_message, size, "%s", found);
            return code;
        }
        if (*line == '\0') {
            break;
        }
    }
    ret_message[0] = '\0';
    return 0;
}

static void check_complaint(struct crash_scene *scene, const struct syscall_trial *trial,
                            uint64_t n, const struct injected *result)
{
    char message[512];
    int code = first_complaint(result, message, sizeof(message));
    bool is_error_status = strstr(buf_string(&result->output), " error\n") != NULL;
    bool is_right_code = code == RONDO_ERR_IO || code == RONDO_ERR_FULL;
    if (!is_error_status && (!is_right_code || strstr(message, scene->store) == NULL)) {
        fail_msg("%s %s at %" PRIu64 "%s: the complaint is not clear: code %d, '%s'; output:\n%s",
                 trial->syscalls, trial->error, n, trial->suffix, code, message,
                 buf_string(&result->output));
    }
    if (!is_error_status && strcmp(trial->error, "ENOSPC") == 0 && code != RONDO_ERR_FULL &&
        trial->suffix[0] == '+') {
        fail_msg("no space at %" PRIu64 " is reported as code %d, '%s'", n, code, message);
    }
}

static void resume_in_peace(struct crash_scene *scene, struct ledger *ledger,
                            const struct syscall_trial *trial, uint64_t n)
{
    struct injected result = run_victim(scene, trial->syscalls, "error=EIO:when=60000");
    if (!WIFEXITED(result.status) || WEXITSTATUS(result.status) != 0) {
        fail_msg("after %s %s at %" PRIu64 "%s resuming fails with status %x:\n%s", trial->syscalls,
                 trial->error, n, trial->suffix, (unsigned)result.status,
                 buf_string(&result.output));
    }
    ledger_read(ledger, &result.output);
    buf_fini(&result.output);
    struct check_findings findings = check_store(scene, ledger);
    assert_int_equal(findings.unfinished_runs, 0);
    assert_int_equal(findings.finished, 4 * findings.runs);
}

/** One point. @return false when there is no N-th call */
static bool fail_at(struct crash_scene *scene, const struct syscall_trial *trial, uint64_t n)
{
    struct ledger ledger = {0};
    char fault[64];
    scene_clear(scene);
    snprintf(fault, sizeof(fault), "error=%s:when=%" PRIu64 "%s", trial->error, n, trial->suffix);
    struct injected result = run_victim(scene, trial->syscalls, fault);
    bool is_hit = result.is_hit;
    if (!WIFEXITED(result.status)) {
        fail_msg("%s %s: the victim crashed with status %x:\n%s", trial->syscalls, fault,
                 (unsigned)result.status, buf_string(&result.output));
    }
    if (WEXITSTATUS(result.status) != 0) {
        assert_true(is_hit);
        check_complaint(scene, trial, n, &result);
    }
    if (trial->is_sync && result.is_acked) {
        fail_msg("%s %s: something was acknowledged after the failure:\n%s", trial->syscalls, fault,
                 buf_string(&result.output));
    }
    ledger_read(&ledger, &result.output);
    buf_fini(&result.output);
    check_store(scene, &ledger);
    resume_in_peace(scene, &ledger, trial, n);
    ledger_clear(&ledger);
    return is_hit;
}

static void enumerate(struct crash_scene *scene, const struct syscall_trial *trial)
{
    if (!inject_is_possible()) {
        skip();
    }
    uint64_t stride = scene_is_long() ? 1 : trial->stride;
    uint64_t points = 0;
    uint64_t n = 1 + random_below(&scene->random, stride);
    while (n < MOST_POINTS && fail_at(scene, trial, n)) {
        points++;
        n += stride;
    }
    print_message("%s %s%s: %" PRIu64 " points\n", trial->error, trial->syscalls,
                  trial->suffix[0] == '+' ? " from there on" : "", points);
    assert_true(points > 0);
}

#define CASE(name) TEST_WITH(name, scene_setup_in_memory, scene_teardown)

CASE(a_failed_sync_is_never_followed_by_an_acknowledgement)
{
    enumerate(*state, &(struct syscall_trial){"fdatasync,fsync", "EIO", "", 1, true});
}

CASE(a_disk_that_no_longer_syncs_ends_the_run_with_a_clear_error)
{
    enumerate(*state, &(struct syscall_trial){"fdatasync,fsync", "EIO", "+", 3, true});
}

CASE(a_sync_without_space_is_never_followed_by_an_acknowledgement)
{
    enumerate(*state, &(struct syscall_trial){"fdatasync,fsync", "ENOSPC", "", 5, true});
}

CASE(a_failed_write_corrupts_nothing)
{
    enumerate(*state, &(struct syscall_trial){"pwrite64", "EIO", "", 9, false});
    enumerate(*state, &(struct syscall_trial){"pwrite64", "ENOSPC", "", 11, false});
}

CASE(a_disk_that_no_longer_writes_ends_the_run_with_a_clear_error)
{
    enumerate(*state, &(struct syscall_trial){"pwrite64", "EIO", "+", 16, true});
    enumerate(*state, &(struct syscall_trial){"pwrite64", "ENOSPC", "+", 16, true});
}

CASE(a_failed_truncation_corrupts_nothing)
{
    enumerate(*state, &(struct syscall_trial){"ftruncate", "EIO", "", 1, false});
    enumerate(*state, &(struct syscall_trial){"ftruncate", "ENOSPC", "", 1, false});
}
