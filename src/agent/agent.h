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

#include "loop/driver/driver.h"
#include "model/model.h"
#include "tool/tool.h"

struct agent;
struct mcp_shared;
struct role;
struct role_findings;

/** How a role is run. */
enum agent_mode {
    AGENT_AUTONOMOUS = 0, /**< iterations until it is finished or a limit is reached */
    AGENT_SINGLE,         /**< one answer */
    AGENT_CHAT,           /**< one answer to each line of a person */
};

/** What a caller requests besides the role file. Texts are borrowed. */
struct agent_options {
    enum agent_mode mode;
    const char *prompt;             /**< required but for AGENT_CHAT */
    const char *workspace;          /**< absolute */
    const char *model;              /**< "provider:name" instead of the role's; NULL = the role's */
    const char *system;             /**< system prompt: the role's text with its skills */
    int64_t max_iterations;         /**< 0 = the role's */
    int64_t token_budget;           /**< 0 = the role's */
    const char *const *allow_hosts; /**< hosts that tools may reach besides the role's, though their
                                         addresses are private; NULL-terminated or NULL */
    const char *prices_file; /**< prices of models that are not built in; the run keeps what it
                                  says of its model; NULL = none */
    bool is_dry_run;         /**< no model is asked, and no key is needed */
    const struct role_findings *findings; /**< about the role and its skills; NULL = none */
    bool accepts_unprotected; /**< run without protections that the role requests in vain */
    bool is_file_named;       /**< the role is a file: see agent_confirm_role(), as for the next */
    bool is_kept;             /**< by a daemon, which nobody looks at when it reads the file */
    bool is_found;            /**< nobody has named the file: it must have been confirmed before */
};

/** Whether a role says which model it uses. */
bool agent_has_model(const struct role *role);

/**
 * The model for a role that names none: RONDO_MODEL, INITRUNNER_MODEL, else the usual model of the
 * first provider whose key is set (anthropic, openai, google, groq, mistral, cohere, xai). The
 * variables come from the environment and the `.env` of the home, keys also from that of the role.
 * @param ret_model  "provider:name", owned
 * @param ret_source what it was chosen by; appended
 */
int agent_choose_model(const struct role *role, char **ret_model, struct buf *ret_source,
                       struct rondo_error *err);

/**
 * The options of a run of a role; what a resume needs is in them. A role that names no model gets
 * one here (agent_choose_model), unless the caller names it.
 * @param ret_spec loop_spec_fini()
 */
int agent_spec(const struct role *role, const struct agent_options *options,
               struct loop_spec *ret_spec, struct rondo_error *err);

/**
 * Check that a limit of cost in a run's options can hold: that it is known what its model costs.
 * @param prices_file as in struct agent_options, or NULL
 * @return 0, also for a run without an agent or without such a limit; RONDO_ERR_INVALID says how to
 *         give a price
 */
int agent_check_cost(const struct loop_spec *spec, const char *prices_file,
                     struct rondo_error *err);

/** The same for changed limits of a run (struct loop_parts). */
int agent_check_limits(const struct loop_spec *spec, struct rondo_error *err);

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

/** What an agent uses. Everything is borrowed and outlives the agent. */
struct agent_parts {
    struct http_client *http;
    const char
        *config_folder; /**< where a user's rondo.yaml may be, besides the workspace; or NULL */
    /** Ask a person; NULL = nobody is there. On the loop's thread. */
    enum agent_consent (*ask_person)(void *context, const struct agent_question *question);
    mcp_ask_fn *ask_form; /**< the same for forms of MCP servers, on threads of calls; or NULL */
    void *ask_context;
    const struct model_watcher *watcher; /**< somebody watches: replies are streamed; or NULL */
    const char *record_file;             /**< see struct model_options; or NULL */
    const char *prices_file;
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

/**
 * Have a run ask another model from now on.
 * @param spec  of a run of kind "role", as a loop_change_fn gets it
 * @param model "provider:name"; RONDO_ERR_INVALID for anything else
 */
int agent_change_model(struct loop_spec *spec, const char *model, struct rondo_error *err);

/**
 * Accept that a recorded run goes without protections that its role requests. Nothing happens to a
 * run that is none of a role file.
 */
void agent_accept_unprotected(struct loop_spec *spec);

/**
 * Let the agent of a new run schedule follow-ups: for runs that a daemon starts.
 * @param spec  of a role
 * @param depth follow-ups in a row that led to the run; 0 = it is none
 */
int agent_allow_follow_ups(struct loop_spec *spec, int64_t depth, struct rondo_error *err);

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

/** How a run of a role is meant to be executed, from its options alone. */
enum agent_mode agent_recorded_mode(const struct loop_spec *spec);

/** Kind of such runs in their spec. */
#define AGENT_KIND "role"
