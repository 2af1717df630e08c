// SPDX-License-Identifier: Apache-2.0
/*
 * The power goes: loops run in a virtual machine on an ext4 disk and acknowledge over the serial
 * console; the machine is killed at a random instant, so what its kernel had not written is gone.
 * Another boot replays the file system's journal, and the store must hold everything that was
 * acknowledged. A control, whose victim does not sync, shows that the test can fail.
 *
 * The disk after the machine keeps what was written to it, flushed or not: a drive that loses or
 * reorders its cache is a harder case than this.
 */
#include "check.h"

#include "base/clock.h"
#include "os/file.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISK_BYTES    ((off_t)256 << 20)
#define ARCHIVE_BYTES ((off_t)300 << 20)
#define LATEST_CUT_NS (2500 * NS_PER_MS)

/** The folder that powercut/setup.sh has filled; NULL when this test is not wanted. */
static const char *machine_folder(void)
{
    return getenv("RONDO_POWERCUT_FOLDER");
}

static void make_file(const char *path, off_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, size), 0);
    close(fd);
}

static void run_tool(struct crash_scene *scene, const char *const *argv)
{
    struct child *child = child_start(scene, argv);
    if (child_wait(child) != 0) {
        fail_msg("%s failed:\n%s", argv[0], buf_string(&child->out));
    }
    child_end(child);
}

static void make_disk(struct crash_scene *scene)
{
    char path[SCENE_PATH + 16];
    snprintf(path, sizeof(path), "%s/disk", scene->folder);
    make_file(path, DISK_BYTES);
    const char *const argv[] = {"/sbin/mke2fs", "-q", "-F", "-t", "ext4", path, NULL};
    run_tool(scene, argv);
}

/** @param word command for the machine; see powercut/init */
static struct child *start_machine(struct crash_scene *scene, const char *word,
                                   const char *second_disk)
{
    char kernel[SCENE_PATH], initramfs[SCENE_PATH], disk[SCENE_PATH + 64], append[128];
    char second[SCENE_PATH + 64];
    snprintf(kernel, sizeof(kernel), "%s/vmlinuz", machine_folder());
    snprintf(initramfs, sizeof(initramfs), "%s/initramfs", machine_folder());
    snprintf(disk, sizeof(disk), "file=%s/disk,if=virtio,format=raw", scene->folder);
    snprintf(second, sizeof(second), "file=%s,if=virtio,format=raw",
             second_disk == NULL ? "" : second_disk);
    snprintf(append, sizeof(append), "console=ttyS0 quiet loglevel=0 panic=-1 crash=%s", word);
    const char *const argv[] = {
        "qemu-system-x86_64",
        "-accel",
        "tcg",
        "-m",
        "512",
        "-smp",
        "1",
        "-nographic",
        "-no-reboot",
        "-nodefaults",
        "-serial",
        "stdio",
        "-kernel",
        kernel,
        "-initrd",
        initramfs,
        "-append",
        append,
        "-drive",
        disk,
        second_disk == NULL ? NULL : "-drive",
        second,
        NULL,
    };
    return child_start(scene, argv);
}

/** Let loops run and cut the power at a random instant. */
static void run_and_cut(struct crash_scene *scene, const char *word, struct ledger *ledger)
{
    struct child *machine = start_machine(scene, word, NULL);
    if (child_expect(machine, "a ") == NULL) {
        fail_msg("the machine does not work:\n%s", buf_string(&machine->out));
    }
    child_listen(machine, (int64_t)random_below(&scene->random, LATEST_CUT_NS));
    child_kill(machine);
    assert_true(WIFSIGNALED(machine->status));
    ledger_read(ledger, &machine->out);
    child_end(machine);
}

/** Boot again and get the store out. */
static void recover(struct crash_scene *scene)
{
    char archive[SCENE_PATH + 16];
    snprintf(archive, sizeof(archive), "%s/archive", scene->folder);
    make_file(archive, ARCHIVE_BYTES);
    struct child *machine = start_machine(scene, "recover", archive);
    if (child_expect(machine, "recovered") == NULL) {
        fail_msg("the disk cannot be recovered:\n%s", buf_string(&machine->out));
    }
    child_wait(machine);
    child_end(machine);
    scene_clear(scene);
    const char *const argv[] = {"tar", "-x", "-f", archive, "-C", scene->folder, NULL};
    run_tool(scene, argv);
}

/** Whether the check fails; it runs in a process of its own, which a failure ends. */
static bool is_lost(struct crash_scene *scene, const struct ledger *ledger)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("CMOCKA_TEST_ABORT", "1", 1);
        check_store(scene, ledger);
        _exit(0);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status != 0;
}

static void need_machine(void)
{
    if (machine_folder() == NULL) {
        print_message("no machine: run powercut/setup.sh and set RONDO_POWERCUT_FOLDER\n");
        skip();
    }
}

TEST_WITH(what_was_acknowledged_survives_a_power_cut, scene_setup, scene_teardown)
{
    struct crash_scene *scene = *state;
    uint64_t facts = 0, events = 0;
    need_machine();
    int64_t count = scene_number("RONDO_POWERCUT_COUNT", 10);
    for (int64_t i = 0; i < count; i++) {
        struct ledger ledger = {0};
        make_disk(scene);
        run_and_cut(scene, "run", &ledger);
        recover(scene);
        events += check_store(scene, &ledger).events;
        facts += ledger.count;
        ledger_clear(&ledger);
    }
    print_message("%" PRId64 " power cuts, %" PRIu64 " acknowledged facts, 0 lost; %" PRIu64
                  " events\n",
                  count, facts, events);
}

TEST_WITH(a_store_that_does_not_sync_loses_what_it_acknowledged, scene_setup, scene_teardown)
{
    struct crash_scene *scene = *state;
    need_machine();
    int64_t count = scene_is_long() ? 4 : 2, lost = 0;
    for (int64_t i = 0; i < count; i++) {
        struct ledger ledger = {0};
        make_disk(scene);
        run_and_cut(scene, "nosync", &ledger);
        recover(scene);
        lost += is_lost(scene, &ledger);
        ledger_clear(&ledger);
    }
    print_message("%" PRId64 " of %" PRId64 " cuts lost something, as they should\n", lost, count);
    assert_true(lost > 0);
}
