// SPDX-License-Identifier: Apache-2.0
/* A worker: it looks, asks item_next(), and does that, an effect at a time. */
#include "sim_issues.h"

#include "base/memory.h"
#include "support/store/memory_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_slot *sim_slot_of(const struct sim *sim, struct sim_worker *worker,
                             const struct sim_issue *issue)
{
    return &worker->slots[issue - sim->issues];
}

void sim_new_nonce(struct sim *sim, char *ret_nonce)
{
    id_new(sim->now_ns, &sim->random, ret_nonce);
}

void sim_save(struct sim *sim, struct sim_worker *worker, struct sim_slot *slot)
{
    struct rondo_error err = {0};
    worker->is_changed = true;
    slot->item.updated_ns = sim->now_ns;
    if (item_save(worker->store, &slot->item, &err) < 0) {
        sim_fail(sim, "an item cannot be saved: %s", err.message);
    }
}

/* ---- Looking -------------------------------------------------------------------------------- */

static bool is_label_off(const struct sim_issue *issue, const struct item *item)
{
    bool waits = item->state == ITEM_BLOCKED || item->state == ITEM_NEEDS_HUMAN;
    return waits && item->mirrored == item->state && (issue->labels & sim_label(item->state)) == 0;
}

static enum issue_fact see_issue(struct sim *sim, struct sim_issue *issue, const struct item *item)
{
    char digest[32];
    snprintf(digest, sizeof(digest), "%d", issue->content);
    if (sim_strikes(sim, 20)) {
        return ISSUE_FACT_UNKNOWN;
    }
    if (issue->is_gone) {
        return ISSUE_FACT_GONE;
    }
    if (issue->command_id > item->read_comment_id) {
        return issue->command == ITEM_COMMAND_RETRY ? ISSUE_FACT_RETRY : ISSUE_FACT_RELEASED;
    }
    if (is_label_off(issue, item)) {
        return ISSUE_FACT_RETRY;
    }
    return !issue->is_open                             ? ISSUE_FACT_CLOSED
           : !issue->is_labelled                       ? ISSUE_FACT_UNLABELLED
           : issue->is_away                            ? ISSUE_FACT_REASSIGNED
           : strcmp(digest, item->content_digest) != 0 ? ISSUE_FACT_EDITED
                                                       : ISSUE_FACT_WANTED;
}

static void end_run(struct sim *sim, struct sim_slot *slot)
{
    static const enum run_fact ends[] = {
        RUN_FACT_DONE,      RUN_FACT_DONE,      RUN_FACT_DONE,         RUN_FACT_DONE,
        RUN_FACT_DONE,      RUN_FACT_TRANSIENT, RUN_FACT_TRANSIENT,    RUN_FACT_TRANSIENT,
        RUN_FACT_NO_CHANGE, RUN_FACT_FAILED,    RUN_FACT_BUDGET_SPENT, RUN_FACT_CONFLICT,
        RUN_FACT_STOPPED};
    struct sim_attempt *run = &slot->run;
    run->is_executing = false;
    run->fact = ends[sim_below(sim, sizeof(ends) / sizeof(ends[0]))];
    if (run->fact == RUN_FACT_DONE) {
        run->commit = ++sim->commits;
        SIM_CHECK(sim, run->commit < SIM_COMMITS, "too many commits");
        sim->parents[run->commit] = run->parent;
    }
}

static enum run_fact see_run(struct sim *sim, struct sim_slot *slot)
{
    struct sim_attempt *run = &slot->run;
    if (slot->item.run_id[0] == '\0' || strcmp(run->id, slot->item.run_id) != 0) {
        return RUN_FACT_NONE;
    }
    if (run->is_executing) {
        slot->item.active_ns = run->before_ns + sim->now_ns - run->began_ns;
    }
    if (run->is_executing && sim->now_ns >= run->ends_ns) {
        end_run(sim, slot);
    }
    if (!run->is_executing && run->fact == RUN_FACT_DONE) {
        snprintf(slot->item.commit, sizeof(slot->item.commit), "%d", run->commit);
    }
    return run->is_executing ? RUN_FACT_ACTIVE : run->fact;
}

