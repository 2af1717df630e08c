// SPDX-License-Identifier: Apache-2.0
/*
 * The part of Telegram's Bot API that a chat needs: getUpdates by long polling, and sendMessage
 * (core.telegram.org/bots/api). The address has the token in it and never appears in a message.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

struct cancel;
struct http_client;

#define TELEGRAM_URL "https://api.telegram.org"

struct telegram_api {
    struct http_client *http; /**< borrowed, as the next one */
    struct cancel *cancel;
    char *url; /**< up to the method; secret; owned */
};

/**
 * @param base  TELEGRAM_URL, or another one
 * @param token of the bot
 * @return RONDO_ERR_INVALID: the token is none
 */
int telegram_api_init(struct telegram_api *api, const char *base, const char *token,
                      struct rondo_error *err);
void telegram_api_fini(struct telegram_api *api);

/** A text message. Borrowed. */
struct telegram_message {
    int64_t update; /**< its number; rises */
    bool is_text;   /**< else only `update` is set */
    int64_t chat;
    int64_t user;
    const char *user_name; /**< "" = none */
    const char *text;
};

typedef void telegram_message_fn(void *context, const struct telegram_message *message);

/**
 * Read the answer of getUpdates.
 * @return RONDO_ERR_INVALID when it is not one
 */
int telegram_read_updates(const char *json, size_t len, telegram_message_fn *fn, void *context,
                          struct rondo_error *err);

/** How a request ended. */
enum telegram_outcome {
    TELEGRAM_DONE = 0,
    TELEGRAM_NOT_SENT, /**< it did not reach the service, or was told to wait: try again later */
    TELEGRAM_REFUSED,  /**< the service says no; trying again is of no use */
    TELEGRAM_UNKNOWN,  /**< it may have been carried out */
};

/** The outcome, and why. */
struct telegram_answer {
    enum telegram_outcome outcome;
    int64_t wait_s;   /**< NOT_SENT: not before; 0 = nothing was said */
    char reason[200]; /**< unless DONE */
};

/** Wait up to `wait_s` for messages from `offset` on. @param ret_body the JSON, when DONE */
void telegram_get_updates(struct telegram_api *api, int64_t offset, int wait_s,
                          struct buf *ret_body, struct telegram_answer *ret_answer);
/** Send a text, at most TELEGRAM_TEXT_BYTES. */
void telegram_send(struct telegram_api *api, int64_t chat, const char *text,
                   struct telegram_answer *ret_answer);

/** A message has at most 4096 UTF-16 units; so many bytes of UTF-8 never are more. */
#define TELEGRAM_TEXT_BYTES 4000
