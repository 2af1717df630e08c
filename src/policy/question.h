// SPDX-License-Identifier: Apache-2.0
/*
 * A question to the policies as people write it, in options and in files of test cases: who wants
 * to do what, with which options and in which situation. What is not said has the value that a run
 * has at its beginning. Names are those of the vocabulary; another one is an error that proposes
 * the nearest.
 */
#pragma once

#include "policy/subject.h"

struct json_object;
struct suggest;

/** All texts are owned. One thread. */
struct question {
    struct subject_options options;
    struct subject_facts facts;
    struct subject_step step;
    const char *tool;  /**< NULL = none was named */
    const char *model; /**< NULL = none was named */
    bool has_action;   /**< step.action was given; else it follows from the rest */
};

/** Agent of a question that names none. */
#define QUESTION_AGENT "agent"
/** Id of the run of a question that names none. */
#define QUESTION_RUN "new"

/** Begin with the situation of a new run. @param now_ns the time of the request */
void question_init(struct question *question, int64_t now_ns);
void question_fini(struct question *question);

/** Set one of the texts of a question to a copy; NULL = none. */
void question_set_text(const char **slot, const char *text);

/** Set the action by its name. RONDO_ERR_INVALID. */
int question_set_action(struct question *question, const char *name, struct rondo_error *err);

/** Read options of the run: {"max_iterations":50,"max_cost_usd":"2.50"}. RONDO_ERR_INVALID. */
int question_read_options(struct question *question, struct json_object *options,
                          struct rondo_error *err);

/** Read attributes of the context: {"iteration":100,"approved":true}. RONDO_ERR_INVALID. */
int question_read_context(struct question *question, struct json_object *context,
                          struct rondo_error *err);

/**
 * Read one member of an object that asks a question: agent, run, action, tool, model, condition,
 * options or context. `null` says nothing.
 * @return 1; 0 when the key is none of these; RONDO_ERR_INVALID
 */
int question_read_member(struct question *question, const char *key, struct json_object *value,
                         struct rondo_error *err);

/** Offer the keys of question_read_member. */
void question_suggest(struct suggest *suggest);

/**
 * Make the step from what was said, and check that it fits together: a tool is called, a model is
 * called, a condition is verified. RONDO_ERR_INVALID.
 */
int question_finish(struct question *question, struct rondo_error *err);

/** Make the subject that asks. @return subject_free() */
struct subject *question_subject(const struct question *question, struct ruleset *ruleset);
