// SPDX-License-Identifier: Apache-2.0
/*
 * `fallback` of a role's model: models that take over in their order when the one in use fails.
 * They are opened with the agent, so a key that is missing is found at the start. One that has
 * taken over stays in use until the agent is closed; the next process begins with the role's own.
 * The run says so by a note, `model_fallback`. One thread.
 */
#pragma once

#include "base/limits.h"
#include "model/model.h"

struct agent;

struct agent_fallback {
    char *provider;
    char *name;
    struct model *model; /* NULL = it is the one in use */
};

struct agent_fallbacks {
    struct agent_fallback items[LIMIT_MODEL_FALLBACKS];
    size_t count;
    size_t next;       /* the one that takes over next */
    unsigned failures; /* after which one does: bits of enum model_failure */
};

/**
 * Open those of the agent's role, while it has its normal form.
 * @return 0; RONDO_ERR_INVALID for one that is not provider:name, or for too many
 */
int fallback_open(struct agent *agent, struct rondo_error *err);
void fallback_fini(struct agent_fallbacks *fallbacks);

/**
 * The model in use has failed, and that is recorded: let the next one take over, with the same
 * conversation. The request stays open.
 * @return 1; 0 when none is left, or this failure is not one of the model's; or a negative code
 */
int fallback_take_over(struct agent *agent, const struct model_reply *reply,
                       struct rondo_error *err);
