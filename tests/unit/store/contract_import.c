// SPDX-License-Identifier: Apache-2.0
/* The contract: pieces of other stores. */
#include "contract_parts.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/** The store under test; the test is skipped when pieces cannot be written to it. */
static struct store *importer(void **state)
{
    struct store *store = ((struct contract *)*state)->store;
    if (store->ops->import == NULL) {
        skip();
    }
    return store;
}

/** Write a piece; asserts what becomes of it. */
static void import(struct store *store, const struct store_piece *piece, int expected)
{
    struct rondo_error err = {0};
    bool is_applied = false;
    int r = store->ops->import(store, piece, &is_applied, &err);
    if (expected == 0) {
        assert_string_equal(err.message, "");
    }
    assert_int_equal(r, expected);
    if (r == 0) {
        assert_true(is_applied);
    }
}

static struct store_run make_run(unsigned number)
{
    struct store_run run = {
        .agent_id = "a",
        .epoch = 8,
        .created_ns = 1000 + number,
        .updated_ns = 2000,
        .summary = {.status = RONDO_RUNNING,
                    .iteration = 3,
                    .tokens = 70,
                    .cost_micro = -1,
                    .is_paused = true},
    };
    memcpy(run.id, test_id(number).text, sizeof(run.id));
    return run;
}

static void import_run(struct store *store, const struct store_run *run)
{
    const struct store_piece piece = {.runs = run, .run_count = 1};
    import(store, &piece, 0);
}

static struct store_event make_event(const char *run_id, uint64_t position, uint64_t seq)
{
    return (struct store_event){.run_id = run_id,
                                .position = position,
                                .seq = seq,
                                .time_ns = 500 + (int64_t)seq,
                                .type = "test.event",
                                .data = "{}",
                                .data_len = 2};
}

static int import_events(struct store *store, const struct store_event *events, size_t count)
{
    bool is_applied = false;
    const struct store_piece piece = {.events = events, .event_count = count};
    return store->ops->import(store, &piece, &is_applied, NULL);
}

CONTRACT_TEST(an_imported_run_has_its_row)
{
    struct store *store = importer(state);
    struct store_run run = make_run(1);
    import_run(store, &run);
    struct store_run row = test_get(store, run.id);
    assert_string_equal(row.agent_id, "a");
    assert_int_equal(row.epoch, 8);
    assert_int_equal(row.created_ns, 1001);
    assert_int_equal(row.updated_ns, 2000);
    assert_int_equal(row.ended_ns, 0);
    assert_int_equal(row.summary.iteration, 3);
    assert_int_equal(row.summary.cost_micro, -1);
    assert_true(row.summary.is_paused);
    assert_int_equal(row.last_seq, 0);
    assert_string_equal(row.owner, "");
    const struct store_piece again = {.runs = &run, .run_count = 1};
    import(store, &again, RONDO_ERR_STATE);
}

CONTRACT_TEST(an_imported_run_keeps_the_name_of_its_owner_and_no_lease)
{
    struct store *store = importer(state);
    struct store_run run = make_run(1);
    snprintf(run.owner, sizeof(run.owner), "owner-a");
    run.lease_until_ns = TEST_EPOCH_NS + TEST_LEASE_NS;
    run.alive_ns = TEST_EPOCH_NS;
    import_run(store, &run);
    assert_string_equal(test_get(store, run.id).owner, "owner-a");
    struct store_batch late = test_batch(run.id, 7, 1, NULL, 0);
    assert_int_equal(test_commit(store, &late).outcome, STORE_FENCED);
    struct store_claim_result claimed = test_claim(store, run.id, "owner-b");
    assert_int_equal(claimed.outcome, STORE_CLAIMED);
    assert_int_equal(claimed.epoch, 9);
}

/** What reading gave of events. */
struct seen_events {
    uint64_t positions[200];
    uint64_t seqs[200];
    size_t count;
};

