// SPDX-License-Identifier: Apache-2.0
/*
 * Explanations of any policies that parse, for one request: they agree with the authorizer, and of
 * a condition that decided there is a part that is told.
 */
#include "../fuzz.h"

#include "policy/explain/explain.h"

#include <string.h>

static const char entities_json[] =
    "[{\"uid\":{\"type\":\"Agent\",\"id\":\"a\"},\"attrs\":{\"trust\":2,\"name\":\"x\"},"
    "\"parents\":[{\"type\":\"Group\",\"id\":\"g\"}],\"tags\":{\"t\":\"v\"}}]";
static const char context_json[] =
    "{\"iteration\":5,\"approved\":true,\"input\":{\"a\":[1,\"two\"]},"
    "\"cost\":{\"__extn\":{\"fn\":\"decimal\",\"arg\":\"1.5\"}}}";

static _Bool is_reason(const struct cedar_answer *answer, uint32_t index)
{
    for (size_t i = 0; i < answer->reason_count; i++) {
        if (answer->reasons[i] == index) {
            return 1;
        }
    }
    return 0;
}

static _Bool has_failed(const struct cedar_answer *answer, uint32_t index)
{
    for (size_t i = 0; i < answer->error_count; i++) {
        if (answer->errors[i].policy == index) {
            return 1;
        }
    }
    return 0;
}

static void check_conditions(const struct explain_policy *policy)
{
    for (size_t i = 0; i < policy->condition_count; i++) {
        const struct explain_condition *condition = &policy->conditions[i];
        FUZZ_CHECK(condition->is_reached == (condition->term_count > 0));
        FUZZ_CHECK(condition->term_count <= EXPLAIN_TERMS);
        for (size_t j = 0; j < condition->term_count; j++) {
            const struct explain_term *term = &condition->terms[j];
            FUZZ_CHECK((term->truth == EXPLAIN_ERROR) == (term->problem[0] != '\0'));
            FUZZ_CHECK(term->value_count <= EXPLAIN_VALUES);
            FUZZ_CHECK(term->text[0] != '\0');
        }
    }
}

static void check_policy(struct explain *explain, const struct cedar_answer *answer, uint32_t index)
{
    enum explain_state state = explain_state(explain, index);
    const struct explain_policy *policy = explain_policy(explain, index);
    FUZZ_CHECK(policy->state == state);
    FUZZ_CHECK((state == EXPLAIN_FAILED) == has_failed(answer, index));
    /* Permits that are satisfied are no reasons where something forbids. */
    FUZZ_CHECK(state == EXPLAIN_SATISFIED || !is_reason(answer, index));
    FUZZ_CHECK(state != EXPLAIN_SATISFIED || is_reason(answer, index) || !policy->is_forbid);
    FUZZ_CHECK((state == EXPLAIN_OUT_OF_SCOPE) == (policy->scope[0] != '\0'));
    check_conditions(policy);
}

static void check_all(const struct cedar_policies *policies)
{
    struct cedar_uid *agent = cedar_uid_new("Agent", "a", NULL);
    struct cedar_uid *action = cedar_uid_new("Action", "iterate", NULL);
    struct cedar_uid *run = cedar_uid_new("Run", "r", NULL);
    struct cedar_context *context = cedar_context_parse(context_json, strlen(context_json), NULL);
    struct cedar_entities *entities =
        cedar_entities_parse(entities_json, strlen(entities_json), NULL, NULL);
    struct cedar_evaluator *evaluator = cedar_evaluator_new();
    struct cedar_request request = {
        .principal = agent,
        .action = action,
        .resource = run,
        .context = context,
        .entities = entities,
    };
    struct cedar_answer answer;
    cedar_authorize(evaluator, policies, &request, &answer);
    struct explain *explain = explain_new(policies, &request);
    for (uint32_t i = 0; i < cedar_policies_count(policies); i++) {
        check_policy(explain, &answer, i);
    }
    explain_free(explain);
    cedar_evaluator_free(evaluator);
    cedar_entities_free(entities);
    cedar_context_free(context);
    cedar_uid_free(agent);
    cedar_uid_free(action);
    cedar_uid_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    cedar_builder_add(builder, "f.cedar", text, size, NULL, NULL);
    struct cedar_policies *policies = cedar_builder_finish(builder);
    check_all(policies);
    cedar_policies_unref(policies);
    free(text);
    return 0;
}
