// SPDX-License-Identifier: Apache-2.0
/*
 * What an agent's body uses of its loop, beyond what every body may (loop/driver/driver.h):
 * recording its own steps, committing them before an effect, and asking the gate about them.
 * Implemented by the driver; used by loop/agent*.c only. All on the loop's thread.
 */
#pragma once

#include "loop/driver/driver.h"
#include "policy/subject.h"

#include <pthread.h>

/** Record a step of the agent: it is folded at once and waits for the next commit. */
void loop_record(struct loop *loop, const struct journal_event *event);

/**
 * Commit everything recorded, so that an effect may follow.
 * @return 0, also when the store fails and the run continues in best-effort mode, or a negative
 * code
 */
int loop_commit(struct loop *loop, struct rondo_error *err);

/** A document that changes with the run's events, and what the body learns of it. */
struct loop_update {
    struct store_update change;
    /**
     * A commit has gone through. Its last call of `change` says what was written.
     * @return whether there is more to write: then it is called with the next commit too
     */
    bool (*committed)(void *context);
};

/**
 * Change a document with the next commit (see struct store_update).
 * @param update the body's own, the only one at a time; outlives the loop's last loop_next
 */
void loop_set_update(struct loop *loop, const struct loop_update *update);

/**
 * Change memories with the next commit, together with the events that are recorded until then.
 * @param change copied; what the store would refuse must not come here
 */
void loop_record_memory(struct loop *loop, const struct store_memory_change *change);

/** Whether changes of memories wait for a commit. */
bool loop_has_memories(const struct loop *loop);

/** Like loop_commit, also when there is no event: for what loop_set_update() has set. */
int loop_commit_update(struct loop *loop, struct rondo_error *err);

/**
 * Record the body's result, as reported, now and not with the next loop_next: what follows may
 * take long.
 */
void loop_end_body(struct loop *loop);

/**
 * Read letters though nothing announces any: what was accepted before a decision counts for it.
 * @return whether they changed something
 */
bool loop_look_for_mail(struct loop *loop);

/** Time left until a limit of the run's time: the option's, or one that policies set. */
int64_t loop_time_left_ns(const struct loop *loop);

/** Whether the run's own time is over, also by what somebody has asked for meanwhile. */
bool loop_is_time_over(struct loop *loop);

/**
 * The run's time is over, or would be before the body can continue: this ends the run. The body
 * must return LOOP_INTERRUPTED.
 * @param why what does not fit into the time that is left, for people; NULL = the time is over
 */
void loop_end_by_time(struct loop *loop, const char *why);

/** A limit over all runs of an agent that is used up. */
struct loop_budget {
    const char *name;
    bool is_cost; /**< figures are millionths; else tokens */
    int64_t limit;
    int64_t used;
    const char *message; /**< for people */
};

/** This ends the run. The body must return LOOP_INTERRUPTED. */
void loop_end_by_budget(struct loop *loop, const struct loop_budget *budget);

/**
 * A person was waited for: the time counts against no limit of the run. Short waits leave no trace.
 * @param name   the tool that a person was asked about; NULL = for words
 * @param answer "yes", "no", "none" or "words"; static
 */
void loop_record_wait(struct loop *loop, const char *name, const char *answer, int64_t waited_ns);

/**
 * Pause the run until somebody decides about calls: nothing else is left to do. The body must
 * return LOOP_INTERRUPTED; the same iteration continues with a resume.
 * @param handoffs their ids, a JSON array
 */
void loop_wait_for_decision(struct loop *loop, const char *handoffs);

/**
 * Check before a model request whether the iteration may continue with its usage so far, and
 * whether this model may be used. A denial ends the run: it is recorded, and the body must return
 * LOOP_INTERRUPTED.
 * @param model its name
 */
bool loop_ask_model(struct loop *loop, const char *model);

/**
 * Ask whether a model other than that of the conversation may be used: a denial is recorded, and
 * the run continues without. Under a limit of cost one without a known price is denied.
 * @param model its name, one of loop_set_resources
 */
bool loop_ask_other_model(struct loop *loop, const char *model, bool is_priced,
                          struct policy_verdict *ret_verdict);

/**
 * Ask before a tool call. Nothing is recorded: see loop_deny_tool.
 * @param input       the arguments in canonical form, a JSON object
 * @param raw         the same as the agent wrote them
 * @param is_approved a person has approved this very call: then VERDICT_ASK is a denial
 */
enum verdict_outcome loop_ask_tool(struct loop *loop, const char *tool, const char *input,
                                   const char *raw, bool is_approved,
                                   struct policy_verdict *ret_verdict);

/** Record that a call is not made because of a verdict. */
void loop_deny_tool(struct loop *loop, const char *tool, const struct policy_verdict *verdict);

/** A memory that is about to be stored, or shown. */
struct loop_memory {
    bool is_recalled;     /**< shown; else stored */
    const char *owner;    /**< the agent, or the name by which agents share memories */
    const char *kind;     /**< "episodic", "semantic" or "procedural" */
    const char *category; /**< lower-case letters, digits and "_" */
};

/**
 * Ask whether a memory may be stored or shown. A denial is recorded; nobody can approve it.
 * @return whether it may; else the verdict says why not
 */
bool loop_ask_memory(struct loop *loop, const struct loop_memory *memory,
                     struct policy_verdict *ret_verdict);

/**
 * Tell the gate that what the model costs is not known: under a limit of cost nothing is asked.
 * @param model "provider:name", copied; NULL = the cost is known
 */
void loop_set_unpriced(struct loop *loop, const char *model);

/** Append what to do about it, for people. @param model NULL = its tokens are not known */
void loop_explain_unpriced(const char *model, struct buf *ret_text);

/**
 * This run was given away by a call of another one, which waits for it: whatever the policies and
 * limits of that one deny, and those of the runs that it comes from itself, is denied here as well,
 * with what this run has used counted there. Before the first loop_next.
 * @param outer outlives the loop; its thread waits, or is the same
 */
void loop_set_outer(struct loop *loop, struct loop *outer);

/**
 * What a loop shares with the runs that it has given away, and that other threads execute. The
 * thread of the outer loop holds the lock except while it waits for them; they take it when they
 * ask the outer loop's policies.
 */
struct loop_family {
    pthread_mutex_t lock;
    int64_t tokens; /**< of all these runs that the outer loop's own state has not counted yet */
    int64_t cost_micro; /**< likewise */
};

/**
 * This loop is executed by another thread than its outer one. Before the first loop_next.
 * @param family outlives the loop
 */
void loop_set_family(struct loop *loop, struct loop_family *family);

/**
 * The outer loop is about to record what this run has used: from now on the family does not count
 * it. Under the family's lock.
 */
void loop_leave_family(struct loop_family *family, int64_t tokens, int64_t cost_micro);

/** Tell the policies of the model and tools that the run may use. @param resources copied */
void loop_set_resources(struct loop *loop, const struct policy_resource *resources, size_t count);

/** Evaluates conditions that name a tool. What its context points to outlives the loop's last
 * loop_next. */
void loop_set_tool_verifier(struct loop *loop, struct verifier verifier);

/**
 * Evaluate every exit condition inside the body, as one round that counts for its iteration if
 * nothing else happens in it.
 */
int loop_verify_in_body(struct loop *loop, struct rondo_error *err);
