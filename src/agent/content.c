// SPDX-License-Identifier: Apache-2.0
#include "agent/content.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/pattern.h"
#include "base/text/utf8.h"
#include "model/model.h"
#include "role/role.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/** In place of a match. */
#define FILTERED_MARK "[FILTERED]"

/** A list of patterns, with what the role calls them. */
struct content_patterns {
    struct pattern **items;
    char **texts;
    size_t count;
};

struct content_filter {
    struct content_patterns input;
    struct content_patterns output;
    bool is_blocking;    /* output_action: block */
    int64_t prompt_most; /* characters; 0 = any number */
    int64_t output_most;
};

/* ---- Reading -------------------------------------------------------------------------------- */

static void patterns_fini(struct content_patterns *patterns)
{
    for (size_t i = 0; i < patterns->count; i++) {
        pattern_free(patterns->items[i]);
        free(patterns->texts[i]);
    }
    free(patterns->items);
    free(patterns->texts);
}

static int read_patterns(struct json_object *section, const char *name,
                         struct content_patterns *patterns, struct rondo_error *err)
{
    struct json_object *list = json_member(section, name);
    size_t count = json_length(list);
    patterns->items = memory_new_zero(count + 1, sizeof(struct pattern *));
    patterns->texts = memory_new_zero(count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        const char *text = json_object_get_string(item);
        size_t len = (size_t)json_object_get_string_len(item);
        int r = pattern_compile(text == NULL ? "" : text, len, &patterns->items[i], err);
        if (r < 0) {
            error_prefix(err, "spec.security.content.%s[%zu]", name, i);
            return r;
        }
        patterns->texts[i] = memory_dup_string(text);
        patterns->count++;
    }
    return 0;
}

int content_open(const struct role *role, struct content_filter **ret_filter,
                 struct rondo_error *err)
{
    struct json_object *spec = json_member(role->normal, "spec");
    struct json_object *section = json_member(json_member(spec, "security"), "content");
    struct content_filter *filter = memory_new_zero(1, sizeof(*filter));
    filter->is_blocking = strcmp(json_get_string(section, "output_action", ""), "block") == 0;
    filter->prompt_most = json_get_int(section, "max_prompt_length", 0);
    filter->output_most = json_get_int(section, "max_output_length", 0);
    int r = read_patterns(section, "blocked_input_patterns", &filter->input, err);
    if (r == 0) {
        r = read_patterns(section, "blocked_output_patterns", &filter->output, err);
    }
    if (r < 0) {
        content_free(filter);
        return r;
    }
    *ret_filter = filter;
    return 0;
}

void content_free(struct content_filter *filter)
{
    if (filter != NULL) {
        patterns_fini(&filter->input);
        patterns_fini(&filter->output);
        free(filter);
    }
}

bool content_has_patterns(const struct content_filter *filter)
{
    return filter->output.count > 0;
}

/* ---- Prompts -------------------------------------------------------------------------------- */

/** Bytes of the first `most` characters; a byte that is not UTF-8 counts as one. */
static size_t prefix_len(const char *text, size_t len, int64_t most)
{
    size_t at = 0;
    for (int64_t count = 0; at < len && count < most; count++) {
        size_t step = utf8_sequence_len(text + at, len - at);
        at += step == 0 ? 1 : step;
    }
    return at;
}

static bool is_longer(const char *text, size_t len, int64_t most)
{
    return most > 0 && prefix_len(text, len, most) < len;
}

/** @param what "Input" or "Output" */
static void explain_match(const char *what, enum pattern_outcome outcome, const char *pattern,
                          struct buf *ret_why)
{
    if (outcome == PATTERN_FOUND) {
        buf_printf(ret_why, "%s matches blocked pattern: %s", what, pattern);
    } else {
        buf_printf(ret_why, "%s cannot be checked, it is too much work or not UTF-8: %s", what,
                   pattern);
    }
}

/** @return whether none of the patterns is in the text */
static bool is_free(const struct content_patterns *patterns, const char *what, const char *text,
                    size_t len, struct buf *ret_why)
{
    for (size_t i = 0; i < patterns->count; i++) {
        enum pattern_outcome outcome = pattern_search(patterns->items[i], text, len);
        if (outcome != PATTERN_ABSENT) {
            explain_match(what, outcome, patterns->texts[i], ret_why);
            return false;
        }
    }
    return true;
}

bool content_accepts(const struct content_filter *filter, const char *prompt, struct buf *ret_why)
{
    size_t len = strlen(prompt);
    /* The length first: the work of the patterns grows with it. */
    if (is_longer(prompt, len, filter->prompt_most)) {
        buf_printf(ret_why, "Prompt exceeds maximum length of %" PRId64 " characters",
                   filter->prompt_most);
        return false;
    }
    return is_free(&filter->input, "Input", prompt, len, ret_why);
}

/* ---- Replies -------------------------------------------------------------------------------- */

/** One text of a reply. */
struct passage {
    const struct content_filter *filter;
    const char *subject;
    struct buf text; /* what is left of it */
    bool is_changed;
    bool is_blocked;
    content_report_fn *report;
    void *context;
};