static enum pull_fact see_pull(struct sim *sim, struct sim_issue *issue, const struct item *item)
{
    const struct sim_pull *pull = sim_find_pull(issue, item->pull);
    return item->pull == 0 || sim_strikes(sim, 20) ? PULL_UNKNOWN
           : pull == NULL                          ? PULL_NONE
                                                   : pull->state;
}

static bool is_mirror_right(const struct sim_issue *issue, const struct item *item)
{
    return item->mirrored == item->state && issue->labels == sim_label(item->state) &&
           issue->comment == item->state;
}

static void see(struct sim *sim, struct sim_worker *worker, struct sim_issue *issue)
{
    struct sim_slot *slot = sim_slot_of(sim, worker, issue);
    struct item *item = &slot->item;
    struct item_facts *facts = &slot->facts;
    *facts = (struct item_facts){.now_ns = sim->now_ns, .may_start = true};
    facts->claim = sim_strikes(sim, 20) ? CLAIM_UNKNOWN : sim_judge_claim(issue, item->nonce);
    if (facts->claim == CLAIM_OURS && item->is_released && item->released_until_ns > 0) {
        facts->claim = CLAIM_FOREIGN; /* It is the mark that it was released. */
    }
    if (facts->claim == CLAIM_OURS) { /* also after a change whose answer was lost */
        snprintf(item->claim_id, sizeof(item->claim_id), "%s", issue->claim_id);
    }
    facts->issue = see_issue(sim, issue, item);
    facts->run = see_run(sim, slot);
    facts->pull = see_pull(sim, issue, item);
    facts->is_remote_at_commit =
        item->commit[0] != '\0' && issue->branch == (int)strtol(item->commit, NULL, 10);
    facts->is_mirror_right = is_mirror_right(issue, item);
    facts->is_forge_open = !sim_strikes(sim, 10);
}

/* ---- Effects -------------------------------------------------------------------------------- */

static void write_claim(const struct sim *sim, const struct item *item, struct buf *ret_text)
{
    struct claim claim = {.number = item->number,
                          .owner = (char *)item->owner,
                          .written_ns = sim->now_ns,
                          .lease_ns = sim->now_ns + CLAIM_LEASE_NS,
                          .attempts = item->attempts,
                          .pull = item->pull};
    snprintf(claim.nonce, sizeof(claim.nonce), "%s", item->nonce);
    claim_encode(&claim, ret_text);
}

/** What takes the place of the claim of an item that a person has released. */
static void write_mark(const struct sim *sim, const struct item *item, struct buf *ret_text)
{
    struct claim mark = {.number = item->number,
                         .written_ns = sim->now_ns,
                         .lease_ns = sim->now_ns,
                         .released_until_ns = item->released_until_ns};
    snprintf(mark.nonce, sizeof(mark.nonce), "%s", item->nonce);
    claim_encode(&mark, ret_text);
}

static enum sim_answer change_claim(struct sim *sim, struct sim_issue *issue, struct item *item,
                                    const char *old_id, int commit)
{
    auto_buf struct buf text = {0};
    write_claim(sim, item, &text);
    enum sim_answer answer = sim_change_claim(sim, issue, old_id, buf_string(&text), commit);
    if (answer == SIM_DONE) {
        snprintf(item->claim_id, sizeof(item->claim_id), "%s", issue->claim_id);
        item->renewed_ns = sim->now_ns;
        item->claimed_pull = item->pull;
        item->is_released = false;
    }
    return answer;
}

/** @return whether the action continues with its next stage */
static bool claim(struct sim *sim, struct sim_issue *issue, struct sim_slot *slot,
                  struct sim_doing *doing)
{
    bool is_first = slot->item.claim_id[0] == '\0' && slot->item.nonce[0] != '\0';
    if (doing->stage == 0) {
        if (!is_first) {
            sim_new_nonce(sim, slot->item.nonce);
            slot->item.claim_id[0] = '\0';
        }
        item_begin_step(&slot->item, ITEM_STEP_CLAIM);
        return true;
    }
    change_claim(sim, issue, &slot->item, doing->expected_id, 0);
    return false;
}

static bool set_labels(struct sim *sim, struct sim_issue *issue, const struct item *item,
                       unsigned labels)
{
    bool happens = true;
    enum sim_answer answer = sim_send(sim, &happens);
    if (happens) {
        sim_check_owner(sim, issue, item->nonce);
        issue->labels = labels;
    }
    return answer == SIM_DONE;
}

