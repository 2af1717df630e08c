// SPDX-License-Identifier: Apache-2.0
/*
 * The run that works on an issue: that of a PRD whose task is the issue (queue_task.c). So working
 * trees, checks, attempts and commits are those of `rondo prd run`.
 *
 * all opens: the folder of tasks is the user's, and out of the reach of sandboxed workers.
 */
#include "issues/queue/internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "git/commit.h"
#include "journal/reader.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "work/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The branch ----------------------------------------------------------------------------- */

/** What a fetch came to. @param what was fetched @param ret_is_there whether the remote has it */
static int judge_fetch(struct issue_queue *queue, const char *what, int r, enum git_claim_end end,
                       bool *ret_is_there, struct rondo_error *err)
{
    queue_git_ended(queue, r == 0 ? end : GIT_CLAIM_NETWORK, err->message);
    *ret_is_there = r == 0 && end == GIT_CLAIM_DONE;
    if (r == 0 && end == GIT_CLAIM_LOST) {
        *err = (struct rondo_error){0};
    } else if (r == 0 && end != GIT_CLAIM_DONE) {
        r = RONDO_ERR_IO; /* Also without credentials: a token that has expired is renewed. */
        error_prefix(err, "branch %s cannot be fetched", what);
    }
    return r;
}

/** A branch of the same name in the repository itself is not the item's. */
static int fetch_from_fork(struct issue_queue *queue, const struct item *item,
                           struct git_base *ret_base, struct rondo_error *err)
{
    char id[GIT_ID_SIZE] = "";
    bool is_there = false;
    enum git_claim_end end = GIT_CLAIM_NETWORK;
    int r = git_fetch_branch(&queue->git, queue_branch_access(queue), item->branch, id, &end, err);
    r = judge_fetch(queue, item->branch, r, end, &is_there, err);
    snprintf(ret_base->remote_id, sizeof(ret_base->remote_id), "%s", is_there ? id : "");
    return r;
}

/** Fetch the base, and the branch if the remote has it: one connection for both. */
static int fetch_base(struct issue_queue *queue, const struct item *item, struct git_base *ret_base,
                      struct rondo_error *err)
{
    enum git_claim_end end = GIT_CLAIM_NETWORK;
    bool is_there = false;
    int r = git_fetch_base(&queue->git, &queue->options.access, item->base_branch, item->branch,
                           ret_base, &end, err);
    r = judge_fetch(queue, item->base_branch, r, end, &is_there, err);
    if (r == 0 && is_there && queue->options.fork != NULL) {
        return fetch_from_fork(queue, item, ret_base, err);
    }
    return r < 0 || is_there
               ? r
               : error_set(err, RONDO_ERR_STATE, "the remote has no branch %s", item->base_branch);
}

/** Bring the branch here to where the remote has it, if a process elsewhere has pushed more. */
static int take_remote(struct issue_queue *queue, const char *branch, struct git_base *base,
                       struct rondo_error *err)
{
    bool is_behind = false;
    bool is_moved = false;
    const char *tip = base->local_id;
    if (base->remote_id[0] == '\0' || strcmp(base->remote_id, tip) == 0) {
        return 0;
    }
    int r = tip[0] == '\0'
                ? 0
                : git_commit_is_ancestor(&queue->git, tip, base->remote_id, &is_behind, err);
    if (r == 0 && (tip[0] == '\0' || is_behind)) {
        r = git_branch_move(&queue->git, branch, tip[0] == '\0' ? NULL : tip, base->remote_id,
                            "rondo: continue an issue", &is_moved, err);
        snprintf(base->local_id, sizeof(base->local_id), "%s", base->remote_id);
    }
    return r;
}

int queue_base_endures(struct issue_queue *queue, const struct queue_slot *slot, bool *ret_endures,
                       struct rondo_error *err)
{
    char id[GIT_ID_SIZE];
    bool is_there = false;
    enum git_claim_end end = GIT_CLAIM_NETWORK;
    const struct item *item = &slot->item;
    int r = git_fetch_branch(&queue->git, &queue->options.access, item->base_branch, id, &end, err);
    r = judge_fetch(queue, item->base_branch, r, end, &is_there, err);
    if (r == 0 && (!is_there || item->base_id[0] == '\0')) {
        *ret_endures = is_there;
        return 0;
    }
    return r < 0 ? r : git_commit_is_ancestor(&queue->git, item->base_id, id, ret_endures, err);
}

