// SPDX-License-Identifier: Apache-2.0
#include "tool/audio/listen.h"

#include "base/digest.h"
#include "base/json/json.h"
#include "base/text/base64.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define QUESTION "Transcribe this audio verbatim. Return only the transcript text."

/** What a provider transcribes with where the role names nothing. */
static const struct {
    const char *provider;
    const char *model;
} usual[] = {
    {"openai", "whisper-1"},
    {"groq", "whisper-large-v3"},
    {"mistral", "voxtral-mini-latest"},
};

/** Words in the names of models that only transcribe. */
static bool only_transcribes(const char *model)
{
    return strcasestr(model, "whisper") != NULL || strcasestr(model, "transcribe") != NULL ||
           strcasestr(model, "voxtral-mini") != NULL;
}

static bool set(struct listener *listener, const char *provider, size_t len, const char *model)
{
    if (len >= sizeof(listener->provider) || strlen(model) >= sizeof(listener->model)) {
        return false;
    }
    snprintf(listener->provider, sizeof(listener->provider), "%.*s", (int)len, provider);
    snprintf(listener->model, sizeof(listener->model), "%s", model);
    listener->is_chat = !only_transcribes(model);
    return true;
}

bool listener_choose(const char *given, const char *provider, const char *model,
                     struct listener *ret_listener)
{
    if (given != NULL) {
        const char *colon = strchr(given, ':');
        return colon == NULL ? set(ret_listener, provider, strlen(provider), given)
                             : set(ret_listener, given, (size_t)(colon - given), colon + 1);
    }
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        if (strcmp(usual[i].provider, provider) == 0) {
            return set(ret_listener, provider, strlen(provider), usual[i].model);
        }
    }
    return set(ret_listener, provider, strlen(provider), model);
}

bool recording_kind(const char *path, struct recording *ret_recording)
{
    static const struct {
        const char *extension, *media_type;
    } kinds[] = {
        {"mp3", "audio/mpeg"},  {"mp4", "video/mp4"},   {"m4a", "audio/mp4"},
        {"wav", "audio/wav"},   {"ogg", "audio/ogg"},   {"webm", "audio/webm"},
        {"mpeg", "audio/mpeg"}, {"flac", "audio/flac"},
    };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcasecmp(dot + 1, kinds[i].extension) == 0) {
            ret_recording->extension = kinds[i].extension;
            ret_recording->media_type = kinds[i].media_type;
            return true;
        }
    }
    return false;
}

static void write_field(const char *boundary, const char *name, const char *value, struct buf *body)
{
    buf_printf(body, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n", boundary,
               name, value);
}

/** A boundary that follows from the bytes is not in them. */
static void write_form(const struct listener *listener, const struct recording *recording,
                       struct buf *body, struct buf *type)
{
    unsigned char sha256[DIGEST_SIZE];
    char boundary[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, recording->bytes, recording->len);
    digest_finish(&digest, sha256);
    digest_hex(sha256, boundary);
    write_field(boundary, "model", listener->model, body);
    write_field(boundary, "response_format", "json", body);
    buf_printf(body,
               "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"audio.%s\"\r\n"
               "Content-Type: %s\r\n\r\n",
               boundary, recording->extension, recording->media_type);
    buf_append(body, recording->bytes, recording->len);
    buf_printf(body, "\r\n--%s--\r\n", boundary);
    buf_printf(type, "multipart/form-data; boundary=%s", boundary);
}

static void write_chat(const struct listener *listener, const struct recording *recording,
                       struct buf *body)
{
    auto_buf struct buf data = {0};
    struct json_writer writer = json_writer(body);
    base64_encode(recording->bytes, recording->len, &data);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "model", listener->model);
    json_begin_array(&writer, "messages");
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "role", "user");
    json_begin_array(&writer, "content");
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "text");
    json_write_string(&writer, "text", QUESTION);
    json_end_object(&writer);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "input_audio");
    json_begin_object(&writer, "input_audio");
    json_write_string_len(&writer, "data", buf_string(&data), data.len);
    json_write_string(&writer, "format", recording->extension);
    json_end_object(&writer);
    json_end_object(&writer);
    json_end_array(&writer);
    json_end_object(&writer);
    json_end_array(&writer);
    json_end_object(&writer);
}

void listener_write(const struct listener *listener, const struct recording *recording,
                    struct buf *ret_body, struct buf *ret_type)
{
    if (listener->is_chat) {
        write_chat(listener, recording, ret_body);
        buf_append_string(ret_type, "application/json");
    } else {
        write_form(listener, recording, ret_body, ret_type);
    }
}

const char *listener_read(const struct listener *listener, struct json_object *reply)
{
    if (!listener->is_chat) {
        return json_get_string(reply, "text", NULL);
    }
    struct json_object *choices = json_member(reply, "choices");
    struct json_object *first = json_object_is_type(choices, json_type_array)
                                    ? json_object_array_get_idx(choices, 0)
                                    : NULL;
    return json_get_string(json_member(first, "message"), "content", NULL);
}
