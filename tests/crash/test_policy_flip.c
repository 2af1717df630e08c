// SPDX-License-Identifier: Apache-2.0
/*
 * Policies change at random while many loops run in several processes on one store, and one of the
 * processes is killed and replaced now and then. No loop may run an iteration that the policies at
 * its gate denied, and the journals and the history of policies must tell one story.
 *
 * Each change has a text of its own, so that its digest tells which change it was. The file is
 * replaced as `rondo policy set` does: recorded, renamed over the old one, recorded again.
 */
#include "check.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "journal/reader.h"
#include "loop/owner.h"
#include "os/file.h"
#include "policy/ruleset.h"
#include "store/sqlite/sqlite.h"
#include "support/test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES  4
#define LOW_LIMIT  10
#define HIGH_LIMIT 20
#define FLIPS_ROOM 100000
#define RUNS_ROOM  4096
/** Signs of progress between two changes, at most; every LONG_ONE_IN-th time so many more. */
#define SIGNS_BETWEEN 3
#define LONG_ONE_IN   6
#define SIGNS_LONG    60
/** Signs of progress between two kills, at most. */
#define SIGNS_BEFORE_KILL 30
#define BY                "the flipper"
/** Replaced files that are kept open. */
#define HELD_FILES 512

/** One change of the file. It was there for certain from `after_ns` to the next one's before. */
struct flip {
    char digest[DIGEST_HEX_SIZE];
    int64_t limit;
    int64_t before_ns;
    int64_t after_ns;
};

struct flipping {
    struct crash_scene *scene;
    struct store *store;
    char policy[SCENE_PATH + 16];
    struct flip *flips;
    size_t count;
    struct child *children[PROCESSES]; /* NULL = done */
    struct ledger ledger;
    int held[HELD_FILES];
    uint64_t kills;
    uint64_t changes_seen;
    uint64_t ended_low;
    uint64_t ended_high;
};

/* ---- Changing the file ---------------------------------------------------------------------- */

