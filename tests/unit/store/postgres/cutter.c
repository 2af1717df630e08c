// SPDX-License-Identifier: Apache-2.0
#include "cutter.h"

#include "../support.h"
#include "base/memory.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PAIRS_MAX 32

/** A connection of a store and the one to the server that belongs to it. */
struct cut_pair {
    int client;
    int server;
};

struct line_cutter {
    pthread_t thread;
    pthread_mutex_t mutex;
    int listener;
    int stop[2];
    char *folder;
    struct sockaddr_un server;
    char address[256];
    enum cutter_mode mode;
    size_t left;
    unsigned count;
    struct cut_pair pairs[PAIRS_MAX];
    size_t pair_count;
};

static void close_pair(struct line_cutter *cutter, size_t i)
{
    close(cutter->pairs[i].client);
    close(cutter->pairs[i].server);
    cutter->pairs[i] = cutter->pairs[--cutter->pair_count];
}

static void write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
        bytes += n;
        len -= (size_t)n;
    }
}

/** Decide about bytes that are on their way. @return how many may pass before the cut, if there is
 * one */
static size_t decide(struct line_cutter *cutter, bool is_answer, size_t len, bool *ret_is_cut)
{
    size_t pass = len;
    *ret_is_cut = false;
    pthread_mutex_lock(&cutter->mutex);
    if (cutter->mode == CUTTER_REQUESTS && !is_answer) {
        *ret_is_cut = cutter->left < len;
        pass = *ret_is_cut ? cutter->left : pass;
        cutter->left -= pass;
    } else if (cutter->mode == CUTTER_ANSWERS && is_answer) {
        *ret_is_cut = cutter->left == 0;
        cutter->left -= cutter->left > 0;
        pass = *ret_is_cut ? 0 : pass;
    }
    if (*ret_is_cut) {
        cutter->mode = CUTTER_OFF;
        cutter->count++;
    }
    pthread_mutex_unlock(&cutter->mutex);
    return pass;
}

/** Pass on what has come. @return whether the connection goes on */
static bool pass_on(struct line_cutter *cutter, const struct cut_pair *pair, bool is_answer)
{
    char bytes[65536];
    ssize_t n = recv(is_answer ? pair->server : pair->client, bytes, sizeof(bytes), 0);
    bool is_cut = false;
    if (n <= 0) {
        return false;
    }
    size_t pass = decide(cutter, is_answer, (size_t)n, &is_cut);
    write_all(is_answer ? pair->client : pair->server, bytes, pass);
    return !is_cut;
}

static void take_client(struct line_cutter *cutter)
{
    int client = accept(cutter->listener, NULL, NULL);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client < 0 || cutter->pair_count == PAIRS_MAX ||
        connect(server, (struct sockaddr *)&cutter->server, sizeof(cutter->server)) != 0) {
        close(client);
        close(server);
        return;
    }
    cutter->pairs[cutter->pair_count++] = (struct cut_pair){.client = client, .server = server};
}

static void *work(void *argument)
{
    struct line_cutter *cutter = argument;
    for (;;) {
        struct pollfd waiting[2 + 2 * PAIRS_MAX] = {
            {.fd = cutter->stop[0], .events = POLLIN},
            {.fd = cutter->listener, .events = POLLIN},
        };
        size_t count = cutter->pair_count;
        for (size_t i = 0; i < count; i++) {
            waiting[2 + 2 * i] = (struct pollfd){.fd = cutter->pairs[i].client, .events = POLLIN};
            waiting[3 + 2 * i] = (struct pollfd){.fd = cutter->pairs[i].server, .events = POLLIN};
        }
        poll(waiting, 2 + 2 * count, -1);
        if (waiting[0].revents != 0) {
            return NULL;
        }
        for (size_t i = count; i-- > 0;) {
            bool goes_on = true;
            if (waiting[2 + 2 * i].revents != 0) {
                goes_on = pass_on(cutter, &cutter->pairs[i], false);
            }
            if (goes_on && waiting[3 + 2 * i].revents != 0) {
                goes_on = pass_on(cutter, &cutter->pairs[i], true);
            }
            if (!goes_on) {
                close_pair(cutter, i);
            }
        }
        if (waiting[1].revents != 0) {
            take_client(cutter);
        }
    }
}

/** A parameter of an address, up to the next one. */
static void read_parameter(const char *address, const char *name, char *ret_value, size_t size)
{
    const char *at = strstr(address, name);
    assert_non_null(at);
    at += strlen(name);
    snprintf(ret_value, size, "%.*s", (int)strcspn(at, "&"), at);
}

struct line_cutter *cutter_new(const char *address)
{
    struct line_cutter *cutter = memory_new_zero(1, sizeof(*cutter));
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    char host[72];
    char port[8];
    read_parameter(address, "host=", host, sizeof(host));
    read_parameter(address, "port=", port, sizeof(port));
    pthread_mutex_init(&cutter->mutex, NULL);
    cutter->folder = test_folder_new();
    cutter->server.sun_family = AF_UNIX;
    snprintf(cutter->server.sun_path, sizeof(cutter->server.sun_path), "%s/.s.PGSQL.%s", host,
             port);
    snprintf(own.sun_path, sizeof(own.sun_path), "%s/.s.PGSQL.%s", cutter->folder, port);
    const char *at = strstr(address, "host=") + strlen("host=");
    snprintf(cutter->address, sizeof(cutter->address), "%.*s%s%s", (int)(at - address), address,
             cutter->folder, at + strlen(host));
    cutter->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(cutter->listener, (struct sockaddr *)&own, sizeof(own)), 0);
    assert_int_equal(listen(cutter->listener, 16), 0);
    assert_int_equal(pipe(cutter->stop), 0);
    assert_int_equal(pthread_create(&cutter->thread, NULL, work, cutter), 0);
    return cutter;
}

const char *cutter_address(const struct line_cutter *cutter)
{
    return cutter->address;
}

void cutter_arm(struct line_cutter *cutter, enum cutter_mode mode, size_t count)
{
    pthread_mutex_lock(&cutter->mutex);
    cutter->mode = mode;
    cutter->left = count;
    pthread_mutex_unlock(&cutter->mutex);
}

unsigned cutter_count(struct line_cutter *cutter)
{
    pthread_mutex_lock(&cutter->mutex);
    unsigned count = cutter->count;
    pthread_mutex_unlock(&cutter->mutex);
    return count;
}

void cutter_free(struct line_cutter *cutter)
{
    close(cutter->stop[1]);
    pthread_join(cutter->thread, NULL);
    while (cutter->pair_count > 0) {
        close_pair(cutter, 0);
    }
    close(cutter->stop[0]);
    close(cutter->listener);
    test_folder_free(cutter->folder);
    pthread_mutex_destroy(&cutter->mutex);
    free(cutter);
}
