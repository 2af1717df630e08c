// SPDX-License-Identifier: Apache-2.0
/* The contract: memories of agents. */
#include "contract_parts.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t reserve(struct store *store, const char *owner)
{
    int64_t id = 0;
    assert_int_equal(store->ops->reserve_memories(store, owner, 1, &id, NULL), 0);
    return id;
}

static struct store_memory make(int64_t id, const char *owner, enum store_memory_kind kind,
                                const char *content)
{
    return (struct store_memory){
        .id = id,
        .owner = owner,
        .kind = kind,
        .created_ns = id % 1000,
        .category = "general",
        .run_id = "",
        .source = "remember",
        .metadata = "{}",
        .content = content,
        .grams = "",
    };
}

static int apply(struct store *store, struct store_memory_change change, uint64_t *ret_changed)
{
    struct rondo_error err = {0};
    return store->ops->change_memories(store, &change, 1, ret_changed, &err);
}

static int64_t add(struct store *store, const char *owner, enum store_memory_kind kind,
                   const char *content)
{
    uint64_t changed = 0;
    int64_t id = reserve(store, owner);
    struct store_memory memory = make(id, owner, kind, content);
    struct store_memory_change change = {.kind = STORE_MEMORY_ADD, .memory = memory};
    assert_int_equal(apply(store, change, &changed), 0);
    assert_int_equal(changed, 1);
    return id;
}

/** What reading gave: the contents in their order, joined by "|". */
struct seen_memories {
    char contents[1024];
    size_t count;
    struct store_memory last; /**< without its texts */
};

static bool note(const struct store_memory *memory, void *context)
{
    struct seen_memories *seen = context;
    size_t len = strlen(seen->contents);
    snprintf(seen->contents + len, sizeof(seen->contents) - len, "%s%s", len > 0 ? "|" : "",
             memory->content);
    seen->count++;
    seen->last = *memory;
    return true;
}

