// SPDX-License-Identifier: Apache-2.0
#include "handoff/inbox/redaction.h"

#include "base/json/json.h"
#include "handoff/audit/entry.h"
#include "handoff/desks/desks.h"
#include "handoff/view/reveal.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define HIDDEN_WORDS \
    "{\"redacted\":true,\"reason\":\"a rule hides values, and which they were is not known\"}"

static const char *text_of(struct json_object *json)
{
    return json_object_to_json_string_ext(json,
                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

/* ---- A request ------------------------------------------------------------------------------ */

/** The view of a request of a certain tool. @param ret_tool room for its name, which may be hidden
 */
static struct redact_view view_of(const struct redact_view *view, struct json_object *body,
                                  char ret_tool[HANDOFF_NAME_SIZE])
{
    struct redact_view of_tool = *view;
    const char *tool = json_get_string(json_member(body, "action"), "tool", "");
    int len = snprintf(ret_tool, HANDOFF_NAME_SIZE, "%s", tool);
    of_tool.tool = len > 0 && len < HANDOFF_NAME_SIZE ? ret_tool : NULL;
    return of_tool;
}

/** Learn the hidden texts of a revision. */
static int learn(const struct handoff_store *handoffs, const struct handoff *handoff,
                 uint32_t revision, struct inbox_redaction *redaction, struct rondo_error *err)
{
    char tool[HANDOFF_NAME_SIZE];
    auto_buf struct buf json = {0};
    auto_json struct json_object *body = NULL;
    int r = handoff_read_body(handoffs, handoff->request_id, revision, &json, err);
    if (r == RONDO_ERR_NOT_FOUND) {
        redaction->is_blind = true;
        return 0;
    }
    r = r < 0 ? r : json_parse_strict(json.data, json.len, &body, err);
    if (r == 0) {
        struct redact_view view = view_of(&redaction->view, body, tool);
        (void)redact_hide(&view, body, redaction->texts, NULL);
    }
    return r;
}

int inbox_redaction_begin(const struct handoff_store *handoffs, const struct handoff *handoff,
                          const char *viewer, struct inbox_redaction *ret_redaction,
                          struct rondo_error *err)
{
    int r = 0;
    *ret_redaction = (struct inbox_redaction){
        .view = desks_view(handoffs->desks, viewer, handoff->agent_id, NULL)};
    if (!redact_hides(&ret_redaction->view)) {
        return 0;
    }
    ret_redaction->texts = json_object_new_array();
    for (uint32_t i = 1; i <= handoff->revision && r == 0; i++) {
        r = learn(handoffs, handoff, i, ret_redaction, err);
    }
    if (r < 0) {
        inbox_redaction_fini(ret_redaction);
    }
    return r;
}

void inbox_redaction_fini(struct inbox_redaction *redaction)
{
    json_object_put(redaction->texts);
    *redaction = (struct inbox_redaction){0};
}

void inbox_redaction_body(const struct inbox_redaction *redaction, struct json_object *body,
                          struct json_object *paths)
{
    char tool[HANDOFF_NAME_SIZE];
    if (redaction->texts != NULL && body != NULL) {
        struct redact_view view = view_of(&redaction->view, body, tool);
        (void)redact_hide(&view, body, redaction->texts, paths);
        (void)redact_scrub(redaction->texts, body, paths);
    }
}

bool inbox_redaction_words(const struct inbox_redaction *redaction, const char *json,
                           struct buf *ret_json)
{
    auto_json struct json_object *words = NULL;
    if (redaction->texts == NULL) {
        buf_append_string(ret_json, json);
        return false;
    }
    if (redaction->is_blind || json_parse(json, strlen(json), &words, NULL) < 0) {
        buf_append_string(ret_json, HIDDEN_WORDS);
        return true;
    }
    bool is_changed = redact_scrub(redaction->texts, words, NULL) > 0;
    buf_append_string(ret_json, text_of(words));
    return is_changed;
}

/* ---- The audit chain ------------------------------------------------------------------------ */

/** What is hidden of the request that an entry is about. @return whether it is known */
static bool find_request(struct inbox_audit *audit, const char *request_id)
{
    if (strcmp(audit->handoff.request_id, request_id) != 0) {
        inbox_audit_fini(audit);
        audit->is_known = handoff_read(audit->handoffs, request_id, &audit->handoff, NULL) == 0 &&
                          inbox_redaction_begin(audit->handoffs, &audit->handoff, audit->viewer,
                                                &audit->redaction, NULL) == 0;
        snprintf(audit->handoff.request_id, sizeof(audit->handoff.request_id), "%s", request_id);
    }
    return audit->is_known;
}

/** Hide in the details of an entry. @return whether they were changed */
static bool hide_details(struct inbox_audit *audit, struct json_object *entry,
                         struct json_object *details)
{
    auto_buf struct buf words = {0};
    struct json_object *clean = NULL;
    const char *request_id = json_get_string(entry, "request_id", "");
    bool is_of_agent = strcmp(json_get_string(entry, "role", ""), "agent") == 0;
    bool is_known = request_id[0] != '\0' && find_request(audit, request_id);
    if (is_known) {
        if (!inbox_redaction_words(&audit->redaction, text_of(details), &words)) {
            return false;
        }
    } else {
        const char *agent = is_of_agent ? json_get_string(entry, "actor", NULL) : NULL;
        struct redact_view view = desks_view(audit->handoffs->desks, audit->viewer, agent, NULL);
        if ((request_id[0] == '\0' && !is_of_agent) || !redact_hides(&view)) {
            return false;
        }
        buf_append_string(&words, HIDDEN_WORDS);
    }
    (void)json_parse(buf_string(&words), words.len, &clean, NULL);
    json_object_object_add(entry, "details", clean);
    return true;
}

void inbox_audit_entry(struct inbox_audit *audit, const char *entry, size_t len,
                       struct buf *ret_entry)
{
    auto_json struct json_object *root = NULL;
    struct json_object *details = NULL;
    struct redact_view any = desks_view(audit->handoffs->desks, audit->viewer, NULL, NULL);
    bool has_details = redact_hides(&any) && json_parse_strict(entry, len, &root, NULL) == 0 &&
                       json_object_object_get_ex(root, "details", &details);
    if (!has_details || !hide_details(audit, root, details)) {
        buf_append(ret_entry, entry, len);
        return;
    }
    struct json_object *paths = json_object_new_array();
    json_object_array_add(paths, json_object_new_string("/details"));
    json_object_object_add(root, AUDIT_REDACTED, paths);
    buf_append_string(ret_entry, text_of(root));
}

void inbox_audit_fini(struct inbox_audit *audit)
{
    inbox_redaction_fini(&audit->redaction);
    audit->handoff = (struct handoff){0};
    audit->is_known = false;
}

/* ---- Revealing ------------------------------------------------------------------------------ */

int inbox_reveal(const struct handoff_store *handoffs, const char *request_id, const char *person,
                 const char *pointer, int64_t now_ns, enum redact_verdict *ret_verdict,
                 struct buf *ret_json, struct rondo_error *err)
{
    struct handoff handoff;
    int r = handoff_read(handoffs, request_id, &handoff, err);
    if (r < 0) {
        return r;
    }
    if (!desks_actor(handoffs->desks, person, &handoff).is_assignee) {
        *ret_verdict = REDACT_NOT_PERMITTED;
        return 0;
    }
    struct redact_view view = desks_view(handoffs->desks, person, handoff.agent_id, NULL);
    struct reveal_request request = {.request_id = request_id,
                                     .pointer = pointer,
                                     .by = person,
                                     .role = desks_role(handoffs->desks, person, &handoff)};
    return handoff_reveal(handoffs, &view, &request, now_ns, ret_verdict, ret_json, err);
}

void inbox_explain_reveal(enum redact_verdict verdict, struct buf *ret_text)
{
    switch (verdict) {
    case REDACT_REVEALED:
        return;
    case REDACT_MISSING:
        buf_append_string(ret_text, "the request has no value at this pointer");
        return;
    case REDACT_NOT_HIDDEN:
        buf_append_string(ret_text, "the value is not hidden from you");
        return;
    case REDACT_NOT_PERMITTED:
        buf_append_string(ret_text, "no rule of the desk file lets you reveal it: you need a role "
                                    "in `reveal`, and to be on a desk of the request");
        return;
    }
}
