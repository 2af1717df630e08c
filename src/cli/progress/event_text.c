// SPDX-License-Identifier: Apache-2.0
/* One function for each type of event, in a table. */
#include "cli/progress/event_telling.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "base/status.h"
#include "cli/terminal/text.h"
#include "journal/state.h"

#include <inttypes.h>
#include <string.h>

void telling_add_words(const struct telling *telling, const char *before, const char *words)
{
    if (words != NULL && words[0] != '\0') {
        buf_append_string(telling->out, before);
        text_clean(words, strlen(words), telling->out);
    }
}

static void add_duration(const struct telling *telling)
{
    char duration[FORMAT_DURATION_SIZE];
    format_duration(telling->event->duration_ns, duration);
    buf_printf(telling->out, " in %s", duration);
}

static void tell_created(const struct telling *telling)
{
    telling_add_words(telling, "run created for agent ", telling->event->agent_id);
}

static void tell_claimed(const struct telling *telling)
{
    static const struct {
        const char *how;
        const char *text;
    } texts[] = {
        {"start", "started"},
        {"resume", "resumed"},
        {"takeover", "taken over from a process that is gone"},
        {"reopen", "reopened"},
        {"control", "held for a moment to record what somebody wants"},
        {"fork", "begun as a fork"},
    };
    const char *how = telling->event->how == NULL ? "" : telling->event->how;
    const char *text = "claimed";
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        text = strcmp(texts[i].how, how) == 0 ? texts[i].text : text;
    }
    buf_append_string(telling->out, text);
    if (telling->event->number > 0) {
        buf_printf(telling->out, ", from checkpoint %" PRId64, telling->event->number);
    }
    telling_add_words(telling, ": ", telling->event->message);
}

static void tell_options(const struct telling *telling)
{
    bool is_limits = telling->event->by != NULL;
    buf_append_string(telling->out, is_limits ? "limits changed" : "options changed");
    telling_add_words(telling, " by ", telling->event->by);
}

static void tell_paused(const struct telling *telling)
{
    telling_add_words(telling, "paused by ", telling->event->by);
    buf_append_string(telling->out, telling->event->by == NULL ? "paused" : "");
    telling_add_words(telling, ": ", telling->event->message);
}

static void tell_continued(const struct telling *telling)
{
    telling_add_words(telling, "continued by ", telling->event->by);
    buf_append_string(telling->out, telling->event->by == NULL ? "continued" : "");
}

static void tell_forked(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    buf_printf(telling->out, "forked at event %" PRId64, event->forked_seq);
    if (event->checkpoint > 0) {
        buf_printf(telling->out, ", checkpoint %" PRId64, event->checkpoint);
    }
    telling_add_words(telling, " of run ", event->forked_from);
    telling_add_words(telling, " by ", event->by);
}

static void tell_stop_requested(const struct telling *telling)
{
    telling_add_words(telling, "asked to stop by ", telling->event->by);
    telling_add_words(telling, ": ", telling->event->message);
}

static void tell_denied(const struct telling *telling)
{
    buf_printf(telling->out, "iteration %" PRId64 " denied", telling->event->iteration);
    telling_add_words(telling, " by ", telling->event->policy);
    telling_add_words(telling, ": ", telling->event->message);
}

static void add_limit(const struct telling *telling, enum run_limit counter, int64_t limit)
{
    char duration[FORMAT_DURATION_SIZE];
    switch (counter) {
    case RUN_LIMIT_ITERATIONS:
    case RUN_LIMIT_TOKENS:
        text_count(limit, telling->out);
        buf_printf(telling->out, " %s", run_limit_name(counter));
        break;
    case RUN_LIMIT_COST:
        buf_append_string(telling->out, "cost ");
        text_money(limit, telling->out);
        break;
    case RUN_LIMIT_TIME:
        format_duration(limit, duration);
        buf_printf(telling->out, "time %s", duration);
        break;
    case RUN_LIMIT_COUNT:
        break;
    }
}

/** "200 iterations, cost 5" from the limits of an event; NULL = none were recorded. */
static void add_limits(const struct telling *telling, const char *limits)
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
        buf_append_string(telling->out, separator);
        add_limit(telling, i, limit);
        separator = ", ";
    }
    buf_append_string(telling->out, separator[0] == '\0' ? "no limit" : "");
}

static void tell_policy(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    const char *digest = event->sha256 == NULL ? "built-in" : event->sha256;
    buf_append_string(telling->out,
                      event->old_limits == NULL ? "policies " : "policies changed to ");
    buf_printf(telling->out, "%.*s", TEXT_DIGEST_LEN, digest);
    telling_add_words(telling, " by ", event->by);
    buf_append_string(telling->out, ": ");
    if (event->old_limits != NULL) {
        add_limits(telling, event->old_limits);
        buf_append_string(telling->out, telling->style->is_unicode ? " \u2192 " : " -> ");
    }
    add_limits(telling, event->limits);
    telling_add_words(telling, " (", event->source);
    buf_append_string(telling->out, event->source == NULL ? "" : ")");
}

