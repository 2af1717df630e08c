// SPDX-License-Identifier: Apache-2.0
/* The inside of an agent, shared by its own files only. */
#pragma once

#include "agent/agent.h"
#include "agent/compaction.h"
#include "agent/content.h"
#include "agent/fallback.h"
#include "agent/history/history.h"
#include "agent/memory/embedding.h"
#include "agent/plan/plan.h"
#include "agent/plan/strategy.h"
#include "agent/spec/config.h"
#include "agent/spending.h"
#include "base/digest.h"
#include "handoff/storage/store.h"
#include "loop/driver/body_ports.h"
#include "mcp/mcp.h"
#include "model/key/environment.h"
#include "model/model.h"
#include "net/client/guard.h"
#include "tool/operands.h"
#include "tool/toolbox.h"

/** A run that a call gave away, until it is recorded. */
struct agent_delegation {
    bool is_done;
    char name[128]; /* of the other agent */
    char run_id[ID_SIZE];
    char outcome[24];
    int64_t tokens;
    int64_t cost_micro; /* COST_UNKNOWN = nobody knows */
    int64_t duration_ns;
};

/** A call of the last reply, and what became of it. */
struct agent_call {
    struct model_call call; /**< owned texts */
    bool is_begun;          /**< its intent was recorded */
    int64_t attempt;        /**< of the intent recorded last */
    bool is_in_doubt;       /**< begun by a process that died before it recorded the result */
    char request[ID_SIZE];  /**< of the handoff about it; "" = none */
    bool is_waiting;        /**< nobody has decided yet */
    bool is_answered;
    bool is_error;
    struct buf answer;
};

/** What one iteration has used up: its guardrails are measured against it. */
struct agent_usage {
    int64_t requests;
    int64_t tool_calls;
    int64_t tokens_in;
    int64_t tokens_out;
    int64_t largest_in; /**< tokens of the longest request */
};

/** Messages of a person by which memories are found: the last ones. */
#define AGENT_SAID 5
/** Bytes of each, and of all. */
#define AGENT_SAID_BYTES 500

/** What follows from the events of an agent; see agent_fold. */
struct agent_memory {
    struct history history;
    struct plan plan;
    uint64_t iteration; /**< the one that `usage` and the next members belong to */
    struct agent_usage usage;
    bool has_words;           /**< its first words were given to the model */
    bool is_answered;         /**< the model has nothing left to call */
    bool is_request_open;     /**< the last request has no usable reply */
    int64_t attempt;          /**< of the open request */
    int64_t idle;             /**< iterations in a row without a tool call, before this one */
    uint64_t turn;            /**< of the last reply */
    enum model_stop stop;     /**< why it ended */
    struct agent_call *calls; /**< of the last reply, until all are answered */
    size_t call_count;
    bool is_compacting;     /**< a summary was requested, and its result is not recorded */
    uint64_t compacted;     /**< last iteration in which one was requested */
    int64_t reflections;    /**< requests to reflect that answered finish_task */
    enum run_finish finish; /**< accepted */
    char *summary;
    char *words;            /**< of the last reply */
    char *said[AGENT_SAID]; /**< what the person said last, in a ring; NULL = nothing yet */
    size_t said_count;
    char *blocked;          /**< why its answer was blocked; NULL = it was not */
    char asked[ID_SIZE];    /**< handoff whose questions must be answered; "" = none */
    int64_t evidence_calls; /**< since then */
};

struct agent {
    struct runtime *runtime;
    struct loop *loop; /* NULL until it is attached */
    struct agent_parts parts;
    char *workspace;
    const char *agent_folders[2]; /* the workspace, for paths that a person named */
    struct agent_config config;
    struct strategy strategy;
    struct json_object *schema; /* of answers; NULL = they are text. Owned */
    struct content_filter *content;
    struct agent_memory memory;
    size_t carried; /* messages that the history begins with and that the journal does not have */
    struct agent_spending spending;
    struct agent_memories *memories; /* NULL = the role has no memory */
    struct model *model;
    char *model_id; /* "provider:name" */
    struct agent_fallbacks fallbacks;
    size_t context_bytes; /* of a conversation between iterations; 0 = the role gives no window */
    struct agent_compaction compaction;
    struct dotenv *dotenv;
    struct net_guard guard;
    struct tool_surroundings surroundings; /* of tools and servers */
    struct json_object *security;          /* spec.security.tools, where tools need it; or NULL */
    struct toolbox *toolbox;
    struct documents *documents;           /* NULL = the role has none */
    struct model *document_embedding;      /* makes their vectors; NULL = they are found by words */
    struct embedding_usage document_usage; /* of its requests, not recorded yet */
    char **hide_paths;                     /* what tools and their commands must not reach; owned */
    char **protect_paths;                  /* or not change; owned */
    struct agent_delegation delegation;    /* of the call under way */
    struct mcp_shared *shared;
    struct cancel *interrupt; /* of the answer under way, see agent_set_interrupt */
    int64_t renew_ns;         /* between two renewals of the grant of a call that is being made */
    int64_t started_ns;       /* monotonic: when this process began the iteration; later by the time
                                 in which a person was waited for */
    char message[512];        /* why the body failed */
    bool has_failed;          /* in the last body */
    bool offers_answers;      /* the model knows ANSWER_TOOL */
    bool is_resumed;          /* a conversation that was begun by another process, until its next
                                 answer */
};

