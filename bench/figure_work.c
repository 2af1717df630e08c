// SPDX-License-Identifier: Apache-2.0
/*
 * The work queue against the stand-in forge: what a poll of a repository with 5,000 issues costs,
 * what a server with 50 repositories takes while there is nothing to do, and how long it is from
 * the claim on an issue to its worker. The forge is slow in its own way (Python, git processes), so
 * the time inside its requests, by its log, is left out where a goal is about Rondo.
 */
#include "forge.h"
#include "serve_client.h"

#include "base/json/json.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ISSUES       5000
#define PAGE         100
#define REPOSITORIES 50
#define TOKEN        "token-rondo-bot"
#define LIST         "/repos/acme/shop/issues"
/** Polls without news that are looked at. */
#define POLLS 3

extern char **environ;

static void remove_folder(const char *path)
{
    const char *const argv[] = {"/bin/rm", "-rf", path, NULL};
    (void)bench_spawn_us(argv);
}

/** A home with nothing in it but who commits: clones are made in it. */
static void make_home(const struct bench *bench)
{
    FILE *file = fopen(bench_path(bench, ".gitconfig"), "w");
    if (file == NULL || fputs("[user]\nname = bench\nemail = bench@example.org\n", file) < 0 ||
        fclose(file) != 0) {
        bench_die("the home cannot be made: %s", strerror(errno));
    }
    remove_folder(bench_path(bench, ".cache"));
    setenv("HOME", bench->folder, 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_STATE_HOME");
}

/** A forge in a folder that is new. */
static struct forge_process begin(const struct bench *bench)
{
    remove_folder(bench_path(bench, "forge"));
    make_home(bench);
    setenv("BENCH_TOKEN", TOKEN, 1);
    return forge_start(bench, bench_path(bench, "forge"));
}

/** @param poll time between polls @param worker a script of the shell */
static pid_t start_work(const struct bench *bench, const struct forge_process *forge,
                        const char *poll, const char *worker)
{
    char repository[64];
    char script[9000];
    pid_t pid = 0;
    snprintf(repository, sizeof(repository), "http://127.0.0.1:%d/acme/shop", forge->port);
    snprintf(script, sizeof(script), "exec \"$@\" >'%s' 2>&1", bench_path(bench, "work.log"));
    bench_remove_store(bench_path(bench, "work.db"));
    const char *const argv[] = {"/bin/sh",
                                "-c",
                                script,
                                "sh",
                                bench->cli,
                                "work",
                                "--repo",
                                repository,
                                "--forge",
                                "github",
                                "--api",
                                forge->api,
                                "--poll",
                                poll,
                                "--token-env",
                                "BENCH_TOKEN",
                                "--write-gap",
                                "1ms",
                                "--issues-per-hour",
                                "1000",
                                "--sandbox",
                                "none",
                                "--gate",
                                "true=true",
                                "--store",
                                bench_path(bench, "work.db"),
                                "--",
                                "/bin/sh",
                                "-c",
                                worker,
                                NULL};
    int failure = posix_spawn(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environ);
    if (failure != 0) {
        bench_die("rondo work: %s", strerror(failure));
    }
    return pid;
}

static void end_work(pid_t pid)
{
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
}

static void die_of_work(const struct bench *bench, pid_t pid)
{
    siginfo_t info = {0};
    char said[2000];
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) {
        return;
    }
    const char *const argv[] = {"/usr/bin/tail", bench_path(bench, "work.log"), NULL};
    bench_spawn_text(argv, said, sizeof(said));
    bench_die("rondo work has ended: %s", said);
}

/* ---- A poll ---------------------------------------------------------------------------------- */

struct poll_numbers {
    struct samples first_requests, first_kib, first_ms;
    struct samples next_requests, next_kib, next_ms;
    struct samples bare_first_ms, bare_next_ms;
};

