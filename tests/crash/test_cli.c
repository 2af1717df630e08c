// SPDX-License-Identifier: Apache-2.0
/*
 * The command line with worker commands: killed at random instants, raced, and with a store that
 * fails. Each worker leaves processes on purpose, one of them in a session of its own; none
 * may be there after rondo itself was killed.
 */
#include "check.h"
#include "inject.h"

#include "base/auto.h"
#include "base/clock.h"
#include "os/file.h"
#include "support/test.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LATEST_KILL_NS   (150 * NS_PER_MS)
#define EXIT_OF_LIMIT    5
#define EXIT_OF_HOLDER   9
#define EXIT_OF_STORE    10
#define ENVIRONMENT_SIZE ((size_t)1 << 20)

static const char worker_text[] = "#!/bin/sh\n"
                                  "echo \"$RONDO_RUN_ID $RONDO_ITERATION\" >> \"$CRASH_EFFECTS\"\n"
                                  "sleep 1000 &\n"
                                  "setsid sleep 1000 > /dev/null 2>&1 &\n"
                                  "while [ -e \"$CRASH_GATE\" ]; do sleep 0.02; done\n";

struct cli {
    struct crash_scene *scene;
    char worker[SCENE_PATH + 16];
    char gate[SCENE_PATH + 16]; /* while this file is there, workers do not end */
    char mark[64];              /* in the environment of everything that rondo starts */
};

static void prepare(struct cli *cli, struct crash_scene *scene)
{
    cli->scene = scene;
    snprintf(cli->worker, sizeof(cli->worker), "%s/worker", scene->folder);
    snprintf(cli->gate, sizeof(cli->gate), "%s/gate", scene->folder);
    snprintf(cli->mark, sizeof(cli->mark), "CRASH_MARK=%016" PRIx64, random_u64(random_system()));
    assert_int_equal(file_replace_durably(cli->worker, worker_text, strlen(worker_text), NULL), 0);
    assert_int_equal(chmod(cli->worker, 0700), 0);
    setenv("CRASH_EFFECTS", scene->effects, 1);
    setenv("CRASH_GATE", cli->gate, 1);
    setenv("CRASH_MARK", strchr(cli->mark, '=') + 1, 1);
}

static bool has_mark(const char *pid, const char *mark)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
    auto_fclose FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    auto_free char *bytes = malloc(ENVIRONMENT_SIZE);
    size_t len = fread(bytes, 1, ENVIRONMENT_SIZE, file);
    return memmem(bytes, len, mark, strlen(mark)) != NULL;
}

/**
 * Number of processes that rondo has started, rondo itself included.
 * @param signal to be sent to each; 0 = none
 */
static int count_marked(const char *mark, int signal)
{
    DIR *folder = opendir("/proc");
    assert_non_null(folder);
    int count = 0;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        bool is_process = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
        if (is_process && has_mark(entry->d_name, mark)) {
            count++;
            kill((pid_t)strtol(entry->d_name, NULL, 10), signal);
        }
    }
    closedir(folder);
    return count;
}

/** When a test has failed, what rondo should have ended may live on. */
static int teardown(void **state)
{
    char mark[64];
    const char *value = getenv("CRASH_MARK");
    snprintf(mark, sizeof(mark), "CRASH_MARK=%s", value == NULL ? "-" : value);
    count_marked(mark, SIGKILL);
    return scene_teardown(state);
}

static void wait_until_nothing_is_left(const struct cli *cli)
{
    int64_t deadline = clock_monotonic(clock_system()) + SCENE_PATIENCE_NS / 4;
    int count;
    while ((count = count_marked(cli->mark, 0)) > 0) {
        if (clock_monotonic(clock_system()) > deadline) {
            fail_msg("%d processes were left behind", count);
        }
        clock_sleep(clock_system(), 2 * NS_PER_MS, NULL);
    }
}

static struct child *start_loop(struct cli *cli, const char *limit)
{
    const char *const argv[] = {
        rondo_path(),       "loop", "--json", "--store", cli->scene->store, "-C",
        cli->scene->folder, "-n",   limit,    "--",      cli->worker,       NULL,
    };
    return child_start(cli->scene, argv);
}

