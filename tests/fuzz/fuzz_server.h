// SPDX-License-Identifier: Apache-2.0
/*
 * Bytes through a real HTTP server on the loopback, for targets that fuzz a handler with everything
 * in front of it. The server is started by the first input and stays: starting one for each would
 * be most of the work. A handler must keep no state between inputs.
 */
#pragma once

#include "fuzz.h"

#include "base/buf.h"
#include "net/server/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static inline void fuzz_server_problem(unsigned status, struct buf *ret_body)
{
    buf_printf(ret_body, "{\"status\":%u}", status);
}

/** Start it. @param options handler, context and limits; `listen` and `problem` are set here */
static inline struct http_server *fuzz_server_start(struct http_server_options options)
{
    static const char *const listen[] = {"127.0.0.1:0", NULL};
    struct http_server *server = NULL;
    struct rondo_error err = {0};
    options.listen = listen;
    options.problem = fuzz_server_problem;
    FUZZ_CHECK(http_server_start(&options, &server, &err) == 0);
    return server;
}

/** @return a descriptor, or -1 */
static inline int fuzz_try_to_connect(const struct sockaddr_in *to)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FUZZ_CHECK(fd >= 0);
    struct linger linger = {.l_onoff = 1}; /* no port stays in use after an input */
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    struct timeval patience = {.tv_sec = 20};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/** Connect to "127.0.0.1:PORT". Ports may run short, and the fuzzer's own clock interrupts. */
static inline int fuzz_connect(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    to.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
    int fd = -1;
    for (int i = 0; i < 1000 && (fd = fuzz_try_to_connect(&to)) < 0; i++) {
        FUZZ_CHECK(errno == EINTR || errno == EADDRNOTAVAIL);
        usleep(2000);
    }
    FUZZ_CHECK(fd >= 0);
    return fd;
}

/**
 * Send the bytes, in two pieces that are cut at `cut`, say that no more comes, read all answers.
 * @param fd closed
 */
static inline void fuzz_feed(int fd, const char *bytes, size_t len, size_t cut,
                             struct buf *ret_answers)
{
    size_t first = cut < len ? cut : len;
    bool is_sent = send(fd, bytes, first, MSG_NOSIGNAL) >= 0 &&
                   send(fd, bytes + first, len - first, MSG_NOSIGNAL) >= 0;
    if (is_sent) { /* else it was refused before */
        shutdown(fd, SHUT_WR);
    }
    ssize_t n = 0;
    do {
        n = recv(fd, buf_room(ret_answers, 65536), 65536, 0);
        buf_grown(ret_answers, n > 0 ? (size_t)n : 0);
    } while (n > 0 || (n < 0 && errno == EINTR)); /* the fuzzer's own clock interrupts */
    FUZZ_CHECK(n == 0 || errno == ECONNRESET);    /* and not that the server keeps us waiting */
    close(fd);
}

static inline void fuzz_server_feed(const struct http_server *server, const char *bytes, size_t len,
                                    size_t cut, struct buf *ret_answers)
{
    fuzz_feed(fuzz_connect(http_server_address(server, 0)), bytes, len, cut, ret_answers);
}