static bool set_comment(struct sim *sim, struct sim_issue *issue, struct item *item)
{
    bool happens = true;
    if (item->comment_id == 0 && issue->comment_id != 0) {
        item->comment_id = issue->comment_id; /* found by its mark */
        return true;
    }
    enum sim_answer answer = sim_send(sim, &happens);
    if (happens) {
        sim_check_owner(sim, issue, item->nonce);
        issue->comments += issue->comment_id == 0 ? 1 : 0;
        issue->comment_id = issue->comment_id == 0 ? ++sim->next_id : issue->comment_id;
        issue->comment = item->state;
    }
    item->comment_id = answer == SIM_DONE ? issue->comment_id : item->comment_id;
    return answer == SIM_DONE;
}

static bool mirror(struct sim *sim, struct sim_issue *issue, struct sim_slot *slot, int stage)
{
    struct item *item = &slot->item;
    unsigned own = sim_label(item->state);
    switch (stage) {
    case 0:
        item_begin_step(item, ITEM_STEP_MIRROR);
        return true;
    case 1:
        return set_labels(sim, issue, item, issue->labels | own);
    case 2:
        return set_labels(sim, issue, item, own);
    case 3:
        return set_comment(sim, issue, item);
    case 4:
        return set_comment(sim, issue, item);
    default:
        item->mirrored = item->state;
        return false;
    }
}

static bool start(struct sim *sim, struct sim_issue *issue, struct sim_slot *slot, int stage)
{
    struct item *item = &slot->item;
    struct sim_attempt *run = &slot->run;
    if (stage == 0) {
        if (item->run_id[0] == '\0') {
            id_new(sim->now_ns, &sim->random, item->run_id);
        }
        item_begin_step(item, ITEM_STEP_START);
        return true;
    }
    if (strcmp(run->id, item->run_id) != 0) {
        *run = (struct sim_attempt){.parent = issue->branch};
        snprintf(run->id, sizeof(run->id), "%s", item->run_id);
        issue->runs++;
    }
    run->is_executing = true;
    run->fact = RUN_FACT_IDLE;
    run->before_ns = item->active_ns;
    run->began_ns = sim->now_ns;
    run->ends_ns = sim->now_ns + SIM_MINUTE * (1 + (int64_t)sim_below(sim, 25));
    SIM_CHECK(sim, issue->runs <= 3U * (ITEM_MOST_RETRIES + 1), "#%" PRId64 " has too many runs",
              issue->number);
    return false;
}

static void block_conflict(struct sim *sim, struct sim_slot *slot)
{
    const struct item_action action = {
        .act = ITEM_ACT_SET, .state = ITEM_BLOCKED, .reason = ITEM_CONFLICT};
    item_set(&slot->item, &action, &sim->options, &sim->random, sim->now_ns);
}

static bool push(struct sim *sim, struct sim_issue *issue, struct sim_slot *slot, int stage)
{
    struct item *item = &slot->item;
    if (stage == 0) {
        item_begin_step(item, ITEM_STEP_PUSH);
        return true;
    }
    int commit = (int)strtol(item->commit, NULL, 10);
    enum sim_answer answer = change_claim(sim, issue, item, item->claim_id, commit);
    item->is_pushed = item->is_pushed || answer == SIM_DONE;
    if (answer == SIM_REFUSED && sim_judge_claim(issue, item->nonce) == CLAIM_OURS &&
        strcmp(item->claim_id, issue->claim_id) == 0) {
        block_conflict(sim, slot);
    }
    return false;
}

/** Forges refuse a second open one for a branch. */
static void create_pull(struct sim *sim, struct sim_issue *issue, struct item *item)
{
    bool happens = true;
    enum sim_answer answer = sim_send(sim, &happens);
    if (happens) {
        sim_check_owner(sim, issue, item->nonce);
        sim_check_wanted(sim, issue);
        SIM_CHECK(sim, sim_open_pull(issue) == NULL, "#%" PRId64 " gets a second pull request",
                  issue->number);
        SIM_CHECK(sim, issue->pull_count < SIM_PULLS, "too many pull requests");
        issue->pulls[issue->pull_count++] =
            (struct sim_pull){.number = ++sim->next_id, .state = PULL_OPEN};
        sim->seen->reviews++;
    }
    if (answer == SIM_DONE) {
        item->pull = issue->pulls[issue->pull_count - 1].number;
    }
}