static struct ruleset *ruleset_of(const char *path, const char *text)
{
    struct rondo_error err = {0};
    struct ruleset *ruleset = NULL;
    struct ruleset_text part = {
        .part = RULESET_POLICIES, .name = "rondo.cedar", .text = text, .len = strlen(text)};
    if (ruleset_make(path, &part, 1, NULL, NULL, &ruleset, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return ruleset;
}

static void record(struct flipping *flipping, const struct ruleset *ruleset)
{
    struct rondo_error err = {0};
    struct store_policy_change change = {
        .time_ns = clock_now(clock_system()),
        .source = flipping->policy,
        .digest = ruleset->digest,
        .how = "set",
        .by = BY,
        .text = ruleset->text,
        .text_len = ruleset->text_len,
    };
    uint64_t number = 0;
    bool is_new = false;
    if (flipping->store->ops->record_policy(flipping->store, &change, &number, &is_new, &err) < 0) {
        fail_msg("record_policy: %s", err.message);
    }
}

/**
 * Keep the file that is about to be replaced open, so that the system does not give its inode to
 * one of the next files: a file with a known inode and another content looks as if it were being
 * written in place, and loops let it rest before they follow.
 */
static void hold_file(struct flipping *flipping)
{
    int *held = &flipping->held[flipping->count % HELD_FILES];
    if (*held > 0) {
        close(*held);
    }
    *held = open(flipping->policy, O_RDONLY | O_CLOEXEC);
}

static void release_files(struct flipping *flipping)
{
    for (size_t i = 0; i < HELD_FILES; i++) {
        if (flipping->held[i] > 0) {
            close(flipping->held[i]);
        }
    }
}

static void flip(struct flipping *flipping)
{
    struct rondo_error err = {0};
    char text[512];
    bool is_low = random_below(&flipping->scene->random, 3) == 0;
    assert_true(flipping->count < FLIPS_ROOM);
    struct flip *flip = &flipping->flips[flipping->count];
    flip->limit = is_low ? LOW_LIMIT : HIGH_LIMIT;
    snprintf(text, sizeof(text),
             "// change %zu\n@id(\"base\") permit (principal, action, resource);\n"
             "@id(\"limit.flip\") forbid (principal, action == Action::\"iterate\", resource)\n"
             "unless { context.iteration < %" PRId64 " };\n",
             flipping->count, flip->limit);
    struct ruleset *ruleset = ruleset_of(flipping->policy, text);
    memcpy(flip->digest, ruleset->digest, sizeof(flip->digest));
    record(flipping, ruleset);
    hold_file(flipping);
    flip->before_ns = clock_now(clock_system());
    if (file_replace_durably(flipping->policy, text, strlen(text), &err) < 0) {
        fail_msg("%s", err.message);
    }
    flip->after_ns = clock_now(clock_system());
    record(flipping, ruleset);
    ruleset_unref(ruleset);
    flipping->count++;
}

/* ---- Processes ------------------------------------------------------------------------------ */

/** Options that runs of a process have of their own; 0 = what the policies say. */
static const char *const own_limits[PROCESSES] = {"0", "1000", "20", "10"};

/** @param is_again whether it only continues what a killed one left */
static struct child *start_process(struct flipping *flipping, size_t index, const char *loops,
                                   bool is_again)
{
    const char *const arguments[] = {
        victim_path(),
        "--store",
        flipping->scene->store,
        "--effects",
        flipping->scene->effects,
        "--policy",
        flipping->policy,
        "--iterations",
        own_limits[index],
        "--threads",
        loops,
        "--body-us",
        "20000",
        "--runs",
        is_again ? "0" : loops,
        "--others",
        is_again ? NULL : "--barrier",
        NULL,
    };
    return child_start(flipping->scene, arguments);
}

static void start_all(struct flipping *flipping, const char *const *loops)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        flipping->children[i] = start_process(flipping, i, loops[i], false);
    }
    for (size_t i = 0; i < PROCESSES; i++) {
        assert_non_null(child_expect(flipping->children[i], "r"));
        child_tell(flipping->children[i], "g");
    }
}

static void finish_process(struct flipping *flipping, size_t index)
{
    struct child *child = flipping->children[index];
    int status = child_wait(child);
    if (status != 0) {
        fail_msg("a process ended with status %x:\n%s", (unsigned)status, buf_string(&child->out));
    }
    ledger_read(&flipping->ledger, &child->out);
    child_end(child);
    flipping->children[index] = NULL;
}

static void kill_process(struct flipping *flipping, size_t index, const char *loops)
{
    struct child *child = flipping->children[index];
    if (child == NULL) {
        return;
    }
    child_kill(child);
    ledger_read(&flipping->ledger, &child->out);
    child_end(child);
    flipping->kills++;
    flipping->children[index] = start_process(flipping, index, loops, true);
}

/**
 * Wait until one process has said something, any of them, and pass over the rest of what it has
 * said by now: the test runs as fast as the loops do, and does not lag.
 */
static bool await_progress(struct flipping *flipping)
{
    size_t first = random_below(&flipping->scene->random, PROCESSES);
    for (size_t i = 0; i < PROCESSES; i++) {
        size_t index = (first + i) % PROCESSES;
        if (flipping->children[index] == NULL) {
            continue;
        }
        struct child *child = flipping->children[index];
        if (child_line(child) != NULL) {
            child->read_to = child->out.len;
            return true;
        }
        finish_process(flipping, index);
    }
    return false;
}