static struct seen_memories read_some(struct store *store, const struct store_memory_query *query)
{
    struct seen_memories seen = {0};
    struct rondo_error err = {0};
    int r = store->ops->read_memories(store, query, note, &seen, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(r, 0);
    return seen;
}

static struct seen_memories search(struct store *store, const char *owner, const char *word)
{
    const struct store_memory_word words[] = {{.text = word}};
    return read_some(store,
                     &(struct store_memory_query){.owner = owner, .words = words, .word_count = 1});
}

CONTRACT_TEST(memories_are_read_newest_first_and_by_owner)
{
    struct store *store = ((struct contract *)*state)->store;
    add(store, "a", STORE_SEMANTIC, "one");
    add(store, "b", STORE_SEMANTIC, "two");
    add(store, "a", STORE_EPISODIC, "three");
    assert_string_equal(read_some(store, &(struct store_memory_query){.owner = "a"}).contents,
                        "three|one");
    assert_string_equal(
        read_some(store, &(struct store_memory_query){.owner = "a", .is_oldest_first = true})
            .contents,
        "one|three");
    assert_int_equal(read_some(store, &(struct store_memory_query){0}).count, 3);
    assert_int_equal(read_some(store, &(struct store_memory_query){.owner = "c"}).count, 0);
    assert_string_equal(
        read_some(store, &(struct store_memory_query){.kinds = 1U << STORE_EPISODIC}).contents,
        "three");
    assert_int_equal(read_some(store, &(struct store_memory_query){.limit = 2}).count, 2);
}

CONTRACT_TEST(memories_of_one_kind_are_read_in_both_orders)
{
    struct store *store = ((struct contract *)*state)->store;
    add(store, "a", STORE_SEMANTIC, "one");
    add(store, "a", STORE_EPISODIC, "two");
    add(store, "b", STORE_SEMANTIC, "three");
    add(store, "a", STORE_SEMANTIC, "four");
    struct store_memory_query query = {.owner = "a", .kinds = 1U << STORE_SEMANTIC};
    assert_string_equal(read_some(store, &query).contents, "four|one");
    query.is_oldest_first = true;
    assert_string_equal(read_some(store, &query).contents, "one|four");
    query.limit = 1;
    assert_string_equal(read_some(store, &query).contents, "one");
    query.category = "none";
    assert_string_equal(read_some(store, &query).contents, "");
    query = (struct store_memory_query){.owner = "a", .kinds = 1U << STORE_EPISODIC};
    assert_string_equal(read_some(store, &query).contents, "two");
    query.owner = "c";
    assert_string_equal(read_some(store, &query).contents, "");
}

CONTRACT_TEST(an_id_of_a_memory_is_never_given_again)
{
    struct store *store = ((struct contract *)*state)->store;
    uint64_t changed = 0;
    int64_t id = add(store, "a", STORE_SEMANTIC, "one");
    struct store_memory_change change = {.kind = STORE_MEMORY_FORGET, .memory = {.id = id}};
    assert_int_equal(apply(store, change, &changed), 0);
    assert_int_equal(changed, 1);
    assert_int_equal(apply(store, change, &changed), 0);
    assert_int_equal(changed, 0);
    assert_int_equal(reserve(store, "a"), id + 1);
    int64_t first = 0;
    assert_int_equal(store->ops->reserve_memories(store, "a", 10, &first, NULL), 0);
    assert_int_equal(first, id + 2);
    assert_int_equal(reserve(store, "a"), id + 12);
}

CONTRACT_TEST(a_memory_that_is_there_already_stays)
{
    struct store *store = ((struct contract *)*state)->store;
    uint64_t changed = 0;
    int64_t id = add(store, "a", STORE_SEMANTIC, "one");
    struct store_memory memory = make(id, "a", STORE_SEMANTIC, "other");
    struct store_memory_change change = {.kind = STORE_MEMORY_ADD, .memory = memory};
    assert_int_equal(apply(store, change, &changed), 0);
    assert_int_equal(changed, 0);
    assert_string_equal(read_some(store, &(struct store_memory_query){.id = id}).contents, "one");
    assert_int_equal(search(store, "a", "other").count, 0);
}

CONTRACT_TEST(memories_are_found_by_their_words)
{
    struct store *store = ((struct contract *)*state)->store;
    add(store, "a", STORE_SEMANTIC, "the server is blue");
    int64_t id = add(store, "a", STORE_SEMANTIC, "the printer is red");
    add(store, "b", STORE_SEMANTIC, "a red server");
    assert_string_equal(search(store, "a", "red").contents, "the printer is red");
    assert_true(search(store, "a", "red").last.score > 0);
    assert_int_equal(search(store, NULL, "server").count, 2);
    assert_int_equal(search(store, "a", "green").count, 0);
    assert_int_equal(search(store, "c", "red").count, 0);
    uint64_t changed = 0;
    struct store_memory_change change = {.kind = STORE_MEMORY_FORGET, .memory = {.id = id}};
    assert_int_equal(apply(store, change, &changed), 0);
    assert_int_equal(search(store, "a", "red").count, 0);
}

CONTRACT_TEST(longer_words_are_found_by_their_beginning)
{
    struct store *store = ((struct contract *)*state)->store;
    const struct store_memory_word words[] = {{.text = "rechnung", .beginning = "rechn"}};
    add(store, "a", STORE_SEMANTIC, "alle rechnungen sind bezahlt");
    const struct store_memory_query query = {.owner = "a", .words = words, .word_count = 1};
    assert_int_equal(read_some(store, &query).count, 1);
}

CONTRACT_TEST(a_search_with_what_is_no_word_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    struct seen_memories seen = {0};
    struct store_memory_word words[LIMIT_MEMORY_WORDS + 1] = {{.text = "a\" OR \"b"}};
    struct store_memory_query query = {.words = words, .word_count = 1};
    assert_int_equal(store->ops->read_memories(store, &query, note, &seen, NULL),
                     RONDO_ERR_INVALID);
    for (size_t i = 0; i <= LIMIT_MEMORY_WORDS; i++) {
        words[i].text = "a";
    }
    query.word_count = LIMIT_MEMORY_WORDS;
    assert_int_equal(store->ops->read_memories(store, &query, note, &seen, NULL), 0);
    query.word_count = LIMIT_MEMORY_WORDS + 1;
    assert_int_equal(store->ops->read_memories(store, &query, note, &seen, NULL), RONDO_ERR_LIMIT);
}

CONTRACT_TEST(pruning_keeps_the_newest_of_a_kind)
{
    struct store *store = ((struct contract *)*state)->store;
    uint64_t changed = 0;
    char content[16];
    for (int i = 0; i < 600; i++) {
        snprintf(content, sizeof(content), "n%d", i);
        add(store, "a", STORE_EPISODIC, content);
    }
    add(store, "a", STORE_SEMANTIC, "fact");
    add(store, "b", STORE_EPISODIC, "other");
    struct store_memory_change change = {
        .kind = STORE_MEMORY_PRUNE, .memory = {.owner = "a", .kind = STORE_EPISODIC}, .keep = 2};
    assert_int_equal(apply(store, change, &changed), 0);
    assert_int_equal(changed, 598);
    assert_string_equal(read_some(store, &(struct store_memory_query){.owner = "a"}).contents,
                        "fact|n599|n598");
    assert_int_equal(read_some(store, &(struct store_memory_query){.owner = "b"}).count, 1);
}

CONTRACT_TEST(consolidated_memories_are_told_from_others)
{
    struct store *store = ((struct contract *)*state)->store;
    uint64_t changed = 0;
    int64_t id = add(store, "a", STORE_EPISODIC, "one");
    add(store, "a", STORE_EPISODIC, "two");
    struct store_memory_change change = {.kind = STORE_MEMORY_CONSOLIDATE,
                                         .memory = {.id = id, .consolidated_ns = 7}};
    assert_int_equal(apply(store, change, &changed), 0);
    assert_int_equal(changed, 1);
    assert_string_equal(
        read_some(store, &(struct store_memory_query){.only_unconsolidated = true}).contents,
        "two");
    assert_int_equal(read_some(store, &(struct store_memory_query){.id = id}).last.consolidated_ns,
                     7);
}

/** Add a content of so many bytes. @return the code */
static int add_long(struct store *store, size_t len)
{
    uint64_t changed = 0;
    char *content = memory_new_zero(1, len + 1);
    memset(content, 'x', len);
    struct store_memory memory = make(reserve(store, "a"), "a", STORE_SEMANTIC, content);
    struct store_memory_change change = {.kind = STORE_MEMORY_ADD, .memory = memory};
    int r = apply(store, change, &changed);
    free(content);
    return r;
}

CONTRACT_TEST(a_memory_may_have_its_limit_and_no_byte_more)
{
    struct store *store = ((struct contract *)*state)->store;
    assert_int_equal(add_long(store, LIMIT_MEMORY_BYTES), 0);
    assert_int_equal(add_long(store, LIMIT_MEMORY_BYTES + 1), RONDO_ERR_LIMIT);
    assert_int_equal(add_long(store, 0), RONDO_ERR_INVALID);
}

CONTRACT_TEST(memories_of_a_batch_are_stored_with_its_events_or_not_at_all)
{
    struct store *store = ((struct contract *)*state)->store;
    struct test_id run = test_id(1);
    test_create(store, run.text, "a", false);
    struct store_event event = test_event("{}");
    struct store_memory memory = make(reserve(store, "a"), "a", STORE_SEMANTIC, "one");
    const struct store_memory_change change = {.kind = STORE_MEMORY_ADD, .memory = memory};
    struct store_batch batch =
        test_batch(run.text, 1, test_count_events(store, run.text) + 1, &event, 1);
    batch.memories = &change;
    batch.memory_count = 1;
    batch.epoch = 9;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_FENCED);
    assert_int_equal(read_some(store, &(struct store_memory_query){0}).count, 0);
    batch.epoch = 1;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    assert_int_equal(test_commit(store, &batch).outcome, STORE_ALREADY_COMMITTED);
    assert_string_equal(read_some(store, &(struct store_memory_query){0}).contents, "one");
}

