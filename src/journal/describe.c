// SPDX-License-Identifier: Apache-2.0
/*
 * Events as people and programs get them. The sentences about a run: one function for each type of
 * event, named by events.def; those about the steps of an agent are in describe_agent.c.
 */
#include "base/clock.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "journal/describe_internal.h"
#include "journal/state.h"

#include <inttypes.h>
#include <string.h>

/* ---- The table ------------------------------------------------------------------------------ */

const char *event_category_name(enum event_category category)
{
    static const char *const names[] = {
        [EVENT_CATEGORY_RUN] = "run",
        [EVENT_CATEGORY_POLICY] = "policy",
        [EVENT_CATEGORY_ITERATION] = "iteration",
        [EVENT_CATEGORY_MODEL] = "model",
        [EVENT_CATEGORY_TOOL] = "tool",
        [EVENT_CATEGORY_CONDITION] = "condition",
        [EVENT_CATEGORY_CHECKPOINT] = "checkpoint",
        [EVENT_CATEGORY_WORK] = "work",
    };
    return names[category];
}

const char *event_level_name(enum event_level level)
{
    static const char *const names[] = {
        [EVENT_LEVEL_INFO] = "info",       [EVENT_LEVEL_SUCCESS] = "success",
        [EVENT_LEVEL_NOTICE] = "notice",   [EVENT_LEVEL_FAILURE] = "failure",
        [EVENT_LEVEL_WARNING] = "warning",
    };
    return names[level];
}

enum event_category event_category(enum journal_type type)
{
    static const enum event_category categories[] = {
#define EVENT(ID, id, name, CATEGORY, LEVEL, FOLD, help) [JOURNAL_##ID] = EVENT_CATEGORY_##CATEGORY,
#include "journal/events.def"
    };
    return categories[type];
}

enum event_level event_level(const struct journal_event *event)
{
#define LEVEL_INFO(id)       EVENT_LEVEL_INFO
#define LEVEL_SUCCESS(id)    EVENT_LEVEL_SUCCESS
#define LEVEL_NOTICE(id)     EVENT_LEVEL_NOTICE
#define LEVEL_FAILURE(id)    EVENT_LEVEL_FAILURE
#define LEVEL_WARNING(id)    EVENT_LEVEL_WARNING
#define LEVEL_BY_CONTENT(id) level_##id(&event->id)
    switch (event->type) {
#define EVENT(ID, id, name, CATEGORY, LEVEL, FOLD, help) \
    case JOURNAL_##ID:                                   \
        return LEVEL_##LEVEL(id);
#include "journal/events.def"
    case JOURNAL_TYPE_COUNT:
        break;
    }
    return EVENT_LEVEL_INFO;
}

void event_sentence(const struct journal_event *event, struct buf *ret_text)
{
    switch (event->type) {
#define EVENT(ID, id, name, CATEGORY, LEVEL, FOLD, help) \
    case JOURNAL_##ID:                                   \
        describe_##id(&event->id, ret_text);             \
        break;
#include "journal/events.def"
    case JOURNAL_TYPE_COUNT:
        break;
    }
}

/** Append category and level of a type. */
static void add_type(enum journal_type type, struct buf *ret_text)
{
    static const char *const levels[] = {
#define EVENT(ID, id, name, CATEGORY, LEVEL, FOLD, help) [JOURNAL_##ID] = #LEVEL,
#include "journal/events.def"
    };
    const char *category = event_category_name(event_category(type));
    if (strcmp(levels[type], "BY_CONTENT") == 0) {
        buf_printf(ret_text, "Category `%s`; the level depends on the fields.", category);
    } else {
        struct journal_event event = {.type = type};
        buf_printf(ret_text, "Category `%s`, level `%s`.", category,
                   event_level_name(event_level(&event)));
    }
}

void event_write_reference(struct buf *ret_text)
{
    for (enum journal_type type = 0; type < JOURNAL_TYPE_COUNT; type++) {
        buf_printf(ret_text, "## %s\n\n%s\n\n", journal_type_name(type), journal_type_help(type));
        add_type(type, ret_text);
        buf_append_string(ret_text, "\n\n");
        journal_write_fields(type, ret_text);
        buf_append_string(ret_text, "\n");
    }
}