/** Whether a tip comes from a base that was replaced by force since. A pull request keeps it. */
static int is_from_replaced(struct issue_queue *queue, const struct queue_slot *slot,
                            const char *tip, const char *base, bool *ret_is,
                            struct rondo_error *err)
{
    bool endures = true;
    const struct item *item = &slot->item;
    *ret_is = false;
    if (item->base_id[0] == '\0' || item->pull > 0) {
        return 0;
    }
    int r = git_commit_is_ancestor(&queue->git, item->base_id, base, &endures, err);
    return r < 0 || endures ? r
                            : git_commit_is_ancestor(&queue->git, item->base_id, tip, ret_is, err);
}

/**
 * Where the branch begins: at the base as the remote has it now. What an earlier try has left on
 * it, here or at the remote, and nobody has merged, is kept: the work continues from there.
 */
static int find_base(struct issue_queue *queue, struct queue_slot *slot, char ret_id[GIT_ID_SIZE],
                     struct rondo_error *err)
{
    struct item *item = &slot->item;
    struct git_base base = {0};
    const char *tip = base.local_id;
    bool is_merged = false;
    bool is_moved = false;
    bool is_replaced = false;
    int r = fetch_base(queue, item, &base, err);
    if (r < 0) {
        return r;
    }
    r = take_remote(queue, item->branch, &base, err);
    if (r == 0 && tip[0] != '\0') {
        r = git_commit_is_ancestor(&queue->git, tip, base.base_id, &is_merged, err);
        r = r < 0 ? r : is_from_replaced(queue, slot, tip, base.base_id, &is_replaced, err);
    }
    snprintf(ret_id, GIT_ID_SIZE, "%s", base.base_id);
    snprintf(item->base_id, sizeof(item->base_id), "%s", ret_id);
    if (r < 0 || tip[0] == '\0') {
        return r;
    }
    if (is_merged || is_replaced) {
        r = git_branch_move(&queue->git, item->branch, tip, ret_id, "rondo: begin an issue",
                            &is_moved, err);
    } else {
        snprintf(ret_id, GIT_ID_SIZE, "%s", tip);
    }
    return r;
}

/* ---- Starting ------------------------------------------------------------------------------- */

static char *in_folder(const char *folder, const char *name)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, name);
    return buf_steal(&path);
}

static void replace(char **slot, char *owned)
{
    free(*slot);
    *slot = owned;
}

/** The template, and what this issue adds. */
static void make_work(struct issue_queue *queue, const struct queue_slot *slot, const char *folder,
                      const char *base, struct buf *ret_json)
{
    const struct item *item = &slot->item;
    auto_free char *prd = in_folder(folder, "prd.json");
    auto_free char *progress = in_folder(folder, "progress.txt");
    auto_free char *name = item_key(item->repository, item->number);
    auto_free char *base_id = memory_dup_string(base);
    struct work_spec work = *queue->options.work; /* Shares what it does not have anew. */
    work.prd = prd;
    work.progress = progress;
    work.name = name;
    work.branch = item->branch;
    work.base = base_id;
    work.issue = item->number;
    work.jobs = 1;
    work_spec_encode(&work, ret_json);
}

/** What earlier runs of the issue have left; 0 would mean that there is no limit. */
static int64_t left_of(int64_t most, int64_t used)
{
    return most - used > 1 ? most - used : 1;
}

static int start_new(struct issue_queue *queue, struct queue_slot *slot, struct rondo_error *err)
{
    const struct issue_queue_options *options = &queue->options;
    struct item *item = &slot->item;
    auto_free char *folder = NULL;
    auto_buf struct buf work = {0};
    auto_buf struct buf agent = {0};
    char base[GIT_ID_SIZE];
    int64_t tasks = 1;
    int r = find_base(queue, slot, base, err);
    r = r < 0 ? r : queue_task_write(queue, slot, &folder, &tasks, err);
    if (r < 0) {
        return r;
    }
    make_work(queue, slot, folder, base, &work);
    struct loop_spec spec = loop_spec_dup(options->run);
    buf_printf(&agent, "issue-%s-%s-%" PRId64, options->place->owner, options->place->name,
               item->number);
    replace(&spec.agent_id, loop_spec_agent_of(buf_string(&agent)));
    replace(&spec.prompt, memory_dup_string(item->title));
    replace(&spec.work, buf_steal(&work));
    snprintf(spec.run_id, sizeof(spec.run_id), "%s", item->run_id);
    spec.max_iterations = left_of(options->item.max_attempts, item->attempts) * tasks;
    if (spec.max_tokens > 0) {
        spec.max_tokens = left_of(spec.max_tokens, item->tokens);
    }
    if (spec.max_cost_micro > 0 && item->cost_micro > 0) {
        spec.max_cost_micro = left_of(spec.max_cost_micro, item->cost_micro);
    }
    spec.time_limit_ns = left_of(options->item.max_active_ns, item->active_ns);
    /* Much was fetched and read since the last proof. */
    r = queue_prove(queue, slot) ? options->port->start(options->port->context, &spec, err)
                                 : error_set(err, RONDO_ERR_BUSY, "the claim cannot be confirmed");
    loop_spec_fini(&spec);
    return r;
}

