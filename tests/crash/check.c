// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "base/auto.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/memory.h"
#include "journal/checkpoint.h"
#include "journal/reader.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "store/postgres/postgres.h"
#include "store/sqlite/sqlite.h"
#include "support/test.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_ROOM        4096
#define STORE_FILE_LIMIT ((size_t)1 << 30)

/** A try of an iteration, as the journal has it. */
struct iteration_attempt {
    uint64_t iteration;
    uint64_t attempt;
    uint64_t seq;
    bool is_finished;
    uint64_t effects;
};

/** One run while its journal is read. */
struct run_check {
    struct store *store;
    struct store_run row;
    struct check_findings *findings;
    struct iteration_attempt *attempts;
    size_t attempt_count;
    size_t attempt_room;
    bool is_open; /* an iteration was begun and has neither result nor mark */
    uint64_t seq;
    uint64_t finished;
    uint64_t epoch;
    uint64_t interrupted_since_claim;
    uint64_t checkpoint;
    bool has_end;
    char status[32];
};

struct store_check {
    struct store *store;
    struct check_findings findings;
    struct run_check *runs;
    size_t run_count;
};

static void add_attempt(struct run_check *run, const struct journal_event *event)
{
    if (run->attempt_count == run->attempt_room) {
        run->attempt_room = run->attempt_room == 0 ? 16 : 2 * run->attempt_room;
        run->attempts = memory_resize(run->attempts, run->attempt_room, sizeof(*run->attempts));
    }
    run->attempts[run->attempt_count++] = (struct iteration_attempt){
        .iteration = (uint64_t)event->iteration_started.iteration,
        .attempt = (uint64_t)event->iteration_started.attempt,
        .seq = event->seq,
    };
}

static void check_started(struct run_check *run, const struct journal_event *event)
{
    const struct iteration_attempt *last =
        run->attempt_count == 0 ? NULL : &run->attempts[run->attempt_count - 1];
    uint64_t attempt = last != NULL && last->iteration == run->finished + 1 ? last->attempt + 1 : 1;
    if (run->is_open) {
        fail_msg("run %s: event %" PRIu64 " begins an iteration inside another", run->row.id,
                 event->seq);
    }
    if ((uint64_t)event->iteration_started.iteration != run->finished + 1 ||
        (uint64_t)event->iteration_started.attempt != attempt) {
        fail_msg("run %s: event %" PRIu64 " begins iteration %" PRId64 " attempt %" PRId64
                 " instead of %" PRIu64 " attempt %" PRIu64,
                 run->row.id, event->seq, event->iteration_started.iteration,
                 event->iteration_started.attempt, run->finished + 1, attempt);
    }
    run->is_open = true;
    add_attempt(run, event);
}

static void check_closed(struct run_check *run, const struct journal_event *event)
{
    int64_t iteration = journal_event_iteration(event);
    struct iteration_attempt *last =
        run->attempt_count == 0 ? NULL : &run->attempts[run->attempt_count - 1];
    if (!run->is_open || last == NULL || (uint64_t)iteration != last->iteration) {
        fail_msg("run %s: event %" PRIu64 " ends iteration %" PRId64 ", which is not open",
                 run->row.id, event->seq, iteration);
        return;
    }
    run->is_open = false;
    if (event->type == JOURNAL_ITERATION_FINISHED) {
        last->is_finished = true;
        run->finished++;
        run->findings->finished++;
    } else {
        run->interrupted_since_claim++;
        run->findings->interrupted++;
        /* What the former owner left open, and what this one was cut off in. */
        if (run->interrupted_since_claim > 2) {
            fail_msg("run %s: more than one iteration was interrupted under one owner",
                     run->row.id);
        }
    }
}

static void check_claimed(struct run_check *run, const struct journal_event *event)
{
    if ((uint64_t)event->run_claimed.epoch <= run->epoch) {
        fail_msg("run %s: epoch %" PRId64 " follows %" PRIu64, run->row.id,
                 event->run_claimed.epoch, run->epoch);
    }
    run->epoch = (uint64_t)event->run_claimed.epoch;
    run->interrupted_since_claim = 0;
    run->has_end = false;
    run->findings->claims++;
}

