// SPDX-License-Identifier: Apache-2.0
/* Copying one SQLite store into another one: whole, killed at every piece, on a disk that fills. */
#include "../fault_vfs.h"
#include "../support.h"
#include "store/sqlite/sqlite.h"
#include "store/transfer/transfer.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
/** Runs of the source, and events of each. */
#define RUNS   6
#define EVENTS 7

struct copy_scene {
    char *folder;
    char *from_path;
    char *to_path;
    struct store *from;
    struct store *to;
    size_t piece_parts;
    unsigned kill_after; /**< pieces; 0 = never */
    unsigned pieces;
    bool is_executed; /**< what is said of all runs */
    bool fails_to_settle;
    unsigned settled;
    char differences[2048];
    struct rondo_error err;
    struct transfer_totals totals;
    enum transfer_outcome outcome;
};

static struct store *open_store(const char *path)
{
    const struct store_sqlite_options options = {.path = path, .may_create = true};
    struct store *store = NULL;
    struct rondo_error err = {0};
    int r = store_sqlite_open(&options, &store, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(r, 0);
    return store;
}

static void open_both(struct copy_scene *scene)
{
    scene->from = open_store(scene->from_path);
    scene->to = open_store(scene->to_path);
}

static void close_both(struct copy_scene *scene)
{
    store_close(scene->from);
    store_close(scene->to);
    scene->from = scene->to = NULL;
}

static struct store_checkpoint make_checkpoint(uint64_t number)
{
    return (struct store_checkpoint){.number = number,
                                     .seq = 1,
                                     .iteration = number,
                                     .time_ns = 5,
                                     .format = 1,
                                     .state = "state",
                                     .state_len = 5,
                                     .state_size = 5,
                                     .fold = "{}",
                                     .conditions = "[]",
                                     .sha256 = {7}};
}

static void put_document(struct store *store, const char *collection, const char *key)
{
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = collection,
                                        .key = key,
                                        .data = "{}",
                                        .data_len = 2,
                                        .if_version = STORE_ANY_VERSION};
    bool is_applied = false;
    assert_int_equal(store->ops->change_documents(store, &change, 1, &is_applied, NULL), 0);
}

static void record_policy(struct store *store, const char *source)
{
    const struct store_policy_change change = {.time_ns = 5,
                                               .source = source,
                                               .digest = DIGEST,
                                               .how = "set",
                                               .by = "me",
                                               .text = "text",
                                               .text_len = 4};
    uint64_t number = 0;
    bool is_new = false;
    assert_int_equal(store->ops->record_policy(store, &change, &number, &is_new, NULL), 0);
}

static void add_memory(struct store *store, const char *owner, const char *content)
{
    struct store_memory_change changes[2] = {{.kind = STORE_MEMORY_ADD,
                                              .memory = {.owner = owner,
                                                         .kind = STORE_SEMANTIC,
                                                         .created_ns = 9,
                                                         .category = "general",
                                                         .run_id = "",
                                                         .source = "remember",
                                                         .metadata = "{}",
                                                         .content = content,
                                                         .grams = "further",
                                                         .vector = "vec",
                                                         .vector_len = 3,
                                                         .vector_model = "m"}}};
    uint64_t changed = 0;
    assert_int_equal(store->ops->reserve_memories(store, owner, 1, &changes[0].memory.id, NULL), 0);
    changes[1] = changes[0];
    changes[1].kind = STORE_MEMORY_EMBED;
    assert_int_equal(store->ops->change_memories(store, changes, 2, &changed, NULL), 0);
}

