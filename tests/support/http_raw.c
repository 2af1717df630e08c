// SPDX-License-Identifier: Apache-2.0
/* See http_raw.h. */
#include "http_raw.h"

#include "base/clock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_unix(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&name, sizeof(name)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int connect_info(const struct addrinfo *info, int receive_bytes)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && receive_bytes > 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    }
    if (fd >= 0 && connect(fd, info->ai_addr, info->ai_addrlen) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int http_raw_connect_with(const char *address, int receive_bytes)
{
    if (strncmp(address, "unix:", 5) == 0) {
        return connect_unix(address + 5);
    }
    const char *colon = strrchr(address, ':');
    char host[128];
    const char *from = address[0] == '[' ? address + 1 : address;
    const char *end = address[0] == '[' ? strchr(address, ']') : colon;
    if (colon == NULL || end == NULL) {
        return -1;
    }
    snprintf(host, sizeof(host), "%.*s", (int)(end - from), from);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *info = NULL;
    if (getaddrinfo(host, colon + 1, &hints, &info) != 0) {
        return -1;
    }
    int fd = connect_info(info, receive_bytes);
    freeaddrinfo(info);
    return fd;
}

int http_raw_connect(const char *address)
{
    return http_raw_connect_with(address, 0);
}

bool http_raw_send(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
    return true;
}

bool http_raw_send_text(int fd, const char *text)
{
    return http_raw_send(fd, text, strlen(text));
}

/** @return bytes read; 0 = the peer ended; -1 = not in time */
static ssize_t read_some(int fd, struct buf *bytes, int64_t deadline_ns)
{
    for (;;) {
        int64_t left = deadline_ns - clock_monotonic(clock_system());
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int r = left <= 0 ? 0 : poll(&ready, 1, (int)(left / NS_PER_MS) + 1);
        if (r == 0) {
            return -1;
        }
        if (r < 0) {
            continue;
        }
        ssize_t n = recv(fd, buf_room(bytes, 65536), 65536, 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        buf_grown(bytes, n > 0 ? (size_t)n : 0);
        return n < 0 ? 0 : n;
    }
}

bool http_raw_read_all(int fd, struct buf *ret_bytes, int64_t timeout_ns)
{
    int64_t deadline_ns = clock_monotonic(clock_system()) + timeout_ns;
    ssize_t n = 0;
    do {
        n = read_some(fd, ret_bytes, deadline_ns);
    } while (n > 0);
    return n == 0;
}

bool http_raw_read_until(int fd, struct buf *bytes, const char *text, int64_t timeout_ns)
{
    int64_t deadline_ns = clock_monotonic(clock_system()) + timeout_ns;
    size_t len = strlen(text);
    size_t looked = 0;
    for (;;) {
        if (bytes->len >= len && memmem(bytes->data + looked, bytes->len - looked, text, len)) {
            return true;
        }
        looked = bytes->len >= len ? bytes->len - len + 1 : 0;
        if (read_some(fd, bytes, deadline_ns) <= 0) {
            return false;
        }
    }
}

int http_raw_status(const char *bytes)
{
    if (strncmp(bytes, "HTTP/1.", 7) != 0 || strlen(bytes) < 12) {
        return -1;
    }
    return (int)strtol(bytes + 9, NULL, 10);
}

/** recv(2); a process that is stopped and continued gets EINTR from a socket with a time-out. */
static ssize_t recv_again(int fd, void *bytes, size_t len, int flags)
{
    ssize_t n = 0;
    do {
        n = recv(fd, bytes, len, flags);
    } while (n < 0 && errno == EINTR);
    return n;
}

/** Exactly `len` bytes. */
static bool read_exactly(int fd, size_t len, struct buf *bytes)
{
    while (len > 0) {
        ssize_t n = recv_again(fd, buf_room(bytes, len), len, MSG_WAITALL);
        if (n <= 0) {
            return false;
        }
        buf_grown(bytes, (size_t)n);
        len -= (size_t)n;
    }
    return true;
}

/** Read a head and nothing after it: what has come is looked at before it is taken. */
static bool read_head(int fd, struct buf *head)
{
    for (;;) {
        size_t known = head->len < 3 ? head->len : 3;
        ssize_t n = recv_again(fd, buf_room(head, 4096), 4096, MSG_PEEK);
        if (n <= 0) {
            return false;
        }
        const char *from = head->data + head->len - known;
        const char *end = memmem(from, known + (size_t)n, "\r\n\r\n", 4);
        size_t len = end == NULL ? (size_t)n : (size_t)(end + 4 - from) - known;
        if (!read_exactly(fd, len, head) || end != NULL) {
            return end != NULL;
        }
    }
}

int http_raw_read_answer(int fd, struct buf *ret_head, struct buf *ret_body, bool is_head)
{
    buf_clear(ret_head);
    buf_clear(ret_body);
    struct timeval patience = {.tv_sec = HTTP_RAW_PATIENCE_NS / NS_PER_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (!read_head(fd, ret_head)) {
        return -1;
    }
    const char *length = strcasestr(ret_head->data, "\r\nContent-Length:");
    size_t len = length == NULL || is_head ? 0 : strtoul(length + 17, NULL, 10);
    return read_exactly(fd, len, ret_body) ? http_raw_status(ret_head->data) : -1;
}

int http_raw_ask(const char *address, const char *request, struct buf *ret_bytes)
{
    int fd = http_raw_connect(address);
    if (fd < 0) {
        return -1;
    }
    http_raw_send_text(fd, request);
    http_raw_read_all(fd, ret_bytes, HTTP_RAW_PATIENCE_NS);
    close(fd);
    return http_raw_status(buf_string(ret_bytes));
}

size_t http_raw_unchunk(const char *bytes, size_t len, struct buf *body)
{
    const char *at = bytes;
    const char *end = bytes + len;
    for (;;) {
        const char *line_end = memmem(at, (size_t)(end - at), "\r\n", 2);
        size_t size = line_end == NULL ? 0 : strtoul(at, NULL, 16);
        if (size == 0 || size + 2 > (size_t)(end - line_end - 2)) {
            return (size_t)(at - bytes);
        }
        buf_append(body, line_end + 2, size);
        at = line_end + 2 + size + 2;
    }
}
