// SPDX-License-Identifier: Apache-2.0
/*
 * The calls that a reply requests. Each goes through the same gates in the same order: does the
 * tool exist, do the arguments fit, do the role's permissions allow it, do the policies, does a
 * person where one has to be asked. What does not pass is answered with the reason, so that the
 * model can do something else.
 *
 * The intent of a call with an effect is committed before it is made; results are committed before
 * the next call of the same reply, at the latest with the next request.
 */
#include "agent/internal.h"
#include "agent/memory/memories.h"

#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "tool/canonical.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Bytes of the arguments that the intent shows to people. */
#define SHOWN_ARGUMENTS_BYTES ((size_t)512)

/** The calls of one reply that are being made. */
struct call_round {
    struct agent *agent;
    const char *name;       /* of the tool that is looked at */
    struct agent_job *jobs; /* those that passed all gates and wait for each other */
    size_t job_count;
    bool is_doubting;  /* a person is asked about a call in doubt */
    bool is_decided;   /* the call that is looked at was approved in the inbox */
    bool is_left;      /* and this one waits for a decision there: it is not answered yet */
    bool is_asked;     /* its request stays: a person has questions */
    bool is_answering; /* it carries answers to questions: people decide in any case */
    int result;
    struct rondo_error *err;
};

void agent_begin_call(struct agent *agent, size_t index)
{
    const struct agent_call *call = &agent->memory.calls[index];
    auto_buf struct buf shown = {0};
    size_t len = strnlen(call->call.arguments, SHOWN_ARGUMENTS_BYTES);
    buf_append(&shown, call->call.arguments, len);
    struct journal_event event = {
        .type = JOURNAL_TOOL_REQUESTED,
        .tool_requested = {.iteration = (int64_t)agent->memory.iteration,
                           .turn = (int64_t)agent->memory.turn,
                           .index = (int64_t)index,
                           .attempt = call->attempt + 1,
                           .call_id = call->call.id,
                           .tool = call->call.name,
                           .arguments = buf_string(&shown)},
    };
    agent_record(agent, &event);
}

void agent_answer(struct agent *agent, size_t index, const char *outcome, const char *text,
                  size_t len, int64_t duration_ns)
{
    const struct agent_call *call = &agent->memory.calls[index];
    if (!call->is_begun) {
        agent_begin_call(agent, index);
    }
    char *id = memory_dup_string(call->call.id); /* The last answer ends the list of calls. */
    char *name = memory_dup_string(call->call.name);
    struct journal_event event = {
        .type = JOURNAL_TOOL_FINISHED,
        .tool_finished = {.iteration = (int64_t)agent->memory.iteration,
                          .turn = (int64_t)agent->memory.turn,
                          .index = (int64_t)index,
                          .call_id = id,
                          .tool = name,
                          .outcome = outcome,
                          .duration_ns = duration_ns,
                          .output_bytes = (int64_t)len,
                          .output = len > 0 ? text : NULL,
                          .output_len = len},
    };
    agent_record(agent, &event);
    free(id);
    free(name);
}

static void answer_text(struct agent *agent, size_t index, const char *outcome,
                        const struct buf *text)
{
    agent_answer(agent, index, outcome, buf_string(text), text->len, 0);
}

/* ---- Gates ---------------------------------------------------------------------------------- */

static const char *consent_name(enum agent_consent consent)
{
    switch (consent) {
    case AGENT_CONSENT_YES:
        return "yes";
    case AGENT_CONSENT_NO:
        return "no";
    case AGENT_CONSENT_NONE:
        break;
    }
    return "none";
}

/** Ask a person; how long that takes counts against no limit. What was decided so far is committed
 * first: an answer may take hours. */