/** The first list, and the polls after it. @return whether there were enough of them */
static bool read_polls(struct json_object *log, struct poll_numbers *numbers)
{
    double first_count = 0;
    double first_bytes = 0;
    double began_s = 0;
    double ended_s = 0;
    double next_count = 0;
    double next_bytes = 0;
    double next_s = 0;
    double polls = 0;
    for (size_t i = 0; i < json_object_array_length(log); i++) {
        struct json_object *entry = json_object_array_get_idx(log, i);
        bool is_list = forge_is_api(entry, "/issues"); /* Later pages have paths of their own. */
        bool is_poll = is_list && json_get_int(entry, "status", 0) == 304;
        double bytes = (double)json_get_int(entry, "sent", 0);
        double seconds = forge_ended_s(entry) - forge_began_s(entry);
        if (forge_ended_s(entry) <= 0) {
            continue;
        }
        polls += is_poll ? 1 : 0;
        if (polls > 0) {
            next_count++;
            next_bytes += bytes;
            next_s += seconds;
        } else if (is_list) {
            began_s = first_count == 0 ? forge_began_s(entry) : began_s;
            ended_s = forge_ended_s(entry);
            first_count++;
            first_bytes += bytes;
        }
    }
    if (polls < POLLS) {
        return false;
    }
    samples_add(&numbers->first_requests, first_count);
    samples_add(&numbers->first_kib, first_bytes / 1024);
    samples_add(&numbers->first_ms, (ended_s - began_s) * 1e3);
    samples_add(&numbers->next_requests, next_count / polls);
    samples_add(&numbers->next_kib, next_bytes / polls / 1024);
    samples_add(&numbers->next_ms, next_s / polls * 1e3);
    return true;
}

/** The same pages, by a program that does nothing with them. */
static void measure_bare(const struct forge_process *forge, struct poll_numbers *numbers)
{
    static char answer[4 * 1024 * 1024];
    static const char headers[] = "Authorization: token " TOKEN "\r\n";
    char path[200];
    int fd = serve_connect(forge->port);
    double began_us = now_us();
    for (int page = 1; page <= ISSUES / PAGE; page++) {
        snprintf(path, sizeof(path), "/api/v3" LIST "?state=open&labels=code&per_page=%d&page=%d",
                 PAGE, page);
        if (serve_ask_with(fd, headers, "GET", path, NULL, answer, sizeof(answer)) != 200) {
            bench_die("the stand-in forge refuses %s", path);
        }
    }
    samples_add(&numbers->bare_first_ms, (now_us() - began_us) / 1e3);
    began_us = now_us();
    serve_ask_with(fd, headers, "GET", "/api/v3" LIST "?per_page=1", NULL, answer, sizeof(answer));
    samples_add(&numbers->bare_next_ms, (now_us() - began_us) / 1e3);
    close(fd);
}

static void measure_poll(const struct bench *bench, const struct forge_process *forge,
                         struct poll_numbers *numbers)
{
    bool is_read = false;
    forge_clear_log(forge);
    pid_t pid = start_work(bench, forge, "500ms", "exit 1");
    while (!is_read) {
        usleep(200000);
        die_of_work(bench, pid);
        struct json_object *log = forge_log(forge);
        is_read = read_polls(log, numbers);
        json_object_put(log);
    }
    end_work(pid);
    measure_bare(forge, numbers);
}

static void report_polls(struct bench *bench, struct poll_numbers *numbers)
{
    bench_row(bench,
              &(struct report_row){.name = "poll of 5,000 issues, no news: requests",
                                   .floor_name = "the first list",
                                   .unit = "",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 1},
              &numbers->next_requests, &numbers->first_requests);
    bench_row(bench,
              &(struct report_row){.name = "the same: bytes of answers",
                                   .floor_name = "the first list",
                                   .unit = "KiB"},
              &numbers->next_kib, &numbers->first_kib);
    bench_row(bench,
              &(struct report_row){.name = "first list of 5,000 issues: time",
                                   .floor_name = "its pages, by a bare client",
                                   .unit = "ms"},
              &numbers->first_ms, &numbers->bare_first_ms);
    bench_row(bench,
              &(struct report_row){.name = "poll of 5,000 issues, no news: time at the forge",
                                   .floor_name = "one issue, by a bare client",
                                   .unit = "ms"},
              &numbers->next_ms, &numbers->bare_next_ms);
}

/** Issues that are somebody else's: they are listed, and nothing is done with them. */
void figure_polls(struct bench *bench)
{
    char action[200];
    struct poll_numbers numbers = {0};
    if (bench->cli == NULL || bench->forge == NULL) {
        return;
    }
    struct forge_process forge = begin(bench);
    snprintf(action, sizeof(action),
             "{\"do\":\"create-issue\",\"title\":\"Issue\",\"labels\":[\"code\"],"
             "\"assignees\":[\"maria\"],\"count\":%d}",
             ISSUES);
    forge_act(&forge, action);
    for (size_t round = 0; round < bench_rounds(bench, 5); round++) {
        measure_poll(bench, &forge, &numbers);
    }
    forge_end(&forge);
    report_polls(bench, &numbers);
}