static bool pull(struct sim *sim, struct sim_issue *issue, struct sim_slot *slot, int stage)
{
    const struct sim_pull *open = sim_open_pull(issue);
    if (stage == 0) {
        item_begin_step(&slot->item, ITEM_STEP_PULL);
        return true;
    }
    if (stage == 1 && open != NULL) {
        slot->item.pull = open->number;
        return false;
    }
    if (stage == 2) {
        create_pull(sim, issue, &slot->item);
    }
    return stage == 1;
}

static bool release(struct sim *sim, struct sim_issue *issue, struct sim_slot *slot, int stage)
{
    struct item *item = &slot->item;
    auto_buf struct buf text = {0};
    if (stage == 0) {
        item_begin_step(item, ITEM_STEP_RELEASE);
        return true;
    }
    if (item->released_until_ns > sim->now_ns) {
        write_mark(sim, item, &text);
    }
    const char *mark = text.len > 0 ? buf_string(&text) : NULL;
    if (issue->claim == NULL || sim_change_claim(sim, issue, item->claim_id, mark, 0) == SIM_DONE) {
        item->is_released = true;
        item->claim_id[0] = '\0';
    }
    return false;
}

static bool clean(struct sim *sim, struct sim_issue *issue, struct sim_slot *slot, int stage)
{
    if (stage == 0) {
        item_begin_step(&slot->item, ITEM_STEP_CLEAN);
        return true;
    }
    if (stage == 1) {
        bool happens = true;
        bool is_done = sim_send(sim, &happens) == SIM_DONE;
        issue->branch = happens ? 0 : issue->branch;
        return is_done;
    }
    return release(sim, issue, slot, 1);
}

static void count_state(struct sim *sim, const struct item *item)
{
    struct sim_seen *seen = sim->seen;
    seen->fenced += item->state == ITEM_FENCED ? 1 : 0;
    seen->cancelled += item->state == ITEM_CANCELLED ? 1 : 0;
    seen->blocked += item->state == ITEM_BLOCKED ? 1 : 0;
    seen->retries += item->state == ITEM_RETRY_LATER ? 1 : 0;
}

static bool set(struct sim *sim, struct sim_slot *slot, const struct item_action *action)
{
    bool was_at_work = slot->item.state == ITEM_IN_PROGRESS;
    item_set(&slot->item, action, &sim->options, &sim->random, sim->now_ns);
    if (was_at_work && slot->killed_step == ITEM_STEP_START) {
        slot->kills = 0;
    }
    count_state(sim, &slot->item);
    return false;
}

static bool follow_up(struct sim *sim, struct sim_issue *issue, struct sim_slot *slot)
{
    struct sim_pull *open = sim_open_pull(issue);
    if (open != NULL) {
        open->state = PULL_OPEN; /* What was asked for is being done. */
    }
    item_begin_follow_up(&slot->item, sim->now_ns, sim->now_ns);
    issue->runs = 0;
    sim->seen->follow_ups++;
    return false;
}

/* long: one case an act */
static bool do_stage(struct sim *sim, struct sim_worker *worker)
{
    struct sim_doing *doing = &worker->doing;
    struct sim_issue *issue = doing->issue;
    struct sim_slot *slot = sim_slot_of(sim, worker, issue);
    switch (doing->action.act) {
    case ITEM_ACT_CLAIM:
        return claim(sim, issue, slot, doing);
    case ITEM_ACT_RENEW:
        change_claim(sim, issue, &slot->item, slot->item.claim_id, 0);
        return false;
    case ITEM_ACT_MIRROR:
        return mirror(sim, issue, slot, doing->stage);
    case ITEM_ACT_START:
        return start(sim, issue, slot, doing->stage);
    case ITEM_ACT_STOP:
        slot->run.is_executing = false;
        return false;
    case ITEM_ACT_PUSH:
        return push(sim, issue, slot, doing->stage);
    case ITEM_ACT_PULL:
        return pull(sim, issue, slot, doing->stage);
    case ITEM_ACT_FOLLOW_UP:
        return follow_up(sim, issue, slot);
    case ITEM_ACT_SET:
        return set(sim, slot, &doing->action);
    case ITEM_ACT_RELEASE:
        return release(sim, issue, slot, doing->stage);
    case ITEM_ACT_CLEAN:
        return clean(sim, issue, slot, doing->stage);
    case ITEM_ACT_WAIT:
    case ITEM_ACT_END:
        break;
    }
    return false;
}

