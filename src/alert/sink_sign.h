// SPDX-License-Identifier: Apache-2.0
/* Secrets of webhooks; sink_sign itself is in sink.h. Pure functions; any thread. */
#pragma once

#include "alert/sink.h"
#include "base/random.h"

#include <stdbool.h>

/** Whether a text is "whsec_" and base64 of a key. */
bool sink_secret_is_valid(const char *secret);

/** Make a secret. */
void sink_secret_new(struct random *random, char ret_secret[SINK_SECRET_SIZE]);
