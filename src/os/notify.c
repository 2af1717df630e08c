// SPDX-License-Identifier: Apache-2.0
/* The service manager's socket. */
#include "os/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/** Longest watchdog time that is believed: a day, in microseconds. */
#define WATCHDOG_MAX_US INT64_C(86400000000)

/** A name that begins with '@' is in the abstract namespace (unix(7)). */
static bool make_address(const char *name, struct sockaddr_un *ret_address, socklen_t *ret_len)
{
    size_t len = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof(ret_address->sun_path)) {
        return false;
    }
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret_address->sun_path, name, len);
    if (name[0] == '@') {
        ret_address->sun_path[0] = '\0';
    }
    *ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] == '/' ? 1 : 0));
    return true;
}

bool notify_send(const char *state)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    socklen_t len;
    if (name == NULL || !make_address(name, &address, &len)) {
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
                          (const struct sockaddr *)&address, len);
    close(fd);
    return sent >= 0;
}

/** A whole number in the environment, or -1. */
static int64_t read_number(const char *name)
{
    const char *text = getenv(name);
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return -1;
    }
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return errno != 0 || *end != '\0' ? -1 : value;
}

int64_t notify_watchdog_ns(void)
{
    int64_t limit_us = read_number("WATCHDOG_USEC");
    bool is_for_us = getenv("WATCHDOG_PID") == NULL || read_number("WATCHDOG_PID") == getpid();
    bool is_sane = limit_us > 0 && limit_us <= WATCHDOG_MAX_US;
    return is_for_us && is_sane ? limit_us * 1000 / 2 : 0;
}
