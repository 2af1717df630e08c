// SPDX-License-Identifier: Apache-2.0
/* What each conversation with the mock model server has seen. */
#include "internal.h"

#include "base/json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 64

uint64_t mock_digest(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    uint64_t sum = UINT64_C(0x9e3779b97f4a7c15) ^ len;
    for (; len >= sizeof(uint64_t); at += sizeof(uint64_t), len -= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        sum = (sum ^ word) * UINT64_C(0xd6e8feb86659fd93);
        sum ^= sum >> 32;
    }
    for (; len > 0; at++, len--) {
        sum = (sum ^ *at) * UINT64_C(0x100000001b3);
    }
    sum = (sum ^ (sum >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    sum ^= sum >> 32;
    return sum == 0 ? 1 : sum;
}

static struct mock_conversation **slot_of(const struct mock_conversations *all, const char *id,
                                          size_t len)
{
    return &all->slots[mock_digest(id, len) % all->slot_count];
}

static void grow(struct mock_conversations *all)
{
    struct mock_conversations larger = {
        .slot_count = all->slot_count == 0 ? FIRST_SLOTS : 2 * all->slot_count,
        .count = all->count,
    };
    larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
    if (larger.slots == NULL) {
        abort();
    }
    for (size_t i = 0; i < all->slot_count; i++) {
        for (struct mock_conversation *one = all->slots[i], *next; one != NULL; one = next) {
            struct mock_conversation **slot = slot_of(&larger, one->id, strlen(one->id));
            next = one->next;
            one->next = *slot;
            *slot = one;
        }
    }
    free(all->slots);
    *all = larger;
}

struct mock_conversation *mock_conversation_of(struct mock_conversations *all, const char *id,
                                               size_t len)
{
    if (all->count >= all->slot_count) {
        grow(all);
    }
    struct mock_conversation **slot = slot_of(all, id, len);
    for (struct mock_conversation *one = *slot; one != NULL; one = one->next) {
        if (strlen(one->id) == len && memcmp(one->id, id, len) == 0) {
            return one;
        }
    }
    struct mock_conversation *fresh = calloc(1, sizeof(*fresh));
    if (fresh == NULL) {
        abort();
    }
    memcpy(fresh->id, id, len);
    fresh->next = *slot;
    *slot = fresh;
    all->count++;
    return fresh;
}

void mock_conversation_begin(struct mock_conversation *conversation, struct mock_script *script)
{
    struct mock_conversation fresh = {.script = script, .next = conversation->next};
    memcpy(fresh.id, conversation->id, sizeof(fresh.id));
    mock_script_free(conversation->script);
    free(conversation->turns);
    *conversation = fresh;
}

void mock_conversations_fini(struct mock_conversations *all)
{
    for (size_t i = 0; i < all->slot_count; i++) {
        for (struct mock_conversation *one = all->slots[i], *next; one != NULL; one = next) {
            next = one->next;
            mock_script_free(one->script);
            free(one->turns);
            free(one);
        }
    }
    free(all->slots);
    *all = (struct mock_conversations){0};
}

/** Make room for a turn. */
static struct mock_turn_stats *turn_of(struct mock_conversation *conversation, uint64_t turn)
{
    if (turn > conversation->turn_room) {
        uint64_t room = conversation->turn_room == 0 ? 16 : conversation->turn_room;
        while (room < turn) {
            room *= 2;
        }
        conversation->turns = realloc(conversation->turns, room * sizeof(struct mock_turn_stats));
        if (conversation->turns == NULL) {
            abort();
        }
        conversation->turn_room = room;
    }
    while (conversation->turn_count < turn) {
        conversation->turns[conversation->turn_count++] = (struct mock_turn_stats){0};
    }
    return &conversation->turns[turn - 1];
}

uint64_t mock_conversation_request(struct mock_conversation *conversation, uint64_t turn,
                                   uint64_t digest, uint64_t key)
{
    uint64_t newest = conversation->turn_count;
    struct mock_turn_stats *stats = turn_of(conversation, turn);
    conversation->went_back += turn < newest ? 1 : 0;
    if (stats->received == 0) {
        stats->digest = digest;
        stats->key = key;
    } else {
        conversation->repeated_bodies += stats->digest == digest ? 1 : 0;
        stats->has_other_body = stats->has_other_body || stats->digest != digest;
        stats->has_other_key = stats->has_other_key || stats->key != key;
    }
    return ++stats->received;
}

uint64_t mock_conversation_counted_turn(const struct mock_conversation *conversation,
                                        uint64_t digest)
{
    for (uint64_t turn = conversation->turn_count; turn > 0; turn--) {
        if (conversation->turns[turn - 1].digest == digest) {
            return turn;
        }
    }
    return conversation->turn_count + 1;
}

void mock_conversation_completed(struct mock_conversation *conversation, uint64_t turn)
{
    struct mock_turn_stats *stats = turn_of(conversation, turn);
    conversation->completed++;
    stats->completed++;
    conversation->repeated_turns += stats->completed == 2 ? 1 : 0;
}

static void write_sums(struct json_writer *writer, const struct mock_conversation *sums)
{
    json_write_int(writer, "requests", (int64_t)sums->requests);
    json_write_int(writer, "completed", (int64_t)sums->completed);
    json_write_int(writer, "faults", (int64_t)sums->faults);
    json_write_int(writer, "refused", (int64_t)sums->refused);
    json_write_int(writer, "abandoned", (int64_t)sums->abandoned);
    json_write_int(writer, "repeated_bodies", (int64_t)sums->repeated_bodies);
    json_write_int(writer, "repeated_turns", (int64_t)sums->repeated_turns);
    json_write_int(writer, "went_back", (int64_t)sums->went_back);
}

static void write_digest(struct json_writer *writer, const char *key, uint64_t digest)
{
    char text[32];
    snprintf(text, sizeof(text), "%016" PRIx64, digest);
    json_write_string(writer, key, digest == 0 ? NULL : text);
}

void mock_conversation_json(const struct mock_conversation *conversation, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "conversation", conversation->id);
    json_write_int(&writer, "first_ns", conversation->first_ns);
    write_sums(&writer, conversation);
    json_begin_array(&writer, "turns");
    for (uint64_t i = 0; i < conversation->turn_count; i++) {
        const struct mock_turn_stats *stats = &conversation->turns[i];
        json_begin_object(&writer, NULL);
        json_write_int(&writer, "turn", (int64_t)i + 1);
        json_write_int(&writer, "received", stats->received);
        json_write_int(&writer, "completed", stats->completed);
        json_write_int(&writer, "faults", stats->faults);
        write_digest(&writer, "digest", stats->digest);
        json_write_bool(&writer, "same_body", !stats->has_other_body);
        write_digest(&writer, "key", stats->key);
        json_write_bool(&writer, "same_key", !stats->has_other_key);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

void mock_conversations_json(const struct mock_conversations *all, struct buf *ret_json)
{
    struct mock_conversation sums = {0};
    for (size_t i = 0; i < all->slot_count; i++) {
        for (const struct mock_conversation *one = all->slots[i]; one != NULL; one = one->next) {
            sums.requests += one->requests;
            sums.completed += one->completed;
            sums.faults += one->faults;
            sums.refused += one->refused;
            sums.abandoned += one->abandoned;
            sums.repeated_bodies += one->repeated_bodies;
            sums.repeated_turns += one->repeated_turns;
            sums.went_back += one->went_back;
        }
    }
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "conversations", (int64_t)all->count);
    write_sums(&writer, &sums);
    json_end_object(&writer);
}
