// SPDX-License-Identifier: Apache-2.0
#include "source/telegram/telegram_chats.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/utf8.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static void fini_turn(struct chat_turn *turn)
{
    free(turn->text);
    free(turn->answer);
    *turn = (struct chat_turn){0};
}

void telegram_chats_fini(struct telegram_chats *chats)
{
    for (size_t i = 0; i < chats->count; i++) {
        fini_turn(&chats->turns[i]);
    }
    *chats = (struct telegram_chats){0};
}

/** A copy of a text, cut between characters, with blanks for control characters. */
static char *keep_text(const char *text)
{
    struct buf kept = {0};
    for (size_t left = strlen(text); left > 0;) {
        size_t step = utf8_sequence_len(text, left);
        if (kept.len + step > LIMIT_CHAT_TEXT_BYTES) {
            break;
        }
        bool is_plain = step > 0 && ((unsigned char)*text >= ' ' || *text == '\n');
        buf_append(&kept, is_plain ? text : " ", is_plain ? step : 1);
        text += step == 0 ? 1 : step;
        left -= step == 0 ? 1 : step;
    }
    return buf_steal(&kept);
}

static void remove_turn(struct telegram_chats *chats, size_t index)
{
    fini_turn(&chats->turns[index]);
    chats->count--;
    memmove(&chats->turns[index], &chats->turns[index + 1],
            (chats->count - index) * sizeof(chats->turns[0]));
    chats->turns[chats->count] = (struct chat_turn){0};
}

/** @return whether there is room for one more */
static bool make_room(struct telegram_chats *chats)
{
    for (size_t i = 0; i < chats->count && chats->count == LIMIT_CHAT_TURNS; i++) {
        if (chats->turns[i].state == TURN_DONE) {
            remove_turn(chats, i);
        }
    }
    return chats->count < LIMIT_CHAT_TURNS;
}

struct chat_turn *telegram_chats_add(struct telegram_chats *chats, int64_t chat, int64_t update,
                                     int64_t time_s, const char *text)
{
    if (!make_room(chats)) {
        return NULL;
    }
    struct chat_turn *turn = &chats->turns[chats->count++];
    *turn = (struct chat_turn){
        .update = update, .chat = chat, .time_s = time_s, .text = keep_text(text)};
    return turn;
}

void chat_turn_answer(struct chat_turn *turn, const char *answer)
{
    free(turn->answer);
    turn->answer = keep_text(answer);
}

bool telegram_chats_are_waiting(const struct telegram_chats *chats)
{
    bool are_waiting = false;
    for (size_t i = 0; i < chats->count; i++) {
        are_waiting |= chats->turns[i].state != TURN_DONE;
    }
    return are_waiting;
}

static bool is_history(const struct chat_turn *turn, int64_t chat, int64_t now_s)
{
    return turn->chat == chat && turn->state == TURN_DONE && turn->answer != NULL &&
           turn->time_s >= now_s - CHAT_LIFE_S;
}

void telegram_chats_history(const struct telegram_chats *chats, int64_t chat, int64_t now_s,
                            struct buf *ret_text)
{
    size_t first = chats->count;
    unsigned count = 0;
    for (; first > 0 && count < CHAT_HISTORY; first--) {
        count += is_history(&chats->turns[first - 1], chat, now_s);
    }
    for (size_t i = first; i < chats->count; i++) {
        if (is_history(&chats->turns[i], chat, now_s)) {
            buf_printf(ret_text, "User: %s\n\nYou: %s\n\n", chats->turns[i].text,
                       chats->turns[i].answer);
        }
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static const char *const state_names[] = {"waiting", "sending", "done"};

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
        json_write_int(&writer, "time", turn->time_s);
        json_write_string(&writer, "state", state_names[turn->state]);
        json_write_int(&writer, "part", turn->part);
        json_write_string(&writer, "text", turn->text);
        json_write_string(&writer, "answer", turn->answer);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

static bool read_state(struct json_object *json, enum turn_state *ret_state)
{
    const char *name = json_get_string(json, "state", "");
    for (enum turn_state state = TURN_WAITING; state <= TURN_DONE; state++) {
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
    const char *answer = json_get_string(json, "answer", NULL);
    if (!read_state(json, &state) || chats->count == LIMIT_CHAT_TURNS) {
        return false;
    }
    struct chat_turn *turn =
        telegram_chats_add(chats, json_get_int(json, "chat", 0), json_get_int(json, "update", 0),
                           json_get_int(json, "time", 0), json_get_string(json, "text", ""));
    turn->state = state;
    turn->part = (unsigned)json_get_int(json, "part", 0);
    if (answer != NULL) {
        chat_turn_answer(turn, answer);
    }
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
