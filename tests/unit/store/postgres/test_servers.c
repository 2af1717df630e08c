// SPDX-License-Identifier: Apache-2.0
/*
 * What the contract cannot show of the PostgreSQL back end: several stores over one database,
 * connections that are cut, and servers that end.
 */
#include "../support.h"
#include "base/auto.h"
#include "base/buf.h"
#include "by_hand.h"
#include "cutter.h"
#include "store/postgres/internal.h"
#include "store/postgres/postgres.h"
#include "support/postgres.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"
#define RUN_B "01900000-0000-7000-8000-00000000000b"

/* ---- Connections that are cut --------------------------------------------------------------- */

/** Commit one event, handing it in again as often as it fails. @return how often it failed */
static unsigned commit_stubbornly(struct store *store, uint64_t seq,
                                  struct store_commit_result *ret_result)
{
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, seq, &event, 1);
    const struct store_batch *batches[] = {&batch};
    unsigned failures = 0;
    for (;; failures++) {
        struct rondo_error err = {0};
        int r = store->ops->commit(store, batches, 1, ret_result, &err);
        if (r == 0) {
            return failures;
        }
        assert_int_equal(r, RONDO_ERR_IO);
        assert_true(failures < 5);
    }
}

SERVER_TEST(a_commit_that_is_cut_anywhere_is_made_once)
{
    struct line_cutter *cutter = cutter_new(postgres_address(server));
    struct store *store = open_at(cutter_address(cutter));
    test_create(store, RUN_A, "agent", false);
    struct store_commit_result result;
    uint64_t seq = 0;
    uint64_t last = 0;
    for (size_t bytes = 0; bytes < 2600; bytes += 83) {
        unsigned before = cutter_count(cutter);
        cutter_arm(cutter, CUTTER_REQUESTS, bytes);
        unsigned failures = commit_stubbornly(store, ++seq, &result);
        assert_int_equal(failures, cutter_count(cutter) - before);
        cutter_arm(cutter, CUTTER_OFF, 0);
        assert_true(result.position > last);
        last = result.position;
    }
    assert_true(cutter_count(cutter) > 5);
    assert_int_equal(test_count_events(store, RUN_A), seq);
    store_close(store);
    cutter_free(cutter);
}

SERVER_TEST(a_commit_whose_answer_is_lost_is_recognised)
{
    struct line_cutter *cutter = cutter_new(postgres_address(server));
    struct store *store = open_at(cutter_address(cutter));
    test_create(store, RUN_A, "agent", false);
    test_append(store, RUN_A, 1, "{}");
    cutter_arm(cutter, CUTTER_ANSWERS, 0);
    struct store_commit_result result;
    assert_int_equal(commit_stubbornly(store, 2, &result), 1);
    assert_int_equal(result.outcome, STORE_ALREADY_COMMITTED);
    assert_int_equal(result.position, test_last_position(store));
    assert_int_equal(test_count_events(store, RUN_A), 2);
    store_close(store);
    cutter_free(cutter);
}

SERVER_TEST(a_claim_whose_answer_is_lost_is_found)
{
    struct line_cutter *cutter = cutter_new(postgres_address(server));
    struct store *store = open_at(cutter_address(cutter));
    test_create(store, RUN_B, "agent", false); /* Its connection stays open. */
    cutter_arm(cutter, CUTTER_ANSWERS, 1);     /* That of the commit. */
    test_create(store, RUN_A, "agent", false);
    assert_int_equal(cutter_count(cutter), 1);
    assert_int_equal(store->ops->expire_lease(store, RUN_A, 1, NULL), 0);
    cutter_arm(cutter, CUTTER_ANSWERS, 1);
    struct store_claim_result claimed = test_claim(store, RUN_A, "owner-b");
    assert_int_equal(cutter_count(cutter), 2);
    assert_int_equal(claimed.outcome, STORE_CLAIMED);
    assert_int_equal(claimed.epoch, 2);
    assert_string_equal(test_get(store, RUN_A).owner, "owner-b");
    store_close(store);
    cutter_free(cutter);
}

