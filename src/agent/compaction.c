// SPDX-License-Identifier: Apache-2.0
/* Compaction of a conversation: when it is due, the request, and what comes of it. */
#include "agent/compaction.h"

#include "agent/history/summary_text.h"
#include "agent/internal.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "journal/reader.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Time for a request, its retries included. */
#define REQUEST_NS (INT64_C(120) * NS_PER_S)

/* ---- Opening --------------------------------------------------------------------------------- */

/** The role's model, or the one that the section names. */
static int open_model(struct agent *agent, const char *given, struct rondo_error *err)
{
    struct agent_compaction *compaction = &agent->compaction;
    struct agent_config other = agent->config;
    auto_free char *provider = NULL;
    struct buf id = {0};
    const char *colon = given == NULL ? NULL : strchr(given, ':');
    if (colon != NULL) {
        provider = memory_dup_bytes(given, (size_t)(colon - given));
        other.provider = provider;
        other.model = (char *)colon + 1;
    } else if (given != NULL && given[0] != '\0') {
        other.model = (char *)given;
    }
    if (other.model != agent->config.model) {
        other.prices.is_known = false;
    }
    int r = agent_open_model(agent, &other, &compaction->model, err);
    if (r < 0) {
        error_prefix(err, "autonomy.compaction");
        return r;
    }
    model_set_system(compaction->model, compaction_system);
    buf_printf(&id, "%s:%s", other.provider, other.model);
    compaction->model_id = buf_steal(&id);
    return 0;
}

int compaction_open(struct agent *agent, struct rondo_error *err)
{
    struct agent_compaction *compaction = &agent->compaction;
    struct json_object *spec = json_member(agent->config.role->normal, "spec");
    struct json_object *section = json_member(json_member(spec, "autonomy"), "compaction");
    bool is_alone = agent->config.mode == AGENT_SINGLE && agent->config.carried == NULL;
    if (!json_get_bool(section, "enabled", false) || agent->config.is_dry_run || is_alone) {
        return 0;
    }
    const char *prefix = json_get_string(section, "summary_prefix", NULL);
    compaction->threshold = json_get_int(section, "threshold", 30);
    compaction->tail = json_get_int(section, "tail_messages", 6);
    compaction->prefix = prefix == NULL ? NULL : memory_dup_string(prefix);
    return open_model(agent, json_get_string(section, "model_override", NULL), err);
}

void compaction_fini(struct agent_compaction *compaction)
{
    model_free(compaction->model);
    free(compaction->model_id);
    free(compaction->prefix);
    *compaction = (struct agent_compaction){0};
}

bool compaction_model(const struct agent *agent, struct policy_resource *ret_resource)
{
    const struct model *model = agent->compaction.model;
    if (model == NULL) {
        return false;
    }
    *ret_resource = (struct policy_resource){
        .action = ACTION_CALL_MODEL, .id = model_name(model), .origin = model_provider(model)};
    return true;
}

/* ---- What is due ----------------------------------------------------------------------------- */

/** Messages at the beginning that no summary replaces: a turn's own are the last ones only. */
static size_t head_of(const struct agent *agent)
{
    return agent->carried > 0 ? 0 : 1;
}

/** How many messages after the first a summary would replace; 0 = it gains nothing. */
static size_t replaceable(const struct agent *agent)
{
    const struct agent_compaction *compaction = &agent->compaction;
    const struct history *history = &agent->memory.history;
    size_t head = head_of(agent);
    size_t begin = history_tail(history, (size_t)compaction->tail);
    return begin > head + 1 ? begin - head : 0;
}

bool compaction_is_due(const struct agent *agent)
{
    const struct agent_compaction *compaction = &agent->compaction;
    const struct agent_memory *memory = &agent->memory;
    bool is_begun_turn = agent->carried > 0 && memory->history.count > agent->carried;
    return compaction->model != NULL && memory->call_count == 0 && !is_begun_turn &&
           memory->history.count > (size_t)compaction->threshold && replaceable(agent) > 0;
}

/* ---- The messages as a text ------------------------------------------------------------------ */

struct gathering {
    struct compaction_text *text;
    uint64_t end; /* seq of the first event that is not wanted */
};

static bool gather_event(const struct journal_entry *entry, void *context)
{
    struct gathering *gathering = context;
    if (entry->event.seq >= gathering->end) {
        return false;
    }
    /* A summary among them is found by its own place: events that it replaced come before it. */
    if (entry->is_known && entry->event.type != JOURNAL_HISTORY_COMPACTED) {
        compaction_text_event(gathering->text, &entry->event);
    }
    return true;
}

static bool gather_summary(const struct journal_entry *entry, void *context)
{
    if (entry->is_known) {
        compaction_text_event(context, &entry->event);
    }
    return false;
}

