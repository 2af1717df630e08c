// SPDX-License-Identifier: Apache-2.0
/*
 * `autonomy.compaction` of a role: a model summarises old messages of the conversation before they
 * would be dropped. It is a model request like any other: gates and budgets come before it, its
 * intent is committed, and its result is an event that every later process finds. A request whose
 * result was lost is not made again. Without a summary the conversation is only trimmed, and the
 * event says why. On the loop's thread.
 */
#pragma once

#include "policy/subject.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct model;

struct agent_compaction {
    struct model *model; /* NULL = the role does not request it */
    char *model_id;      /* "provider:name" */
    char *prefix;        /* of summaries; NULL = Rondo's own */
    int64_t threshold;   /* more messages than this are compacted */
    int64_t tail;        /* to this many, the first one and the summary aside */
};

/** Read the role's section while it has its normal form, and open the model. */
int compaction_open(struct agent *agent, struct rondo_error *err);
void compaction_fini(struct agent_compaction *compaction);

/** What policies see of the model. @return whether there is one */
bool compaction_model(const struct agent *agent, struct policy_resource *ret_resource);

/** Whether the next iteration begins with a compaction; its window is cut then, and not before. */
bool compaction_is_due(const struct agent *agent);

/**
 * Between two iterations: compact the conversation, if that is due.
 * @return enum agent_next or a negative code
 */
int compaction_run(struct agent *agent, struct rondo_error *err);
