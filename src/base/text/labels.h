// SPDX-License-Identifier: Apache-2.0
/*
 * Labels and names of servers: 1 to LIMIT_LABEL_LEN of [a-z0-9.-]. Several labels are one text with
 * commas, "gpu,linux". Any thread.
 */
#pragma once

#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>

struct rondo_error;

/** Bytes of a label, the NUL included. */
#define LABEL_SIZE (LIMIT_LABEL_LEN + 1)
/** Bytes of the longest list of labels, the NUL included. */
#define LABELS_SIZE (LIMIT_LABELS * LABEL_SIZE)

bool label_is_valid(const char *text, size_t len);

/**
 * Check a list from outside; NULL and "" are the empty one.
 * @param what what it is, for the message
 * @return 0, RONDO_ERR_INVALID, or RONDO_ERR_LIMIT for more than LIMIT_LABELS
 */
int labels_check(const char *list, const char *what, struct rondo_error *err);

/** Whether a list has all labels of another one. @param wanted NULL and "" = none */
bool labels_have_all(const char *list, const char *wanted);
