// SPDX-License-Identifier: Apache-2.0
/*
 * Agents against a mock model server (mock_model.h): what a durable iteration costs beside a bare
 * loop with libcurl and SQLite (agent/floor.c says exactly what that does), what it costs
 * after a thousand others, how soon the first request is there, and many agents at once.
 */
#include "measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define ITERATIONS "200"
#define OLD        "1000"
#define MANY_TURNS "3"

/** A running mock. */
struct mock_server {
    pid_t pid;
    char port[16];
    char base[64];
};

static const char *program(const struct bench *bench, const char *name)
{
    static char paths[4][4096];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", bench->programs, name);
    return path;
}

/** Start a mock whose agents finish after so many iterations. @param more further options or NULL
 */
static struct mock_server server_start(const struct bench *bench, const char *iterations,
                                       const char *const *more)
{
    const char *argv[16] = {
        program(bench, "mock_model"),
        "--die-with-parent",
        "--fast",
        "--iterations",
        iterations,
        "--tool",
        "write_file",
        "--arguments",
        "{\"path\":\"note.txt\",\"content\":\"What turn {turn} has taught.\"}",
    };
    for (size_t i = 0; more != NULL && more[i] != NULL; i++) {
        argv[9 + i] = more[i];
    }
    struct mock_server server = {0};
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        bench_die("pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int failure = posix_spawn(&server.pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *said = fdopen(ends[0], "r");
    if (failure != 0 || said == NULL || fscanf(said, "listening %15s", server.port) != 1) {
        bench_die("%s does not start", argv[0]);
    }
    fclose(said);
    snprintf(server.base, sizeof(server.base), "http://127.0.0.1:%s", server.port);
    return server;
}

static void server_end(const struct mock_server *server)
{
    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
}

/** One exchange with the mock itself. @return the number after "key": in its reply, or 0 */
static double server_ask(const struct mock_server *server, const char *method, const char *path,
                         const char *body, const char *key)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)strtoul(server->port, NULL, 10)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    char text[8192];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int len = snprintf(text, sizeof(text),
                       "%s %s HTTP/1.1\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
                       method, path, strlen(body), body);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        send(fd, text, (size_t)len, 0) != len) {
        bench_die("the mock server does not answer");
    }
    size_t got = 0;
    for (ssize_t n;
         got < sizeof(text) - 1 && (n = recv(fd, text + got, sizeof(text) - 1 - got, 0)) > 0;) {
        got += (size_t)n;
    }
    close(fd);
    text[got] = '\0';
    const char *found = key == NULL ? NULL : strstr(text, key);
    return found == NULL ? 0 : strtod(found + strlen(key), NULL);
}

static const char *workspace(const struct bench *bench)
{
    const char *path = bench_path(bench, "notebook");
    mkdir(path, 0700);
    return path;
}

/** Wall time of a program that prints its peak. */
static double timed_ms(const char *const *argv, struct samples *peaks)
{
    double began = now_us();
    double peak = bench_spawn_number(argv);
    double duration = (now_us() - began) / 1e3;
    samples_add(peaks, peak);
    return duration;
}

/** Let the engine make its first requests, for the floor to make the same. */
static void learn_requests(const struct bench *bench, const char *kept)
{
    const char *const keep[] = {"--keep-bodies", kept, NULL};
    mkdir(kept, 0700);
    struct mock_server server = server_start(bench, "2", keep);
    const char *store = bench_path(bench, "agent.db");
    bench_remove_store(store);
    const char *const argv[] = {
        program(bench, "bench_agent"), "run", store, server.base, workspace(bench), "2", NULL};
    bench_spawn_number(argv);
    server_end(&server);
}

static void measure_iterations(struct bench *bench)
{
    char first[4096];
    char third[4096];
    char url[128];
    const char *kept = bench_path(bench, "bodies");
    snprintf(first, sizeof(first), "%s/run-0001.json", kept);
    snprintf(third, sizeof(third), "%s/run-0003.json", kept);
    learn_requests(bench, kept);
    struct mock_server server = server_start(bench, ITERATIONS, NULL);
    snprintf(url, sizeof(url), "%s/c/floor/v1/chat/completions", server.base);
    const char *store = bench_path(bench, "agent.db");
    const char *folder = workspace(bench);
    const char *const ours[] = {
        program(bench, "bench_agent"), "run", store, server.base, folder, ITERATIONS, NULL};
    const char *const bare[] = {program(bench, "bench_agent_floor"),
                                "run",
                                store,
                                url,
                                first,
                                third,
                                folder,
                                ITERATIONS,
                                NULL};
    struct samples our_ms = {0};
    struct samples bare_ms = {0};
    struct samples our_mib = {0};
    struct samples bare_mib = {0};
    for (size_t round = 0; round < bench_rounds(bench, 25); round++) {
        bench_remove_store(store);
        samples_add(&our_ms, timed_ms(ours, &our_mib));
        bench_remove_store(store);
        samples_add(&bare_ms, timed_ms(bare, &bare_mib));
    }
    server_end(&server);
    bench_row(bench,
              &(struct report_row){.name = "agent: 200 iterations with a tool call each",
                                   .floor_name = "a bare loop, libcurl and SQLite",
                                   .unit = "ms",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 1.5},
              &our_ms, &bare_ms);
    bench_row(bench,
              &(struct report_row){.name = "agent: peak memory of 200 iterations",
                                   .floor_name = "a bare loop, libcurl and SQLite",
                                   .unit = "MiB",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 8},
              &our_mib, &bare_mib);
}