static void check_saved(struct run_check *run, const struct journal_event *event)
{
    uint64_t number = (uint64_t)event->checkpoint_saved.number;
    if (number <= run->checkpoint) {
        fail_msg("run %s: checkpoint %" PRIu64 " follows %" PRIu64, run->row.id, number,
                 run->checkpoint);
    }
    run->checkpoint = number;
}

static bool check_event(const struct journal_entry *entry, void *context)
{
    struct run_check *run = context;
    const struct journal_event *event = &entry->event;
    if (event->seq != run->seq + 1) {
        fail_msg("run %s: event %" PRIu64 " follows %" PRIu64, run->row.id, event->seq, run->seq);
    }
    run->seq = event->seq;
    run->findings->events++;
    if (event->type == JOURNAL_ITERATION_STARTED) {
        check_started(run, event);
    } else if (event->type == JOURNAL_ITERATION_FINISHED ||
               event->type == JOURNAL_ITERATION_INTERRUPTED) {
        check_closed(run, event);
    } else if (event->type == JOURNAL_RUN_CLAIMED) {
        check_claimed(run, event);
    } else if (event->type == JOURNAL_CHECKPOINT_SAVED) {
        check_saved(run, event);
    } else if (event->type == JOURNAL_STORAGE_DEGRADED) {
        run->findings->degraded++;
    } else if (event->type == JOURNAL_RUN_FINISHED) {
        run->has_end = true;
        snprintf(run->status, sizeof(run->status), "%s", event->run_finished.status);
    } else if (event->type == JOURNAL_CHECKPOINT_CORRUPT) {
        fail_msg("run %s: a resume met a damaged checkpoint: %s", run->row.id,
                 event->checkpoint_corrupt.message);
    }
    return true;
}

struct checkpoint_check {
    struct run_check *run;
    uint64_t numbers[256];
    size_t count;
};

static bool note_checkpoint(const struct store_checkpoint *checkpoint, void *context)
{
    struct checkpoint_check *check = context;
    if (check->count < sizeof(check->numbers) / sizeof(check->numbers[0])) {
        check->numbers[check->count++] = checkpoint->number;
    }
    return true;
}

static void check_checkpoints(struct run_check *run)
{
    struct checkpoint_check check = {.run = run};
    struct rondo_error err = {0};
    int r =
        run->store->ops->list_checkpoints(run->store, run->row.id, note_checkpoint, &check, &err);
    if (r < 0 || (check.count == 0) != (run->checkpoint == 0) ||
        (check.count > 0 && check.numbers[0] != run->checkpoint)) {
        fail_msg(
            "run %s: the journal ends with checkpoint %" PRIu64 ", the store with %" PRIu64 " %s",
            run->row.id, run->checkpoint, check.count == 0 ? 0 : check.numbers[0], err.message);
    }
    for (size_t i = 0; i < check.count; i++) {
        struct checkpoint checkpoint;
        r = checkpoint_load(run->store, run->row.id, check.numbers[i], &checkpoint, &err);
        if (r < 0) {
            fail_msg("run %s: checkpoint %" PRIu64 ": %s", run->row.id, check.numbers[i],
                     err.message);
            return;
        }
        checkpoint_fini(&checkpoint);
        run->findings->checkpoints++;
    }
}

static void check_run(struct run_check *run)
{
    struct rondo_error err = {0};
    int r = journal_visit(run->store, run->row.id, 0, 0, check_event, run, &err);
    if (r < 0) {
        fail_msg("run %s: %s", run->row.id, err.message);
    }
    if (run->seq != run->row.last_seq || run->row.epoch < run->epoch) {
        fail_msg("run %s: the row says seq %" PRIu64 " epoch %" PRIu64 ", the journal %" PRIu64
                 " and %" PRIu64,
                 run->row.id, run->row.last_seq, run->row.epoch, run->seq, run->epoch);
    }
    check_checkpoints(run);
    run->findings->unfinished_runs += !run->has_end;
    run->findings->open_iterations += run->is_open;
}