static void block(struct passage *passage, const char *why)
{
    passage->report(passage->context, passage->subject, "blocked", why);
    passage->is_changed = true;
    passage->is_blocked = true;
    buf_clear(&passage->text);
}

/** Replace what matches. The first pattern that does is named, with the number of others. */
static void strip(struct passage *passage)
{
    const struct content_patterns *patterns = &passage->filter->output;
    auto_buf struct buf why = {0};
    size_t others = 0;
    for (size_t i = 0; i < patterns->count; i++) {
        struct buf stripped = {0};
        enum pattern_outcome outcome =
            pattern_replace(patterns->items[i], buf_string(&passage->text), passage->text.len,
                            FILTERED_MARK, &stripped);
        if (outcome != PATTERN_FOUND) {
            buf_fini(&stripped);
        } else {
            buf_fini(&passage->text);
            passage->text = stripped;
            others += why.len > 0 ? 1 : 0;
        }
        /* Marks in place of nothing make a text longer. */
        if (outcome == PATTERN_UNDECIDED || passage->text.len > (size_t)LIMIT_MODEL_REPLY_BYTES) {
            buf_clear(&why);
            explain_match("Output", PATTERN_UNDECIDED, patterns->texts[i], &why);
            block(passage, buf_string(&why));
            return;
        }
        if (outcome == PATTERN_FOUND && why.len == 0) {
            explain_match("Output", outcome, patterns->texts[i], &why);
        }
    }
    if (why.len > 0) {
        passage->is_changed = true;
        if (others > 0) {
            buf_printf(&why, " (and %zu more)", others);
        }
        passage->report(passage->context, passage->subject, "stripped", buf_string(&why));
    }
}

static void cut(struct passage *passage)
{
    int64_t most = passage->filter->output_most;
    if (is_longer(buf_string(&passage->text), passage->text.len, most)) {
        auto_buf struct buf why = {0};
        auto_buf struct buf whole = passage->text;
        size_t len = prefix_len(whole.data, whole.len, most);
        passage->text = (struct buf){0};
        buf_append(&passage->text, whole.data, len);
        passage->is_changed = true;
        buf_printf(&why, "max_output_length is %" PRId64 " characters", most);
        passage->report(passage->context, passage->subject, "cut", buf_string(&why));
    }
}

static void filter_passage(struct passage *passage)
{
    auto_buf struct buf why = {0};
    const struct content_filter *filter = passage->filter;
    if (!filter->is_blocking) {
        strip(passage);
    } else if (!is_free(&filter->output, "Output", buf_string(&passage->text), passage->text.len,
                        &why)) {
        block(passage, buf_string(&why));
    }
    if (!passage->is_blocked) {
        cut(passage);
    }
}

/** Filter a string in place. @return whether it changed */
static bool filter_string(const struct passage *about, char **slot)
{
    struct passage passage = *about;
    if (*slot == NULL || (*slot)[0] == '\0') {
        return false;
    }
    buf_append_string(&passage.text, *slot);
    filter_passage(&passage);
    if (passage.is_changed) {
        free(*slot);
        *slot = buf_steal(&passage.text);
    }
    buf_fini(&passage.text);
    return passage.is_changed;
}

/** The summary of a finish_task is what the run answers with. @return whether it changed */
static bool filter_summary(const struct passage *about, char **arguments)
{
    auto_json struct json_object *root = NULL;
    if (json_parse(*arguments, strlen(*arguments), &root, NULL) < 0 ||
        !json_object_is_type(json_member(root, "summary"), json_type_string)) {
        return false;
    }
    char *summary = memory_dup_string(json_get_string(root, "summary", ""));
    bool is_changed = filter_string(about, &summary);
    if (is_changed) {
        json_object_object_add(root, "summary", json_object_new_string(summary));
        free(*arguments);
        *arguments =
            memory_dup_string(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
    }
    free(summary);
    return is_changed;
}

void content_filter_reply(const struct content_filter *filter, struct model_reply *reply,
                          content_report_fn *report, void *context)
{
    /* What is said beside calls, or thought, is no answer: without it, the reply can be used. */
    bool is_ok = reply->failure == MODEL_OK;
    const struct passage about = {.filter = filter, .report = report, .context = context};
    struct passage text = about;
    struct passage thinking = about;
    struct passage summary = about;
    text.subject = is_ok && reply->call_count == 0 ? "answer" : "text";
    thinking.subject = "thinking";
    summary.subject = is_ok ? "summary" : "text";
    bool is_changed = filter_string(&text, &reply->text);
    is_changed |= filter_string(&thinking, &reply->thinking);
    for (size_t i = 0; i < reply->call_count; i++) {
        if (strcmp(reply->calls[i].name, "finish_task") == 0) {
            is_changed |= filter_summary(&summary, &reply->calls[i].arguments);
        }
    }
    if (is_changed) {
        free(reply->native);
        reply->native = NULL;
    }
}
