// SPDX-License-Identifier: Apache-2.0
/* Why a model's reply ends, as `model.replied` records it. Static and pure; any thread. */
#pragma once

#include <stdbool.h>

enum model_stop {
    MODEL_STOP_END = 0,  /**< its message is complete */
    MODEL_STOP_TOOLS,    /**< it waits for tools */
    MODEL_STOP_LENGTH,   /**< max_tokens was reached: the reply is cut */
    MODEL_STOP_FILTERED, /**< the provider's content filter stopped it */
    MODEL_STOP_REFUSED,  /**< the model refuses, and says so perhaps */
    MODEL_STOP_EMPTY,    /**< neither words nor calls */
};

/** "end", "tools", "length", "filtered", "refused", "empty". Static. */
const char *model_stop_name(enum model_stop stop);
/** For people: "the reply was cut off at the token limit". Static. */
const char *model_stop_meaning(enum model_stop stop);
bool model_stop_from_name(const char *name, enum model_stop *ret_stop);
/** Whether the reply was ended before the model had finished it: its last call may be a part. */
bool model_stop_is_cut(enum model_stop stop);
/** Whether the reply is what was asked for: words or calls, whole. */
bool model_stop_is_answer(enum model_stop stop);