/** Change the policies until all loops have ended, and kill processes so many times. */
static void flip_until_done(struct flipping *flipping, const char *const *loops, int64_t kills)
{
    struct random *random = &flipping->scene->random;
    uint64_t until_flip = 1;
    uint64_t until_kill = 1 + random_below(random, SIGNS_BEFORE_KILL);
    while (await_progress(flipping)) {
        if (--until_flip == 0) {
            flip(flipping);
            bool is_long = random_below(random, LONG_ONE_IN) == 0;
            until_flip = 1 + random_below(random, is_long ? SIGNS_LONG : SIGNS_BETWEEN);
        }
        if (kills > 0 && --until_kill == 0) {
            size_t victim = random_below(random, PROCESSES);
            kill_process(flipping, victim, loops[victim]);
            until_kill = 1 + random_below(random, SIGNS_BEFORE_KILL);
            kills--;
        }
    }
}

/* ---- What must hold ------------------------------------------------------------------------- */

/** A run while its journal is read. */
struct run_story {
    struct flipping *flipping;
    const char *run_id;
    char sha256[DIGEST_HEX_SIZE]; /* in force by the journal */
    size_t flip;                  /* which change that is */
    int64_t limit;                /* iterations that are allowed by it, with the run's own option */
    int64_t own_limit;            /* 0 = none */
    int64_t asked_after_ns;       /* the gate of the next iteration is passed after this */
    int64_t started;              /* iteration that began last, whose gate must be checked, or 0 */
    int64_t finished;
    bool is_over;
};

static size_t find_flip(const struct flipping *flipping, const char *digest)
{
    for (size_t i = 0; i < flipping->count; i++) {
        if (strcmp(flipping->flips[i].digest, digest) == 0) {
            return i;
        }
    }
    fail_msg("nobody has ever set %s", digest);
    return 0;
}

static int64_t smaller_limit(int64_t own, int64_t policy)
{
    return own != 0 && own < policy ? own : policy;
}

static int64_t iterations_of(const char *limits)
{
    struct rondo_error err = {0};
    struct json_object *object = NULL;
    if (json_parse(limits, strlen(limits), &object, &err) < 0) {
        fail_msg("%s", err.message);
    }
    int64_t iterations = json_get_int(object, "iterations", 0);
    json_object_put(object);
    return iterations;
}

static void read_change(struct run_story *story, const struct journal_event *event)
{
    struct flipping *flipping = story->flipping;
    size_t flip = find_flip(flipping, event->policy_changed.sha256);
    const char *old =
        event->policy_changed.old_sha256 == NULL ? "" : event->policy_changed.old_sha256;
    if (strcmp(old, story->sha256) != 0 ||
        strcmp(event->policy_changed.sha256, story->sha256) == 0) {
        fail_msg("run %s: changed from %s to %s while %s was in force", story->run_id, old,
                 event->policy_changed.sha256, story->sha256);
    }
    if (story->sha256[0] != '\0' && flip <= story->flip) {
        fail_msg("run %s: change %zu came behind change %zu", story->run_id, flip, story->flip);
    }
    story->limit = iterations_of(event->policy_changed.limits);
    assert_int_equal(story->limit, smaller_limit(story->own_limit, flipping->flips[flip].limit));
    assert_string_equal(event->policy_changed.source, flipping->policy);
    assert_true(strcmp(event->policy_changed.by, BY) == 0 ||
                strstr(event->policy_changed.by, "owner") != NULL);
    snprintf(story->sha256, sizeof(story->sha256), "%s", event->policy_changed.sha256);
    story->flip = flip;
    flipping->changes_seen++;
}

/** Whether the file may have been that of a change at some time between two instants. */
static bool may_have_been_there(const struct flipping *flipping, size_t flip, int64_t from_ns,
                                int64_t to_ns)
{
    bool is_last = flip + 1 == flipping->count;
    int64_t gone_ns = is_last ? INT64_MAX : flipping->flips[flip + 1].after_ns;
    return flipping->flips[flip].before_ns <= to_ns && gone_ns >= from_ns;
}

/**
 * The policies that a gate has asked were in the file then: not before the iteration before ended,
 * and not after what followed the beginning of this one.
 */
