// SPDX-License-Identifier: Apache-2.0
#include "journal/run_answer.h"
#include "journal/event.h"

#include "base/json/json.h"
#include "base/status.h"
#include "journal/backward.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

/** Events that are looked at for the last reply. */
#define MOST_EVENTS 1000
#define WINDOW      100

static void take_text(struct run_answer *answer, const char *text)
{
    if (text != NULL && text[0] != '\0' && answer->text.len == 0) {
        buf_append_string(&answer->text, text);
    }
}

/** @return whether to look further back */
static bool take_event(const struct store_event *stored, void *context)
{
    struct run_answer *answer = context;
    struct journal_event event;
    auto_json struct json_object *root = NULL;
    if (journal_decode_stored(stored, &event, &root, NULL) < 0) {
        return true;
    }
    if (event.type == JOURNAL_RUN_FINISHED) {
        take_text(answer, event.run_finished.summary);
        buf_append_string(&answer->why,
                          event.run_finished.message == NULL ? "" : event.run_finished.message);
    } else if (event.type == JOURNAL_MODEL_REPLIED) {
        const char *outcome = event.model_replied.outcome;
        if (outcome == NULL || strcmp(outcome, "ok") == 0) {
            take_text(answer, journal_event_output(&event, &(size_t){0}));
        }
    }
    return answer->text.len == 0;
}

int run_answer_read(struct store *store, const char *run_id, struct run_answer *ret_answer,
                    struct rondo_error *err)
{
    static const char *const types[] = {"run.finished", "model.replied", NULL};
    struct store_run run;
    uint64_t reached = 0;
    *ret_answer = (struct run_answer){0};
    int r = store->ops->get_run(store, run_id, &run, err);
    if (r < 0 || run.ended_ns == 0) {
        return r;
    }
    ret_answer->is_ended = true;
    ret_answer->is_completed = run.summary.status == RONDO_COMPLETED;
    snprintf(ret_answer->status, sizeof(ret_answer->status), "%s",
             rondo_status_name(run.summary.status));
    const struct backward backward = {
        .run_id = run_id,
        .before = run.last_seq + 1,
        .types = types,
        .window = WINDOW,
        .most = MOST_EVENTS,
    };
    return backward_visit(store, &backward, take_event, ret_answer, &reached, err);
}

void run_answer_write(const struct run_answer *answer, struct buf *ret_text)
{
    if (answer->text.len > 0) {
        buf_append_string(ret_text, buf_string(&answer->text));
    }
    if (!answer->is_completed) {
        buf_printf(ret_text, "%sThe run ended: %s.", ret_text->len > 0 ? "\n\n" : "",
                   answer->status);
    } else if (ret_text->len == 0) {
        buf_append_string(ret_text, "Done.");
    }
}

void run_answer_fini(struct run_answer *answer)
{
    buf_fini(&answer->text);
    buf_fini(&answer->why);
}
