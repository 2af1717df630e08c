// SPDX-License-Identifier: Apache-2.0
/* A run's limits, found in its policies. */
#include "loop/limits_ahead.h"

#include "loop/policy_request.h"
#include "loop/runtime.h"
#include "policy/subject.h"
#include "policy/watch.h"

#include <stdio.h>

int limits_ahead_find(struct runtime *runtime, const struct loop_spec *spec, const char *run_id,
                      const struct run_state *state, struct limits_ahead *ret_ahead,
                      struct rondo_error *err)
{
    struct watch_view view = {0};
    struct watch_message message;
    int r = watch_look(runtime_policies(runtime, spec->policy), &view, &message, err);
    if (r < 0) {
        return r;
    }
    struct limits_ahead ahead = {0};
    struct policy_run run = loop_policy_run(spec, run_id);
    struct policy_request request =
        loop_policy_request(state, spec, state->last_event_ns, clock_now(runtime_clock(runtime)));
    struct subject *subject = subject_new(&run, view.ruleset);
    subject_find_limits(subject, &request, ahead.limits);
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        if (ahead.limits[i].is_known && ahead.limits[i].policy >= 0) {
            snprintf(ahead.policies[i], sizeof(ahead.policies[i]), "%s",
                     cedar_policies_id(view.ruleset->policies, (size_t)ahead.limits[i].policy));
        }
    }
    subject_free(subject);
    watch_view_fini(&view);
    *ret_ahead = ahead;
    return 0;
}