static void check_gate(struct run_story *story, const struct journal_event *event)
{
    if (story->started > 0 &&
        !may_have_been_there(story->flipping, story->flip, story->asked_after_ns, event->time_ns)) {
        fail_msg("run %s: iteration %" PRId64 " was allowed by change %zu, which was not in force",
                 story->run_id, story->started, story->flip);
    }
    story->started = 0;
}

static void read_denial(struct run_story *story, const struct journal_event *event)
{
    assert_string_equal(event->gate_denied.limit_name, "iterations");
    assert_int_equal(event->gate_denied.limit, story->limit);
    assert_int_equal(event->gate_denied.value, story->finished);
    assert_true(story->finished >= story->limit);
    assert_string_equal(event->gate_denied.policy_sha256, story->sha256);
}

static void read_start(struct run_story *story, const struct journal_event *event)
{
    if (story->sha256[0] == '\0' || event->iteration_started.iteration > story->limit) {
        fail_msg("run %s: iteration %" PRId64
                 " began though the policies in force allowed %" PRId64,
                 story->run_id, event->iteration_started.iteration, story->limit);
    }
    story->started = event->iteration_started.iteration;
}

static bool read_event(const struct journal_entry *entry, void *context)
{
    struct run_story *story = context;
    const struct journal_event *event = &entry->event;
    check_gate(story, event);
    if (event->type == JOURNAL_RUN_CREATED) {
        struct json_object *spec = NULL;
        assert_int_equal(
            json_parse(event->run_created.spec, strlen(event->run_created.spec), &spec, NULL), 0);
        story->own_limit = json_get_int(spec, "max_iterations", 0);
        json_object_put(spec);
    } else if (event->type == JOURNAL_POLICY_CHANGED) {
        read_change(story, event);
    } else if (event->type == JOURNAL_ITERATION_STARTED) {
        read_start(story, event);
    } else if (event->type == JOURNAL_GATE_DENIED) {
        read_denial(story, event);
    } else if (event->type == JOURNAL_RUN_CLAIMED) {
        story->asked_after_ns = event->time_ns;
    } else if (event->type == JOURNAL_ITERATION_FINISHED) {
        story->asked_after_ns = event->time_ns;
        story->finished++;
    } else if (event->type == JOURNAL_RUN_FINISHED) {
        assert_string_equal(event->run_finished.status, "max_iterations");
        story->is_over = true;
    }
    assert_int_not_equal(event->type, JOURNAL_POLICY_REFUSED);
    return true;
}

static void check_run(struct flipping *flipping, const char *run_id)
{
    struct rondo_error err = {0};
    struct run_story story = {.flipping = flipping, .run_id = run_id};
    if (journal_visit(flipping->store, run_id, 0, 0, read_event, &story, &err) < 0) {
        fail_msg("run %s: %s", run_id, err.message);
    }
    assert_true(story.is_over);
    assert_true(story.finished >= LOW_LIMIT && story.finished <= HIGH_LIMIT);
    flipping->ended_low += story.limit == LOW_LIMIT;
    flipping->ended_high += story.limit == HIGH_LIMIT;
}

/** Runs of the store; a callback of the store must not ask it anything. */
struct flipped_runs {
    char (*ids)[ID_SIZE];
    size_t count;
};

static bool note_run(const struct store_run *run, void *context)
{
    struct flipped_runs *list = context;
    assert_true(list->count < RUNS_ROOM);
    memcpy(list->ids[list->count++], run->id, ID_SIZE);
    return true;
}

static void check_runs(struct flipping *flipping)
{
    struct rondo_error err = {0};
    struct store_run_query query = {0};
    struct flipped_runs list = {.ids = memory_new_zero(RUNS_ROOM, ID_SIZE)};
    if (flipping->store->ops->list_runs(flipping->store, &query, note_run, &list, &err) < 0) {
        fail_msg("%s", err.message);
    }
    for (size_t i = 0; i < list.count; i++) {
        check_run(flipping, list.ids[i]);
    }
    free(list.ids);
}

