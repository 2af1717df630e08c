// SPDX-License-Identifier: Apache-2.0
/* Replies as values: releasing them, and the names of their failures. Pure; any thread. */
#include "model/model.h"

#include "base/json/json.h"

#include <stdlib.h>

void model_reply_fini(struct model_reply *reply)
{
    for (size_t i = 0; i < reply->call_count; i++) {
        free(reply->calls[i].id);
        free(reply->calls[i].name);
        free(reply->calls[i].arguments);
    }
    free(reply->calls);
    free(reply->message);
    free(reply->text);
    free(reply->thinking);
    free(reply->native);
    free(reply->request_id);
    free(reply->model_name);
    *reply = (struct model_reply){0};
}

const char *model_failure_name(enum model_failure failure)
{
    switch (failure) {
    case MODEL_OK:
        return "ok";
    case MODEL_RATE_LIMITED:
        return "rate_limited";
    case MODEL_OVERLOADED:
        return "overloaded";
    case MODEL_REFUSED_KEY:
        return "refused_key";
    case MODEL_BAD_REQUEST:
        return "bad_request";
    case MODEL_CONTEXT_FULL:
        return "context_full";
    case MODEL_UNREACHABLE:
        return "unreachable";
    case MODEL_TIMED_OUT:
        return "timed_out";
    case MODEL_BAD_REPLY:
        return "bad_reply";
    case MODEL_SCRIPT_OVER:
        return "script_over";
    case MODEL_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}

void model_reply_write_calls(const struct model_reply *reply, struct json_writer *writer)
{
    for (size_t i = 0; i < reply->call_count; i++) {
        json_begin_object(writer, NULL);
        json_write_string(writer, "id", reply->calls[i].id);
        json_write_string(writer, "name", reply->calls[i].name);
        json_write_string(writer, "arguments", reply->calls[i].arguments);
        json_end_object(writer);
    }
}