static bool add_run(const struct store_run *row, void *context)
{
    struct store_check *check = context;
    assert_true(check->run_count < RUNS_ROOM);
    struct run_check *run = &check->runs[check->run_count++];
    run->store = check->store;
    run->row = *row;
    run->findings = &check->findings;
    return true;
}

static struct run_check *find_run(struct store_check *check, const char *id)
{
    for (size_t i = 0; i < check->run_count; i++) {
        if (strcmp(check->runs[i].row.id, id) == 0) {
            return &check->runs[i];
        }
    }
    return NULL;
}

static struct iteration_attempt *find_attempt(struct run_check *run, uint64_t iteration,
                                              uint64_t attempt)
{
    for (size_t i = run->attempt_count; i-- > 0;) {
        struct iteration_attempt *candidate = &run->attempts[i];
        if (candidate->iteration == iteration && candidate->attempt == attempt) {
            return candidate;
        }
    }
    return NULL;
}

static void check_fact(struct store_check *check, const struct acknowledged_fact *fact)
{
    struct run_check *run = find_run(check, fact->run_id);
    if (run == NULL) {
        fail_msg("run %s was acknowledged and is lost", fact->run_id);
        return;
    }
    const struct iteration_attempt *begun = NULL;
    switch (fact->kind) {
    case FACT_STARTED:
        break;
    case FACT_CLAIMED:
        if (run->row.epoch < fact->number) {
            fail_msg("run %s: epoch %" PRIu64 " was given out, the row has %" PRIu64, fact->run_id,
                     fact->number, run->row.epoch);
        }
        break;
    case FACT_BEGUN:
        begun = find_attempt(run, fact->number, fact->attempt);
        if (begun == NULL || begun->seq > fact->seq || run->seq < fact->seq) {
            fail_msg("run %s: the beginning of iteration %" PRIu64 " attempt %" PRIu64
                     " was acknowledged as event %" PRIu64 " and is lost",
                     fact->run_id, fact->number, fact->attempt, fact->seq);
        }
        break;
    case FACT_CHECKPOINT:
        if (run->checkpoint < fact->number) {
            fail_msg("run %s: checkpoint %" PRIu64 " was acknowledged and is lost", fact->run_id,
                     fact->number);
        }
        break;
    case FACT_EVENT:
        if (run->seq < fact->number) {
            fail_msg("run %s: event %" PRIu64 " was shown and is lost", fact->run_id, fact->number);
        }
        break;
    case FACT_ENDED:
        if (run->status[0] == '\0') {
            fail_msg("run %s: its end (%s) was acknowledged and is lost", fact->run_id, fact->text);
        }
        break;
    }
}

/** Worker commands do not know their attempt: the latest one that has no effect yet. */
static struct iteration_attempt *find_without_effect(struct run_check *run, uint64_t iteration)
{
    for (size_t i = run->attempt_count; i-- > 0;) {
        if (run->attempts[i].iteration == iteration && run->attempts[i].effects == 0) {
            return &run->attempts[i];
        }
    }
    return NULL;
}

static void count_effect(struct store_check *check, const char *line)
{
    char id[ID_SIZE];
    uint64_t iteration, attempt;
    int fields = sscanf(line, "%36s %" SCNu64 " %" SCNu64, id, &iteration, &attempt);
    if (fields < 2) {
        fail_msg("cannot read the effect '%s'", line);
    }
    struct run_check *run = find_run(check, id);
    struct iteration_attempt *begun = NULL;
    if (run != NULL) {
        begun = fields == 3 ? find_attempt(run, iteration, attempt)
                            : find_without_effect(run, iteration);
    }
    if (begun == NULL) {
        fail_msg("the body of '%s' ran without a committed beginning", line);
        return;
    }
    begun->effects++;
    check->findings.effects++;
}

