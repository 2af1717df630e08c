// SPDX-License-Identifier: Apache-2.0
/*
 * One batch after the other: claim, episodes, request, reply, facts. What the model does wrong is
 * tried again later, and dropped after MOST_ATTEMPTS; the episodes stay, and come with the next
 * batch of their owner.
 */
#include "agent/memory/consolidate.h"

#include "agent/budget/budget.h"
#include "agent/budget/period.h"
#include "agent/memory/consolidation_record.h"
#include "agent/memory/consolidation_text.h"
#include "agent/memory/settings.h"
#include "agent/spec/config.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "base/text/redact.h"
#include "journal/backward.h"
#include "loop/control/control.h"
#include "loop/driver/driver.h"
#include "loop/policy_request.h"
#include "policy/gate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Time for a request, its retries included. */
#define REQUEST_NS (INT64_C(60) * NS_PER_S)
/** Pause after the first failure; doubled with each further one. */
#define PAUSE_NS      (INT64_C(60) * NS_PER_S)
#define MOST_ATTEMPTS 6
/** Until what other processes have is looked at again. */
#define OTHERS_NS (INT64_C(60) * NS_PER_S)
/** Runs of an agent among which one with memory is looked for. */
#define RUNS_LOOKED_AT 20
/** Attempts to enter in a ledger what was used. */
#define LEDGER_TRIES 20

enum batch_outcome {
    BATCH_DONE,    /* episodes were consolidated */
    BATCH_NOTHING, /* there was none */
    BATCH_HELD,    /* another process is at it */
    BATCH_FAILED,  /* work->problem says why */
};

/** One batch. */
struct batch_work {
    const struct consolidation_parts *parts;
    struct consolidation_report *report;
    struct consolidation_due *due;
    struct store *store;
    struct loop_spec spec;
    struct agent_config config;
    struct memory_settings settings;
    struct consolidation_batch batch;
    struct policy_gate *gate;
    struct model *model;
    struct buf prompt;
    struct rondo_error problem;
    bool is_hopeless; /* another try would fail as well */
};

static int64_t now_of(const struct batch_work *work)
{
    return clock_now(runtime_clock(work->parts->runtime));
}

/* ---- The journal ----------------------------------------------------------------------------- */

/** Events that are looked at for the last one about a consolidation. */
#define LOOKED_AT 1000

static void write_model(const struct batch_work *work, struct buf *ret_name)
{
    buf_printf(ret_name, "%s:%s", work->config.provider, work->config.model);
}

static int record_started(struct batch_work *work, struct rondo_error *err)
{
    auto_buf struct buf model = {0};
    write_model(work, &model);
    const struct journal_event event = {
        .type = JOURNAL_CONSOLIDATION_STARTED,
        .consolidation_started = {.attempt = work->due->attempts + 1,
                                  .episodes = (int64_t)work->batch.episode_count,
                                  .model = buf_string(&model)},
    };
    int r = loop_record_after(work->parts->runtime, work->batch.run_id, &event, err);
    return r < 0 ? r : 0;
}

static bool see_type(const struct store_event *event, void *context)
{
    enum journal_type type;
    bool *is_finished = context;
    *is_finished =
        journal_type_from_name(event->type, &type) && type == JOURNAL_CONSOLIDATION_FINISHED;
    return false;
}

/** Whether a process that died since has recorded the end. @return 1, 0 or a negative code */
static int is_finish_recorded(struct batch_work *work, struct rondo_error *err)
{
    static const char *const types[] = {"memory.consolidation_started",
                                        "memory.consolidation_finished", NULL};
    struct rondo_error why = {0};
    struct store_run run;
    bool is_finished = false;
    uint64_t reached = 0;
    int r = work->store->ops->get_run(work->store, work->batch.run_id, &run, &why);
    if (r < 0) {
        return r == RONDO_ERR_NOT_FOUND ? 0 : error_set(err, r, "%s", why.message);
    }
    const struct backward backward = {.run_id = work->batch.run_id,
                                      .before = run.last_seq + 1,
                                      .types = types,
                                      .window = 16,
                                      .most = LOOKED_AT};
    r = backward_visit(work->store, &backward, see_type, &is_finished, &reached, err);
    return r < 0 ? r : is_finished;
}

