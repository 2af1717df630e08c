// SPDX-License-Identifier: Apache-2.0
/*
 * Role agents: bodies that are conversations with a model. One iteration sends a request to the
 * model, makes the calls that it requests, and sends their results, until the model has nothing
 * left to call or says that it is finished. Each request and each call is journalled before it is
 * made and again with its result; a resume rebuilds the conversation from there and continues after
 * the last result.
 *
 * Limits of one iteration (guardrails) are checked here, those of the run by the gate, before each
 * request. What a model or a tool does wrong is an outcome, never an error of this code.
 *
 * An agent belongs to the thread of its loop.
 */
#pragma once

#include "agent/spec/options.h"
#include "loop/driver/driver.h"
#include "model/model.h"
#include "tool/tool.h"

struct agent;

/** A person's answer. */
enum agent_consent {
    AGENT_CONSENT_NONE = 0, /**< nobody is there to be asked */
    AGENT_CONSENT_YES,
    AGENT_CONSENT_NO,
};

/** What a person is asked. Texts are borrowed. */
struct agent_question {
    const char *tool;
    const char *arguments; /**< JSON */
    const char *why;       /**< in words: a setting, a policy, or that the call was cut off */
    bool is_once;          /**< the answer must not count for other calls */
    bool is_in_doubt;      /**< the call may have had its effect already */
    unsigned generation;   /**< of the tool's definition: an answer counts for this one only */
};

/** What became of a question of the agent's. */
enum agent_answer {
    AGENT_ANSWER_NONE = 0, /**< the person left the question, or is gone */
    AGENT_ANSWER_GIVEN,
    AGENT_ANSWER_LATE, /**< not in time */
};

/** What an agent uses. Everything is borrowed and outlives the agent. */
struct agent_parts {
    struct http_client *http;
    const char
        *config_folder; /**< where a user's rondo.yaml may be, besides the workspace; or NULL */
    /** Ask a person; NULL = nobody is there. On the loop's thread. */
    enum agent_consent (*ask_person)(void *context, const struct agent_question *question);
    /** Show a person a question of the agent's; NULL = nobody is there. On the loop's thread.
     *  @param question hostile @param ret_answer AGENT_ANSWER_GIVEN: in words, not empty */
    enum agent_answer (*ask_words)(void *context, const char *question, int64_t timeout_ns,
                                   struct buf *ret_answer);
    mcp_ask_fn *ask_form; /**< the same for forms of MCP servers, on threads of calls; or NULL */
    void *ask_context;
    const struct model_watcher *watcher; /**< somebody watches: replies are streamed; or NULL */
    const char *record_file;             /**< see struct model_options; or NULL */
    const char *prices_file;
    bool is_inside;        /**< opened by the run that gave this one away, see agent_run_order */
    struct cancel *cancel; /**< ends the opening, which may wait for servers; or NULL */
};

/**
 * Open the model and the tools of a run of kind "role". Reports what is missing (a key, a program,
 * a repository) before a run is made.
 * @param spec      the run's options; not needed any more afterwards
 * @param ret_agent agent_free(), when its loop takes no further step
 */
int agent_open(struct runtime *runtime, const struct loop_spec *spec,
               const struct agent_parts *parts, struct agent **ret_agent, struct rondo_error *err);

/** Bind the agent to its run: a conversation that was begun is rebuilt from the journal. Once. */
int agent_attach(struct agent *agent, struct loop *loop, struct rondo_error *err);

/** Ends servers that were started for tools. NULL is allowed. */
void agent_free(struct agent *agent);

/**
 * Run the body of the iteration that loop_next handed out, and report it to the loop.
 * @param words AGENT_CHAT: what the person says; else NULL
 * @return 0, or a negative code when nothing can be recorded any more
 */
int agent_run(struct agent *agent, const char *words, struct rondo_error *err);

/**
 * For conversations: what ends the answer under way, and not the run. A call that waits for an
 * answer is told so.
 * @param interrupt NULL = nothing but the loop's own token
 */
void agent_set_interrupt(struct agent *agent, struct cancel *interrupt);

/** A person took so long to say the next words: that counts against no limit of time. */
void agent_note_wait(struct agent *agent, int64_t waited_ns);

/** Last words of the agent, "" = none. Borrowed until the next agent_run. */
const char *agent_words(const struct agent *agent);

/** Whether an iteration was begun with words of its own and cut off: it continues before others. */
bool agent_is_cut_off(const struct agent *agent);

/**
 * Why the last answer is none, though the model has answered: "length", "filtered", "refused" or
 * "empty"; NULL = it is one, or there is none yet. What there is of it are the agent's words.
 * Static.
 */
const char *agent_stop(const struct agent *agent);

/** Why the last agent_run failed, or NULL. Borrowed until the next. */
const char *agent_failure(const struct agent *agent);

enum agent_mode agent_mode(const struct agent *agent);
