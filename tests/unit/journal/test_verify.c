// SPDX-License-Identifier: Apache-2.0
/* Everything in a store is read, what is damaged is named, and what changes meanwhile is no damage.
 */
#include "journal/verify.h"

#include "../../support/store/memory_store.h"
#include "../store/support.h"
#include "base/error.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"
#define RUN_B "01900000-0000-7000-8000-00000000000b"
/** More than is listed at a time. */
#define MANY 600

/** What the listener was told. */
struct verify_notes {
    unsigned damages;
    char run_id[ID_SIZE];
    char detail[512];
    unsigned calls;
    unsigned calls_max; /* 0 = all */
};

static void note_damage(void *context, const char *run_id, const char *detail)
{
    struct verify_notes *notes = context;
    notes->damages++;
    snprintf(notes->run_id, sizeof(notes->run_id), "%s", run_id);
    snprintf(notes->detail, sizeof(notes->detail), "%s", detail);
}

static bool note_progress(void *context, const struct journal_verified *so_far)
{
    struct verify_notes *notes = context;
    notes->calls++;
    assert_int_equal(so_far->runs, notes->calls);
    return notes->calls != notes->calls_max;
}

static int verify(struct store *store, struct verify_notes *notes,
                  struct journal_verified *verified)
{
    struct rondo_error err = {0};
    const struct journal_verify_listener listener = {note_damage, note_progress, notes};
    int r = journal_verify(store, &listener, verified, &err);
    assert_true((r < 0) == (err.message[0] != '\0'));
    return r;
}

TEST(all_of_a_store_is_read_in_pages)
{
    struct store *store = store_memory_new(NULL);
    struct verify_notes notes = {0};
    struct journal_verified verified;
    int64_t first = 0;
    assert_int_equal(store->ops->reserve_memories(store, "a", MANY, &first, NULL), 0);
    for (unsigned i = 0; i < MANY; i++) {
        struct test_id id = test_id(i + 1);
        test_create(store, id.text, "agent", false);
        test_append(store, id.text, 1, "{}");
        const struct store_memory_change change = {.memory = {.id = first + i,
                                                              .owner = "a",
                                                              .category = "general",
                                                              .run_id = "",
                                                              .source = "remember",
                                                              .metadata = "{}",
                                                              .content = "something",
                                                              .grams = ""}};
        uint64_t changed = 0;
        assert_int_equal(store->ops->change_memories(store, &change, 1, &changed, NULL), 0);
    }
    for (unsigned i = 0; i < MANY; i++) {
        const struct store_change put = {.collection = i % 2 == 0 ? "even" : "odd",
                                         .key = test_id(i).text,
                                         .data = "{}",
                                         .data_len = 2,
                                         .if_version = 0};
        bool is_applied = false;
        assert_int_equal(store->ops->change_documents(store, &put, 1, &is_applied, NULL), 0);
        assert_true(is_applied);
    }
    assert_int_equal(store->ops->post(store, test_id(1).text, "stop", "{}", NULL), 0);
    assert_int_equal(verify(store, &notes, &verified), 0);
    assert_int_equal(verified.runs, MANY);
    assert_int_equal(verified.events, MANY);
    assert_int_equal(verified.memories, MANY);
    assert_int_equal(verified.documents, MANY);
    assert_int_equal(verified.letters, 1);
    assert_int_equal(verified.checkpoints, 0);
    assert_int_equal(verified.damages, 0);
    assert_int_equal(notes.calls, MANY);
    store_close(store);
}

/* ---- A store that answers otherwise than it should ------------------------------------------ */

static const struct store_ops *real;
static struct oddity {
    int answer;   /* of reading the journal of RUN_A */
    bool is_cut;  /* that journal lacks its last event */
    bool is_gone; /* RUN_A is deleted when its row is read again */
} odd;

static int read_events(struct store *store, const char *run_id, uint64_t after, uint32_t limit,
                       store_event_fn *fn, void *context, struct rondo_error *err)
{
    bool is_it = strcmp(run_id, RUN_A) == 0;
    if (is_it && odd.answer < 0) {
        return error_set(err, odd.answer, "what the store says");
    }
    return real->read_events(store, run_id, after, is_it && odd.is_cut ? 1 : limit, fn, context,
                             err);
}

static int get_run(struct store *store, const char *run_id, struct store_run *ret_run,
                   struct rondo_error *err)
{
    return odd.is_gone ? error_set(err, RONDO_ERR_NOT_FOUND, "it is gone")
                       : real->get_run(store, run_id, ret_run, err);
}

/** Verify a store with two runs of two events each. */
static int verify_odd(struct oddity oddity, struct verify_notes *notes,
                      struct journal_verified *verified)
{
    struct store *store = store_memory_new(NULL);
    test_create(store, RUN_A, "agent", false);
    test_create(store, RUN_B, "agent", false);
    for (uint64_t seq = 1; seq <= 2; seq++) {
        test_append(store, RUN_A, seq, "{}");
        test_append(store, RUN_B, seq, "{}");
    }
    real = store->ops;
    odd = oddity;
    struct store_ops ops = *real;
    ops.read_events = read_events;
    ops.get_run = get_run;
    store->ops = &ops;
    int r = verify(store, notes, verified);
    store->ops = real;
    store_close(store);
    return r;
}

TEST(a_damaged_journal_is_named_and_hides_no_other)
{
    struct verify_notes notes = {0};
    struct journal_verified verified;
    const struct oddity oddity = {.answer = RONDO_ERR_CORRUPT};
    assert_int_equal(verify_odd(oddity, &notes, &verified), 0);
    assert_int_equal(verified.damages, 1);
    assert_int_equal(notes.damages, 1);
    assert_string_equal(notes.run_id, RUN_A);
    assert_string_equal(notes.detail, "what the store says");
    assert_int_equal(verified.runs, 2);
    assert_int_equal(verified.events, 2);
}

TEST(a_store_that_cannot_be_read_is_not_said_to_be_damaged)
{
    struct verify_notes notes = {0};
    struct journal_verified verified;
    const struct oddity oddity = {.answer = RONDO_ERR_IO};
    assert_int_equal(verify_odd(oddity, &notes, &verified), RONDO_ERR_IO);
    assert_int_equal(notes.damages, 0);
}

TEST(a_journal_that_is_shorter_than_its_row_says_is_damaged)
{
    struct verify_notes notes = {0};
    struct journal_verified verified;
    const struct oddity oddity = {.is_cut = true};
    assert_int_equal(verify_odd(oddity, &notes, &verified), 0);
    assert_int_equal(notes.damages, 1);
    assert_string_equal(notes.run_id, RUN_A);
    assert_string_equal(notes.detail, "its journal has 1 events, but its row counts 2");
}

TEST(a_run_that_is_deleted_meanwhile_is_not_damaged)
{
    struct verify_notes notes = {0};
    struct journal_verified verified;
    const struct oddity oddity = {.is_cut = true, .is_gone = true};
    assert_int_equal(verify_odd(oddity, &notes, &verified), 0);
    assert_int_equal(notes.damages, 0);
}

TEST(the_listener_can_end_it)
{
    struct verify_notes notes = {.calls_max = 1};
    struct journal_verified verified;
    assert_int_equal(verify_odd((struct oddity){0}, &notes, &verified), RONDO_ERR_CANCELLED);
    assert_int_equal(verified.runs, 1);
}
