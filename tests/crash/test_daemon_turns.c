// SPDX-License-Identifier: Apache-2.0
/*
 * A daemon that is killed (daemon_scene.h) between two turns of a conversation, with memory and
 * sinks: from the first byte of the first webhook, over both runs, the delivery of their results
 * and the consolidation of their episodes. After a restart
 *
 *  - the conversation has these two turns, the second after the first;
 *  - each run has stored its two episodes once, and each episode is in exactly one fact;
 *  - each result came to both sinks: at least once, no more often than the daemon was started, and
 *    under the same id each time;
 *  - nothing waits, not even a delivery that was cut off, and nothing was dead-lettered.
 */
#include "check.h"
#include "daemon_scene.h"

#include "base/auto.h"
#include "os/file.h"
#include "rondo/types.h"
#include "support/http_peer.h"
#include "support/test.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS 2
/** Of a turn: what its tool has recorded, and its answer. */
#define EPISODES 2
#define RESULTS  "results.jsonl"

static const char role[] =
    "apiVersion: initrunner/v1\n"
    "kind: Agent\n"
    "metadata: {name: tester}\n"
    "spec:\n"
    "  role: You test.\n"
    "  model: {provider: scripted, name: turns.jsonl}\n"
    "  memory: {consolidation: {model_override: 'scripted:facts.jsonl'}}\n"
    "  execution: {allow_hosts: ['127.0.0.1']}\n"
    "  sinks:\n"
    "    - {type: webhook, url: '%s'}\n"
    "    - {type: file, path: results.jsonl}\n"
    "  triggers: [{type: webhook, unsigned: true, conversation: talk, port: 0}]\n";

static const char turns[] =
    "{\"tool_calls\":[{\"name\":\"record_episode\",\"arguments\":{\"content\":\"an event came\"}}]}"
    "\n{\"text\":\"the answer\"}\n";
static const char facts[] = "{\"text\":\"events: Events come.\",\"forever\":true}\n";

/** Of the program: what the sinks get comes here. */
struct receiver {
    struct http_peer *peer;
    size_t first; /* request of the present point */
};

static struct receiver receiver;

static int set_up(void **state)
{
    char text[sizeof(role) + 64];
    int r = daemon_setup(state);
    if (r == 0) {
        receiver = (struct receiver){.peer = http_peer_new()};
        http_peer_always(receiver.peer, 200, NULL, "");
        snprintf(text, sizeof(text), role, http_peer_url(receiver.peer, "/results"));
        daemon_write_file(*state, "role.yaml", text);
        daemon_write_file(*state, "turns.jsonl", turns);
        daemon_write_file(*state, "facts.jsonl", facts);
    }
    return r;
}

static int tear_down(void **state)
{
    http_peer_free(receiver.peer);
    return daemon_teardown(state);
}

/* --- what there is --- */

/** What a run was given of the turns before, in its first event. */
#define MESSAGES        "$.spec.agent.conversation.messages"
#define DOCUMENTS(name) "SELECT count(*) FROM documents WHERE collection = '" name "'"

static const char ended[] = "SELECT count(*) FROM events WHERE type = 'run.finished'";
static const char created[] = "SELECT count(*) FROM events WHERE type = 'run.created'";
static const char episodes[] = "SELECT count(*) FROM memories WHERE kind = 0";
static const char episodes_of_facts[] =
    "SELECT count(*) FROM memories m, json_each(m.metadata, '$.episodes') "
    "WHERE m.source = 'consolidation'";
static const char *const waiting[] = {
    DOCUMENTS("start-request"),  DOCUMENTS("delivery"),    DOCUMENTS("consolidation-due"),
    DOCUMENTS("consolidations"), DOCUMENTS("dead-letter"),
};

static void read_lines(const struct daemon_scene *daemon, struct buf *ret_lines)
{
    char path[DAEMON_PATH + sizeof(RESULTS)];
    snprintf(path, sizeof(path), "%s/" RESULTS, daemon->workspace);
    (void)file_read(path, (size_t)1 << 20, ret_lines, NULL);
}

/** How often a text is in the lines of the file sink. */
static size_t count_text(const struct buf *lines, const char *text)
{
    size_t n = 0;
    for (const char *at = strstr(buf_string(lines), text); at != NULL; at = strstr(at + 1, text)) {
        n++;
    }
    return n;
}

static bool is_done(struct daemon_scene *daemon)
{
    auto_buf struct buf lines = {0};
    if (daemon_count(daemon, ended) < TURNS ||
        http_peer_request_count(receiver.peer) < receiver.first + TURNS) {
        return false;
    }
    for (size_t i = 0; i < COUNT(waiting); i++) {
        if (daemon_count(daemon, waiting[i]) != 0) {
            return false;
        }
    }
    read_lines(daemon, &lines);
    return count_text(&lines, "\n") >= TURNS;
}

/* --- what must be true --- */

static void check_webhook(const char *run_id, size_t most)
{
    const char *first_id = NULL;
    size_t n = 0;
    for (size_t i = receiver.first; i < http_peer_request_count(receiver.peer); i++) {
        const struct peer_request *request = http_peer_request(receiver.peer, i);
        const char *id = http_peer_header(receiver.peer, request, "webhook-id");
        if (strstr(request->body, run_id) != NULL) {
            n++;
            first_id = first_id == NULL ? id : first_id;
            assert_string_equal(id, first_id);
        }
    }
    assert_in_range(n, 1, most);
}

