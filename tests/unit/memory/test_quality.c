// SPDX-License-Identifier: Apache-2.0
/*
 * How good a recall is: for 100 questions in several languages, is the memory that answers one
 * among the first five? By words alone there is a floor. The vectors are those of a stand-in, which
 * knows letters and no meaning: what real ones add is not measured here.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "memory/memory.h"
#include "memory/vectors.h"
#include "os/file.h"
#include "stand_in.h"
#include "store/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORIES  200
#define QUESTIONS 100
#define TOP       5
/** Questions of 100 that words alone must answer. */
#define WORDS_FLOOR 80
#define NOW_NS      (INT64_C(1780000000) * NS_PER_S)

static int64_t now(const struct clock *clock)
{
    (void)clock;
    return NOW_NS;
}

static const struct clock still = {.now_ns = now, .monotonic_ns = now};

struct question {
    char *text;
    int64_t answer;
};

struct labelled {
    struct store *store;
    struct question questions[QUESTIONS];
    size_t question_count;
    size_t memory_count;
    int64_t last_id;
};

static void add(struct labelled *set, const char *content)
{
    const struct store_memory memory = {.owner = "a",
                                        .kind = STORE_SEMANTIC,
                                        .content = content,
                                        .source = "test",
                                        .created_ns = NOW_NS};
    assert_int_equal(memories_add(set->store, NULL, &memory, MEMORIES_KEPT, &set->last_id, NULL),
                     0);
    set->memory_count++;
}

static void read_line(struct labelled *set, const char *line)
{
    if (line[0] == 'M') {
        add(set, line + 2);
    } else if (line[0] == 'Q') {
        assert_true(set->question_count < QUESTIONS);
        set->questions[set->question_count++] =
            (struct question){.text = strdup(line + 2), .answer = set->last_id};
    }
}

static void read_labelled(struct labelled *set)
{
    char line[512];
    FILE *file = fopen(SOURCE_ROOT "/tests/unit/memory/labelled.txt", "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        read_line(set, line);
    }
    fclose(file);
    assert_int_equal(set->memory_count, MEMORIES);
    assert_int_equal(set->question_count, QUESTIONS);
}

struct looking {
    int64_t answer;
    bool is_found;
};

static bool look(const struct store_memory *memory, void *context)
{
    struct looking *looking = context;
    looking->is_found = looking->is_found || memory->id == looking->answer;
    return true;
}

/** Questions whose answer is among the first five. @param vectors NULL = words alone */
static unsigned count_answered(struct labelled *set, struct vectors *vectors)
{
    unsigned answered = 0;
    for (size_t i = 0; i < QUESTIONS; i++) {
        struct looking looking = {.answer = set->questions[i].answer};
        const struct memories_question question = {.owner = "a",
                                                   .text = set->questions[i].text,
                                                   .top = TOP,
                                                   .now_ns = NOW_NS,
                                                   .vectors = vectors};
        assert_int_equal(memories_recall(set->store, &question, look, &looking, NULL), 0);
        answered += looking.is_found;
    }
    return answered;
}

static double as_it_is(const struct store_memory *memory, int64_t now_ns)
{
    (void)memory;
    (void)now_ns;
    return 1;
}

static unsigned count_near(struct labelled *set, struct vectors *vectors)
{
    unsigned answered = 0;
    for (size_t i = 0; i < QUESTIONS; i++) {
        struct vectors_near near[TOP];
        size_t count = 0;
        bool is_found = false;
        const struct memories_question question = {
            .owner = "a", .text = set->questions[i].text, .now_ns = NOW_NS};
        assert_int_equal(
            vectors_search(vectors, set->store, &question, as_it_is, TOP, near, &count, NULL), 0);
        for (size_t k = 0; k < count; k++) {
            is_found = is_found || near[k].id == set->questions[i].answer;
        }
        answered += is_found;
    }
    return answered;
}

TEST(words_alone_answer_most_questions)
{
    void *place = NULL;
    struct stand_in stand_in = {0};
    struct labelled *set = calloc(1, sizeof(*set));
    const struct vectors_options options = {
        .model = "stand-in", .embed = stand_in_embed, .context = &stand_in, .clock = &still};
    struct vectors *vectors = vectors_new(&options);
    test_place_make(&place);
    set->store = test_place_open(place);
    read_labelled(set);
    assert_int_equal(vectors_fill(vectors, set->store, "a", NULL), 0);
    unsigned words = count_answered(set, NULL);
    unsigned near = count_near(set, vectors);
    unsigned both = count_answered(set, vectors);
    print_message("recall@%d of %d questions: words %u, vectors of the stand-in %u, both %u\n", TOP,
                  QUESTIONS, words, near, both);
    assert_true(words >= WORDS_FLOOR);
    for (size_t i = 0; i < QUESTIONS; i++) {
        free(set->questions[i].text);
    }
    store_close(set->store);
    test_place_remove(&place);
    vectors_free(vectors);
    free(set);
}