static void tell_policy_refused(const struct telling *telling)
{
    style_append(telling->style, COLOUR_YELLOW, "policy change refused", telling->out);
    telling_add_words(telling, ": ", telling->event->message);
    buf_append_string(telling->out, "; the policies before stay in force");
}

static void tell_warning(const struct telling *telling)
{
    style_append(telling->style, COLOUR_YELLOW, "near a limit", telling->out);
    telling_add_words(telling, ": ", telling->event->message);
}

static void tell_step_denied(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    telling_add_words(telling, "", event->action);
    telling_add_words(telling, " ", event->name);
    buf_append_string(telling->out, " denied");
    telling_add_words(telling, ": ", event->message);
}

static void tell_started(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    buf_printf(telling->out, "iteration %" PRId64, event->iteration);
    if (event->limit > 0) {
        buf_printf(telling->out, " of %s%" PRId64 " (%" PRId64 " %%)",
                   event->estimate == NULL ? "" : "about ", event->limit,
                   event->iteration * 100 / event->limit);
    }
    if (event->attempt > 1) {
        buf_printf(telling->out, ", attempt %" PRId64, event->attempt);
    }
}

static void tell_finished(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    buf_printf(telling->out, "iteration %" PRId64 " ", event->iteration);
    bool is_ok = event->outcome != NULL && strcmp(event->outcome, "ok") == 0;
    style_append(telling->style, is_ok ? COLOUR_PLAIN : COLOUR_YELLOW,
                 event->outcome == NULL ? "finished" : event->outcome, telling->out);
    add_duration(telling);
    if (event->tokens > 0) {
        buf_append_string(telling->out, ", ");
        text_count(event->tokens, telling->out);
        buf_append_string(telling->out, " tokens");
    }
    if (event->cost_micro != 0) {
        buf_append_string(telling->out, ", cost ");
        text_cost(event->cost_micro, telling->out);
    }
    if (event->exit_code > 0 && (event->message == NULL || event->message[0] == '\0')) {
        buf_printf(telling->out, ": exit code %" PRId64, event->exit_code);
    }
    telling_add_words(telling, ": ", event->message);
    bool is_guarded = event->reason != NULL && strcmp(event->reason, RUN_GUARD_SPIN) == 0;
    telling_add_words(telling, is_guarded ? "; Rondo says " : "; the agent says ", event->finish);
    telling_add_words(telling, ": ", event->summary);
}

static void tell_interrupted(const struct telling *telling)
{
    buf_printf(telling->out, "iteration %" PRId64 " cut off, it runs again on resume",
               telling->event->iteration);
    telling_add_words(telling, ": ", telling->event->reason);
}

static void tell_verification_started(const struct telling *telling)
{
    if (telling->event->name != NULL) {
        telling_add_words(telling, "verifying ", telling->event->name);
    } else {
        buf_printf(telling->out, "verifying %" PRId64 " exit condition%s", telling->event->total,
                   telling->event->total == 1 ? "" : "s");
    }
}

static void tell_evaluated(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    bool is_met = event->status != NULL && strcmp(event->status, "met") == 0;
    telling_add_words(telling, "", event->name);
    buf_append(telling->out, " ", 1);
    style_append(telling->style, is_met ? COLOUR_GREEN : COLOUR_RED, is_met ? "met" : "not met",
                 telling->out);
    if (!is_met) {
        buf_append_string(telling->out, ": ");
        event_reason(event, telling->out);
    }
    if (event->duration_ns > 0) {
        buf_append_string(telling->out, is_met ? "" : ",");
        add_duration(telling);
    }
}

static void tell_verified(const struct telling *telling)
{
    buf_printf(telling->out, "%" PRId64 " of %" PRId64 " exit conditions met", telling->event->met,
               telling->event->total);
}

static void tell_rejected(const struct telling *telling)
{
    buf_printf(telling->out,
               "the agent says completed, but only %" PRId64 " of %" PRId64
               " exit conditions are met: the loop goes on",
               telling->event->met, telling->event->total);
}

static void tell_checkpoint(const struct telling *telling)
{
    buf_printf(telling->out, "checkpoint %" PRId64 " saved, ", telling->event->number);
    text_bytes((uint64_t)telling->event->bytes, telling->out);
    buf_append_string(telling->out, " of state");
}

static void tell_corrupt(const struct telling *telling)
{
    buf_printf(telling->out, "checkpoint %" PRId64 " is damaged and was not used",
               telling->event->number);
    telling_add_words(telling, ": ", telling->event->message);
}

