// SPDX-License-Identifier: Apache-2.0
/*
 * Two locks. `changing` orders additions and removals, and is held while a listener starts or
 * stops; `lock` guards the tables, is held for reading while a source answers, and never while a
 * listener starts or stops, because its threads take it.
 */
#include "source/webhook/hook_ports.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "net/server/http_server.h"
#include "source/source.h"
#include "source/webhook/hook_answer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Connections that one port serves at once. */
#define PORT_CONNECTIONS 64
#define PORT_THREADS     2

/** A listener. */
struct hook_port {
    struct hook_ports *ports;
    uint16_t number;
    struct http_server *http;
};

/** A source on a listener. */
struct port_entry {
    struct hook_place place;
    struct hook_port *port;
};

struct hook_ports {
    pthread_mutex_t changing;
    pthread_rwlock_t lock; /**< guards `entries` */
    struct port_entry *entries;
    size_t count;
};

/* ---- Requests -------------------------------------------------------------------------------- */

static void refuse(struct http_exchange *exchange, int status, const char *error)
{
    struct source_answer answer = {.status = status};
    snprintf(answer.message, sizeof(answer.message), "%s", error);
    hook_answer_send(exchange, &answer);
}

static void answer_request(struct source *source, struct http_exchange *exchange)
{
    struct source_answer answer = {0};
    struct source_delivery delivery = hook_delivery(exchange);
    source->type->receive(source, &delivery, &answer);
    hook_answer_send(exchange, &answer);
}

/** The entry of a request, or NULL. @param ret_is_path set where only the method is another */
static struct port_entry *find_entry(struct hook_port *port, const struct http_exchange *exchange,
                                     bool *ret_is_path)
{
    struct hook_ports *ports = port->ports;
    for (size_t i = 0; i < ports->count; i++) {
        struct port_entry *entry = &ports->entries[i];
        if (entry->port != port || strcmp(entry->place.path, http_exchange_path(exchange)) != 0) {
            continue;
        }
        if (strcmp(entry->place.method, http_exchange_method(exchange)) == 0) {
            return entry;
        }
        *ret_is_path = true;
    }
    return NULL;
}

/**
 * Whether `Host` is localhost or an address, with or without a port. A request with any other name
 * may come from a web page whose DNS server answered with this machine's address (DNS rebinding).
 */
