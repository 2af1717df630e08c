// SPDX-License-Identifier: Apache-2.0
/*
 * Cedar policies: a text is refused at a place inside of it, or each of its policies is in the
 * text and is accepted alone as well; requests get the same answer with and without an index, and
 * failures are put into words. Some of the seeds are from the official corpus (Apache-2.0).
 */
#include "../fuzz.h"

#include "policy/cedar/index.h"
#include "policy/cedar/policies.h"

#include <string.h>

#define ENTITY(type, id, attributes, parent)                                                     \
    "{\"uid\":{\"type\":\"" type "\",\"id\":\"" id "\"},\"attrs\":" attributes ",\"parents\":[{" \
    "\"type\":\"Group\",\"id\":\"" parent "\"}],\"tags\":" attributes "}"
#define ATTRIBUTES                                                                          \
    "{\"name\":\"alice\",\"age\":30,\"yes\":true,\"none\":[],\"nums\":[1,2,3],"             \
    "\"manager\":{\"__entity\":{\"type\":\"User\",\"id\":\"bob\"}},"                        \
    "\"rec\":{\"a\":{\"b\":1}},\"ip\":{\"__extn\":{\"fn\":\"ip\",\"arg\":\"10.1.2.3/8\"}}," \
    "\"dec\":{\"__extn\":{\"fn\":\"decimal\",\"arg\":\"1.5\"}},"                            \
    "\"dt\":{\"__extn\":{\"fn\":\"datetime\",\"arg\":\"2024-02-29\"}},"                     \
    "\"dur\":{\"__extn\":{\"fn\":\"duration\",\"arg\":\"1h\"}}}"

/** What every input is evaluated against. */
struct cedar_world {
    struct cedar_entities *entities;
    struct cedar_context *context;
    struct cedar_uid *alice, *nobody, *view, *photo;
    struct cedar_evaluator *evaluator;
};

static struct cedar_uid *uid(const char *text)
{
    struct cedar_uid *made = cedar_uid_parse(text, NULL);
    FUZZ_CHECK(made != NULL);
    return made;
}

static struct cedar_world make_world(void)
{
    static const char entities[] = "[" ENTITY("User", "alice", ATTRIBUTES, "g") "," ENTITY(
        "User", "bob", "{\"name\":\"bob\"}", "g") "," ENTITY("Group", "g", "{}", "all") "]";
    struct cedar_world world = {
        .entities = cedar_entities_parse(entities, sizeof(entities) - 1, NULL, NULL),
        .context = cedar_context_parse(ATTRIBUTES, sizeof(ATTRIBUTES) - 1, NULL),
        .alice = uid("User::\"alice\""),
        .nobody = uid("User::\"nobody\""),
        .view = uid("Action::\"view\""),
        .photo = uid("Photo::\"p\""),
        .evaluator = cedar_evaluator_new(),
    };
    FUZZ_CHECK(world.entities != NULL && world.context != NULL);
    return world;
}

static void free_world(struct cedar_world *world)
{
    cedar_entities_free(world->entities);
    cedar_context_free(world->context);
    cedar_uid_free(world->alice);
    cedar_uid_free(world->nobody);
    cedar_uid_free(world->view);
    cedar_uid_free(world->photo);
    cedar_evaluator_free(world->evaluator);
}

/** Line and column once more, written apart from the code under test. */
static void check_problem(const char *text, size_t size, const struct cedar_problem *problem)
{
    FUZZ_CHECK(problem->offset <= size && problem->message[0] != '\0');
    unsigned line = 1;
    size_t line_begin = 0;
    for (size_t i = 0; i < problem->offset; i++) {
        if (text[i] == '\n') {
            line++;
            line_begin = i + 1;
        }
    }
    FUZZ_CHECK(problem->line == line && problem->column >= 1);
    FUZZ_CHECK(problem->column <= problem->offset - line_begin + 1);
}

static void check_alone(const struct cedar_policies *policies, const char *text, size_t size)
{
    for (size_t i = 0; i < cedar_policies_count(policies); i++) {
        size_t len = 0;
        const char *own = cedar_policies_text(policies, i, &len);
        FUZZ_CHECK(len > 0 && memmem(text, size, own, len) != NULL);
        struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
        FUZZ_CHECK(cedar_builder_add(builder, "alone", own, len, NULL, NULL) == 0);
        struct cedar_policies *alone = cedar_builder_finish(builder);
        FUZZ_CHECK(cedar_policies_count(alone) == 1);
        FUZZ_CHECK(cedar_policies_is_forbid(alone, 0) == cedar_policies_is_forbid(policies, i));
        cedar_policies_unref(alone);
    }
}

