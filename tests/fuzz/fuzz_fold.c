// SPDX-License-Identifier: Apache-2.0
/*
 * A journal as text: one event a line, "type data". Each is decoded and folded, and after each the
 * step is asked what comes next, as on resume. Nothing of it may crash or leave the state's bounds,
 * whatever the events say.
 */
#include "fuzz.h"

#include "base/json/json.h"
#include "loop/policy_request.h"
#include "loop/step.h"

#include <string.h>

#define TIME_STEP_NS INT64_C(1000000)

static void check_state(const struct run_state *state, const struct loop_spec *spec)
{
    FUZZ_CHECK(state->condition_count <= LIMIT_CONDITIONS);
    FUZZ_CHECK(state->phase <= PHASE_ENDED && state->status < RONDO_STATUS_COUNT);
    int64_t now_ns = state->last_event_ns + TIME_STEP_NS;
    struct loop_effect effect;
    loop_step(state, spec, now_ns, true, &effect);
    FUZZ_CHECK(effect.kind <= EFFECT_END);
    FUZZ_CHECK((state->phase == PHASE_ENDED) == (effect.kind == EFFECT_END));
    FUZZ_CHECK(effect.kind != EFFECT_DELAY ||
               (effect.delay_ns > 0 && effect.delay_ns <= spec->delay_ns));
    FUZZ_CHECK(loop_step_time_left_ns(state, spec, now_ns) >= 0);
    if (effect.kind == EFFECT_GATE) {
        struct policy_request request = loop_policy_request(state, spec, now_ns, now_ns);
        struct policy_verdict verdict;
        policy_verdict_init(&verdict);
        verdict.outcome = request.iteration % 2 == 0 ? VERDICT_ALLOW : VERDICT_DENY;
        struct policy_limit limit = {
            .is_known = true, .limit = spec->max_tokens, .value = state->tokens, .warn_at = 80};
        struct journal_event warning;
        loop_step_gate(state, &verdict);
        loop_step_warning(state, RUN_LIMIT_TOKENS, &limit, true, &warning);
    }
}

static void fold_line(struct run_state *state, const struct loop_spec *spec, char *line)
{
    char *data = strchr(line, ' ');
    if (data == NULL) {
        return;
    }
    *data++ = '\0';
    struct journal_event event;
    auto_json struct json_object *root = NULL;
    if (journal_decode(line, data, strlen(data), &event, &root, NULL) < 0) {
        return;
    }
    event.seq = state->seq + 1;
    event.time_ns = state->last_event_ns + TIME_STEP_NS;
    FUZZ_CHECK(run_fold(state, &event, NULL) == 0);
    check_state(state, spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct loop_spec spec = loop_spec_default();
    spec.delay_ns = 5 * TIME_STEP_NS;
    spec.time_limit_ns = 1000 * TIME_STEP_NS;
    spec.max_tokens = 1000;
    struct run_state state = {0};
    struct rondo_error err;
    loop_spec_add_condition(&spec, "tests", "true", "given", 0, &err);
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        fold_line(&state, &spec, line);
    }
    loop_spec_fini(&spec);
    free(text);
    return 0;
}