/* ---- A turn --------------------------------------------------------------------------------- */

static void complete(struct sim *sim, struct sim_worker *worker, struct sim_slot *slot)
{
    enum item_step step = slot->item.step;
    item_begin_step(&slot->item, ITEM_STEP_NONE);
    if (step == slot->killed_step && step != ITEM_STEP_START) {
        slot->kills = 0;
    }
    sim_save(sim, worker, slot);
    worker->doing = (struct sim_doing){0};
}

static void continue_doing(struct sim *sim, struct sim_worker *worker)
{
    struct sim_doing *doing = &worker->doing;
    struct sim_slot *slot = sim_slot_of(sim, worker, doing->issue);
    if (doing->stage > 0 && sim->now_ns - doing->seen_ns > SIM_PROOF_NS) {
        complete(sim, worker, slot); /* What was seen is too old: look again. */
        return;
    }
    worker->is_changed = true;
    bool has_more = do_stage(sim, worker);
    if (!has_more) {
        complete(sim, worker, slot);
        return;
    }
    if (doing->stage == 0) {
        sim_save(sim, worker, slot);
    }
    doing->stage++;
}

/** Commands of people are done when an item was changed for them, or needed no change. */
static void note_command(struct sim_issue *issue, struct sim_slot *slot)
{
    bool is_asked =
        slot->facts.issue == ISSUE_FACT_RETRY || slot->facts.issue == ISSUE_FACT_RELEASED;
    if (is_asked && issue->command_id > slot->item.read_comment_id) {
        slot->item.read_comment_id = issue->command_id;
    }
}

static void begin_doing(struct sim *sim, struct sim_worker *worker, struct sim_issue *issue)
{
    struct sim_slot *slot = sim_slot_of(sim, worker, issue);
    if (!slot->is_loaded) {
        return;
    }
    see(sim, worker, issue);
    struct item_action action = item_next(&slot->item, &slot->facts, &sim->options);
    note_command(issue, slot);
    slot->is_ended = action.act == ITEM_ACT_END;
    if (action.act == ITEM_ACT_END || action.act == ITEM_ACT_WAIT) {
        return;
    }
    sim_say(sim, "w%u.%u #%" PRId64 " %s: act %d %s %s (claim %d issue %d run %d pull %d)",
            worker->number, worker->generation, issue->number, item_state_name(slot->item.state),
            action.act, item_state_name(action.state), item_reason_name(action.reason),
            slot->facts.claim, slot->facts.issue, slot->facts.run, slot->facts.pull);
    worker->doing = (struct sim_doing){.issue = issue, .action = action, .seen_ns = sim->now_ns};
    worker->is_changed = true;
}

void sim_worker_tick(struct sim *sim, struct sim_worker *worker)
{
    if (!worker->is_up || sim->now_ns < worker->frozen_ns) {
        return;
    }
    if (worker->doing.issue != NULL) {
        continue_doing(sim, worker);
    } else if (sim->now_ns >= worker->poll_ns) {
        sim_poll(sim, worker);
    } else {
        begin_doing(sim, worker, &sim->issues[worker->turn++ % SIM_ISSUES]);
    }
}

/* ---- Life and death ------------------------------------------------------------------------- */

static void adopt(struct sim *sim, struct sim_worker *worker, struct sim_slot *slot,
                  const char *owner)
{
    bool was_over = item_state_is_over(slot->item.state);
    item_adopt(&slot->item, owner, sim->now_ns);
    bool is_blocked = slot->item.state == ITEM_BLOCKED && !was_over;
    if (slot->kills >= 2) {
        SIM_CHECK(sim, is_blocked || (was_over && slot->item.is_released),
                  "#%" PRId64 " was killed twice at %s and continues", slot->item.number,
                  item_step_name(slot->killed_step));
        slot->kills = 0;
        sim->seen->crashed_twice++;
    } else {
        SIM_CHECK(sim, !is_blocked, "#%" PRId64 " is blocked after one kill", slot->item.number);
    }
    slot->is_ended = false;
    sim_save(sim, worker, slot);
}