/** @param problem why there are no facts; NULL = they are stored */
static int record_finished(struct batch_work *work, size_t facts, const char *problem,
                           struct rondo_error *err)
{
    const struct consolidation_batch *batch = &work->batch;
    auto_buf struct buf model = {0};
    write_model(work, &model);
    const struct journal_event event = {
        .type = JOURNAL_CONSOLIDATION_FINISHED,
        .consolidation_finished = {.outcome = problem == NULL ? "ok" : "failed",
                                   .episodes = (int64_t)batch->episode_count,
                                   .facts = (int64_t)facts,
                                   .model = buf_string(&model),
                                   .tokens_in = batch->tokens_in,
                                   .tokens_out = batch->tokens_out,
                                   .cost_micro = batch->cost_micro,
                                   .duration_ns = batch->duration_ns,
                                   .message = problem},
    };
    int r = problem == NULL ? is_finish_recorded(work, err) : 0;
    if (r == 0) {
        r = loop_record_after(work->parts->runtime, batch->run_id, &event, err);
    }
    return r < 0 ? r : 0;
}

/* ---- The run: its role, its policies, its budgets -------------------------------------------- */

/** @return 1, 0 when the run has no role with memory, or a negative code */
static int read_run(struct batch_work *work, struct rondo_error *err)
{
    int r = loop_recorded_spec(work->store, work->due->run_id, &work->spec, err);
    if (r < 0 || work->spec.agent == NULL) {
        return r < 0 ? r : 0;
    }
    r = agent_config_read(work->spec.agent, &work->config, err);
    return r < 0 ? r
                 : memory_settings_read(work->config.role, work->due->agent_id, &work->settings);
}

/** A request to the policies, as the run would make it at its beginning. */
static bool is_allowed(struct batch_work *work, struct policy_request request)
{
    struct policy_verdict verdict;
    request.now_ns = now_of(work);
    policy_gate_decide(work->gate, &request, &verdict);
    if (verdict.outcome != VERDICT_ALLOW) {
        error_set(&work->problem, RONDO_ERR_DENIED, "%s", verdict.message);
    }
    return verdict.outcome == VERDICT_ALLOW;
}

static int open_gate(struct batch_work *work)
{
    struct runtime *runtime = work->parts->runtime;
    struct watch *watch = runtime_policies(runtime, work->spec.policy);
    struct policy_run run = loop_policy_run(&work->spec, work->due->run_id);
    struct policy_request request = {.action = ACTION_ITERATE, .now_ns = now_of(work)};
    struct policy_update update;
    if (runtime_policies_in_reach(runtime, &work->spec)) {
        watch_set_reach(watch, WATCH_IN_REACH);
    }
    int r = policy_gate_open(watch, &run, "", &work->gate, &work->problem);
    if (r < 0) {
        return r;
    }
    const struct policy_resource model = {
        .action = ACTION_CALL_MODEL, .id = work->config.model, .origin = work->config.provider};
    policy_gate_set_resources(work->gate, &model, 1);
    policy_gate_refresh(work->gate, &request, false, &update);
    return 0;
}

/** Whether the budgets of the role leave room. @return false: work->problem says why */
static bool has_budget(struct batch_work *work, const struct budget_rules *rules)
{
    struct budget_reply reply = {0};
    if (!budget_rules_are_set(rules)) {
        return true;
    }
    int r = budget_allows(work->store, work->due->agent_id, rules, now_of(work), &reply,
                          &work->problem);
    if (r == 0 && reply.answer != BUDGET_YES) {
        work->due->not_before_ns = reply.at_ns;
        error_set(&work->problem, RONDO_ERR_LIMIT, "%s", reply.reason);
    }
    return r == 0 && reply.answer == BUDGET_YES;
}

