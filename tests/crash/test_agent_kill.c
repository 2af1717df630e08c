// SPDX-License-Identifier: Apache-2.0
/*
 * `rondo run ROLE -a` killed exactly before the N-th call of each system call that advances a run
 * of ten iterations: syncs of the store, bytes sent to the model and received from it, renames of
 * the tool's file. A resume must come to the journal of a run that was never disturbed,
 * but for the one step that was under way; and the model server must have been asked again for no
 * reply that is in the journal, with the very bytes of the first time for the one that does
 * not.
 */
#include "check.h"
#include "inject.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define ITERATIONS 10
/** No run of ten iterations makes so many calls of one kind. */
#define MOST_POINTS 2000
#define PATH_SIZE   (SCENE_PATH + 64)

/** Writing the same file again does no harm, so a call in doubt is repeated. */
static const char harmless[] =
    "{\"loop\":{\"iterations\":10,\"tool\":\"write_file\",\"summary\":\"Ten notes.\","
    "\"arguments\":{\"path\":\"note-{turn}.txt\",\"content\":\"What turn {turn} has taught.\"}}}";

/** A command may have had its effect: a call in doubt is not repeated, and the agent is told. */
static const char delicate[] = "{\"loop\":{\"iterations\":10,\"tool\":\"run_shell\",\"summary\":"
                               "\"Ten notes.\",\"arguments\":{\"command\":\"sh note {turn}\"}}}";

static const char note_script[] = "echo $1 >> effects\n";

/** A scene with a model server. */
struct kill_world {
    struct crash_scene *scene;
    struct child *server;
    char port[16];
    char role[PATH_SIZE];
    char notes[PATH_SIZE];
    bool is_delicate;
    uint64_t doubts;        /* runs in which a call was in doubt */
    struct buf undisturbed; /* the journal of a run that nobody has killed */
};

/* --- the model server --- */

/** One exchange with it. @param ret_reply its body */
static void ask_server(const struct kill_world *world, const char *method, const char *path,
                       const char *body, struct buf *ret_reply)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)strtoul(world->port, NULL, 10)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    auto_buf struct buf request = {0};
    auto_buf struct buf reply = {0};
    auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    buf_printf(&request, "%s %s HTTP/1.1\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
               method, path, strlen(body), body);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(send(fd, request.data, request.len, 0), request.len);
    for (ssize_t n; (n = recv(fd, buf_room(&reply, 4096), 4096, 0)) > 0;) {
        buf_grown(&reply, (size_t)n);
    }
    const char *end = strstr(buf_string(&reply), "\r\n\r\n");
    assert_non_null(end);
    buf_append_string(ret_reply, end + 4);
}

/** The server forgets what it has seen. */
static void reset_server(const struct kill_world *world)
{
    auto_buf struct buf reply = {0};
    const char *script = world->is_delicate ? delicate : harmless;
    ask_server(world, "PUT", "/c/kill/script", script, &reply);
    assert_string_equal(buf_string(&reply), "{}");
}

/** What the server has seen. @return json_object_put() */
static struct json_object *server_stats(const struct kill_world *world)
{
    auto_buf struct buf reply = {0};
    struct json_object *stats = NULL;
    ask_server(world, "GET", "/c/kill/stats", "", &reply);
    assert_int_equal(json_parse(reply.data, reply.len, &stats, NULL), 0);
    return stats;
}

/* --- the journal --- */

static void add_line(const char *type, struct json_object *data, struct buf *ret_lines)
{
    static const char *const keys[] = {"iteration", "turn",    "index",  "number", "name",
                                       "arguments", "outcome", "output", "stop",   "status"};
    buf_append_string(ret_lines, type);
    for (size_t i = 0; i < COUNT(keys); i++) {
        struct json_object *value = NULL;
        if (json_object_object_get_ex(data, keys[i], &value)) {
            buf_printf(ret_lines, " %s=%s", keys[i], json_object_get_string(value));
        }
    }
    buf_append_string(ret_lines, "\n");
}

/** What a resume adds to a journal, and what was under way when the run was cut. */
static bool is_of_resume(const char *type, struct json_object *data)
{
    static const char *const types[] = {"run.created", "run.claimed", "run.resumed",
                                        "iteration.interrupted"};
    for (size_t i = 0; i < COUNT(types); i++) {
        if (strcmp(types[i], type) == 0) {
            return true;
        }
    }
    bool is_intent = strcmp(type, "iteration.started") == 0 ||
                     strcmp(type, "model.requested") == 0 || strcmp(type, "tool.requested") == 0;
    return is_intent && json_get_int(data, "attempt", 1) > 1;
}