/** Fill the source with some of everything; events of the runs take turns. */
static void fill(struct store *store)
{
    for (unsigned i = 0; i < RUNS; i++) {
        test_create(store, test_id(i).text, i % 2 == 0 ? "even" : "odd", false);
    }
    for (uint64_t seq = 1; seq <= EVENTS; seq++) {
        for (unsigned i = 0; i < RUNS; i++) {
            const struct store_event event = test_event("{\"a\":1}");
            const struct store_checkpoint checkpoint = make_checkpoint(seq);
            const struct store_checkpoint interim = make_checkpoint(0);
            struct store_batch batch = test_batch(test_id(i).text, 1, seq, &event, 1);
            batch.checkpoint = seq <= 3 ? &checkpoint : NULL;
            batch.interim = seq == 5 && i == 1 ? &interim : NULL;
            batch.keep_checkpoints = 2;
            batch.summary.status = seq == EVENTS && i == 2 ? RONDO_COMPLETED : RONDO_RUNNING;
            batch.summary.cost_micro = -1;
            batch.lease_ns = i == 3 ? batch.lease_ns : seq == EVENTS ? 0 : batch.lease_ns;
            test_commit(store, &batch);
        }
    }
    assert_int_equal(store->ops->post(store, test_id(0).text, "stop", "{}", NULL), 0);
    assert_int_equal(store->ops->post(store, test_id(1).text, "stop", "{}", NULL), 0);
    put_document(store, "cursors", "one");
    put_document(store, "cursors", "\xff\x01");
    put_document(store, "policies", "rondo.cedar");
    put_document(store, "tokens", "x");
    put_document(store, "tokens", "x");
    record_policy(store, "/p");
    record_policy(store, "/q");
    add_memory(store, "mine", "the sky");
    add_memory(store, "yours", "the sea");
    add_memory(store, "mine", "the land");
}

static int make_scene(void **state)
{
    struct copy_scene *scene = memory_new_zero(1, sizeof(*scene));
    fault_vfs_reset();
    scene->piece_parts = 3;
    scene->folder = test_folder_new();
    scene->from_path = test_path(scene->folder, "from.db");
    scene->to_path = test_path(scene->folder, "to.db");
    open_both(scene);
    fill(scene->from);
    *state = scene;
    return 0;
}

static int remove_scene(void **state)
{
    struct copy_scene *scene = *state;
    fault_vfs_reset();
    close_both(scene);
    test_folder_free(scene->folder);
    free(scene->from_path);
    free(scene->to_path);
    free(scene);
    return 0;
}

#define SCENE_TEST(name) TEST_WITH(name, make_scene, remove_scene)

static bool is_executed(const struct store_run *run, int64_t now_ns)
{
    (void)now_ns;
    return strcmp(run->agent_id, "executed") == 0;
}

static void write_grams(const char *content, struct buf *ret_grams)
{
    buf_append_string(ret_grams, strcmp(content, "the sky") == 0 ? "blue" : "");
}

static int settle(void *context, struct rondo_error *err)
{
    struct copy_scene *scene = context;
    scene->settled++;
    if (scene->fails_to_settle) {
        snprintf(err->message, sizeof(err->message), "not settled");
        return err->code = RONDO_ERR_IO;
    }
    return 0;
}

static bool count_piece(void *context, enum transfer_part part,
                        const struct transfer_totals *so_far)
{
    struct copy_scene *scene = context;
    (void)part;
    (void)so_far;
    if (++scene->pieces == scene->kill_after) {
        raise(SIGKILL);
    }
    return true;
}

static void note_difference(void *context, const char *what)
{
    struct copy_scene *scene = context;
    size_t len = strlen(scene->differences);
    snprintf(scene->differences + len, sizeof(scene->differences) - len, "%s\n", what);
}

static const char *const left_out[] = {"policies", NULL};

static struct transfer transfer_of(struct copy_scene *scene)
{
    return (struct transfer){
        .from = scene->from,
        .to = scene->to,
        .from_name = scene->from_path,
        .to_name = scene->to_path,
        .left_out = left_out,
        .piece_parts = scene->piece_parts,
        .is_executed = is_executed,
        .write_grams = write_grams,
        .settle = settle,
        .progress = count_piece,
        .difference = note_difference,
        .context = scene,
    };
}

static int copy(struct copy_scene *scene)
{
    const struct transfer transfer = transfer_of(scene);
    scene->err = (struct rondo_error){0};
    return transfer_copy(&transfer, &scene->outcome, &scene->totals, &scene->err);
}

static void expect_copied(struct copy_scene *scene)
{
    int r = copy(scene);
    assert_string_equal(scene->err.message, "");
    assert_int_equal(r, 0);
    assert_string_equal(scene->differences, "");
    assert_int_equal(scene->outcome, TRANSFER_COPIED);
    assert_int_equal(scene->totals.runs, RUNS);
    assert_int_equal(scene->totals.events, RUNS * EVENTS);
    assert_int_equal(scene->totals.checkpoints, RUNS * 2 + 1);
    assert_int_equal(scene->totals.letters, 2);
    assert_int_equal(scene->totals.documents, 3);
    assert_int_equal(scene->totals.policies, 2);
    assert_int_equal(scene->totals.memories, 3);
    assert_int_equal(scene->totals.vectors, 3);
}

