// SPDX-License-Identifier: Apache-2.0
/*
 * A small HTTP server on the loopback that gives requests to `git http-backend` (CGI), asks for a
 * password if told to, misbehaves if told to, and remembers what it was sent. One thread for each
 * connection, one request on each.
 */
#pragma once

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
#include "os/file.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define GIT_PEER_THREADS 512

/** What the server does with requests that are let in. */
enum git_peer_mode {
    GIT_PEER_WORKS,
    GIT_PEER_LOSES,     /**< pushes are done and not answered */
    GIT_PEER_REDIRECTS, /**< to `target` */
    GIT_PEER_STATUS,    /**< answers with `status` */
    GIT_PEER_HANGS,     /**< until it is freed */
};

struct git_peer {
    const char *root; /**< folder of repositories */
    int fd;
    int port;
    pthread_t thread;
    pthread_t threads[GIT_PEER_THREADS];
    int fds[GIT_PEER_THREADS];
    size_t thread_count;
    pthread_mutex_t mutex;
    struct buf seen; /**< all requests */
    char url[64];
    /* Set before the first request, or between two of them. */
    enum git_peer_mode mode;
    int status;
    char target[64];
    const char *authorization; /**< value that is needed; NULL = all are let in */
    void (*on_request)(void);  /**< NULL = nothing */
};

struct git_peer_call {
    struct git_peer *peer;
    int fd;
};

__attribute__((unused)) static void git_peer_send(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/** Value of a header of a request. @return owned, or NULL */
static char *git_peer_header(const char *head, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, len) == 0 && line[len] == ':') {
            const char *value = line + len + 1 + strspn(line + len + 1, " ");
            return memory_dup_bytes(value, strcspn(value, "\r"));
        }
    }
    return NULL;
}

/** Read a request. @return length of its head, or 0 */
static size_t git_peer_read(int fd, struct buf *input)
{
    for (;;) {
        const char *end = strstr(buf_string(input), "\r\n\r\n");
        if (end != NULL) {
            size_t head_len = (size_t)(end + 4 - input->data);
            auto_free char *head = memory_dup_bytes(input->data, head_len);
            auto_free char *length = git_peer_header(head, "Content-Length");
            size_t body = length == NULL ? 0 : strtoul(length, NULL, 10);
            if (input->len >= head_len + body) {
                return head_len;
            }
        }
        char bytes[65536];
        ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
        if (n <= 0) {
            return 0;
        }
        buf_append(input, bytes, (size_t)n);
    }
}

__attribute__((format(printf, 3, 4))) static void git_peer_variable(char **list, size_t *count,
                                                                    const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    list[(*count)++] = memory_dup_string(text);
}

static char **git_peer_environment(struct git_peer *peer, const char *head)
{
    char **list = memory_new_zero(20, sizeof(*list));
    size_t n = 0;
    const char *path = strchr(head, ' ') + 1;
    size_t path_len = strcspn(path, "? ");
    const char *query = path[path_len] == '?' ? path + path_len + 1 : "";
    auto_free char *type = git_peer_header(head, "Content-Type");
    auto_free char *encoding = git_peer_header(head, "Content-Encoding");
    auto_free char *protocol = git_peer_header(head, "Git-Protocol");
    auto_free char *length = git_peer_header(head, "Content-Length");
    git_peer_variable(list, &n, "PATH=%s", getenv("PATH"));
    git_peer_variable(list, &n, "HOME=%s", getenv("HOME"));
    git_peer_variable(list, &n, "GIT_PROJECT_ROOT=%s", peer->root);
    git_peer_variable(list, &n, "GIT_HTTP_EXPORT_ALL=1");
    git_peer_variable(list, &n, "REMOTE_USER=tester");
    git_peer_variable(list, &n, "REMOTE_ADDR=127.0.0.1");
    git_peer_variable(list, &n, "REQUEST_METHOD=%.*s", (int)strcspn(head, " "), head);
    git_peer_variable(list, &n, "PATH_INFO=%.*s", (int)path_len, path);
    git_peer_variable(list, &n, "QUERY_STRING=%.*s", (int)strcspn(query, " "), query);
    git_peer_variable(list, &n, "CONTENT_TYPE=%s", type == NULL ? "" : type);
    git_peer_variable(list, &n, "HTTP_CONTENT_ENCODING=%s", encoding == NULL ? "" : encoding);
    git_peer_variable(list, &n, "GIT_PROTOCOL=%s", protocol == NULL ? "" : protocol);
    git_peer_variable(list, &n, "CONTENT_LENGTH=%s", length == NULL ? "0" : length);
    return list;
}

static void git_peer_run_backend(struct git_peer *peer, const char *head, const char *body,
                                 size_t body_len, struct buf *output)
{
    FILE *input = tmpfile();
    int ends[2];
    char bytes[65536];
    char **environment = git_peer_environment(peer, head);
    if (input == NULL || pipe2(ends, O_CLOEXEC) != 0) {
        abort();
    }
    (void)!fwrite(body, 1, body_len, input);
    rewind(input);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(input), 0);
        dup2(ends[1], 1);
        execvpe("git", (char *const[]){"git", "http-backend", NULL}, environment);
        _exit(127);
    }
    close(ends[1]);
    for (ssize_t n = 0; (n = read(ends[0], bytes, sizeof(bytes))) > 0;) {
        buf_append(output, bytes, (size_t)n);
    }
    close(ends[0]);
    waitpid(pid, NULL, 0);
    fclose(input);
    memory_free_list(environment);
}