void event_describe(const struct journal_entry *entry, struct event_description *ret_description)
{
    *ret_description = (struct event_description){
        .category = EVENT_CATEGORY_RUN,
        .level = EVENT_LEVEL_INFO,
    };
    if (entry->is_known) {
        ret_description->category = event_category(entry->event.type);
        ret_description->level = event_level(&entry->event);
        event_sentence(&entry->event, &ret_description->text);
    } else {
        describe_add_subject("", entry->type_name, "an event", &ret_description->text);
        enum journal_type type;
        bool is_damaged = journal_type_from_name(entry->type_name, &type);
        buf_append_string(&ret_description->text,
                          is_damaged ? " (cannot be read)" : " (of a newer version)");
    }
}

void event_json_object(const struct journal_entry *entry, struct buf *ret_buf)
{
    char time[CLOCK_UTC_SIZE];
    struct event_description description;
    clock_format_utc(entry->event.time_ns, time);
    event_describe(entry, &description);
    struct json_writer writer = json_writer(ret_buf);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "run_id", entry->run_id);
    json_write_int(&writer, "seq", (int64_t)entry->event.seq);
    json_write_int(&writer, "position", (int64_t)entry->position);
    json_write_string(&writer, "time", time);
    json_write_string(&writer, "type", entry->type_name);
    json_write_string(&writer, "category", event_category_name(description.category));
    json_write_string(&writer, "level", event_level_name(description.level));
    json_write_string(&writer, "text", buf_string(&description.text));
    json_write_raw(&writer, "data", entry->data);
    json_end_object(&writer);
    buf_fini(&description.text);
}

void event_json_stored(const struct store_event *event, struct buf *ret_buf)
{
    struct journal_entry entry;
    auto_json struct json_object *root = NULL;
    /* A damaged event is served with its type and data, like one of a newer version. */
    (void)journal_entry_decode(event, &entry, &root, NULL);
    event_json_object(&entry, ret_buf);
}

void event_json(const struct journal_entry *entry, struct buf *ret_buf)
{
    event_json_object(entry, ret_buf);
    buf_append(ret_buf, "\n", 1);
}

/* ---- Words of others ------------------------------------------------------------------------ */

void describe_add(const char *before, const char *words, size_t most, struct buf *out)
{
    if (words == NULL || words[0] == '\0') {
        return;
    }
    auto_buf struct buf clean = {0};
    /* No character has more than four bytes; what is dropped may be as long again. */
    text_clean(words, strnlen(words, most * 8), &clean);
    size_t kept = 0;
    for (size_t n = 0; kept < clean.len && n < most; n++) {
        kept += utf8_sequence_len(clean.data + kept, clean.len - kept);
    }
    if (kept == 0) {
        return;
    }
    buf_append_string(out, before);
    buf_append(out, buf_string(&clean), kept);
    buf_append_string(out, kept < clean.len ? "…" : "");
}

void describe_add_message(const char *before, const char *words, struct buf *out)
{
    describe_add(before, words, DESCRIBE_MESSAGE, out);
}

void describe_add_name(const char *before, const char *words, struct buf *out)
{
    describe_add(before, words, DESCRIBE_NAME, out);
}

void describe_add_subject(const char *before, const char *name, const char *otherwise,
                          struct buf *out)
{
    size_t len = out->len;
    describe_add_name(before, name, out);
    if (out->len == len) {
        buf_printf(out, "%s%s", before, otherwise);
    }
}

void describe_add_duration(int64_t duration_ns, struct buf *out)
{
    char duration[FORMAT_DURATION_SIZE];
    format_duration(duration_ns, duration);
    buf_printf(out, " in %s", duration);
}

