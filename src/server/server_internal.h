// SPDX-License-Identifier: Apache-2.0
/* What the files of the server share. */
#pragma once

#include "policy/profile/watch.h"
#include "server/answer/idempotency.h"
#include "server/answer/work_index.h"
#include "server/auth/access.h"
#include "server/auth/rate.h"
#include "server/server.h"
#include "server/stream/hub.h"
#include "server/stream/waiters.h"
#include "telemetry/handoff_meter.h"

#include <pthread.h>
#include <stdatomic.h>

/** Gauges that one look gives. */
#define SERVER_GAUGES     160
#define SERVER_LABEL_SIZE 160

struct server_gauges {
    struct metrics_gauge rows[SERVER_GAUGES];
    char labels[SERVER_GAUGES][SERVER_LABEL_SIZE];
    size_t count;
};

struct stores;

struct server {
    struct server_options options; /* texts and lists are owned */
    struct server *front;          /* the one that listens: itself, or another store's */
    struct stores *stores;         /* the front's, when it serves several; else NULL */
    char *store_label;             /* by which name; or NULL */
    struct access_names names;
    char *workspace;
    char *policy_path;
    char *store_path;
    char *store_name;
    char **hosts;
    char **listen;
    struct http_server *http;
    struct hub *hub;
    struct waiters *waiters;
    struct evaluation_log *evaluations; /* of foreign agents */
    struct profile_watch *profiles;
    struct rate *rate;
    struct token_uses token_uses;
    struct rate *failures; /* of tokens that are wrong, by address */
    struct idempotency idempotency;
    struct work_index *work_index;
    char machine[256];           /* its host name, or "" */
    char user[40];               /* the user of local processes */
    pthread_mutex_t policy_lock; /* one change of policies at a time */
    _Atomic bool is_draining;
    _Atomic bool has_proxy;        /* requests that came through one were seen */
    _Atomic unsigned keys_seen;    /* requests with an Idempotency-Key */
    _Atomic int64_t signature_day; /* of the last signed request: old ids are removed once a day */
    int64_t started_ns;            /* monotonic */
    pthread_mutex_t ping_lock;
    bool was_busy; /* as /ping said last, under ping_lock */
    int64_t busy_since_ns;
    struct handoff_meter *handoff_meter; /* NULL = nothing is counted */
    struct server_gauges exported;       /* of the exporter's thread alone */
};

/** The handler of the HTTP server. @param context a struct server */
void dispatch(void *context, struct http_exchange *exchange);

/** Whether a rule of the desk file hides values of an agent's requests from somebody; as
 * struct hub_options has it. */
bool server_hides_content(void *server, const char *viewer, const char *agent_id);
