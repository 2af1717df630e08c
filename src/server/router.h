// SPDX-License-Identifier: Apache-2.0
/*
 * From a method and a path to a row of the table of routes. The table says everything about a
 * route except what it does: which right it needs, which parameters it takes, whether it has a
 * body. A test compares it with openapi/ in both directions. Pure; any thread.
 */
#pragma once

#include "server/auth/token.h"

#include <stdbool.h>
#include <stddef.h>

struct call;

enum route_body {
    ROUTE_NO_BODY = 0,
    ROUTE_MAY_HAVE_BODY,
    ROUTE_NEEDS_BODY,
};

struct route {
    const char *operation; /**< operationId; NULL ends a table */
    const char *method;
    const char *pattern; /**< "/v1/runs/{run}/stop" */
    enum token_right right;
    bool is_public;        /**< needs no token; `right` is 0 */
    bool needs_all_agents; /**< a token that is limited to agents is not enough */
    bool is_pure; /**< a POST whose answer is not recorded: it changes nothing, or must not be kept
                   */
    bool makes_run; /**< under the id of the call, so that it shows whether it was done */
    bool knows_key; /**< carries out what has a key once: a lost answer is made again */
    bool has_error; /**< problems have the member `error`, for agents */
    bool spans;     /**< of several stores it answers for all at once, if none is named */
    bool is_slow;   /**< may open an agent, which may wait for servers of others */
    enum route_body body;
    const char *query; /**< parameters that it takes, with commas; NULL = none */
    void (*handler)(struct call *call);
};

/** All routes of the server. */
extern const struct route routes[];

#define ROUTE_VALUES     2
#define ROUTE_VALUE_SIZE 256
#define ROUTE_ALLOW_SIZE 64

struct route_match {
    const struct route *route;
    size_t count;
    struct {
        char name[16];
        char value[ROUTE_VALUE_SIZE]; /**< decoded */
    } values[ROUTE_VALUES];
    char allow[ROUTE_ALLOW_SIZE]; /**< ROUTE_OTHER_METHOD: "GET, HEAD, POST" */
};

enum route_outcome {
    ROUTE_FOUND = 0,
    ROUTE_UNKNOWN,
    ROUTE_OTHER_METHOD,
};

/** @param table ends with a NULL operation; HEAD is answered like GET */
enum route_outcome router_match(const struct route *table, const char *method, const char *path,
                                struct route_match *ret_match);

/** A captured value; NULL when the pattern has none of that name. */
const char *route_value(const struct route_match *match, const char *name);

/** Whether a list with commas holds a word. NULL holds none. */
bool route_list_has(const char *list, const char *word);

/**
 * Decode percent-escapes. @return false for broken ones, and for what would hold a slash, a control
 * character, bytes that are not UTF-8 or more than fits
 */
bool route_decode(const char *text, size_t len, char *ret_text, size_t size);
