// SPDX-License-Identifier: Apache-2.0
/* Prompts of coding agents. Feedback is the output of commands: it is quoted, and bounded. */
#include "worker/coding_prompt.h"

#include "base/json/json.h"
#include "base/limits.h"

#include <json-c/json.h>
#include <string.h>

/** The end of one condition's output that is told, bytes. */
#define OUTPUT_BYTES ((size_t)6 * 1024)
/** Feedback up to which one more condition, with its output, is told. */
#define MOST_BYTES ((size_t)LIMIT_CODING_FEEDBACK_BYTES - OUTPUT_BYTES)

/** @param has_room for its output, not only for its name and reason */
static void add_condition(struct json_object *condition, bool has_room, struct buf *text)
{
    const char *output = json_get_string(condition, "output", "");
    size_t len = strlen(output);
    const char *tail = output + (len > OUTPUT_BYTES ? len - OUTPUT_BYTES : 0);
    while (((unsigned char)*tail & 0xC0) == 0x80) {
        tail++;
    }
    buf_printf(text, "\n- %s is not met: %s", json_get_string(condition, "name", ""),
               json_get_string(condition, "reason", ""));
    const char *message = json_get_string(condition, "message", "");
    buf_printf(text, "%s%s\n", message[0] == '\0' ? "" : ", ", message);
    if (*tail != '\0' && !has_room) {
        buf_append_string(text, "Its output is left out: those above are long.\n");
    } else if (*tail != '\0') {
        buf_printf(text, "Output (%s):\n```\n%s\n```\n", len > OUTPUT_BYTES ? "end" : "complete",
                   tail);
    }
}

/** The conditions that were not met. */
static void write_feedback(struct loop *loop, struct buf *text)
{
    const char *json = loop_feedback(loop);
    auto_json struct json_object *root = NULL;
    if (json_parse(json, strlen(json), &root, NULL) < 0) {
        return;
    }
    struct json_object *list = json_member(root, "conditions");
    size_t left_out = 0;
    for (size_t i = 0; i < json_length(list); i++) {
        struct json_object *condition = json_object_array_get_idx(list, i);
        bool is_met = strcmp(json_get_string(condition, "status", ""), "met") == 0;
        if (!is_met && text->len > MOST_BYTES) {
            left_out++;
        } else if (!is_met) {
            add_condition(condition, text->len < MOST_BYTES - OUTPUT_BYTES, text);
        }
    }
    if (left_out > 0) {
        buf_printf(text, "\n- %zu more are not met.\n", left_out);
    }
}

void coding_prompt_write(struct loop *loop, bool is_resumed, struct buf *ret_prompt)
{
    const struct run_state *state = loop_state(loop);
    const char *task = loop_spec(loop)->prompt == NULL ? "" : loop_spec(loop)->prompt;
    auto_buf struct buf feedback = {0};
    write_feedback(loop, &feedback);
    if (is_resumed && state->attempt > 1) {
        buf_append_string(ret_prompt, "You were interrupted. Continue with the task:\n\n");
    }
    if (!is_resumed || state->attempt > 1 || feedback.len == 0) {
        buf_append_string(ret_prompt, task);
    }
    if (feedback.len > 0) {
        buf_printf(ret_prompt,
                   "%sRondo has checked the work with commands, and it is not done:\n%s",
                   ret_prompt->len > 0 ? "\n\n" : "", buf_string(&feedback));
    }
}