/** Enter in the ledger what the request used. */
static int account(struct batch_work *work, const struct budget_rules *rules,
                   const struct model_reply *reply)
{
    const struct budget_amount used = {.tokens = reply->usage.input + reply->usage.output,
                                       .cost_micro = reply->has_cost ? reply->cost_micro : 0};
    struct budget_ledger *ledger = memory_new_zero(1, sizeof(*ledger));
    int r = budget_rules_are_set(rules) ? 0 : 1;
    for (int i = 0; i < LEDGER_TRIES && r == 0; i++) {
        uint64_t version = 0;
        int64_t day = 0;
        r = budget_load(work->store, work->due->agent_id, ledger, &version, &work->problem);
        if (r == 0 && period_day(rules->zone, now_of(work), &day)) {
            ledger_add(ledger, day, used);
            r = budget_save(work->store, work->due->agent_id, ledger, version, &work->problem);
        }
    }
    free(ledger);
    return r < 0 ? r : 0;
}

/* ---- The request ----------------------------------------------------------------------------- */

/** The role's model, or the one that the role names for this. */
static void choose_model(struct batch_work *work)
{
    const char *given = work->settings.consolidation_model;
    struct agent_config *config = &work->config;
    if (given == NULL || given[0] == '\0') {
        return;
    }
    const char *colon = strchr(given, ':');
    if (colon != NULL) {
        free(config->provider);
        config->provider = memory_dup_bytes(given, (size_t)(colon - given));
        given = colon + 1;
    }
    free(config->model);
    config->model = memory_dup_string(given);
    config->prices.is_known = false;
}

static int open_model(struct batch_work *work)
{
    struct model_options options = agent_config_model(&work->config);
    options.prices_file = work->parts->prices_file;
    options.http = work->parts->http;
    options.clock = runtime_clock(work->parts->runtime);
    options.random = runtime_random(work->parts->runtime);
    int r = model_open(&options, &work->model, &work->problem);
    if (r == 0) {
        model_set_system(work->model, consolidation_system);
    }
    return r;
}

/** Take the facts of a reply that the policies let the agent remember. */
static void take_facts(struct batch_work *work, const struct model_reply *reply)
{
    struct consolidation_batch *batch = &work->batch;
    size_t kept = 0;
    text_read_facts(reply->text, model_stop_is_cut(reply->stop), batch);
    for (size_t i = 0; i < batch->fact_count; i++) {
        struct consolidation_fact fact = batch->facts[i];
        char input[128];
        snprintf(input, sizeof(input), "{\"kind\":\"semantic\",\"category\":\"%s\"}",
                 fact.category);
        const struct policy_request request = {
            .action = ACTION_REMEMBER, .resource = batch->owner, .input = input};
        if (is_allowed(work, request)) {
            batch->facts[kept++] = fact;
        } else {
            free(fact.content);
        }
    }
    batch->fact_count = kept;
}

static int send(struct batch_work *work, struct model_reply *ret_reply)
{
    struct model_message message;
    model_write_user(work->model, buf_string(&work->prompt), &message);
    const struct model_request request = {
        .messages = &message,
        .message_count = 1,
        .deadline_ns = clock_monotonic(runtime_clock(work->parts->runtime)) + REQUEST_NS,
        .cancel = work->parts->cancel,
    };
    int r = model_ask(work->model, &request, ret_reply, &work->problem);
    free(message.bytes);
    return r;
}

