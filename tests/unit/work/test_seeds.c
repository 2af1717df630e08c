// SPDX-License-Identifier: Apache-2.0
/*
 * Thousands of PRDs with random graphs, outcomes, kills and people who edit the file meanwhile. A
 * model that knows the promises, and not how they are kept, watches each decision:
 *
 *  - a task is begun only when all that it depends on is done, the most urgent one first
 *  - no more attempts run than there are jobs, and no task gets more than its attempts
 *  - a task is committed once, unless people reopen it; nothing is done without commit, own checks
 *    or a person's word
 *  - a process that was killed anywhere is continued from the journal alone, and ends
 *
 * The number of seeds is the first argument.
 */
#include "work/step.h"

#include "base/json/json.h"
#include "base/memory.h"
#include "base/random.h"
#include "prd/prd.h"
#include "support/sanitizer.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Without an argument. The long suite has more. */
#define SEEDS      (HAS_SANITIZER ? 500 : 5000)
#define MOST_TASKS 200
#define MOST_STEPS 20000

/* A failure names the seed with which it happens again. */
#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fail_msg("seed %llu: %s", (unsigned long long)world->seed, #condition); \
        }                                                                           \
    } while (0)

struct model_task {
    bool depends[MOST_TASKS];
    int32_t priority;
    uint32_t place;
    enum prd_status file; /* what the file says */
    bool is_removed;
    bool is_done;    /* committed, found done, or said by a person */
    bool is_running; /* the journal has a start without end */
    bool is_alive;   /* in this process */
    bool is_given_up;
    bool is_on_branch;
    int64_t fails; /* but for conflicts */
    int64_t conflicts;
    unsigned commits; /* since people reopened it */
};

struct stored_event {
    char type[32];
    struct buf data;
};

struct prd_world {
    struct random random;
    struct model_task tasks[MOST_TASKS];
    size_t count;
    struct work_options options;
    bool is_alive[MOST_TASKS];
    struct work_state state;
    struct stored_event *journal;
    size_t journal_count;
    struct buf list; /* as read last, without states */
    int64_t ended;   /* attempts that count */
    int64_t limit;
    uint64_t seed;
};

static unsigned below(struct prd_world *world, unsigned bound)
{
    return (unsigned)random_below(&world->random, bound);
}

static const char *id_of(size_t task)
{
    static char ids[4][16];
    static unsigned next;
    char *id = ids[next++ % 4];
    snprintf(id, 16, "T%zu", task);
    return id;
}

static void record(struct prd_world *world, struct journal_event event)
{
    world->journal =
        memory_resize(world->journal, world->journal_count + 1, sizeof(*world->journal));
    struct stored_event *stored = &world->journal[world->journal_count++];
    *stored = (struct stored_event){0};
    snprintf(stored->type, sizeof(stored->type), "%s", journal_type_name(event.type));
    journal_encode(&event, &stored->data);
    work_fold(&world->state, &event);
}

/* ---- The file ------------------------------------------------------------------------------- */

/** @param has_status else it is left out, to see whether anything else has changed */
static void write_task(struct prd_world *world, struct json_writer *writer, size_t task,
                       bool has_status)
{
    const struct model_task *model = &world->tasks[task];
    json_begin_object(writer, NULL);
    json_write_string(writer, "id", id_of(task));
    json_write_string(writer, "title", "title");
    json_begin_array(writer, "depends");
    for (size_t i = 0; i < task; i++) {
        if (model->depends[i] && !world->tasks[i].is_removed) {
            json_write_string(writer, NULL, id_of(i));
        }
    }
    json_end_array(writer);
    json_write_int(writer, "priority", model->priority);
    if (has_status) {
        json_write_string(writer, "status", prd_status_name(model->file));
    }
    json_end_object(writer);
}

static void write_list(struct prd_world *world, bool has_status, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    size_t at[MOST_TASKS];
    for (size_t i = 0; i < world->count; i++) {
        at[world->tasks[i].place] = i;
    }
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < world->count; i++) {
        if (!world->tasks[at[i]].is_removed) {
            write_task(world, &writer, at[i], has_status);
        }
    }
    json_end_array(&writer);
}

/** The tasks whose state in the file is another one than the fold knows. */
static size_t write_changes(struct prd_world *world, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    size_t count = 0;
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < world->count; i++) {
        const struct work_task *task = work_find(&world->state, id_of(i));
        if (!world->tasks[i].is_removed && task->said != (int)world->tasks[i].file) {
            json_begin_object(&writer, NULL);
            json_write_string(&writer, "id", id_of(i));
            json_write_string(&writer, "status", prd_status_name(world->tasks[i].file));
            json_end_object(&writer);
            count++;
        }
    }
    json_end_array(&writer);
    return count;
}

