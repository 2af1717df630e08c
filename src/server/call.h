// SPDX-License-Identifier: Apache-2.0
/*
 * One request on its way through the server: what was asked, by whom, and the answer as it is
 * written. Handlers of routes get a call that was admitted and whose parameters and body were read;
 * they fill in the answer and never touch the exchange, except for streams. One thread at a time.
 */
#pragma once

#include "base/clock.h"
#include "base/json/json.h"
#include "server/answer/problem.h"
#include "server/router.h"
#include "server/server_internal.h"

/** Characters of a run's id that are at least needed. */
#define CALL_RUN_PREFIX_MIN 8

/** A store that the caller reaches, of several (server/stores.h). */
struct call_reach {
    const char *name;
    struct server *server; /**< NULL: it was never there */
    bool is_away;          /**< then it is not known whether the caller may reach it */
    struct token_grant grant;
};

struct call {
    struct server *front;       /**< the one that listens */
    struct server *server;      /**< of the store that the request is for */
    struct call_reach *reached; /**< in the order of the stores; NULL = there is one store */
    size_t reached_count;
    struct http_exchange *exchange;
    int64_t began_ns; /**< on the monotonic clock */
    struct route_match match;
    struct token_grant grant;     /**< borrowed when there is `reached` */
    char run_id[ID_SIZE];         /**< for the run that the request makes; "" = any */
    bool is_again;                /**< a server ended while it did the same request */
    bool is_local;                /**< a process of our user that showed no token */
    char by[TOKEN_NAME_LEN + 16]; /**< the caller, for journals: "token NAME (api)" */
    struct json_object *body;     /**< NULL = none was sent */

    bool is_answered; /**< the exchange has its answer already: a stream, an asset */
    unsigned status;
    const char *content_type; /**< static */
    struct buf answer;
    char location[128];
    char etag[80]; /**< quoted */
    unsigned retry_after_s;
    bool is_replayed;  /**< what was done before is answered */
    bool is_cacheable; /**< the answer has its own Cache-Control */
    /* Of a request that waits (server/stream/waiters.h): */
    char waits_for[ID_SIZE]; /**< set by its handler: a handoff; "" = it does not */
    int64_t wait_until_ns;   /**< on the monotonic clock; 0 = not set yet */
};

/** Begin the JSON answer. */
struct json_writer call_json(struct call *call, unsigned status);

/** Answer with a problem. What was written before is dropped. */
void call_problem(struct call *call, enum problem_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** The same with a list of errors. @param errors JSON array */
void call_problem_with(struct call *call, enum problem_code code, const char *errors,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
/** The same for agents, which read a stable code of its own beside the problem's. */
void call_refuse(struct call *call, enum problem_code code, const char *stable, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));
/** Answer with an error of the layers below. */
void call_error(struct call *call, const struct rondo_error *err);

/** A parameter of the path: "run", "number", ... Never NULL where the pattern has it. */
const char *call_value(const struct call *call, const char *name);
/** A parameter of the query; NULL when absent. */
const char *call_query(const struct call *call, const char *name);

/** An integer of the query. @return false: the answer is a problem */
bool call_query_int(struct call *call, const char *name, int64_t low, int64_t high,
                    int64_t by_default, int64_t *ret_number);
/** A boolean of the query ("true", "false"). @return false: the answer is a problem */
bool call_query_bool(struct call *call, const char *name, bool by_default, bool *ret_value);
/** One of several words. @param words NULL-terminated @param ret_index -1 = absent */
bool call_query_word(struct call *call, const char *name, const char *const *words, int *ret_index);

/** Check the members of an object against a comma-separated list. @return false: a problem */
bool call_check_members(struct call *call, struct json_object *object, const char *path,
                        const char *allowed);
/** A member that is a text. @param ret_text borrowed; NULL when absent. @return false: a problem */
bool call_member_text(struct call *call, const char *name, bool is_needed, const char **ret_text);
/** A member that is a boolean. */
bool call_member_bool(struct call *call, const char *name, bool by_default, bool *ret_value);

/** The run of the path, if the caller reaches it. @return false: the answer is a problem */
bool call_find_run(struct call *call, struct store_run *ret_run);

/**
 * Whether the caller sees what an agent has said, called and got: not where a rule of the desk file
 * hides values of its requests from the caller, because they are in there, too.
 * @param agent_id NULL = that of all agents
 * @return false: the answer is a problem
 */
bool call_sees_content(struct call *call, const char *agent_id);
/** call_find_run() for what needs call_sees_content(). */
bool call_find_content(struct call *call, struct store_run *ret_run);

/**
 * Answer with an object whose one member is a list.
 * @param code result of making the list: a negative one becomes a problem with what `err` says
 * @param list JSON
 */
void call_answer_list(struct call *call, const char *name, struct buf *list, int code,
                      const struct rondo_error *err);

/** Have what follows be about one of the stores that the caller reaches. */
void call_enter(struct call *call, size_t index);
/** Whether a route spans stores and the request names none, so that the answer is about several. */
bool call_spans_stores(const struct call *call);

/** The server's store. */
struct store *call_store(const struct call *call);
struct orchestrator *call_orchestrator(const struct call *call);

/** Write a time, or null for 0. */
void call_write_time(struct json_writer *writer, const char *key, int64_t time_ns);
/** Write money as a number of dollars. */
void call_write_money(struct json_writer *writer, const char *key, int64_t micro);
/** A list with commas as an array. @return NULL-terminated, call_list_free() */
char **call_list_new(const char *text);
void call_list_free(char **list);