static struct child *resume(struct cli *cli, const char *run_id)
{
    const char *const argv[] = {rondo_path(),      "resume", "--json", "--store",
                                cli->scene->store, run_id,   NULL};
    return child_start(cli->scene, argv);
}

static void expect_exit(struct child *child, int code)
{
    int status = child_wait(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code) {
        fputs(buf_string(&child->out), stderr); /* more than a message of cmocka can hold */
        fail_msg("rondo ended with status %x instead of exit code %d", (unsigned)status, code);
    }
}

static void open_gate(const struct cli *cli)
{
    assert_int_equal(remove(cli->gate), 0);
}

static void close_gate(const struct cli *cli)
{
    assert_int_equal(file_replace_durably(cli->gate, "", 0, NULL), 0);
}

static struct check_findings kill_once(struct cli *cli, struct ledger *ledger,
                                       const struct check_findings *before)
{
    /* After a closed gate a worker never ends by itself. */
    bool is_closed = random_below(&cli->scene->random, 2) == 0;
    if (is_closed) {
        close_gate(cli);
    }
    struct child *child =
        before->unfinished_runs > 0 ? resume(cli, before->last_run) : start_loop(cli, "6");
    child_listen(child, (int64_t)random_below(&cli->scene->random, LATEST_KILL_NS));
    child_kill_alone(child);
    if (!WIFSIGNALED(child->status)) {
        expect_exit(child, EXIT_OF_LIMIT);
    }
    ledger_read(ledger, &child->out);
    child_end(child);
    wait_until_nothing_is_left(cli);
    if (is_closed) {
        open_gate(cli);
    }
    return check_store(cli->scene, ledger);
}

#define CASE(name) TEST_WITH(name, scene_setup, teardown)

CASE(a_killed_command_line_leaves_no_process_and_loses_nothing)
{
    struct cli cli;
    struct ledger ledger = {0};
    struct check_findings findings = {0};
    prepare(&cli, *state);
    int64_t count = scene_number("RONDO_CRASH_CLI_COUNT", scene_is_long() ? 500 : 25);
    for (int64_t i = 0; i < count; i++) {
        findings = kill_once(&cli, &ledger, &findings);
    }
    if (findings.unfinished_runs > 0) {
        struct child *child = resume(&cli, findings.last_run);
        expect_exit(child, EXIT_OF_LIMIT);
        ledger_read(&ledger, &child->out);
        child_end(child);
    }
    findings = check_store(cli.scene, &ledger);
    assert_int_equal(findings.unfinished_runs, 0);
    wait_until_nothing_is_left(&cli);
    print_message("%" PRId64 " kills, %zu facts shown, 0 lost; %" PRIu64 " runs, %" PRIu64
                  " iterations finished, %" PRIu64 " interrupted, %" PRIu64 " effects\n",
                  count, ledger.count, findings.runs, findings.finished, findings.interrupted,
                  findings.effects);
    ledger_clear(&ledger);
}

/** Wait until one of two has ended its output. @return the other one */
static struct child *first_to_end(struct child *one, struct child *other, struct child **ret_loser)
{
    int64_t deadline = clock_monotonic(clock_system()) + SCENE_PATIENCE_NS;
    while (clock_monotonic(clock_system()) < deadline) {
        if (!child_listen(one, 5 * NS_PER_MS)) {
            *ret_loser = one;
            return other;
        }
        if (!child_listen(other, 5 * NS_PER_MS)) {
            *ret_loser = other;
            return one;
        }
    }
    fail_msg("both got the run:\n%s\n%s", buf_string(&one->out), buf_string(&other->out));
    return NULL;
}

static void race_once(struct cli *cli, struct ledger *ledger, const char *run_id)
{
    char holder[64];
    struct child *loser = NULL;
    close_gate(cli);
    struct child *one = resume(cli, run_id);
    struct child *other = resume(cli, run_id);
    struct child *winner = first_to_end(one, other, &loser);
    expect_exit(loser, EXIT_OF_HOLDER);
    snprintf(holder, sizeof(holder), "process %d on ", (int)winner->pid);
    if (strstr(buf_string(&loser->out), holder) == NULL) {
        fail_msg("the loser should name '%s':\n%s", holder, buf_string(&loser->out));
    }
    assert_non_null(child_expect(winner, "{"));
    child_kill_alone(winner);
    open_gate(cli);
    ledger_read(ledger, &winner->out);
    child_end(loser);
    child_end(winner);
    wait_until_nothing_is_left(cli);
}