/** Read the file, as the executor does: the fold gets the list, or only what has changed of it. */
static void read_file(struct prd_world *world)
{
    auto_buf struct buf shape = {0};
    auto_buf struct buf json = {0};
    struct journal_event event = {.type = JOURNAL_TASKS_READ};
    write_list(world, false, &shape);
    bool is_known = world->list.len == shape.len &&
                    memcmp(buf_string(&world->list), buf_string(&shape), shape.len) == 0;
    if (!is_known) {
        write_list(world, true, &json);
        event.tasks_read.tasks = buf_string(&json);
        buf_clear(&world->list);
        buf_append(&world->list, shape.data, shape.len);
    } else if (write_changes(world, &json) == 0) {
        return;
    } else {
        event.tasks_read.changed = buf_string(&json);
    }
    record(world, event);
}

/** What the executor writes into the file when something is closed. */
static void write_file(struct prd_world *world)
{
    for (size_t i = 0; i < world->count; i++) {
        struct model_task *task = &world->tasks[i];
        if (task->is_done && task->file != PRD_DONE) {
            task->file = PRD_DONE;
        } else if (task->is_given_up && task->file != PRD_FAILED) {
            task->file = PRD_FAILED;
        }
    }
    read_file(world);
}

static bool has_dependents(const struct prd_world *world, size_t task)
{
    for (size_t i = task + 1; i < world->count; i++) {
        if (world->tasks[i].depends[task] && !world->tasks[i].is_removed) {
            return true;
        }
    }
    return false;
}

/** A person edits the file. */
static void edit(struct prd_world *world)
{
    size_t at = below(world, (unsigned)world->count);
    struct model_task *task = &world->tasks[at];
    if (task->is_running || task->is_removed) {
        return;
    }
    switch (below(world, 6)) {
    case 0:
        task->file = PRD_DONE;
        task->is_done = true;
        task->is_given_up = false;
        break;
    case 1:
        if (task->is_done && task->file == PRD_DONE) { /* reopened */
            *task = (struct model_task){.priority = task->priority, .place = task->place};
            for (size_t i = 0; i < at; i++) {
                task->depends[i] = false;
            }
        }
        break;
    case 2:
        task->priority = (int32_t)below(world, 5);
        break;
    case 3:
        if (!has_dependents(world, at) && below(world, 3) == 0) {
            task->is_removed = true;
        }
        break;
    case 4: {
        struct model_task *other = &world->tasks[below(world, (unsigned)world->count)];
        uint32_t place = other->place;
        other->place = task->place;
        task->place = place;
        break;
    }
    case 5:
        if (!task->is_done && !task->is_given_up && below(world, 4) == 0) {
            task->file = PRD_SET_ASIDE;
        } else if (task->file == PRD_SET_ASIDE) {
            task->file = PRD_PENDING;
        }
        break;
    default:
        break;
    }
    read_file(world);
}

/* ---- The promises --------------------------------------------------------------------------- */

static bool is_begin_allowed(const struct prd_world *world, size_t at)
{
    const struct model_task *task = &world->tasks[at];
    for (size_t i = 0; i < at; i++) {
        if (task->depends[i] && !world->tasks[i].is_removed && !world->tasks[i].is_done) {
            return false;
        }
    }
    return !task->is_removed && !task->is_done && !task->is_given_up && !task->is_running &&
           task->file != PRD_SET_ASIDE && task->fails < world->options.attempts &&
           task->conflicts < 2;
}

static void check_begin(const struct prd_world *world, size_t at)
{
    int64_t running = 0;
    CHECK(is_begin_allowed(world, at));
    for (size_t i = 0; i < world->count; i++) {
        const struct model_task *other = &world->tasks[i];
        const struct model_task *task = &world->tasks[at];
        running += other->is_running ? 1 : 0;
        bool is_first = other->priority < task->priority ||
                        (other->priority == task->priority && other->place < task->place);
        CHECK(!is_first || !is_begin_allowed(world, i));
    }
    CHECK(running < world->options.jobs);
    CHECK(world->ended + running < world->limit);
}

