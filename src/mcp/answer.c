// SPDX-License-Identifier: Apache-2.0
/*
 * What a client says when its server asks: it is alive, it has no roots, it runs no model for
 * servers. Forms go to the person at the terminal, if there is one; else they are declined.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "mcp/message.h"

#include <json-c/json.h>
#include <string.h>

/* JSON-RPC 2.0, section 5.1. */
#define METHOD_NOT_FOUND (-32601)

static bool is_required(struct json_object *schema, const char *name)
{
    struct json_object *required = json_member(schema, "required");
    if (!json_object_is_type(required, json_type_array)) {
        return false;
    }
    for (size_t i = 0; i < json_object_array_length(required); i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(required, i));
        if (text != NULL && strcmp(text, name) == 0) {
            return true;
        }
    }
    return false;
}

/** The defaults of a form's fields, as an object; NULL when a required field has none. Owned. */
static struct json_object *defaults_of(struct json_object *schema)
{
    struct json_object *content = json_object_new_object();
    struct json_object *properties = json_member(schema, "properties");
    if (!json_object_is_type(properties, json_type_object)) {
        return content;
    }
    struct json_object_iterator i = json_object_iter_begin(properties);
    struct json_object_iterator end = json_object_iter_end(properties);
    for (; !json_object_iter_equal(&i, &end); json_object_iter_next(&i)) {
        const char *name = json_object_iter_peek_name(&i);
        struct json_object *by_default = json_member(json_object_iter_peek_value(&i), "default");
        if (by_default != NULL) {
            json_object_object_add(content, name, json_object_get(by_default));
        } else if (is_required(schema, name)) {
            json_object_put(content);
            return NULL;
        }
    }
    return content;
}

/** What is said to a form: the person's word, the form's defaults where they are accepted, or no.
 */
static enum mcp_consent answer_form(const struct mcp_inbox *inbox, struct json_object *params,
                                    bool may_ask, struct json_object **ret_content)
{
    if (strcmp(json_get_string(params, "mode", "form"), "form") != 0) {
        return MCP_DECLINE;
    }
    if (inbox->accepts_defaults) {
        *ret_content = defaults_of(json_member(params, "requestedSchema"));
        return *ret_content == NULL ? MCP_DECLINE : MCP_ACCEPT;
    }
    return may_ask && inbox->ask != NULL
               ? inbox->ask(inbox->ask_context, inbox->server, params, ret_content)
               : MCP_DECLINE;
}

/** The result of elicitation/create. */
static void write_elicitation(struct json_writer *writer, const char *key,
                              struct json_object *params, const struct mcp_inbox *inbox,
                              bool may_ask)
{
    static const char *const actions[] = {"decline", "accept", "cancel"};
    auto_json struct json_object *content = NULL;
    enum mcp_consent consent = answer_form(inbox, params, may_ask, &content);
    json_begin_object(writer, key);
    json_write_string(writer, "action", actions[consent]);
    if (consent == MCP_ACCEPT) {
        json_write_raw(writer, "content",
                       json_object_to_json_string_ext(content, JSON_C_TO_STRING_PLAIN));
    }
    json_end_object(writer);
}

static void write_roots(struct json_writer *writer, const char *key)
{
    json_begin_object(writer, key);
    json_begin_array(writer, "roots");
    json_end_array(writer);
    json_end_object(writer);
}

/** Write the result of a server's request. @return false for what we never give */
static bool write_result(struct json_writer *writer, const char *key, struct json_object *request,
                         const struct mcp_inbox *inbox, bool may_ask)
{
    const char *method = json_get_string(request, "method", "");
    if (strcmp(method, "elicitation/create") == 0) {
        write_elicitation(writer, key, json_member(request, "params"), inbox, may_ask);
    } else if (strcmp(method, "roots/list") == 0) {
        write_roots(writer, key);
    } else if (strcmp(method, "ping") == 0) {
        json_begin_object(writer, key);
        json_end_object(writer);
    } else {
        return false;
    }
    return true;
}

static void write_refusal(struct json_writer *writer)
{
    json_begin_object(writer, "error");
    json_write_int(writer, "code", METHOD_NOT_FOUND);
    json_write_string(writer, "message", "this client does not offer that");
    json_end_object(writer);
}

static void write_answer(const struct mcp_inbox *inbox, struct json_object *message,
                         struct json_object *id, bool may_ask, struct buf *ret_answer)
{
    struct json_writer writer = json_writer(ret_answer);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "jsonrpc", "2.0");
    json_write_raw(&writer, "id", json_object_to_json_string_ext(id, JSON_C_TO_STRING_PLAIN));
    if (!write_result(&writer, "result", message, inbox, may_ask)) {
        write_refusal(&writer);
    }
    json_end_object(&writer);
}

int64_t mcp_inbox_progress(const struct mcp_inbox *inbox, int64_t id)
{
    size_t slot = (size_t)id % MCP_PROGRESS_SLOTS;
    return atomic_load(&inbox->progress_id[slot]) == id ? atomic_load(&inbox->progress_ns[slot])
                                                        : 0;
}

static void take_progress(struct mcp_inbox *inbox, struct json_object *message)
{
    int64_t id = json_get_int(json_member(message, "params"), "progressToken", -1);
    if (id > 0) {
        size_t slot = (size_t)id % MCP_PROGRESS_SLOTS;
        atomic_store(&inbox->progress_ns[slot], clock_monotonic(clock_system()));
        atomic_store(&inbox->progress_id[slot], id);
    }
}

void mcp_inbox_take(struct mcp_inbox *inbox, struct json_object *message, struct buf *ret_answer)
{
    struct json_object *id = json_member(message, "id");
    if (id == NULL) {
        const char *method = json_get_string(message, "method", "");
        if (strcmp(method, "notifications/tools/list_changed") == 0) {
            atomic_store(&inbox->has_changed_tools, true);
            atomic_fetch_add(&inbox->tool_changes, 1);
        } else if (strcmp(method, "notifications/progress") == 0) {
            take_progress(inbox, message);
        }
        return;
    }
    write_answer(inbox, message, id, false, ret_answer);
}

bool mcp_inbox_is_form(const struct mcp_inbox *inbox, struct json_object *message)
{
    return inbox->ask != NULL && json_member(message, "id") != NULL &&
           strcmp(json_get_string(message, "method", ""), "elicitation/create") == 0;
}

void mcp_inbox_answer(const struct mcp_inbox *inbox, struct json_object *message,
                      struct buf *ret_answer)
{
    write_answer(inbox, message, json_member(message, "id"), true, ret_answer);
}

int mcp_answer_inputs(struct json_object *requests, const struct mcp_inbox *inbox,
                      struct buf *ret_json, struct rondo_error *err)
{
    if (!json_object_is_type(requests, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "the server's inputRequests are not an object");
    }
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    struct json_object_iterator i = json_object_iter_begin(requests);
    struct json_object_iterator end = json_object_iter_end(requests);
    for (; !json_object_iter_equal(&i, &end); json_object_iter_next(&i)) {
        struct json_object *request = json_object_iter_peek_value(&i);
        if (!write_result(&writer, json_object_iter_peek_name(&i), request, inbox, true)) {
            char method[80];
            const char *text = json_get_string(request, "method", "something unknown");
            mcp_clean_text(text, strlen(text), method, sizeof(method));
            return error_set(err, RONDO_ERR_UNSUPPORTED,
                             "the server requests %s, which is not supported", method);
        }
    }
    json_end_object(&writer);
    return 0;
}
