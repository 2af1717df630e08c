// SPDX-License-Identifier: Apache-2.0
/* What waits for people, for programs that show it or let a person decide. Any thread. */
#include "api/internal.h"

#include "base/error.h"
#include "handoff/inbox/inbox.h"
#include "handoff/storage/clock.h"
#include "store/find.h"

#include <string.h>

struct inbox_listing {
    rondo_request_fn *fn;
    void *context;
};

static bool give(const struct handoff_summary *summary, void *context)
{
    const struct inbox_listing *reading = context;
    struct rondo_request request = {
        .id = summary->request_id,
        .run_id = summary->lane_id,
        .agent_id = summary->agent_id,
        .tool = summary->tool,
        .why = summary->why,
        .desk = summary->desk,
        .state = handoff_state_name(summary->state),
        .risk = handoff_level_name(summary->risk),
        .requested_ns = summary->requested_ns,
        .due_ns = summary->due_ns,
    };
    bool is_waiting = summary->state < HANDOFF_APPROVED;
    return !is_waiting || reading->fn(&request, reading->context);
}

int rondo_read_requests(struct rondo *rondo, rondo_request_fn *fn, void *context,
                        struct rondo_error *err)
{
    struct handoff_store handoffs = runtime_handoffs(rondo->runtime);
    struct inbox_listing reading = {fn, context};
    return handoff_read_summaries(&handoffs, give, &reading, err);
}

char *rondo_show_request(struct rondo *rondo, const char *request_id, struct rondo_error *err)
{
    struct handoff handoff;
    auto_buf struct buf json = {0};
    struct handoff_store handoffs = runtime_handoffs(rondo->runtime);
    struct inbox_view_options options = {.has_thread = true};
    int r = inbox_find(&handoffs, request_id, &handoff, err);
    r = r < 0 ? r : inbox_view(&handoffs, &handoff, &options, &json, err);
    return r < 0 ? NULL : buf_steal(&json);
}

/** A process does not decide about what its own runs ask. */
static int refuse_own(struct rondo *rondo, const struct handoff *handoff, struct rondo_error *err)
{
    struct store_run run;
    bool is_own = rondo->store->ops->get_run(rondo->store, handoff->lane_id, &run, NULL) == 0 &&
                  strcmp(run.owner, runtime_owner(rondo->runtime)) == 0;
    return is_own ? error_set(err, RONDO_ERR_DENIED,
                              "this process executes run %s, and cannot decide about its actions",
                              handoff->lane_id)
                  : 0;
}

static int decide(const struct handoff_store *handoffs, const struct handoff *handoff,
                  const struct rondo_decision *decision, int64_t now_ns, struct rondo_error *err)
{
    char by[HANDOFF_NAME_SIZE];
    struct inbox_result result;
    auto_buf struct buf text = {0};
    inbox_user(by);
    struct inbox_decision given = {
        .kind = decision->is_approved ? HANDOFF_APPROVE : HANDOFF_REJECT,
        .by = by,
        .is_admin = true, /* who can write the store */
        .comment = decision->comment,
        .revision = handoff->revision,
        .action_digest = decision->action_digest,
    };
    int r = inbox_decide(handoffs, handoff->request_id, &given, now_ns, &result, err);
    if (r < 0 || result.result.outcome == HANDOFF_DONE) {
        return r;
    }
    inbox_explain(&result.result, &text);
    return text.len == 0 ? 0
                         : error_set(err, RONDO_ERR_STATE, "request %s: %s", handoff->request_id,
                                     buf_string(&text));
}

int rondo_decide(struct rondo *rondo, const struct rondo_decision *decision,
                 struct rondo_error *err)
{
    struct handoff handoff;
    struct handoff_store handoffs = runtime_handoffs(rondo->runtime);
    if (decision->request_id == NULL || decision->action_digest == NULL) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a decision needs a request_id and the "
                         "action_digest of what was seen");
    }
    int r = inbox_find(&handoffs, decision->request_id, &handoff, err);
    r = r < 0 ? r : refuse_own(rondo, &handoff, err);
    return r < 0 ? r : decide(&handoffs, &handoff, decision, handoff_now(&handoffs), err);
}