/** What a turn has taken over: its texts, as they became messages. */
static void gather_carried(const struct agent *agent, size_t replaced, struct compaction_text *text)
{
    const char *summary = agent->config.carried_summary;
    struct json_object *texts = agent->config.carried;
    size_t count = json_length(texts);
    size_t messages = 0;
    if (summary != NULL) {
        compaction_text_add(text, "EARLIER SUMMARY", summary, strlen(summary));
        messages++;
    }
    for (size_t i = 0; i < count && messages < replaced; i++) {
        auto_buf struct buf why = {0};
        const char *asked =
            json_object_get_string(json_object_array_get_idx(texts, i & ~(size_t)1));
        const char *words = json_object_get_string(json_object_array_get_idx(texts, i));
        if (content_accepts(agent->content, asked, &why)) {
            compaction_text_add(text, i % 2 == 0 ? "USER" : "AGENT", words, strlen(words));
            messages++;
        }
    }
}

/** The messages of the run's own journal. The events before the iteration are committed. */
static int gather_own(struct agent *agent, size_t replaced, struct compaction_text *text,
                      struct rondo_error *err)
{
    const struct history *history = &agent->memory.history;
    struct store *store = runtime_store(agent->runtime);
    const char *run_id = loop_run_id(agent->loop);
    size_t from = 1;
    size_t end = 1 + replaced;
    int r = 0;
    if (history->head > 1) {
        r = journal_visit(store, run_id, history->seqs[1] - 1, 1, gather_summary, text, err);
        from = 2;
    }
    struct gathering gathering = {.text = text,
                                  .end = end < history->count ? history->seqs[end]
                                                              : loop_state(agent->loop)->seq + 1};
    return r < 0 || from >= end ? r
                                : journal_visit(store, run_id, history->seqs[from] - 1, 0,
                                                gather_event, &gathering, err);
}

static int gather(struct agent *agent, size_t replaced, struct compaction_text *text,
                  struct rondo_error *err)
{
    compaction_text_begin(text, replaced);
    if (agent->carried > 0) {
        gather_carried(agent, replaced, text);
        return 0;
    }
    return gather_own(agent, replaced, text, err);
}

/* ---- The result ------------------------------------------------------------------------------ */

static void record_compacted(struct agent *agent, const struct event_history_compacted *result)
{
    struct journal_event event = {.type = JOURNAL_HISTORY_COMPACTED, .history_compacted = *result};
    event.history_compacted.iteration = (int64_t)agent->memory.iteration;
    event.history_compacted.model = agent->compaction.model_id;
    event.history_compacted.messages_before = (int64_t)agent->memory.history.count;
    agent_record(agent, &event);
}