bool describe_is(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

/* ---- The run -------------------------------------------------------------------------------- */

void describe_run_created(const struct event_run_created *event, struct buf *out)
{
    buf_append_string(out, "run created");
    describe_add_name(" for agent ", event->agent_id, out);
    auto_json struct json_object *origin = NULL;
    if (event->origin != NULL) {
        json_parse(event->origin, strlen(event->origin), &origin, NULL);
        bool is_given = strcmp(json_get_string(origin, "kind", ""), "delegate") == 0;
        describe_add_name(is_given ? ", given to it by run " : " by its trigger ",
                          json_get_string(origin, "source", NULL), out);
    }
}

void describe_run_claimed(const struct event_run_claimed *event, struct buf *out)
{
    static const struct {
        const char *how;
        const char *text;
    } texts[] = {
        {"start", "started"},
        {"resume", "resumed"},
        {"takeover", "taken over from a process that is gone"},
        {"reopen", "reopened"},
        {"control", "claimed for a moment to record a change"},
        {"fork", "started as a fork"},
    };
    const char *text = "claimed";
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        text = describe_is(event->how, texts[i].how) ? texts[i].text : text;
    }
    buf_append_string(out, text);
    if (event->checkpoint > 0) {
        buf_printf(out, ", from checkpoint %" PRId64, event->checkpoint);
    }
    describe_add_message(": ", event->message, out);
}

void describe_run_options(const struct event_run_options *event, struct buf *out)
{
    buf_append_string(out, event->by != NULL ? "limits changed" : "options changed");
    describe_add_name(" by ", event->by, out);
}

void describe_run_stop_requested(const struct event_run_stop_requested *event, struct buf *out)
{
    buf_append_string(out, "stop requested");
    describe_add_name(" by ", event->by, out);
    describe_add_message(": ", event->message, out);
}

void describe_run_paused(const struct event_run_paused *event, struct buf *out)
{
    if (event->handoffs != NULL) {
        buf_append_string(out, "paused until a person decides");
        return;
    }
    buf_append_string(out, "paused");
    describe_add_name(" by ", event->by, out);
    describe_add_message(": ", event->message, out);
}

void describe_run_continued(const struct event_run_continued *event, struct buf *out)
{
    buf_append_string(out, "continued");
    describe_add_name(" by ", event->by, out);
}

void describe_run_forked(const struct event_run_forked *event, struct buf *out)
{
    buf_printf(out, "forked at event %" PRId64, event->forked_seq);
    if (event->forked_checkpoint > 0) {
        buf_printf(out, ", checkpoint %" PRId64, event->forked_checkpoint);
    }
    describe_add_name(" of run ", event->forked_from, out);
    describe_add_name(" by ", event->by, out);
}

void describe_run_finished(const struct event_run_finished *event, struct buf *out)
{
    enum rondo_status status = RONDO_ERROR;
    status_from_name(event->status == NULL ? "" : event->status, &status);
    buf_printf(out, "%s after %" PRId64 " iteration%s", rondo_status_name(status),
               event->iterations, event->iterations == 1 ? "" : "s");
    describe_add_message(": ", event->message, out);
    describe_add_message("; ", event->summary, out);
}

enum event_level level_run_finished(const struct event_run_finished *event)
{
    return describe_is(event->status, "completed")   ? EVENT_LEVEL_SUCCESS
           : describe_is(event->status, "cancelled") ? EVENT_LEVEL_NOTICE
                                                     : EVENT_LEVEL_FAILURE;
}

/* ---- Policies and limits -------------------------------------------------------------------- */

static void add_limit(enum run_limit counter, int64_t limit, struct buf *out)
{
    char duration[FORMAT_DURATION_SIZE];
    switch (counter) {
    case RUN_LIMIT_ITERATIONS:
    case RUN_LIMIT_TOKENS:
        text_count(limit, out);
        buf_printf(out, " %s", run_limit_name(counter));
        break;
    case RUN_LIMIT_COST:
        buf_append_string(out, "cost ");
        text_money(limit, out);
        break;
    case RUN_LIMIT_TIME:
        format_duration(limit, duration);
        buf_printf(out, "time %s", duration);
        break;
    case RUN_LIMIT_COUNT:
        break;
    }
}

/** "200 iterations, cost 5" from the limits of an event; NULL = none were recorded. */
static void add_limits(const char *limits, struct buf *out)
{
    auto_json struct json_object *root = NULL;
    if (limits == NULL || json_parse(limits, strlen(limits), &root, NULL) < 0) {
        return;
    }
    const char *separator = "";
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        int64_t limit = json_get_int(root, run_limit_name(i), -1);
        if (limit < 0) {
            continue;
        }
        buf_append_string(out, separator);
        add_limit(i, limit, out);
        separator = ", ";
    }
    buf_append_string(out, separator[0] == '\0' ? "no limit" : "");
}

