// SPDX-License-Identifier: Apache-2.0
/* Refused parameters, recognised by the providers' messages. */
#include "model/adapt.h"

#include "model/dialect.h"

#include <string.h>

static bool says_refused(const char *message)
{
    static const char *const words[] = {
        "unsupported", "not support",  "deprecated",    "not permitted", "forbidden",
        "unknown",     "unrecognized", "not available", "not allowed",
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasestr(message, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/** Whether the field that limits the reply is max_completion_tokens now. */
static bool limits_completion(const struct model *model, unsigned before)
{
    if ((before & (ADAPT_LIMIT_COMPLETION | ADAPT_LIMIT_TOKENS)) != 0) {
        return (before & ADAPT_LIMIT_COMPLETION) != 0 || model->is_reasoning;
    }
    return (model->provider->traits & PROVIDER_LIMITS_COMPLETION) != 0 || model->is_reasoning;
}

/** What to do about a message; 0 = nothing. */
static unsigned remedy(const struct model *model, const char *message, unsigned before)
{
    if (!says_refused(message)) {
        return 0;
    }
    if (strstr(message, "stream_options") != NULL) {
        return ADAPT_NO_STREAM_OPTIONS;
    }
    if (strstr(message, "temperature") != NULL) {
        return ADAPT_NO_TEMPERATURE;
    }
    bool is_completion = limits_completion(model, before);
    if (!is_completion && strstr(message, "max_tokens") != NULL) {
        return ADAPT_LIMIT_COMPLETION;
    }
    if (is_completion && !model->is_reasoning && strstr(message, "max_completion_tokens") != NULL) {
        return ADAPT_LIMIT_TOKENS;
    }
    return 0;
}

bool model_adapt(struct model *model, const char *message, unsigned before)
{
    unsigned change = remedy(model, message, before);
    if (change == 0 || (before & change) != 0) {
        return false;
    }
    atomic_fetch_or(&model->adaptations, change);
    return true;
}
