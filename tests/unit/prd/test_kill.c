// SPDX-License-Identifier: Apache-2.0
/*
 * A change of a prd.json and an archive, killed before each call that leaves something on disk,
 * with people who save the file in just that moment; and a file system that cannot exchange names.
 *
 * The calls are those of this program, not of the C library: it defines them itself.
 */
#include "base/limits.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "prd/archive.h"
#include "prd/file.h"
#include "support/scratch.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIME_NS INT64_C(1770372000000000000) /* 2026-02-06 */

static char folder[256];
static char path[300];
static char backup[300];
static char fresh[300];

/* ---- Calls that can be the last ------------------------------------------------------------- */

/** Shared with the child that is killed. */
struct kill_stage {
    int step;       /* calls so far */
    int kill_at;    /* 0 = never */
    int saves;      /* how often a person has saved the file */
    int wants;      /* how often one is to save, each time before names are exchanged */
    int exchanges;  /* so far */
    int every;      /* save before one of so many only; 0 = before each */
    int cannot_fit; /* the file system knows no exchange */
};
static struct kill_stage *kill_stage;

static bool is_last(void)
{
    if (kill_stage == NULL) {
        return false;
    }
    kill_stage->step++;
    return kill_stage->kill_at > 0 && kill_stage->step == kill_stage->kill_at;
}

static void may_end(void)
{
    if (is_last()) {
        _exit(0);
    }
}