static enum agent_consent ask_person(struct call_round *round, const struct tool *tool,
                                     const char *arguments, const char *why, bool is_once)
{
    struct agent *agent = round->agent;
    if (agent->parts.ask_person == NULL) {
        return AGENT_CONSENT_NONE;
    }
    round->result = loop_commit(agent->loop, round->err);
    if (round->result < 0) {
        return AGENT_CONSENT_NONE;
    }
    const struct clock *clock = runtime_clock(agent->runtime);
    int64_t begin_ns = clock_monotonic(clock);
    struct agent_question question = {.tool = tool->name,
                                      .arguments = arguments,
                                      .why = why,
                                      .is_once = is_once,
                                      .is_in_doubt = round->is_doubting,
                                      .generation = tool->generation};
    enum agent_consent consent = agent->parts.ask_person(agent->parts.ask_context, &question);
    int64_t waited_ns = clock_monotonic(clock) - begin_ns;
    agent->started_ns += waited_ns;
    loop_record_wait(agent->loop, tool->name, consent_name(consent), waited_ns);
    return consent;
}

/** The beginning of an answer to a call that is not made, or not again. */
static void write_refusal(const struct call_round *round, size_t index, struct buf *ret_text)
{
    const struct agent_call *call = &round->agent->memory.calls[index];
    buf_printf(ret_text, "Error: %s was %s: ", round->name,
               call->is_in_doubt ? "interrupted, may have had its effect, and was not called again"
                                 : "not called");
}

/** What a person has said about a call, at the terminal or in the inbox. */
struct call_consent {
    enum agent_consent consent;
    bool is_settled; /* the call is answered, or left open */
};

/** A question to people about a call. */
struct call_question {
    const char *arguments;
    const char *why;
    const struct policy_verdict *verdict; /* which policies ask; NULL = none */
    bool may_wait;                        /* it may be put into the inbox */
};

/** Put the call before the people who read the inbox, or see what they have said. */
static struct call_consent ask_inbox(struct call_round *round, size_t index,
                                     const struct tool *tool, const struct call_question *question)
{
    struct agent *agent = round->agent;
    struct agent_matter matter = {.index = index,
                                  .tool = tool,
                                  .arguments = question->arguments,
                                  .why = question->why,
                                  .is_in_doubt = round->is_doubting,
                                  .verdict = question->verdict};
    auto_buf struct buf text = {0};
    write_refusal(round, index, &text);
    int decision = agent_seek_decision(agent, &matter, &text, round->err);
    if (decision < 0) {
        round->result = decision;
        return (struct call_consent){AGENT_CONSENT_NONE, true};
    }
    round->is_left = decision == DECISION_WAITS;
    round->is_decided = round->is_decided || decision == DECISION_APPROVED;
    round->is_asked = decision == DECISION_ASKED;
    bool is_no = decision == DECISION_REFUSED || decision == DECISION_ASKED;
    if (is_no) {
        answer_text(agent, index, round->is_doubting ? "in_doubt" : "refused", &text);
    }
    return (struct call_consent){decision == DECISION_APPROVED ? AGENT_CONSENT_YES
                                 : is_no                       ? AGENT_CONSENT_NO
                                                               : AGENT_CONSENT_NONE,
                                 decision != DECISION_APPROVED};
}

/** Whether nothing but the role itself wants the call confirmed. */
static bool is_of_role(const struct policy_verdict *verdict)
{
    return verdict != NULL && verdict->ask_count == 1 &&
           strcmp(verdict->asks[0].rule, RULESET_CONFIRM) == 0;
}

/** Whether one person does not suffice, so that the person at the terminal does not either. */
static bool needs_several(const struct agent *agent, const struct policy_verdict *verdict)
{
    return verdict != NULL && verdict->ask_count > 0 &&
           verdict->asks[0].severity == SEVERITY_CRITICAL &&
           agent_handoffs(agent).rules->critical_approvals > 1;
}

/** Ask at the terminal. What only the role wants can be approved there for all calls of the tool.
 */
static enum agent_consent ask_terminal(struct call_round *round, const struct tool *tool,
                                       const struct call_question *question)
{
    static const char all[] =
        "this role requires confirmation (y = once, a = always for this tool, n = refuse)";
    bool is_for_all = is_of_role(question->verdict) && !round->is_doubting;
    return needs_several(round->agent, question->verdict)
               ? AGENT_CONSENT_NONE
               : ask_person(round, tool, question->arguments, is_for_all ? all : question->why,
                            !is_for_all);
}

