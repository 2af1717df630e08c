// SPDX-License-Identifier: Apache-2.0
#include "serve_client.h"

#include "measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

/** Read the server's words until it names its port. */
static int read_port(int fd)
{
    FILE *said = fdopen(fd, "r");
    char line[4096];
    while (said != NULL && fgets(line, sizeof(line), said) != NULL) {
        const char *found = strstr(line, "http://127.0.0.1:");
        if (found != NULL) {
            return (int)strtol(found + strlen("http://127.0.0.1:"), NULL, 10);
        }
    }
    bench_die("rondo serve does not start");
}

struct serve_process serve_start(const char *cli, const char *store, const char *const *more)
{
    const char *argv[ARGUMENTS_MAX] = {cli,      "serve",   "--listen", "127.0.0.1:0",
                                       "--rate", "1000000", "--store",  store};
    for (size_t i = 0; more != NULL && more[i] != NULL && 8 + i < ARGUMENTS_MAX - 1; i++) {
        argv[8 + i] = more[i];
    }
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
    server.port = read_port(ends[0]); /* The pipe stays open: the server may go on talking. */
    return server;
}

void serve_end(const struct serve_process *server, int signal_number)
{
    kill(server->pid, signal_number);
    waitpid(server->pid, NULL, 0);
}

static int connect_to(int port)
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

static void send_request(int fd, const char *method, const char *path, const char *body,
                         const char *accept)
{
    char head[2048];
    int len = snprintf(head, sizeof(head),
                       "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAccept: %s\r\n"
                       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                       method, path, accept, strlen(body));
    if (send(fd, head, (size_t)len, MSG_NOSIGNAL) != len ||
        send(fd, body, strlen(body), MSG_NOSIGNAL) != (ssize_t)strlen(body)) {
        bench_die("the server does not take a request");
    }
}

/** Everything until the end of the connection; what does not fit is dropped. */
static size_t read_all(int fd, char *bytes, size_t size)
{
    char dropped[4096];
    size_t len = 0;
    for (;;) {
        bool is_full = len == size - 1;
        ssize_t n = is_full ? recv(fd, dropped, sizeof(dropped), 0)
                            : recv(fd, bytes + len, size - 1 - len, 0);
        if (n <= 0) {
            break;
        }
        len += is_full ? 0 : (size_t)n;
    }
    bytes[len] = '\0';
    return len;
}

int serve_ask(int port, const char *method, const char *path, const char *body, char *ret_body,
              size_t size)
{
    int fd = connect_to(port);
    send_request(fd, method, path, body == NULL ? "" : body, "application/json");
    size_t len = read_all(fd, ret_body, size);
    close(fd);
    const char *end = strstr(ret_body, "\r\n\r\n");
    if (strncmp(ret_body, "HTTP/1.1 ", 9) != 0 || end == NULL) {
        bench_die("%s %s: no answer", method, path);
    }
    int status = (int)strtol(ret_body + 9, NULL, 10);
    size_t head = (size_t)(end - ret_body) + 4;
    memmove(ret_body, ret_body + head, len - head + 1);
    return status;
}

int serve_stream(int port, const char *path)
{
    int fd = connect_to(port);
    send_request(fd, "GET", path, "", "text/event-stream");
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        bench_die("fcntl: %s", strerror(errno));
    }
    return fd;
}
