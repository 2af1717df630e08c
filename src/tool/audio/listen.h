// SPDX-License-Identifier: Apache-2.0
/*
 * Who listens to a recording, and what is sent there: OpenAI's API for transcriptions where a model
 * is one for that, or a chat with the recording in it. Pure; any thread.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct json_object;

struct listener {
    char provider[64];
    char model[128];
    bool is_chat; /**< a model that also listens; else one that only transcribes */
};

/**
 * Choose one.
 * @param given    "provider:model" or "model" of the role; NULL = none
 * @param provider of the agent, and its model
 */
bool listener_choose(const char *given, const char *provider, const char *model,
                     struct listener *ret_listener);

/** A recording. Borrowed. */
struct recording {
    const char *extension; /**< "mp3" */
    const char *media_type;
    const char *bytes;
    size_t len;
};

/** The row of a file's name. @param ret_recording extension and media type */
bool recording_kind(const char *path, struct recording *ret_recording);

/** Write the body of the request. @param ret_type its Content-Type */
void listener_write(const struct listener *listener, const struct recording *recording,
                    struct buf *ret_body, struct buf *ret_type);

/** The text in a reply; NULL = there is none. Borrowed. */
const char *listener_read(const struct listener *listener, struct json_object *reply);