static bool note_event(const struct store_event *event, void *context)
{
    struct seen_events *seen = context;
    seen->positions[seen->count] = event->position;
    seen->seqs[seen->count++] = event->seq;
    assert_int_equal(event->time_ns, 500 + (int64_t)event->seq);
    return true;
}

static struct seen_events read_all(struct store *store, const char *run_id, uint64_t after)
{
    struct seen_events seen = {0};
    assert_int_equal(store->ops->read_events(store, run_id, after, 0, note_event, &seen, NULL), 0);
    return seen;
}

CONTRACT_TEST(imported_events_keep_their_positions)
{
    struct store *store = importer(state);
    struct store_run runs[] = {make_run(1), make_run(2)};
    import_run(store, &runs[0]);
    import_run(store, &runs[1]);
    struct store_event events[150];
    for (unsigned i = 0; i < 150; i++) {
        events[i] = make_event(runs[i % 2].id, 10 + 3 * i, i / 2 + 1);
    }
    assert_int_equal(import_events(store, events, 101), 0);
    assert_int_equal(import_events(store, events + 101, 49), 0);
    struct seen_events seen = read_all(store, NULL, 0);
    assert_int_equal(seen.count, 150);
    assert_int_equal(seen.positions[0], 10);
    assert_int_equal(seen.positions[149], 10 + 3 * 149);
    assert_int_equal(read_all(store, runs[1].id, 0).count, 75);
    /* From each place: the way back from the next mark. */
    for (uint64_t after = 0; after < 75; after++) {
        seen = read_all(store, runs[0].id, after);
        assert_int_equal(seen.count, 75 - after);
        assert_int_equal(seen.seqs[0], after + 1);
    }
    assert_int_equal(test_get(store, runs[0].id).last_seq, 75);
}

CONTRACT_TEST(new_events_come_after_those_of_the_other_store)
{
    struct store *store = importer(state);
    const uint64_t last = UINT64_C(1) << 55;
    struct store_run run = make_run(1);
    struct store_event event = make_event(run.id, last - 7, 1);
    const struct store_piece piece = {
        .runs = &run, .run_count = 1, .events = &event, .event_count = 1, .last_position = last};
    import(store, &piece, 0);
    assert_int_equal(test_last_position(store), last);
    test_create(store, test_id(2).text, "b", false);
    test_append(store, test_id(2).text, 1, "{}");
    assert_true(test_last_position(store) > last);
    struct store_claim_result claimed = test_claim(store, run.id, "owner-b");
    const struct store_event more = test_event("{}");
    struct store_batch batch = test_batch(run.id, claimed.epoch, 2, &more, 1);
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    assert_int_equal(test_count_events(store, run.id), 2);
}

CONTRACT_TEST(events_that_do_not_follow_are_not_imported)
{
    struct store *store = importer(state);
    struct store_run run = make_run(1);
    import_run(store, &run);
    const struct store_event gap[] = {make_event(run.id, 1, 1), make_event(run.id, 2, 3)};
    assert_int_equal(import_events(store, gap, 2), RONDO_ERR_STATE);
    assert_int_equal(test_count_events(store, run.id), 0);
    assert_int_equal(import_events(store, gap, 1), 0);
    assert_int_equal(import_events(store, gap, 1), RONDO_ERR_STATE);
    const struct store_event low = make_event(run.id, 1, 2);
    assert_true(import_events(store, &low, 1) < 0);
    const struct store_event other = make_event(test_id(9).text, 5, 1);
    assert_true(import_events(store, &other, 1) < 0);
    assert_int_equal(test_get(store, run.id).last_seq, 1);
}

static struct store_run_checkpoint make_checkpoint(const char *run_id, uint64_t number)
{
    return (struct store_run_checkpoint){
        .run_id = run_id,
        .is_interim = number == 0,
        .checkpoint = {.number = number,
                       .seq = number,
                       .iteration = number,
                       .time_ns = 5,
                       .format = 1,
                       .state = "state",
                       .state_len = 5,
                       .state_size = 5,
                       .fold = "{}",
                       .conditions = "[]",
                       .sha256 = {1, 2, 3}},
    };
}