CASE(one_of_two_resume_commands_wins)
{
    struct cli cli;
    struct ledger ledger = {0};
    prepare(&cli, *state);
    close_gate(&cli);
    struct child *child = start_loop(&cli, "100000");
    assert_non_null(child_expect(child, "{"));
    child_kill_alone(child);
    ledger_read(&ledger, &child->out);
    child_end(child);
    open_gate(&cli);
    struct check_findings findings = check_store(cli.scene, &ledger);
    assert_int_equal(findings.runs, 1);
    int64_t rounds = scene_is_long() ? 200 : 10;
    for (int64_t i = 0; i < rounds; i++) {
        race_once(&cli, &ledger, findings.last_run);
        check_store(cli.scene, &ledger);
    }
    print_message("%" PRId64 " rounds, one winner each\n", rounds);
    ledger_clear(&ledger);
}

/** Resume as often as the lease of the frozen owner refuses it. */
static struct child *take_over(struct cli *cli, const char *run_id)
{
    int64_t deadline = clock_monotonic(clock_system()) + SCENE_PATIENCE_NS;
    while (clock_monotonic(clock_system()) < deadline) {
        struct child *heir = resume(cli, run_id);
        if (child_expect(heir, "{\"run_id\"") != NULL) {
            return heir;
        }
        expect_exit(heir, EXIT_OF_HOLDER);
        child_end(heir);
    }
    fail_msg("the frozen owner was not taken over");
    return NULL;
}

CASE(a_frozen_command_line_that_wakes_ends_its_worker_and_gives_way)
{
    struct cli cli;
    struct ledger ledger = {0};
    prepare(&cli, *state);
    const char *const argv[] = {rondo_path(),
                                "loop",
                                "--json",
                                "--store",
                                cli.scene->store,
                                "-C",
                                cli.scene->folder,
                                "--lease",
                                "500ms",
                                "-n",
                                "2",
                                "--",
                                cli.worker,
                                NULL};
    close_gate(&cli);
    struct child *owner = child_start(cli.scene, argv);
    char run_id[ID_SIZE] = "";
    const char *line = child_expect(owner, "{\"run_id\"");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "{\"run_id\":\"%36[^\"]", run_id), 1);
    while (!file_exists(cli.scene->effects)) {
        assert_true(child_listen(owner, NS_PER_MS));
    }
    kill(owner->pid, SIGSTOP);
    struct child *heir = take_over(&cli, run_id);
    kill(owner->pid, SIGCONT);
    expect_exit(owner, EXIT_OF_HOLDER);
    open_gate(&cli);
    expect_exit(heir, EXIT_OF_LIMIT);
    ledger_read(&ledger, &owner->out);
    ledger_read(&ledger, &heir->out);
    wait_until_nothing_is_left(&cli);
    struct check_findings findings = check_store(cli.scene, &ledger);
    assert_int_equal(findings.finished, 2);
    assert_int_equal(findings.interrupted, 1);
    ledger_clear(&ledger);
}

CASE(a_failing_store_has_an_exit_code_and_a_message)
{
    struct cli cli;
    prepare(&cli, *state);
    if (!inject_is_possible()) {
        skip();
    }
    const char *const argv[] = {rondo_path(), "loop", "--quiet", "--store",  cli.scene->store,
                                "-n",         "5",    "--",      cli.worker, NULL};
    static const char *const faults[] = {"error=EIO:when=1+", "error=EIO:when=9+",
                                         "error=ENOSPC:when=9+"};
    for (size_t i = 0; i < COUNT(faults); i++) {
        scene_clear(cli.scene);
        struct injected result = inject_run(cli.scene, "fdatasync,fsync", faults[i], argv);
        if (!WIFEXITED(result.status) || WEXITSTATUS(result.status) != EXIT_OF_STORE ||
            strstr(buf_string(&result.output), cli.scene->store) == NULL) {
            fail_msg("%s: status %x, output:\n%s", faults[i], (unsigned)result.status,
                     buf_string(&result.output));
        }
        buf_fini(&result.output);
        check_store(cli.scene, NULL);
        wait_until_nothing_is_left(&cli);
    }
}
