// SPDX-License-Identifier: Apache-2.0
/*
 * What model/ shares inside: the model itself and the interface of a dialect. Not for other layers.
 */
#pragma once

#include "base/buf.h"
#include "model/key/secret.h"
#include "model/model.h"
#include "model/prices.h"
#include "model/provider.h"
#include "net/client/http.h"

#include <stdatomic.h>
#include <stdbool.h>

struct json_object;
struct model_reading;
struct model_script;

/** What a server has refused so far and is not sent any more (model/adapt.h). */
enum model_adaptation {
    ADAPT_NO_TEMPERATURE = 1,
    ADAPT_LIMIT_COMPLETION = 2, /**< max_completion_tokens instead of max_tokens */
    ADAPT_LIMIT_TOKENS = 4,     /**< the other way round */
    ADAPT_NO_STREAM_OPTIONS = 8,
};

/** Headers that a role adds to requests. */
#define MODEL_EXTRA_HEADERS 16

/** What a role says of its model beside name, temperature and length (model/settings.h). */
struct model_settings {
    struct buf body;   /**< members of requests, each after a comma */
    bool is_serial;    /**< one call in a reply */
    bool has_no_tools; /**< the model sees the tools and may call none */
    struct http_header headers[MODEL_EXTRA_HEADERS]; /**< owned texts */
    size_t header_count;
};

/** Written by model_open, model_set_tools and model_set_system only, but for `adaptations`. */
struct model {
    const struct provider *provider;
    const struct model_ops *ops;
    char *provider_name; /**< as it was asked for */
    char *name;
    char *url; /**< of requests; NULL when there are none */
    struct secret key;
    struct secret authorization; /**< value of the header that carries the key */
    int64_t temperature_micro;
    int64_t max_tokens;
    bool is_reasoning;
    int64_t max_attempts; /**< 0 = the default */
    int64_t max_wait_ns;  /**< 0 = the default */
    struct model_settings settings;
    atomic_uint adaptations; /**< enum model_adaptation */
    struct prices prices;
    const char *const *agent_folders; /* of the options; or NULL */
    char *record_file;
    struct http_client *http;
    const struct clock *clock;
    struct random *random;
    char *system;                /**< "" = none */
    struct buf tools;            /**< JSON array in the dialect; empty = none */
    struct buf tool_names;       /**< each between line feeds, for scripts */
    struct buf prefix;           /**< request body up to the first message */
    struct model_script *script; /**< of provider `scripted` */
};

/** Most headers of a request. */
#define DIALECT_MAX_HEADERS (5 + MODEL_EXTRA_HEADERS)

/** The body of a request while it is put together. */
struct request_body {
    struct http_part *parts; /**< owned; what they point to is not */
    size_t count;
    size_t room;
};

/** Add bytes, which must live until the request was made. */
void body_add(struct request_body *body, const char *bytes, size_t len);
void body_fini(struct request_body *body);

/** A dialect that is spoken over HTTP. */
struct model_wire {
    const char *path; /**< appended to the base URL */
    const char *key_header;
    const char *key_prefix; /**< before the key in that header */
    const char *version_header;
    const char *version;   /**< NULL = no such header */
    const char *id_header; /**< of replies: the provider's id of the request */
    /** Write the body up to the first message, once. */
    void (*write_prefix)(const struct model *model, struct buf *ret_json);
    /** Write what follows the last message. */
    void (*write_suffix)(const struct model *model, const struct model_request *request,
                         struct buf *ret_json);
    /** Splice the messages with their separators. */
    void (*splice)(const struct model_request *request, struct request_body *body);
    /** Take in a whole reply. */
    void (*read_reply)(struct model_reading *reading, struct json_object *reply);
    /** Take in one event of a stream. Not called any more after the reading failed. */
    void (*read_event)(struct model_reading *reading, struct json_object *event);
    /** Write what must be kept of the reply beside text and calls into `native`, or nothing. */
    void (*write_native)(struct model_reading *reading, struct buf *ret_json);
};

/** A kind of model. */
struct model_ops {
    const char *dialect;
    const struct model_wire *wire; /**< NULL = `ask` does it by itself */
    /** Further work of model_open; NULL = none. */
    int (*open)(struct model *model, const struct model_options *options, struct rondo_error *err);
    /** Release what `open` made; NULL = nothing. */
    void (*close)(struct model *model);
    /** Write the tools as JSON; NULL = they are not sent. */
    void (*write_tools)(const struct model_tool *tools, size_t count, struct buf *ret_json);
    void (*write_user)(const char *text, struct buf *ret_json);
    void (*write_assistant)(const struct model_reply *reply, struct buf *ret_json);
    void (*write_answers)(const struct model_answer *answers, size_t count, struct buf *ret_json);
    /** As model_ask; durations and costs are filled in by the caller. */
    int (*ask)(struct model *model, const struct model_request *request,
               struct model_reply *ret_reply, struct rondo_error *err);
};

/** `ask` of the dialects over HTTP: attempts, retries, adaptations. */
int model_ask_over_http(struct model *model, const struct model_request *request,
                        struct model_reply *ret_reply, struct rondo_error *err);

/** A path of the options, relative to their folder. Owned by the caller. */
char *model_path(const struct model_options *options, const char *path);

void model_add_usage(struct model_usage *sum, const struct model_usage *more);

/** Tokens of a reply that a request allows. */
int64_t model_max_tokens(const struct model *model, const struct model_request *request);

/**
 * Arguments of a call as a JSON object in any case: what a model wrote wrongly is wrapped as
 * {"invalid_arguments": "..."}, because a later request with it would be refused as a whole.
 */
void dialect_write_arguments(const char *arguments, struct buf *ret_json);
/** A name as providers take it: letters, digits, `_`, `-`, at most 64 bytes. */
void dialect_write_name(const char *name, struct buf *ret_name);
/** Millionths as a JSON number: 100000 is 0.1. */
void dialect_write_micro(int64_t micro, struct buf *ret_json);
/** Whether a text has nothing but white space, which some providers refuse. */
bool dialect_is_blank(const char *text);

struct json_object *dialect_at(struct json_object *array, size_t i);
/** A number of tokens: 0 for anything that is none, at most MODEL_TOKENS_MAX. */
int64_t dialect_tokens(struct json_object *object, const char *key);

/** No reply has more tokens; more is a damaged number. */
#define MODEL_TOKENS_MAX INT64_C(1000000000000)
/** Calls of one reply. */
#define MODEL_CALLS_MAX 1024
