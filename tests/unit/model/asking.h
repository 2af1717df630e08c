// SPDX-License-Identifier: Apache-2.0
/* What tests of models share: a model that asks a scripted peer, and a clock that does not wait. */
#pragma once

#include "../../support/http_peer.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/random.h"
#include "model/model.h"
#include "net/client/http.h"
#include "support/test.h"

/** What peers say before JSON and before a stream. */
#define JSON_TYPE   "Content-Type: application/json\r\n"
#define STREAM_TYPE "Content-Type: text/event-stream\r\n"
#define TEST_KEY    "sk-test-4f9a8b7c6d5e4f3a2b1c"

/** A model and all that it needs. Heard texts are those of the watcher. */
struct asking {
    struct http_peer *peer;
    struct http_client *http;
    struct clock clock; /**< real, but sleeping only adds up in `slept_ns` */
    int64_t slept_ns;
    struct random random;
    struct model *model;
    struct cancel cancel;
    struct model_watcher watcher;
    struct buf text;
    struct buf thinking;
    struct buf retries; /**< one line for each: attempt and reason */
    struct model_message messages[16];
    size_t message_count;
    struct model_request request; /**< used by asking_ask; change what you like */
};

/**
 * Open a model of the provider at the peer.
 * @param options NULL = provider's name and model only
 */
void asking_open(struct asking *asking, const char *provider, const char *name,
                 const struct model_options *options);
void asking_close(struct asking *asking);

/** Add a message of the user. */
void asking_user(struct asking *asking, const char *text);
/** Add a reply to the conversation. */
void asking_add(struct asking *asking, const struct model_reply *reply);
/** Add answers "ok" to all calls of a reply. */
void asking_answer(struct asking *asking, const struct model_reply *reply);

/** Ask with all messages so far; fails the test when this process cannot. */
struct model_reply asking_ask(struct asking *asking);
/** The same with the streaming form. */
struct model_reply asking_stream(struct asking *asking);

/** The body of the request with a number. */
const char *asking_body(struct asking *asking, size_t number);