void queue_run_name(struct issue_queue *queue, struct queue_slot *slot)
{
    struct item *item = &slot->item;
    bool is_new = item->run_id[0] == '\0' || item->state == ITEM_RETRY_LATER;
    if (slot->outcome.fact != RUN_FACT_IDLE && is_new) {
        id_new(clock_now(queue->options.clock), queue->options.random, item->run_id);
        item->state = item->state == ITEM_RETRY_LATER ? ITEM_ASSIGNED : item->state;
        queue_outcome_fini(&slot->outcome);
    }
}

int queue_run_start(struct issue_queue *queue, struct queue_slot *slot, struct rondo_error *err)
{
    const struct issue_port *port = queue->options.port;
    struct item *item = &slot->item;
    if (slot->outcome.fact == RUN_FACT_IDLE) {
        return port->resume(port->context, item->run_id, err);
    }
    return start_new(queue, slot, err);
}

/* ---- What came of it ------------------------------------------------------------------------ */

void queue_outcome_fini(struct queue_outcome *outcome)
{
    for (size_t i = 0; i < outcome->check_count; i++) {
        free((char *)outcome->checks[i].name);
        free((char *)outcome->checks[i].command);
        free((char *)outcome->checks[i].output);
    }
    free(outcome->checks);
    free(outcome->message);
    free(outcome->log);
    free(outcome->summary);
    *outcome = (struct queue_outcome){0};
}

/** The use of a run counts once, whatever becomes of this process. */
static void count_run(struct issue_queue *queue, struct queue_slot *slot)
{
    struct item *item = &slot->item;
    const struct queue_outcome *outcome = &slot->outcome;
    if (strcmp(item->counted_run, item->run_id) == 0) {
        return;
    }
    item->attempts += outcome->attempts;
    item->tokens += outcome->tokens;
    item->active_ns += outcome->active_ns;
    item->cost_micro = outcome->cost_micro < 0 || item->cost_micro < 0
                           ? COST_UNKNOWN
                           : item->cost_micro + outcome->cost_micro;
    snprintf(item->commit, sizeof(item->commit), "%s", outcome->commit);
    snprintf(item->counted_run, sizeof(item->counted_run), "%s", item->run_id);
    item->counted_ns = clock_now(queue->options.clock);
    item_use(item, item->counted_ns, outcome->tokens > 0 ? outcome->tokens : 0,
             outcome->cost_micro < 0 ? COST_UNKNOWN : outcome->cost_micro);
    queue->day_seen_ns = 0;
    queue_save(queue, slot);
}

/** What the run of an attempt says about the service behind it. */
static bool note_service(const struct journal_entry *entry, void *context)
{
    static const char *const passing[] = {"api_transient", "api_quota", "rate_limited",
                                          "overloaded",    "timed_out", "unreachable"};
    const char *outcome = NULL;
    bool *is_transient = context;
    if (entry->is_known && entry->event.type == JOURNAL_WORKER_FINISHED) {
        outcome = entry->event.worker_finished.outcome;
    } else if (entry->is_known && entry->event.type == JOURNAL_MODEL_REPLIED) {
        outcome = entry->event.model_replied.outcome;
    }
    if (outcome != NULL) {
        *is_transient = false;
        for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
            *is_transient = *is_transient || strcmp(outcome, passing[i]) == 0;
        }
    }
    return true;
}

static bool is_service_fault(struct issue_queue *queue, const struct work_attempt *attempt)
{
    bool is_transient = false;
    journal_visit(queue->options.store, attempt->run, 0, UINT32_MAX, note_service, &is_transient,
                  NULL);
    return is_transient;
}