/** Whether the body continues. Negative codes: nothing can be recorded any more. */
enum agent_next {
    AGENT_CONTINUE = 0,
    AGENT_BODY_OVER = 1,   /**< the iteration has its result */
    AGENT_BODY_FAILED = 2, /**< agent->message says why; the run ends */
    AGENT_BODY_CUT = 3,    /**< no result: the same iteration continues later */
};

/* ---- agent_fold.c: events and what follows from them ---------------------------------------- */

/** Record an event and fold it. */
void agent_record(struct agent *agent, const struct journal_event *event);
/** Apply an event from the journal. Others' events are ignored. */
void agent_fold(struct agent *agent, const struct journal_event *event);
/** Add the summary of a compaction to a conversation that begins after what it replaced. */
void agent_add_summary(struct agent *agent, const struct journal_event *event);
/** A new iteration begins, or is continued. */
void agent_begin_iteration(struct agent_memory *memory, uint64_t iteration);
/** The iteration has its result: count those without a tool call. */
void agent_end_iteration(struct agent_memory *memory);
void agent_memory_fini(struct agent_memory *memory);

/* ---- agent_resume.c: the conversation of a run that was begun before ------------------------- */

/** Leave what a resume needs in the loop's agent state: places in the journal, no messages. */
int agent_save(struct agent *agent, struct rondo_error *err);
/** Rebuild the memory from the agent state and the journal. */
int agent_load(struct agent *agent, struct rondo_error *err);

/** Put what the agent remembers into the model's system prompt. */
void agent_offer_memories(struct agent *agent);

/* ---- agent_open.c --------------------------------------------------------------------------- */

/** Open a model of the agent's role. @param config which, and how */
int agent_open_model(const struct agent *agent, const struct agent_config *config,
                     struct model **ret_model, struct rondo_error *err);
/** The model in use is another one: write the conversation for it, from what is committed. */
int agent_reload(struct agent *agent, struct rondo_error *err);

/* ---- agent_ask.c: one request -------------------------------------------------------------- */

/** Ask the model. @param words of a person, or NULL. @return enum agent_next or a negative code */
int agent_ask(struct agent *agent, const char *words, struct rondo_error *err);

/** The answer of the last reply was blocked: the body fails. @return enum agent_next */
int agent_end_blocked(struct agent *agent);

/** Whether limits of the iteration leave room for a request. @return enum agent_next */
int agent_check_limits_left(struct agent *agent);

/* ---- agent_prompt.c: the model's prompt at the beginning of an iteration ----------------- */

/** The prompt of a person or a trigger that begins this iteration; NULL = it is Rondo's own. */
const char *agent_given_prompt(const struct agent *agent, const char *words);
void agent_write_prompt(const struct agent *agent, const char *words, struct buf *ret_text);
/** The exit conditions as last verified; of those not met the end of the output. */
void agent_write_conditions(const struct agent *agent, struct buf *ret_text);

/* ---- agent_calls.c: the calls of one reply --------------------------------------------------- */

/** Make all calls that are not answered. @return enum agent_next or a negative code */
int agent_make_calls(struct agent *agent, struct rondo_error *err);

/** Record that a call is about to be made. Not committed. */
void agent_begin_call(struct agent *agent, size_t index);

/** Answer a call: recorded and folded, not committed. @param outcome "ok", "error", "denied", ...
 */
void agent_answer(struct agent *agent, size_t index, const char *outcome, const char *text,
                  size_t len, int64_t duration_ns);

/* ---- handoff.c: calls that wait for the decision of a person ----------------------------------
 */

enum agent_decision {
    DECISION_WAITS,    /**< nobody has decided: the call is left open */
    DECISION_ASKED,    /**< a person has questions: they are the answer to the call */
    DECISION_APPROVED, /**< policies must be asked again, then agent_start_approved() */
    DECISION_REFUSED,  /**< the call must be answered */
};

