// SPDX-License-Identifier: Apache-2.0
/*
 * Taking secrets out of texts that leave the machine: the values of this process's variables whose
 * names say that they are secret, and words that have the shape of well-known tokens. It is a net
 * below, not a reason to send texts that need not be sent. A redactor never changes; any thread.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/** Shorter values are not taken for secrets: they would blacken ordinary words. */
#define REDACT_MIN_VALUE_BYTES 8
/** Values that are known by name; further ones are found by their shape only. */
#define REDACT_MAX_VALUES 256

struct redact;

/**
 * @param envp "NAME=value" strings, NULL-terminated; NULL = none
 * @return never NULL; redact_free()
 */
struct redact *redact_new(const char *const *envp);
/** Zeroes what it knows. NULL is allowed. */
void redact_free(struct redact *redact);

/** Whether a name of a variable, header or option says that the value is secret. */
bool redact_is_secret_name(const char *name);
/** Whether a text holds a word that has the shape of a well-known token. */
bool redact_has_token(const char *text);

/** Append `text` with "[redacted]" in place of secrets. @param redact NULL = shapes only */
void redact_text(const struct redact *redact, const char *text, size_t len, struct buf *ret_text);