void describe_policy_changed(const struct event_policy_changed *event, struct buf *out)
{
    buf_append_string(out, event->old_limits == NULL ? "policies " : "policies changed to ");
    const char *digest = event->sha256 == NULL ? "built-in" : event->sha256;
    text_clean(digest, strnlen(digest, TEXT_DIGEST_LEN), out);
    describe_add_name(" by ", event->by, out);
    bool has_limits = event->limits != NULL || event->old_limits != NULL;
    buf_append_string(out, has_limits ? ": " : "");
    if (event->old_limits != NULL) {
        add_limits(event->old_limits, out);
        buf_append_string(out, " -> ");
    }
    add_limits(event->limits, out);
    describe_add_message(" (", event->source, out);
    buf_append_string(out, event->source == NULL || event->source[0] == '\0' ? "" : ")");
}

void describe_policy_refused(const struct event_policy_refused *event, struct buf *out)
{
    buf_append_string(out, "policy change refused");
    describe_add_message(": ", event->message, out);
    buf_append_string(out, "; the previous policies stay in force");
}

void describe_limit_warning(const struct event_limit_warning *event, struct buf *out)
{
    buf_append_string(out, "near a limit");
    describe_add_message(": ", event->message, out);
}

void describe_gate_denied(const struct event_gate_denied *event, struct buf *out)
{
    buf_printf(out, "iteration %" PRId64 " denied", event->iteration);
    describe_add_name(" by ", event->policy, out);
    describe_add_message(": ", event->message, out);
}

void describe_step_denied(const struct event_step_denied *event, struct buf *out)
{
    describe_add_subject("", event->action, "a step", out);
    describe_add_name(" ", event->resource, out);
    buf_append_string(out, " denied");
    describe_add_message(": ", event->message, out);
}

/* ---- Iterations ----------------------------------------------------------------------------- */

void describe_iteration_started(const struct event_iteration_started *event, struct buf *out)
{
    buf_printf(out, "iteration %" PRId64, event->iteration);
    if (event->limit > 0) {
        buf_printf(out, " of %s%" PRId64, event->estimate == NULL ? "" : "about ", event->limit);
    }
    buf_append_string(out, " started");
    if (event->limit > 0) {
        buf_printf(out, " (%" PRId64 " %%)", event->iteration * 100 / event->limit);
    }
    if (event->attempt > 1) {
        buf_printf(out, ", attempt %" PRId64, event->attempt);
    }
}

void describe_iteration_finished(const struct event_iteration_finished *event, struct buf *out)
{
    buf_printf(out, "iteration %" PRId64, event->iteration);
    describe_add_subject(" ", event->outcome, "finished", out);
    describe_add_duration(event->duration_ns, out);
    if (event->tokens > 0) {
        buf_append_string(out, ", ");
        text_count(event->tokens, out);
        buf_append_string(out, " tokens");
    }
    if (event->cost_micro != 0) {
        buf_append_string(out, ", cost ");
        text_cost(event->cost_micro, out);
    }
    if (event->exit_code > 0 && (event->message == NULL || event->message[0] == '\0')) {
        buf_printf(out, ": exit code %" PRId64, event->exit_code);
    }
    describe_add_message(": ", event->message, out);
    bool is_guarded = describe_is(event->guard, RUN_GUARD_SPIN);
    describe_add_name(is_guarded ? "; Rondo reports " : "; the agent reports ", event->finish, out);
    describe_add_message(": ", event->summary, out);
}

enum event_level level_iteration_finished(const struct event_iteration_finished *event)
{
    return describe_is(event->outcome, "ok") ? EVENT_LEVEL_SUCCESS : EVENT_LEVEL_FAILURE;
}

void describe_iteration_interrupted(const struct event_iteration_interrupted *event,
                                    struct buf *out)
{
    buf_printf(out, "iteration %" PRId64 " interrupted; it will be repeated on resume",
               event->iteration);
    describe_add_message(": ", event->reason, out);
}

/* ---- Exit conditions ------------------------------------------------------------------------ */

void describe_verification_started(const struct event_verification_started *event, struct buf *out)
{
    if (event->condition != NULL) {
        describe_add_subject("verifying ", event->condition, "a condition", out);
    } else {
        buf_printf(out, "verifying %" PRId64 " exit condition%s", event->total,
                   event->total == 1 ? "" : "s");
    }
}

