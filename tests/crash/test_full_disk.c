// SPDX-License-Identifier: Apache-2.0
/*
 * A disk that is really full: a small tmpfs, mounted in a mount namespace of this process, which
 * takes it away with itself. A ballast file leaves little room; loops with states that do not
 * compress use it up.
 */
#include "check.h"

#include "rondo/error.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/** For a strict loop, which fills it by itself. */
#define SMALL_DISK "size=1m"
/** For one that runs until space is freed. */
#define LARGE_DISK    "size=8m"
#define BALLAST_BYTES (7 * 1024 * 1024)

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t written = write(fd, text, strlen(text));
        (void)written;
        close(fd);
    }
}

/** Become root of a mount namespace of our own. @return whether that is possible here */
static bool own_mounts(void)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWNS) != 0) {
        char map[64];
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
            return false;
        }
        write_file("/proc/self/setgroups", "deny");
        snprintf(map, sizeof(map), "0 %d 1", (int)uid);
        write_file("/proc/self/uid_map", map);
        snprintf(map, sizeof(map), "0 %d 1", (int)gid);
        write_file("/proc/self/gid_map", map);
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void mount_disk(struct crash_scene *scene, const char *options)
{
    char folder[SCENE_PATH + 16];
    snprintf(folder, sizeof(folder), "%s/store", scene->folder);
    if (mount("tmpfs", folder, "tmpfs", 0, options) != 0) {
        fail_msg("cannot mount a tmpfs: %s", strerror(errno));
    }
}

/** A disk that is mounted still would keep the folder from being removed. */
static int teardown(void **state)
{
    struct crash_scene *scene = *state;
    char folder[SCENE_PATH + 16];
    snprintf(folder, sizeof(folder), "%s/store", scene->folder);
    umount2(folder, MNT_DETACH);
    return scene_teardown(state);
}

static void ballast_path(const struct crash_scene *scene, char *ret_path, size_t size)
{
    snprintf(ret_path, size, "%s/store/ballast", scene->folder);
}

static void put_ballast(struct crash_scene *scene)
{
    char path[SCENE_PATH + 32];
    ballast_path(scene, path, sizeof(path));
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(posix_fallocate(fd, 0, BALLAST_BYTES), 0);
    close(fd);
}

static void drop_ballast(struct crash_scene *scene)
{
    char path[SCENE_PATH + 32];
    ballast_path(scene, path, sizeof(path));
    assert_int_equal(unlink(path), 0);
}

static struct child *start_victim(struct crash_scene *scene, const char *state_bytes,
                                  const char *mode)
{
    const char *const argv[] = {
        victim_path(),  "--store",  scene->store, "--effects", scene->effects,
        "--iterations", "30",       "--hurry",    "50",        "--body-us",
        "5000",         "--demand", "4",          mode,        "--state-bytes",
        state_bytes,    NULL,
    };
    return child_start(scene, argv);
}

/** The complaint names the disk's fault and the file, unless the end could still be recorded. */
static void check_complaint(struct crash_scene *scene, const char *output)
{
    const char *complaint = strstr(output, "\nx ");
    int code = 0;
    if (complaint == NULL && strstr(output, " error\n") != NULL) {
        return;
    }
    if (complaint == NULL || sscanf(complaint, "\nx %*s %d", &code) != 1 ||
        code != RONDO_ERR_FULL || strstr(complaint, "no space") == NULL ||
        strstr(complaint, scene->store) == NULL) {
        fail_msg("the complaint about the full disk is not clear:\n%s", output);
    }
}

TEST_WITH(a_full_disk_ends_a_strict_run_with_a_clear_error, scene_setup, teardown)
{
    struct crash_scene *scene = *state;
    struct ledger ledger = {0};
    if (!own_mounts()) {
        print_message("no mount namespace here\n");
        skip();
    }
    mount_disk(scene, SMALL_DISK);
    struct child *child = start_victim(scene, "60000", "--again");
    int status = child_wait(child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    check_complaint(scene, buf_string(&child->out));
    ledger_read(&ledger, &child->out);
    child_end(child);
    struct check_findings before = check_store(scene, &ledger);
    assert_true(before.finished > 0 && before.finished < 30);

    char folder[SCENE_PATH + 16];
    snprintf(folder, sizeof(folder), "%s/store", scene->folder);
    assert_int_equal(mount("tmpfs", folder, "tmpfs", MS_REMOUNT, "size=64m"), 0);
    child = start_victim(scene, "60000", "--again");
    if (child_wait(child) != 0) {
        fail_msg("with space again, resuming fails:\n%s", buf_string(&child->out));
    }
    ledger_read(&ledger, &child->out);
    child_end(child);
    struct check_findings after = check_store(scene, &ledger);
    assert_int_equal(after.unfinished_runs, 0);
    print_message("full after %" PRIu64 " iterations, %" PRIu64 " facts kept\n", before.finished,
                  (uint64_t)ledger.count);
    ledger_clear(&ledger);
}

TEST_WITH(a_full_disk_is_survived_in_best_effort_and_told_of_afterwards, scene_setup, teardown)
{
    struct crash_scene *scene = *state;
    struct ledger ledger = {0};
    if (!own_mounts()) {
        print_message("no mount namespace here\n");
        skip();
    }
    mount_disk(scene, LARGE_DISK);
    put_ballast(scene);
    struct child *child = start_victim(scene, "60000", "--best-effort");
    if (child_expect(child, "g ") == NULL) {
        fail_msg("the run never went on without the store; it said:\n%s", buf_string(&child->out));
    }
    drop_ballast(scene);
    const char *line = child_expect(child, "a ");
    if (line == NULL) {
        fail_msg("the run did not come back to the store");
    }
    if (child_wait(child) != 0) {
        fail_msg("the run did not end by its limit");
    }
    ledger_read(&ledger, &child->out);
    child_end(child);
    struct check_findings findings = check_store(scene, &ledger);
    assert_int_equal(findings.finished, 30);
    assert_int_equal(findings.unfinished_runs, 0);
    assert_true(findings.degraded >= 1);
    print_message("%" PRIu64 " storage.degraded in the journal\n", findings.degraded);
    ledger_clear(&ledger);
}
