// SPDX-License-Identifier: Apache-2.0
/* The state's JSON form, driven by one table of members. */
#include "journal/state.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/status.h"

#include <json-c/json.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Members that are 64-bit numbers. Unsigned ones are counters that never come near 2^63. */
static const struct {
    const char *name;
    size_t offset;
    bool is_new; /* not written by the first version; absent means 0 */
} numbers[] = {
    {"seq", offsetof(struct run_state, seq), false},
    {"epoch", offsetof(struct run_state, epoch), false},
    {"iteration", offsetof(struct run_state, iteration), false},
    {"finished", offsetof(struct run_state, finished), false},
    {"attempt", offsetof(struct run_state, attempt), false},
    {"limit", offsetof(struct run_state, limit), false},
    {"consecutive_failures", offsetof(struct run_state, consecutive_failures), false},
    {"tokens", offsetof(struct run_state, tokens), false},
    {"cost_micro", offsetof(struct run_state, cost_micro), false},
    {"active_ns", offsetof(struct run_state, active_ns), false},
    {"last_event_ns", offsetof(struct run_state, last_event_ns), false},
    {"last_finished_ns", offsetof(struct run_state, last_finished_ns), false},
    {"checkpoint_number", offsetof(struct run_state, checkpoint_number), false},
    {"checkpoint_iteration", offsetof(struct run_state, checkpoint_iteration), false},
    {"spec_seq", offsetof(struct run_state, spec_seq), false},
    {"round_seq", offsetof(struct run_state, round_seq), false},
    {"verified", offsetof(struct run_state, verified), false},
    {"body_tokens", offsetof(struct run_state, body_tokens), true},
    {"body_cost_micro", offsetof(struct run_state, body_cost_micro), true},
    {"turn", offsetof(struct run_state, turn), true},
    {"warnings", offsetof(struct run_state, warnings), true},
    {"waits_until_ns", offsetof(struct run_state, waits_until_ns), true},
    {"finish_denied", offsetof(struct run_state, finish_denied), true},
    {"warned_iterations", offsetof(struct run_state, warned[RUN_LIMIT_ITERATIONS]), true},
    {"warned_tokens", offsetof(struct run_state, warned[RUN_LIMIT_TOKENS]), true},
    {"warned_cost", offsetof(struct run_state, warned[RUN_LIMIT_COST]), true},
    {"warned_time", offsetof(struct run_state, warned[RUN_LIMIT_TIME]), true},
};
#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))

void run_conditions_encode(const struct run_state *state, struct buf *ret_buf)
{
    struct json_writer writer = json_writer(ret_buf);
    json_begin_object(&writer, NULL);
    for (uint32_t i = 0; i < state->condition_count; i++) {
        json_write_string(&writer, state->conditions[i].name,
                          rondo_condition_status_name(state->conditions[i].status));
    }
    json_end_object(&writer);
}

void run_state_encode(const struct run_state *state, struct buf *ret_buf)
{
    struct json_writer writer = json_writer(ret_buf);
    json_begin_object(&writer, NULL);
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        int64_t number;
        memcpy(&number, (const char *)state + numbers[i].offset, sizeof(number));
        if (number != 0 || !numbers[i].is_new) {
            json_write_int(&writer, numbers[i].name, number);
        }
    }
    json_write_int(&writer, "phase", (int64_t)state->phase);
    json_write_string(&writer, "status", rondo_status_name(state->status));
    json_write_string(&writer, "denied", rondo_status_name(state->denied));
    json_write_string(&writer, "finish", run_finish_name(state->finish));
    json_write_bool(&writer, "stop_requested", state->is_stop_requested);
    if (state->is_paused) {
        json_write_bool(&writer, "paused", true);
    }
    if (state->is_waiting) {
        json_write_bool(&writer, "waiting", true);
    }
    if (state->is_body_verified) {
        json_write_bool(&writer, "body_verified", true);
    }
    if (state->is_guarded) {
        json_write_bool(&writer, "guarded", true);
    }
    if (state->is_cost_unknown) {
        json_write_bool(&writer, "cost_unknown", true);
    }
    if (state->is_body_cost_unknown) {
        json_write_bool(&writer, "body_cost_unknown", true);
    }
    if (state->policy_sha256[0] != '\0') {
        json_write_string(&writer, "policy", state->policy_sha256);
    }
    json_begin_array(&writer, "conditions");
    for (uint32_t i = 0; i < state->condition_count; i++) {
        const struct run_condition *condition = &state->conditions[i];
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "name", condition->name);
        json_write_string(&writer, "status", rondo_condition_status_name(condition->status));
        json_write_string(&writer, "reason", rondo_condition_reason_name(condition->reason));
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