/**
 * Ask a person: at the terminal, and where nobody is there, in the inbox. What was put there before
 * may be decided by now, which counts before any question. A conversation has nobody but the person
 * at the terminal.
 */
static struct call_consent consult(struct call_round *round, size_t index, const struct tool *tool,
                                   const struct call_question *question)
{
    const struct agent *agent = round->agent;
    /* A run that was given away is waited for, and not for hours. */
    bool has_inbox =
        agent->config.mode != AGENT_CHAT && !agent->config.is_dry_run && agent->config.depth == 0;
    bool was_asked = agent->memory.calls[index].request[0] != '\0';
    struct call_consent answer = {AGENT_CONSENT_NONE, false};
    if (has_inbox && was_asked) {
        answer = ask_inbox(round, index, tool, question);
    }
    if (answer.consent != AGENT_CONSENT_NONE || round->result < 0) {
        return answer;
    }
    enum agent_consent consent = ask_terminal(round, tool, question);
    if (consent != AGENT_CONSENT_NONE) {
        round->is_left = false;
        return (struct call_consent){consent, false};
    }
    bool is_wanted = has_inbox && question->may_wait && !was_asked && round->result == 0 &&
                     !cancel_is_set(agent_cancel(agent));
    return is_wanted ? ask_inbox(round, index, tool, question) : answer;
}

static void answer_denied(struct call_round *round, size_t index, const struct tool *tool,
                          const struct policy_verdict *verdict)
{
    struct agent *agent = round->agent;
    auto_buf struct buf text = {0};
    loop_deny_tool(agent->loop, tool->name, verdict);
    write_refusal(round, index, &text);
    buf_append_string(&text, verdict->message);
    if (needs_several(agent, verdict)) {
        buf_printf(&text, "; %" PRIu32 " persons must approve it, for which this run cannot wait",
                   agent_handoffs(agent).rules->critical_approvals);
    }
    answer_text(agent, index, "denied", &text);
}

/** A call that a person has refused, or that nobody can confirm. */
static void answer_unconfirmed(struct call_round *round, size_t index, enum agent_consent consent)
{
    auto_buf struct buf text = {0};
    write_refusal(round, index, &text);
    buf_append_string(&text, consent == AGENT_CONSENT_NO
                                 ? "a person refused it."
                                 : "the role sets require_confirmation, and no person can confirm "
                                   "it in this run. Continue without it, or finish as blocked.");
    answer_text(round->agent, index, "refused", &text);
}

/**
 * A call that carries answers to questions goes back to people, also when no policy asks any more.
 * @return whether it may be made
 */
static bool is_answer_approved(struct call_round *round, size_t index, const struct tool *tool,
                               const char *arguments, bool is_approved)
{
    if (!round->is_answering || round->is_decided || is_approved) {
        return true;
    }
    struct call_question question = {arguments, "the agent has answered questions", NULL, true};
    struct call_consent answer = consult(round, index, tool, &question);
    bool is_yes = answer.consent == AGENT_CONSENT_YES;
    if (!is_yes && !answer.is_settled && round->result == 0) {
        answer_unconfirmed(round, index, answer.consent);
    }
    return is_yes && round->result == 0;
}