/** What was done, in order, and the turns that were asked for again. */
struct account {
    struct buf lines;
    bool was_asked_again[2 * ITERATIONS + 1];
    uint64_t repeated; /* steps */
    int64_t doubtful;  /* turn whose call is in doubt; 0 = none */
};

/** The answer to a call in doubt replaces the one that was lost. */
static void look_for_doubt(struct account *account, struct json_object *data)
{
    if (strcmp(json_get_string(data, "outcome", ""), "in_doubt") == 0) {
        assert_int_equal(account->doubtful, 0);
        account->doubtful = json_get_int(data, "turn", 0);
        json_object_object_del(data, "output");
        json_object_object_add(data, "outcome", json_object_new_string("ok"));
    } else if (strcmp(json_get_string(data, "name", ""), "run_shell") == 0) {
        json_object_object_del(data, "output");
    }
}

static void add_event(struct account *account, const char *type, struct json_object *data)
{
    bool is_step = strcmp(type, "model.requested") == 0 || strcmp(type, "tool.requested") == 0;
    if (strcmp(type, "tool.finished") == 0) {
        look_for_doubt(account, data);
    }
    if (!is_of_resume(type, data)) {
        add_line(type, data, &account->lines);
    } else if (is_step) {
        int64_t turn = json_get_int(data, "turn", 0);
        assert_in_range(turn, 1, 2 * ITERATIONS);
        account->repeated++;
        if (type[0] == 'm') {
            account->was_asked_again[turn] = true;
        }
    }
}

static void read_journal(const struct crash_scene *scene, struct account *ret_account)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *query = NULL;
    *ret_account = (struct account){0};
    assert_int_equal(sqlite3_open_v2(scene->store, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT type, data FROM events ORDER BY position", -1, &query, NULL),
        SQLITE_OK);
    while (sqlite3_step(query) == SQLITE_ROW) {
        auto_json struct json_object *data = NULL;
        const char *text = (const char *)sqlite3_column_text(query, 1);
        assert_int_equal(json_parse(text, strlen(text), &data, NULL), 0);
        add_event(ret_account, (const char *)sqlite3_column_text(query, 0), data);
    }
    sqlite3_finalize(query);
    sqlite3_close(db);
}

/* --- runs --- */

static void write_role(struct kill_world *world)
{
    auto_buf struct buf yaml = {0};
    buf_printf(&yaml,
               "apiVersion: initrunner/v1\n"
               "kind: Agent\n"
               "metadata:\n"
               "  name: notes\n"
               "  description: Writes a note in each iteration.\n"
               "spec:\n"
               "  role: You keep a notebook.\n"
               "  model:\n"
               "    provider: openai\n"
               "    name: mock-model\n"
               "    base_url: http://127.0.0.1:%s/c/kill/v1\n"
               "  tools:\n"
               "    - type: filesystem\n"
               "      root_path: %s\n"
               "      read_only: false\n"
               "    - type: shell\n"
               "      working_dir: %s\n"
               "      require_confirmation: false\n"
               "  execution:\n"
               "    sandbox: none\n"
               "  guardrails:\n"
               "    max_iterations: 20\n"
               "  autonomy:\n"
               "    max_history_messages: 12\n",
               world->port, world->notes, world->notes);
    assert_int_equal(file_replace_durably(world->role, yaml.data, yaml.len, NULL), 0);
}

static int set_up(void **state)
{
    if (scene_setup_in_memory(state) != 0) {
        return -1;
    }
    struct kill_world *world = calloc(1, sizeof(*world));
    world->scene = *state;
    *state = world;
    snprintf(world->role, sizeof(world->role), "%s/role.yaml", world->scene->folder);
    snprintf(world->notes, sizeof(world->notes), "%s/notes", world->scene->folder);
    const char *const argv[] = {getenv("RONDO_MOCK_MODEL"), NULL};
    world->server = child_start(world->scene, argv);
    const char *line = child_expect(world->server, "listening ");
    assert_non_null(line);
    snprintf(world->port, sizeof(world->port), "%s", line + strlen("listening "));
    setenv("OPENAI_API_KEY", "none", 1);
    return 0;
}

static int tear_down(void **state)
{
    struct kill_world *world = *state;
    *state = world->scene;
    buf_fini(&world->undisturbed);
    free(world);
    return scene_teardown(state);
}