/* ---- Vectors -------------------------------------------------------------------------------- */

static uint64_t embed(struct store *store, int64_t id, const char *model, const char *vector)
{
    uint64_t changed = 0;
    const struct store_memory_change change = {
        .kind = STORE_MEMORY_EMBED,
        .memory = {.id = id, .vector = vector, .vector_len = strlen(vector), .vector_model = model},
    };
    assert_int_equal(apply(store, change, &changed), 0);
    return changed;
}

static bool note_vector(const struct store_memory *memory, void *context)
{
    char *text = context;
    size_t len = strlen(text);
    snprintf(text + len, 256 - len, "%s%.*s", len > 0 ? "|" : "", (int)memory->vector_len,
             (const char *)memory->vector);
    return true;
}

static void expect_vectors(struct store *store, const struct store_memory_query *query,
                           const char *expected)
{
    char text[256] = "";
    struct store_memory_query vectors = *query;
    vectors.vectors = STORE_VECTORS_GIVEN;
    vectors.vector_model = "m";
    assert_int_equal(store->ops->read_memories(store, &vectors, note_vector, text, NULL), 0);
    assert_string_equal(text, expected);
}

CONTRACT_TEST(vectors_are_read_by_owner_kind_and_model)
{
    struct store *store = ((struct contract *)*state)->store;
    int64_t one = add(store, "a", STORE_SEMANTIC, "one");
    int64_t two = add(store, "a", STORE_EPISODIC, "two");
    int64_t three = add(store, "b", STORE_SEMANTIC, "three");
    int64_t four = add(store, "a", STORE_SEMANTIC, "four");
    assert_int_equal(embed(store, two, "m", "V2"), 1);
    assert_int_equal(embed(store, one, "m", "V1"), 1);
    assert_int_equal(embed(store, three, "m", "V3"), 1);
    assert_int_equal(embed(store, four, "other", "V4"), 1);
    assert_int_equal(embed(store, four + 100, "m", "V5"), 0);
    expect_vectors(store, &(struct store_memory_query){.owner = "a"}, "V1|V2");
    expect_vectors(store, &(struct store_memory_query){.kinds = 1U << STORE_SEMANTIC}, "V1|V3");
    expect_vectors(store, &(struct store_memory_query){.owner = "a", .category = "none"}, "");
    expect_vectors(store, &(struct store_memory_query){.limit = 1}, "V1");
    assert_int_equal(embed(store, one, "m", "W1"), 1);
    expect_vectors(store, &(struct store_memory_query){.owner = "a"}, "W1|V2");
}

