// SPDX-License-Identifier: Apache-2.0
/* What a body may say while it works. The loop's own thread, but for rondo_loop_stop. */
#include "api/internal.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static void set_text(char **slot, const char *text)
{
    free(*slot);
    *slot = text == NULL ? NULL : memory_dup_bytes(text, strnlen(text, LIMIT_SUMMARY_BYTES));
}

static void set_outcome(struct rondo_loop *loop, enum loop_outcome outcome, const char *message)
{
    if (!loop->is_in_body) {
        return; /* There is no iteration that could have failed. */
    }
    loop->body.outcome = outcome;
    loop->body.exit_code = -1;
    set_text(&loop->message, message);
}

void rondo_loop_fail(struct rondo_loop *loop, const char *message)
{
    set_outcome(loop, LOOP_FAILED, message);
}

void rondo_loop_abort(struct rondo_loop *loop, const char *message)
{
    set_outcome(loop, LOOP_UNRECOVERABLE, message);
}

/** Usage only grows, and a sum that does not fit stays at the top. */
static int64_t add_usage(int64_t sum, int64_t part)
{
    if (part <= 0) {
        return sum;
    }
    return part > INT64_MAX - sum ? INT64_MAX : sum + part;
}

void rondo_loop_use(struct rondo_loop *loop, int64_t tokens, int64_t cost_micro)
{
    if (loop->is_in_body) {
        loop->body.tokens = add_usage(loop->body.tokens, tokens);
        loop->body.cost_micro = add_usage(loop->body.cost_micro, cost_micro);
    }
}

int rondo_loop_finish(struct rondo_loop *loop, enum rondo_status status, const char *summary,
                      struct rondo_error *err)
{
    static const struct {
        enum rondo_status status;
        enum run_finish finish;
    } rows[] = {
        {RONDO_COMPLETED, FINISH_COMPLETED},
        {RONDO_BLOCKED, FINISH_BLOCKED},
        {RONDO_FAILED, FINISH_FAILED},
    };
    if (!loop->is_in_body) {
        return error_set(err, RONDO_ERR_STATE, "only the body of an iteration can finish the loop");
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].status == status) {
            loop->body.finish = rows[i].finish;
            set_text(&loop->summary, summary);
            return 0;
        }
    }
    return error_set(err, RONDO_ERR_INVALID,
                     "a loop can finish as completed, blocked or failed, not as %s",
                     rondo_status_name(status));
}

int rondo_loop_note(struct rondo_loop *loop, const char *name, const char *attributes_json,
                    struct rondo_error *err)
{
    return loop_note(loop->loop, name, attributes_json, err);
}

bool rondo_loop_should_stop(const struct rondo_loop *loop)
{
    return cancel_is_set(loop_cancel(loop->loop));
}

void rondo_loop_stop(struct rondo_loop *loop)
{
    loop_stop(loop->loop, CANCEL_GRACEFUL);
}