static void check_effects(struct crash_scene *scene, struct store_check *check)
{
    auto_fclose FILE *file = fopen(scene->effects, "re");
    char line[128];
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        count_effect(check, line);
    }
    for (size_t i = 0; file != NULL && i < check->run_count; i++) {
        const struct run_check *run = &check->runs[i];
        for (size_t j = 0; j < run->attempt_count; j++) {
            const struct iteration_attempt *attempt = &run->attempts[j];
            if (attempt->effects > 1 || (attempt->is_finished && attempt->effects != 1)) {
                fail_msg("run %s: iteration %" PRIu64 " attempt %" PRIu64 " (%s) had %" PRIu64
                         " effects",
                         run->row.id, attempt->iteration, attempt->attempt,
                         attempt->is_finished ? "finished" : "cut off", attempt->effects);
            }
        }
    }
}

static void copy_file(const char *from, const char *folder, const char *name)
{
    auto_buf struct buf bytes = {0};
    if (!file_exists(from)) {
        return;
    }
    char to[SCENE_PATH + 64];
    snprintf(to, sizeof(to), "%s/%s", folder, name);
    assert_int_equal(file_read(from, STORE_FILE_LIMIT, &bytes, NULL), 0);
    assert_int_equal(file_replace_durably(to, buf_string(&bytes), bytes.len, NULL), 0);
}

static void copy_store(struct crash_scene *scene, char *ret_path, size_t size)
{
    char folder[SCENE_PATH + 16], log[SCENE_PATH + 32];
    snprintf(folder, sizeof(folder), "%s/copy", scene->folder);
    snprintf(log, sizeof(log), "%s-wal", scene->store);
    assert_int_equal(file_remove_tree(folder, NULL), 0);
    assert_int_equal(file_make_folder(folder, NULL), 0);
    copy_file(scene->store, folder, "a.db");
    copy_file(log, folder, "a.db-wal");
    snprintf(ret_path, size, "%s/a.db", folder);
}

static void check_integrity(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "ok");
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static void check_all(struct crash_scene *scene, struct store_check *check,
                      const struct ledger *ledger)
{
    struct rondo_error err = {0};
    struct store_run_query query = {0};
    if (check->store->ops->list_runs(check->store, &query, add_run, check, &err) < 0) {
        fail_msg("%s", err.message);
    }
    for (size_t i = 0; i < check->run_count; i++) {
        check_run(&check->runs[i]);
    }
    for (size_t i = 0; ledger != NULL && i < ledger->count; i++) {
        check_fact(check, &ledger->facts[i]);
    }
    check_effects(scene, check);
    check->findings.runs = check->run_count;
    if (check->run_count > 0) {
        memcpy(check->findings.last_run, check->runs[0].row.id, ID_SIZE);
    }
}

/** Open a copy of the store, or the database itself. @return NULL when there is none yet */
static struct store *open_to_check(struct crash_scene *scene)
{
    struct store *store = NULL;
    struct rondo_error err = {0};
    int r;
    if (scene->server != NULL) {
        const struct store_postgres_options options = {.address = scene->store};
        r = store_postgres_open(&options, &store, &err);
    } else {
        char path[SCENE_PATH + 64];
        copy_store(scene, path, sizeof(path));
        if (!file_exists(path)) {
            return NULL;
        }
        check_integrity(path);
        const struct store_sqlite_options options = {.path = path, .may_create = true};
        r = store_sqlite_open(&options, &store, &err);
    }
    if (r < 0 && (scene->server == NULL || r != RONDO_ERR_NOT_FOUND)) {
        fail_msg("the store cannot be opened: %s", err.message);
    }
    return store;
}

struct check_findings check_store(struct crash_scene *scene, const struct ledger *ledger)
{
    struct store_check check = {.store = open_to_check(scene)};
    if (check.store == NULL) {
        assert_true(ledger == NULL || ledger->count == 0);
        return check.findings;
    }
    check.runs = memory_new_zero(RUNS_ROOM, sizeof(*check.runs));
    check_all(scene, &check, ledger);
    for (size_t i = 0; i < check.run_count; i++) {
        free(check.runs[i].attempts);
    }
    free(check.runs);
    store_close(check.store);
    return check.findings;
}
