// SPDX-License-Identifier: Apache-2.0
/*
 * Telegram: the input as an answer of getUpdates, and as what is stored of the chats. Updates have
 * numbers that can be raised by one; what was read is stored and read again as the same.
 */
#include "fuzz.h"

#include "source/telegram/telegram_api.h"
#include "source/telegram/telegram_chats.h"

#include <string.h>

static void take_message(void *context, const struct telegram_message *message)
{
    struct telegram_chats *chats = context;
    FUZZ_CHECK(message->update >= 0 && message->update < INT64_MAX);
    FUZZ_CHECK(!message->is_text || message->text[0] != '\0');
    telegram_chats_add(chats, message->chat, message->update);
}

/** What is stored is read as the same. */
static void check_stored(const struct telegram_chats *chats)
{
    struct telegram_chats back = {0};
    struct buf json = {0};
    struct buf again = {0};
    telegram_chats_encode(chats, &json);
    FUZZ_CHECK(json.len <= (size_t)LIMIT_SOURCE_MARK_BYTES);
    FUZZ_CHECK(telegram_chats_decode(json.data, &back, NULL) == 0);
    telegram_chats_encode(&back, &again);
    FUZZ_CHECK(strcmp(json.data, again.data) == 0);
    buf_fini(&json);
    buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct telegram_chats chats = {0};
    struct telegram_chats stored = {0};
    telegram_read_updates(text, strlen(text), take_message, &chats, NULL);
    check_stored(&chats);
    if (telegram_chats_decode(text, &stored, NULL) == 0) {
        check_stored(&stored);
    }
    free(text);
    return 0;
}