void event_condition_reason(const struct event_condition_evaluated *event, struct buf *ret_text)
{
    enum rondo_condition_reason reason = RONDO_REASON_NOT_EVALUATED;
    condition_reason_from_name(event->reason == NULL ? "" : event->reason, &reason);
    switch (reason) {
    case RONDO_REASON_FAILED:
        buf_printf(ret_text, "exit code %" PRId64, event->exit_code);
        break;
    case RONDO_REASON_CRASHED:
        buf_printf(ret_text, "crashed, signal %" PRId64, event->signal);
        break;
    case RONDO_REASON_TIMED_OUT:
        buf_append_string(ret_text, "timed out");
        break;
    case RONDO_REASON_NOT_RUN:
        buf_append_string(ret_text, "not run");
        break;
    case RONDO_REASON_CANCELLED:
        buf_append_string(ret_text, "cancelled");
        return;
    case RONDO_REASON_DENIED:
        buf_append_string(ret_text, "denied");
        break;
    case RONDO_REASON_NOT_EVALUATED:
        buf_append_string(ret_text, "not evaluated");
        break;
    case RONDO_REASON_PASSED:
    case RONDO_REASON_COUNT:
        break;
    }
    describe_add_message(", ", event->message, ret_text);
}

void describe_condition_evaluated(const struct event_condition_evaluated *event, struct buf *out)
{
    bool is_met = describe_is(event->status, "met");
    describe_add_subject("", event->condition, "a condition", out);
    buf_append_string(out, is_met ? " met" : " not met: ");
    if (!is_met) {
        event_condition_reason(event, out);
    }
    if (event->duration_ns > 0) {
        buf_append_string(out, is_met ? "" : ",");
        describe_add_duration(event->duration_ns, out);
    }
}

enum event_level level_condition_evaluated(const struct event_condition_evaluated *event)
{
    return describe_is(event->status, "met") ? EVENT_LEVEL_SUCCESS : EVENT_LEVEL_FAILURE;
}

void describe_verification_finished(const struct event_verification_finished *event,
                                    struct buf *out)
{
    buf_printf(out, "%" PRId64 " of %" PRId64 " exit conditions met", event->met, event->total);
}

enum event_level level_verification_finished(const struct event_verification_finished *event)
{
    return event->met == event->total ? EVENT_LEVEL_SUCCESS : EVENT_LEVEL_INFO;
}

void describe_finish_rejected(const struct event_finish_rejected *event, struct buf *out)
{
    buf_printf(out,
               "the agent reports completed, but only %" PRId64 " of %" PRId64
               " exit conditions are met: the loop continues",
               event->met, event->total);
}

/* ---- The store, time, notes ----------------------------------------------------------------- */

void describe_checkpoint_saved(const struct event_checkpoint_saved *event, struct buf *out)
{
    buf_printf(out, "checkpoint %" PRId64 " saved, ", event->number);
    text_bytes((uint64_t)event->bytes, out);
    buf_append_string(out, " of state");
}

void describe_checkpoint_corrupt(const struct event_checkpoint_corrupt *event, struct buf *out)
{
    buf_printf(out, "checkpoint %" PRId64 " is damaged and was not used", event->number);
    describe_add_message(": ", event->message, out);
}

void describe_storage_degraded(const struct event_storage_degraded *event, struct buf *out)
{
    buf_printf(out, "the store failed %" PRId64 " time%s", event->failures,
               event->failures == 1 ? "" : "s");
    describe_add_duration(event->duration_ns, out);
    buf_append_string(out, "; the run continued without checkpoints");
    describe_add_message(": ", event->message, out);
}

void describe_time_skipped(const struct event_time_skipped *event, struct buf *out)
{
    char skipped[FORMAT_DURATION_SIZE];
    format_duration(event->skipped_ns, skipped);
    buf_printf(out, "%s not counted as active time", skipped);
    describe_add_message(": ", event->message, out);
}

void describe_note(const struct event_note *event, struct buf *out)
{
    buf_append_string(out, "note");
    describe_add_name(" ", event->name, out);
    describe_add_message(" ", event->attributes, out);
}