/** Begin with nothing. */
static void clear(struct kill_world *world)
{
    scene_clear(world->scene);
    file_remove_tree(world->notes, NULL);
    assert_int_equal(file_make_folder(world->notes, NULL), 0);
    write_role(world);
    char path[PATH_SIZE + 16];
    snprintf(path, sizeof(path), "%s/note", world->notes);
    assert_int_equal(file_replace_durably(path, note_script, strlen(note_script), NULL), 0);
    reset_server(world);
}

static struct injected start_run(struct kill_world *world, const char *syscall, uint64_t when)
{
    const char *const argv[] = {rondo_path(),      "run",     world->role,         "-a", "-p",
                                "Take ten notes.", "--store", world->scene->store, "-q", NULL};
    char fault[64];
    snprintf(fault, sizeof(fault), "signal=KILL:when=%" PRIu64, when);
    return inject_run(world->scene, syscall, fault, argv);
}

static void expect_success(struct child *child)
{
    int status = child_wait(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("ended with status %x:\n%s", (unsigned)status, buf_string(&child->out));
    }
    child_end(child);
}

/** Bring the run to its end, from wherever it is. */
static void finish_run(struct kill_world *world)
{
    struct check_findings findings = check_store(world->scene, NULL);
    const char *const again[] = {rondo_path(),      "run",     world->role,         "-a", "-p",
                                 "Take ten notes.", "--store", world->scene->store, "-q", NULL};
    const char *const resume[] = {
        rondo_path(), "resume", findings.last_run, "--store", world->scene->store, "-q", NULL};
    if (findings.runs == 0) {
        expect_success(child_start(world->scene, again));
    } else if (findings.unfinished_runs > 0) {
        expect_success(child_start(world->scene, resume));
    }
}

/** The server was asked for each turn; again only for what the journal did not have. */
static void check_requests(const struct kill_world *world, const struct account *account)
{
    auto_json struct json_object *stats = server_stats(world);
    struct json_object *turns = NULL;
    json_object_object_get_ex(stats, "turns", &turns);
    assert_int_equal(json_object_array_length(turns), 2 * ITERATIONS);
    assert_int_equal(json_get_int(stats, "went_back", -1), 0);
    assert_int_equal(json_get_int(stats, "refused", -1), 0);
    for (size_t i = 0; i < 2 * ITERATIONS; i++) {
        struct json_object *turn = json_object_array_get_idx(turns, i);
        int64_t received = json_get_int(turn, "received", 0);
        assert_in_range(received, 1, account->was_asked_again[i + 1] ? 2 : 1);
        assert_true(json_get_bool(turn, "same_body", false));
        assert_true(json_get_bool(turn, "same_key", false));
    }
}

static void check_notes(const struct kill_world *world)
{
    for (int turn = 1; turn < 2 * ITERATIONS; turn += 2) {
        auto_buf struct buf note = {0};
        char path[PATH_SIZE + 32], text[64];
        snprintf(path, sizeof(path), "%s/note-%d.txt", world->notes, turn);
        snprintf(text, sizeof(text), "What turn %d has taught.", turn);
        assert_int_equal(file_read(path, 4096, &note, NULL), 0);
        assert_string_equal(buf_string(&note), text);
    }
}

