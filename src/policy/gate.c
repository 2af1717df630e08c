// SPDX-License-Identifier: Apache-2.0
/* The gate: files that are watched, and the run's subject before them. */
#include "policy/gate.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "policy/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct policy_gate {
    struct watch *watch; /* the runtime's */
    struct watch_view view;
    struct watch_message message;
    struct subject *subject;
    char in_force[DIGEST_HEX_SIZE]; /* what the journal has last; "" = built in */
    bool has_refusal;               /* to be reported by the next refresh */
};

/** A file that is gone must not lift limits: a run that was under it does not continue without. */
static int check_file_is_there(const struct policy_gate *gate, const char *in_force,
                               struct rondo_error *err)
{
    bool is_built_in = strcmp(gate->view.ruleset->source, RULESET_BUILT_IN) == 0;
    if (in_force[0] == '\0' || !is_built_in) {
        return 0;
    }
    return error_set(err, RONDO_ERR_NOT_FOUND,
                     "the policy file that applied to the run is gone (digest %.12s; see `rondo "
                     "policy history`); put it back, or name other policies with --policy",
                     in_force);
}

int policy_gate_open(struct watch *watch, const struct policy_run *run, const char *in_force,
                     struct policy_gate **ret_gate, struct rondo_error *err)
{
    struct policy_gate *gate = memory_new_zero(1, sizeof(*gate));
    gate->watch = watch;
    int r = watch_look(watch, &gate->view, &gate->message, err);
    if (r >= 0) {
        r = check_file_is_there(gate, in_force, err);
    }
    if (r < 0) {
        error_prefix(err, "the policies cannot be used");
        policy_gate_free(gate);
        return r;
    }
    snprintf(gate->in_force, sizeof(gate->in_force), "%s", in_force);
    gate->subject = subject_new(run, NULL);
    *ret_gate = gate;
    return 0;
}

void policy_gate_free(struct policy_gate *gate)
{
    if (gate == NULL) {
        return;
    }
    subject_free(gate->subject);
    watch_view_fini(&gate->view);
    free(gate);
}

const struct ruleset *policy_gate_ruleset(const struct policy_gate *gate)
{
    return gate->view.ruleset;
}

void policy_gate_set_resources(struct policy_gate *gate, const struct policy_resource *resources,
                               size_t count)
{
    subject_set_resources(gate->subject, resources, count);
}

void policy_gate_set_limits(struct policy_gate *gate, const struct policy_run *run)
{
    subject_set_limits(gate->subject, run);
}

/* ---- Changes -------------------------------------------------------------------------------- */

/**
 * {"iterations":100,"cost":5000000}: what a run with these rules meets from its start, each limit
 * by itself. From what it has used now, a limit that is used up would hide the others.
 */
static void write_limits(struct policy_gate *gate, const struct policy_request *now, char *ret_json,
                         size_t size)
{
    struct policy_request start = policy_request_at_start(now);
    struct policy_limit limits[RUN_LIMIT_COUNT];
    auto_buf struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    subject_find_limits(gate->subject, &start, limits);
    json_begin_object(&writer, NULL);
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        if (limits[i].is_known) {
            json_write_int(&writer, run_limit_name(i), limits[i].limit);
        }
    }
    json_end_object(&writer);
    snprintf(ret_json, size, "%s", buf_string(&json));
}

/** Digest as the journal has it: built-in rules need no record, because the version says them. */
static const char *recorded_digest(const struct ruleset *ruleset)
{
    return strcmp(ruleset->source, RULESET_BUILT_IN) == 0 ? "" : ruleset->digest;
}

static void use_ruleset(struct policy_gate *gate, const struct policy_request *request,
                        struct policy_update *update)
{
    const struct ruleset *ruleset = gate->view.ruleset;
    if (subject_ruleset(gate->subject) != NULL) {
        write_limits(gate, request, update->old_limits, sizeof(update->old_limits));
    }
    subject_set_ruleset(gate->subject, gate->view.ruleset);
    if (strcmp(gate->in_force, recorded_digest(ruleset)) == 0) {
        return;
    }
    update->news = WATCH_CHANGED;
    update->sha256 = recorded_digest(ruleset);
    update->source = ruleset->source;
    update->by = gate->message.by;
    write_limits(gate, request, update->limits, sizeof(update->limits));
    snprintf(gate->in_force, sizeof(gate->in_force), "%s", recorded_digest(ruleset));
}

static void report_refusal(struct policy_gate *gate, struct policy_update *update)
{
    const struct ruleset *ruleset = gate->view.ruleset;
    gate->has_refusal = false;
    update->news = WATCH_REFUSED;
    update->sha256 = ruleset->digest;
    update->source = ruleset->source;
    update->by = gate->message.by;
    update->message = gate->message.text;
}

bool policy_gate_rely(struct policy_gate *gate, struct store_premise *ret_premise)
{
    return watch_rely(gate->watch, ret_premise);
}

void policy_gate_refresh(struct policy_gate *gate, const struct policy_request *request,
                         bool relies, struct policy_update *ret_update)
{
    int news = relies ? watch_look_here(gate->watch, &gate->view, &gate->message, NULL)
                      : watch_look(gate->watch, &gate->view, &gate->message, NULL);
    ret_update->news = WATCH_SAME;
    ret_update->limits[0] = '\0';
    ret_update->old_limits[0] = '\0';
    gate->has_refusal = gate->has_refusal || news == WATCH_REFUSED;
    if (subject_ruleset(gate->subject) != gate->view.ruleset) {
        use_ruleset(gate, request, ret_update);
    }
    if (ret_update->news == WATCH_SAME && gate->has_refusal) {
        report_refusal(gate, ret_update);
    }
}

/* ---- Decisions ------------------------------------------------------------------------------ */

void policy_gate_decide(struct policy_gate *gate, const struct policy_request *request,
                        struct policy_verdict *ret_verdict)
{
    subject_decide(gate->subject, request, ret_verdict);
    if (ret_verdict->outcome != VERDICT_ALLOW) {
        policy_verdict_describe(ret_verdict, request->action, subject_ruleset(gate->subject),
                                subject_answer(gate->subject), subject_problem(gate->subject));
    } else if (request->action == ACTION_ITERATE) {
        subject_find_limits(gate->subject, request, ret_verdict->limits);
    }
}

void policy_gate_find_limits(struct policy_gate *gate, const struct policy_request *request,
                             struct policy_limit ret_limits[RUN_LIMIT_COUNT])
{
    subject_find_limits(gate->subject, request, ret_limits);
}