static void check_end(const struct prd_world *world, const struct work_action *action)
{
    size_t open = 0;
    size_t failed = 0;
    for (size_t i = 0; i < world->count; i++) {
        const struct model_task *task = &world->tasks[i];
        CHECK(!task->is_running);
        open += !task->is_removed && !task->is_done ? 1 : 0;
        failed += !task->is_removed && task->is_given_up && !task->is_done ? 1 : 0;
        CHECK(action->end == WORK_BREAKER || !is_begin_allowed(world, i));
    }
    if (action->end == WORK_COMPLETED) {
        CHECK(open == 0);
    }
    CHECK(action->end != WORK_GAVE_UP || failed > 0);
    CHECK(action->end != WORK_STUCK || (open > 0 && failed == 0));
}

/* ---- Attempts ------------------------------------------------------------------------------- */

static void start(struct prd_world *world, const struct work_action *action)
{
    struct model_task *task = &world->tasks[action->task];
    if (!action->is_again) {
        check_begin(world, action->task);
        record(world, (struct journal_event){.type = JOURNAL_TASK_STARTED,
                                             .task_started = {.task = id_of(action->task),
                                                              .attempt = action->attempt,
                                                              .run = "run",
                                                              .base = "base"}});
        task->is_running = true;
    }
    CHECK(task->is_running && !task->is_alive);
    task->is_alive = true;
    world->is_alive[action->task] = true;
}

static void end_attempt(struct prd_world *world, size_t at, const char *outcome)
{
    struct model_task *task = &world->tasks[at];
    char message[64];
    snprintf(message, sizeof(message), "reason %c", 'a' + (char)below(world, 20));
    record(world, (struct journal_event){.type = JOURNAL_TASK_ENDED,
                                         .task_ended = {.task = id_of(at),
                                                        .attempt = 1,
                                                        .outcome = outcome,
                                                        .message = message}});
    task->is_running = false;
    task->is_alive = false;
    world->is_alive[at] = false;
    bool is_good = strcmp(outcome, "committed") == 0 || strcmp(outcome, "already_done") == 0;
    task->is_done = task->is_done || is_good;
    bool is_conflict = strcmp(outcome, "conflict") == 0;
    task->conflicts += is_conflict ? 1 : 0;
    if (!is_good && !is_conflict && strcmp(outcome, "interrupted") != 0) {
        task->fails++;
    }
    if (strcmp(outcome, "interrupted") != 0 && strcmp(outcome, "already_done") != 0) {
        world->ended++;
    }
}

static void record_branch(struct prd_world *world, size_t at)
{
    record(world, (struct journal_event){
                      .type = JOURNAL_TASK_COMMITTED,
                      .task_committed = {.task = id_of(at), .attempt = 1, .commit = "c"}});
}

static void record_commit(struct prd_world *world, size_t at)
{
    record_branch(world, at);
    end_attempt(world, at, "committed");
}

/** The process dies: only the journal and the branch are left. */
static void kill_process(struct prd_world *world)
{
    work_state_fini(&world->state);
    for (size_t i = 0; i < world->journal_count; i++) {
        struct journal_event event;
        struct json_object *root = NULL;
        const struct stored_event *stored = &world->journal[i];
        CHECK(journal_decode(stored->type, buf_string(&stored->data), stored->data.len, &event,
                             &root, NULL) == 0);
        work_fold(&world->state, &event);
        json_object_put(root);
    }
    for (size_t i = 0; i < world->count; i++) {
        world->is_alive[i] = false;
        world->tasks[i].is_alive = false;
        struct work_task *task = work_find(&world->state, id_of(i));
        bool is_open = task != NULL && task->phase == WORK_RUNNING;
        if (is_open && task->is_committing && world->tasks[i].is_on_branch) {
            record_commit(world, i); /* as the executor does when it opens the run */
        } else if (is_open && task->is_committed) {
            end_attempt(world, i, "committed");
        }
    }
    write_file(world);
}

static void commit(struct prd_world *world, size_t at)
{
    struct model_task *task = &world->tasks[at];
    record(world, (struct journal_event){
                      .type = JOURNAL_TASK_COMMITTING,
                      .task_committing = {.task = id_of(at), .attempt = 1, .commit = "c"}});
    if (below(world, 20) == 0) {
        kill_process(world); /* before the branch has moved */
        return;
    }
    task->commits++;
    task->is_on_branch = true;
    CHECK(task->commits == 1);
    if (below(world, 20) == 0) {
        kill_process(world);
        return;
    }
    record_branch(world, at);
    if (below(world, 20) == 0) {
        kill_process(world);
        return;
    }
    end_attempt(world, at, "committed");
}

