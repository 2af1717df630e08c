// SPDX-License-Identifier: Apache-2.0
/* Bodies of runs in the foreground. */
#include "cli/commands/run/run_body.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/commands/run/run_memory.h"
#include "cli/framework/form.h"
#include "cli/terminal/markdown.h"
#include "net/client/http.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Columns when stderr does not say. */
#define QUESTION_COLUMNS 100

struct run_agent {
    struct run_agent_options options;
    struct line_input input; /* for questions */
    pthread_mutex_t asking;  /* one question at a time */
    struct http_client *http;
    struct agent *agent;
    struct display *display; /* while a run is executed, as the loop */
    struct loop *loop;
    struct model_watcher watcher;
    char *config_folder;
};

struct run_agent *run_agent_new(const struct run_agent_options *options, struct rondo_error *err)
{
    struct run_agent *agent = memory_new_zero(1, sizeof(*agent));
    agent->options = *options;
    pthread_mutex_init(&agent->asking, NULL);
    if (http_client_new(NULL, &agent->http, err) < 0) {
        free(agent);
        return NULL;
    }
    http_client_prepare(agent->http);
    line_input_init(&agent->input, STDIN_FILENO, stderr, options->no_colour);
    agent->config_folder = session_config_folder();
    return agent;
}

static void show_text(void *context, const char *text, size_t len)
{
    const struct run_agent *agent = context;
    if (agent->display != NULL) {
        display_output(agent->display, text, len);
    }
}

/** What the model said with the call: the reason to decide by. */
static void show_words(const struct run_agent *agent)
{
    const char *words = run_agent_words(agent);
    struct style style = style_for(stderr, agent->options.no_colour);
    auto_buf struct buf text = {0};
    markdown_render(words, strlen(words), &style, style_columns(stderr, QUESTION_COLUMNS), &text);
    fputs(buf_string(&text), stderr);
}

/** Ask a person. What is shown live makes room for the question. */
static enum agent_consent ask_person(void *context, const struct agent_question *asked)
{
    struct run_agent *agent = context;
    if (agent->options.says_yes && !asked->is_in_doubt) {
        return AGENT_CONSENT_YES;
    }
    if (!agent->options.may_ask_person) {
        return AGENT_CONSENT_NONE;
    }
    struct line_question question = {
        .tool = asked->tool,
        .arguments = asked->arguments,
        .why = asked->why,
        .is_once = asked->is_once,
        .generation = asked->generation,
    };
    display_pause(agent->display);
    show_words(agent);
    enum line_consent consent =
        line_input_confirm(&agent->input, &question, loop_cancel(agent->loop));
    display_resume(agent->display);
    return consent == LINE_YES  ? AGENT_CONSENT_YES
           : consent == LINE_NO ? AGENT_CONSENT_NO
                                : AGENT_CONSENT_NONE;
}

/** A question of the agent's. What is shown live makes room for it. */
static enum agent_answer ask_words(void *context, const char *question, int64_t timeout_ns,
                                   struct buf *ret_answer)
{
    struct run_agent *agent = context;
    auto_buf struct buf prompt = {0};
    if (!line_input_can_ask(&agent->input)) {
        return AGENT_ANSWER_NONE;
    }
    buf_append_string(&prompt, "The agent asks: ");
    line_input_append_shown(question, &prompt);
    buf_append_string(&prompt, "\nYour answer (Enter alone: none): ");
    display_pause(agent->display);
    enum line_result result = line_input_answer(&agent->input, buf_string(&prompt),
                                                loop_cancel(agent->loop), timeout_ns, ret_answer);
    display_resume(agent->display);
    return result == LINE_LATE                           ? AGENT_ANSWER_LATE
           : result == LINE_WORDS && ret_answer->len > 0 ? AGENT_ANSWER_GIVEN
                                                         : AGENT_ANSWER_NONE;
}

/** A server's form. Calls may run side by side: one question at a time. */
static enum mcp_consent ask_form(void *context, const char *server, struct json_object *params,
                                 struct json_object **ret_content)
{
    struct run_agent *agent = context;
    pthread_mutex_lock(&agent->asking);
    if (agent->display != NULL) {
        display_pause(agent->display);
    }
    enum mcp_consent consent =
        form_ask(&agent->input, server, params,
                 agent->loop == NULL ? NULL : loop_cancel(agent->loop), ret_content);
    if (agent->display != NULL) {
        display_resume(agent->display);
    }
    pthread_mutex_unlock(&agent->asking);
    return consent;
}

