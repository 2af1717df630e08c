// SPDX-License-Identifier: Apache-2.0
/* Writing and sorting messages. What a server sends is never trusted to have any shape. */
#include "mcp/message.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/text/utf8.h"
#include "base/version.h"
#include "mcp/mcp.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#define META "io.modelcontextprotocol/"

const char *const mcp_legacy_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05",
                                           NULL};

const char *mcp_known_version(const char *version)
{
    static const char modern[] = MCP_MODERN_VERSION;
    if (version != NULL && strcmp(version, modern) == 0) {
        return modern;
    }
    for (size_t i = 0; version != NULL && mcp_legacy_versions[i] != NULL; i++) {
        if (strcmp(version, mcp_legacy_versions[i]) == 0) {
            return mcp_legacy_versions[i];
        }
    }
    return NULL;
}

/* --- lines --- */

void mcp_lines_fini(struct mcp_lines *lines)
{
    buf_fini(&lines->buf);
    lines->searched = 0;
}

/** Forget the bytes before `from`. After a large line its memory is given back. */
static void drop_before(struct mcp_lines *lines, size_t from)
{
    struct buf rest = {0};
    size_t left = lines->buf.len - from;
    if (from == 0) {
        return;
    }
    if (lines->buf.size > 1024 * 1024) {
        buf_append(&rest, lines->buf.data + from, left);
        buf_fini(&lines->buf);
        lines->buf = rest;
    } else {
        memmove(lines->buf.data, lines->buf.data + from, left);
        lines->buf.len = left;
        lines->buf.data[left] = '\0';
    }
}

int mcp_lines_feed(struct mcp_lines *lines, const char *bytes, size_t len,
                   bool (*on_line)(void *context, const char *line, size_t len), void *context,
                   struct rondo_error *err)
{
    buf_append(&lines->buf, bytes, len);
    size_t begin = 0;
    bool continues = true;
    while (continues && lines->searched < lines->buf.len) {
        const char *from = lines->buf.data + lines->searched;
        const char *end = memchr(from, '\n', lines->buf.len - lines->searched);
        size_t line_end = end == NULL ? lines->buf.len : (size_t)(end - lines->buf.data);
        if (line_end - begin > MCP_FRAME_MAX_BYTES) {
            return error_set(err, RONDO_ERR_LIMIT, "sent a message of more than %zu MiB",
                             MCP_FRAME_MAX_BYTES / (1024 * 1024));
        }
        lines->searched = line_end;
        if (end == NULL) {
            break;
        }
        size_t line_len = line_end - begin;
        if (line_len > 0 && lines->buf.data[line_end - 1] == '\r') {
            line_len--;
        }
        if (line_len > 0) {
            continues = on_line(context, lines->buf.data + begin, line_len);
        }
        begin = line_end + 1;
        lines->searched = begin;
    }
    drop_before(lines, begin);
    lines->searched -= begin;
    return 0;
}

/* --- sorting --- */

enum mcp_kind mcp_message_kind(struct json_object *message, int64_t *ret_id)
{
    struct json_object *id = NULL;
    if (!json_object_is_type(message, json_type_object)) {
        return MCP_NOISE;
    }
    bool has_id = json_object_object_get_ex(message, "id", &id) && id != NULL;
    if (json_get_string(message, "method", NULL) != NULL) {
        return has_id ? MCP_REQUEST : MCP_NOTIFICATION;
    }
    if (!json_object_object_get_ex(message, "result", NULL) &&
        !json_object_object_get_ex(message, "error", NULL)) {
        return MCP_NOISE;
    }
    *ret_id = json_object_is_type(id, json_type_int) ? json_object_get_int64(id) : -1;
    return MCP_REPLY;
}

/* --- writing --- */

static void write_client_info(struct json_writer *writer, const char *key)
{
    json_begin_object(writer, key);
    json_write_string(writer, "name", "rondo");
    json_write_string(writer, "version", RONDO_VERSION);
    json_end_object(writer);
}

static void write_capabilities(struct json_writer *writer, const char *key, bool accepts_defaults,
                               bool asks_person)
{
    json_begin_object(writer, key);
    if (accepts_defaults || asks_person) {
        json_begin_object(writer, "elicitation");
        json_begin_object(writer, "form");
        if (accepts_defaults) {
            json_write_bool(writer, "applyDefaults", true);
        }
        json_end_object(writer);
        json_end_object(writer);
    }
    json_end_object(writer);
}

