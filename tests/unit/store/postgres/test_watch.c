// SPDX-License-Identifier: Apache-2.0
/* Readers of a database rest while no process writes, and are called when one does. */
#include "../support.h"
#include "by_hand.h"
#include "store/postgres/internal.h"
#include "store/quiet.h"
#include "store/writer.h"

#include "base/cancel.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** So long that a test which waits for its end fails by the test runner's own limit. */
#define FOREVER_NS (3600 * NS_PER_S)
#define AFTER_NS   (20 * NS_PER_MS)
#define RUN_A      "01900000-0000-7000-8000-00000000000a"

struct watch_rig {
    struct store *store;
    struct store *other; /**< as another process has it */
    struct writer *writer;
    struct quiet_watch *watch;
    struct writer_listener listener;
    sem_t called; /* quiet has ended */
};

static void note_end(void *context)
{
    sem_post(&((struct watch_rig *)context)->called);
}

/** Open a store that announces what it writes, as those of programs do. */
static struct store *open_telling(void)
{
    struct store *store = open_store();
    ((struct postgres_store *)store)->is_silent = false;
    return store;
}

static int make_rig(void **state)
{
    static struct watch_rig rig;
    begin_test(state);
    memset(&rig, 0, sizeof(rig));
    sem_init(&rig.called, 0, 0);
    rig.store = open_telling();
    rig.other = open_telling();
    rig.writer = writer_new(rig.store);
    rig.listener = (struct writer_listener){.call = note_end, .context = &rig};
    writer_listen(rig.writer, &rig.listener);
    *state = &rig;
    return 0;
}

static void start(struct watch_rig *rig)
{
    assert_int_equal(quiet_watch_start(rig->writer, AFTER_NS, &rig->watch, NULL), 0);
    assert_non_null(rig->watch);
}

static int free_rig(void **state)
{
    struct watch_rig *rig = *state;
    quiet_watch_stop(rig->watch);
    writer_unlisten(rig->writer, &rig->listener);
    writer_free(rig->writer);
    store_close(rig->other);
    store_close(rig->store);
    sem_destroy(&rig->called);
    return 0;
}

#define RIG_TEST(name) TEST_WITH(name, make_rig, free_rig)

static void wait_for_quiet(struct watch_rig *rig)
{
    while (!writer_is_quiet(rig->writer)) {
        usleep(1000);
    }
}

static void put_document(struct store *store, bool is_heartbeat)
{
    bool is_applied = false;
    const struct store_change change = {
        .kind = STORE_PUT,
        .collection = "probe",
        .key = "store",
        .data = "{}",
        .data_len = 2,
        .if_version = STORE_ANY_VERSION,
        .is_heartbeat = is_heartbeat,
    };
    assert_int_equal(store->ops->change_documents(store, &change, 1, &is_applied, NULL), 0);
    assert_true(is_applied);
}

/** Wait for an announcement of the store. @return how many came until `count` have, or the end */
static unsigned take_announcements(unsigned count, int64_t longest_ns)
{
    int64_t until_ns = clock_monotonic(clock_system()) + longest_ns;
    unsigned found = 0;
    while (found < count && clock_monotonic(clock_system()) < until_ns) {
        PGnotify *notify;
        PQconsumeInput(by_hand);
        while ((notify = PQnotifies(by_hand)) != NULL) {
            found += strcmp(notify->relname, "rondo") == 0 && strcmp(notify->extra, schema) == 0;
            PQfreemem(notify);
        }
        usleep(1000);
    }
    return found;
}

RIG_TEST(a_change_that_has_no_position_ends_quiet)
{
    struct watch_rig *rig = *state;
    start(rig);
    for (int i = 0; i < 3; i++) {
        wait_for_quiet(rig);
        put_document(rig->other, false);
        sem_wait(&rig->called);
    }
}

static void *wait_for_news(void *argument)
{
    struct watch_rig *rig = argument;
    while (!writer_wait(rig->writer, 0, FOREVER_NS, NULL)) {
    }
    return NULL;
}

RIG_TEST(a_reader_that_rests_sees_the_event_of_another_process)
{
    struct watch_rig *rig = *state;
    pthread_t thread;
    start(rig);
    wait_for_quiet(rig);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_news, rig), 0);
    test_create(rig->other, RUN_A, "agent", false);
    test_append(rig->other, RUN_A, 1, "{}");
    assert_int_equal(pthread_join(thread, NULL), 0);
}

RIG_TEST(a_write_that_was_not_announced_is_found)
{
    struct watch_rig *rig = *state;
    start(rig);
    wait_for_quiet(rig);
    perform("UPDATE meta SET collected = collected + 1"); /* It raises the last position. */
    sem_wait(&rig->called);
}

RIG_TEST(readers_rest_again_after_the_connection_was_lost)
{
    struct watch_rig *rig = *state;
    start(rig);
    wait_for_quiet(rig);
    perform("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN%'");
    sem_wait(&rig->called);
    wait_for_quiet(rig);
    put_document(rig->other, false);
    sem_wait(&rig->called);
}

static int another_pid(const PGconn *connection)
{
    (void)connection;
    return 1;
}

RIG_TEST(behind_a_pooler_nobody_listens_and_readers_do_not_rest)
{
    struct watch_rig *rig = *state;
    ((struct postgres_store *)rig->store)->pq.backendPID = another_pid;
    start(rig);
    usleep(20 * AFTER_NS / 1000);
    quiet_watch_stop(rig->watch);
    rig->watch = NULL;
    assert_int_equal(sem_trywait(&rig->called), -1); /* It was never quiet. */
    assert_string_equal(perform("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"),
                        "0");
}

RIG_TEST(a_heartbeat_is_not_announced)
{
    struct watch_rig *rig = *state;
    perform("LISTEN rondo");
    put_document(rig->other, true);
    put_document(rig->other, false);
    store_close(rig->other); /* It announces what is left. */
    rig->other = NULL;
    put_document(rig->store, true);
    store_close(open_store());
    assert_int_equal(take_announcements(1, FOREVER_NS), 1);
    assert_int_equal(take_announcements(1, 5 * AFTER_NS), 0);
    perform("UNLISTEN rondo");
}

RIG_TEST(many_writes_are_announced_together)
{
    struct watch_rig *rig = *state;
    int64_t begun_ns = clock_monotonic(clock_system());
    perform("LISTEN rondo");
    for (int i = 0; i < 100; i++) {
        put_document(rig->other, false);
    }
    store_close(rig->other);
    rig->other = NULL;
    int64_t passed_ns = clock_monotonic(clock_system()) - begun_ns;
    unsigned count = take_announcements(100, 5 * AFTER_NS);
    assert_in_range(count, 1, passed_ns / (25 * NS_PER_MS) + 2);
    perform("UNLISTEN rondo");
}

int main(void)
{
    return by_hand_main();
}