/** One of the attempts that run ends, if there is one. @return whether there was */
static bool end_one(struct prd_world *world)
{
    static const char *const failures[] = {"no_change", "checks_failed", "worker_failed", "refused",
                                           "conflict",  "denied",        "interrupted"};
    size_t first = below(world, (unsigned)world->count);
    for (size_t i = 0; i < world->count; i++) {
        size_t at = (first + i) % world->count;
        if (!world->tasks[at].is_alive) {
            continue;
        }
        unsigned luck = below(world, 10);
        if (luck < 6) {
            commit(world, at);
        } else if (luck == 6) {
            end_attempt(world, at, "already_done");
        } else {
            end_attempt(world, at, failures[below(world, 7)]);
        }
        write_file(world);
        return true;
    }
    return false;
}

static void close_task(struct prd_world *world, const struct work_action *action)
{
    struct model_task *task = &world->tasks[action->task];
    CHECK(!task->is_running && !task->is_done);
    if (action->kind == WORK_FAIL) {
        CHECK(task->fails >= world->options.attempts || task->conflicts == 2);
        task->is_given_up = true;
        record(world, (struct journal_event){.type = JOURNAL_TASK_FAILED,
                                             .task_failed = {.task = id_of(action->task)}});
        write_file(world);
    } else {
        CHECK(task->depends[action->by]);
        CHECK(!world->tasks[action->by].is_done);
        record(world, (struct journal_event){
                          .type = JOURNAL_TASK_BLOCKED,
                          .task_blocked = {.task = id_of(action->task), .by = id_of(action->by)}});
    }
}

/* ---- The world ------------------------------------------------------------------------------ */

static void make_world(struct prd_world *world, uint64_t seed)
{
    *world = (struct prd_world){.random = random_seeded(seed), .seed = seed};
    world->count = 1 + below(world, below(world, 100) == 0 ? MOST_TASKS : 12);
    unsigned density = below(world, 6);
    for (size_t i = 0; i < world->count; i++) {
        struct model_task *task = &world->tasks[i];
        task->priority = (int32_t)below(world, 5);
        task->place = (uint32_t)i;
        task->file = below(world, 15) == 0 ? PRD_DONE : PRD_PENDING;
        task->is_done = task->file == PRD_DONE;
        for (size_t k = 0; k < i; k++) {
            task->depends[k] = below(world, 10) < density && below(world, 3) == 0;
        }
    }
    world->options = (struct work_options){
        .jobs = 1 + below(world, 8), .attempts = 1 + below(world, 3), .is_alive = world->is_alive};
    world->limit = 1 + below(world, below(world, 3) == 0 ? 10 : 1000);
}

static void free_world(struct prd_world *world)
{
    work_state_fini(&world->state);
    for (size_t i = 0; i < world->journal_count; i++) {
        buf_fini(&world->journal[i].data);
    }
    free(world->journal);
    buf_fini(&world->list);
}

/** @return whether the run has ended */
static bool step(struct prd_world *world, bool is_edited)
{
    if (is_edited && below(world, 10) == 0) {
        edit(world);
    }
    if (below(world, 60) == 0) {
        kill_process(world);
    }
    world->options.left = world->limit - world->ended;
    if (world->options.left <= 0) {
        return true; /* The gate denies the next iteration. */
    }
    struct work_action action = work_next(&world->state, &world->options);
    switch (action.kind) {
    case WORK_START:
        start(world, &action);
        return false;
    case WORK_FAIL:
    case WORK_BLOCK:
        close_task(world, &action);
        return false;
    case WORK_WAIT:
        CHECK(end_one(world));
        return false;
    case WORK_END:
        check_end(world, &action);
        return true;
    }
    return true;
}

static uint64_t seeds_wanted = SEEDS;

TEST(random_prds_keep_their_promises)
{
    struct prd_world *world = memory_new_zero(1, sizeof(*world));
    for (uint64_t seed = 1; seed <= seeds_wanted; seed++) {
        make_world(world, seed);
        read_file(world);
        bool is_over = false;
        for (size_t i = 0; i < MOST_STEPS && !is_over; i++) {
            is_over = step(world, i < 400);
        }
        CHECK(is_over);
        free_world(world);
    }
    free(world);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        seeds_wanted = strtoull(argv[1], NULL, 10);
    }
    return test_run(NULL, NULL);
}