static uint64_t compare(struct copy_scene *scene)
{
    const struct transfer transfer = transfer_of(scene);
    uint64_t differences = 0;
    scene->differences[0] = '\0';
    int r = transfer_compare(&transfer, &differences, &scene->totals, &scene->err);
    assert_string_equal(scene->err.message, "");
    assert_int_equal(r, 0);
    return differences;
}

SCENE_TEST(a_copy_has_everything_and_is_used_like_the_source)
{
    struct copy_scene *scene = *state;
    expect_copied(scene);
    assert_int_equal(scene->settled, 1);
    assert_int_equal(test_last_position(scene->to), test_last_position(scene->from));
    assert_int_equal(transfer_check_whole(scene->to, "to", NULL), 0);
    struct store_claim_result claimed = test_claim(scene->to, test_id(0).text, "owner-b");
    assert_int_equal(claimed.outcome, STORE_CLAIMED);
    assert_true(claimed.epoch > 2);
    const struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(test_id(0).text, claimed.epoch, EVENTS + 1, &event, 1);
    assert_int_equal(test_commit(scene->to, &batch).outcome, STORE_COMMITTED);
    assert_true(test_last_position(scene->to) > test_last_position(scene->from));
}

static bool note_id(const struct store_memory *memory, void *context)
{
    *(int64_t *)context = memory->id;
    return true;
}

SCENE_TEST(further_words_of_memories_are_made_anew)
{
    struct copy_scene *scene = *state;
    expect_copied(scene);
    const struct store_memory_word word = {.text = "blue"};
    const struct store_memory_query query = {.owner = "mine", .words = &word, .word_count = 1};
    int64_t id = 0;
    assert_int_equal(scene->to->ops->read_memories(scene->to, &query, note_id, &id, NULL), 0);
    assert_true(id > 0);
}

SCENE_TEST(a_second_copy_does_nothing)
{
    struct copy_scene *scene = *state;
    expect_copied(scene);
    assert_int_equal(copy(scene), 0);
    assert_int_equal(scene->outcome, TRANSFER_WAS_COPIED);
    assert_int_equal(scene->settled, 1);
}

SCENE_TEST(a_copy_of_a_copy_is_the_same)
{
    struct copy_scene *scene = *state;
    expect_copied(scene);
    close_both(scene);
    free(scene->from_path);
    scene->from_path = scene->to_path;
    scene->to_path = test_path(scene->folder, "third.db");
    open_both(scene);
    assert_int_equal(copy(scene), 0);
    assert_int_equal(scene->outcome, TRANSFER_COPIED);
    assert_string_equal(scene->differences, "");
}

