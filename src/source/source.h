// SPDX-License-Identifier: Apache-2.0
/*
 * Sources: what makes start requests. A type of source is one file, which defines
 * `const struct source_type NAME_source_type`, and one row of sources.def. A source is one trigger
 * of a role, opened.
 *
 * A source turns what it notices into events and submits them with source_submit(). What it must
 * remember over restarts is its mark, a small JSON object, which changes in the transaction of the
 * event that it belongs to. A source that submits an event again after a crash gives it the same
 * key, so it is accepted once.
 *
 * There are three ways to be woken; a type uses those that it needs:
 *  - by the clock: `next_due` and `fire`;
 *  - by a descriptor: `descriptor` and `ready`;
 *  - by an HTTP request: `receive`.
 * A type that must wait in other ways has a thread of its own, from `open` to `close`.
 *
 * Threads: `open`, `close`, `next_due`, `fire`, `ready`, `describe` and `problem` of one source are
 * called by one thread at a time, `receive` by any number beside them until `close` begins. None
 * may block for long, except that `close` waits for the source's own thread.
 */
#pragma once

#include "source/intake/intake.h"

struct hook_ports;
struct http_client;
struct json_object;
struct json_writer;
struct source;

/** Never due by the clock. */
#define SOURCE_NEVER INT64_MAX

/** A conversation that was quiet for so long begins anew, where its trigger does not say. */
#define SOURCE_IDLE_S 3600

/** What a source has around it. Borrowed and constant until it is closed. */
struct source_host {
    struct intake *intake;
    const struct clock *clock;
    struct random *random;
    struct store *store;
    struct http_client *http; /**< NULL = none (in tests) */
    struct hook_ports *ports; /**< where webhooks listen besides the server; NULL = nowhere */
    const char *id;           /**< of this source */
    const char *role;         /**< name of the agent */
    const char *folder;       /**< of the role's file; relative paths start here */
    const char *workspace;    /**< of the runs; NULL = none */
    bool is_autonomous;       /**< the trigger says so and the role can work so */
    const char *conversation; /**< the trigger's setting: template of a key; NULL = none */
    int64_t idle_s;           /**< after which its conversations begin anew; 0 = never */
    /** A line for the log of the daemon; any thread; or NULL. */
    void (*log)(void *context, const char *line);
    /** The time of `next_due` has become earlier; any thread; or NULL. */
    void (*wake)(void *context);
    void *context;
};

/** Bytes of what keeps a source from its work, the NUL included. */
#define SOURCE_PROBLEM_SIZE 300

/** Room for the list that source_agent_folders() fills. */
#define SOURCE_AGENT_FOLDERS 3

/**
 * Folders that agents can write, in which paths of a trigger must not lead through links: the
 * workspace, and the role's folder where a project is.
 * @param ret_folders borrowed from the host, NULL-terminated
 */
void source_agent_folders(const struct source_host *host,
                          const char *ret_folders[SOURCE_AGENT_FOLDERS]);

/** An HTTP request to a source. */
struct source_delivery {
    const char *method;
    /** A header of the request, NULL when it is not there, "" when it comes several times. @param
     * name in lower case */
    const char *(*header)(const struct source_delivery *delivery, const char *name);
    const char *body; /**< followed by a NUL, which it may also hold */
    size_t body_len;
    void *context; /**< for `header` */
};

/** The answer to an HTTP request. */
struct source_answer {
    int status;                        /**< 202, 401, ... */
    char run_id[ID_SIZE];              /**< of the run that the request started, or "" */
    int64_t retry_after_s;             /**< 0 = no header Retry-After */
    char message[REFUSAL_REASON_SIZE]; /**< what is wrong, for people; "" with 2xx */
};

struct source_type {
    const char *name; /**< `type` of the trigger */
    /** Settings that distinguish two triggers of the type, NULL-terminated. Changing another one
     *  keeps the mark. */
    const char *const *identity;
    /** Settings that are shown in lists ("*:5 * * * *"): the first that is there. */
    const char *const *summary;
    bool is_local;     /**< it watches its machine: on a shared store each machine has its own */
    const char *about; /**< what lists show where no such setting is there; NULL = nothing */

    /**
     * Open a source.
     * @param config     the trigger in normal form; borrowed for the call, because thousands of
     *                   triggers would take megabytes
     * @param mark       what the source remembers; NULL = it is new
     * @param ret_source begins with struct source
     * @return 0, or a code with why it cannot work and what is missing; the daemon then continues
     *         without it, and tries again when the role changes
     */
    int (*open)(struct json_object *config, const struct source_host *host, const char *mark,
                struct source **ret_source, struct rondo_error *err);
    void (*close)(struct source *source);

    /**
     * When `fire` is to be called, wall clock; SOURCE_NEVER. NULL = never. Asked again after
     * `fire`, after `wake`, when the clock was set, and when a run of the role has ended.
     */
    int64_t (*next_due)(struct source *source);
    /** What keeps an open source from doing all of its work, for lists; "" = nothing.
     *  Valid until the next call. NULL = "". */
    const char *(*problem)(struct source *source);
    /** When something happens next, as lists show it; NULL = `next_due`. */
    int64_t (*shown_due)(struct source *source);
    /** It is due, or may be. An error (of the store) is logged, and it is called again later. */
    int (*fire)(struct source *source, int64_t now_ns, struct rondo_error *err);

    /** A descriptor that becomes readable, or -1. NULL = none. */
    int (*descriptor)(struct source *source);
    /** It is readable. */
    int (*ready)(struct source *source, int64_t now_ns, struct rondo_error *err);

    /** Name under which `receive` is reached as POST /hooks/NAME; NULL = the type has none. */
    const char *(*hook)(struct source *source);
    /** An HTTP request came. */
    void (*receive)(struct source *source, const struct source_delivery *delivery,
                    struct source_answer *ret_answer);

    /** Write members about its state for `rondo sources` and the API; or NULL. */
    void (*describe)(struct source *source, struct json_writer *writer);
};

/** Common head of every source. */
struct source {
    const struct source_type *type;
    const struct source_host *host;
};

/** A type by its name, or NULL. */
const struct source_type *source_type_find(const char *name);

/**
 * The id of a source: role, type and a digest of the settings that identify it. It does not change
 * when other triggers of the role are added, moved or removed.
 */
void source_id(const struct source_type *type, const char *role, struct json_object *config,
               char ret_id[SOURCE_ID_SIZE]);

/** Append the line of lists for a trigger: the first setting of its summary, a list with commas,
 *  or what the type is about. */
void source_summary(const struct source_type *type, struct json_object *config,
                    struct buf *ret_summary);

/**
 * Submit an event of a source: `source`, `role`, `kind` and `mode` are filled in. An event of a
 * conversation is a turn of it; else it is autonomous when the trigger says so. A trigger whose
 * setting `conversation` has no braces has one conversation, which its type need not know.
 */
int source_submit(const struct source *source, const struct intake_event *event,
                  struct intake_result *ret_result, struct rondo_error *err);