/** As an editor does: a new file, renamed. The times differ, whatever the clock's steps are. */
static void save(int number)
{
    char name[300];
    snprintf(name, sizeof(name), "%s/editor", folder);
    FILE *file = fopen(name, "w");
    fprintf(
        file,
        "{\"n\": %d, \"userStories\": [{\"id\": \"a\", \"title\": \"t\", \"passes\": false}]}\n",
        number);
    fclose(file);
    struct timespec times[2] = {{.tv_sec = 2000000000 + number}, {.tv_sec = 2000000000 + number}};
    utimensat(AT_FDCWD, name, times, 0);
    rename(name, path);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    if (kill_stage != NULL && (flags & RENAME_EXCHANGE) != 0) {
        bool is_time = kill_stage->every == 0 || kill_stage->exchanges++ % kill_stage->every == 0;
        if (is_time && kill_stage->saves < kill_stage->wants) {
            save(++kill_stage->saves);
        }
        if (kill_stage->cannot_fit != 0) {
            errno = EINVAL;
            return -1;
        }
    }
    may_end();
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

int renameat(int from, const char *old, int to, const char *new)
{
    may_end();
    return (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

int unlinkat(int at, const char *name, int flags)
{
    may_end();
    return (int)syscall(SYS_unlinkat, at, name, flags);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    may_end();
    return (int)syscall(SYS_linkat, from, old, to, new, flags);
}

int mkdirat(int at, const char *name, mode_t mode)
{
    may_end();
    return (int)syscall(SYS_mkdirat, at, name, mode);
}

int fsync(int fd)
{
    may_end();
    return (int)syscall(SYS_fsync, fd);
}

int ftruncate(int fd, off_t len)
{
    may_end();
    return (int)syscall(SYS_ftruncate, fd, len);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    may_end();
    return syscall(SYS_pwrite64, fd, bytes, len, at);
}

/** Half of it may be the last. */
ssize_t write(int fd, const void *bytes, size_t len)
{
    if (is_last()) {
        syscall(SYS_write, fd, bytes, len / 2);
        _exit(0);
    }
    return syscall(SYS_write, fd, bytes, len);
}

/* ---- What is killed ------------------------------------------------------------------------- */

static int set_up(void **state)
{
    (void)state;
    char home[300];
    assert_true(scratch_new(folder, sizeof(folder)));
    snprintf(path, sizeof(path), "%s/prd.json", folder);
    snprintf(backup, sizeof(backup), "%s/.prd.json.bak", folder);
    snprintf(fresh, sizeof(fresh), "%s/.prd.json.rondo-new", folder);
    snprintf(home, sizeof(home), "%s/state", folder);
    setenv("XDG_STATE_HOME", home, 1);
    kill_stage =
        mmap(NULL, sizeof(*kill_stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(kill_stage, MAP_FAILED);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    munmap(kill_stage, sizeof(*kill_stage));
    kill_stage = NULL;
    return file_remove_tree(folder, NULL);
}

static int update(struct rondo_error *err)
{
    struct prd_change change = {.id = "a", .status = PRD_DONE, .has_status = true, .attempts = -1};
    return prd_file_update(NULL, path, NULL, &change, 1, 1, NULL, err);
}

/** Run something in a child that ends before its call number `step`. @return whether it did */
static bool kill_at(int step, int wants, void (*what)(void))
{
    *kill_stage = (struct kill_stage){.kill_at = step, .wants = wants};
    pid_t pid = fork();
    if (pid == 0) {
        what();
        _exit(7);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    bool was_cut_off = WEXITSTATUS(status) == 0;
    kill_stage->kill_at = 0;
    kill_stage->wants = 0;
    return was_cut_off;
}

static void read_whole(const char *name, struct buf *ret_text)
{
    buf_clear(ret_text);
    assert_int_equal(file_read(name, LIMIT_PRD_FILE_BYTES, ret_text, NULL), 0);
}

static void assert_says(const char *name, int number, bool passes)
{
    struct buf text = {0};
    char wanted[200];
    snprintf(wanted, sizeof(wanted),
             "{\"n\": %d, \"userStories\": [{\"id\": \"a\", \"title\": \"t\", \"passes\": %s}]}\n",
             number, passes ? "true" : "false");
    read_whole(name, &text);
    assert_string_equal(buf_string(&text), wanted);
    buf_fini(&text);
}

/** Never torn: one of the texts as a whole. */
static void assert_is_whole(const char *name)
{
    struct buf text = {0};
    struct prd prd = {0};
    read_whole(name, &text);
    assert_true(buf_string(&text)[text.len - 1] == '\n');
    assert_int_equal(prd_file_load(NULL, name, NULL, &prd, NULL, NULL), 0);
    assert_int_equal(prd.task_count, 1);
    prd_fini(&prd);
    buf_fini(&text);
}

static void update_it(void)
{
    update(NULL);
}

/** Kill a change at each step. @param saves by people during it @return steps that it has */
static int kill_a_change(int saves)
{
    int step = 1;
    for (bool was_cut_off = true; was_cut_off; step++) {
        struct rondo_error err = {0};
        unlink(backup);
        save(0);
        was_cut_off = kill_at(step, saves, update_it);
        assert_is_whole(path);
        assert_int_equal(update(&err), 0);
        assert_says(path, kill_stage->saves, true);
        assert_int_not_equal(access(fresh, F_OK), 0);
        if (was_cut_off && access(backup, F_OK) == 0) {
            assert_says(backup, kill_stage->saves, false);
        }
    }
    assert_says(backup, saves, false);
    return step - 1;
}

TEST_WITH(a_change_that_is_killed_is_done_again_and_tears_nothing, set_up, tear_down)
{
    assert_in_range(kill_a_change(0), 8, 100);
}

TEST_WITH(what_people_save_during_a_killed_change_is_kept, set_up, tear_down)
{
    assert_in_range(kill_a_change(1), 15, 200);
}

TEST_WITH(what_people_save_twice_during_a_killed_change_is_kept, set_up, tear_down)
{
    assert_in_range(kill_a_change(2), 15, 300);
}

TEST_WITH(somebody_who_saves_again_and_again_wins, set_up, tear_down)
{
    struct rondo_error err = {0};
    save(0);
    *kill_stage = (struct kill_stage){.wants = 1000, .every = 2}; /* not while theirs is put back */
    assert_int_equal(update(&err), RONDO_ERR_BUSY);
    assert_says(path, kill_stage->saves, false);
    assert_in_range(kill_stage->saves, 2, 100);
    *kill_stage = (struct kill_stage){.wants = 50};
    assert_int_equal(update(&err), 0);
    assert_int_equal(kill_stage->saves, 50);
    assert_says(path, 50, true);
}

/* ---- Without an exchange of names ----------------------------------------------------------- */

TEST_WITH(a_file_system_without_exchange_is_enough, set_up, tear_down)
{
    struct rondo_error err = {0};
    save(0);
    *kill_stage = (struct kill_stage){.cannot_fit = 1};
    assert_int_equal(update(&err), 0);
    assert_says(path, 0, true);
    assert_says(backup, 0, false);
    assert_int_not_equal(access(fresh, F_OK), 0);
}

TEST_WITH(without_exchange_a_save_is_not_overwritten_either, set_up, tear_down)
{
    struct rondo_error err = {0};
    save(0);
    *kill_stage = (struct kill_stage){.cannot_fit = 1, .wants = 1};
    assert_int_equal(update(&err), RONDO_ERR_BUSY);
    assert_says(path, 1, false);
    assert_int_not_equal(access(fresh, F_OK), 0);
    assert_int_equal(update(&err), 0);
    assert_says(path, 1, true);
}

/* ---- Archives ------------------------------------------------------------------------------- */

static const char *const files[] = {"prd.json", "progress.txt", NULL};

static int archive(struct rondo_error *err)
{
    char *where = NULL;
    int r = prd_archive(NULL, folder, files, "x", TIME_NS, "run 1", &where, err);
    if (r == 0) {
        assert_string_equal(where, "archive/2026-02-06-x");
    }
    free(where);
    return r;
}

static const char *at(const char *name)
{
    static char paths[2][400];
    static unsigned next;
    char *place = paths[next++ % 2];
    snprintf(place, sizeof(paths[0]), "%s/%s", folder, name);
    return place;
}

static void begin_archive(int step)
{
    assert_int_equal(file_remove_tree(at("archive"), NULL), 0);
    assert_int_equal(file_replace_durably(at("progress.txt"), "log\n", 4, NULL), 0);
    save(step);
}

/** One archive has both files of this step, and nothing else has them. */
static void check_archive(int step)
{
    auto_buf struct buf prd = {0};
    auto_buf struct buf log = {0};
    char number[32];
    snprintf(number, sizeof(number), "\"n\": %d,", step);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(access(at("progress.txt"), F_OK), 0);
    assert_int_equal(file_read(at("archive/2026-02-06-x/prd.json"), 4096, &prd, NULL), 0);
    assert_int_equal(file_read(at("archive/2026-02-06-x/progress.txt"), 4096, &log, NULL), 0);
    assert_non_null(strstr(buf_string(&prd), number));
    assert_string_equal(buf_string(&log), "log\n");
    assert_int_not_equal(access(at("archive/2026-02-06-x-2"), F_OK), 0);
}

static void archive_it(void)
{
    archive(NULL);
}

TEST_WITH(an_archive_that_is_killed_is_finished_and_not_repeated, set_up, tear_down)
{
    int step = 1;
    for (bool was_cut_off = true; was_cut_off; step++) {
        struct rondo_error err = {0};
        begin_archive(step);
        was_cut_off = kill_at(step, 0, archive_it);
        assert_int_equal(archive(&err), 0);
        check_archive(step);
    }
    assert_in_range(step, 7, 50);
}
