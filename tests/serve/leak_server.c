// SPDX-License-Identifier: Apache-2.0
/* Starting the server under test, and what is known of it. */
#include "leak.h"

#include "../support/http_raw.h"
#include "base/auto.h"
#include "base/json/json.h"
#include "os/file_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void leak_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

/** Run the program with its output in a pipe. @return the end to read from */
static int start(const struct leak_server *server, const char *const *arguments, int output,
                 pid_t *ret_pid)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0 || (*ret_pid = fork()) < 0) {
        leak_die("cannot start %s", server->program);
    }
    if (*ret_pid == 0) {
        prctl(PR_SET_PDEATHSIG,
              SIGKILL); /* a test that fails leaves no server that holds its output */
        dup2(ends[1], output);
        if (chdir(server->folder) == 0) {
            setenv("XDG_STATE_HOME", server->folder, 1);
            execv(server->program, (char *const *)(uintptr_t)arguments);
        }
        _exit(127);
    }
    close(ends[1]);
    return ends[0];
}

/** What a command writes. */
static void command(const struct leak_server *server, const char *const *arguments,
                    struct buf *ret_text)
{
    pid_t pid;
    int status = 0;
    auto_close int fd = start(server, arguments, STDOUT_FILENO, &pid);
    ssize_t n = 0;
    while ((n = read(fd, buf_room(ret_text, 4096), 4096)) > 0) {
        buf_grown(ret_text, (size_t)n);
    }
    if (waitpid(pid, &status, 0) < 0 || status != 0) {
        leak_die("%s %s failed", server->program, arguments[1]);
    }
}

static void make_token(const struct leak_server *server, const char *name, const char *scope,
                       const char *agent, char *ret_token)
{
    auto_buf struct buf text = {0};
    const char *const arguments[] = {server->program, "token",   "create",   name,  "--scope",
                                     scope,           "--store", "rondo.db", agent, NULL};
    command(server, arguments, &text);
    const char *token = strstr(buf_string(&text), "rondo_");
    if (token == NULL) {
        leak_die("no token: %s", buf_string(&text));
    }
    snprintf(ret_token, 128, "%.*s", (int)strcspn(token, " \n"), token);
}

/** Wait for "127.0.0.1:PORT" in what it says. */
static void read_address(struct leak_server *server, int fd)
{
    auto_buf struct buf text = {0};
    const char *found = NULL;
    ssize_t n = 1;
    while (n > 0 && ((found = strstr(buf_string(&text), "127.0.0.1:")) == NULL ||
                     strpbrk(found, " /\n") == NULL)) {
        n = read(fd, buf_room(&text, 1024), 1024);
        buf_grown(&text, n > 0 ? (size_t)n : 0);
    }
    if (n <= 0) {
        leak_die("the server does not start: %s", buf_string(&text));
    }
    snprintf(server->address, sizeof(server->address), "%.*s", (int)strcspn(found, " /\n"), found);
}

static void ask(const struct leak_server *server, const char *method, const char *path,
                const char *body, struct buf *ret_bytes)
{
    auto_buf struct buf request = {0};
    buf_printf(&request,
               "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
               "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
               "Content-Length: %zu\r\n\r\n%s",
               method, path, server->administer, strlen(body), body);
    http_raw_ask(server->address, buf_string(&request), ret_bytes);
}

/** Execute something short, so that there is a run with events. */
static void make_run(struct leak_server *server)
{
    auto_buf struct buf answer = {0};
    ask(server, "POST", "/v1/runs",
        "{\"command\":[\"true\"],\"agent_id\":\"fixer\",\"sandbox\":\"none\","
        "\"max_iterations\":2}",
        &answer);
    const char *id = strstr(buf_string(&answer), "\"run_id\":\"");
    if (id == NULL) {
        leak_die("no run: %s", buf_string(&answer));
    }
    snprintf(server->run, sizeof(server->run), "%.36s", id + 10);
}

/** "/v1/runs/{run}/events" with what there is in place of names. */
static void fill_path(const struct leak_server *server, const char *pattern, char *ret_path,
                      size_t size)
{
    auto_buf struct buf path = {0};
    while (*pattern != '\0') {
        size_t len = strcspn(pattern, "{");
        buf_append(&path, pattern, len);
        pattern += len;
        if (*pattern == '{') {
            bool is_run = strncmp(pattern, "{run", 4) == 0;
            bool is_number = strncmp(pattern, "{number", 7) == 0;
            buf_append_string(&path, is_run ? server->run : is_number ? "1" : "none");
            pattern += strcspn(pattern, "}") + 1;
        }
    }
    snprintf(ret_path, size, "%s", buf_string(&path));
}

