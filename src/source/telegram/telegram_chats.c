// SPDX-License-Identifier: Apache-2.0
#include "source/telegram/telegram_chats.h"

#include "base/error.h"
#include "base/json/json.h"

#include <json-c/json.h>
#include <string.h>

bool telegram_chats_add(struct telegram_chats *chats, int64_t chat, int64_t update)
{
    if (chats->count == LIMIT_CHAT_TURNS) {
        return false;
    }
    chats->turns[chats->count++] = (struct chat_turn){.update = update, .chat = chat};
    return true;
}

void telegram_chats_remove(struct telegram_chats *chats, size_t index)
{
    chats->count--;
    memmove(&chats->turns[index], &chats->turns[index + 1],
            (chats->count - index) * sizeof(chats->turns[0]));
    chats->turns[chats->count] = (struct chat_turn){0};
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static const char *const state_names[] = {"waiting", "sending"};
/** Written by earlier versions for turns that have their answer. */
static const char done_name[] = "done";

void telegram_chats_encode(const struct telegram_chats *chats, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "offset", chats->offset);
    json_begin_array(&writer, "turns");
    for (size_t i = 0; i < chats->count; i++) {
        const struct chat_turn *turn = &chats->turns[i];
        json_begin_object(&writer, NULL);
        json_write_int(&writer, "update", turn->update);
        json_write_int(&writer, "chat", turn->chat);
        json_write_string(&writer, "state", state_names[turn->state]);
        json_write_int(&writer, "part", turn->part);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

static bool read_state(const char *name, enum turn_state *ret_state)
{
    for (enum turn_state state = TURN_WAITING; state <= TURN_SENDING; state++) {
        if (strcmp(state_names[state], name) == 0) {
            *ret_state = state;
            return true;
        }
    }
    return false;
}

static bool read_turn(struct telegram_chats *chats, struct json_object *json)
{
    enum turn_state state = TURN_WAITING;
    const char *name = json_get_string(json, "state", "");
    if (strcmp(name, done_name) == 0) {
        return true;
    }
    if (!read_state(name, &state) || !telegram_chats_add(chats, json_get_int(json, "chat", 0),
                                                         json_get_int(json, "update", 0))) {
        return false;
    }
    struct chat_turn *turn = &chats->turns[chats->count - 1];
    turn->state = state;
    turn->part = (unsigned)json_get_int(json, "part", 0);
    return true;
}

int telegram_chats_decode(const char *mark, struct telegram_chats *ret_chats,
                          struct rondo_error *err)
{
    auto_json struct json_object *json = NULL;
    int r = json_parse(mark, strlen(mark), &json, err);
    struct json_object *turns = json_member(json, "turns");
    bool is_good = r == 0 && json_object_is_type(turns, json_type_array);
    ret_chats->offset = json_get_int(json, "offset", 0);
    for (size_t i = 0; is_good && i < json_object_array_length(turns); i++) {
        is_good = read_turn(ret_chats, json_object_array_get_idx(turns, i));
    }
    return is_good ? 0
                   : error_set(err, RONDO_ERR_CORRUPT,
                               "what was stored of the Telegram chats cannot be read");
}
