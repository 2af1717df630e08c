// SPDX-License-Identifier: Apache-2.0
/*
 * A mail to be sent (RFC 5322): what a model wrote becomes its parts, and never a header more.
 * Pure.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Texts are borrowed. */
struct compose_mail {
    const char *from; /**< an address */
    const char *to;   /**< addresses, separated by commas; a name before <address> is left out */
    const char *cc;   /**< likewise; "" = none */
    const char *subject;
    const char *body;
    const char *reply_to; /**< the Message-ID that it answers; "" = none */
    const char *key;      /**< of the call: makes the Message-ID, which is the same when repeated */
    int64_t now_ns;
};

struct composed_mail {
    struct buf text;   /**< lines that end with CRLF */
    char **recipients; /**< NULL-terminated */
    size_t count;
};

/** Whether a text is an address that can be written to: ASCII, in one line, without blanks. */
bool compose_is_address(const char *text);

/** The domain of an address. Borrowed. */
const char *compose_domain(const char *address);

/**
 * @param ret_mail composed_mail_fini(), also on failure
 * @return RONDO_ERR_INVALID says what is wrong
 */
int compose(const struct compose_mail *mail, struct composed_mail *ret_mail,
            struct rondo_error *err);
void composed_mail_fini(struct composed_mail *mail);
