// SPDX-License-Identifier: Apache-2.0
#include "handoff/view/reveal.h"

#include "base/json/json.h"
#include "handoff/storage/chain.h"

#include <json-c/json.h>

static int record(const struct handoff_store *handoffs, const struct handoff *handoff,
                  const struct reveal_request *request, int64_t now_ns, struct rondo_error *err)
{
    auto_buf struct buf details = {0};
    struct json_writer writer = json_writer(&details);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "pointer", request->pointer);
    json_write_int(&writer, "revision", handoff->revision);
    json_end_object(&writer);
    struct audit_fact fact = {.kind = HANDOFF_REVEALED,
                              .time_ns = now_ns,
                              .request_id = handoff->request_id,
                              .actor = request->by,
                              .role = request->role,
                              .action_digest = handoff->action_digest,
                              .details = buf_string(&details)};
    return audit_chain_append(handoffs->store, &fact, err);
}

int handoff_reveal(const struct handoff_store *handoffs, const struct redact_view *view,
                   const struct reveal_request *request, int64_t now_ns,
                   enum redact_verdict *ret_verdict, struct buf *ret_json, struct rondo_error *err)
{
    struct handoff handoff;
    auto_buf struct buf text = {0};
    auto_json struct json_object *body = NULL;
    struct json_object *value = NULL;
    int r = handoff_read(handoffs, request->request_id, &handoff, err);
    r = r < 0 ? r : handoff_read_body(handoffs, request->request_id, handoff.revision, &text, err);
    r = r < 0 ? r : json_parse_strict(text.data, text.len, &body, err);
    if (r < 0) {
        return r;
    }
    struct redact_view of_tool = *view; /* Rules of other tools do not count. */
    of_tool.tool = json_get_string(json_member(body, "action"), "tool", NULL);
    *ret_verdict = redact_reveal(&of_tool, body, request->pointer, &value);
    if (*ret_verdict == REDACT_REVEALED) {
        r = record(handoffs, &handoff, request, now_ns, err);
    }
    if (*ret_verdict == REDACT_REVEALED && r == 0) {
        buf_append_string(ret_json,
                          json_object_to_json_string_ext(
                              value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    }
    return r;
}
