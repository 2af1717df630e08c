// SPDX-License-Identifier: Apache-2.0
/*
 * Duty: keeps agents on duty. It reads role files, opens their sources, starts the requests that
 * the intake hands out through the orchestrator, and reloads a role when its file or its skills
 * change. A file that cannot be used keeps the role as it was before. A source that cannot work is
 * named and left out; the others work.
 *
 * Threads: one of its own. Functions may be called from any thread between duty_start and
 * duty_stop.
 */
#pragma once

#include "source/source.h"

struct duty;
struct http_client;
struct orchestrator;
struct runtime;

struct duty_options {
    struct runtime *runtime; /**< borrowed, as the next ones */
    struct orchestrator *orchestrator;
    struct http_client *http;
    const char *const *paths;  /**< role files, and folders of them; NULL-terminated */
    const char *workspace;     /**< of the runs; absolute */
    const char *config_folder; /**< where a user's rondo.yaml may be; or NULL, as the next ones */
    const char *prices_file;
    const char *skill_folder;
    const char *model;  /**< instead of the roles' own */
    bool is_autonomous; /**< every trigger of a role with `autonomy` starts autonomous runs */
    bool accepts_unprotected;
    uint64_t max_running;                         /**< of the daemon; 0 = INTAKE_DEFAULT_RUNNING */
    struct queue_options queue;                   /**< of each role */
    void (*log)(void *context, const char *line); /**< any thread */
    void *log_context;
    bool is_quiet; /**< only what is wrong */
};

/**
 * Read the roles and begin.
 * @return 0; RONDO_ERR_INVALID when no role can be used, or none has a trigger that works
 */
int duty_start(const struct duty_options *options, struct duty **ret_duty, struct rondo_error *err);

/** A run settled (orchestrator_options.on_settled), or something else may be started. */
void duty_wake(struct duty *duty);

/** First half of the end: accept and start nothing more. Blocks until the sources are closed. */
void duty_drain(struct duty *duty);

/** Drain if that was not done, and release. What waits stays in the store. NULL is allowed. */
void duty_stop(struct duty *duty);

/** Let the source of a hook answer an HTTP request. @return false: there is no such hook */
bool duty_receive(struct duty *duty, const char *hook, const struct source_delivery *delivery,
                  struct source_answer *ret_answer);

/** Where its sources submit events. Borrowed until duty_stop. */
struct intake *duty_intake(struct duty *duty);