static bool is_address(const struct http_exchange *exchange)
{
    const char *host = http_exchange_header(exchange, "host");
    char name[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    host = host == NULL ? "" : host;
    bool is_v6 = host[0] == '[';
    host += is_v6 ? 1 : 0;
    size_t len = strcspn(host, is_v6 ? "]" : ":");
    if (len >= sizeof(name)) {
        return false;
    }
    memcpy(name, host, len);
    name[len] = '\0';
    return is_v6 ? inet_pton(AF_INET6, name, address) == 1
                 : inet_pton(AF_INET, name, address) == 1 || strcasecmp(name, "localhost") == 0;
}

/** On a thread that may wait for the store. */
static void serve(void *context, struct http_exchange *exchange)
{
    struct hook_port *port = context;
    bool is_path = false;
    pthread_rwlock_rdlock(&port->ports->lock);
    struct port_entry *entry = find_entry(port, exchange, &is_path);
    if (entry != NULL && entry->place.is_unsigned && !is_address(exchange)) {
        refuse(exchange, 403,
               "a webhook without a secret is called by an address, such as 127.0.0.1");
    } else if (entry != NULL) {
        answer_request(entry->place.source, exchange);
    } else if (is_path) {
        refuse(exchange, 405, "method not allowed");
    } else {
        refuse(exchange, 404, "there is no webhook at this path");
    }
    pthread_rwlock_unlock(&port->ports->lock);
}

static void write_refusal(unsigned status, struct buf *ret_body)
{
    struct source_answer answer = {.status = (int)status};
    snprintf(answer.message, sizeof(answer.message), "%s",
             status == 413 ? "payload too large" : "the request is not acceptable");
    hook_answer_write(&answer, ret_body);
}

/* ---- Ports ----------------------------------------------------------------------------------- */

struct hook_ports *hook_ports_new(void)
{
    struct hook_ports *ports = memory_new_zero(1, sizeof(*ports));
    pthread_mutex_init(&ports->changing, NULL);
    pthread_rwlock_init(&ports->lock, NULL);
    return ports;
}

void hook_ports_free(struct hook_ports *ports)
{
    if (ports != NULL) {
        pthread_mutex_destroy(&ports->changing);
        pthread_rwlock_destroy(&ports->lock);
        free(ports->entries);
        free(ports);
    }
}

static int start_port(struct hook_ports *ports, uint16_t number, struct hook_port **ret_port,
                      struct rondo_error *err)
{
    char address[32];
    const char *const listen[] = {address, NULL};
    struct hook_port *port = memory_new_zero(1, sizeof(*port));
    *port = (struct hook_port){.ports = ports, .number = number};
    snprintf(address, sizeof(address), "127.0.0.1:%u", number);
    const struct http_server_options options = {
        .listen = listen,
        .threads = PORT_THREADS,
        .max_connections = PORT_CONNECTIONS,
        .max_body_bytes = (size_t)LIMIT_HOOK_BODY_BYTES,
        .handler = serve,
        .problem = write_refusal,
        .context = port,
    };
    int r = http_server_start(&options, &port->http, err);
    if (r < 0) {
        free(port);
        return r;
    }
    *ret_port = port;
    return 0;
}

/** The listener of a port that is there already, or NULL. `changing` is held, as in the next. */
static struct hook_port *find_port(const struct hook_ports *ports, uint16_t number)
{
    for (size_t i = 0; i < ports->count; i++) {
        if (ports->entries[i].place.port == number) {
            return ports->entries[i].port;
        }
    }
    return NULL;
}

static int check_path(const struct hook_ports *ports, const struct hook_place *place,
                      struct rondo_error *err)
{
    for (size_t i = 0; i < ports->count; i++) {
        const struct hook_place *other = &ports->entries[i].place;
        if (other->port == place->port && strcmp(other->path, place->path) == 0 &&
            strcmp(other->method, place->method) == 0) {
            return error_set(err, RONDO_ERR_BUSY, "port %u has another webhook at %.128s",
                             place->port, place->path);
        }
    }
    return 0;
}

static void add_entry(struct hook_ports *ports, const struct hook_place *place,
                      struct hook_port *port)
{
    pthread_rwlock_wrlock(&ports->lock);
    ports->entries = memory_resize(ports->entries, ports->count + 1, sizeof(*ports->entries));
    ports->entries[ports->count++] = (struct port_entry){.place = *place, .port = port};
    pthread_rwlock_unlock(&ports->lock);
}

int hook_ports_add(struct hook_ports *ports, const struct hook_place *place,
                   struct rondo_error *err)
{
    if (ports == NULL) {
        return 0;
    }
    pthread_mutex_lock(&ports->changing);
    struct hook_port *port = find_port(ports, place->port);
    int r = check_path(ports, place, err);
    if (r == 0 && port == NULL) {
        r = start_port(ports, place->port, &port, err);
    }
    if (r == 0) {
        add_entry(ports, place, port);
    }
    pthread_mutex_unlock(&ports->changing);
    return r;
}

/** @return the listener of the entry that was taken out, or NULL */
static struct hook_port *take_entry(struct hook_ports *ports, const struct source *source)
{
    struct hook_port *port = NULL;
    pthread_rwlock_wrlock(&ports->lock);
    for (size_t i = 0; i < ports->count && port == NULL; i++) {
        if (ports->entries[i].place.source == source) {
            port = ports->entries[i].port;
            ports->entries[i] = ports->entries[--ports->count];
        }
    }
    pthread_rwlock_unlock(&ports->lock);
    return port;
}

void hook_ports_remove(struct hook_ports *ports, const struct source *source)
{
    if (ports == NULL) {
        return;
    }
    pthread_mutex_lock(&ports->changing);
    struct hook_port *port = take_entry(ports, source);
    if (port != NULL && find_port(ports, port->number) == NULL) {
        http_server_quiesce(port->http);
        http_server_stop(port->http);
        free(port);
    }
    pthread_mutex_unlock(&ports->changing);
}