SERVER_TEST(a_claim_that_is_cut_before_its_commit_leaves_the_run_free)
{
    struct line_cutter *cutter = cutter_new(postgres_address(server));
    struct store *store = open_at(cutter_address(cutter));
    test_create(store, RUN_A, "agent", false);
    assert_int_equal(store->ops->expire_lease(store, RUN_A, 1, NULL), 0);
    cutter_arm(cutter, CUTTER_ANSWERS, 0);
    struct store_claim claim = {.owner = "owner-b", .lease_ns = TEST_LEASE_NS};
    struct store_claim_result result;
    assert_int_equal(store->ops->claim_run(store, RUN_A, &claim, &result, NULL), RONDO_ERR_IO);
    assert_int_equal(test_claim(store, RUN_A, "owner-c").outcome, STORE_CLAIMED);
    store_close(store);
    cutter_free(cutter);
}

SERVER_TEST(a_claim_that_is_never_committed_ends)
{
    struct store *store = open_store();
    test_create(store, RUN_A, "agent", false);
    assert_int_equal(store->ops->expire_lease(store, RUN_A, 1, NULL), 0);
    perform("BEGIN");
    assert_string_equal(perform("SELECT outcome FROM claim_run(NULL, NULL, '" RUN_A "', 'owner-b',"
                                " 1000000000, '', 1)"),
                        "0");
    assert_string_equal(perform("SHOW idle_in_transaction_session_timeout"), "1min");
    perform("ROLLBACK");
    store_close(store);
}

SERVER_TEST(a_session_that_was_ended_is_replaced)
{
    struct store *store = open_store();
    test_create(store, RUN_A, "agent", false);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        test_append(store, RUN_A, seq, "{}");
        assert_int_equal(test_count_events(store, RUN_A), seq);
        perform("SELECT count(pg_terminate_backend(pid, 600000)) FROM pg_stat_activity"
                " WHERE application_name = 'rondo'");
    }
    store_close(store);
}

/** Ends sessions of stores at any moment, but not again before something has worked: on a busy
 *  machine no connection would come to its first answer. */
struct session_killer {
    pthread_t thread;
    atomic_bool is_over;
    atomic_int kills;
    atomic_int successes; /* of the calls that are disturbed */
};

/** Wait until one more call has worked. @param seen successes that were there */
static int wait_for_success(struct session_killer *killer, int seen)
{
    while (atomic_load(&killer->successes) == seen && !atomic_load(&killer->is_over)) {
        clock_sleep(clock_system(), NS_PER_MS / 10, NULL);
    }
    return atomic_load(&killer->successes);
}

static void *end_sessions(void *argument)
{
    struct session_killer *killer = argument;
    PGconn *other = PQconnectdb(postgres_address(server));
    for (int seen = 0; !atomic_load(&killer->is_over);) {
        seen = wait_for_success(killer, seen);
        PGresult *result = PQexec(other, "SELECT pg_terminate_backend(pid)"
                                         " FROM pg_sleep(random() * 0.003), pg_stat_activity"
                                         " WHERE application_name = 'rondo' AND random() < 0.3");
        atomic_fetch_add(&killer->kills, PQntuples(result));
        PQclear(result);
    }
    PQfinish(other);
    return NULL;
}

/** Claim the run until that works. A claim whose answer was lost may not hold it. */
static uint64_t claim_stubbornly(struct store *store, uint64_t epoch)
{
    struct store_claim claim = {.owner = "owner-a", .lease_ns = TEST_LEASE_NS};
    struct store_claim_result result;
    while (store->ops->expire_lease(store, RUN_A, epoch, NULL) != 0) {
    }
    while (store->ops->claim_run(store, RUN_A, &claim, &result, NULL) != 0) {
    }
    assert_int_equal(result.outcome, STORE_CLAIMED);
    return result.epoch;
}