static bool note_checkpoint(const struct store_checkpoint *checkpoint, void *context)
{
    char *seen = context;
    size_t len = strlen(seen);
    snprintf(seen + len, 64 - len, "%d:%.*s ", (int)checkpoint->number, (int)checkpoint->state_len,
             checkpoint->state == NULL ? "" : (const char *)checkpoint->state);
    return true;
}

CONTRACT_TEST(imported_checkpoints_are_listed_and_followed_by_new_ones)
{
    struct store *store = importer(state);
    struct store_run run = make_run(1);
    import_run(store, &run);
    /* The oldest ones were pruned. */
    const struct store_run_checkpoint parts[] = {
        make_checkpoint(run.id, 4), make_checkpoint(run.id, 5), make_checkpoint(run.id, 0)};
    const struct store_piece piece = {.checkpoints = parts, .checkpoint_count = 3};
    import(store, &piece, 0);
    import(store, &piece, RONDO_ERR_STATE);
    char seen[64] = "";
    assert_int_equal(store->ops->list_checkpoints(store, run.id, note_checkpoint, seen, NULL), 0);
    assert_string_equal(seen, "5: 4: ");
    seen[0] = '\0';
    store->ops->get_checkpoint(store, run.id, 0, note_checkpoint, seen, NULL);
    store->ops->get_checkpoint(store, run.id, 4, note_checkpoint, seen, NULL);
    store->ops->get_checkpoint(store, run.id, STORE_INTERIM, note_checkpoint, seen, NULL);
    assert_string_equal(seen, "5:state 4:state 0:state ");
    struct store_claim_result claimed = test_claim(store, run.id, "owner-b");
    const struct store_run_checkpoint next = make_checkpoint(run.id, 6);
    struct store_batch batch = test_batch(run.id, claimed.epoch, 1, NULL, 0);
    batch.checkpoint = &next.checkpoint;
    batch.keep_checkpoints = 2;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    seen[0] = '\0';
    store->ops->list_checkpoints(store, run.id, note_checkpoint, seen, NULL);
    assert_string_equal(seen, "6: 5: ");
}

static bool note_letter(const struct store_letter *letter, void *context)
{
    char *seen = context;
    size_t len = strlen(seen);
    snprintf(seen + len, 64 - len, "%s@%d ", letter->kind, (int)letter->time_ns);
    return true;
}

CONTRACT_TEST(imported_letters_wait_in_their_order)
{
    struct store *store = importer(state);
    struct store_run run = make_run(1);
    const struct store_letter letters[] = {
        {.run_id = run.id, .time_ns = 7, .kind = "stop", .data = "{}"},
        {.run_id = run.id, .time_ns = 8, .kind = "limits", .data = "{}"}};
    const struct store_piece piece = {
        .runs = &run, .run_count = 1, .letters = letters, .letter_count = 2};
    import(store, &piece, 0);
    char seen[64] = "";
    assert_int_equal(store->ops->read_mail(store, run.id, NULL, note_letter, seen, NULL), 0);
    assert_string_equal(seen, "stop@7 limits@8 ");
    const struct store_letter lost = {.run_id = test_id(9).text, .kind = "stop", .data = "{}"};
    const struct store_piece other = {.letters = &lost, .letter_count = 1};
    bool is_applied = false;
    assert_true(store->ops->import(store, &other, &is_applied, NULL) < 0);
}

static bool note_document(const struct store_document *document, void *context)
{
    char *seen = context;
    size_t len = strlen(seen);
    snprintf(seen + len, 64 - len, "%s=%s,%d,%d ", document->key, document->data,
             (int)document->version, (int)document->updated_ns);
    return true;
}

