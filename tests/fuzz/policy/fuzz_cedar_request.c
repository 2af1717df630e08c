// SPDX-License-Identifier: Apache-2.0
/*
 * A whole case for the Cedar engine, in parts with a line `%%` between each two: policies,
 * entities, context, principal, action, resource. Parts that are refused or left out are taken as
 * empty; the rest is decided twice, with the same answer, and whatever failed is put into words.
 */
#include "../fuzz.h"

#include "rondo/cedar.h"

#include <string.h>

#define SEPARATOR "\n%%\n"

/** Cut off the part up to the separator; memory of exactly its size. free() it. */
static char *next_part(const char **at, const char *end, size_t *ret_len)
{
    const char *begin = *at;
    size_t left = (size_t)(end - begin);
    const char *found = left == 0 ? NULL : memmem(begin, left, SEPARATOR, strlen(SEPARATOR));
    *ret_len = found == NULL ? left : (size_t)(found - begin);
    *at = found == NULL ? end : found + strlen(SEPARATOR);
    return fuzz_bytes((const uint8_t *)begin, *ret_len);
}

static struct cedar_policies *read_policies(const char *text, size_t len)
{
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    cedar_builder_add(builder, "input", text, len, NULL, NULL);
    return cedar_builder_finish(builder);
}

/** A uid from its text form. */
static struct cedar_uid *next_uid(const char **at, const char *end, const char *otherwise)
{
    size_t len = 0;
    struct rondo_error err = {0};
    char *text = next_part(at, end, &len);
    struct cedar_uid *uid = cedar_uid_parse(text, &err);
    FUZZ_CHECK((uid != NULL) == (err.code == 0));
    free(text);
    return uid == NULL ? cedar_uid_parse(otherwise, NULL) : uid;
}

static uint64_t decide(struct cedar_evaluator *evaluator, const struct cedar_policies *policies,
                       const struct cedar_request *request)
{
    struct cedar_answer answer;
    cedar_authorize(evaluator, policies, request, &answer);
    uint64_t sum = answer.is_allowed;
    for (size_t i = 0; i < answer.reason_count; i++) {
        sum = sum * 31 + answer.reasons[i] + 1;
    }
    for (size_t i = 0; i < answer.error_count; i++) {
        char words[RONDO_ERROR_MESSAGE_SIZE] = "";
        cedar_failure_describe(policies, &answer.errors[i], words, sizeof(words));
        FUZZ_CHECK(strlen(words) > 0);
        sum = sum * 37 + answer.errors[i].policy + (uint64_t)answer.errors[i].code;
    }
    return sum;
}

static void check_decision(const struct cedar_policies *policies,
                           const struct cedar_request *request)
{
    struct cedar_evaluator *evaluator = cedar_evaluator_new();
    uint64_t first = decide(evaluator, policies, request);
    FUZZ_CHECK(decide(evaluator, policies, request) == first);
    cedar_evaluator_free(evaluator);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *input = fuzz_bytes(data, size);
    const char *at = input;
    const char *end = input + size;
    size_t len = 0;
    char *text = next_part(&at, end, &len);
    struct cedar_policies *policies = read_policies(text, len);
    free(text); /* A set keeps its own copy, and so do entities and contexts. */
    text = next_part(&at, end, &len);
    struct cedar_entities *entities = cedar_entities_parse(text, len, NULL, NULL);
    free(text);
    text = next_part(&at, end, &len);
    struct cedar_context *context = cedar_context_parse(text, len, NULL);
    free(text);
    struct cedar_uid *principal = next_uid(&at, end, "User::\"alice\"");
    struct cedar_uid *action = next_uid(&at, end, "Action::\"view\"");
    struct cedar_uid *resource = next_uid(&at, end, "Photo::\"p\"");
    free(input);
    check_decision(policies, &(struct cedar_request){.principal = principal,
                                                     .action = action,
                                                     .resource = resource,
                                                     .context = context,
                                                     .entities = entities});
    cedar_uid_free(principal);
    cedar_uid_free(action);
    cedar_uid_free(resource);
    cedar_context_free(context);
    cedar_entities_free(entities);
    cedar_policies_unref(policies);
    return 0;
}
