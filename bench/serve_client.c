// SPDX-License-Identifier: Apache-2.0
#include "serve_client.h"

#include "measure.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define ARGUMENTS_MAX 32

/** A server that nobody listens to would wait for room in the pipe. */
static void *hear_out(void *context)
{
    FILE *said = context;
    char line[4096];
    while (fgets(line, sizeof(line), said) != NULL) {
    }
    fclose(said);
    return NULL;
}

/** Read the server's words until it names its port; what it says later is dropped. */
static int read_port(int fd)
{
    FILE *said = fdopen(fd, "r");
    char line[4096];
    while (said != NULL && fgets(line, sizeof(line), said) != NULL) {
        const char *found = strstr(line, "http://127.0.0.1:");
        if (found != NULL) {
            pthread_t thread;
            pthread_create(&thread, NULL, hear_out, said);
            pthread_detach(thread);
            return (int)strtol(found + strlen("http://127.0.0.1:"), NULL, 10);
        }
    }
    bench_die("rondo serve does not start");
}

static size_t append(const char **argv, size_t count, const char *const *words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL && count < ARGUMENTS_MAX - 1; i++) {
        argv[count++] = words[i];
    }
    return count;
}

struct serve_process serve_start_as(const char *cli, const char *const *command, const char *store,
                                    const char *const *more)
{
    const char *const own[] = {"--listen", "127.0.0.1:0", "--rate", "1000000",
                               "--store",  store,         NULL};
    const char *argv[ARGUMENTS_MAX] = {cli};
    append(argv, append(argv, append(argv, 1, command), own), more);
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        bench_die("pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    struct serve_process server;
    int failure = posix_spawn(&server.pid, cli, &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failure != 0) {
        bench_die("%s: %s", cli, strerror(failure));
    }
    server.port = read_port(ends[0]);
    return server;
}

struct serve_process serve_start(const char *cli, const char *store, const char *const *more)
{
    const char *const command[] = {"serve", NULL};
    return serve_start_as(cli, command, store, more);
}

void serve_end(const struct serve_process *server, int signal_number)
{
    kill(server->pid, signal_number);
    waitpid(server->pid, NULL, 0);
}

int serve_connect(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        bench_die("the server does not answer: %s", strerror(errno));
    }
    return fd;
}

/** @param headers further lines, with their ends */
static void send_request(int fd, const char *method, const char *path, const char *body,
                         const char *accept, const char *headers)
{
    char head[2048];
    int len = snprintf(head, sizeof(head),
                       "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: %s\r\n%s"
                       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                       method, path, accept, headers, strlen(body));
    /* MSG_MORE: in one segment, as clients send it. */
    int flags = body[0] == '\0' ? MSG_NOSIGNAL : MSG_NOSIGNAL | MSG_MORE;
    if (send(fd, head, (size_t)len, flags) != len ||
        send(fd, body, strlen(body), MSG_NOSIGNAL) != (ssize_t)strlen(body)) {
        bench_die("the server does not take a request");
    }
}

/** Read the head of an answer. @return bytes in the buffer, of which the head is `ret_head` */
static size_t read_head(int fd, char *bytes, size_t size, size_t *ret_head)
{
    size_t len = 0;
    for (;;) {
        ssize_t n = recv(fd, bytes + len, size - 1 - len, 0);
        if (n <= 0) {
            bench_die("no answer");
        }
        len += (size_t)n;
        bytes[len] = '\0';
        const char *end = strstr(bytes, "\r\n\r\n");
        if (end != NULL) {
            *ret_head = (size_t)(end - bytes) + 4;
            return len;
        }
    }
}

int serve_ask_on(int fd, const char *method, const char *path, const char *body, char *ret_body,
                 size_t size)
{
    return serve_ask_with(fd, "", method, path, body, ret_body, size);
}

int serve_ask_with(int fd, const char *headers, const char *method, const char *path,
                   const char *body, char *ret_body, size_t size)
{
    char dropped[4096];
    size_t head;
    send_request(fd, method, path, body == NULL ? "" : body, "application/json", headers);
    size_t len = read_head(fd, ret_body, size, &head);
    const char *length = strcasestr(ret_body, "\ncontent-length:");
    if (strncmp(ret_body, "HTTP/1.1 ", 9) != 0 || length == NULL) {
        bench_die("%s %s: no answer of a known length: %.300s", method, path, ret_body);
    }
    int status = (int)strtol(ret_body + 9, NULL, 10);
    size_t left = strtoul(length + strlen("\ncontent-length:"), NULL, 10) - (len - head);
    while (left > 0) {
        bool is_full = len == size - 1;
        size_t room = is_full ? sizeof(dropped) : size - 1 - len;
        ssize_t n = recv(fd, is_full ? dropped : ret_body + len, room < left ? room : left, 0);
        if (n <= 0) {
            bench_die("%s %s: the answer ends too soon", method, path);
        }
        len += is_full ? 0 : (size_t)n;
        left -= (size_t)n;
    }
    memmove(ret_body, ret_body + head, len - head);
    ret_body[len - head] = '\0';
    return status;
}

int serve_ask(int port, const char *method, const char *path, const char *body, char *ret_body,
              size_t size)
{
    int fd = serve_connect(port);
    int status = serve_ask_on(fd, method, path, body, ret_body, size);
    close(fd);
    return status;
}

double serve_cpu_s(pid_t pid)
{
    char path[64];
    char line[1024] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    bool is_read = file != NULL && fgets(line, sizeof(line), file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    char *at = strrchr(line, ')');
    if (!is_read || at == NULL) {
        bench_die("the server has ended");
    }
    for (int i = 0; i < 12; i++) { /* To the 14th field, utime; stime follows. */
        at = strchr(at + 1, ' ');
    }
    double user = strtod(at, &at);
    return (user + strtod(at, NULL)) / (double)sysconf(_SC_CLK_TCK);
}

double serve_status_kib(pid_t pid, const char *key)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return status_kib_of(path, key);
}

double serve_waits(pid_t pid)
{
    char path[64];
    double sum = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (const struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char status[384];
        snprintf(status, sizeof(status), "%s/%s/status", path, task->d_name);
        sum += task->d_name[0] == '.' ? 0 : status_kib_of(status, "voluntary_ctxt_switches:");
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return sum;
}

size_t serve_descriptors(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    size_t count = 0;
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count < 2 ? 0 : count - 2; /* "." and ".." */
}

int serve_stream(int port, const char *path, const char *token)
{
    char header[256] = "";
    int fd = serve_connect(port);
    if (token[0] != '\0') {
        snprintf(header, sizeof(header), "Authorization: Bearer %s\r\n", token);
    }
    send_request(fd, "GET", path, "", "text/event-stream", header);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        bench_die("fcntl: %s", strerror(errno));
    }
    return fd;
}