SERVER_TEST(sessions_that_end_all_the_time_lose_nothing)
{
    struct session_killer killer = {.kills = 0};
    struct store *store = open_store();
    struct store_event event = test_event("{}");
    uint64_t epoch = 1;
    test_create(store, RUN_A, "agent", false);
    assert_int_equal(pthread_create(&killer.thread, NULL, end_sessions, &killer), 0);
    uint64_t committed = 0;
    while (committed < 100 || atomic_load(&killer.kills) <= 5) {
        uint64_t seq = ++committed;
        struct store_batch batch = test_batch(RUN_A, epoch, seq, &event, 1);
        const struct store_batch *batches[] = {&batch};
        struct store_commit_result result;
        while (store->ops->commit(store, batches, 1, &result, NULL) != 0) {
        }
        assert_int_not_equal(result.outcome, STORE_FENCED);
        atomic_fetch_add(&killer.successes, 1);
        epoch = seq % 10 == 0 ? claim_stubbornly(store, epoch) : epoch;
    }
    atomic_store(&killer.is_over, true);
    pthread_join(killer.thread, NULL);
    assert_int_equal(test_count_events(store, RUN_A), committed);
    assert_int_equal(test_get(store, RUN_A).last_seq, committed);
    store_close(store);
}

SERVER_TEST(a_store_outlives_its_server)
{
    struct store *store = open_store();
    test_create(store, RUN_A, "agent", false);
    test_append(store, RUN_A, 1, "{}");
    PQfinish(by_hand);
    postgres_command(server, "stop a");
    struct store_run run;
    struct rondo_error err = {0};
    assert_int_equal(store->ops->get_run(store, RUN_A, &run, &err), RONDO_ERR_IO);
    assert_non_null(strstr(err.message, "see whether the server runs"));
    postgres_command(server, "start a");
    assert_int_equal(test_get(store, RUN_A).last_seq, 1);
    test_append(store, RUN_A, 2, "{}");
    postgres_command(server, "kill a");
    postgres_command(server, "start a");
    test_append(store, RUN_A, 3, "{}");
    assert_int_equal(test_count_events(store, RUN_A), 3);
    store_close(store);
    by_hand = PQconnectdb(postgres_address(server));
}

/** The address of two servers. */
static void join_addresses(const char *first, const char *second, char *ret_address, size_t size)
{
    const char *host = strstr(second, "host=") + strlen("host=");
    const char *port = strstr(second, "port=") + strlen("port=");
    const char *own_host = strstr(first, "host=");
    const char *own_port = strstr(first, "port=");
    int host_len = (int)strcspn(own_host, "&");
    int port_len = (int)strcspn(own_port, "&");
    snprintf(ret_address, size, "%.*s%.*s,%.*s&%.*s,%.*s", (int)(own_host - first), first, host_len,
             own_host, (int)strcspn(host, "&"), host, port_len, own_port, (int)strcspn(port, "&"),
             port);
}

SERVER_TEST(a_standby_that_takes_over_has_all_that_was_acknowledged)
{
    struct postgres *pair = postgres_new(NULL);
    char first[256];
    char both[512];
    struct store_commit_result result;
    snprintf(first, sizeof(first), "%s", postgres_address(pair));
    const char *second = postgres_command(pair, "standby b a sync");
    join_addresses(first, second, both, sizeof(both));
    struct store *store = NULL;
    struct rondo_error err = {0};
    assert_int_equal(try_open(second, &store, &err), RONDO_ERR_IO);
    assert_non_null(strstr(err.message, "promote a standby"));

    store = open_at(both);
    test_create(store, RUN_A, "agent", false);
    for (uint64_t seq = 1; seq <= 20; seq++) {
        test_append(store, RUN_A, seq, "{}");
    }
    uint64_t last = test_last_position(store);
    postgres_command(pair, "kill a");
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, 21, &event, 1);
    const struct store_batch *batches[] = {&batch};
    assert_int_equal(store->ops->commit(store, batches, 1, &result, NULL), RONDO_ERR_IO);
    postgres_command(pair, "promote b");
    commit_stubbornly(store, 21, &result);
    assert_true(result.position > last);
    assert_int_equal(test_count_events(store, RUN_A), 21);
    assert_int_equal(test_last_position(store), result.position);
    /* Its transaction ids are not those that the other one has given. */
    assert_true(result.position - last > UINT64_C(1) << 39);
    store_close(store);
    postgres_free(pair);
}

/* ---- Several stores ------------------------------------------------------------------------- */

/** Positions that a reader has seen. */
struct seen_positions {
    uint64_t last;
    uint64_t count;
};

static bool note_position(const struct store_event *event, void *context)
{
    struct seen_positions *seen = context;
    assert_true(event->position > seen->last);
    seen->last = event->position;
    seen->count++;
    return true;
}