/** Keep what the request used: for the journal and the report. */
static void note_usage(struct batch_work *work, const struct model_reply *reply)
{
    struct consolidation_batch *batch = &work->batch;
    struct consolidation_report *report = work->report;
    batch->tokens_in = reply->usage.input;
    batch->tokens_out = reply->usage.output;
    batch->cost_micro = reply->has_cost ? reply->cost_micro : COST_UNKNOWN;
    batch->duration_ns = reply->duration_ns;
    report->tokens += reply->usage.input + reply->usage.output;
    report->cost_micro += reply->has_cost ? reply->cost_micro : 0;
    report->is_cost_unknown = report->is_cost_unknown || !reply->has_cost;
}

/** @return 0, or a negative code: work->problem says why */
static int ask(struct batch_work *work, const struct budget_rules *rules)
{
    struct model_reply reply = {0};
    int r = send(work, &reply);
    if (r == 0) {
        note_usage(work, &reply);
        r = account(work, rules, &reply);
    }
    if (r == 0 && reply.failure != MODEL_OK) {
        r = error_set(&work->problem, RONDO_ERR_UNSUPPORTED, "model: %s",
                      reply.message == NULL ? model_failure_name(reply.failure) : reply.message);
    }
    if (r == 0) {
        work->report->batches++;
        take_facts(work, &reply);
    }
    model_reply_fini(&reply);
    return r;
}

/** All that comes before a request, and the request. @return 0, or a negative code with problem */
static int consult(struct batch_work *work)
{
    struct budget_rules rules;
    const struct policy_request request = {.action = ACTION_CALL_MODEL,
                                           .resource = work->config.model};
    budget_rules_read(work->config.role->normal, &rules);
    int r = open_gate(work);
    if (r < 0 || !is_allowed(work, request)) {
        work->is_hopeless = r == 0;
        return RONDO_ERR_DENIED;
    }
    if (!has_budget(work, &rules)) {
        return RONDO_ERR_LIMIT;
    }
    r = open_model(work);
    return r < 0 ? r : ask(work, &rules);
}

/* ---- Episodes and facts ---------------------------------------------------------------------- */

static bool gather_episode(const struct store_memory *episode, void *context)
{
    struct batch_work *work = context;
    text_write_episode(episode, &work->prompt);
    work->batch.episodes[work->batch.episode_count++] = episode->id;
    return work->batch.episode_count < CONSOLIDATION_EPISODES;
}

static int read_episodes(struct batch_work *work, struct rondo_error *err)
{
    const struct store_memory_query query = {
        .owner = work->batch.owner,
        .kinds = UINT32_C(1) << STORE_EPISODIC,
        .only_unconsolidated = true,
        .is_oldest_first = true,
        .limit = (uint32_t)work->settings.consolidation_episodes,
    };
    snprintf(work->batch.run_id, sizeof(work->batch.run_id), "%s", work->due->run_id);
    return work->store->ops->read_memories(work->store, &query, gather_episode, work, err);
}