CONTRACT_TEST(memories_without_a_vector_of_a_model_are_found)
{
    struct store *store = ((struct contract *)*state)->store;
    int64_t one = add(store, "a", STORE_SEMANTIC, "one");
    int64_t two = add(store, "a", STORE_SEMANTIC, "two");
    add(store, "a", STORE_SEMANTIC, "three");
    embed(store, one, "m", "V1");
    embed(store, two, "other", "V2");
    struct store_memory_query query = {
        .owner = "a", .vectors = STORE_VECTORS_MISSING, .vector_model = "m"};
    assert_string_equal(read_some(store, &query).contents, "two|three");
    query.limit = 1;
    assert_string_equal(read_some(store, &query).contents, "two");
    query.after_id = two;
    assert_string_equal(read_some(store, &query).contents, "three");
}

CONTRACT_TEST(a_vector_goes_with_its_memory)
{
    struct store *store = ((struct contract *)*state)->store;
    uint64_t changed = 0;
    int64_t one = add(store, "a", STORE_SEMANTIC, "one");
    int64_t two = add(store, "a", STORE_SEMANTIC, "two");
    int64_t three = add(store, "a", STORE_SEMANTIC, "three");
    embed(store, one, "m", "V1");
    embed(store, two, "m", "V2");
    embed(store, three, "m", "V3");
    assert_int_equal(
        apply(store,
              (struct store_memory_change){.kind = STORE_MEMORY_FORGET, .memory = {.id = two}},
              &changed),
        0);
    expect_vectors(store, &(struct store_memory_query){.owner = "a"}, "V1|V3");
    assert_int_equal(
        apply(store,
              (struct store_memory_change){.kind = STORE_MEMORY_PRUNE,
                                           .memory = {.owner = "a", .kind = STORE_SEMANTIC},
                                           .keep = 1},
              &changed),
        0);
    expect_vectors(store, &(struct store_memory_query){.owner = "a"}, "V3");
}

CONTRACT_TEST(a_vector_that_is_missing_or_too_long_is_refused)
{
    struct store *store = ((struct contract *)*state)->store;
    uint64_t changed = 0;
    char *long_vector = calloc(1, LIMIT_MEMORY_VECTOR_BYTES + 1);
    struct store_memory_change change = {
        .kind = STORE_MEMORY_EMBED,
        .memory = {.id = add(store, "a", STORE_SEMANTIC, "one"), .vector_model = "m"}};
    assert_int_equal(apply(store, change, &changed), RONDO_ERR_INVALID);
    change.memory.vector = long_vector;
    change.memory.vector_len = LIMIT_MEMORY_VECTOR_BYTES + 1;
    assert_int_equal(apply(store, change, &changed), RONDO_ERR_LIMIT);
    change.memory.vector_len--;
    assert_int_equal(apply(store, change, &changed), 0);
    change.memory.vector_model = "";
    assert_int_equal(apply(store, change, &changed), RONDO_ERR_INVALID);
    free(long_vector);
}
