// SPDX-License-Identifier: Apache-2.0
/*
 * What runs the bodies of a loop in the foreground: a worker command, or an agent of a role file.
 * run_execute opens it around the loop; `rondo run` opens an agent before there is a run.
 */
#pragma once

#include "agent/agent.h"
#include "cli/commands/run/run_options.h"
#include "cli/framework/session.h"
#include "cli/progress/display.h"
#include "cli/terminal/line_input.h"
#include "loop/driver/driver.h"
#include "worker/body.h"

struct run_agent;

/** What `rondo run` gives its agent besides the spec. Texts are borrowed until run_agent_free. */
struct run_agent_options {
    const char *record_file;
    const char *prices_file;
    bool is_watched;     /**< stream the model's words */
    bool may_ask_person; /**< there is a terminal to ask on */
    bool says_yes;       /**< each question is answered with yes */
    bool no_colour;
    bool is_required; /**< a run without an agent is not what was asked for */
};

/** Begin what takes time to load; the rest comes with run_agent_open. Never NULL. */
struct run_agent *run_agent_new(const struct run_agent_options *options, struct rondo_error *err);

/** Open model and tools. */
int run_agent_open(struct run_agent *agent, struct session *session, const struct loop_spec *spec,
                   struct rondo_error *err);
/** After the run: end model and tools, then consolidate what the agent remembers. */
void run_agent_consolidate(struct run_agent *agent, struct session *session, const char *agent_id,
                           bool is_quiet);
/** NULL is allowed. */
void run_agent_free(struct run_agent *agent);

/** Bodies until the run has ended. */
struct run_body {
    struct body body;
    struct display *display;
    struct run_agent *agent; /* the caller's; NULL for a worker command */
};

/** Open what the loop's spec requests. @param agent opened for it, or NULL for a worker command */
int run_body_open(struct session *session, struct loop *loop, struct display *display,
                  struct run_agent *agent, struct run_body *ret_body, struct rondo_error *err);
/** Run the bodies. @return 0 or a negative code */
int run_body_execute(struct run_body *run, struct rondo_error *err);
void run_body_close(struct run_body *run);

/** For conversations: bind the agent to its run, and answer one line inside its loop's body. */
int run_agent_attach(struct run_agent *agent, struct loop *loop, struct rondo_error *err);
int run_agent_answer(struct run_agent *agent, struct display *display, const char *words,
                     struct cancel *interrupt, struct rondo_error *err);
/** Whether an interrupted answer must be finished first. */
bool run_agent_is_cut_off(const struct run_agent *agent);
/** A person took so long to say the next words. */
void run_agent_note_wait(struct run_agent *agent, int64_t waited_ns);
/** Why there is no answer, or NULL. */
const char *run_agent_failure(const struct run_agent *agent);

/** Whether the last answer has words to show, whole or cut. */
bool run_agent_has_words(const struct run_agent *agent);

/** For what is sent when the run is over. */
struct http_client *run_agent_http(const struct run_agent *agent);

enum agent_mode run_agent_mode(const struct run_agent *agent);

/** Last words of an agent, "" = none. */
const char *run_agent_words(const struct run_agent *agent);