static const char *read_documents(struct store *store, const char *collection, char *seen)
{
    const struct store_document_query query = {.collection = collection};
    seen[0] = '\0';
    assert_int_equal(store->ops->read_documents(store, &query, note_document, seen, NULL), 0);
    return seen;
}

CONTRACT_TEST(imported_documents_keep_their_versions)
{
    struct store *store = importer(state);
    char seen[64];
    const struct store_document documents[] = {{.collection = "c",
                                                .key = "k",
                                                .data = "{}",
                                                .data_len = 2,
                                                .version = 5,
                                                .updated_ns = 77},
                                               {.collection = "c",
                                                .key = "l",
                                                .data = "[]",
                                                .data_len = 2,
                                                .version = 1,
                                                .updated_ns = 78}};
    const struct store_piece piece = {.documents = documents, .document_count = 2};
    import(store, &piece, 0);
    assert_string_equal(read_documents(store, "c", seen), "k={},5,77 l=[],1,78 ");
    import(store, &piece, RONDO_ERR_STATE);
}

CONTRACT_TEST(a_piece_whose_mark_does_not_fit_is_not_written)
{
    struct store *store = importer(state);
    char seen[64];
    struct store_run run = make_run(1);
    struct store_change mark = {.kind = STORE_PUT,
                                .collection = "marks",
                                .key = "m",
                                .data = "{}",
                                .data_len = 2,
                                .if_version = 1};
    const struct store_piece piece = {
        .runs = &run, .run_count = 1, .marks = &mark, .mark_count = 1};
    bool is_applied = true;
    assert_int_equal(store->ops->import(store, &piece, &is_applied, NULL), 0);
    assert_false(is_applied);
    struct store_run row;
    assert_int_equal(store->ops->get_run(store, run.id, &row, NULL), RONDO_ERR_NOT_FOUND);
    mark.if_version = 0;
    import(store, &piece, 0);
    test_get(store, run.id);
    assert_memory_equal(read_documents(store, "marks", seen), "m={},1,", 7);
}

static bool note_policy(const struct store_policy_change *change, void *context)
{
    char *seen = context;
    size_t len = strlen(seen);
    snprintf(seen + len, 64 - len, "%d@%d %s|", (int)change->number, (int)change->time_ns,
             change->text);
    return true;
}

CONTRACT_TEST(imported_changes_of_policies_keep_their_numbers)
{
    struct store *store = importer(state);
    const struct store_policy_change changes[] = {{.number = 1,
                                                   .time_ns = 5,
                                                   .source = "/p",
                                                   .digest = DIGEST,
                                                   .how = "set",
                                                   .by = "me",
                                                   .text = "one",
                                                   .text_len = 3},
                                                  {.number = 2,
                                                   .time_ns = 6,
                                                   .source = "/q",
                                                   .digest = DIGEST,
                                                   .how = "set",
                                                   .by = "me",
                                                   .text = "one",
                                                   .text_len = 3}};
    const struct store_piece piece = {.policies = changes, .policy_count = 2};
    import(store, &piece, 0);
    char seen[64] = "";
    assert_int_equal(store->ops->read_policies(store, NULL, 0, note_policy, seen, NULL), 0);
    assert_string_equal(seen, "2@6 one|1@5 one|");
    struct store_policy_change next = changes[0];
    next.source = "/r";
    uint64_t number = 0;
    bool is_new = false;
    assert_int_equal(store->ops->record_policy(store, &next, &number, &is_new, NULL), 0);
    assert_int_equal(number, 3);
}

static bool note_owner(const struct store_memory_owner *owner, void *context)
{
    char *seen = context;
    size_t len = strlen(seen);
    snprintf(seen + len, 64 - len, "%d:%s:%d ", (int)owner->key, owner->name, (int)owner->last);
    return true;
}

static bool note_vector(const struct store_memory *memory, void *context)
{
    char *seen = context;
    size_t len = strlen(seen);
    snprintf(seen + len, 64 - len, "%d:%s:%.*s ", (int)(memory->id % LIMIT_MEMORY_IDS),
             memory->vector_model, (int)memory->vector_len, (const char *)memory->vector);
    return true;
}