static void check_sinks(struct daemon_scene *daemon, const char *run_id, size_t most)
{
    char text[128];
    auto_buf struct buf lines = {0};
    read_lines(daemon, &lines);
    snprintf(text, sizeof(text), "\"run_id\":\"%s\"", run_id);
    assert_in_range(count_text(&lines, text), 1, most);
    check_webhook(run_id, most);
}

static void check_turns(struct daemon_scene *daemon, char told[TURNS][ID_SIZE])
{
    char query[512];
    for (size_t i = 0; i < TURNS; i++) {
        snprintf(query, sizeof(query), "SELECT count(*) FROM runs WHERE id = '%s' AND status = %d",
                 told[i], RONDO_COMPLETED);
        assert_int_equal(daemon_count(daemon, query), 1);
        snprintf(query, sizeof(query),
                 "SELECT count(*) FROM memories WHERE source = 'record_episode' AND run = '%s'",
                 told[i]);
        assert_int_equal(daemon_count(daemon, query), 1);
    }
    snprintf(query, sizeof(query),
             "SELECT count(*) FROM documents WHERE collection = 'conversation' "
             "AND json_extract(CAST(data AS TEXT), '$.runs') = '[\"%s\",\"%s\"]' "
             "AND json_extract(CAST(data AS TEXT), '$.turns') = 2",
             told[0], told[1]);
    assert_int_equal(daemon_count(daemon, query), 1);
    snprintf(query, sizeof(query),
             "SELECT count(*) FROM events e JOIN runs r ON r.key = e.run "
             "WHERE e.type = 'run.created' AND r.id = '%s' "
             "AND json_array_length(e.data, '" MESSAGES "') = 2 "
             "AND json_extract(e.data, '" MESSAGES "[1]') = 'the answer'",
             told[1]);
    assert_int_equal(daemon_count(daemon, query), 1);
}

static void check_end(struct daemon_scene *daemon, char told[TURNS][ID_SIZE], size_t starts)
{
    struct check_findings findings = check_store(daemon->scene, NULL);
    assert_int_equal(findings.unfinished_runs, 0);
    assert_int_equal(daemon_count(daemon, created), TURNS);
    assert_int_equal(daemon_count(daemon, ended), TURNS);
    for (size_t i = 0; i < COUNT(waiting); i++) {
        assert_int_equal(daemon_count(daemon, waiting[i]), 0);
    }
    check_turns(daemon, told);
    assert_int_equal(daemon_count(daemon, episodes), TURNS * EPISODES);
    assert_int_equal(daemon_count(daemon, episodes_of_facts), TURNS * EPISODES);
    for (size_t i = 0; i < TURNS; i++) {
        check_sinks(daemon, told[i], starts);
    }
}

/* --- one point --- */

/** @return how many were answered */
static size_t send_all(struct daemon_scene *daemon, char ret_told[TURNS][ID_SIZE])
{
    return !daemon_send(daemon, "first", ret_told[0])    ? 0
           : !daemon_send(daemon, "second", ret_told[1]) ? 1
                                                         : TURNS;
}

/** Kill at the n-th call. @return 1 killed, 0 it was done before, -1 it cannot be tried here */
static int kill_at(struct daemon_scene *daemon, const char *syscalls, uint64_t when)
{
    char told[TURNS][ID_SIZE] = {""};
    char told_again[TURNS][ID_SIZE] = {""};
    char results[DAEMON_PATH + sizeof(RESULTS)];
    scene_clear(daemon->scene);
    snprintf(results, sizeof(results), "%s/" RESULTS, daemon->workspace);
    (void)remove(results);
    receiver.first = http_peer_request_count(receiver.peer);
    daemon_start(daemon);
    struct child *strace = daemon_kill_at(daemon, syscalls, when);
    if (strace == NULL) {
        daemon_end(daemon);
        return -1;
    }
    size_t answered = send_all(daemon, told);
    bool is_killed = daemon_wait(daemon, is_done);
    if (is_killed) {
        child_end(daemon->daemon);
        daemon_start(daemon);
        assert_int_equal(send_all(daemon, told_again), TURNS);
        assert_memory_equal(told, told_again, answered * sizeof(told[0]));
        assert_false(daemon_wait(daemon, is_done));
    }
    child_end(strace);
    daemon_end(daemon);
    check_end(daemon, is_killed ? told_again : told, is_killed ? 2 : 1);
    return is_killed ? 1 : 0;
}

static void enumerate(void **state, const char *syscalls, const uint64_t *points)
{
    daemon_enumerate(*state, syscalls, points, kill_at);
}

#define KILL_TEST(name) TEST_WITH(name, set_up, tear_down)

KILL_TEST(turns_results_and_memories_survive_a_kill_at_a_commit)
{
    static const uint64_t points[] = {3, 5, 8, 13, 0};
    enumerate(state, "fsync,fdatasync", points);
}

KILL_TEST(turns_results_and_memories_survive_a_kill_while_something_is_sent)
{
    static const uint64_t points[] = {1, 2, 3, 0};
    enumerate(state, "sendto,sendmsg,writev,write", points);
}

KILL_TEST(turns_results_and_memories_survive_a_kill_while_something_is_received)
{
    static const uint64_t points[] = {2, 4, 0};
    enumerate(state, "recvfrom,recvmsg,read", points);
}

KILL_TEST(turns_results_and_memories_survive_a_kill_while_the_store_is_written)
{
    static const uint64_t points[] = {5, 17, 0};
    enumerate(state, "pwrite64", points);
}
