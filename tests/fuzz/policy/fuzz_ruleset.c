// SPDX-License-Identifier: Apache-2.0
/*
 * Rulesets from files of any content: refused with a reason, or good for every request of a
 * run. A limit that was found is checked by asking: at it the authorizer denies, right below it
 * and, where it is exact, everywhere below it allows.
 *
 * The first byte says two bits each what the texts after it are (entities, links, else policies);
 * a NUL ends a text.
 */
#include "../fuzz.h"

#include "base/buf.h"
#include "base/clock.h"
#include "policy/subject.h"

#include <stdbool.h>
#include <string.h>

#define TEXTS 4
/** Values that are asked about one by one. */
#define ASKED 40

struct split {
    struct ruleset_text texts[TEXTS];
    size_t count;
};

static struct split split_texts(const uint8_t *data, size_t size)
{
    static const enum ruleset_part parts[] = {RULESET_POLICIES, RULESET_POLICIES, RULESET_ENTITIES,
                                              RULESET_LINKS};
    struct split split = {0};
    const char *at = (const char *)data + 1;
    const char *end = (const char *)data + size;
    while (at <= end && split.count < TEXTS) {
        const char *nul = split.count + 1 < TEXTS ? memchr(at, 0, (size_t)(end - at)) : NULL;
        const char *last = nul == NULL ? end : nul;
        split.texts[split.count] = (struct ruleset_text){
            .part = parts[data[0] >> (2 * split.count) & 3],
            .name = "p.cedar",
            .text = at,
            .len = (size_t)(last - at),
        };
        split.count++;
        at = last + 1;
    }
    return split;
}

/** What one unit of a counter in policies is in the journal. */
static int64_t unit_of(enum run_limit counter)
{
    return limit_from_cedar(counter, 1);
}

/** A request with one counter at a value, in the units of the journal. */
static struct policy_request request_at(enum run_limit counter, int64_t value)
{
    struct policy_request request = {.action = ACTION_ITERATE,
                                     .now_ns = INT64_C(1800000000) * NS_PER_S};
    int64_t *const members[] = {&request.iteration, &request.tokens, &request.cost_micro,
                                &request.elapsed_ns};
    *members[counter] = value;
    return request;
}

static bool is_allowed(struct subject *subject, enum run_limit counter, int64_t value)
{
    struct policy_request request = request_at(counter, value);
    struct policy_verdict verdict;
    subject_decide(subject, &request, &verdict);
    FUZZ_CHECK((verdict.outcome == VERDICT_ALLOW) <= verdict.is_allowed_by_cedar);
    if (verdict.counter != RUN_LIMIT_COUNT) {
        const struct policy_limit *limit = &verdict.limits[verdict.counter];
        FUZZ_CHECK(verdict.outcome != VERDICT_ALLOW && limit->is_known);
        FUZZ_CHECK(limit->limit <= limit->value);
    }
    return verdict.is_allowed_by_cedar;
}

static void check_limit(struct subject *subject, enum run_limit counter)
{
    struct policy_request request = request_at(counter, 0);
    struct policy_limit limits[RUN_LIMIT_COUNT];
    const struct policy_limit *limit = &limits[counter];
    subject_find_limits(subject, &request, limits);
    FUZZ_CHECK(limit->limit >= 0);
    int64_t highest = limit->is_known ? limit->limit : INT64_MAX;
    if (limit->is_known && limit->limit < INT64_MAX) {
        FUZZ_CHECK(!is_allowed(subject, counter, limit->limit));
        FUZZ_CHECK(limit->limit == 0 ||
                   is_allowed(subject, counter, limit->limit - unit_of(counter)));
    }
    for (int64_t i = 0; !limit->is_estimated && i < ASKED && i * unit_of(counter) < highest; i++) {
        FUZZ_CHECK(is_allowed(subject, counter, i * unit_of(counter)));
    }
}

static void check_subject(struct ruleset *ruleset)
{
    struct policy_run run = {
        .agent_id = "a", .run_id = "r", .max_tokens = 30, .max_cost_micro = 2000};
    struct subject *subject = subject_new(&run, ruleset);
    struct policy_verdict verdict;
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        bool has_tool = i == ACTION_CALL_TOOL || i == ACTION_CALL_MODEL;
        struct policy_request request = {
            .action = i,
            .resource = has_tool ? "shell" : NULL,
            .condition = "tests",
            .input = has_tool ? "{\"command\":\"ls\",\"n\":[1,{\"x\":true}]}" : NULL,
            .tokens = 7,
        };
        subject_decide(subject, &request, &verdict);
        FUZZ_CHECK((verdict.reason == VERDICT_PERMITTED) == (verdict.outcome == VERDICT_ALLOW));
        policy_verdict_describe(&verdict, i, subject_ruleset(subject), subject_answer(subject),
                                subject_problem(subject));
        FUZZ_CHECK((verdict.message[0] == '\0') == (verdict.outcome == VERDICT_ALLOW));
    }
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        if (verdict.reason != VERDICT_UNAVAILABLE) {
            check_limit(subject, i);
        }
    }
    subject_free(subject);
}

/** What is shown of a ruleset says the same again, unless its templates were linked. */
static void check_text(const struct ruleset *ruleset, bool has_links)
{
    struct buf text = {0};
    struct ruleset *again = NULL;
    ruleset_write(ruleset, &text);
    struct ruleset_text whole = {RULESET_POLICIES, "again.cedar", buf_string(&text), text.len};
    struct rondo_error err = {0};
    int r = ruleset_make("/again", &whole, 1, NULL, NULL, &again, &err);
    FUZZ_CHECK(has_links || r == 0 || r == RONDO_ERR_LIMIT);
    if (r == 0 && !has_links) {
        FUZZ_CHECK(cedar_policies_count(again->policies) ==
                   cedar_policies_count(ruleset->policies));
    }
    ruleset_unref(again);
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    char *bytes = fuzz_bytes(data, size);
    struct split split = split_texts((const uint8_t *)bytes, size);
    struct ruleset *ruleset = NULL;
    struct rondo_error err = {0};
    bool has_links = false;
    for (size_t i = 0; i < split.count; i++) {
        has_links = has_links || split.texts[i].part == RULESET_LINKS;
    }
    int r = ruleset_make("/p.cedar", split.texts, split.count, NULL, NULL, &ruleset, &err);
    if (r == 0) {
        check_subject(ruleset);
        check_text(ruleset, has_links);
        ruleset_unref(ruleset);
    } else {
        FUZZ_CHECK(r < 0 && err.code == r && err.message[0] != '\0' && ruleset == NULL);
    }
    free(bytes);
    return 0;
}