static struct store_memory_change make_memory(int64_t id, enum store_memory_change_kind kind)
{
    return (struct store_memory_change){.kind = kind,
                                        .memory = {.id = id,
                                                   .owner = "mine",
                                                   .kind = STORE_SEMANTIC,
                                                   .created_ns = 5,
                                                   .category = "general",
                                                   .run_id = "",
                                                   .source = "remember",
                                                   .metadata = "{}",
                                                   .content = "the sky",
                                                   .grams = "",
                                                   .vector = "v",
                                                   .vector_len = 1,
                                                   .vector_model = "m"}};
}

CONTRACT_TEST(imported_memories_keep_their_ids_and_owners_go_on_counting)
{
    struct store *store = importer(state);
    const int64_t first = 50 * LIMIT_MEMORY_IDS;
    const struct store_memory_owner owners[] = {{.key = 40, .name = "other", .last = 3},
                                                {.key = 50, .name = "mine", .last = 9}};
    struct store_memory_change changes[] = {
        make_memory(first + 2, STORE_MEMORY_ADD), make_memory(first + 7, STORE_MEMORY_ADD),
        make_memory(first + 2, STORE_MEMORY_EMBED), make_memory(first + 7, STORE_MEMORY_EMBED)};
    changes[3].memory.vector_model = "n";
    const struct store_piece piece = {
        .owners = owners, .owner_count = 2, .memories = changes, .memory_count = 4};
    import(store, &piece, 0);
    char seen[64] = "";
    assert_int_equal(store->ops->read_memory_owners(store, 0, note_owner, seen, NULL), 0);
    assert_string_equal(seen, "40:other:3 50:mine:9 ");
    seen[0] = '\0';
    store->ops->read_memory_owners(store, 40, note_owner, seen, NULL);
    assert_string_equal(seen, "50:mine:9 ");
    seen[0] = '\0';
    struct store_memory_query query = {.vectors = STORE_VECTORS_GIVEN};
    assert_int_equal(store->ops->read_memories(store, &query, note_vector, seen, NULL), 0);
    assert_string_equal(seen, "2:m:v 7:n:v ");
    seen[0] = '\0';
    query.after_id = first + 2;
    store->ops->read_memories(store, &query, note_vector, seen, NULL);
    assert_string_equal(seen, "7:n:v ");
    int64_t id = 0;
    assert_int_equal(store->ops->reserve_memories(store, "mine", 1, &id, NULL), 0);
    assert_int_equal(id, first + 10);
    assert_int_equal(store->ops->reserve_memories(store, "new", 1, &id, NULL), 0);
    assert_true(id > 51 * LIMIT_MEMORY_IDS);
    const struct store_piece twice = {.memories = changes, .memory_count = 1};
    import(store, &twice, RONDO_ERR_STATE);
}

CONTRACT_TEST(owners_of_memories_are_none_before_the_first_memory)
{
    struct store *store = importer(state);
    char seen[64] = "";
    assert_int_equal(store->ops->read_memory_owners(store, 0, note_owner, seen, NULL), 0);
    assert_string_equal(seen, "");
}

CONTRACT_TEST(content_past_its_limit_is_not_imported)
{
    struct store *store = importer(state);
    struct store_run run = make_run(1);
    import_run(store, &run);
    struct store_event event = make_event(run.id, 1, 1);
    event.data_len = LIMIT_EVENT_BYTES + 1; /* It is refused before it is read. */
    assert_int_equal(import_events(store, &event, 1), RONDO_ERR_LIMIT);
    const struct store_document document = {
        .collection = "c", .key = "", .data = "{}", .data_len = 2, .version = 1};
    const struct store_piece piece = {.documents = &document, .document_count = 1};
    import(store, &piece, RONDO_ERR_INVALID);
}