static void take_route(struct leak_server *server, const char *path, const char *method,
                       struct json_object *operation)
{
    struct json_object *member = NULL;
    if (server->route_count == LEAK_ROUTES) {
        leak_die("more than %d operations", LEAK_ROUTES);
    }
    struct leak_route *route = &server->routes[server->route_count++];
    *route = (struct leak_route){0};
    for (size_t i = 0; method[i] != '\0' && i < sizeof(route->method) - 1; i++) {
        route->method[i] = (char)(method[i] - 'a' + 'A');
    }
    fill_path(server, path, route->path, sizeof(route->path));
    route->has_body = json_object_object_get_ex(operation, "requestBody", &member);
    route->is_public = strncmp(path, "/v1/", 4) != 0 || strstr(path, "openapi") != NULL;
    route->is_stream = strcmp(path, "/v1/stream") == 0;
    const char *scope = json_get_string(operation, "x-rondo-scope", "");
    route->token = strcmp(scope, "agent") == 0 ? server->agent
                   : strcmp(scope, "decide") == 0 || strcmp(scope, "reveal") == 0
                       ? server->reveal
                       : server->administer;
}

static void read_routes(struct leak_server *server)
{
    auto_buf struct buf answer = {0};
    auto_json struct json_object *description = NULL;
    struct json_object *paths = NULL;
    ask(server, "GET", "/v1/openapi.json", "", &answer);
    const char *body = strstr(buf_string(&answer), "\r\n\r\n");
    if (body == NULL || json_parse(body + 4, strlen(body + 4), &description, NULL) < 0 ||
        !json_object_object_get_ex(description, "paths", &paths)) {
        leak_die("no description of the API");
    }
    struct json_object_iter path;
    struct json_object_iter method;
    json_object_object_foreachC(paths, path)
    {
        json_object_object_foreachC(path.val, method)
        {
            if (strcmp(method.key, "parameters") != 0) {
                take_route(server, path.key, method.key, method.val);
            }
        }
    }
}

void leak_server_start(struct leak_server *server, const char *program, const char *const *more)
{
    const char *arguments[24] = {
        program,    "serve",  "--require-token", "--listen",  "127.0.0.1:0", "--store",
        "rondo.db", "--rate", "1000000",         "--orphans", "leave"};
    size_t count = 11;
    *server = (struct leak_server){.program = program, .folder = "/tmp/rondo-leak-XXXXXX"};
    if (mkdtemp(server->folder) == NULL) {
        leak_die("no temporary folder");
    }
    for (; more != NULL && *more != NULL && count < 23; more++) {
        arguments[count++] = *more;
    }
    make_token(server, "a", "administer", NULL, server->administer);
    make_token(server, "r", "read", NULL, server->read);
    make_token(server, "o", "read", "--agent=other", server->other);
    make_token(server, "g", "agent", "--agent=none", server->agent);
    make_token(server, "d", "reveal", NULL, server->reveal);
    int fd = start(server, arguments, STDERR_FILENO, &server->pid);
    read_address(server, fd);
    fcntl(fd, F_SETFL,
          O_NONBLOCK); /* stays open, unread: audit lines that fit nowhere are counted */
    make_run(server);
    read_routes(server);
}

void leak_server_end(struct leak_server *server)
{
    int status = 0;
    kill(server->pid, SIGTERM);
    if (waitpid(server->pid, &status, 0) < 0 || !WIFEXITED(status)) {
        leak_die("the server ended with status %d", status);
    }
    file_remove_tree(server->folder, NULL);
}

long leak_server_rss(const struct leak_server *server)
{
    char path[64];
    char line[256];
    long kib = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)server->pid);
    auto_fclose FILE *file = fopen(path, "re");
    while (file != NULL && kib == 0 && fgets(line, sizeof(line), file) != NULL) {
        sscanf(line, "VmRSS: %ld", &kib);
    }
    if (kib == 0) {
        leak_die("the server has ended");
    }
    return kib;
}

double leak_server_seconds(const struct leak_server *server)
{
    char path[64];
    unsigned long user = 0;
    unsigned long system = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)server->pid);
    auto_fclose FILE *file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%*d %*s %*s %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                               &user, &system) != 2) {
        leak_die("the server has ended");
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

int leak_server_descriptors(const struct leak_server *server)
{
    char path[64];
    int count = -2;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)server->pid);
    DIR *folder = opendir(path);
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}
