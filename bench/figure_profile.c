// SPDX-License-Identifier: Apache-2.0
/* One decision about an action of a foreign agent by the profile default-security. */
#include "base/auto.h"
#include "base/json/json.h"
#include "decisions.h"
#include "measure.h"
#include "policy/profile/profile.h"

#include <json-c/json.h>
#include <string.h>

/** Decisions of one sample. */
#define BLOCK 5000

#define CONTEXT                                                              \
    "{\"confidence\":0.9,\"risk_level\":1,\"impact\":1,\"reversible\":true," \
    "\"evidence_count\":1,\"evidence_required\":1,\"evidence_missing\":[],"  \
    "\"violation_score\":0,\"human_required\":false,\"rework_count\":0}"

static double decide_ns(struct profiles *profiles, struct profile_evaluator *evaluator,
                        const struct profile_request *request)
{
    auto_buf struct buf errors = {0};
    double began = now_us();
    for (size_t i = 0; i < BLOCK; i++) {
        struct profile_answer answer;
        profiles_decide(profiles, evaluator, request, &answer, &errors);
        if (answer.outcome != PROFILE_ALLOW) {
            bench_die("a profile does not allow: %s", buf_string(&errors));
        }
    }
    return (now_us() - began) * 1000 / BLOCK;
}

void figure_profile(struct bench *bench)
{
    static const struct profiles_source built_in = {0};
    struct profiles *profiles = NULL;
    struct profile_evaluator *evaluator = profile_evaluator_new();
    auto_json struct json_object *context = NULL;
    struct samples ours = {0};
    struct samples empty = {0};
    if (profiles_make(&built_in, &profiles, NULL) < 0 ||
        json_parse(CONTEXT, strlen(CONTEXT), &context, NULL) < 0) {
        bench_die("the built-in profiles cannot be used");
    }
    struct profile_request request = {.agent_id = "a", .tool = "t", .context = context};
    decide_ns(profiles, evaluator, &request);
    for (size_t round = 0; round < bench_rounds(bench, 100); round++) {
        samples_add(&ours, decide_ns(profiles, evaluator, &request));
        samples_add(&empty, decisions_empty_call_ns(BLOCK));
    }
    bench_row(bench,
              &(struct report_row){.name = "decision by a profile, its context read",
                                   .floor_name = "a call of an empty function",
                                   .unit = "ns",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 5000},
              &ours, &empty);
    samples_fini(&ours);
    samples_fini(&empty);
    profile_evaluator_free(evaluator);
    profiles_unref(profiles);
}