int run_agent_open(struct run_agent *agent, struct session *session, const struct loop_spec *spec,
                   struct rondo_error *err)
{
    agent->watcher = (struct model_watcher){.on_text = show_text, .context = agent};
    struct agent_parts parts = {
        .http = agent->http,
        .config_folder = agent->config_folder,
        .ask_person = ask_person,
        .ask_words = agent->options.may_ask_person ? ask_words : NULL,
        .ask_form = agent->options.may_ask_person ? ask_form : NULL,
        .ask_context = agent,
        .watcher = agent->options.is_watched ? &agent->watcher : NULL,
        .record_file = agent->options.record_file,
        .prices_file = agent->options.prices_file,
    };
    return agent_open(session->runtime, spec, &parts, &agent->agent, err);
}

/** End model and tools, which use the session's runtime. */
static void close_agent(struct run_agent *agent)
{
    agent_free(agent->agent);
    agent->agent = NULL;
}

void run_agent_consolidate(struct run_agent *agent, struct session *session, const char *agent_id,
                           bool is_quiet)
{
    close_agent(agent);
    run_consolidate(session, agent->http, agent->options.prices_file, agent_id, is_quiet);
}

void run_agent_free(struct run_agent *agent)
{
    if (agent == NULL) {
        return;
    }
    close_agent(agent);
    http_client_free(agent->http);
    line_input_fini(&agent->input);
    free(agent->config_folder);
    free(agent);
}

const char *run_agent_words(const struct run_agent *agent)
{
    return agent_words(agent->agent);
}

int run_agent_attach(struct run_agent *agent, struct loop *loop, struct rondo_error *err)
{
    agent->loop = loop;
    return agent_attach(agent->agent, loop, err);
}

int run_agent_answer(struct run_agent *agent, struct display *display, const char *words,
                     struct cancel *interrupt, struct rondo_error *err)
{
    agent_set_interrupt(agent->agent, interrupt);
    agent->display = display;
    display_iteration(display, loop_state(agent->loop)->iteration);
    int r = agent_run(agent->agent, words, err);
    agent_set_interrupt(agent->agent, NULL);
    agent->display = NULL;
    return r;
}

bool run_agent_is_cut_off(const struct run_agent *agent)
{
    return agent_is_cut_off(agent->agent);
}

void run_agent_note_wait(struct run_agent *agent, int64_t waited_ns)
{
    agent_note_wait(agent->agent, waited_ns);
}

const char *run_agent_failure(const struct run_agent *agent)
{
    return agent_failure(agent->agent);
}

bool run_agent_has_words(const struct run_agent *agent)
{
    return agent_failure(agent->agent) == NULL || agent_stop(agent->agent) != NULL;
}

struct http_client *run_agent_http(const struct run_agent *agent)
{
    return agent->http;
}

enum agent_mode run_agent_mode(const struct run_agent *agent)
{
    return agent_mode(agent->agent);
}

int run_body_open(struct session *session, struct loop *loop, struct display *display,
                  struct run_agent *agent, struct run_body *ret_body, struct rondo_error *err)
{
    *ret_body = (struct run_body){.display = display, .agent = agent};
    auto_free char *config_folder = session_config_folder();
    struct worker_options options = {
        .folder = session->work_folder,
        .on_output = display_output,
        .on_output_context = display,
        .config_folder = config_folder,
    };
    if (agent != NULL) {
        agent->display = display;
        agent->loop = loop;
    }
    return body_open(loop, &options, agent == NULL ? NULL : agent->agent, &ret_body->body, err);
}

/** A run that is paused waits here, unless what it waits for may take days. */
static int next_turn(struct run_body *run, struct rondo_error *err)
{
    struct loop *loop = run->body.loop;
    return loop_state(loop)->is_waiting ? loop_next(loop, err) : loop_next_unpaused(loop, err);
}

int run_body_execute(struct run_body *run, struct rondo_error *err)
{
    struct loop *loop = run->body.loop;
    int turn;
    while ((turn = next_turn(run, err)) == LOOP_BODY) {
        display_store_failing(run->display, loop_is_degraded(loop));
        display_iteration(run->display, loop_state(loop)->iteration);
        int r = body_run(&run->body, err);
        if (r < 0) {
            return r;
        }
    }
    return turn;
}

void run_body_close(struct run_body *run)
{
    body_close(&run->body);
    if (run->agent != NULL) {
        run->agent->display = NULL;
    }
}