/** A call about which a person must decide. */
struct agent_matter {
    size_t index; /**< among the calls of the reply */
    const struct tool *tool;
    const char *arguments;                /**< JSON, as the call will be made */
    const char *why;                      /**< for people */
    bool is_in_doubt;                     /**< it may have had its effect already */
    const char *answers;                  /**< to questions of people; NULL = none */
    const struct policy_verdict *verdict; /**< VERDICT_ASK: which policies ask; NULL = none */
    const struct handoff *before;         /**< a request that it follows upon; NULL = none */
    struct json_object *said;             /**< the body of that request; NULL = not known */
};

/** How grave a matter is: what its policies say, and not less than when it was asked before. */
enum handoff_level agent_matter_risk(const struct agent_matter *matter);
/** Write why people are asked, the member `trigger` of a request. */
void agent_trigger_write(const struct agent_matter *matter, struct json_writer *writer);

/** What a decision is about; anything else is another action. */
struct agent_action {
    struct tool_operands operands;    /**< files that the call names */
    char definition[DIGEST_HEX_SIZE]; /**< digest of the tool as it is defined */
    char digest[HANDOFF_DIGEST_SIZE];
};

/**
 * Find out what a call would do now.
 * @param ret_action agent_action_fini(), also on failure
 * @return 0; RONDO_ERR_INVALID or RONDO_ERR_LIMIT when nobody can decide about it
 */
int agent_action_read(const struct agent *agent, const struct agent_matter *matter,
                      struct agent_action *ret_action, struct rondo_error *err);
void agent_action_fini(struct agent_action *action);
#define auto_agent_action __attribute__((cleanup(agent_action_fini)))
/** Write it as the member `action` of a request. */
void agent_action_write(const struct agent_matter *matter, const struct agent_action *action,
                        struct json_writer *writer);
/** Append what is not as it was in a request, for people. @param said its body; NULL = not known */
void agent_action_compare(const struct agent_action *action, struct json_object *said,
                          struct buf *ret_why);

/**
 * Ask for a decision, or find the one there is. What is new is recorded, not committed.
 * @param ret_why DECISION_REFUSED: appended, for the model
 * @return enum agent_decision or a negative code
 */
int agent_seek_decision(struct agent *agent, const struct agent_matter *matter, struct buf *ret_why,
                        struct rondo_error *err);

/**
 * Take the grant of an approved call, which is made next: it is given once.
 * @param ret_why DECISION_REFUSED: appended, for the model
 * @return DECISION_APPROVED, DECISION_REFUSED or a negative code
 */
int agent_start_approved(struct agent *agent, const struct agent_matter *matter,
                         struct buf *ret_why, struct rondo_error *err);

/**
 * In constraints.c: whether arguments are within the constraints of an approval.
 * @param constraints an array: {kind, ...}; one that is not known does not hold
 * @param ret_broken  otherwise: appended, the first one that does not hold, JSON
 */
bool agent_constraints_hold(struct json_object *constraints, struct json_object *arguments,
                            int64_t now_ns, struct buf *ret_broken);

/** Approved calls that are being made are not in doubt yet. */
void agent_renew_grant(const struct agent *agent, size_t index, const char *request);

/** The approved call has a result. What fails here leaves the action shown as in doubt. */
void agent_finish_approved(struct agent *agent, size_t index, const struct tool_result *result);

/** What was asked about a call before it was judged. A copy: the answer may free the call. */
struct agent_request {
    size_t index;
    uint64_t turn;
    char id[ID_SIZE]; /**< "" = nothing */
    bool is_waiting;
    char call_id[128];
    char tool[128];
};

struct agent_request agent_request_of(const struct agent *agent, size_t index);

/** The call was judged without it: nobody needs to decide, and what was decided is not used. */
void agent_drop_request(struct agent *agent, const struct agent_request *request);

/** Where the handoffs of the agent's store are. */
struct handoff_store agent_handoffs(const struct agent *agent);

/* ---- questions.c: questions of people, and answers ------------------------------------------- */

/** The tool that carries answers; there while questions are open. */
#define ANSWER_TOOL "answer_questions"
struct model_tool agent_answer_tool(void);

/** Whether the agent must answer questions first. */
bool agent_has_questions(const struct agent *agent);

/** Append the questions about a call, for the model. */
void agent_write_questions(const struct agent *agent, const char *tool, const char *request,
                           struct buf *ret_text);

/**
 * Whether a tool may be called while questions are open: it must only read, and not too often.
 * @param ret_why otherwise: appended, for the model
 */
bool agent_may_look(struct agent *agent, const struct tool *tool, struct buf *ret_why);

/** The call that was asked about: it is made in place of the one that answers. */
struct agent_original {
    struct buf tool;
    struct buf arguments; /**< JSON */
};
void agent_original_fini(struct agent_original *original);
#define auto_agent_original __attribute__((cleanup(agent_original_fini)))

