// SPDX-License-Identifier: Apache-2.0
/*
 * Connections to mail servers over libcurl: a stream of bytes, with or without TLS, for protocols
 * in which a server says more than libcurl reads (IMAP), and the sending of one mail (SMTP). Each
 * blocks its own thread until it is done, a deadline passes or the caller is cancelled. Addresses
 * are checked when a connection is made, as for HTTP. No proxy is used, and nothing is repeated.
 * Any thread; a stream belongs to one.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cancel;
struct clock;
struct net_guard;

/** Where to connect, and how long that may take. Borrowed until the end of the call or stream. */
struct mail_peer {
    const char *host; /**< a name or an address, without brackets */
    int64_t port;
    bool is_encrypted;             /**< TLS from the first byte */
    const struct net_guard *guard; /**< NULL = all addresses */
    const struct clock *clock;
    int64_t deadline_ns; /**< monotonic clock */
    struct cancel *cancel;
};

struct mail_stream;

/**
 * Connect.
 * @param ret_stream mail_stream_close()
 * @return 0; RONDO_ERR_INVALID for a host or port that is none, RONDO_ERR_DENIED when the guard
 *         refuses its address, RONDO_ERR_TIMEOUT, RONDO_ERR_CANCELLED; RONDO_ERR_SYSTEM otherwise
 */
int mail_stream_open(const struct mail_peer *peer, struct mail_stream **ret_stream,
                     struct rondo_error *err);
/** NULL is allowed. */
void mail_stream_close(struct mail_stream *stream);

/** Send all of it. */
int mail_stream_write(struct mail_stream *stream, const void *bytes, size_t len,
                      struct rondo_error *err);

/** Receive what has come, at least a byte. @return how many; 0 = the peer has closed; or a code */
int64_t mail_stream_read(struct mail_stream *stream, void *bytes, size_t size,
                         struct rondo_error *err);

/** One mail. Borrowed. */
struct mail_sending {
    const char *user; /**< NULL = no login */
    const char *password;
    bool is_upgraded;              /**< TLS must be begun by STARTTLS */
    const char *greeting;          /**< what this machine calls itself */
    const char *from;              /**< an address, without brackets */
    const char *const *recipients; /**< likewise; NULL-terminated */
    const char *text;              /**< lines that end with CRLF */
    size_t len;
};

/**
 * Send a mail by SMTP.
 * @param ret_is_unknown on failure: whether the server may have taken it
 * @return as mail_stream_open; RONDO_ERR_SYSTEM when the server refuses it, with its reply code
 */
int mail_send(const struct mail_peer *peer, const struct mail_sending *sending,
              bool *ret_is_unknown, struct rondo_error *err);