static void read_on(struct store *store, struct seen_positions *seen)
{
    assert_int_equal(store->ops->read_events(store, NULL, seen->last, 0, note_position, seen, NULL),
                     0);
}

SERVER_TEST(a_reader_never_passes_a_transaction_that_is_open)
{
    struct store *store = open_store();
    struct seen_positions seen = {0};
    test_create(store, RUN_A, "agent", false);
    test_create(store, RUN_B, "agent", false);
    test_append(store, RUN_B, 1, "{}");
    read_on(store, &seen);
    assert_int_equal(seen.count, 1);
    perform("BEGIN");
    perform("SELECT append_events((SELECT key FROM runs WHERE id LIKE '%a'), 0, position_base(),"
            " ARRAY[1], ARRAY['open'], ARRAY['{}'::bytea])");
    perform("UPDATE runs SET last_seq = 1 WHERE id LIKE '%a'");
    test_append(store, RUN_B, 2, "{}");
    assert_int_equal(test_count_events(store, RUN_B), 2);
    read_on(store, &seen);
    assert_int_equal(seen.count, 1);
    assert_int_equal(test_last_position(store), seen.last);
    perform("COMMIT");
    read_on(store, &seen);
    assert_int_equal(seen.count, 3);
    assert_int_equal(test_last_position(store), seen.last);
    store_close(store);
}

SERVER_TEST(a_transaction_of_another_program_does_not_hold_readers_back)
{
    struct store *store = open_store();
    test_create(store, RUN_A, "agent", false);
    PGconn *other = PQconnectdb(postgres_address(server));
    PQclear(PQexec(other, "BEGIN; SELECT pg_current_xact_id()"));
    test_append(store, RUN_A, 1, "{}");
    struct seen_positions seen = {0};
    const struct clock *clock = clock_system();
    int64_t deadline = clock_monotonic(clock) + 600 * NS_PER_S;
    while (test_last_position(store) == 0 && clock_monotonic(clock) < deadline) {
        clock_sleep(clock, 20 * NS_PER_MS, NULL);
    }
    read_on(store, &seen);
    assert_int_equal(seen.count, 1);
    /* One of ours still does. */
    test_create(store, RUN_B, "agent", false);
    perform("BEGIN");
    perform("SELECT append_events((SELECT key FROM runs WHERE id LIKE '%b'), 0, position_base(),"
            " ARRAY[1], ARRAY['open'], ARRAY['{}'::bytea])");
    test_append(store, RUN_A, 2, "{}");
    read_on(store, &seen);
    assert_int_equal(seen.count, 1);
    assert_int_equal(test_last_position(store), seen.last);
    perform("COMMIT");
    read_on(store, &seen);
    assert_int_equal(seen.count, 3);
    PQfinish(other);
    store_close(store);
}

/** One of the servers that commit over the same runs. */
struct crossing {
    pthread_t thread;
    const struct postgres_store *claimer; /**< whose claims they are; each proves them as its own */
    bool is_backwards;
    unsigned failures;
};

#define CROSSING_RUNS   8
#define CROSSING_ROUNDS 40

static bool raise_counter(void *context, const char *data, size_t len, struct buf *ret_data)
{
    (void)context;
    (void)len;
    buf_printf(ret_data, "%ld", data == NULL ? 1 : strtol(data, NULL, 10) + 1);
    return true;
}

/** Batches without events, which may come from several at once, each raising a counter. */
static void *commit_crosswise(void *argument)
{
    struct crossing *crossing = argument;
    struct store *store = open_store();
    struct postgres_store *same = (struct postgres_store *)store;
    memcpy(same->secret, crossing->claimer->secret, sizeof(same->secret));
    struct test_id ids[CROSSING_RUNS];
    struct store_batch batches[CROSSING_RUNS];
    const struct store_batch *list[CROSSING_RUNS];
    char keys[CROSSING_RUNS][8];
    struct store_update updates[CROSSING_RUNS];
    for (unsigned i = 0; i < CROSSING_RUNS; i++) {
        unsigned at = crossing->is_backwards ? CROSSING_RUNS - 1 - i : i;
        ids[i] = test_id(at);
        snprintf(keys[i], sizeof(keys[i]), "k%u", (at * 3) % CROSSING_RUNS);
        updates[i] = (struct store_update){
            .collection = "counters", .key = keys[i], .change = raise_counter};
        batches[i] = test_batch(ids[i].text, 1, 0, NULL, 0);
        batches[i].update = &updates[i];
        list[i] = &batches[i];
    }
    for (unsigned round = 0; round < CROSSING_ROUNDS; round++) {
        struct store_commit_result results[CROSSING_RUNS];
        crossing->failures += store->ops->commit(store, list, CROSSING_RUNS, results, NULL) != 0;
    }
    store_close(store);
    return NULL;
}

