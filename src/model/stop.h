// SPDX-License-Identifier: Apache-2.0
/* Why replies end, from the providers' words to ours. Not for other layers; see model/model.h. */
#pragma once

#include "model/model.h"

/** What a provider's word means. @param dialect "openai" or "anthropic" */
enum model_stop stop_from_word(const char *dialect, const char *word);

/**
 * What the reply waits for is what it did: some servers say "stop" and send calls, some say it and
 * send nothing at all.
 */
enum model_stop stop_settle(const struct model_reply *reply);

/** Append the table of reasons and words, in Markdown. */
void model_describe_stops(struct buf *ret_text);