/** CGI's answer as HTTP: its "Status:" is the first line. */
static void git_peer_forward(int fd, const struct buf *output)
{
    const char *status = strstr(buf_string(output), "Status: ");
    const char *end = strstr(buf_string(output), "\r\n\r\n");
    bool has_status = status != NULL && end != NULL && status < end;
    char line[64];
    snprintf(line, sizeof(line), "HTTP/1.1 %.*s\r\nConnection: close\r\n",
             has_status ? (int)strcspn(status + 8, "\r\n") : 6, has_status ? status + 8 : "200 OK");
    git_peer_send(fd, line);
    for (size_t sent = 0; sent < output->len;) {
        ssize_t n = send(fd, output->data + sent, output->len - sent, MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
        sent += (size_t)n;
    }
}

static void git_peer_answer(struct git_peer *peer, int fd, const char *head, const char *body,
                            size_t body_len)
{
    auto_free char *authorization = git_peer_header(head, "Authorization");
    auto_buf struct buf output = {0};
    char text[512];
    const char *path = strchr(head, ' ') + 1;
    bool is_push = strncmp(head, "POST", 4) == 0 && strstr(head, "git-receive-pack") != NULL;
    if (peer->on_request != NULL) {
        peer->on_request();
    }
    if (peer->mode == GIT_PEER_REDIRECTS) {
        snprintf(text, sizeof(text),
                 "HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\n"
                 "Location: %s%.*s\r\n\r\n",
                 peer->target, (int)strcspn(path, " "), path);
        git_peer_send(fd, text);
    } else if (peer->authorization != NULL &&
               (authorization == NULL || strcmp(authorization, peer->authorization) != 0)) {
        git_peer_send(fd, "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n"
                          "WWW-Authenticate: Basic realm=\"peer\"\r\n\r\n");
    } else if (peer->mode == GIT_PEER_STATUS) {
        snprintf(text, sizeof(text),
                 "HTTP/1.1 %d No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", peer->status);
        git_peer_send(fd, text);
    } else if (peer->mode == GIT_PEER_HANGS) {
        (void)!recv(fd, text, 1, 0);
    } else {
        git_peer_run_backend(peer, head, body, body_len, &output);
        if (peer->mode != GIT_PEER_LOSES || !is_push) {
            git_peer_forward(fd, &output);
        }
    }
}

static void *git_peer_serve(void *context)
{
    struct git_peer_call call = *(struct git_peer_call *)context;
    auto_buf struct buf input = {0};
    free(context);
    size_t head_len = git_peer_read(call.fd, &input);
    if (head_len > 0) {
        auto_free char *head = memory_dup_bytes(input.data, head_len);
        pthread_mutex_lock(&call.peer->mutex);
        buf_append(&call.peer->seen, input.data, input.len);
        pthread_mutex_unlock(&call.peer->mutex);
        git_peer_answer(call.peer, call.fd, head, input.data + head_len, input.len - head_len);
    }
    shutdown(call.fd, SHUT_RDWR);
    return NULL;
}

static void *git_peer_accept(void *context)
{
    struct git_peer *peer = context;
    for (;;) {
        int fd = accept4(peer->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 || peer->thread_count == GIT_PEER_THREADS) {
            return NULL;
        }
        struct git_peer_call *call = memory_new(sizeof(*call));
        *call = (struct git_peer_call){peer, fd};
        peer->fds[peer->thread_count] = fd;
        pthread_create(&peer->threads[peer->thread_count++], NULL, git_peer_serve, call);
    }
}

/** Listens as soon as this returns. */
static struct git_peer *git_peer_new(const char *root)
{
    struct git_peer *peer = memory_new_zero(1, sizeof(*peer));
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    peer->root = root;
    peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(peer->fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(peer->fd, 64), 0);
    assert_int_equal(getsockname(peer->fd, (struct sockaddr *)&address, &len), 0);
    peer->port = ntohs(address.sin_port);
    snprintf(peer->url, sizeof(peer->url), "http://127.0.0.1:%d", peer->port);
    pthread_mutex_init(&peer->mutex, NULL);
    assert_int_equal(pthread_create(&peer->thread, NULL, git_peer_accept, peer), 0);
    return peer;
}

/** Whether a text was in any request. */
__attribute__((unused)) static bool git_peer_has_seen(struct git_peer *peer, const char *text)
{
    pthread_mutex_lock(&peer->mutex);
    bool has = memmem(buf_string(&peer->seen), peer->seen.len, text, strlen(text)) != NULL;
    pthread_mutex_unlock(&peer->mutex);
    return has;
}

static void git_peer_free(struct git_peer *peer)
{
    if (peer == NULL) {
        return;
    }
    shutdown(peer->fd, SHUT_RDWR);
    pthread_join(peer->thread, NULL);
    for (size_t i = 0; i < peer->thread_count; i++) {
        shutdown(peer->fds[i], SHUT_RDWR);
        pthread_join(peer->threads[i], NULL);
        close(peer->fds[i]);
    }
    close(peer->fd);
    pthread_mutex_destroy(&peer->mutex);
    buf_fini(&peer->seen);
    free(peer);
}