static void record_failed(struct agent *agent, const char *outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void record_failed(struct agent *agent, const char *outcome, const char *format, ...)
{
    char message[RONDO_ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    record_compacted(agent,
                     &(struct event_history_compacted){.outcome = outcome, .message = message});
}

/** What the role's filter says of a summary; it is no answer to anybody. */
struct filtering {
    bool is_blocked;
    char message[256];
};

static void note_filtered(void *context, const char *subject, const char *action,
                          const char *message)
{
    struct filtering *filtering = context;
    (void)subject;
    if (strcmp(action, "blocked") == 0) {
        filtering->is_blocked = true;
        snprintf(filtering->message, sizeof(filtering->message), "%s", message);
    }
}

/** Why a reply is no summary; NULL = it is one. */
static const char *fault_of(const struct model_reply *reply, const struct filtering *filtering)
{
    bool is_cut = reply->stop == MODEL_STOP_LENGTH && reply->text[0] != '\0';
    if (reply->failure != MODEL_OK) {
        return reply->message == NULL ? model_failure_name(reply->failure) : reply->message;
    }
    if (filtering->is_blocked) {
        return filtering->message;
    }
    if (reply->text[0] == '\0') {
        return "the model has written nothing";
    }
    return model_stop_is_answer(reply->stop) || is_cut ? NULL : model_stop_meaning(reply->stop);
}

static void take_reply(struct agent *agent, size_t replaced, struct model_reply *reply)
{
    struct filtering filtering = {0};
    auto_buf struct buf text = {0};
    content_filter_reply(agent->content, reply, note_filtered, &filtering);
    const char *fault = fault_of(reply, &filtering);
    bool is_used = reply->usage.input > 0 || reply->usage.output > 0 || fault == NULL;
    struct event_history_compacted result = {
        .outcome = fault == NULL ? "ok" : "failed",
        .tokens_in = reply->usage.input,
        .tokens_out = reply->usage.output,
        .cost_micro = reply->has_cost ? reply->cost_micro
                      : is_used       ? COST_UNKNOWN
                                      : 0,
        .duration_ns = reply->duration_ns,
        .message = fault,
    };
    if (fault == NULL) {
        compaction_text_summary(agent->compaction.prefix, (int64_t)replaced, reply->text, &text);
        result.replaced = (int64_t)replaced;
        result.summary = buf_string(&text);
        result.summary_len = text.len;
    }
    record_compacted(agent, &result);
}

/* ---- The request ----------------------------------------------------------------------------- */

static int send(struct agent *agent, const struct model_message *message,
                struct model_reply *ret_reply, struct rondo_error *err)
{
    int64_t now_ns = clock_monotonic(runtime_clock(agent->runtime));
    struct agent_deadline deadline = agent_deadline(agent);
    char key[ID_SIZE + 48];
    snprintf(key, sizeof(key), "%s-compaction-%" PRIu64, loop_run_id(agent->loop),
             agent->memory.iteration);
    const struct model_request request = {
        .messages = message,
        .message_count = 1,
        .deadline_ns = deadline.at_ns - now_ns > REQUEST_NS ? now_ns + REQUEST_NS : deadline.at_ns,
        .cancel = agent_cancel(agent),
        .idempotency_key = key,
    };
    return model_ask(agent->compaction.model, &request, ret_reply, err);
}

static void record_compacting(struct agent *agent, size_t replaced)
{
    const struct journal_event event = {
        .type = JOURNAL_HISTORY_COMPACTING,
        .history_compacting = {.iteration = (int64_t)agent->memory.iteration,
                               .model = agent->compaction.model_id,
                               .messages_before = (int64_t)agent->memory.history.count,
                               .replaced = (int64_t)replaced},
    };
    agent_record(agent, &event);
}

/** Intent, request, result: as for a request of the conversation. */
static int ask(struct agent *agent, size_t replaced, const struct model_message *message,
               struct rondo_error *err)
{
    struct model_reply reply = {0};
    int next = spending_wait(agent, err);
    if (next != AGENT_CONTINUE) {
        return next;
    }
    record_compacting(agent, replaced);
    spending_reserve(agent, agent->compaction.model, message, 1);
    int r = loop_commit(agent->loop, err);
    r = r < 0 ? r : spending_confirm(agent, err);
    if (r != AGENT_CONTINUE) {
        return r;
    }
    r = send(agent, message, &reply, err);
    if (r == 0) {
        take_reply(agent, replaced, &reply);
        r = spending_settle(agent, &reply, err);
    }
    model_reply_fini(&reply);
    return r < 0 ? r : loop_commit(agent->loop, err);
}

/** Whether the model may be asked; otherwise the event says why not. */
static bool may_ask(struct agent *agent)
{
    const struct model *model = agent->compaction.model;
    struct policy_verdict verdict;
    bool is_priced = model_has_price(model);
    if (!is_priced && budget_rules_limit_cost(&agent->spending.rules)) {
        auto_buf struct buf why = {0};
        loop_explain_unpriced(agent->compaction.model_id, &why);
        record_failed(agent, "denied", "%s", buf_string(&why));
        return false;
    }
    if (!loop_ask_other_model(agent->loop, model_name(model), is_priced, &verdict)) {
        record_failed(agent, "denied", "%s", verdict.message);
        return false;
    }
    return true;
}

static int compact(struct agent *agent, struct rondo_error *err)
{
    struct compaction_text text;
    struct rondo_error why = {0};
    size_t replaced = replaceable(agent);
    int r = AGENT_CONTINUE;
    if (gather(agent, replaced, &text, &why) < 0 || text.text.len == 0) {
        record_failed(agent, "failed", "the messages cannot be read%s%s",
                      why.message[0] == '\0' ? "" : ": ", why.message);
    } else if (may_ask(agent)) {
        struct model_message message;
        model_write_user(agent->compaction.model, buf_string(&text.text), &message);
        r = ask(agent, replaced, &message, err);
        free(message.bytes);
    }
    compaction_text_fini(&text);
    return r;
}

int compaction_run(struct agent *agent, struct rondo_error *err)
{
    const struct agent_memory *memory = &agent->memory;
    if (memory->is_compacting) {
        record_failed(agent, "interrupted",
                      "the process ended before the model's reply was recorded, and it is not "
                      "requested a second time");
        return AGENT_CONTINUE;
    }
    bool is_tried = memory->compacted == memory->iteration;
    if (!compaction_is_due(agent) || is_tried || agent_check_limits_left(agent) != AGENT_CONTINUE) {
        return AGENT_CONTINUE; /* What is used up is reported by the next request. */
    }
    return compact(agent, err);
}