static void measure_history(struct bench *bench)
{
    struct mock_server server = server_start(bench, "1000000", NULL);
    const char *store = bench_path(bench, "agent.db");
    const char *const argv[] = {
        program(bench, "bench_agent"), "history", store, server.base, workspace(bench), OLD, NULL};
    struct samples old_us = {0};
    struct samples young_us = {0};
    for (size_t round = 0; round < 3; round++) {
        double medians[2];
        bench_remove_store(store);
        server_ask(&server, "PUT", "/c/old/script",
                   "{\"loop\":{\"iterations\":1000000,\"tool\":\"write_file\",\"arguments\":"
                   "{\"path\":\"note.txt\",\"content\":\"{turn}\"}},\"is_checked\":false}",
                   NULL);
        bench_spawn_numbers(argv, medians, 2);
        samples_add(&old_us, medians[0]);
        samples_add(&young_us, medians[1]);
    }
    server_end(&server);
    bench_row(bench,
              &(struct report_row){.name = "agent: iteration 1,000",
                                   .floor_name = "iteration 10",
                                   .unit = "us",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 1.1},
              &old_us, &young_us);
}

/** From the start of a program until its first request has come. */
static double first_request_ms(const struct mock_server *server, const char *const *argv)
{
    server_ask(server, "PUT", "/c/start/script",
               "{\"loop\":{\"iterations\":1,\"tool\":\"write_file\",\"arguments\":{\"path\":"
               "\"note.txt\",\"content\":\"x\"}},\"is_checked\":false}",
               NULL);
    double began = now_us();
    bench_spawn_us(argv);
    double first = server_ask(server, "GET", "/c/start/stats", "", "\"first_ns\":") / 1e3;
    if (first <= 0) {
        bench_die("%s sent no request", argv[0]);
    }
    return (first - began) / 1e3;
}

static void write_role(const struct bench *bench, const struct mock_server *server,
                       const char *path)
{
    char text[4096];
    const char *const argv[] = {program(bench, "bench_agent"), "role", server->base,
                                workspace(bench), NULL};
    bench_spawn_text(argv, text, sizeof(text));
    FILE *file = fopen(path, "we");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        bench_die("%s: %s", path, strerror(errno));
    }
}

static void measure_start(struct bench *bench)
{
    struct mock_server server = server_start(bench, "1", NULL);
    const char *store = bench_path(bench, "start-agent.db");
    const char *role = bench_path(bench, "role.yaml");
    write_role(bench, &server, role);
    setenv("OPENAI_API_KEY", "bench", 1);
    const char *const ours[] = {bench->cli, "run", role, "-a", "-p", "Go.", "--store", store, NULL};
    const char *const bare[] = {program(bench, "bench_agent_send"), server.port,
                                "/c/start/v1/chat/completions", NULL};
    struct samples our_ms = {0};
    struct samples bare_ms = {0};
    for (size_t round = 0; round < bench_rounds(bench, 50); round++) {
        samples_add(&our_ms, first_request_ms(&server, ours));
        samples_add(&bare_ms, first_request_ms(&server, bare));
    }
    server_end(&server);
    bench_row(bench,
              &(struct report_row){.name = "rondo run ROLE -a: start to first request",
                                   .floor_name = "a bare program that connects and sends",
                                   .unit = "ms",
                                   .goal_kind = GOAL_EXCESS_MAX,
                                   .goal = 5},
              &our_ms, &bare_ms);
}

static void measure_many(struct bench *bench, const char *count, const char *name,
                         const char *time_name)
{
    const char *const delay[] = {"--delay-ms", "200", NULL};
    struct mock_server server = server_start(bench, MANY_TURNS, delay);
    const char *store = bench_path(bench, "many.db");
    const char *const argv[] = {
        program(bench, "bench_agent"), "many", store, server.base, workspace(bench), count, NULL};
    struct samples each_kib = {0};
    struct samples seconds = {0};
    struct samples least = {0};
    struct samples none = {0};
    double numbers[2];
    bench_remove_store(store);
    double began = now_us();
    bench_spawn_numbers(argv, numbers, 2);
    samples_add(&seconds, (now_us() - began) / 1e6);
    double wanted = strtod(count, NULL);
    if (numbers[0] < wanted) {
        bench_die("%.0f of %s agents have finished", numbers[0], count);
    }
    samples_add(&each_kib, numbers[1]);
    samples_add(&least, 2 * strtod(MANY_TURNS, NULL) * 0.2);
    double repeated = server_ask(&server, "GET", "/stats", "", "\"repeated_turns\":");
    server_end(&server);
    if (repeated > 0) {
        bench_die("%.0f replies were paid for twice", repeated);
    }
    bench_row(bench,
              &(struct report_row){.name = name,
                                   .floor_name = "nothing",
                                   .unit = "KiB",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 60},
              &each_kib, &none);
    bench_row(bench,
              &(struct report_row){.name = time_name,
                                   .floor_name = "the time that the model takes for its replies",
                                   .unit = "s"},
              &seconds, &least);
}

void figure_agent(struct bench *bench)
{
    measure_iterations(bench);
    measure_history(bench);
    if (bench->cli != NULL) {
        measure_start(bench);
    }
}

void figure_agents(struct bench *bench)
{
    measure_many(bench, "100", "memory that each of 100 agents adds at the peak",
                 "100 agents at once, 3 iterations each");
    measure_many(bench, "1000", "memory that each of 1,000 agents adds at the peak",
                 "1,000 agents at once, 3 iterations each");
    measure_many(bench, "5000", "memory that each of 5,000 agents adds at the peak",
                 "5,000 agents at once, 3 iterations each");
    measure_many(bench, "10000", "memory that each of 10,000 agents adds at the peak",
                 "10,000 agents at once, 3 iterations each");
}