/**
 * Send the answers of a call, once, and find the call that was asked about.
 * @param ret_original agent_original_fini(), also on failure
 * @param ret_why      DECISION_REFUSED: appended, for the model
 * @return DECISION_APPROVED: the original must go through all gates; DECISION_REFUSED; a code
 */
int agent_answer_questions(struct agent *agent, size_t index, struct agent_original *ret_original,
                           struct buf *ret_why, struct rondo_error *err);

/** In handoff.c: send answers, with the same request or, if the action has changed, another one. */
int agent_send_answers(struct agent *agent, size_t index, const struct agent_original *original,
                       const char *request, const char *answers, struct buf *ret_why,
                       struct rondo_error *err);

/* ---- agent_batch.c: calls side by side ------------------------------------------------------- */

/** One call that is ready to be made. */
struct agent_job {
    size_t index; /**< among the calls of the reply */
    const struct tool *tool;
    struct json_object *arguments; /**< owned by the job's creator */
    char key[ID_SIZE + 48];        /**< idempotency key */
    char request[ID_SIZE];         /**< whose approval it uses; "" = none */
    struct tool_result result;
    int64_t duration_ns;
    bool is_over;
};

/**
 * Make calls at the same time, up to LIMIT_PARALLEL_TOOL_CALLS of them.
 * @param on_done on the calling thread, once for each, as they end
 */
void agent_run_batch(struct agent *agent, struct agent_job *jobs, size_t count,
                     void (*on_done)(void *context, struct agent_job *job), void *context);

/** What ends requests and calls of this iteration. */
struct cancel *agent_cancel(const struct agent *agent);

/** When requests and calls that begin now are cut off. */
struct agent_deadline {
    int64_t at_ns;  /**< monotonic clock */
    bool is_of_run; /**< the run's time is over then, and not only that of the iteration */
};

/** The earlier of the iteration's end (timeout_seconds) and the run's. On the loop's thread. */
struct agent_deadline agent_deadline(const struct agent *agent);

/* ---- agent_own_tools.c: tools of the loop itself --------------------------------------------- */

/** RONDO_ERR_INVALID when a tool of a server has the name of one of `todo`. */
int agent_check_own_tools(const struct agent *agent, struct rondo_error *err);
/** Tell the model of all tools. */
void agent_offer_tools(struct agent *agent);
bool agent_is_own_tool(const struct agent *agent, const char *name);
/** Whether an own tool ends the run: it comes after all other calls of its reply. */
bool agent_is_ending_tool(const char *name);
/** Call one that does not end the run. @return enum agent_next or a negative code */
int agent_call_own(struct agent *agent, size_t index, struct rondo_error *err);
/**
 * Call those that end the run, all of one reply: the last one counts, and completes the run only
 * when no other contradicts it. @return enum agent_next or a negative code
 */
int agent_call_finishes(struct agent *agent, size_t count, struct rondo_error *err);
/** The arguments of finish_task. @return whether it says how the task ends */
bool agent_read_finish(struct json_object *arguments, enum run_finish *ret_finish);

/* ---- follow_up_tools.c: runs that the agent schedules ---------------------------------------- */

/** Add the tools, if a daemon has started the run and the role has `autonomy`. */
int agent_open_follow_ups(struct agent *agent, struct rondo_error *err);

/* ---- clarify.c: questions to a person ------------------------------------------------------- */

/** Add the tool `clarify`, if the role has it. */
int agent_open_clarify(struct agent *agent, struct rondo_error *err);

/* ---- delegate.c, delegate_run.c: work for other agents --------------------------------------- */

/** Add the tools of entries `delegate`. */
int agent_open_delegates(struct agent *agent, struct rondo_error *err);
/** Record what a run used that a call gave away; before the result of that. */
void agent_record_delegation(struct agent *agent);

/** Work for another role. Borrowed. */
struct agent_order {
    const char *name; /**< of the agent, as the role calls it */
    const char *path; /**< of its role, as the run has recorded it */
    const char *prompt;
    int64_t depth; /**< of its run; 1 = this one was given to nobody */
    int64_t timeout_ns;
    const char *memory_path; /**< of shared memories; NULL = it has its own */
    int64_t max_memories;
};

/** Execute the run of an order, or continue it, and answer the call. On the call's thread. */
void agent_run_order(struct agent *outer, const struct agent_order *order,
                     const struct tool_call *call, struct tool_result *ret_result);

/* ---- agent_verify.c: exit conditions that tools verify --------------------------------------- */

/** Verifier of conditions with a tool; context is the agent. */
struct verifier agent_verifier(const struct agent *agent);

/** Policies see what the agent may use, with what is known about it. */
void agent_tell_policies(const struct agent *agent);