/* ---- Nothing to do --------------------------------------------------------------------------- */

static void make_repositories(const struct bench *bench, const struct forge_process *forge)
{
    FILE *file = fopen(bench_path(bench, "work.yaml"), "w");
    if (file == NULL) {
        bench_die("work.yaml: %s", strerror(errno));
    }
    fprintf(file,
            "defaults:\n  forge: github\n  api: %s\n  token-env: BENCH_TOKEN\n  poll: 5m\n"
            "  sandbox: none\n  gate: [true=true]\n  command: [/bin/true]\nrepositories:\n",
            forge->api);
    for (int i = 0; i < REPOSITORIES; i++) {
        char action[200];
        snprintf(action, sizeof(action),
                 "{\"do\":\"create-repository\",\"repository\":\"acme/r-%d\","
                 "\"files\":{\"README.md\":\"x\\n\"}}",
                 i);
        forge_act(forge, action);
        fprintf(file, "  - repo: http://127.0.0.1:%d/acme/r-%d\n", forge->port, i);
    }
    (void)fclose(file);
}

/** Until each repository was polled once. */
static void wait_for_polls(const struct forge_process *forge)
{
    for (int polled = 0; polled < REPOSITORIES;) {
        usleep(200000);
        struct json_object *log = forge_log(forge);
        polled = 0;
        for (size_t i = 0; i < json_object_array_length(log); i++) {
            struct json_object *entry = json_object_array_get_idx(log, i);
            polled += forge_is_api(entry, "/issues") && forge_ended_s(entry) > 0 ? 1 : 0;
        }
        json_object_put(log);
    }
}

struct repository_numbers {
    struct samples waits; /* a second */
    struct samples rss;   /* MiB */
};

static void watch(const struct bench *bench, const struct serve_process *server,
                  struct repository_numbers *numbers)
{
    unsigned seconds = bench->is_quick ? 4 : 20;
    sleep(12); /* as the figure of the idle daemon */
    double before = serve_waits(server->pid);
    sleep(seconds);
    samples_add(&numbers->waits, (serve_waits(server->pid) - before) / seconds);
    samples_add(&numbers->rss, serve_status_kib(server->pid, "VmRSS:") / 1024);
    serve_end(server, SIGTERM);
}

/** A program that has made one request with libcurl. @return its resident memory, MiB */
static double measure_network(const struct bench *bench, const struct forge_process *forge)
{
    char program[4096];
    snprintf(program, sizeof(program), "%s/bench_network", bench->programs);
    const char *const argv[] = {program, forge->api, NULL};
    return bench_spawn_number(argv) / 1024;
}

void figure_repositories(struct bench *bench)
{
    struct repository_numbers ours = {0};
    struct repository_numbers bare = {0};
    struct samples again = {0};
    struct samples network = {0};
    const char *store = bench_path(bench, "work.db");
    const char *const more[] = {"--work", bench_path(bench, "work.yaml"), NULL};
    if (bench->cli == NULL || bench->forge == NULL) {
        return;
    }
    struct forge_process forge = begin(bench);
    make_repositories(bench, &forge);
    for (size_t round = 0; round < bench_rounds(bench, 3); round++) {
        bench_remove_store(store);
        forge_clear_log(&forge);
        struct serve_process server = serve_start(bench->cli, store, more);
        wait_for_polls(&forge);
        watch(bench, &server, &ours);
        server = serve_start(bench->cli, store, NULL);
        watch(bench, &server, &bare);
        samples_add(&network, measure_network(bench, &forge));
    }
    samples_copy(&again, &ours.rss);
    forge_end(&forge);
    bench_row(bench,
              &(struct report_row){.name = "50 repositories without work: memory",
                                   .floor_name = "rondo serve",
                                   .unit = "MiB",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 12},
              &ours.rss, &bare.rss);
    bench_row(bench,
              &(struct report_row){.name = "the same against libcurl",
                                   .floor_name = "a program with one request by libcurl",
                                   .unit = "MiB"},
              &again, &network);
    bench_row(bench,
              &(struct report_row){
                  .name = "the same: wake-ups a second", .floor_name = "rondo serve", .unit = "/s"},
              &ours.waits, &bare.waits);
}

/* ---- From a claim to its worker -------------------------------------------------------------- */