/** Copy in a child that is killed after so many pieces. @return whether it was */
static bool copy_in_child(struct copy_scene *scene, unsigned pieces)
{
    close_both(scene);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        scene->kill_after = pieces;
        scene->pieces = 0;
        open_both(scene);
        _exit(copy(scene) == 0 && scene->outcome != TRANSFER_DIFFERS ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    open_both(scene);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

SCENE_TEST(a_copy_that_is_killed_after_each_piece_goes_on)
{
    struct copy_scene *scene = *state;
    unsigned kills = 0;
    /* Comparing needs RUNS steps in a row, so a child gets some more in the end. */
    while (copy_in_child(scene, kills < 40 ? 1 : RUNS + 2)) {
        kills++;
        assert_true(kills < 200);
        if (kills < 40) {
            assert_int_equal(transfer_check_whole(scene->to, "to", NULL), RONDO_ERR_STATE);
        }
    }
    assert_true(kills >= 40);
    assert_int_equal(compare(scene), 0);
    assert_int_equal(transfer_check_whole(scene->to, "to", NULL), 0);
}

SCENE_TEST(a_copy_that_is_killed_once_at_any_piece_goes_on)
{
    struct copy_scene *scene = *state;
    scene->piece_parts = 6;
    for (unsigned pieces = 1;; pieces += 3) {
        bool was_killed = copy_in_child(scene, pieces);
        if (!was_killed) {
            assert_true(pieces > 20);
            break;
        }
        assert_int_equal(copy(scene), 0);
        assert_int_not_equal(scene->outcome, TRANSFER_DIFFERS);
        assert_int_equal(compare(scene), 0);
        close_both(scene);
        assert_int_equal(unlink(scene->to_path), 0);
        open_both(scene);
    }
}

SCENE_TEST(a_copy_to_a_disk_that_is_full_at_any_write_goes_on)
{
    struct copy_scene *scene = *state;
    bool has_failed = true;
    scene->piece_parts = 25;
    for (unsigned nth = 1; has_failed; nth += 19) {
        fault_vfs_plan(FAULT_VFS_WRITE, nth, SQLITE_FULL, true);
        int r = copy(scene);
        has_failed = fault_vfs_has_failed();
        fault_vfs_reset();
        if (has_failed) {
            assert_int_equal(r, RONDO_ERR_FULL);
            assert_int_equal(copy(scene), 0);
        } else {
            assert_int_equal(r, 0);
        }
        assert_int_equal(scene->outcome, TRANSFER_COPIED);
        assert_string_equal(scene->differences, "");
        close_both(scene);
        assert_int_equal(unlink(scene->to_path), 0);
        open_both(scene);
    }
}

static void expect_refusal(struct copy_scene *scene, int code, const char *part)
{
    assert_int_equal(copy(scene), code);
    assert_non_null(strstr(scene->err.message, part));
}

SCENE_TEST(a_target_that_has_something_is_refused)
{
    struct copy_scene *scene = *state;
    put_document(scene->to, "c", "k");
    expect_refusal(scene, RONDO_ERR_STATE, "has documents already");
    assert_int_equal(transfer_check_whole(scene->to, "to", NULL), 0);
}

SCENE_TEST(a_copy_of_another_store_is_refused)
{
    struct copy_scene *scene = *state;
    assert_true(copy_in_child(scene, 2));
    auto_free char *path = scene->from_path;
    scene->from_path = test_path(scene->folder, "other.db");
    expect_refusal(scene, RONDO_ERR_STATE, "is an unfinished copy of ");
    assert_int_equal(strcmp(path, scene->from_path) == 0, false);
}

SCENE_TEST(a_source_that_changed_since_is_refused)
{
    struct copy_scene *scene = *state;
    assert_true(copy_in_child(scene, 5));
    test_create(scene->from, test_id(77).text, "late", false);
    test_append(scene->from, test_id(77).text, 1, "{}");
    expect_refusal(scene, RONDO_ERR_STATE, "has changed since it was copied");
}

/** One that was made to be copied for ever: the numbers between are not there. */
SCENE_TEST(a_source_that_lacks_a_part_of_the_history_of_policies_is_refused)
{
    struct copy_scene *scene = *state;
    bool is_applied = false;
    const struct store_policy_change change = {
        .number = UINT64_C(4000000000000000000),
        .time_ns = 1,
        .source = "/p",
        .digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .how = "set",
        .by = "me",
        .text = "text",
        .text_len = 4};
    const struct store_piece piece = {.policies = &change, .policy_count = 1};
    assert_int_equal(scene->from->ops->import(scene->from, &piece, &is_applied, NULL), 0);
    assert_int_equal(copy(scene), RONDO_ERR_CORRUPT);
    assert_non_null(strstr(scene->err.message, "number 3 of the history of policies is missing"));
}

SCENE_TEST(a_source_with_a_run_that_is_executed_is_refused)
{
    struct copy_scene *scene = *state;
    test_create(scene->from, test_id(77).text, "executed", false);
    expect_refusal(scene, RONDO_ERR_BUSY, "of executed in ");
    assert_int_equal(test_last_position(scene->to), 0);
}

SCENE_TEST(one_store_under_two_names_is_refused)
{
    struct copy_scene *scene = *state;
    close_both(scene);
    assert_int_equal(unlink(scene->from_path), 0);
    assert_int_equal(symlink(scene->to_path, scene->from_path), 0);
    open_both(scene);
    expect_refusal(scene, RONDO_ERR_STATE, "are the same store");
    assert_int_equal(transfer_check_whole(scene->to, "to", NULL), 0);
}

SCENE_TEST(a_source_that_changes_meanwhile_is_found_and_the_copy_stays_unusable)
{
    struct copy_scene *scene = *state;
    scene->fails_to_settle = true;
    assert_int_equal(copy(scene), RONDO_ERR_IO);
    /* As if the comparison had not been made yet. */
    struct transfer_mark mark = {0};
    auto_buf struct buf json = {0};
    bool is_applied = false;
    assert_int_equal(transfer_mark_read(scene->to, &mark, NULL), 0);
    mark.part = TRANSFER_COMPARING;
    struct store_change change = transfer_mark_change(&mark, &json);
    scene->to->ops->change_documents(scene->to, &change, 1, &is_applied, NULL);
    assert_true(is_applied);
    transfer_mark_fini(&mark);
    put_document(scene->from, "cursors", "one");
    assert_int_equal(copy(scene), 0);
    assert_int_equal(scene->outcome, TRANSFER_DIFFERS);
    assert_string_equal(scene->differences, "the documents of the collection cursors differ\n");
    assert_int_equal(transfer_check_whole(scene->to, "to", NULL), RONDO_ERR_STATE);
}

SCENE_TEST(what_is_beside_is_done_again_until_it_succeeds)
{
    struct copy_scene *scene = *state;
    scene->fails_to_settle = true;
    assert_int_equal(copy(scene), RONDO_ERR_IO);
    assert_int_equal(transfer_check_whole(scene->to, "to", NULL), RONDO_ERR_STATE);
    record_policy(scene->to, "/beside"); /* It is no difference: it came with what is beside. */
    scene->fails_to_settle = false;
    assert_int_equal(copy(scene), 0);
    assert_int_equal(scene->outcome, TRANSFER_COPIED);
    assert_int_equal(scene->settled, 2);
    assert_int_equal(compare(scene), 0);
}

/** Change the target by hand. */
static void change_by_hand(struct copy_scene *scene, const char *sql)
{
    sqlite3 *db = NULL;
    close_both(scene);
    assert_int_equal(sqlite3_open(scene->to_path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    open_both(scene);
}

SCENE_TEST(each_difference_is_named)
{
    static const struct {
        const char *change;
        const char *back;
        const char *difference;
    } cases[] = {
        {"UPDATE events SET data = '{\"a\":2}' WHERE position = 8",
         "UPDATE events SET data = '{\"a\":1}' WHERE position = 8", "its journal differs"},
        {"UPDATE runs SET tokens = tokens + 1 WHERE key = 2",
         "UPDATE runs SET tokens = tokens - 1 WHERE key = 2", "its row differs"},
        {"UPDATE checkpoints SET state = x'00' WHERE key = 3",
         "UPDATE checkpoints SET state = cast('state' AS BLOB) WHERE key = 3",
         "its checkpoints differ"},
        {"UPDATE interims SET format = 9", "UPDATE interims SET format = 1",
         "its checkpoints differ"},
        {"UPDATE letters SET time_ns = time_ns + 1 WHERE run = 1",
         "UPDATE letters SET time_ns = time_ns - 1 WHERE run = 1",
         "the commands that wait for it differ"},
        {"UPDATE documents SET version = 9 WHERE collection = 'tokens'",
         "UPDATE documents SET version = 2 WHERE collection = 'tokens'",
         "the documents of the collection tokens differ"},
        {"UPDATE policy_changes SET \"by\" = 'you' WHERE number = 1",
         "UPDATE policy_changes SET \"by\" = 'me' WHERE number = 1",
         "the history of policies differs"},
        {"UPDATE memory_owners SET last = last + 1", "UPDATE memory_owners SET last = last - 1",
         "the owners of memories differ"},
        {"UPDATE memories SET source = 'x' WHERE content = 'the sky'",
         "UPDATE memories SET source = 'remember'", "the memories differ"},
        {"UPDATE memory_vectors SET model = 'x'", "UPDATE memory_vectors SET model = 'm'",
         "the vectors of memories differ"},
    };
    struct copy_scene *scene = *state;
    expect_copied(scene);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        change_by_hand(scene, cases[i].change);
        assert_int_equal(compare(scene), 1);
        assert_non_null(strstr(scene->differences, cases[i].difference));
        change_by_hand(scene, cases[i].back);
        assert_int_equal(compare(scene), 0);
    }
}

SCENE_TEST(runs_of_one_store_only_are_named)
{
    struct copy_scene *scene = *state;
    expect_copied(scene);
    test_create(scene->to, test_id(77).text, "more", false);
    test_create(scene->from, test_id(78).text, "more", false);
    assert_int_equal(compare(scene), 2);
    assert_non_null(strstr(scene->differences, test_id(77).text));
    assert_non_null(strstr(scene->differences, test_id(78).text));
}

int main(void)
{
    fault_vfs_install();
    return test_run(NULL, NULL);
}