/** The history of policies while it is read, newest entry first. */
struct policy_history_check {
    const struct flipping *flipping;
    bool *is_there;
    size_t entries;
};

static bool note_entry(const struct store_policy_change *change, void *context)
{
    struct policy_history_check *history = context;
    history->is_there[find_flip(history->flipping, change->digest)] = true;
    assert_true(strcmp(change->how, "set") != 0 || strcmp(change->by, BY) == 0);
    history->entries++;
    return true;
}

/** Every change is in the history, and nothing else. */
static void check_history(struct flipping *flipping)
{
    struct rondo_error err = {0};
    struct policy_history_check history = {
        .flipping = flipping, .is_there = memory_new_zero(flipping->count, sizeof(bool))};
    if (flipping->store->ops->read_policies(flipping->store, flipping->policy, 0, note_entry,
                                            &history, &err) < 0) {
        fail_msg("%s", err.message);
    }
    for (size_t i = 0; i < flipping->count; i++) {
        assert_true(history.is_there[i]);
    }
    assert_true(history.entries >= flipping->count);
    free(history.is_there);
}

/** What is known of a run that is left, to find the cause. */
static bool show_unfinished(const struct store_run *run, void *context)
{
    (void)context;
    if (run->summary.status == RONDO_RUNNING) {
        print_message("unfinished: %s, event %" PRIu64 ", lease until %" PRId64 ", %s owner %s\n",
                      run->id, run->last_seq, run->lease_until_ns,
                      owner_is_dead(run->owner) ? "dead" : "living", run->owner);
    }
    return true;
}

static void check_all(struct flipping *flipping)
{
    struct check_findings findings = check_store(flipping->scene, &flipping->ledger);
    if (findings.unfinished_runs > 0) {
        struct store_run_query all = {0};
        flipping->store->ops->list_runs(flipping->store, &all, show_unfinished, NULL, NULL);
    }
    assert_int_equal(findings.unfinished_runs, 0);
    check_runs(flipping);
    check_history(flipping);
    print_message(
        "%" PRIu64 " runs in %d processes, %" PRIu64 " kills; %zu changes of the policies,"
        " seen %" PRIu64 " times; %" PRIu64 " iterations, 0 of them denied; %" PRIu64
        " runs ended at %d, %" PRIu64 " at %d\n",
        findings.runs, PROCESSES, flipping->kills, flipping->count, flipping->changes_seen,
        findings.finished, flipping->ended_low, LOW_LIMIT, flipping->ended_high, HIGH_LIMIT);
}

static void open_store(struct flipping *flipping)
{
    struct rondo_error err = {0};
    struct store_sqlite_options options = {.path = flipping->scene->store, .may_create = true};
    if (store_sqlite_open(&options, &flipping->store, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

/** One store: loops from their start to their end. */
static void run_round(struct crash_scene *scene, const char *const *loops, int64_t kills)
{
    struct flipping flipping = {.scene = scene,
                                .flips = memory_new_zero(FLIPS_ROOM, sizeof(*flipping.flips))};
    snprintf(flipping.policy, sizeof(flipping.policy), "%s/rondo.cedar", scene->folder);
    open_store(&flipping);
    flip(&flipping);
    start_all(&flipping, loops);
    flip_until_done(&flipping, loops, kills);
    check_all(&flipping);
    release_files(&flipping);
    store_close(flipping.store);
    ledger_clear(&flipping.ledger);
    free(flipping.flips);
}

TEST_WITH(no_loop_runs_an_iteration_that_its_policies_denied, scene_setup, scene_teardown)
{
    static const char *const few[PROCESSES] = {"20", "10", "10", "10"};
    static const char *const many[PROCESSES] = {"200", "50", "50", "50"};
    bool is_long = scene_is_long();
    for (int round = 0; round < (is_long ? 20 : 3); round++) {
        run_round(*state, is_long ? many : few, is_long ? 5 : 2);
        scene_clear(*state);
    }
}
