// SPDX-License-Identifier: Apache-2.0
/* What lists show of sources, requests and refusals. */
#include "source/duty/show.h"

#include "base/auto.h"
#include "source/template.h"

#include <string.h>

static void write_or_null(struct json_writer *writer, const char *name, const char *text)
{
    json_write_string(writer, name, text == NULL || text[0] == '\0' ? NULL : text);
}

void show_source_members(const struct source_status *status, struct json_writer *writer)
{
    json_write_string(writer, "id", status->id);
    json_write_string(writer, "role", status->role);
    json_write_string(writer, "type", status->type);
    json_write_string(writer, "summary", status->summary);
    json_write_bool(writer, "on_duty", status->is_on_duty);
    write_or_null(writer, "problem", status->problem);
    json_write_time(writer, "due", status->is_on_duty ? status->due_ns : 0);
    write_or_null(writer, "hook", status->hook);
    json_write_raw(writer, "details", status->details);
}

void show_request_members(const struct start_request *request, const struct roles_on_duty *roles,
                          struct json_writer *writer)
{
    auto_buf struct buf prompt = {0};
    json_write_string(writer, "run_id", request->id);
    json_write_string(writer, "role", request->role);
    json_write_string(writer, "kind", request->kind);
    json_write_string(writer, "source", request->source);
    json_write_string(writer, "mode", start_mode_name(request->mode));
    json_write_bool(writer, "on_duty", roles_on_duty_have(roles, request->role));
    json_write_time(writer, "received", request->received_ns);
    write_or_null(writer, "key", request->key);
    template_show(request->prompt, SHOWN_PROMPT_BYTES, &prompt);
    json_write_string(writer, "prompt", buf_string(&prompt));
    json_write_raw(writer, "context", request->context);
}

void show_refusal_members(const struct start_refusal *refusal, struct json_writer *writer)
{
    json_write_string(writer, "id", refusal->key);
    json_write_string(writer, "outcome", refusal_kind_name(refusal->kind));
    json_write_time(writer, "time", refusal->time_ns);
    json_write_string(writer, "role", refusal->role);
    json_write_string(writer, "source", refusal->source);
    write_or_null(writer, "run_id", refusal->run_id);
    json_write_string(writer, "reason", refusal->reason);
}
