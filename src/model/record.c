// SPDX-License-Identifier: Apache-2.0
/* One line of JSON for each request. */
#include "model/record.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "os/file_untrusted.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

/** Whether the script's reader gets the very same text out of the object. */
static bool is_plain_object(const char *arguments)
{
    auto_json struct json_object *value = NULL;
    return json_parse(arguments, strlen(arguments), &value, NULL) == 0 &&
           json_object_is_type(value, json_type_object) &&
           strcmp(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
                                                            JSON_C_TO_STRING_NOSLASHESCAPE),
                  arguments) == 0;
}

static void write_calls(struct json_writer *writer, const struct model_reply *reply)
{
    json_begin_array(writer, "tool_calls");
    for (size_t i = 0; i < reply->call_count; i++) {
        const struct model_call *call = &reply->calls[i];
        json_begin_object(writer, NULL);
        json_write_string(writer, "id", call->id);
        json_write_string(writer, "name", call->name);
        if (is_plain_object(call->arguments)) {
            json_write_raw(writer, "arguments", call->arguments);
        } else {
            json_write_string(writer, "arguments", call->arguments);
        }
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_usage(struct json_writer *writer, const struct model_usage *usage)
{
    json_begin_object(writer, "usage");
    json_write_int(writer, "input", usage->input);
    json_write_int(writer, "output", usage->output);
    json_write_int(writer, "cached", usage->cached);
    json_write_int(writer, "cache_written", usage->cache_written);
    json_write_int(writer, "reasoning", usage->reasoning);
    json_end_object(writer);
}

static void write_reply(struct json_writer *writer, const struct model_reply *reply)
{
    if (reply->failure != MODEL_OK) {
        json_write_string(writer, "error", model_failure_name(reply->failure));
        json_write_string(writer, "message", reply->message);
    } else {
        json_write_string(writer, "stop", model_stop_name(reply->stop));
    }
    json_write_string(writer, "text", reply->text == NULL ? "" : reply->text);
    if (reply->thinking != NULL && *reply->thinking != '\0') {
        json_write_string(writer, "thinking", reply->thinking);
    }
    if (reply->call_count > 0) {
        write_calls(writer, reply);
    }
    write_usage(writer, &reply->usage);
}

/** Enough of the request to see what was answered; the rest is in the previous turns. */
static void write_request(struct json_writer *writer, const struct model_request *request)
{
    json_begin_object(writer, "request");
    json_write_int(writer, "messages", (int64_t)request->message_count);
    if (request->message_count > 0) {
        const struct model_message *last = &request->messages[request->message_count - 1];
        json_write_string_len(writer, "last", last->bytes, last->len);
    }
    json_end_object(writer);
}

int record_check(const char *const *agent_folders, const char *path, struct rondo_error *err)
{
    auto_close int fd = file_open_output(agent_folders, path, false, err);
    if (fd < 0) {
        error_prefix(err, "while opening the recording");
    }
    return fd < 0 ? fd : 0;
}

static int append_line(const char *const *agent_folders, const char *path, const struct buf *line,
                       struct rondo_error *err)
{
    auto_close int fd = file_open_output(agent_folders, path, false, err);
    if (fd < 0) {
        error_prefix(err, "while opening the recording");
        return fd;
    }
    ssize_t written = write(fd, line->data, line->len);
    if (written != (ssize_t)line->len) {
        return error_set_errno(err, RONDO_ERR_IO, written < 0 ? errno : ENOSPC,
                               "cannot write the recording %s", path);
    }
    return 0;
}

int record_append(const char *const *agent_folders, const char *path,
                  const struct model_request *request, const struct model_reply *reply,
                  struct rondo_error *err)
{
    auto_buf struct buf line = {0};
    if (reply->failure == MODEL_CANCELLED) {
        return 0;
    }
    struct json_writer writer = json_writer(&line);
    json_begin_object(&writer, NULL);
    if (request->turn > 0 && request->turn <= INT64_MAX) {
        json_write_int(&writer, "turn", (int64_t)request->turn);
    }
    write_reply(&writer, reply);
    write_request(&writer, request);
    json_end_object(&writer);
    buf_append_string(&line, "\n");
    return append_line(agent_folders, path, &line, err);
}
