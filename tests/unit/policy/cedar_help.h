// SPDX-License-Identifier: Apache-2.0
/* What tests of the Cedar engine share: sets from a text, and one decision. */
#pragma once

#include "rondo/cedar.h"
#include "support/test.h"

#include <string.h>

/** Policies of a text that must be right. cedar_policies_unref() it. */
static inline struct cedar_policies *policies_of(const char *text)
{
    struct rondo_error err = {0};
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    if (cedar_builder_add(builder, "test.cedar", text, strlen(text), NULL, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return cedar_builder_finish(builder);
}

static inline struct cedar_uid *uid_of(const char *text)
{
    struct rondo_error err = {0};
    struct cedar_uid *uid = cedar_uid_parse(text, &err);
    if (uid == NULL) {
        fail_msg("%s: %s", text, err.message);
    }
    return uid;
}

static inline struct cedar_entities *entities_of(const char *json)
{
    struct rondo_error err = {0};
    struct cedar_entities *entities = cedar_entities_parse(json, strlen(json), NULL, &err);
    if (entities == NULL) {
        fail_msg("%s", err.message);
    }
    return entities;
}

static inline struct cedar_context *context_of(const char *json)
{
    struct rondo_error err = {0};
    struct cedar_context *context = cedar_context_parse(json, strlen(json), &err);
    if (context == NULL) {
        fail_msg("%s", err.message);
    }
    return context;
}

/** A request with all that it owns. */
struct cedar_question {
    struct cedar_uid *principal, *action, *resource;
    struct cedar_context *context;
    struct cedar_evaluator *evaluator;
};

/** @param context JSON */
static inline struct cedar_question question_of(const char *principal, const char *action,
                                                const char *resource, const char *context)
{
    return (struct cedar_question){.principal = uid_of(principal),
                                   .action = uid_of(action),
                                   .resource = uid_of(resource),
                                   .context = context_of(context),
                                   .evaluator = cedar_evaluator_new()};
}

static inline void question_free(struct cedar_question *question)
{
    cedar_uid_free(question->principal);
    cedar_uid_free(question->action);
    cedar_uid_free(question->resource);
    cedar_context_free(question->context);
    cedar_evaluator_free(question->evaluator);
}

/** The answer; valid until the next question to the same evaluator. */
static inline struct cedar_answer ask(const struct cedar_question *question,
                                      const struct cedar_policies *policies,
                                      const struct cedar_entities *entities)
{
    struct cedar_answer answer;
    cedar_authorize(question->evaluator, policies,
                    &(struct cedar_request){.principal = question->principal,
                                            .action = question->action,
                                            .resource = question->resource,
                                            .context = question->context,
                                            .entities = entities},
                    &answer);
    return answer;
}
