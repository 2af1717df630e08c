// SPDX-License-Identifier: Apache-2.0
/*
 * The part of IMAP (RFC 9051, and 3501) that reading needs: folders are examined, never selected,
 * and mails are peeked at, so nothing on the server changes. What a server sends is hostile: lines,
 * literals, responses and a whole session are bounded. What is sent has no line end of its own:
 * texts from outside become quoted strings or literals. One thread.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** How bytes come and go. */
struct imap_wire {
    /** @return how many bytes, 0 = the peer has closed, or a negative code */
    int64_t (*read)(void *context, void *bytes, size_t size, struct rondo_error *err);
    int (*write)(void *context, const void *bytes, size_t len, struct rondo_error *err);
    void *context;
};

/** Literals of one response that are kept. */
#define IMAP_LITERALS 4

struct imap {
    struct imap_wire wire;
    struct buf in; /* received, and not read from `at` on */
    size_t at;
    size_t received; /* in the whole session */
    unsigned tags;
    struct buf text; /* of the last response: controls are '?', a literal is '\x01' */
    struct buf literals;
    size_t literal_at[IMAP_LITERALS];
    size_t literal_len[IMAP_LITERALS];
    size_t literal_count;
};

/** Begin a session: read the greeting. @param ret_imap imap_fini(), also on failure */
int imap_begin(const struct imap_wire *wire, struct imap *ret_imap, struct rondo_error *err);
void imap_fini(struct imap *imap);

/** Nothing that the server says about it is in the error. */
int imap_login(struct imap *imap, const char *user, const char *password, struct rondo_error *err);

/** The names of all folders, as the server writes them, a line each; no more than a limit. */
int imap_list(struct imap *imap, struct buf *ret_names, struct rondo_error *err);

/** Open a folder, without changing it. */
int imap_examine(struct imap *imap, const char *folder, struct rondo_error *err);

/**
 * Find mails.
 * @param query in the language of SEARCH: one line, other letters than ASCII in "quotes" only
 * @param ret_uids the highest ones found, in falling order @param ret_count how many
 * @return RONDO_ERR_INVALID for a query that is none
 */
int imap_search(struct imap *imap, const char *query, size_t most, uint32_t *ret_uids,
                size_t *ret_count, struct rondo_error *err);

/** Find the mail with a Message-ID. @param ret_uid 0 = there is none */
int imap_find(struct imap *imap, const char *message_id, uint32_t *ret_uid,
              struct rondo_error *err);

/** A mail, or its header: borrowed for the call. @param size of the whole mail; 0 = not said */
typedef void imap_mail_fn(void *context, uint32_t uid, int64_t size, const char *bytes, size_t len);

/** Read From, Subject, Date and Message-ID of mails. */
int imap_fetch_headers(struct imap *imap, const uint32_t *uids, size_t count, imap_mail_fn *fn,
                       void *context, struct rondo_error *err);
/** Read the beginning of a mail, up to LIMIT_MAIL_BYTES. */
int imap_fetch_mail(struct imap *imap, uint32_t uid, imap_mail_fn *fn, void *context,
                    struct rondo_error *err);

/** Say goodbye; what becomes of that does not matter. */
void imap_logout(struct imap *imap);
