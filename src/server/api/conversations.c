// SPDX-License-Identifier: Apache-2.0
/* Conversations that triggers hold: listed, shown, forgotten. */
#include "base/error.h"
#include "server/api/handlers.h"
#include "source/conversation/show.h"

struct held_conversation_page {
    const struct call *call;
    struct buf *out;
    size_t count;
};

static bool take(const struct conversation *conversation, void *context)
{
    struct held_conversation_page *page = context;
    if (token_grant_covers(&page->call->grant, conversation->agent)) {
        buf_append_string(page->out, page->count++ == 0 ? "" : ",");
        (void)conversation_write(conversation, NULL, page->out, NULL);
    }
    return true;
}

void handle_conversations(struct call *call)
{
    struct rondo_error err = {0};
    auto_buf struct buf list = {0};
    struct held_conversation_page page = {.call = call, .out = &list};
    buf_append_string(&list, "[");
    int r = conversations_read(call_store(call), call_query(call, "agent"), take, &page, &err);
    buf_append_string(&list, "]");
    call_answer_list(call, "conversations", &list, r, &err);
}

/** The one of the path, if the caller reaches its agent. @return false: a problem */
static bool find(struct call *call, struct conversation *ret_conversation)
{
    struct rondo_error err = {0};
    const char *id = call_value(call, "id");
    int r = conversation_find(call_store(call), id, ret_conversation, &err);
    if (r == 1 && token_grant_covers(&call->grant, ret_conversation->agent)) {
        return true;
    }
    conversation_fini(ret_conversation);
    if (r >= 0) {
        error_set(&err, RONDO_ERR_NOT_FOUND, "there is no conversation %.200s", id);
    }
    call_error(call, &err);
    return false;
}

void handle_held_conversation(struct call *call)
{
    struct rondo_error err = {0};
    auto_buf struct buf json = {0};
    struct conversation conversation = {0};
    if (!find(call, &conversation)) {
        return;
    }
    if (!call_sees_content(call, conversation.agent)) {
        conversation_fini(&conversation);
        return;
    }
    if (conversation_write(&conversation, call_store(call), &json, &err) < 0) {
        call_error(call, &err);
    } else {
        call_json(call, 200);
        buf_append(&call->answer, json.data, json.len);
    }
    conversation_fini(&conversation);
}

void handle_forget_conversation(struct call *call)
{
    struct rondo_error err = {0};
    struct conversation conversation = {0};
    if (!find(call, &conversation)) {
        return;
    }
    if (conversation_forget(call_store(call), conversation.id, &err) < 0) {
        call_error(call, &err);
    } else {
        call->status = 204;
    }
    conversation_fini(&conversation);
}
