// SPDX-License-Identifier: Apache-2.0
/* What happens to the tasks of a PRD, in sentences. Words of the PRD and of agents are cleaned. */
#include "journal/describe_internal.h"

#include "base/text/plain.h"

#include <inttypes.h>

/** Characters of a commit's id that people see. */
#define SHORT_COMMIT 10

static void add_task(const char *task, int64_t attempt, struct buf *out)
{
    describe_add_subject("task ", task, "task", out);
    if (attempt > 1) {
        buf_printf(out, ", attempt %" PRId64, attempt);
    }
}

static void add_commit(const char *before, const char *commit, struct buf *out)
{
    if (commit != NULL) {
        describe_add(before, commit, SHORT_COMMIT, out);
    }
}

enum event_level level_tasks_read(const struct event_tasks_read *event)
{
    return event->message != NULL ? EVENT_LEVEL_WARNING : EVENT_LEVEL_INFO;
}

void describe_tasks_read(const struct event_tasks_read *event, struct buf *out)
{
    if (event->message != NULL) {
        buf_append_string(out, "the PRD file cannot be used");
        describe_add_message(": ", event->message, out);
        return;
    }
    buf_printf(out, "%" PRId64 " task%s read, %" PRId64 " of them done", event->count,
               event->count == 1 ? "" : "s", event->done);
}

void describe_task_started(const struct event_task_started *event, struct buf *out)
{
    add_task(event->task, event->attempt, out);
    buf_append_string(out, " started");
    describe_add_name(": ", event->title, out);
}

enum event_level level_task_checked(const struct event_task_checked *event)
{
    return describe_is(event->status, "met") ? EVENT_LEVEL_SUCCESS : EVENT_LEVEL_FAILURE;
}

void describe_task_checked(const struct event_task_checked *event, struct buf *out)
{
    describe_add_subject("task ", event->task, "task", out);
    bool is_review = describe_is(event->stage, "review");
    bool is_met = describe_is(event->status, "met");
    describe_add_subject(is_review ? ": review by " : ": check ", event->check,
                         is_review ? "an agent" : "check", out);
    buf_append_string(out, !is_review ? (is_met ? " passed" : " failed")
                           : is_met   ? " approves"
                                      : " does not approve");
    describe_add_duration(event->duration_ns, out);
    if (describe_is(event->stage, "before")) {
        buf_append_string(out, ", before the work");
    } else if (describe_is(event->stage, "merged")) {
        buf_append_string(out, ", on the merged tree");
    }
    describe_add_message(": ", event->message, out);
}

void describe_task_committing(const struct event_task_committing *event, struct buf *out)
{
    describe_add_subject("task ", event->task, "task", out);
    add_commit(": commit ", event->commit, out);
    describe_add_name(" will be added to branch ", event->branch, out);
}

void describe_task_committed(const struct event_task_committed *event, struct buf *out)
{
    describe_add_subject("task ", event->task, "task", out);
    add_commit(" is commit ", event->commit, out);
    describe_add_name(" of branch ", event->branch, out);
    buf_printf(out, ", %" PRId64 " file%s", event->file_count, event->file_count == 1 ? "" : "s");
}

enum event_level level_task_ended(const struct event_task_ended *event)
{
    return describe_is(event->outcome, "committed") || describe_is(event->outcome, "already_done")
               ? EVENT_LEVEL_SUCCESS
           : describe_is(event->outcome, "interrupted") ? EVENT_LEVEL_NOTICE
                                                        : EVENT_LEVEL_FAILURE;
}

void describe_task_ended(const struct event_task_ended *event, struct buf *out)
{
    static const struct {
        const char *outcome;
        const char *text;
    } texts[] = {
        {"committed", " is done"},
        {"already_done", " was done already"},
        {"checks_failed", " failed its checks"},
        {"interrupted", " was interrupted"},
    };
    const char *text = NULL;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        text = describe_is(event->outcome, texts[i].outcome) ? texts[i].text : text;
    }
    add_task(event->task, event->attempt, out);
    buf_append_string(out, text == NULL ? " failed" : text);
    if (text == NULL && event->outcome != NULL) {
        describe_add_name(" (", event->outcome, out);
        buf_append_string(out, ")");
    }
    describe_add_duration(event->duration_ns, out);
    describe_add_message(": ", event->message, out);
}

void describe_task_failed(const struct event_task_failed *event, struct buf *out)
{
    describe_add_subject("task ", event->task, "task", out);
    buf_printf(out, " failed after %" PRId64 " attempt%s", event->attempts,
               event->attempts == 1 ? "" : "s");
}

void describe_task_blocked(const struct event_task_blocked *event, struct buf *out)
{
    describe_add_subject("task ", event->task, "task", out);
    describe_add_subject(" is blocked by task ", event->by, "that failed", out);
}

enum event_level level_work_pushed(const struct event_work_pushed *event)
{
    return describe_is(event->outcome, "pushed") || describe_is(event->outcome, "up_to_date")
               ? EVENT_LEVEL_SUCCESS
               : EVENT_LEVEL_WARNING;
}

void describe_work_pushed(const struct event_work_pushed *event, struct buf *out)
{
    bool is_pushed = level_work_pushed(event) == EVENT_LEVEL_SUCCESS;
    describe_add_subject("branch ", event->branch, "the branch", out);
    buf_append_string(out, is_pushed ? " is pushed" : " could not be pushed");
    describe_add_name(" to ", event->remote, out);
    describe_add_message(": ", event->message, out);
    describe_add_message("; open a pull request: ", event->url, out);
}

void describe_work_archived(const struct event_work_archived *event, struct buf *out)
{
    describe_add_subject("archived in ", event->folder, "a folder", out);
}
