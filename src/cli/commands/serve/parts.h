// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of a server around one store: telemetry, monitor, orchestrator, memories, roles on
 * duty, the work queue, the HTTP server. Started from the bottom up and ended from the top down, by
 * one thread.
 */
#pragma once

#include "cli/framework/session.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Where it listens when nothing is said. */
#define SERVE_DEFAULT_LISTEN "127.0.0.1:7466"

struct serve_values {
    char **listen;
    char **hosts;
    int64_t needs_token;
    int64_t rate;
    int64_t max_connections;
    int64_t max_loops;
    int64_t max_queue;
    int64_t drain_ns;
    int64_t orphans;
    int64_t close_after_ns;
    int64_t stall_ns;
    char *workspace;
    char *prices;
    char *url;
    char *name;
    char *pool;
    char **shared_words;
    char **shared_folders; /* the same, canonical; NULL = none */
    char **stores;         /* "ADDRESS" or "NAME=ADDRESS"; NULL = the default */
    int64_t lease_ns;
    int64_t wants_quiet;
    char *work; /* file of repositories whose issues are worked on; or NULL */
    /* Of `rondo daemon`: */
    char **roles; /* absolute paths; NULL = `rondo serve` */
    char *skill_dir;
    char *model;
    int64_t is_autopilot;
    int64_t accepts_unprotected;
    int64_t max_running;
    int64_t max_role_running;
    int64_t max_waiting;
    int64_t queue_rule;
};

/** The parts of one store, in the order in which they start. */
struct serving {
    const struct serve_values *values;
    const char *address;       /* of the store, as it was given; NULL = the default */
    const char *label;         /* its name; NULL = it is the only store */
    const char *const *labels; /* of all */
    size_t store_count;
    struct serving *first; /* that of the first store, which has the roles on duty */
    struct serving *front; /* whose server listens */
    bool is_open;          /* its parts were started, by parts_start() */
    struct session session;
    struct http_client *http;
    struct metrics *metrics;
    struct telemetry *telemetry;
    struct monitor *monitor;
    struct orchestrator *orchestrator;
    struct consolidation_keeper *memories;
    struct duty *duty;           /* NULL: `rondo serve` */
    struct work_file *work_file; /* read; NULL when there is none, or it was taken */
    struct work_queues *work;    /* NULL: no issues are worked on */
    struct server *server;
    struct quiet_watch *quiet;
    pthread_mutex_t lock; /* guards: */
    struct duty *woken;   /* the same while the orchestrator may call it */
    struct work_queues *woken_work;
    struct server *told; /* the server, while the parts below it may call it */
    pthread_mutex_t audit_lock;
    uint64_t audit_lost; /* lines that stderr did not take, under audit_lock */
    char *config_folder;
    char *policy_path;
    char *workspace;
};

/** One line for people. stderr writes it whole. Any thread. */
void parts_log(void *context, const char *line);
void parts_log_unless_quiet(const struct serving *serving, const char *line);

/** Why everybody needs a token; NULL: this user's own programs need none. */
const char *parts_why_tokens(const struct serve_values *values);

/** Bottom up. What was started is ended by the next two also after a failure. */
int parts_start(struct serving *serving, struct rondo_error *err);
/** Top down: readers and senders of webhooks are told, no more events, runs are parked. */
void parts_drain(struct serving *serving);
/** After parts_drain() of all stores, the front first: what is left is sent. */
void parts_stop(struct serving *serving);