/** When the claim was pushed, as the forge saw it; 0 = not yet. */
static double find_claimed_s(struct json_object *log)
{
    static const char claims[] = "refs/rondo/claims/";
    for (size_t i = 0; i < json_object_array_length(log); i++) {
        struct json_object *entry = json_object_array_get_idx(log, i);
        struct json_object *refs = json_member(entry, "refs");
        struct json_object *first = refs == NULL ? NULL : json_object_array_get_idx(refs, 0);
        if (strncmp(json_get_string(first, "ref", ""), claims, strlen(claims)) == 0) {
            return forge_ended_s(entry);
        }
    }
    return 0;
}

/** Whether the pull request is open, so that the next issue is next. */
static bool is_published(struct json_object *log)
{
    bool is_open = false;
    for (size_t i = 0; i < json_object_array_length(log); i++) {
        struct json_object *entry = json_object_array_get_idx(log, i);
        is_open = is_open || (forge_is_api(entry, "/pulls") && forge_ended_s(entry) > 0 &&
                              strcmp(json_get_string(entry, "method", ""), "POST") == 0);
    }
    return is_open;
}

/** Seconds of an interval in which a request was under way. They come in order of their beginning.
 */
static double sum_requests_s(struct json_object *log, double from_s, double until_s)
{
    double sum = 0;
    for (size_t i = 0; i < json_object_array_length(log); i++) {
        struct json_object *entry = json_object_array_get_idx(log, i);
        double began_s = forge_began_s(entry);
        double ended_s = forge_ended_s(entry);
        began_s = began_s < from_s ? from_s : began_s;
        ended_s = ended_s > until_s ? until_s : ended_s;
        if (ended_s > began_s) {
            sum += ended_s - began_s;
            from_s = ended_s; /* Of two at once the time counts once. */
        }
    }
    return sum;
}

/** @return when the worker began, s */
static double read_mark(const struct bench *bench)
{
    double us = 0;
    FILE *file = fopen(bench_path(bench, "mark"), "r");
    if (file == NULL || fscanf(file, "%lf", &us) != 1) {
        bench_die("the worker has not begun");
    }
    (void)fclose(file);
    return us / 1e6;
}

struct start_numbers {
    struct samples ours_ms, whole_ms, worker_ms;
};

/** One issue, from its claim to its pull request. */
static void measure_start(const struct bench *bench, const struct forge_process *forge, pid_t pid,
                          struct start_numbers *numbers)
{
    struct json_object *log = NULL;
    forge_clear_log(forge);
    forge_act(forge, "{\"do\":\"create-issue\",\"title\":\"A\",\"labels\":[\"code\"]}");
    do {
        json_object_put(log);
        usleep(50000);
        die_of_work(bench, pid);
        log = forge_log(forge);
    } while (!is_published(log));
    double claimed_s = find_claimed_s(log);
    double began_s = read_mark(bench);
    double forge_s = sum_requests_s(log, claimed_s, began_s);
    samples_add(&numbers->whole_ms, (began_s - claimed_s) * 1e3);
    samples_add(&numbers->ours_ms, (began_s - claimed_s - forge_s) * 1e3);
    json_object_put(log);
}

void figure_claim(struct bench *bench)
{
    char worker[9000];
    char script[14000];
    struct start_numbers numbers = {0};
    struct samples again = {0};
    if (bench->cli == NULL || bench->forge == NULL) {
        return;
    }
    struct forge_process forge = begin(bench);
    snprintf(worker, sizeof(worker), "'%s/bench_mark' '%s' && echo x >\"new-$RONDO_TASK_ID\"",
             bench->programs, bench_path(bench, "mark"));
    snprintf(script, sizeof(script), "cd '%s' && %s", bench->folder, worker);
    const char *const alone[] = {"/bin/sh", "-c", script, NULL};
    pid_t pid = start_work(bench, &forge, "100ms", worker);
    for (size_t round = 0; round < bench_rounds(bench, 25); round++) {
        measure_start(bench, &forge, pid, &numbers);
        samples_add(&numbers.worker_ms, bench_spawn_us(alone) / 1e3);
    }
    end_work(pid);
    forge_end(&forge);
    samples_copy(&again, &numbers.ours_ms);
    bench_row(bench,
              &(struct report_row){.name = "claim to worker, without the forge's time",
                                   .floor_name = "the worker alone",
                                   .unit = "ms",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 100},
              &numbers.ours_ms, &numbers.worker_ms);
    bench_row(bench,
              &(struct report_row){
                  .name = "claim to worker, with it", .floor_name = "without it", .unit = "ms"},
              &numbers.whole_ms, &again);
}