static void write_metadata(const struct consolidation_batch *batch, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "source", "consolidation");
    json_begin_array(&writer, "episodes");
    for (size_t i = 0; i < batch->episode_count; i++) {
        json_write_int(&writer, NULL, batch->episodes[i]);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

/** Make the facts ready. @return how many; one that cannot be stored is left out */
static size_t prepare_facts(const struct batch_work *work, struct memories_item *items)
{
    const struct consolidation_batch *batch = &work->batch;
    struct redact *redact = redact_new((const char *const *)environ);
    auto_buf struct buf metadata = {0};
    size_t count = 0;
    write_metadata(batch, &metadata);
    for (size_t i = 0; i < batch->fact_count; i++) {
        const struct store_memory fact = {
            .owner = batch->owner,
            .kind = STORE_SEMANTIC,
            .created_ns = now_of(work),
            .category = batch->facts[i].category,
            .run_id = batch->run_id,
            .source = "consolidation",
            .metadata = buf_string(&metadata),
            .content = batch->facts[i].content,
        };
        count += memories_prepare_as(batch->facts[i].id, redact, &fact, &items[count], NULL) == 0;
    }
    redact_free(redact);
    return count;
}

/**
 * Store the facts and mark the episodes, in one transaction. Doing it again changes nothing.
 * @return how many facts, or a negative code
 */
static int apply(struct batch_work *work, struct rondo_error *err)
{
    const struct consolidation_batch *batch = &work->batch;
    struct memories_item items[CONSOLIDATION_FACTS] = {0};
    struct store_memory_change *changes =
        memory_new_zero(CONSOLIDATION_FACTS + CONSOLIDATION_EPISODES + 1, sizeof(*changes));
    size_t facts = prepare_facts(work, items);
    size_t count = 0;
    uint64_t changed = 0;
    for (size_t i = 0; i < facts; i++) {
        changes[count++] =
            (struct store_memory_change){.kind = STORE_MEMORY_ADD, .memory = items[i].memory};
    }
    for (size_t i = 0; i < batch->episode_count; i++) {
        changes[count++] = (struct store_memory_change){
            .kind = STORE_MEMORY_CONSOLIDATE,
            .memory = {.id = batch->episodes[i], .consolidated_ns = now_of(work)}};
    }
    changes[count++] =
        (struct store_memory_change){.kind = STORE_MEMORY_PRUNE,
                                     .memory = {.owner = batch->owner, .kind = STORE_SEMANTIC},
                                     .keep = work->settings.keep[STORE_SEMANTIC]};
    int r = work->store->ops->change_memories(work->store, changes, count, &changed, err);
    if (r == 0) {
        work->report->facts += facts;
        work->report->episodes += batch->episode_count;
    }
    for (size_t i = 0; i < facts; i++) {
        memories_item_fini(&items[i]);
    }
    free(changes);
    return r < 0 ? r : (int)facts;
}

/* ---- A batch --------------------------------------------------------------------------------- */

/** The batch is claimed and has no reply yet. @return 1 = it has one now, 0, or a negative code */
static int obtain_reply(struct batch_work *work, enum batch_outcome *ret_outcome,
                        struct rondo_error *err)
{
    const char *by = runtime_owner(work->parts->runtime);
    int r = read_episodes(work, err);
    if (r < 0) {
        return r;
    }
    *ret_outcome = BATCH_NOTHING;
    if (work->batch.episode_count > 0) {
        *ret_outcome = BATCH_FAILED;
        r = record_started(work, err);
        if (r < 0) {
            return r;
        }
        r = consult(work);
        if (r == 0) {
            *ret_outcome = BATCH_HELD;
            return record_reply(work->store, &work->batch, by, now_of(work), err);
        }
        r = record_finished(work, 0, work->problem.message, err);
        if (r < 0) {
            return r;
        }
    }
    return record_release(work->store, &work->batch, err);
}

static int do_batch(struct batch_work *work, enum batch_outcome *ret_outcome,
                    struct rondo_error *err)
{
    const char *by = runtime_owner(work->parts->runtime);
    *ret_outcome = BATCH_HELD;
    int r = record_claim(work->store, work->due->owner, by, now_of(work), &work->batch, err);
    if (r == 1 && !work->batch.is_replied) {
        r = obtain_reply(work, ret_outcome, err);
    }
    if (r <= 0) {
        return r;
    }
    r = apply(work, err);
    if (r >= 0) {
        r = record_finished(work, (size_t)r, NULL, err);
    }
    if (r == 0) {
        *ret_outcome = BATCH_DONE;
        r = record_release(work->store, &work->batch, err);
    }
    return r;
}

/** What was read of one run, before another one is looked at. */
static void forget_run(struct batch_work *work)
{
    memory_settings_fini(&work->settings);
    agent_config_fini(&work->config);
    loop_spec_fini(&work->spec);
    work->spec = (struct loop_spec){0};
}

static void batch_work_fini(struct batch_work *work)
{
    model_free(work->model);
    policy_gate_free(work->gate);
    record_batch_fini(&work->batch);
    forget_run(work);
    buf_fini(&work->prompt);
}

static void say(const struct consolidation_parts *parts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct consolidation_parts *parts, const char *format, ...)
{
    char line[RONDO_ERROR_MESSAGE_SIZE + 256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (parts->log != NULL) {
        parts->log(parts->log_context, line);
    }
}

/** There is something to look at then. */
static void note_next(struct consolidation_report *report, int64_t at_ns)
{
    if (report->next_ns == 0 || at_ns < report->next_ns) {
        report->next_ns = at_ns;
    }
}

/** Another process is at it: look whether it has done it, or has died. */
static void note_others(struct batch_work *work)
{
    note_next(work->report, now_of(work) + OTHERS_NS);
}

/** What failed is due again later, or no more. */
static int put_off(struct batch_work *work, struct rondo_error *err)
{
    struct consolidation_due *due = work->due;
    const char *message = work->problem.message;
    snprintf(work->report->problem, sizeof(work->report->problem), "%s", message);
    int64_t pause_ns = PAUSE_NS << due->attempts;
    due->attempts++;
    if (work->is_hopeless || due->attempts >= MOST_ATTEMPTS) {
        say(work->parts, "memories of %s: the episodes of run %s are not consolidated: %s",
            due->agent_id, due->run_id, message);
        return record_delete_due(work->store, due, err);
    }
    if (due->not_before_ns <= now_of(work)) {
        due->not_before_ns = now_of(work) + pause_ns;
    }
    work->report->waiting++;
    note_next(work->report, due->not_before_ns);
    return record_update_due(work->store, due, err);
}

/** A run that was begun here may have its batch only when it has ended, or was put aside. */
static bool is_over(const struct store_run *run, const struct loop_spec *spec)
{
    bool is_left = run->owner[0] == '\0' && agent_recorded_mode(spec) == AGENT_CHAT;
    return run->ended_ns != 0 || is_left;
}

static int settle_due(struct batch_work *work, struct rondo_error *err)
{
    enum batch_outcome outcome = BATCH_HELD;
    choose_model(work);
    int r = do_batch(work, &outcome, err);
    if (r < 0) {
        return r;
    }
    if (outcome == BATCH_FAILED) {
        return put_off(work, err);
    }
    if (outcome == BATCH_HELD) {
        work->report->waiting++;
        note_others(work);
        return 0;
    }
    return record_delete_due(work->store, work->due, err);
}

/** Look at one that is due. */
static int work_on(const struct consolidation_parts *parts, struct consolidation_due *due,
                   struct consolidation_report *report, struct rondo_error *err)
{
    struct store *store = runtime_store(parts->runtime);
    struct batch_work work = {.parts = parts, .report = report, .due = due, .store = store};
    struct rondo_error why = {0};
    struct store_run run;
    int r = store->ops->get_run(store, due->run_id, &run, &why);
    int has_memory = r < 0 ? r : read_run(&work, &why);
    if (r == RONDO_ERR_NOT_FOUND || has_memory == 0) {
        r = record_delete_due(store, due, err); /* Its role went with the run. */
    } else if (has_memory < 0) {
        r = error_set(err, has_memory, "%s", why.message);
    } else if (!is_over(&run, &work.spec)) {
        if (run.owner[0] != '\0' && strcmp(run.owner, runtime_owner(parts->runtime)) != 0) {
            note_others(&work); /* The end of one of this process is told. */
        }
    } else if (due->not_before_ns > now_of(&work)) {
        report->waiting += run.ended_ns != 0;
        note_next(report, due->not_before_ns);
    } else {
        r = settle_due(&work, err);
    }
    batch_work_fini(&work);
    return r;
}

int consolidation_work(const struct consolidation_parts *parts, const char *agent_id,
                       struct consolidation_report *ret_report, struct rondo_error *err)
{
    struct store *store = runtime_store(parts->runtime);
    auto_free struct consolidation_due *list = NULL;
    size_t count = 0;
    *ret_report = (struct consolidation_report){0};
    int r = record_list_due(store, agent_id, &list, &count, err);
    for (size_t i = 0; i < count && r == 0; i++) {
        if (parts->cancel != NULL && cancel_is_set(parts->cancel)) {
            ret_report->waiting += count - i;
            break;
        }
        r = work_on(parts, &list[i], ret_report, err);
    }
    return r;
}

void consolidation_describe(const struct consolidation_report *report, struct buf *ret_text)
{
    int64_t cost_micro = report->is_cost_unknown ? COST_UNKNOWN : report->cost_micro;
    buf_printf(ret_text, "%" PRIu64 " fact%s from %" PRIu64 " episode%s", report->facts,
               report->facts == 1 ? "" : "s", report->episodes, report->episodes == 1 ? "" : "s");
    if (report->tokens > 0) {
        buf_printf(ret_text, " (%" PRId64 " tokens", report->tokens);
        buf_append_string(ret_text, cost_micro == 0 ? "" : ", cost ");
        if (cost_micro != 0) {
            text_cost(cost_micro, ret_text);
        }
        buf_append_string(ret_text, ")");
    }
}

/* ---- On demand ------------------------------------------------------------------------------- */

/** The newest runs of an agent. */
struct newest_runs {
    char ids[RUNS_LOOKED_AT][ID_SIZE];
    size_t count;
};

static bool keep_run_id(const struct store_run *run, void *context)
{
    struct newest_runs *runs = context;
    memcpy(runs->ids[runs->count++], run->id, ID_SIZE);
    return runs->count < RUNS_LOOKED_AT;
}

/** Find the newest run of a role with memory. @return 1, 0, or a negative code */
static int find_run(struct batch_work *work, struct rondo_error *err)
{
    struct newest_runs runs = {0};
    const struct store_run_query query = {.agent_id = work->due->agent_id, .limit = RUNS_LOOKED_AT};
    int r = work->store->ops->list_runs(work->store, &query, keep_run_id, &runs, err);
    for (size_t i = 0; i < runs.count && r == 0; i++) {
        memcpy(work->due->run_id, runs.ids[i], ID_SIZE);
        r = read_run(work, err);
        if (r == 0) {
            forget_run(work);
        }
    }
    return r;
}

/** Batch after batch. */
static int work_off(struct batch_work *work, struct rondo_error *err)
{
    enum batch_outcome outcome = BATCH_DONE;
    int r = 0;
    choose_model(work);
    while (r == 0 && outcome == BATCH_DONE) {
        record_batch_fini(&work->batch);
        model_free(work->model);
        policy_gate_free(work->gate);
        work->model = NULL;
        work->gate = NULL;
        buf_clear(&work->prompt);
        r = do_batch(work, &outcome, err);
    }
    if (r == 0 && outcome == BATCH_FAILED) {
        snprintf(work->report->problem, sizeof(work->report->problem), "%s", work->problem.message);
    }
    work->report->waiting += outcome == BATCH_HELD;
    return r;
}

int consolidation_work_all(const struct consolidation_parts *parts, const char *agent_id,
                           struct consolidation_report *ret_report, struct rondo_error *err)
{
    struct consolidation_due due = {0};
    struct batch_work work = {
        .parts = parts, .report = ret_report, .due = &due, .store = runtime_store(parts->runtime)};
    *ret_report = (struct consolidation_report){0};
    snprintf(due.agent_id, sizeof(due.agent_id), "%s", agent_id);
    int r = find_run(&work, err);
    if (r == 1) {
        snprintf(due.owner, sizeof(due.owner), "%s", work.settings.owner);
        r = work_off(&work, err);
    } else if (r == 0) {
        r = error_set(err, RONDO_ERR_NOT_FOUND,
                      "%s has no run of a role with memory, which would say what model to ask",
                      agent_id);
    }
    batch_work_fini(&work);
    return r;
}