SERVER_TEST(groups_of_several_servers_do_not_wait_in_a_circle)
{
    struct store *store = open_store();
    struct crossing crossings[4] = {{.is_backwards = false}, {.is_backwards = true}};
    crossings[3].is_backwards = true;
    for (unsigned i = 0; i < CROSSING_RUNS; i++) {
        test_create(store, test_id(i).text, "agent", false);
    }
    perform("SELECT pg_stat_reset()");
    for (size_t i = 0; i < 4; i++) {
        crossings[i].claimer = (const struct postgres_store *)store;
        assert_int_equal(
            pthread_create(&crossings[i].thread, NULL, commit_crosswise, &crossings[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(crossings[i].thread, NULL);
        assert_int_equal(crossings[i].failures, 0);
    }
    assert_string_equal(perform("SELECT sum(convert_from(data, 'UTF8')::bigint) FROM documents"),
                        "1280");
    assert_string_equal(perform("SELECT deadlocks FROM pg_stat_database WHERE datname ="
                                " current_database()"),
                        "0");
    store_close(store);
}

SERVER_TEST(the_end_of_a_lease_is_reported_by_the_clock_of_this_machine)
{
    struct store *store = open_store();
    perform("CREATE OR REPLACE FUNCTION moment(p_now bigint) RETURNS bigint LANGUAGE sql VOLATILE"
            " AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000"
            " - 3600000000000'");
    struct store_run run = {.id = RUN_A, .agent_id = "agent"};
    struct store_claim claim = {.owner = "owner-a", .lease_ns = 900 * NS_PER_S};
    struct store_claim_result result;
    int64_t before = clock_now(clock_system());
    assert_int_equal(store->ops->create_run(store, &run, NULL, 0, &claim, &result, NULL), 0);
    int64_t end = test_get(store, RUN_A).lease_until_ns;
    /* The clocks of the test and of the server are one; it may be set while the test runs. */
    assert_true(end > before + 300 * NS_PER_S);
    assert_int_equal(store->ops->expire_lease(store, RUN_A, 1, NULL), 0);
    assert_int_equal(test_get(store, RUN_A).lease_until_ns, 0);
    store_close(store);
}

SERVER_TEST(leases_end_by_the_clock_of_the_server)
{
    struct store *store = open_store();
    struct store_run run = {.id = RUN_A, .agent_id = "agent"};
    struct store_claim claim = {.owner = "owner-a", .lease_ns = NS_PER_S, .boot = "boot"};
    struct store_claim_result result;
    assert_int_equal(store->ops->create_run(store, &run, NULL, 0, &claim, &result, NULL), 0);
    claim.owner = "owner-b";
    /* Time passes only there. */
    perform("CREATE OR REPLACE FUNCTION moment(p_now bigint) RETURNS bigint LANGUAGE sql VOLATILE"
            " AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000"
            " - 3600000000000'");
    assert_int_equal(store->ops->claim_run(store, RUN_A, &claim, &result, NULL), 0);
    assert_int_equal(result.outcome, STORE_HELD);
    perform("CREATE OR REPLACE FUNCTION moment(p_now bigint) RETURNS bigint LANGUAGE sql VOLATILE"
            " AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000"
            " + 3600000000000'");
    assert_int_equal(store->ops->claim_run(store, RUN_A, &claim, &result, NULL), 0);
    assert_int_equal(result.outcome, STORE_CLAIMED);
    assert_int_equal(result.epoch, 2);
    struct store_event event = test_event("{}");
    struct store_batch late = test_batch(RUN_A, 1, 1, &event, 1);
    assert_int_equal(test_commit(store, &late).outcome, STORE_FENCED);
    store_close(store);
}

#define CLAIMED_RUNS 1000

/** A process that claims all runs that it can get. Ends with the number, in steps of 5. */
static int claim_all(const char *owner, int pipe_fd)
{
    struct store *store = open_store();
    uint32_t count = 0;
    for (unsigned i = 0; i < CLAIMED_RUNS; i++) {
        struct store_claim claim = {.owner = owner, .lease_ns = TEST_LEASE_NS};
        struct store_claim_result result;
        if (store->ops->claim_run(store, test_id(i).text, &claim, &result, NULL) != 0) {
            return 1;
        }
        count += result.outcome == STORE_CLAIMED;
    }
    store_close(store);
    return write(pipe_fd, &count, sizeof(count)) == sizeof(count) ? 0 : 1;
}

SERVER_TEST(two_processes_claim_each_run_once)
{
    store_close(open_store());
    perform("INSERT INTO runs OVERRIDING SYSTEM VALUE SELECT "
            "nextval(pg_get_serial_sequence('runs', 'key')),"
            " '01900000-0000-7000-8000-' || lpad(n::text, 12, '0'), 'agent', '', false, '', 1, 0,"
            " 0, 0, '', 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0"
            " FROM generate_series(0, 999) n");
    int fds[2];
    pid_t pids[2];
    uint32_t total = 0;
    assert_int_equal(pipe(fds), 0);
    for (int i = 0; i < 2; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            _exit(claim_all(i == 0 ? "owner-a" : "owner-b", fds[1]));
        }
    }
    for (int i = 0; i < 2; i++) {
        int status = 1;
        uint32_t count = 0;
        waitpid(pids[i], &status, 0);
        assert_int_equal(status, 0);
        assert_int_equal(read(fds[0], &count, sizeof(count)), sizeof(count));
        total += count;
    }
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(total, CLAIMED_RUNS);
    assert_string_equal(perform("SELECT count(*) FROM runs WHERE epoch = 2 AND owner <> ''"),
                        "1000");
}

SERVER_TEST(letters_are_never_taken_unread)
{
    struct store *store = open_store();
    test_create(store, RUN_A, "agent", false);
    perform("BEGIN");
    perform("SELECT post_letter(NULL, '" RUN_A "', 'first', '{}')");
    /* A letter with a higher id cannot be seen before the one with the lower id. */
    PGconn *other = PQconnectdb(postgres_address(server));
    char sql[128];
    snprintf(sql, sizeof(sql), "SET lock_timeout = 20; SELECT %s.post_letter(NULL, '%s', 'b', '')",
             schema, RUN_A);
    PGresult *result = PQexec(other, sql);
    assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "55P03");
    PQclear(result);
    PQfinish(other);
    perform("COMMIT");
    store_close(store);
}

/* ---- Databases ------------------------------------------------------------------------------ */

SERVER_TEST(positions_continue_in_a_restored_database)
{
    struct store *store = open_store();
    test_create(store, RUN_A, "agent", false);
    test_append(store, RUN_A, 1, "{}");
    uint64_t before = test_last_position(store);
    store_close(store);
    /* As if it had been made by a server that had counted further. */
    perform(
        "UPDATE meta SET system = 'other'; UPDATE events SET position = position + (1::bigint << "
        "50); UPDATE runs SET last_position = last_position + (1::bigint << 50)");
    store = open_store();
    before += UINT64_C(1) << 50;
    assert_int_equal(test_last_position(store), before);
    /* What is opened anew has not claimed the run yet. */
    assert_int_equal(store->ops->expire_lease(store, RUN_A, 1, NULL), 0);
    assert_int_equal(test_claim(store, RUN_A, "owner-b").epoch, 2);
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 2, 2, &event, 1);
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    uint64_t after = test_last_position(store);
    assert_true(after > before);
    store_close(store);
    store = open_store();
    assert_int_equal(test_last_position(store), after);
    store_close(store);
}

