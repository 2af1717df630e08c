// SPDX-License-Identifier: Apache-2.0
/* The window of a conversation: what trimming keeps. */
#include "agent/history/history.h"
#include "base/memory.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

/** Messages from letters: u = user, a = assistant, r = results; the seq is the place, from 1. */
static struct history make(const char *letters)
{
    struct history history = {0};
    for (size_t i = 0; letters[i] != '\0'; i++) {
        struct model_message message = {
            .kind = letters[i] == 'u'   ? MODEL_USER
                    : letters[i] == 'a' ? MODEL_ASSISTANT
                                        : MODEL_TOOL_RESULTS,
            .bytes = memory_dup_bytes(&letters[i], 1),
            .len = 1,
        };
        history_add(&history, &message, i + 1);
    }
    return history;
}

static void expect(const char *before, int64_t max, const char *after, uint64_t second_seq)
{
    struct history history = make(before);
    size_t dropped = history_trim(&history, max);
    char letters[128] = "";
    assert_in_range(history.count, 1, sizeof(letters) - 1);
    for (size_t i = 0; i < history.count; i++) {
        letters[i] = history.messages[i].bytes[0];
    }
    assert_string_equal(letters, after);
    assert_int_equal(dropped, strlen(before) - strlen(after));
    assert_int_equal(history.seqs[0], 1);
    if (history.count > 1) {
        assert_int_equal(history.seqs[1], second_seq);
    }
    history_fini(&history);
}

TEST(what_fits_stays)
{
    expect("uarauara", 8, "uarauara", 2);
    expect("u", 1, "u", 0);
}

TEST(the_first_message_and_the_last_ones_stay)
{
    expect("uauauaua", 5, "uuaua", 5);
}

TEST(leading_replies_are_dropped)
{
    expect("uauauaua", 4, "uua", 7);
}

TEST(an_answer_is_never_without_its_call)
{
    /* The cut falls between a call and its answer: both go, up to the next words of the user. */
    expect("uarauarauara", 8, "uuara", 9);
    expect("uarauarauara", 7, "uuara", 9);
    expect("uarauarauara", 6, "uuara", 9);
}

TEST(an_iteration_longer_than_the_window_keeps_whole_replies)
{
    expect("uarararara", 5, "uara", 8);
}

TEST(a_window_of_one_keeps_the_first_message)
{
    expect("uaraua", 1, "u", 0);
    expect("uaraua", 0, "u", 0);
    expect("uaraua", -5, "u", 0);
}

TEST(a_summary_takes_the_place_of_messages_and_is_kept)
{
    struct history history = make("uarauara");
    struct model_message summary = {
        .kind = MODEL_USER, .bytes = memory_dup_bytes("s", 1), .len = 1};
    assert_int_equal(history_tail(&history, 2), 7); /* no result without its call */
    history_compact(&history, 1, 3, &summary, 99);
    assert_int_equal(history.count, 6);
    assert_int_equal(history.messages[1].bytes[0], 's');
    assert_int_equal(history.seqs[1], 99);
    assert_int_equal(history.seqs[2], 5);
    assert_int_equal(history_trim(&history, 5), 1);
    assert_int_equal(history.count, 5);
    assert_int_equal(history.seqs[1], 99);
    assert_int_equal(history.seqs[2], 6);
    history_trim(&history, 1);
    assert_int_equal(history.count, 2);
    history_fini(&history);
}

TEST(a_window_is_found_by_bytes)
{
    struct history history = make("uauauaua");
    history.messages[3].len = 100;
    assert_int_equal(history_window(&history, 1000), 8);
    assert_int_equal(history_window(&history, 107), 8);
    int64_t window = history_window(&history, 106);
    history_trim(&history, window);
    assert_true(history.count < 8);
    size_t bytes = 0;
    for (size_t i = 0; i < history.count; i++) {
        bytes += history.messages[i].len;
    }
    assert_true(bytes <= 106);
    assert_int_equal(history.seqs[0], 1);
    assert_int_equal(history_window(&history, 0), 1);
    for (size_t i = 0; i < history.count; i++) {
        history.messages[i].len = 1; /* as its bytes are */
    }
    history_fini(&history);
}

TEST(an_empty_history_stays_empty)
{
    struct history history = {0};
    assert_int_equal(history_trim(&history, 4), 0);
    assert_int_equal(history.count, 0);
    history_fini(&history);
}

/** Any conversation, any window: no answer without its call, never more than the window. */
TEST(trimming_holds_its_promises_for_all_short_conversations)
{
    static const char *const turns[] = {"ua", "uara", "uarara", "uararara"};
    for (unsigned code = 0; code < 256; code++) {
        char letters[64] = "";
        for (unsigned i = 0; i < 4; i++) {
            const char *turn = turns[code >> (2 * i) & 3];
            memcpy(letters + strlen(letters), turn, strlen(turn) + 1);
        }
        for (int64_t max = 1; max < 40; max++) {
            struct history history = make(letters);
            history_trim(&history, max);
            assert_true(history.count <= (size_t)max || strlen(letters) <= (size_t)max);
            assert_int_equal(history.seqs[0], 1);
            for (size_t i = 1; i < history.count; i++) {
                bool is_answer = history.messages[i].kind == MODEL_TOOL_RESULTS;
                assert_true(!is_answer || history.messages[i - 1].kind == MODEL_ASSISTANT);
                assert_true(!is_answer || history.seqs[i] == history.seqs[i - 1] + 1);
            }
            history_fini(&history);
        }
    }
}