static void write_meta(struct json_writer *writer, const struct mcp_outgoing *outgoing)
{
    json_begin_object(writer, "_meta");
    if (outgoing->is_modern) {
        json_write_string(writer, META "protocolVersion", MCP_MODERN_VERSION);
        write_client_info(writer, META "clientInfo");
        write_capabilities(writer, META "clientCapabilities", outgoing->accepts_defaults,
                           outgoing->asks_person);
    }
    if (outgoing->reports_progress) {
        json_write_int(writer, "progressToken", outgoing->id);
    }
    if (outgoing->traceparent != NULL) {
        json_write_string(writer, "traceparent", outgoing->traceparent);
    }
    json_end_object(writer);
}

static void begin_message(struct json_writer *writer, int64_t id, const char *method)
{
    json_begin_object(writer, NULL);
    json_write_string(writer, "jsonrpc", "2.0");
    if (id >= 0) {
        json_write_int(writer, "id", id);
    }
    json_write_string(writer, "method", method);
}

void mcp_write(const struct mcp_outgoing *outgoing, struct buf *ret_text)
{
    struct json_writer writer = json_writer(ret_text);
    begin_message(&writer, outgoing->id, outgoing->method);
    json_begin_object(&writer, "params");
    if (outgoing->name != NULL) {
        json_write_string(&writer, "name", outgoing->name);
    }
    if (outgoing->arguments != NULL) {
        json_write_raw(&writer, "arguments", outgoing->arguments);
    }
    if (outgoing->cursor != NULL) {
        json_write_string(&writer, "cursor", outgoing->cursor);
    }
    if (outgoing->input_responses != NULL) {
        json_write_raw(&writer, "inputResponses", outgoing->input_responses);
    }
    if (outgoing->request_state != NULL) {
        json_write_string_len(&writer, "requestState", outgoing->request_state,
                              outgoing->request_state_len);
    }
    if (outgoing->cancels > 0) {
        json_write_int(&writer, "requestId", outgoing->cancels);
        json_write_string(&writer, "reason", "no longer waited for");
    }
    if (outgoing->is_modern || outgoing->traceparent != NULL || outgoing->reports_progress) {
        write_meta(&writer, outgoing);
    }
    json_end_object(&writer);
    json_end_object(&writer);
}

void mcp_write_initialize(int64_t id, bool accepts_defaults, bool asks_person, struct buf *ret_text)
{
    struct json_writer writer = json_writer(ret_text);
    begin_message(&writer, id, "initialize");
    json_begin_object(&writer, "params");
    json_write_string(&writer, "protocolVersion", mcp_legacy_versions[0]);
    write_capabilities(&writer, "capabilities", accepts_defaults, asks_person);
    write_client_info(&writer, "clientInfo");
    json_end_object(&writer);
    json_end_object(&writer);
}

/* --- replies --- */

int64_t mcp_reply_error_code(struct json_object *reply)
{
    struct json_object *error = NULL;
    if (!json_object_object_get_ex(reply, "error", &error)) {
        return 0;
    }
    int64_t code = json_get_int(error, "code", -32603);
    return code == 0 ? -32603 : code;
}

bool mcp_is_modern_error(int64_t code)
{
    return code == MCP_ERROR_HEADER_MISMATCH || code == MCP_ERROR_MISSING_CAPABILITY ||
           code == MCP_ERROR_UNSUPPORTED_VERSION;
}

static bool list_has(struct json_object *list, const char *text)
{
    if (!json_object_is_type(list, json_type_array)) {
        return false;
    }
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (json_object_is_type(item, json_type_string) &&
            strcmp(json_object_get_string(item), text) == 0) {
            return true;
        }
    }
    return false;
}

bool mcp_reply_supports(struct json_object *reply, const char *version)
{
    struct json_object *data = json_member(json_member(reply, "error"), "data");
    return list_has(json_member(data, "supported"), version) ||
           list_has(json_member(json_member(reply, "result"), "supportedVersions"), version);
}

int mcp_reply_to_error(struct json_object *reply, const char *server, struct rondo_error *err)
{
    struct json_object *error = json_member(reply, "error");
    const char *message = json_object_is_type(error, json_type_object)
                              ? json_get_string(error, "message", "")
                              : json_object_get_string(error);
    char text[300];
    message = message == NULL ? "" : message;
    mcp_clean_text(message, strlen(message), text, sizeof(text));
    return error_set(err, RONDO_ERR_INVALID,
                     "MCP server \"%s\" answered with an error: %s (%" PRId64 ")", server, text,
                     mcp_reply_error_code(reply));
}

void mcp_clean_text(const char *text, size_t len, char *ret_text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        size_t step = utf8_sequence_len(text + i, len - i);
        if (n + (step == 0 ? 1 : step) >= size) {
            break;
        }
        if (step == 0 || (unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            ret_text[n++] = step == 0 ? '?' : ' ';
        } else {
            memcpy(ret_text + n, text + i, step);
            n += step;
        }
        i += step == 0 ? 1 : step;
    }
    ret_text[n] = '\0';
}