SERVER_TEST(what_is_no_text_is_kept_or_refused)
{
    struct store *store = open_store();
    struct rondo_error err = {0};
    test_create(store, RUN_A, "agent", false);
    test_append(store, RUN_A, 1, "{\"a\":\"\\u0000\xff\"}");
    assert_int_equal(test_count_events(store, RUN_A), 1);
    struct store_claim claim = {.owner = "owner\xff", .lease_ns = TEST_LEASE_NS};
    struct store_claim_result result;
    assert_int_equal(store->ops->claim_run(store, RUN_A, &claim, &result, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "UTF-8"));
    struct store_run_query query = {.search = "'; DROP TABLE runs; --"};
    struct store_run_counts counts;
    assert_int_equal(store->ops->count_runs(store, &query, &counts, NULL), 0);
    assert_string_equal(test_get(store, RUN_A).owner, "owner-a");
    store_close(store);
}

/** Hundredths of a second until the server looks whether a client on TCP is there. */
static unsigned long keepalive_of(unsigned server_port)
{
    char line[256];
    unsigned long found = 0;
    FILE *file = fopen("/proc/net/tcp", "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned port;
        unsigned state;
        unsigned timer;
        unsigned long when;
        if (sscanf(line, " %*d: %*x:%x %*x:%*x %x %*x:%*x %x:%lx", &port, &state, &timer, &when) ==
                4 &&
            port == server_port && state == 1 && timer == 2 && when > found) {
            found = when;
        }
    }
    fclose(file);
    return found;
}

