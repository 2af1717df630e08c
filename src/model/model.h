// SPDX-License-Identifier: Apache-2.0
/*
 * Language models with one interface. A provider is one static `struct model_ops` in the table of
 * model/provider_table.c; OpenAI Chat Completions, Anthropic Messages and `scripted` are there.
 *
 * A conversation is a list of messages that are serialised once, in the provider's own dialect, and
 * spliced into each request: nothing here reads or writes history again. What one message becomes
 * depends only on its content, so that a conversation rebuilt from the journal gives the same
 * bytes.
 */
#pragma once

#include "base/buf.h"
#include "journal/model_stop.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cancel;
struct clock;
struct http_client;
struct json_object;
struct json_writer;
struct random;
struct model;
struct prices;

/** What a user requests. Texts are borrowed for the time of model_open. */
struct model_options {
    const char *provider;      /**< "openai", "anthropic", "ollama", "groq", ..., "scripted" */
    const char *name;          /**< of the model; for "scripted" the path of the file of turns */
    const char *base_url;      /**< NULL = the provider's */
    const char *api_key_env;   /**< variable that holds the key; NULL = the provider's usual one */
    const char *folder;        /**< where relative paths and `.env` are looked for; NULL = none */
    double temperature;        /**< not sent to reasoning models */
    int64_t max_tokens;        /**< of one reply */
    int64_t price_input_micro; /**< millionths of a dollar a million tokens; -1 = price table */
    int64_t price_output_micro;
    struct json_object
        *settings;           /**< normal form of `spec.model`, for what is not above; or NULL */
    int64_t max_attempts;    /**< at a request; 0 = the default of net/client/retry.h */
    double max_wait_seconds; /**< that a server may request; 0 = the same */
    bool has_extras;         /**< its extra_headers and extra_body are for this provider */
    const char *prices_file; /**< overrides of the price table (JSON); NULL = none */
    const char *record_file; /**< append each request and reply, for replay; NULL = do not */
    const struct prices
        *prices; /**< found before, and kept; NULL = none. prices_file replaces them */
    /** Folders that agents can write, NULL-terminated, for as long as the model lives; a recording
     *  in one of them is not written through links. NULL = the working folder. */
    const char *const *agent_folders;
    struct http_client *http; /**< borrowed; must outlive the model */
    const struct clock *clock;
    struct random *random;
};

/** Find the provider and the key. Says what to set when a key is missing, and never shows one. */
int model_open(const struct model_options *options, struct model **ret_model,
               struct rondo_error *err);
/** NULL is allowed. */
void model_free(struct model *model);

/** "openai", as it was asked for. Borrowed. */
const char *model_provider(const struct model *model);
/** Name of the model. Borrowed. */
const char *model_name(const struct model *model);
/** Name of the dialect in which messages are written: "openai", "anthropic", "scripted". Static. */
const char *model_dialect(const struct model *model);

/**
 * Find what a model costs: table, then file, then the options' own prices. Local models and scripts
 * are free. Needs neither key nor network.
 * @param ret_prices `is_known` is false where there is none
 */
int model_find_prices(const struct model_options *options, struct prices *ret_prices,
                      struct rondo_error *err);

/** Whether the price of the model is known: local models and scripts are free. */
bool model_has_price(const struct model *model);

/** A message as it is sent. */
struct model_message;

/**
 * What a request may use at most: the tokens of its reply that the options allow, and an upper
 * estimate of the tokens of its prompt, by the bytes that are sent.
 * @param ret_cost_micro what they cost; 0 where no price is known
 */
int64_t model_estimate(const struct model *model, const struct model_message *messages,
                       size_t count, int64_t *ret_cost_micro);

/** A tool that the model may call. Borrowed. */
struct model_tool {
    const char *name;
    const char *description;
    const char *schema; /**< JSON Schema of the arguments, an object, as text */
};

/** Set the tools, once for all requests. */
void model_set_tools(struct model *model, const struct model_tool *tools, size_t count);
/** Set the system prompt of the requests that follow. No request is under way. */
void model_set_system(struct model *model, const char *text);

enum model_message_kind {
    MODEL_USER,         /**< words of the user */
    MODEL_ASSISTANT,    /**< a reply, with the calls it made */
    MODEL_TOOL_RESULTS, /**< answers to all calls of the reply before */
};

/** One serialised message. `bytes` is owned by its creator. */
struct model_message {
    enum model_message_kind kind;
    char *bytes;
    size_t len;
};

/** A call that a model makes. Owned texts when in a reply. */
struct model_call {
    char *id;        /**< the provider's, never empty */
    char *name;      /**< as the model wrote it: may be no tool at all */
    char *arguments; /**< as the model wrote it: may be no JSON at all; "" reads as {} */
};

