// SPDX-License-Identifier: Apache-2.0
/* What is stored of Telegram's chats, within its limits. */
#include "source/telegram/telegram_chats.h"

#include "support/test.h"

#include <string.h>

TEST(chats_come_back)
{
    struct telegram_chats chats = {.offset = 9};
    struct telegram_chats back = {0};
    auto_buf struct buf json = {0};
    auto_buf struct buf again = {0};
    assert_true(telegram_chats_add(&chats, -100, 7));
    assert_true(telegram_chats_add(&chats, 2, 8));
    chats.turns[0].state = TURN_SENDING;
    chats.turns[1].part = 3;
    telegram_chats_encode(&chats, &json);
    assert_int_equal(telegram_chats_decode(buf_string(&json), &back, NULL), 0);
    telegram_chats_encode(&back, &again);
    assert_string_equal(buf_string(&json), buf_string(&again));
    assert_int_equal(back.count, 2);
    assert_int_equal(back.turns[0].state, TURN_SENDING);
    assert_int_equal(back.turns[1].part, 3);
}

TEST(turns_with_their_answer_in_an_old_mark_are_passed_over)
{
    struct telegram_chats chats = {0};
    assert_int_equal(telegram_chats_decode("{\"offset\":9,\"turns\":[{\"update\":1,\"chat\":5,"
                                           "\"state\":\"done\",\"text\":\"Hi\",\"answer\":\"Ho\"},"
                                           "{\"update\":2,\"chat\":5,\"state\":\"waiting\"}]}",
                                           &chats, NULL),
                     0);
    assert_int_equal(chats.count, 1);
    assert_int_equal(chats.turns[0].update, 2);
}

TEST(waiting_turns_have_a_largest_number)
{
    struct telegram_chats chats = {0};
    for (int64_t i = 0; i < LIMIT_CHAT_TURNS; i++) {
        assert_true(telegram_chats_add(&chats, 1, i));
    }
    assert_false(telegram_chats_add(&chats, 1, 1000));
    telegram_chats_remove(&chats, 0);
    assert_true(telegram_chats_add(&chats, 1, 1000));
    assert_int_equal(chats.turns[0].update, 1);
    assert_int_equal(chats.turns[LIMIT_CHAT_TURNS - 1].update, 1000);
}

TEST(full_chats_fit_into_a_mark)
{
    struct telegram_chats chats = {.offset = INT64_MAX};
    auto_buf struct buf json = {0};
    for (int64_t i = 0; i < LIMIT_CHAT_TURNS; i++) {
        assert_true(telegram_chats_add(&chats, INT64_MIN, INT64_MAX));
    }
    telegram_chats_encode(&chats, &json);
    assert_true(json.len <= (size_t)LIMIT_SOURCE_MARK_BYTES);
}

TEST(a_damaged_mark_is_refused)
{
    static const char *const texts[] = {
        "", "[]", "{}", "{\"turns\":{}}", "{\"turns\":[{}]}", "{\"turns\":[{\"state\":\"lost\"}]}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct telegram_chats chats = {0};
        assert_int_equal(telegram_chats_decode(texts[i], &chats, NULL), RONDO_ERR_CORRUPT);
    }
}
