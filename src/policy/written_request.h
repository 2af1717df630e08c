// SPDX-License-Identifier: Apache-2.0
/*
 * A request to the policies as people write it, in options, in the API and in files of test cases:
 * principal, action, options and context. What is not given has the value
 * that a run has at its beginning. Names are those of the vocabulary; for another one the error
 * proposes the nearest.
 */
#pragma once

#include "policy/request.h"
#include "rondo/error.h"

struct json_object;
struct suggest;

/** All texts are owned. One thread. */
struct written_request {
    struct policy_run run;
    struct policy_request request;
    const char *tool;  /**< NULL = none was named */
    const char *model; /**< NULL = none was named */
    bool has_action;   /**< request.action was given; else it follows from the rest */
};

/** Agent of a request that names none. */
#define REQUEST_AGENT "agent"
/** Id of the run of a request that names none. */
#define REQUEST_RUN "new"

/** Begin with the situation of a new run. @param now_ns the time of the request */
void written_request_init(struct written_request *written, int64_t now_ns);
void written_request_fini(struct written_request *written);

/** Set one of the texts to a copy; NULL = none. */
void written_request_set_text(const char **slot, const char *text);

/** Take over a run that exists and its situation. The step, and the time, stay as they are. */
void written_request_set_run(struct written_request *written, const struct policy_run *run,
                             const struct policy_request *situation);

/** Read attributes of the context: {"iteration":100,"approved":true}. RONDO_ERR_INVALID. */
int written_request_read_context(struct written_request *written, struct json_object *context,
                                 struct rondo_error *err);

/**
 * Read one member of an object that is a request: agent, run, action, tool, model, condition,
 * options or context. `null` says nothing.
 * @return 1; 0 when the key is none of these; RONDO_ERR_INVALID
 */
int written_request_read_member(struct written_request *written, const char *key,
                                struct json_object *value, struct rondo_error *err);

/** Offer the keys of written_request_read_member. */
void written_request_suggest(struct suggest *suggest);

/**
 * Complete the request, and check that it fits together: a tool is called, a model is called, a
 * condition is verified. RONDO_ERR_INVALID.
 */
int written_request_finish(struct written_request *written, struct rondo_error *err);