static enum run_fact judge_failure(struct issue_queue *queue, const struct work_attempt *last)
{
    static const struct {
        const char *outcome;
        enum run_fact fact;
    } facts[] = {
        {"no_change", RUN_FACT_NO_CHANGE},
        {"denied", RUN_FACT_DENIED},
        {"conflict", RUN_FACT_CONFLICT},
    };
    for (size_t i = 0; last != NULL && i < sizeof(facts) / sizeof(facts[0]); i++) {
        if (strcmp(last->outcome, facts[i].outcome) == 0) {
            return facts[i].fact;
        }
    }
    if (last != NULL && strcmp(last->outcome, "worker_failed") == 0 &&
        is_service_fault(queue, last)) {
        return RUN_FACT_TRANSIENT;
    }
    return RUN_FACT_FAILED;
}

static enum run_fact judge_end(struct issue_queue *queue, const struct store_run *row,
                               const struct work_history *history, const struct work_attempt *last)
{
    bool is_interrupted = last != NULL && strcmp(last->outcome, "interrupted") == 0;
    if (row->summary.status == RONDO_COMPLETED) {
        return history->state.tip[0] != '\0' ? RUN_FACT_DONE : RUN_FACT_NO_CHANGE;
    }
    switch (row->summary.status) {
    case RONDO_TIMEOUT:
        return RUN_FACT_TIME_OVER;
    case RONDO_BUDGET_EXCEEDED:
        return RUN_FACT_BUDGET_SPENT;
    case RONDO_POLICY_VIOLATION:
        return RUN_FACT_DENIED;
    case RONDO_CANCELLED:
        return RUN_FACT_STOPPED; /* What the queue has stopped belongs to an item that is over. */
    case RONDO_ERROR:
        return RUN_FACT_TRANSIENT;
    case RONDO_BLOCKED:
        return is_interrupted ? RUN_FACT_AUTH : RUN_FACT_CONFLICT;
    default:
        return judge_failure(queue, last);
    }
}

static void take_checks(const struct work_attempt *last, struct queue_outcome *ret_outcome)
{
    ret_outcome->checks = memory_new_zero(last->check_count + 1, sizeof(*ret_outcome->checks));
    for (size_t i = 0; i < last->check_count; i++) {
        const struct work_check *check = &last->checks[i];
        if (check->stage == NULL || strcmp(check->stage, "before") == 0) {
            continue;
        }
        ret_outcome->checks[ret_outcome->check_count++] =
            (struct item_check){.name = memory_dup_string(check->name),
                                .command = memory_dup_string(check->command),
                                .output = memory_dup_string(check->output),
                                .is_met = check->is_met,
                                .duration_ns = check->duration_ns};
    }
}

/** The branch has commits that nobody has merged, of an earlier run. @param ret_tip its last one */
static bool has_unmerged(struct issue_queue *queue, const struct item *item,
                         char ret_tip[GIT_ID_SIZE])
{
    bool is_merged = true;
    return item->base_id[0] != '\0' &&
           git_branch_read(&queue->git, item->branch, ret_tip, NULL) == 0 &&
           git_commit_is_ancestor(&queue->git, ret_tip, item->base_id, &is_merged, NULL) == 0 &&
           !is_merged;
}

/** The last attempt of the task that failed, or of the last one. */
static const struct work_attempt *find_last(const struct work_history *history)
{
    const struct work_attempt *last = NULL;
    for (size_t i = 0; i < history->state.count; i++) {
        const struct work_attempt *attempt = work_history_last(history, i);
        bool is_failed = history->state.tasks[i].phase == WORK_FAILED;
        last = attempt != NULL ? attempt : last;
        if (is_failed && attempt != NULL) {
            return attempt;
        }
    }
    return last;
}

static void take_use(const struct store_run *row, const struct work_history *history,
                     struct queue_outcome *ret_outcome)
{
    ret_outcome->tokens = row->summary.tokens;
    ret_outcome->cost_micro = row->summary.cost_micro;
    for (size_t i = 0; i < history->state.count; i++) {
        const struct work_task *task = &history->state.tasks[i];
        int64_t attempts = task->failed + (task->commit[0] != '\0' ? 1 : 0);
        ret_outcome->active_ns += task->duration_ns;
        ret_outcome->attempts = attempts > ret_outcome->attempts ? attempts : ret_outcome->attempts;
    }
}

static bool note_stop(const struct journal_entry *entry, void *context)
{
    struct buf *who = context;
    if (entry->is_known && entry->event.type == JOURNAL_RUN_STOP_REQUESTED) {
        const char *by = entry->event.run_stop_requested.by;
        buf_clear(who);
        buf_append_string(who, by == NULL ? "" : by);
    }
    return true;
}

