// SPDX-License-Identifier: Apache-2.0
/* What only the owner of a cancel token may do with it. Everybody else has base/cancel.h. */
#pragma once

#include "base/cancel.h"

/**
 * Take back what was set, while nobody works that the token was to end. A level that another thread
 * sets meanwhile may be lost: an owner that knows a reason for it sets it again. One thread at a
 * time.
 */
void cancel_reset(struct cancel *cancel);