static const char *json_text(struct json_object *object)
{
    return json_object_to_json_string_ext(object,
                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

/**
 * What the policies say of all forms of a call: the strictest outcome, and the verdict that it
 * comes from, with all that ask.
 */
static enum verdict_outcome ask_forms(struct call_round *round, const struct tool *tool,
                                      struct json_object *arguments, bool is_approved,
                                      struct policy_verdict *ret_verdict)
{
    struct canonical_forms forms;
    enum verdict_outcome strictest = VERDICT_ALLOW;
    policy_verdict_init(ret_verdict);
    if (!toolbox_forms(round->agent->toolbox, tool, arguments, &forms)) {
        canonical_forms_fini(&forms);
        ret_verdict->reason = VERDICT_INVALID_CONTEXT;
        snprintf(ret_verdict->message, sizeof(ret_verdict->message),
                 "the call starts too many commands to be judged");
        return VERDICT_DENY;
    }
    for (size_t i = 0; i < forms.count && strictest != VERDICT_DENY; i++) {
        struct policy_verdict verdict;
        enum verdict_outcome outcome =
            loop_ask_tool(round->agent->loop, tool->name, json_text(forms.forms[i]),
                          json_text(arguments), is_approved, &verdict);
        if (i > 0 && outcome == VERDICT_ASK && strictest == VERDICT_ASK) {
            policy_verdict_merge(ret_verdict, &verdict);
        } else if (i == 0 || outcome == VERDICT_DENY || strictest == VERDICT_ALLOW) {
            *ret_verdict = verdict;
            strictest = outcome;
        }
    }
    canonical_forms_fini(&forms);
    return strictest;
}

/** What the policies say. @return whether the call may be made */
static bool is_allowed(struct call_round *round, size_t index, const struct tool *tool,
                       struct json_object *arguments, bool *ret_is_approved)
{
    struct policy_verdict verdict;
    struct call_consent answer = {AGENT_CONSENT_YES, false};
    enum verdict_outcome outcome = ask_forms(round, tool, arguments, false, &verdict);
    bool is_asked = outcome == VERDICT_ASK;
    if (is_asked && !round->is_decided && !*ret_is_approved) {
        struct call_question question = {json_text(arguments),
                                         is_of_role(&verdict) ? verdict.text : verdict.message,
                                         &verdict, true};
        answer = consult(round, index, tool, &question);
    }
    if (is_asked && answer.consent == AGENT_CONSENT_YES) {
        *ret_is_approved = true;
        outcome = ask_forms(round, tool, arguments, true, &verdict);
    }
    if (outcome == VERDICT_ALLOW || round->result < 0 || answer.is_settled) {
        return outcome == VERDICT_ALLOW;
    }
    if (outcome == VERDICT_ASK && is_of_role(&verdict) && !needs_several(round->agent, &verdict)) {
        answer_unconfirmed(round, index, answer.consent);
    } else {
        answer_denied(round, index, tool, &verdict);
    }
    return false;
}

/**
 * A call that was begun and has no result. Repeating it is harmless where the tool says so;
 * otherwise a person may decide, else the model has to find out. The person decides at once about
 * what policies ask of the call, too.
 */
static bool may_repeat(struct call_round *round, size_t index, const struct tool *tool,
                       struct json_object *arguments, bool *ret_is_approved)
{
    const struct agent_call *call = &round->agent->memory.calls[index];
    if (!call->is_in_doubt || tool->is_pure || tool->is_idempotent) {
        return true;
    }
    static const char doubt[] = "it was cut off, and may have had its effect; call it again";
    struct policy_verdict verdict;
    auto_buf struct buf why = {0};
    bool is_asked = ask_forms(round, tool, arguments, false, &verdict) == VERDICT_ASK;
    buf_append_string(&why, doubt);
    if (is_asked && !is_of_role(&verdict)) {
        buf_printf(&why, "; %s", verdict.message);
    }
    /* Of calls that needed nobody before, the model finds out. */
    struct call_question question = {json_text(arguments), buf_string(&why),
                                     is_asked ? &verdict : NULL, call->request[0] != '\0'};
    round->is_doubting = true;
    struct call_consent answer = consult(round, index, tool, &question);
    round->is_doubting = false;
    if (answer.consent == AGENT_CONSENT_YES) {
        *ret_is_approved = true;
        return true;
    }
    auto_buf struct buf text = {0};
    buf_printf(&text,
               "Error: the process was cut off during this call of %s. It is not known whether it "
               "took effect, and it was not repeated. Look at what it was to change before you "
               "call it again.",
               tool->name);
    if (round->result == 0 && !answer.is_settled) {
        answer_text(round->agent, index, "in_doubt", &text);
    }
    return false;
}

/** An approval of the inbox is used up by the call that it is for. */
static bool takes_grant(struct call_round *round, size_t index, const struct tool *tool,
                        const char *arguments)
{
    struct agent *agent = round->agent;
    struct agent_matter matter = {.index = index, .tool = tool, .arguments = arguments};
    auto_buf struct buf text = {0};
    if (!round->is_decided) {
        return true;
    }
    write_refusal(round, index, &text);
    int decision = agent_start_approved(agent, &matter, &text, round->err);
    round->result = decision < 0 ? decision : 0;
    if (decision == DECISION_REFUSED) {
        answer_text(agent, index, "refused", &text);
    }
    return decision == DECISION_APPROVED;
}

/** First of all the doubt: no other gate may say of such a call that it was not made. */
static bool passes_gates(struct call_round *round, size_t index, const struct tool *tool,
                         struct json_object *arguments)
{
    const char *text = json_text(arguments);
    bool is_approved = false;
    round->is_decided = false;
    round->is_left = false;
    round->is_asked = false;
    return may_repeat(round, index, tool, arguments, &is_approved) && round->result == 0 &&
           is_allowed(round, index, tool, arguments, &is_approved) && round->result == 0 &&
           is_answer_approved(round, index, tool, text, is_approved) && round->result == 0 &&
           takes_grant(round, index, tool, text);
}

/* ---- Making the calls ----------------------------------------------------------------------- */

static void add_job(struct call_round *round, size_t index, const struct tool *tool,
                    struct json_object *arguments)
{
    const struct agent *agent = round->agent;
    struct agent_job *job = &round->jobs[round->job_count++];
    *job =
        (struct agent_job){.index = index, .tool = tool, .arguments = json_object_get(arguments)};
    if (round->is_decided) {
        memcpy(job->request, agent->memory.calls[index].request, sizeof(job->request));
    }
    snprintf(job->key, sizeof(job->key), "%s-%" PRIu64 "-%zu", loop_run_id(agent->loop),
             agent->memory.turn, index);
}

/** A call that passed the checks of the toolbox meets the gates. */
static void judge_call(struct call_round *round, size_t index, const struct tool *tool,
                       struct json_object *arguments)
{
    struct agent *agent = round->agent;
    struct agent_request request = agent_request_of(agent, index);
    auto_buf struct buf why = {0};
    round->name = tool->name;
    if (!round->is_answering && !agent_may_look(agent, tool, &why)) {
        answer_text(agent, index, "denied", &why);
        return;
    }
    if (passes_gates(round, index, tool, arguments)) {
        add_job(round, index, tool, arguments);
    }
    if (round->result == 0 && !round->is_left && !round->is_decided && !round->is_asked) {
        agent_drop_request(agent, &request);
    }
}

/** Make a call ready, or answer it at once. @param name of the tool that is called in its place */
static void prepare(struct call_round *round, size_t index, const char *name, const char *text)
{
    struct agent *agent = round->agent;
    auto_json struct json_object *arguments = NULL;
    struct tool_result result = {0};
    enum tool_refusal refusal = toolbox_prepare(agent->toolbox, name, text, &arguments, &result);
    if (refusal != TOOL_READY) {
        const char *outcome = refusal == TOOL_NOT_PERMITTED ? "denied" : "error";
        answer_text(agent, index, outcome, &result.text);
    } else {
        judge_call(round, index, toolbox_find(agent->toolbox, name), arguments);
    }
    tool_result_fini(&result);
}

/** Answers to questions go to people; the call that they are about takes the place of this one. */
static void prepare_answer(struct call_round *round, size_t index)
{
    auto_agent_original struct agent_original original = {0};
    auto_buf struct buf why = {0};
    int decision = agent_answer_questions(round->agent, index, &original, &why, round->err);
    if (decision < 0) {
        round->result = decision;
    } else if (decision == DECISION_REFUSED) {
        answer_text(round->agent, index, "error", &why);
    } else {
        prepare(round, index, buf_string(&original.tool), buf_string(&original.arguments));
    }
}

static bool is_answer(const struct agent_call *call)
{
    return strcmp(call->call.name, ANSWER_TOOL) == 0;
}

static void prepare_call(struct call_round *round, size_t index)
{
    const struct agent_call *call = &round->agent->memory.calls[index];
    round->is_answering = is_answer(call);
    if (round->is_answering) {
        prepare_answer(round, index);
    } else {
        prepare(round, index, call->call.name, call->call.arguments);
    }
}

static void record_embedded(struct agent *agent, const char *purpose, const struct model *model,
                            const struct embedding_usage *usage)
{
    auto_buf struct buf name = {0};
    buf_printf(&name, "%s:%s", model_provider(model), model_name(model));
    struct journal_event event = {
        .type = JOURNAL_MODEL_EMBEDDED,
        .model_embedded = {.iteration = (int64_t)agent->memory.iteration,
                           .model = buf_string(&name),
                           .purpose = purpose,
                           .requests = usage->requests,
                           .texts = usage->texts,
                           .tokens = usage->tokens,
                           .cost_micro = usage->is_cost_unknown ? COST_UNKNOWN : usage->cost_micro,
                           .duration_ns = usage->duration_ns},
    };
    agent_record(agent, &event);
    spending_add(agent, (struct budget_amount){usage->tokens, usage->cost_micro});
}

/** What a call has used of models for vectors comes before its result. */
static void record_all_embedded(struct agent *agent)
{
    struct embedding_usage usage;
    const struct model *model = NULL;
    if (agent_memories_take_usage(agent->memories, &usage, &model)) {
        record_embedded(agent, "memory", model, &usage);
    }
    if (agent->document_usage.requests > 0) {
        record_embedded(agent, "ingest", agent->document_embedding, &agent->document_usage);
        agent->document_usage = (struct embedding_usage){0};
    }
}

static void on_done(void *context, struct agent_job *job)
{
    struct call_round *round = context;
    record_all_embedded(round->agent);
    agent_record_delegation(round->agent);
    const char *outcome = job->result.is_error ? "error" : "ok";
    agent_finish_approved(round->agent, job->index, &job->result);
    agent_answer(round->agent, job->index, outcome, buf_string(&job->result.text),
                 job->result.text.len, job->duration_ns);
    tool_result_fini(&job->result);
    json_object_put(job->arguments);
    job->arguments = NULL;
}

/** Record what is about to be made, and commit it where that matters: with the results before. */
static void begin_batch(struct call_round *round)
{
    bool has_effects = false;
    for (size_t i = 0; i < round->job_count; i++) {
        agent_begin_call(round->agent, round->jobs[i].index);
        has_effects = has_effects || !round->jobs[i].tool->is_pure;
    }
    if (has_effects) {
        round->result = loop_commit(round->agent->loop, round->err);
    }
}

/** Make the calls that wait: one, or several that may run at the same time. */
static void run_batch(struct call_round *round)
{
    bool is_wanted = round->result == 0 && !cancel_is_set(agent_cancel(round->agent));
    if (is_wanted && round->job_count > 0) {
        begin_batch(round);
        is_wanted = round->result == 0;
    }
    if (is_wanted && round->job_count > 0) {
        agent_run_batch(round->agent, round->jobs, round->job_count, on_done, round);
    }
    for (size_t i = 0; i < round->job_count; i++) {
        json_object_put(round->jobs[i].arguments);
    }
    round->job_count = 0;
}

/**
 * Whether a call may run beside others and gains from it. Effects have the order in which the model
 * named them; and tools that are pure wait for nothing: a thread would cost more than they do.
 */
static bool gains_from_company(const struct tool *tool)
{
    return tool->is_concurrent && tool->is_read_only && !tool->is_pure;
}

/**
 * Whether a call may run beside those that wait. Otherwise they are made before it is looked at: it
 * meets the policies that are in force when its turn has come.
 */
static bool joins_batch(const struct call_round *round, size_t index)
{
    const struct agent *agent = round->agent;
    const struct agent_call *call = &agent->memory.calls[index];
    const struct tool *tool = toolbox_find(agent->toolbox, call->call.name);
    return round->job_count == 0 || (tool == NULL && !is_answer(call)) ||
           (tool != NULL && gains_from_company(tool) && gains_from_company(round->jobs[0].tool));
}

/** Call those of the loop's own tools that do not end the run. */
static int call_own_tools(struct agent *agent, size_t count, struct rondo_error *err)
{
    int next = AGENT_CONTINUE;
    for (size_t i = 0; i < count && next == AGENT_CONTINUE && agent->memory.call_count > 0; i++) {
        const struct agent_call *call = &agent->memory.calls[i];
        if (!call->is_answered && agent_is_own_tool(agent, call->call.name) &&
            !agent_is_ending_tool(call->call.name)) {
            next = agent_call_own(agent, i, err);
        }
    }
    return next;
}

static bool is_for_toolbox(const struct agent *agent, size_t index)
{
    return agent->memory.call_count > 0 && !agent->memory.calls[index].is_answered &&
           !agent_is_own_tool(agent, agent->memory.calls[index].call.name);
}

static int make_tool_calls(struct agent *agent, size_t count, struct rondo_error *err)
{
    struct call_round round = {.agent = agent, .err = err};
    const struct cancel *cancel = agent_cancel(agent);
    round.jobs = memory_new_zero(count, sizeof(*round.jobs));
    for (size_t i = 0; i < count && round.result == 0 && !cancel_is_set(cancel); i++) {
        if (!is_for_toolbox(agent, i)) {
            continue;
        }
        if (!joins_batch(&round, i)) {
            run_batch(&round);
        }
        if (round.result == 0 && !cancel_is_set(cancel)) {
            prepare_call(&round, i);
        }
    }
    run_batch(&round);
    free(round.jobs);
    return round.result;
}

/** The last call of a reply that was cut off may lack a part of its arguments, or all of them. */
static void refuse_cut_call(struct agent *agent)
{
    const struct agent_memory *memory = &agent->memory;
    size_t last = memory->call_count - 1;
    if (!model_stop_is_cut(memory->stop) || memory->calls[last].is_answered) {
        return;
    }
    auto_buf struct buf text = {0};
    buf_printf(&text, "Error: %s was not called, because it may be incomplete: %s",
               memory->calls[last].call.name, model_stop_meaning(memory->stop));
    if (memory->stop == MODEL_STOP_LENGTH) {
        buf_printf(&text, " (max_tokens is %" PRId64 "). Write less in one reply",
                   agent->config.role->model.max_tokens);
    }
    buf_append_string(&text, ".");
    answer_text(agent, last, "error", &text);
}

/** Pause the run until somebody decides. @return whether there is anything to decide */
static bool waits_for_people(struct agent *agent)
{
    auto_buf struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    size_t count = 0;
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < agent->memory.call_count; i++) {
        const struct agent_call *call = &agent->memory.calls[i];
        if (call->is_waiting && !call->is_answered) {
            json_write_string(&writer, NULL, call->request);
            count++;
        }
    }
    json_end_array(&writer);
    if (count > 0) {
        loop_wait_for_decision(agent->loop, buf_string(&json));
    }
    return count > 0;
}

int agent_make_calls(struct agent *agent, struct rondo_error *err)
{
    size_t count = agent->memory.call_count;
    const struct cancel *cancel = agent_cancel(agent);
    refuse_cut_call(agent);
    int r = make_tool_calls(agent, count, err);
    if (r == 0 && !cancel_is_set(cancel)) {
        r = call_own_tools(agent, count, err);
    }
    if (r == AGENT_CONTINUE && !cancel_is_set(cancel) && waits_for_people(agent)) {
        return AGENT_BODY_CUT;
    }
    /* When all else is done, the agent may say that it is finished. */
    if (r == AGENT_CONTINUE && !cancel_is_set(cancel)) {
        r = agent_call_finishes(agent, count, err);
    }
    bool is_open = agent->memory.call_count > 0;
    return r == AGENT_CONTINUE && is_open && cancel_is_set(cancel) ? AGENT_BODY_CUT : r;
}