/** An answer as a number that depends on all of it, except on why policies failed. */
static uint64_t check_answer(const struct cedar_policies *policies,
                             const struct cedar_answer *answer)
{
    size_t count = cedar_policies_count(policies);
    uint64_t sum = answer->is_allowed;
    for (size_t i = 0; i < answer->reason_count; i++) {
        FUZZ_CHECK(answer->reasons[i] < count);
        FUZZ_CHECK(i == 0 || answer->reasons[i] > answer->reasons[i - 1]);
        FUZZ_CHECK(cedar_policies_is_forbid(policies, answer->reasons[i]) != answer->is_allowed);
        sum = sum * 31 + answer->reasons[i] + 1;
    }
    for (size_t i = 0; i < answer->error_count; i++) {
        char words[RONDO_ERROR_MESSAGE_SIZE] = "";
        FUZZ_CHECK(answer->errors[i].policy < count);
        FUZZ_CHECK(i == 0 || answer->errors[i].policy > answer->errors[i - 1].policy);
        FUZZ_CHECK(answer->errors[i].code != CEDAR_FAIL_NONE);
        cedar_failure_describe(policies, &answer->errors[i], words, sizeof(words));
        FUZZ_CHECK(strncmp(words, "input:", 6) == 0);
        sum = sum * 37 + answer->errors[i].policy + 1;
    }
    return sum;
}

static uint64_t decide(const struct cedar_world *world, const struct cedar_policies *policies)
{
    const struct cedar_request requests[] = {
        {world->alice, world->view, world->photo, world->context, world->entities},
        {world->nobody, world->view, world->alice, NULL, world->entities},
        {world->nobody, world->view, world->photo, world->context, NULL},
    };
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        struct cedar_answer answer;
        cedar_authorize(world->evaluator, policies, &requests[i], &answer);
        sum = sum * 41 + check_answer(policies, &answer);
    }
    return sum;
}

/** The same with an index, which sets as small as most inputs do not get by themselves. */
static void check_decisions(struct cedar_policies *policies)
{
    struct cedar_world world = make_world();
    struct policy_index *index = policies->index;
    policies->index = NULL;
    uint64_t plain = decide(&world, policies);
    policies->index = policy_index_make(&policies->arena, policies->policies, policies->count);
    FUZZ_CHECK(decide(&world, policies) == plain);
    policies->index = index;
    FUZZ_CHECK(decide(&world, policies) == plain);
    free_world(&world);
}

/** Templates in the text are taken, linked, and decide. */
static void check_templates(const char *text, size_t size)
{
    struct cedar_builder *builder = cedar_builder_new(CEDAR_ANNOTATION_IDS);
    struct cedar_uid *alice = uid("User::\"alice\"");
    cedar_builder_add_templates(builder, "input", text, size, NULL, NULL);
    cedar_builder_add_template(builder, "t", text, size, NULL, NULL);
    cedar_builder_link(builder, "t", "1", alice, NULL, NULL);
    cedar_builder_link(builder, "t", "2", NULL, alice, NULL);
    cedar_builder_link(builder, "t", "3", alice, alice, NULL);
    cedar_uid_free(alice);
    struct cedar_policies *policies = cedar_builder_finish(builder);
    FUZZ_CHECK(cedar_policies_memory(policies) > 0);
    cedar_policies_unref(policies);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct cedar_problem problem = {0};
    struct rondo_error err = {0};
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    int r = cedar_builder_add(builder, "input", text, size, &problem, &err);
    struct cedar_policies *policies = cedar_builder_finish(builder);
    if (r < 0) {
        FUZZ_CHECK(r == RONDO_ERR_INVALID && cedar_policies_count(policies) == 0);
        FUZZ_CHECK(strncmp(err.message, "input:", 6) == 0);
        check_problem(text, size, &problem);
    } else {
        check_alone(policies, text, size);
        check_decisions(policies);
    }
    cedar_policies_unref(policies);
    check_templates(text, size);
    free(text);
    return 0;
}