static void tell_degraded(const struct telling *telling)
{
    buf_printf(telling->out, "the store failed %" PRId64 " time%s", telling->event->failures,
               telling->event->failures == 1 ? "" : "s");
    add_duration(telling);
    buf_append_string(telling->out, "; the run went on without checkpoints");
    telling_add_words(telling, ": ", telling->event->message);
}

static void tell_note(const struct telling *telling)
{
    telling_add_words(telling, "note ", telling->event->name);
    telling_add_words(telling, " ", telling->event->attributes);
}

static void tell_run_finished(const struct telling *telling)
{
    const struct journal_event *event = telling->event;
    enum rondo_status status = RONDO_ERROR;
    status_from_name(event->status == NULL ? "" : event->status, &status);
    style_append(telling->style, style_of_status(status), rondo_status_name(status), telling->out);
    buf_printf(telling->out, " after %" PRId64 " iteration%s", event->iteration,
               event->iteration == 1 ? "" : "s");
    telling_add_words(telling, ": ", event->message);
    telling_add_words(telling, "; ", event->summary);
}

static void (*const tellers[JOURNAL_TYPE_COUNT])(const struct telling *telling) = {
    [JOURNAL_RUN_CREATED] = tell_created,
    [JOURNAL_RUN_CLAIMED] = tell_claimed,
    [JOURNAL_RUN_OPTIONS] = tell_options,
    [JOURNAL_STOP_REQUESTED] = tell_stop_requested,
    [JOURNAL_PAUSED] = tell_paused,
    [JOURNAL_CONTINUED] = tell_continued,
    [JOURNAL_FORKED] = tell_forked,
    [JOURNAL_POLICY_CHANGED] = tell_policy,
    [JOURNAL_POLICY_REFUSED] = tell_policy_refused,
    [JOURNAL_LIMIT_WARNING] = tell_warning,
    [JOURNAL_GATE_DENIED] = tell_denied,
    [JOURNAL_STEP_DENIED] = tell_step_denied,
    [JOURNAL_ITERATION_STARTED] = tell_started,
    [JOURNAL_ITERATION_FINISHED] = tell_finished,
    [JOURNAL_ITERATION_INTERRUPTED] = tell_interrupted,
    [JOURNAL_MODEL_REQUESTED] = tell_model_requested,
    [JOURNAL_MODEL_RETRYING] = tell_model_retrying,
    [JOURNAL_MODEL_REPLIED] = tell_model_replied,
    [JOURNAL_TOOL_REQUESTED] = tell_tool_requested,
    [JOURNAL_TOOL_FINISHED] = tell_tool_finished,
    [JOURNAL_PERSON_ANSWERED] = tell_person_answered,
    [JOURNAL_TIME_SKIPPED] = tell_time_skipped,
    [JOURNAL_PLAN_UPDATED] = tell_plan_updated,
    [JOURNAL_HISTORY_TRIMMED] = tell_history_trimmed,
    [JOURNAL_VERIFICATION_STARTED] = tell_verification_started,
    [JOURNAL_CONDITION_EVALUATED] = tell_evaluated,
    [JOURNAL_VERIFICATION_FINISHED] = tell_verified,
    [JOURNAL_FINISH_REJECTED] = tell_rejected,
    [JOURNAL_CHECKPOINT_SAVED] = tell_checkpoint,
    [JOURNAL_CHECKPOINT_CORRUPT] = tell_corrupt,
    [JOURNAL_STORAGE_DEGRADED] = tell_degraded,
    [JOURNAL_NOTE] = tell_note,
    [JOURNAL_RUN_FINISHED] = tell_run_finished,
};

void event_text(const struct journal_entry *entry, const struct style *style, struct buf *ret_buf)
{
    if (!entry->is_known || tellers[entry->event.type] == NULL) {
        text_clean(entry->type_name, strlen(entry->type_name), ret_buf);
        buf_append_string(ret_buf, " (of a newer version)");
        return;
    }
    struct telling telling = {.event = &entry->event, .style = style, .out = ret_buf};
    tellers[entry->event.type](&telling);
}

bool event_is_warning(const struct journal_entry *entry)
{
    return entry->is_known &&
           (entry->event.type == JOURNAL_CHECKPOINT_CORRUPT ||
            entry->event.type == JOURNAL_STORAGE_DEGRADED ||
            entry->event.type == JOURNAL_POLICY_REFUSED ||
            entry->event.type == JOURNAL_LIMIT_WARNING || entry->event.type == JOURNAL_STEP_DENIED);
}

void event_output(const char *output, size_t len, struct buf *ret_buf)
{
    for (size_t at = 0; at < len;) {
        const char *end = memchr(output + at, '\n', len - at);
        size_t line = end == NULL ? len - at : (size_t)(end - output) - at;
        buf_append_string(ret_buf, "    ");
        text_clean(output + at, line, ret_buf);
        buf_append(ret_buf, "\n", 1);
        at += line + 1;
    }
}
