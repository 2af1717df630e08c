// SPDX-License-Identifier: Apache-2.0
#include "forge.h"

#include "serve_client.h"

#include "base/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_BYTES (16 * 1024 * 1024)

extern char **environ;

/** Its first line names its address. */
static int read_port(int fd)
{
    static const char mark[] = "http://127.0.0.1:";
    char line[4096];
    size_t len = 0;
    for (ssize_t n; len < sizeof(line) - 1 && memchr(line, '\n', len) == NULL; len += (size_t)n) {
        n = read(fd, line + len, sizeof(line) - 1 - len);
        if (n <= 0) {
            bench_die("the stand-in forge does not start; it needs python3");
        }
    }
    line[len] = '\0';
    const char *found = strstr(line, mark);
    return found == NULL ? 0 : (int)strtol(found + strlen(mark), NULL, 10);
}

struct forge_process forge_start(const struct bench *bench, const char *folder)
{
    const char *const argv[] = {"/usr/bin/env", "python3", bench->forge, "--folder", folder, NULL};
    struct forge_process forge = {0};
    posix_spawn_file_actions_t actions;
    int input[2];
    int output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) {
        bench_die("pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    int failure =
        posix_spawn(&forge.pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    if (failure != 0) {
        bench_die("%s: %s", bench->forge, strerror(failure));
    }
    forge.input = input[1];
    forge.port = read_port(output[0]);
    close(output[0]);
    snprintf(forge.api, sizeof(forge.api), "http://127.0.0.1:%d/api/v3", forge.port);
    return forge;
}

void forge_end(const struct forge_process *forge)
{
    close(forge->input);
    waitpid(forge->pid, NULL, 0);
}

void forge_act(const struct forge_process *forge, const char *json)
{
    static char answer[1024 * 1024];
    int status = serve_ask(forge->port, "POST", "/_control/act", json, answer, sizeof(answer));
    if (status != 200) {
        bench_die("the stand-in forge refuses %.300s: %.300s", json, answer);
    }
}

static struct json_object *ask_log(const struct forge_process *forge, const char *method)
{
    static char answer[LOG_BYTES];
    serve_ask(forge->port, method, "/_control/log", NULL, answer, sizeof(answer));
    struct json_object *entries = json_tokener_parse(answer);
    if (entries == NULL) {
        bench_die("the log of the stand-in forge is too long");
    }
    return entries;
}

struct json_object *forge_log(const struct forge_process *forge)
{
    return ask_log(forge, "GET");
}

void forge_clear_log(const struct forge_process *forge)
{
    json_object_put(ask_log(forge, "DELETE"));
}

static double number_of(struct json_object *entry, const char *member)
{
    struct json_object *value = json_member(entry, member);
    return value == NULL ? 0 : json_object_get_double(value);
}

double forge_began_s(struct json_object *entry)
{
    return number_of(entry, "began");
}

double forge_ended_s(struct json_object *entry)
{
    bool has_ended = json_member(entry, "seconds") != NULL;
    return has_ended ? forge_began_s(entry) + number_of(entry, "seconds") : 0;
}

bool forge_is_api(struct json_object *entry, const char *ending)
{
    const char *path = json_get_string(entry, "path", "");
    size_t len = strlen(path);
    return strcmp(json_get_string(entry, "kind", ""), "api") == 0 && len >= strlen(ending) &&
           strcmp(path + len - strlen(ending), ending) == 0;
}
