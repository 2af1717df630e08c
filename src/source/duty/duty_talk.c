// SPDX-License-Identifier: Apache-2.0
/* Turns of conversations: which run comes before, and what it said. */
#include "agent/spec/carry.h"
#include "base/error.h"
#include "journal/run_answer.h"
#include "loop/driver/driver.h"
#include "source/conversation/conversation.h"
#include "source/duty/duty_internal.h"

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

/** A run that was deleted meanwhile is as one that never was. */
static int carry_from(struct store *store, const char *run_id, struct carry_turn *turn,
                      struct loop_spec *spec, struct rondo_error *err)
{
    struct loop_spec before = {0};
    auto_buf struct buf answer = {0};
    int r = loop_recorded_spec(store, run_id, &before, err);
    r = r < 0 ? r : read_answer(store, run_id, &answer, err);
    turn->before = r == 0 ? &before : NULL;
    turn->answer = buf_string(&answer);
    if (r == 0 || r == RONDO_ERR_NOT_FOUND) {
        r = carry_over(spec, turn, err);
    }
    loop_spec_fini(&before);
    return r;
}

int duty_continue(struct store *store, const struct start_request *request, struct loop_spec *spec,
                  struct rondo_error *err)
{
    char before[ID_SIZE] = "";
    struct carry_turn turn = {.source = request->source, .key = request->conversation};
    int r = conversation_enter(store, request, before, err);
    if (r < 0) {
        return r;
    }
    return before[0] == '\0' ? carry_over(spec, &turn, err)
                             : carry_from(store, before, &turn, spec, err);
}