/** "stopped by alice". The journal of another process may name anybody. */
static char *find_stop(struct issue_queue *queue, const char *run_id)
{
    auto_buf struct buf who = {0};
    struct buf text = {0};
    journal_visit(queue->options.store, run_id, 0, UINT32_MAX, note_stop, &who, NULL);
    buf_append_string(&text, "its run was stopped by ");
    text_clean(buf_string(&who), who.len, &text);
    buf_append_string(&text, who.len == 0 ? "a person" : "");
    return buf_steal(&text);
}

static void take_history(struct issue_queue *queue, const struct item *item,
                         const struct store_run *row, const struct work_history *history,
                         struct queue_outcome *ret_outcome)
{
    const struct work_attempt *last = find_last(history);
    char *commit = ret_outcome->commit;
    ret_outcome->fact = judge_end(queue, row, history, last);
    snprintf(commit, GIT_ID_SIZE, "%s", history->state.tip);
    take_use(row, history, ret_outcome);
    if (ret_outcome->fact == RUN_FACT_NO_CHANGE && has_unmerged(queue, item, commit)) {
        ret_outcome->fact = RUN_FACT_DONE; /* An earlier run has done it, and was cut off. */
    }
    if (last != NULL) {
        ret_outcome->message = memory_dup_string(last->message);
        ret_outcome->log = memory_dup_string(last->output);
        ret_outcome->summary = memory_dup_string(last->summary);
        take_checks(last, ret_outcome);
        ret_outcome->gate_print = ret_outcome->fact == RUN_FACT_FAILED ? queue_gate_print(last) : 0;
    }
    if (ret_outcome->fact == RUN_FACT_STOPPED) {
        replace(&ret_outcome->message, find_stop(queue, item->run_id));
    }
}

/** Outputs are read of one task only: that of the issue, or of the part that failed. */
static int load_history(struct issue_queue *queue, const struct item *item, char id[QUEUE_TASK_ID],
                        struct work_history *ret_history, struct rondo_error *err)
{
    struct store *store = queue->options.store;
    snprintf(id, QUEUE_TASK_ID, "%" PRId64, item->number);
    int r = work_history_load(store, item->run_id, id, ret_history, err);
    const struct work_attempt *last = r < 0 ? NULL : find_last(ret_history);
    const char *found = last == NULL ? id : ret_history->state.tasks[last->task].id;
    if (strcmp(found, id) == 0) {
        return r;
    }
    snprintf(id, QUEUE_TASK_ID, "%s", found);
    work_history_fini(ret_history);
    *ret_history = (struct work_history){0};
    return work_history_load(store, item->run_id, id, ret_history, err);
}

static void see_end(struct issue_queue *queue, struct queue_slot *slot, const struct store_run *row)
{
    struct work_history history = {0};
    struct rondo_error err = {0};
    char id[QUEUE_TASK_ID];
    bool was_said = slot->outcome.fact == RUN_FACT_UNREADABLE;
    queue_outcome_fini(&slot->outcome);
    if (load_history(queue, &slot->item, id, &history, &err) < 0) {
        slot->outcome.fact = RUN_FACT_UNREADABLE; /* Not "none": that would begin another one. */
        if (!was_said) {
            queue_say(queue, slot, "its run cannot be read: %s", err.message);
        }
    } else {
        take_history(queue, &slot->item, row, &history, &slot->outcome);
        if (slot->outcome.fact !=
            RUN_FACT_IDLE) { /* else it continues, and is counted at its end */
            snprintf(slot->outcome.run_id, ID_SIZE, "%s", slot->item.run_id);
            count_run(queue, slot);
        }
    }
    work_history_fini(&history);
}

void queue_run_see(struct issue_queue *queue, struct queue_slot *slot)
{
    const struct issue_port *port = queue->options.port;
    struct store *store = queue->options.store;
    struct item *item = &slot->item;
    struct store_run row;
    bool is_seen = item->run_id[0] != '\0' && strcmp(slot->outcome.run_id, item->run_id) == 0;
    if (item->run_id[0] == '\0') {
        slot->outcome.fact = RUN_FACT_NONE;
    } else if (port->is_executing(port->context, item->run_id)) {
        slot->outcome.fact = RUN_FACT_ACTIVE;
    } else if (!is_seen && store->ops->get_run(store, item->run_id, &row, NULL) != 0) {
        slot->outcome.fact = RUN_FACT_NONE;
    } else if (!is_seen && row.summary.status == RONDO_RUNNING) {
        slot->outcome.fact = RUN_FACT_IDLE;
    } else if (!is_seen) {
        see_end(queue, slot, &row);
    }
}