static bool decode_numbers(struct json_object *root, struct run_state *state)
{
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        int64_t number = json_get_int(root, numbers[i].name, numbers[i].is_new ? 0 : -1);
        if (number < 0) {
            return false;
        }
        memcpy((char *)state + numbers[i].offset, &number, sizeof(number));
    }
    int64_t phase = json_get_int(root, "phase", -1);
    if (phase < PHASE_READY || phase > PHASE_ENDED) {
        return false;
    }
    state->phase = (enum run_phase)phase;
    return true;
}

static bool decode_condition(struct json_object *value, struct run_condition *condition)
{
    const char *name = json_get_string(value, "name", "");
    const char *status = json_get_string(value, "status", "");
    const char *reason = json_get_string(value, "reason", "");
    if (name[0] == '\0' || strlen(name) > LIMIT_CONDITION_NAME_LEN ||
        !condition_reason_from_name(reason, &condition->reason)) {
        return false;
    }
    snprintf(condition->name, sizeof(condition->name), "%s", name);
    condition->status = strcmp(status, "met") == 0 ? RONDO_MET : RONDO_NOT_MET;
    return true;
}

static bool decode_conditions(struct json_object *root, struct run_state *state)
{
    struct json_object *list = NULL;
    if (!json_object_object_get_ex(root, "conditions", &list) ||
        !json_object_is_type(list, json_type_array) ||
        json_object_array_length(list) > LIMIT_CONDITIONS) {
        return false;
    }
    state->condition_count = (uint32_t)json_object_array_length(list);
    for (uint32_t i = 0; i < state->condition_count; i++) {
        if (!decode_condition(json_object_array_get_idx(list, i), &state->conditions[i])) {
            return false;
        }
    }
    return true;
}

int run_state_decode(const char *json, size_t len, struct run_state *ret_state,
                     struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    if (json_parse(json, len, &root, err) < 0) {
        error_prefix(err, "the stored state of the run");
        return err == NULL ? RONDO_ERR_CORRUPT : (err->code = RONDO_ERR_CORRUPT);
    }
    struct run_state state = {0};
    const char *finish = json_get_string(root, "finish", NULL);
    if (!decode_numbers(root, &state) || !decode_conditions(root, &state) ||
        !status_from_name(json_get_string(root, "status", ""), &state.status) ||
        !status_from_name(json_get_string(root, "denied", ""), &state.denied) ||
        (finish != NULL && !run_finish_from_name(finish, &state.finish))) {
        return error_set(err, RONDO_ERR_CORRUPT, "the stored state of the run is incomplete");
    }
    snprintf(state.policy_sha256, sizeof(state.policy_sha256), "%s",
             json_get_string(root, "policy", ""));
    state.is_body_verified = json_get_bool(root, "body_verified", false);
    state.is_guarded = json_get_bool(root, "guarded", false);
    state.is_cost_unknown = json_get_bool(root, "cost_unknown", false);
    state.is_body_cost_unknown = json_get_bool(root, "body_cost_unknown", false);
    state.is_paused = json_get_bool(root, "paused", false);
    state.is_waiting = json_get_bool(root, "waiting", false);
    state.is_stop_requested = json_get_bool(root, "stop_requested", false);
    *ret_state = state;
    return 0;
}
