// SPDX-License-Identifier: Apache-2.0
/*
 * Learning from refusals. Which optional parameters a model takes changes from one model to the
 * next (temperature, max_tokens, stream_options), and a table of that would be old on the day it is
 * written. So a request that is refused for such a parameter is made once more without it, and the
 * model remembers. Any thread.
 */
#pragma once

#include <stdbool.h>

struct model;

/**
 * @param message what the server said about a request that it refuses
 * @param before  the model's adaptations when that request was made
 * @return whether the model adapts and the request is worth another attempt
 */
bool model_adapt(struct model *model, const char *message, unsigned before);