void sim_worker_start(struct sim *sim, struct sim_worker *worker)
{
    char owner[32];
    worker->generation++;
    worker->is_up = true;
    worker->poll_ns = sim->now_ns;
    snprintf(owner, sizeof(owner), "w%u.%u", worker->number, worker->generation);
    if (worker->store == NULL) {
        worker->store = store_memory_new(NULL);
    }
    for (size_t i = 0; i < SIM_ISSUES; i++) {
        struct sim_slot *slot = &worker->slots[i];
        char *key = item_key("sim/o/r", sim->issues[i].number);
        struct rondo_error err = {0};
        int r = item_load(worker->store, key, &slot->item, &err);
        SIM_CHECK(sim, r >= 0, "an item cannot be loaded: %s", err.message);
        slot->is_loaded = r == 1;
        free(key);
        if (slot->is_loaded) {
            adopt(sim, worker, slot, owner);
        }
    }
}

static void go_down(struct sim_worker *worker)
{
    worker->doing = (struct sim_doing){0};
    worker->is_up = false;
    worker->frozen_ns = 0;
    for (size_t i = 0; i < SIM_ISSUES; i++) {
        worker->slots[i].run.is_executing = false;
        if (worker->slots[i].is_loaded) {
            item_fini(&worker->slots[i].item);
            worker->slots[i].is_loaded = false;
        }
    }
}

/** What a kill interrupts, as the model sees it. */
static enum item_step find_step(const struct sim *sim, const struct sim_worker *worker, size_t at)
{
    static const enum item_step steps[ITEM_ACT_END + 1] = {
        [ITEM_ACT_CLAIM] = ITEM_STEP_CLAIM, [ITEM_ACT_MIRROR] = ITEM_STEP_MIRROR,
        [ITEM_ACT_START] = ITEM_STEP_START, [ITEM_ACT_PUSH] = ITEM_STEP_PUSH,
        [ITEM_ACT_PULL] = ITEM_STEP_PULL,   [ITEM_ACT_RELEASE] = ITEM_STEP_RELEASE,
        [ITEM_ACT_CLEAN] = ITEM_STEP_CLEAN,
    };
    const struct sim_doing *doing = &worker->doing;
    bool is_doing = doing->issue == &sim->issues[at] && doing->stage > 0;
    if (is_doing && steps[doing->action.act] != ITEM_STEP_NONE) {
        return steps[doing->action.act];
    }
    return ITEM_STEP_NONE;
}

void sim_worker_kill(struct sim *sim, struct sim_worker *worker)
{
    for (size_t i = 0; i < SIM_ISSUES; i++) {
        struct sim_slot *slot = &worker->slots[i];
        struct item stored = {0};
        char *key = item_key("sim/o/r", sim->issues[i].number);
        bool is_stored = item_load(worker->store, key, &stored, NULL) == 1;
        bool is_running = is_stored && stored.state == ITEM_IN_PROGRESS &&
                          stored.run_id[0] != '\0' && stored.commit[0] == '\0';
        enum item_step step = find_step(sim, worker, i);
        step = step == ITEM_STEP_NONE && is_running ? ITEM_STEP_START : step;
        if (step != ITEM_STEP_NONE) {
            slot->kills = step == slot->killed_step ? slot->kills + 1 : 1;
            slot->killed_step = step;
        }
        item_fini(&stored);
        free(key);
    }
    sim_say(sim, "w%u.%u is killed", worker->number, worker->generation);
    sim->seen->kills++;
    go_down(worker);
}

void sim_worker_leave(struct sim *sim, struct sim_worker *worker)
{
    if (worker->doing.issue != NULL) {
        return; /* It finishes what it does. */
    }
    for (size_t i = 0; i < SIM_ISSUES; i++) {
        if (worker->slots[i].is_loaded) {
            worker->slots[i].item.owner[0] = '\0';
            sim_save(sim, worker, &worker->slots[i]);
        }
    }
    sim_say(sim, "w%u.%u leaves", worker->number, worker->generation);
    sim->seen->stops++;
    go_down(worker);
}

void sim_worker_fini(struct sim_worker *worker)
{
    go_down(worker);
    if (worker->store != NULL) {
        worker->store->ops->close(worker->store);
    }
}
