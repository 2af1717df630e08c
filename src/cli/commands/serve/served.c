// SPDX-License-Identifier: Apache-2.0
/*
 * Opening, starting and stopping the stores of a process.
 *
 * all opens: the server's own workspace.
 */
#include "cli/commands/serve/served.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/commands/work/queues.h"
#include "policy/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ----------------------------------------------------------------------------------- */

/** "NAME=ADDRESS". @return the address; the name, "" = none was given */
static const char *split_store(const char *word, char ret_name[STORE_NAME_SIZE])
{
    size_t len = strcspn(word, "=");
    ret_name[0] = '\0';
    if (word[len] == '=' && len < STORE_NAME_SIZE) {
        snprintf(ret_name, STORE_NAME_SIZE, "%.*s", (int)len, word);
        if (store_name_is_valid(ret_name)) {
            return word + len + 1;
        }
        ret_name[0] = '\0';
    }
    return word;
}

static bool is_taken(const struct served *served, size_t index, const char *name)
{
    for (size_t i = 0; i < served->count; i++) {
        if (i != index && strcmp(served->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/** The name of the file or database, or "storeN". */
static void name_store(struct served *served, size_t index)
{
    char name[STORE_NAME_SIZE];
    const char *address = served->items[index].address;
    size_t end = strcspn(address, "?");
    size_t begin = end;
    while (begin > 0 && address[begin - 1] != '/') {
        begin--;
    }
    size_t len = strcspn(address + begin, ".?");
    snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : 0), address + begin);
    for (char *at = name; *at != '\0'; at++) {
        *at = (char)ascii_lower(*at);
    }
    if (!store_name_is_valid(name) || is_taken(served, index, name)) {
        snprintf(name, sizeof(name), "store%zu", index + 1);
    }
    memcpy(served->names[index], name, sizeof(name));
}

/** @return RONDO_ERR_INVALID when two stores are the same, or have one name */
static int check_stores(const struct served *served, struct rondo_error *err)
{
    for (size_t i = 0; i < served->count; i++) {
        if (is_taken(served, i, served->names[i])) {
            return error_set(err, RONDO_ERR_INVALID, "--store: two stores have the name %s",
                             served->names[i]);
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(served->items[i].address, served->items[k].address) == 0) {
                return error_set(err, RONDO_ERR_INVALID, "--store: %s and %s are the same store",
                                 served->names[k], served->names[i]);
            }
        }
    }
    return 0;
}

static void init_serving(struct served *served, size_t index, const char *address)
{
    struct serving *serving = &served->items[index];
    *serving = (struct serving){
        .values = served->values,
        .address = address,
        .store_count = served->count,
        .first = &served->items[0],
        .workspace = served->workspace,
        .config_folder = served->config_folder,
    };
    pthread_mutex_init(&serving->lock, NULL);
    pthread_mutex_init(&serving->audit_lock, NULL);
}

static int read_stores(struct served *served, struct rondo_error *err)
{
    const char *const *words = (const char *const *)served->values->stores;
    size_t given = memory_count_list(words);
    if (given > STORES_MAX) {
        return error_set(err, RONDO_ERR_INVALID, "--store can be given %d times", STORES_MAX);
    }
    served->count = given == 0 ? 1 : given;
    for (size_t i = 0; i < served->count; i++) {
        const char *address = given == 0 ? NULL : split_store(words[i], served->names[i]);
        init_serving(served, i, address);
    }
    if (served->count == 1) {
        return 0;
    }
    for (size_t i = 0; i < served->count; i++) {
        if (served->names[i][0] == '\0') {
            name_store(served, i);
        }
        served->labels[i] = served->names[i];
        served->items[i].label = served->names[i];
        served->items[i].labels = served->labels;
    }
    return check_stores(served, err);
}

int served_new(const struct serve_values *values, struct served **ret_served,
               struct rondo_error *err)
{
    struct served *served = memory_new_zero(1, sizeof(*served));
    served->values = values;
    served->config_folder = session_config_folder();
    served->workspace = realpath(values->workspace == NULL ? "." : values->workspace, NULL);
    pthread_mutex_init(&served->lock, NULL);
    int r = cancel_init(&served->cancel, err);
    r = r < 0 ? r : read_stores(served, err);
    if (r < 0) {
        served_free(served);
        return r;
    }
    *ret_served = served;
    return 0;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void close_store(struct serving *serving)
{
    if (serving->session.store != NULL) {
        session_close(&serving->session);
    }
    free(serving->policy_path);
    serving->policy_path = NULL;
}

/** Two names may lead to one file. */
static int check_twins(struct served *served, const struct serving *serving,
                       struct rondo_error *err)
{
    for (size_t i = 0; i < served->count; i++) {
        const struct serving *other = &served->items[i];
        if (other != serving && other->session.store_path != NULL &&
            strcmp(other->session.store_path, serving->session.store_path) == 0) {
            return error_set(err, RONDO_ERR_INVALID, "--store: %s and %s are the same store",
                             other->label, serving->label);
        }
    }
    return 0;
}

static int open_store(struct served *served, struct serving *serving, struct rondo_error *err)
{
    struct session_options options = {.store = serving->address,
                                      .access = STORE_CREATING,
                                      .needs_runtime = true,
                                      .lease_ns = served->values->lease_ns};
    int r = session_open(&options, &serving->session, err);
    if (r < 0) {
        return r;
    }
    serving->policy_path = watch_path_of_store(serving->session.store_path);
    r = check_twins(served, serving, err);
    if (r < 0) {
        close_store(serving);
    }
    return r;
}

static void log_away(const struct serving *serving, const struct rondo_error *err)
{
    auto_buf struct buf line = {0};
    buf_printf(&line, "the store %s cannot be opened; it is tried again every %d s: %s",
               serving->label, (int)(SERVED_RETRY_NS / NS_PER_S), err->message);
    parts_log(NULL, buf_string(&line));
}

int served_open(struct served *served, struct rondo_error *err)
{
    for (size_t i = 0; i < served->count; i++) {
        struct serving *serving = &served->items[i];
        int r = open_store(served, serving, err);
        bool is_away = r == RONDO_ERR_IO || r == RONDO_ERR_TIMEOUT;
        if (r < 0 && (!is_away || served->count == 1)) {
            return r;
        }
        if (r < 0) {
            log_away(serving, err);
        } else if (served->front == NULL) {
            served->front = serving;
        }
    }
    for (size_t i = 0; i < served->count; i++) {
        served->items[i].front = served->front;
    }
    return served->front == NULL ? err->code : 0;
}

/* ---- Starting -------------------------------------------------------------------------------- */

static int start_store(struct served *served, struct serving *serving, struct rondo_error *err)
{
    int r = parts_start(serving, err);
    pthread_mutex_lock(&served->lock);
    serving->is_open = r == 0;
    pthread_mutex_unlock(&served->lock);
    if (r < 0) {
        parts_drain(serving);
        parts_stop(serving);
    }
    return r;
}

/** Try to open a store that was away at the start. */
static void try_again(struct served *served, struct serving *serving)
{
    struct rondo_error err = {0};
    if (open_store(served, serving, &err) < 0) {
        return; /* That it is away was said. */
    }
    auto_buf struct buf line = {0};
    if (start_store(served, serving, &err) < 0) {
        close_store(serving);
        buf_printf(&line, "the store %s cannot be served: %s", serving->label, err.message);
    } else {
        buf_printf(&line, "the store %s is there now", serving->label);
    }
    parts_log(NULL, buf_string(&line));
}

static void *open_others(void *context)
{
    struct served *served = context;
    bool is_missing = true;
    while (is_missing && !cancel_wait(&served->cancel, SERVED_RETRY_NS)) {
        is_missing = false;
        for (size_t i = 0; i < served->count && !cancel_is_set(&served->cancel); i++) {
            if (!served->items[i].is_open) { /* Only this thread changes it now. */
                try_again(served, &served->items[i]);
                is_missing = is_missing || !served->items[i].is_open;
            }
        }
    }
    return NULL;
}

int served_start(struct served *served, struct rondo_error *err)
{
    bool is_missing = false;
    int r = start_store(served, served->front, err);
    for (size_t i = 0; i < served->count && r == 0; i++) {
        struct serving *serving = &served->items[i];
        bool is_away = serving->session.store == NULL;
        is_missing = is_missing || is_away;
        r = is_away || serving == served->front ? 0 : start_store(served, serving, err);
    }
    if (r < 0 || !is_missing) {
        return r;
    }
    int problem = pthread_create(&served->opener, NULL, open_others, served);
    served->has_opener = problem == 0;
    return problem == 0 ? 0
                        : error_set_errno(err, RONDO_ERR_SYSTEM, problem, "cannot start a thread");
}

/* ---- Stopping -------------------------------------------------------------------------------- */

static void *drain(void *context)
{
    parts_drain(context);
    return NULL;
}

/** All at once: each waits for the iterations under way. */
static void drain_all(struct served *served)
{
    pthread_t threads[STORES_MAX];
    bool has_thread[STORES_MAX] = {false};
    for (size_t i = 0; i < served->count; i++) {
        struct serving *serving = &served->items[i];
        if (!serving->is_open) {
            continue;
        }
        has_thread[i] = served->count > 1 && pthread_create(&threads[i], NULL, drain, serving) == 0;
        if (!has_thread[i]) {
            parts_drain(serving);
        }
    }
    for (size_t i = 0; i < served->count; i++) {
        if (has_thread[i]) {
            pthread_join(threads[i], NULL);
        }
    }
}

void served_stop(struct served *served)
{
    cancel_set(&served->cancel, CANCEL_NOW);
    if (served->has_opener) {
        pthread_join(served->opener, NULL);
        served->has_opener = false;
    }
    drain_all(served);
    if (served->front->is_open) {
        parts_stop(served->front);
    }
    for (size_t i = 0; i < served->count; i++) {
        if (&served->items[i] != served->front && served->items[i].is_open) {
            parts_stop(&served->items[i]);
        }
    }
}

void served_free(struct served *served)
{
    for (size_t i = 0; i < served->count; i++) {
        struct serving *serving = &served->items[i];
        close_store(serving);
        work_file_free(serving->work_file);
        pthread_mutex_destroy(&serving->lock);
        pthread_mutex_destroy(&serving->audit_lock);
    }
    cancel_fini(&served->cancel);
    pthread_mutex_destroy(&served->lock);
    free(served->config_folder);
    free(served->workspace);
    free(served);
}

struct orchestrator_state served_state(struct served *served)
{
    struct orchestrator_state sum = orchestrator_state(served->front->orchestrator);
    for (size_t i = 0; i < served->count; i++) {
        const struct serving *serving = &served->items[i];
        pthread_mutex_lock(&served->lock);
        bool is_open = serving->is_open;
        pthread_mutex_unlock(&served->lock);
        if (is_open && serving != served->front) {
            struct orchestrator_state state = orchestrator_state(serving->orchestrator);
            sum.running += state.running;
            sum.queued += state.queued;
            sum.paused += state.paused;
        }
    }
    return sum;
}
