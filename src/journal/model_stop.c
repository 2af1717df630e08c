// SPDX-License-Identifier: Apache-2.0
/* The table of ends of replies. */
#include "journal/model_stop.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    const char *meaning;
} stops[] = {
    [MODEL_STOP_END] = {"end", "the model finished its answer"},
    [MODEL_STOP_TOOLS] = {"tools", "the model waits for the results of its calls"},
    [MODEL_STOP_LENGTH] = {"length", "the reply was cut off at the token limit"},
    [MODEL_STOP_FILTERED] = {"filtered", "the provider's content filter stopped the reply"},
    [MODEL_STOP_REFUSED] = {"refused", "the model refused to answer"},
    [MODEL_STOP_EMPTY] = {"empty", "the reply has no text and no calls"},
};
#define STOP_COUNT (sizeof(stops) / sizeof(stops[0]))

const char *model_stop_name(enum model_stop stop)
{
    return stops[stop].name;
}

const char *model_stop_meaning(enum model_stop stop)
{
    return stops[stop].meaning;
}

bool model_stop_from_name(const char *name, enum model_stop *ret_stop)
{
    for (size_t i = 0; name != NULL && i < STOP_COUNT; i++) {
        if (strcmp(stops[i].name, name) == 0) {
            *ret_stop = (enum model_stop)i;
            return true;
        }
    }
    return false;
}

bool model_stop_is_cut(enum model_stop stop)
{
    return stop == MODEL_STOP_LENGTH || stop == MODEL_STOP_FILTERED || stop == MODEL_STOP_REFUSED;
}

bool model_stop_is_answer(enum model_stop stop)
{
    return stop == MODEL_STOP_END || stop == MODEL_STOP_TOOLS;
}