SERVER_TEST(a_server_notices_soon_that_a_machine_has_gone)
{
    char address[256];
    snprintf(address, sizeof(address), "%s", postgres_command(server, "tcp a"));
    struct store *store = open_at(address);
    test_create(store, RUN_A, "agent", false);
    test_append(store, RUN_A, 1, "{}");
    unsigned port = (unsigned)strtoul(postgres_command(server, "port a"), NULL, 10);
    /* The kernel tells it only of connections whose last answer was acknowledged. */
    const struct clock *clock = clock_system();
    int64_t deadline = clock_monotonic(clock) + 600 * NS_PER_S;
    unsigned long when = 0;
    while ((when = keepalive_of(port)) == 0 && clock_monotonic(clock) < deadline) {
        clock_sleep(clock, 20 * NS_PER_MS, NULL);
    }
    assert_in_range(when, 1, 11 * 100);
    store_close(store);
}

static void *read_a_run(void *store)
{
    (void)test_count_events(store, RUN_A);
    return NULL;
}

struct held_connection {
    struct store *store;
    pthread_t other;
};

/** Have another thread read while the only connection for that is at work. */
static bool hold_the_connection(const struct store_event *event, void *context)
{
    struct held_connection *held = context;
    (void)event;
    assert_int_equal(store_postgres_pool(held->store).used, 1);
    assert_int_equal(pthread_create(&held->other, NULL, read_a_run, held->store), 0);
    while (store_postgres_pool(held->store).waits == 0) {
        clock_sleep(clock_system(), NS_PER_MS, NULL);
    }
    return false;
}

SERVER_TEST(connections_and_waits_for_them_are_counted)
{
    auto_buf struct buf address = {0};
    buf_printf(&address, "%s&rondo_connections=2", postgres_address(server));
    struct store *store = open_at(buf_string(&address));
    test_create(store, RUN_A, "agent", false);
    test_append(store, RUN_A, 1, "{}");
    assert_int_equal(store_postgres_pool(store).waits, 0);
    struct held_connection held = {.store = store};
    int r = store->ops->read_events(store, RUN_A, 0, 0, hold_the_connection, &held, NULL);
    assert_int_equal(r, 0);
    pthread_join(held.other, NULL);
    assert_true(store_postgres_pool(store).waiting_ns > 0);
    assert_int_equal(store_postgres_pool(store).open, 2);
    store_close(store);
}

SERVER_TEST(a_server_without_standbys_has_none_that_lag)
{
    struct store *store = open_store();
    struct store_postgres_replication found = {.standbys = 9};
    assert_int_equal(store_postgres_replication(store, &found, NULL), 0);
    assert_true(found.is_known); /* There is none. */
    assert_int_equal(found.standbys, 0);
    store_close(store);
}

/** Open the store and close it. */
static void *open_once(void *argument)
{
    (void)argument;
    store_close(open_store());
    return NULL;
}

SERVER_TEST(of_many_that_open_a_store_one_makes_it)
{
    pthread_t threads[6];
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, open_once, NULL), 0);
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    assert_string_equal(perform("SELECT count(*) FROM meta"), "1");
}

int main(void)
{
    return by_hand_main();
}
