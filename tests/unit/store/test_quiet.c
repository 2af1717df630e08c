// SPDX-License-Identifier: Apache-2.0
/* The watch: readers rest while no process writes, and are called when one does. */
#include "../../support/store/memory_store.h"
#include "store/quiet.h"
#include "store/sqlite/sqlite.h"
#include "store/writer.h"
#include "support.h"

#include "base/cancel.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/** So long that a test which waits for its end fails by the test runner's own limit. */
#define FOREVER_NS (3600 * NS_PER_S)
#define AFTER_NS   (20 * NS_PER_MS)

struct quiet_rig {
    char *folder;
    char *path;
    struct store *store;
    struct writer *writer;
    struct quiet_watch *watch;
    struct writer_listener listener;
    sem_t called; /* quiet has ended */
    int orders;   /* to another process: a byte each for an event */
    int answers;
    pid_t other;
};

static void note_end(void *context)
{
    sem_post(&((struct quiet_rig *)context)->called);
}

static struct store *open_store(const char *path)
{
    struct store *store = NULL;
    struct store_sqlite_options options = {.path = path, .may_create = true};
    assert_int_equal(store_sqlite_open(&options, &store, NULL), 0);
    return store;
}

/** The other process. It was there before the store was opened here, and has nothing of it. */
static void write_on_order(const char *path, int orders, int answers)
{
    char order;
    struct store *store = NULL;
    struct test_id id = test_id(1);
    while (read(orders, &order, 1) == 1) {
        if (store == NULL) {
            store = open_store(path);
            test_create(store, id.text, "agent", false);
        }
        test_append(store, id.text, test_count_events(store, id.text) + 1, "{}");
        assert_int_equal(write(answers, "x", 1), 1);
    }
    _exit(0);
}

static void start_other(struct quiet_rig *rig)
{
    int orders[2];
    int answers[2];
    assert_int_equal(pipe(orders), 0);
    assert_int_equal(pipe(answers), 0);
    rig->other = fork();
    if (rig->other == 0) {
        close(orders[1]);
        write_on_order(rig->path, orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    rig->orders = orders[1];
    rig->answers = answers[0];
}

static int make_rig(void **state)
{
    static struct quiet_rig rig;
    memset(&rig, 0, sizeof(rig));
    sem_init(&rig.called, 0, 0);
    rig.folder = test_folder_new();
    rig.path = test_path(rig.folder, "store.db");
    start_other(&rig);
    rig.store = open_store(rig.path);
    rig.writer = writer_new(rig.store);
    rig.listener = (struct writer_listener){.call = note_end, .context = &rig};
    writer_listen(rig.writer, &rig.listener);
    assert_int_equal(quiet_watch_start(rig.writer, AFTER_NS, &rig.watch, NULL), 0);
    *state = &rig;
    return 0;
}

static int free_rig(void **state)
{
    struct quiet_rig *rig = *state;
    quiet_watch_stop(rig->watch);
    writer_unlisten(rig->writer, &rig->listener);
    writer_free(rig->writer);
    store_close(rig->store);
    close(rig->orders);
    close(rig->answers);
    assert_int_equal(waitpid(rig->other, NULL, 0), rig->other);
    test_folder_free(rig->folder);
    free(rig->path);
    sem_destroy(&rig->called);
    return 0;
}

#define RIG_TEST(name) TEST_WITH(name, make_rig, free_rig)

static void wait_for_quiet(struct quiet_rig *rig)
{
    while (!writer_is_quiet(rig->writer)) {
        usleep(1000);
    }
}

static void write_elsewhere(const struct quiet_rig *rig)
{
    char answer;
    assert_int_equal(write(rig->orders, "x", 1), 1);
    assert_int_equal(read(rig->answers, &answer, 1), 1);
}

RIG_TEST(a_store_that_nobody_writes_to_becomes_quiet)
{
    struct quiet_rig *rig = *state;
    assert_int_equal(writer_pace(rig->writer, FOREVER_NS), FOREVER_NS);
    wait_for_quiet(rig);
    assert_int_equal(writer_pace(rig->writer, NS_PER_S), 60 * NS_PER_S);
    assert_int_equal(writer_pace(rig->writer, FOREVER_NS), FOREVER_NS);
}

RIG_TEST(a_write_of_another_process_ends_quiet_until_nothing_more_is_written)
{
    struct quiet_rig *rig = *state;
    for (int i = 0; i < 2; i++) {
        wait_for_quiet(rig);
        if (i == 0) {
            write_elsewhere(rig);
        } else {
            struct test_id id = test_id(2);
            test_create(rig->store, id.text, "agent", false);
        }
        sem_wait(&rig->called);
    }
    wait_for_quiet(rig);
    assert_int_equal(test_count_events(rig->store, NULL), 1);
}

static void *wait_for_news(void *argument)
{
    struct quiet_rig *rig = argument;
    while (!writer_wait(rig->writer, 0, FOREVER_NS, NULL)) {
    }
    return NULL;
}

RIG_TEST(a_reader_that_rests_sees_the_event_of_another_process)
{
    struct quiet_rig *rig = *state;
    pthread_t thread;
    wait_for_quiet(rig);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_news, rig), 0);
    write_elsewhere(rig);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/** Have the log look changed without a report of a write. */
static void change_unreported(const struct quiet_rig *rig)
{
    const struct timespec times[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    char *log = test_path(rig->folder, "store.db-wal");
    assert_int_equal(utimensat(AT_FDCWD, log, times, 0), 0);
    free(log);
}

RIG_TEST(where_writes_are_not_reported_readers_do_not_rest_again)
{
    struct quiet_rig *rig = *state;
    wait_for_quiet(rig);
    change_unreported(rig);
    sem_wait(&rig->called);
    write_elsewhere(rig);
    usleep(5 * AFTER_NS / 1000);
    assert_false(writer_is_quiet(rig->writer));
}

RIG_TEST(a_watch_that_ends_leaves_no_quiet_behind)
{
    struct quiet_rig *rig = *state;
    wait_for_quiet(rig);
    quiet_watch_stop(rig->watch);
    rig->watch = NULL;
    assert_false(writer_is_quiet(rig->writer));
}

TEST(a_store_without_a_file_is_never_quiet)
{
    struct store *store = store_memory_new(NULL);
    struct writer *writer = writer_new(store);
    struct quiet_watch *watch = NULL;
    assert_int_equal(quiet_watch_start(writer, AFTER_NS, &watch, NULL), 0);
    assert_null(watch);
    assert_false(writer_is_quiet(writer));
    writer_free(writer);
    store_close(store);
}

int main(void)
{
    return test_run(NULL, NULL);
}
