// SPDX-License-Identifier: Apache-2.0
/*
 * Tool type "think": room to think between steps. The thought is in the call. With `critique` or
 * `max_thoughts` the answer lists the thoughts so far, and challenges every fifth.
 */
#include "tool/toolbox.h"
#include "tool/types.h"

#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

enum {
    USUAL_THOUGHTS = 50,
    MAX_THOUGHTS = 200,
    CHALLENGE_EACH = 5,
    THOUGHT_MAX_BYTES = 4096, /**< of a thought in the list; it is whole in the history */
};

/** The thoughts of one agent since it was opened; the oldest make room. */
struct thoughts {
    char *items[MAX_THOUGHTS];
    size_t count;
    size_t room;
    size_t total;
    bool is_critical;
};

static void add_thought(struct thoughts *self, const char *text)
{
    if (self->count == self->room) {
        free(self->items[0]);
        self->count--;
        for (size_t i = 0; i < self->count; i++) {
            self->items[i] = self->items[i + 1];
        }
    }
    size_t len = strlen(text);
    if (len > THOUGHT_MAX_BYTES) {
        len = THOUGHT_MAX_BYTES;
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80) {
            len--; /* not inside of a character */
        }
    }
    self->items[self->count++] = memory_dup_bytes(text, len);
    self->total++;
}

static void run_listed(const struct tool *tool, const struct tool_call *call,
                       struct tool_result *ret_result)
{
    struct thoughts *self = tool->context;
    struct buf *out = &ret_result->text;
    add_thought(self, json_get_string(call->arguments, "thought", ""));
    buf_printf(out, "Thoughts (%zu):", self->total);
    for (size_t i = 0; i < self->count; i++) {
        buf_printf(out, "\n%zu. %s", self->total - self->count + i + 1, self->items[i]);
    }
    if (self->is_critical && self->total % CHALLENGE_EACH == 0) {
        buf_append_string(out, "\n\nBefore you continue, challenge these thoughts: which of them "
                               "are assumptions, what speaks against them, and what did you not "
                               "consider?");
    }
}

static void run_think(const struct tool *tool, const struct tool_call *call,
                      struct tool_result *ret_result)
{
    (void)tool;
    (void)call;
    buf_append_string(&ret_result->text, "Thought recorded.");
}

static void free_thoughts(void *context)
{
    struct thoughts *self = context;
    for (size_t i = 0; i < self->count; i++) {
        free(self->items[i]);
    }
    free(self);
}

#define THINK_FUNCTION                                                                          \
    .name = "think",                                                                            \
    .description = "Write down a thought before you act: what you know, what is missing, what " \
                   "the next step is. Nothing else happens.",                                   \
    .schema = "{\"type\":\"object\",\"properties\":{\"thought\":{\"type\":\"string\","          \
              "\"description\":\"The thought\"}},\"required\":[\"thought\"],"                   \
              "\"additionalProperties\":false}",                                                \
    .is_pure = true, .is_idempotent = true, .is_read_only = true

static const struct tool_function think = {
    THINK_FUNCTION,
    .run = run_think,
    .is_concurrent = true,
};

static const struct tool_function think_listed = {
    THINK_FUNCTION,
    .run = run_listed,
};

static int open_think(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    bool is_listed =
        json_member(config, "critique") != NULL || json_member(config, "max_thoughts") != NULL;
    if (!is_listed) {
        return toolbox_add_function(toolbox, think_tool_type.name, &think, NULL, err);
    }
    struct thoughts *self = memory_new_zero(1, sizeof(*self));
    int64_t room = json_get_int(config, "max_thoughts", USUAL_THOUGHTS);
    toolbox_own(toolbox, self, free_thoughts);
    self->room = room < 1 || room > MAX_THOUGHTS ? USUAL_THOUGHTS : (size_t)room;
    self->is_critical = json_get_bool(config, "critique", false);
    return toolbox_add_function(toolbox, think_tool_type.name, &think_listed, self, err);
}

const struct tool_type think_tool_type = {.name = "think", .open = open_think};