struct model_usage {
    int64_t input;  /**< tokens, including cached ones */
    int64_t output; /**< including reasoning */
    int64_t cached; /**< of the input, read from the provider's cache */
    int64_t cache_written;
    int64_t reasoning;
};

enum model_failure {
    MODEL_OK = 0,
    MODEL_RATE_LIMITED,
    MODEL_OVERLOADED,   /**< 5xx */
    MODEL_REFUSED_KEY,  /**< 401, 403 */
    MODEL_BAD_REQUEST,  /**< other 4xx: repeating will not help */
    MODEL_CONTEXT_FULL, /**< the conversation is too long for the model */
    MODEL_UNREACHABLE,
    MODEL_TIMED_OUT,
    MODEL_BAD_REPLY,   /**< not what the API promises, or too large */
    MODEL_SCRIPT_OVER, /**< scripted: no turn is left, or it does not match */
    MODEL_CANCELLED,
};

/** A reply. Owned; model_reply_fini(). */
struct model_reply {
    enum model_failure failure;
    char *message;       /**< of a failure, for people; no key in it; NULL when it went well */
    bool is_out_of_time; /**< of a failure: another attempt was due, and there was no time for it */
    char *text;          /**< words for the user, "" = none */
    char *thinking;      /**< readable reasoning, "" = none */
    struct model_call *calls;
    size_t call_count;
    char *native; /**< JSON that the dialect needs to repeat this message (thinking blocks with
                       their signatures); NULL = nothing */
    enum model_stop stop;
    struct model_usage usage; /**< also of a failed or cut reply, as far as it is known */
    int64_t cost_micro;       /**< millionths of a dollar */
    bool has_cost;            /**< the price is known, and the tokens are */
    char *request_id;         /**< the provider's, or NULL */
    char *model_name;         /**< of the model that answered, as the provider says; or NULL */
    unsigned attempts;        /**< requests made, 1 = the first went through */
    int64_t duration_ns;
    int64_t first_token_ns; /**< streaming: until the first delta; else 0 */
};

void model_reply_fini(struct model_reply *reply);

/** Write the elements of an array that is open: {"id","name","arguments"} of each call. */
void model_reply_write_calls(const struct model_reply *reply, struct json_writer *writer);

/** "rate_limited". Static. */
const char *model_failure_name(enum model_failure failure);
/** What happens while a request is under way; called on the calling thread. All may be NULL. */
struct model_watcher {
    void (*on_text)(void *context, const char *text, size_t len); /**< a piece of the words */
    void (*on_thinking)(void *context, const char *text, size_t len);
    void (*on_retry)(void *context, unsigned attempt, int64_t delay_ns, const char *why);
    void *context;
};

struct model_request {
    const struct model_message *messages; /**< borrowed */
    size_t message_count;
    uint64_t turn;       /**< number of this request in its run, from 1: the same when a crash makes
                              the run repeat it; 0 = counted from the messages */
    int64_t max_tokens;  /**< of this reply; 0 = as opened */
    int64_t deadline_ns; /**< monotonic clock; all attempts together */
    struct cancel *cancel;
    bool is_streaming;                   /**< somebody watches: use the streaming form */
    const struct model_watcher *watcher; /**< may be NULL */
    const char
        *idempotency_key;    /**< sent where the provider takes one; the same for a repetition */
    const char *traceparent; /**< header of W3C Trace Context; NULL = none */
};

/**
 * Ask the model. Retries of the single request happen inside. Blocks; a model serves any number of
 * threads, after its tools and system prompt were set.
 * @param ret_reply model_reply_fini(); whatever goes wrong outside is an outcome in it
 * @return 0, or a negative code when this process lacks a resource
 */
int model_ask(struct model *model, const struct model_request *request,
              struct model_reply *ret_reply, struct rondo_error *err);

/** Serialise words of the user. @param ret_message `bytes` owned by the caller */
void model_write_user(const struct model *model, const char *text,
                      struct model_message *ret_message);

/** Serialise a reply for the requests to come: text, calls, native. */
void model_write_assistant(const struct model *model, const struct model_reply *reply,
                           struct model_message *ret_message);

/** Answer to one call. Borrowed. */
struct model_answer {
    const char *call_id;
    const char *name;
    const char *text;
    size_t text_len;
    bool is_error;
};

/** Serialise the answers to all calls of one reply, in the order of the calls. */
void model_write_answers(const struct model *model, const struct model_answer *answers,
                         size_t count, struct model_message *ret_message);

/** Append the tables of providers and prices, in Markdown. */
void model_describe(struct buf *ret_text);

/** Most of a provider's reply that is read, bytes as they come over the network; what it may say
 * is LIMIT_MODEL_REPLY_BYTES. */
#define MODEL_REPLY_MAX_BYTES ((size_t)32 * 1024 * 1024)
/** Longest time without a byte of a streamed reply. */
#define MODEL_IDLE_NS INT64_C(120000000000)