/** Each command had its effect once; the one in doubt once or never. */
static void check_effects(const struct kill_world *world, const struct account *account)
{
    auto_buf struct buf effects = {0};
    char path[PATH_SIZE + 32];
    snprintf(path, sizeof(path), "%s/effects", world->notes);
    assert_int_equal(file_read(path, 4096, &effects, NULL), 0);
    int64_t next = 1;
    char *rest = NULL;
    for (char *line = strtok_r(effects.data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        int64_t turn = strtoll(line, NULL, 10);
        next += next == account->doubtful && turn != next ? 2 : 0;
        assert_int_equal(turn, next);
        next += 2;
    }
    next += next == account->doubtful ? 2 : 0;
    assert_int_equal(next, 2 * ITERATIONS + 1);
}

/** Texts that are too long to be shown whole: where they part. */
static void expect_journal(const char *lines, const char *expected)
{
    const char *line = lines;
    for (size_t i = 0; lines[i] == expected[i] && lines[i] != '\0'; i++) {
        line = lines[i] == '\n' ? lines + i + 1 : line;
    }
    if (strcmp(lines, expected) != 0) {
        fail_msg("a journal that goes on \"%.200s\", where it should \"%.200s\"", line,
                 expected + (line - lines));
    }
}

static void check_end(struct kill_world *world)
{
    struct account account;
    struct check_findings findings = check_store(world->scene, NULL);
    assert_int_equal(findings.runs, 1);
    assert_int_equal(findings.unfinished_runs, 0);
    read_journal(world->scene, &account);
    if (world->undisturbed.len > 0) {
        expect_journal(buf_string(&account.lines), buf_string(&world->undisturbed));
    }
    assert_true(account.repeated <= 1);
    check_requests(world, &account);
    if (world->is_delicate) {
        world->doubts += account.doubtful > 0 ? 1 : 0;
        check_effects(world, &account);
    } else {
        assert_int_equal(account.doubtful, 0);
        check_notes(world);
    }
    buf_fini(&account.lines);
}

/** One point. @return false when the run ended before its N-th call */
static bool kill_at(struct kill_world *world, const char *syscall, uint64_t n)
{
    clear(world);
    struct injected result = start_run(world, syscall, n);
    bool is_ended = WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0;
    if (!result.is_killed && !is_ended) {
        fail_msg("%s %" PRIu64 ": status %x:\n%s", syscall, n, (unsigned)result.status,
                 buf_string(&result.output));
    }
    buf_fini(&result.output);
    if (result.is_killed) {
        finish_run(world);
    }
    check_end(world);
    return result.is_killed;
}

static void learn_undisturbed(struct kill_world *world)
{
    struct account account;
    clear(world);
    finish_run(world);
    check_end(world);
    read_journal(world->scene, &account);
    assert_int_equal(account.repeated, 0);
    world->undisturbed = account.lines;
}

/** Kill at every `stride`-th call. @param least points that there must be */
static void enumerate(void **state, const char *syscall, uint64_t stride, uint64_t least)
{
    struct kill_world *world = *state;
    if (!inject_is_possible()) {
        skip();
    }
    learn_undisturbed(world);
    uint64_t points = 0;
    uint64_t n = 1 + random_below(&world->scene->random, stride);
    while (n < MOST_POINTS && kill_at(world, syscall, n)) {
        points++;
        n += stride;
    }
    print_message("%s: %" PRIu64 " points, %" PRIu64 " calls in doubt\n", syscall, points,
                  world->doubts);
    assert_true(n < MOST_POINTS);
    assert_true(points >= least);
}

/** Each commit: after the intent, the reply, the call's intent, its result, the checkpoint. */
TEST_WITH(every_commit_may_be_the_last_call, set_up, tear_down)
{
    uint64_t stride = scene_is_long() ? 1 : 5;
    enumerate(state, "fdatasync,fsync", stride, 40 / stride);
}

/** The request is half sent, or sent and not answered yet. */
TEST_WITH(every_send_may_be_the_last_call, set_up, tear_down)
{
    uint64_t stride = scene_is_long() ? 1 : 5;
    enumerate(state, "sendto,sendmsg", stride, 20 / stride);
}

/** The reply is paid for and not read, or half read. */
TEST_WITH(every_receipt_may_be_the_last_call, set_up, tear_down)
{
    uint64_t stride = scene_is_long() ? 1 : 5;
    enumerate(state, "recvfrom,recvmsg", stride, 20 / stride);
}

/** The call is recorded as begun, and has not happened. */
TEST_WITH(every_effect_may_be_the_last_call, set_up, tear_down)
{
    enumerate(state, "rename,renameat,renameat2", scene_is_long() ? 1 : 2, 5);
}

/** A command that may have run is never run again. */
TEST_WITH(a_command_in_doubt_is_not_repeated, set_up, tear_down)
{
    struct kill_world *world = *state;
    world->is_delicate = true;
    uint64_t stride = scene_is_long() ? 1 : 8;
    enumerate(state, "fdatasync,fsync", stride, 40 / stride);
    /* Only some commits leave a call in doubt; the short form may jump over all of them. */
    assert_true(world->doubts > 0 || !scene_is_long() || !inject_is_possible());
}

/** The process of the command is about to be made. */
TEST_WITH(a_command_that_may_not_have_begun_is_not_repeated, set_up, tear_down)
{
    struct kill_world *world = *state;
    world->is_delicate = true;
    enumerate(state, "clone,clone3,vfork,fork", scene_is_long() ? 1 : 2, 5);
    assert_true(world->doubts > 0 || !inject_is_possible());
}
