// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to a forge: pacing, limits, retries of reads, pages, and what an answer means. The
 * token goes into a header here and nowhere else.
 */
#pragma once

#include "base/buf.h"
#include "forge/kind.h"
#include "forge/link.h"
#include "model/key/secret.h"

#include <stdbool.h>
#include <stdint.h>

struct forge_pace;
struct json_object;

/** Lists of issues whose tags are remembered. */
#define FORGE_MEMORIES 4

/** What is known of a list since it was read last. */
struct forge_memory {
    char *list; /**< path of the list; NULL = free */
    char *path; /**< path whose answer changes whenever the list does */
    char etag[FORGE_ETAG_SIZE];
    int64_t read_ns; /**< monotonic clock: when the list was read */
};

/** An account that may do something in the repository. */
struct forge_known_member {
    char *login;
    enum forge_trust trust;
};

struct forge {
    struct forge_place place;
    const struct forge_ops *ops;
    char *root; /**< path of the repository */
    struct secret token;
    struct secret authorization; /**< value of the header */
    struct http_client *http;
    const struct clock *clock;
    struct random *random;
    struct cancel *cancel;
    int64_t write_gap_ns;
    struct forge_pace *pace;
    int64_t ahead_ns; /**< how far the forge's clock is ahead of ours */
    struct forge_outcome outcome;
    struct forge_memory memories[FORGE_MEMORIES];
    size_t next_memory;
    struct forge_known_member *members; /**< where authors come without their rights */
    size_t member_count;
    int64_t members_read_ns; /**< monotonic clock; 0 = never */
};

struct forge_request {
    const char *method;     /**< NULL = GET */
    const char *path;       /**< below the API's address, query included */
    const char *url;        /**< in place of a path: an address of the API's origin */
    const struct buf *body; /**< JSON; NULL = none */
    const char *etag;       /**< what is known already: the answer may be FORGE_NOT_MODIFIED */
};

/** An answer with success. */
struct forge_reply {
    struct json_object *json;   /**< NULL when it has no body */
    char etag[FORGE_ETAG_SIZE]; /**< "" = none */
    char *next;                 /**< address of the next page; NULL = this is the last one */
};
void forge_reply_fini(struct forge_reply *reply);
#define auto_reply __attribute__((cleanup(forge_reply_fini)))

/**
 * Send a request and set the outcome.
 * @param ret_reply filled on FORGE_OK; forge_reply_fini() in any case. NULL = only the end counts
 */
enum forge_end forge_send(struct forge *forge, const struct forge_request *request,
                          struct forge_reply *ret_reply);

/** Read one path. @param ret_reply as above */
enum forge_end forge_get(struct forge *forge, const char *path, struct forge_reply *ret_reply);

/** Send a writer's body. @param ret_reply as above */
enum forge_end forge_write(struct forge *forge, const char *method, const char *path,
                           const struct buf *body, struct forge_reply *ret_reply);

/** Takes the entries of a page. @return whether more are needed */
typedef bool forge_page_fn(void *context, struct json_object *entries);

/** A list that is read page by page. */
struct forge_list {
    const char *path;
    const char *member; /**< of an answer, with the entries; NULL = the answer is the list */
    const char *etag;   /**< of the first page, as it is known; NULL = it is not */
    forge_page_fn *take_page;
    void *context;
    char first_etag[FORGE_ETAG_SIZE]; /**< filled: of the first page */
    bool has_more;                    /**< filled: whether there was a second page */
};

/**
 * Read a list. Every page must have an array, and every page after the first one the origin of the
 * API. What take_page sets as outcome is returned.
 */
enum forge_end forge_read_list(struct forge *forge, struct forge_list *list);

/** Set the outcome without a request. @return end */
enum forge_end forge_end_with(struct forge *forge, enum forge_end end, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** An answer with success that does not have the expected form: FORGE_UNAVAILABLE of a read,
 *  FORGE_UNCERTAIN of a write. */
enum forge_end forge_bad_answer(struct forge *forge, bool is_write, const char *expected);
