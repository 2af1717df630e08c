// SPDX-License-Identifier: Apache-2.0
/* Turns of conversations: which run comes before, and what it said. */
#include "agent/spec/carry.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "journal/backward.h"
#include "journal/run_answer.h"
#include "loop/driver/driver.h"
#include "source/conversation/conversation.h"
#include "source/duty/duty_internal.h"

#include <stdlib.h>

/** What a run answered; how it ended where it did not complete, so that the model knows. */
static int read_answer(struct store *store, const char *run_id, struct buf *ret_text,
                       struct rondo_error *err)
{
    struct run_answer answer = {0};
    int r = run_answer_read(store, run_id, &answer, err);
    if (r == 0 && !answer.is_ended) {
        buf_append_string(ret_text, "(There is no answer yet.)");
    } else if (r == 0) {
        run_answer_write(&answer, ret_text);
    }
    run_answer_fini(&answer);
    return r;
}

/** The summary that a run made of what it took over. */
struct found_summary {
    char *text; /* owned; NULL = none */
    size_t kept;
};

static bool take_summary(const struct store_event *stored, void *context)
{
    struct found_summary *found = context;
    struct journal_event event;
    auto_json struct json_object *root = NULL;
    if (journal_decode_stored(stored, &event, &root, NULL) < 0 ||
        event.history_compacted.replaced <= 0 || event.history_compacted.summary == NULL) {
        return true;
    }
    const struct event_history_compacted *compacted = &event.history_compacted;
    int64_t kept = compacted->messages_before - compacted->replaced;
    found->text = memory_dup_string(compacted->summary);
    found->kept = kept > 0 ? (size_t)kept : 0;
    return false;
}

static int find_summary(struct store *store, const char *run_id, struct found_summary *ret_found,
                        struct rondo_error *err)
{
    static const char *const types[] = {"history.compacted", NULL};
    struct store_run run;
    uint64_t reached = 0;
    int r = store->ops->get_run(store, run_id, &run, err);
    const struct backward backward = {
        .run_id = run_id, .before = run.last_seq + 1, .types = types, .window = 64};
    return r < 0 ? r : backward_visit(store, &backward, take_summary, ret_found, &reached, err);
}

/** A run that was deleted meanwhile is as one that never was. */
static int carry_from(struct store *store, const char *run_id, struct carry_turn *turn,
                      struct loop_spec *spec, struct rondo_error *err)
{
    struct loop_spec before = {0};
    struct found_summary summary = {0};
    auto_buf struct buf answer = {0};
    int r = loop_recorded_spec(store, run_id, &before, err);
    r = r < 0 ? r : read_answer(store, run_id, &answer, err);
    r = r < 0 ? r : find_summary(store, run_id, &summary, err);
    turn->before = r == 0 ? &before : NULL;
    turn->answer = buf_string(&answer);
    turn->summary = r == 0 ? summary.text : NULL;
    turn->kept = summary.kept;
    if (r == 0 || r == RONDO_ERR_NOT_FOUND) {
        r = carry_over(spec, turn, err);
    }
    loop_spec_fini(&before);
    free(summary.text);
    return r;
}

static int is_pending(void *context, const char *run_id, struct rondo_error *err)
{
    return intake_is_pending_anywhere(context, run_id, err);
}

int duty_continue(struct duty *duty, const struct start_request *request, struct loop_spec *spec,
                  struct rondo_error *err)
{
    struct store *store = duty->store;
    char before[ID_SIZE] = "";
    struct carry_turn turn = {.source = request->source, .key = request->conversation};
    int r = conversation_enter(store, request, is_pending, duty->intake, before, err);
    if (r < 0) {
        return r;
    }
    return before[0] == '\0' ? carry_over(spec, &turn, err)
                             : carry_from(store, before, &turn, spec, err);
}
