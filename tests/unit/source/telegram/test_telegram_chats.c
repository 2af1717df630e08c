// SPDX-License-Identifier: Apache-2.0
/* What is stored of Telegram's chats, within its limits. */
#include "source/telegram/telegram_chats.h"

#include "base/auto.h"
#include "base/memory.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_done(struct telegram_chats *chats, int64_t chat, int64_t update, int64_t time_s)
{
    char text[32];
    struct chat_turn *turn = NULL;
    snprintf(text, sizeof(text), "q%d", (int)update);
    turn = telegram_chats_add(chats, chat, update, time_s, text);
    assert_non_null(turn);
    text[0] = 'a';
    chat_turn_answer(turn, text);
    turn->state = TURN_DONE;
}

TEST(chats_come_back)
{
    struct telegram_chats chats = {.offset = 9};
    struct telegram_chats back = {0};
    auto_buf struct buf json = {0};
    auto_buf struct buf again = {0};
    add_done(&chats, -100, 7, 50);
    telegram_chats_add(&chats, 2, 8, 60, "\"\x01\xc3\xa4")->part = 3;
    telegram_chats_encode(&chats, &json);
    assert_int_equal(telegram_chats_decode(buf_string(&json), &back, NULL), 0);
    assert_true(telegram_chats_are_waiting(&back));
    telegram_chats_encode(&back, &again);
    assert_string_equal(buf_string(&json), buf_string(&again));
    assert_int_equal(back.turns[1].part, 3);
    telegram_chats_fini(&chats);
    telegram_chats_fini(&back);
}

TEST(the_history_is_that_of_the_chat)
{
    struct telegram_chats chats = {0};
    auto_buf struct buf text = {0};
    add_done(&chats, 1, 1, 0);
    add_done(&chats, 2, 2, CHAT_LIFE_S);
    telegram_chats_history(&chats, 1, CHAT_LIFE_S, &text);
    assert_string_equal(buf_string(&text), "User: q1\n\nYou: a1\n\n");
    buf_clear(&text);
    telegram_chats_history(&chats, 1, CHAT_LIFE_S + 1, &text);
    assert_string_equal(buf_string(&text), "");
    telegram_chats_fini(&chats);
}

TEST(the_history_has_a_largest_number_of_turns)
{
    struct telegram_chats chats = {0};
    auto_buf struct buf text = {0};
    for (int64_t i = 1; i <= CHAT_HISTORY + 1; i++) {
        add_done(&chats, 1, i, 0);
    }
    telegram_chats_history(&chats, 1, 0, &text);
    assert_ptr_equal(strstr(buf_string(&text), "User: q2\n"), buf_string(&text));
    assert_non_null(strstr(buf_string(&text), "You: a11\n"));
    telegram_chats_fini(&chats);
}

TEST(turns_have_a_largest_number)
{
    struct telegram_chats chats = {0};
    for (int64_t i = 0; i < LIMIT_CHAT_TURNS - 1; i++) {
        assert_non_null(telegram_chats_add(&chats, 1, i, 0, "x"));
    }
    add_done(&chats, 1, 1000, 0);
    struct chat_turn *turn = telegram_chats_add(&chats, 1, 1001, 0, "x");
    assert_non_null(turn);
    assert_null(telegram_chats_add(&chats, 1, 1002, 0, "x"));
    telegram_chats_fini(&chats);
}

TEST(texts_are_cut_between_characters)
{
    struct telegram_chats chats = {0};
    auto_free char *text = memory_new_zero(1, LIMIT_CHAT_TEXT_BYTES + 3);
    memset(text, 'x', LIMIT_CHAT_TEXT_BYTES - 1);
    memcpy(text + LIMIT_CHAT_TEXT_BYTES - 1, "\xc3\xa4", 2);
    struct chat_turn *turn = telegram_chats_add(&chats, 1, 1, 0, text);
    assert_int_equal(strlen(turn->text), LIMIT_CHAT_TEXT_BYTES - 1);
    memset(text, 'x', LIMIT_CHAT_TEXT_BYTES + 1);
    turn = telegram_chats_add(&chats, 1, 2, 0, text);
    assert_int_equal(strlen(turn->text), LIMIT_CHAT_TEXT_BYTES);
    telegram_chats_fini(&chats);
}

TEST(full_chats_fit_into_a_mark)
{
    struct telegram_chats chats = {0};
    auto_buf struct buf json = {0};
    auto_free char *text = memory_new_zero(1, LIMIT_CHAT_TEXT_BYTES + 1);
    memset(text, '"', LIMIT_CHAT_TEXT_BYTES);
    for (int64_t i = 0; i < LIMIT_CHAT_TURNS; i++) {
        chat_turn_answer(telegram_chats_add(&chats, INT64_MIN, INT64_MAX, INT64_MAX, text), text);
    }
    telegram_chats_encode(&chats, &json);
    assert_true(json.len <= (size_t)LIMIT_SOURCE_MARK_BYTES);
    telegram_chats_fini(&chats);
}

TEST(a_damaged_mark_is_refused)
{
    static const char *const texts[] = {
        "", "[]", "{}", "{\"turns\":{}}", "{\"turns\":[{}]}", "{\"turns\":[{\"state\":\"lost\"}]}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct telegram_chats chats = {0};
        assert_int_equal(telegram_chats_decode(texts[i], &chats, NULL), RONDO_ERR_CORRUPT);
        telegram_chats_fini(&chats);
    }
}
