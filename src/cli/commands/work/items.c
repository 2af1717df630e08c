// SPDX-License-Identifier: Apache-2.0
/* Finding work items, and their form for programs. */
#include "cli/commands/work/items.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "loop/owner.h"

#include <stdlib.h>
#include <string.h>

/** Keys of several items that a message names. */
#define KEYS_SHOWN 5

struct item_search {
    const char *word;
    char *key; /* of the first that fits */
    struct buf keys;
    size_t count;
};

/** Whether `word` is the whole key, or its end after a slash or at the number. */
static bool is_meant(const char *key, const char *word)
{
    size_t key_len = strlen(key);
    size_t len = strlen(word);
    const char *end = key_len >= len ? key + key_len - len : NULL;
    if (len == 0 || end == NULL || strcmp(end, word) != 0) {
        return false;
    }
    return end == key || end[-1] == '/' || *end == '#' || end[-1] == '#';
}

static bool compare(const struct item *item, void *context)
{
    struct item_search *search = context;
    if (is_meant(item->key, search->word)) {
        if (search->count == 0) {
            search->key = memory_dup_string(item->key);
        }
        if (search->count < KEYS_SHOWN) {
            buf_append_string(&search->keys, search->count == 0 ? "" : ", ");
            text_clean(item->key, strlen(item->key), &search->keys);
        }
        search->count++;
    }
    return true;
}

static int choose(struct store *store, const struct item_search *search, struct item *ret_item,
                  struct rondo_error *err)
{
    if (search->count == 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "this store has no work item %.200s; `rondo work list` shows all",
                         search->word);
    }
    if (search->count > 1) {
        return error_set(err, RONDO_ERR_INVALID, "%.64s matches %zu work items: %s%s; give the key",
                         search->word, search->count, buf_string((struct buf *)&search->keys),
                         search->count > KEYS_SHOWN ? ", ..." : "");
    }
    int r = item_load(store, search->key, ret_item, err);
    return r < 0 ? r : r > 0 ? 0 : error_set(err, RONDO_ERR_NOT_FOUND, "the work item is gone");
}

int work_item_find(struct store *store, const char *word, struct item *ret_item,
                   struct rondo_error *err)
{
    struct item_search search = {.word = word};
    int r = items_read(store, NULL, compare, &search, err);
    if (search.count > 0) {
        r = 0; /* Others that cannot be read do not matter. */
    }
    r = r < 0 ? r : choose(store, &search, ret_item, err);
    free(search.key);
    buf_fini(&search.keys);
    return r;
}

void work_item_name(const struct item *item, struct buf *ret_text)
{
    const char *slash = strrchr(item->key, '/');
    const char *name = slash == NULL ? item->key : slash + 1;
    text_clean(name, strlen(name), ret_text);
}

void work_item_worker(const struct item *item, char *ret_text)
{
    ret_text[0] = '\0';
    if (item->owner[0] != '\0' && !item_state_is_over(item->state) && !owner_is_dead(item->owner)) {
        owner_name(item->owner, ret_text);
    }
}

static void write_history(const struct item *item, struct json_writer *writer)
{
    json_begin_array(writer, "history");
    for (size_t i = 0; i < item->note_count; i++) {
        json_begin_object(writer, NULL);
        json_write_time(writer, "time", item->notes[i].time_ns);
        json_write_string(writer, "state", item_state_name(item->notes[i].state));
        json_write_string(writer, "text", item->notes[i].text);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_work(const struct item *item, struct json_writer *writer)
{
    auto_buf struct buf cost = {0};
    text_cost_json(item->cost_micro, &cost);
    json_write_int(writer, "attempts", item->attempts);
    json_write_int(writer, "retries", item->retries);
    json_write_int(writer, "active_ms", item->active_ns / 1000000);
    json_write_int(writer, "tokens", item->tokens);
    json_write_raw(writer, "cost", buf_string(&cost));
    json_write_string(writer, "run_id", item->run_id[0] == '\0' ? NULL : item->run_id);
    json_write_string(writer, "branch", item->branch);
    json_write_string(writer, "base_branch", item->base_branch);
    json_write_string(writer, "commit", item->commit[0] == '\0' ? NULL : item->commit);
    json_write_bool(writer, "is_pushed", item->is_pushed);
    if (item->pull > 0) {
        json_write_int(writer, "pull", item->pull);
        json_write_string(writer, "pull_url", item->pull_url);
    }
}

void work_item_json(const struct item *item, bool wants_history, struct json_writer *writer)
{
    char worker[OWNER_DESCRIPTION_SIZE];
    work_item_worker(item, worker);
    json_write_string(writer, "type", "work_item");
    json_write_string(writer, "key", item->key);
    json_write_string(writer, "repository", item->repository);
    json_write_int(writer, "issue", item->number);
    json_write_string(writer, "title", item->title);
    json_write_string(writer, "url", item->url);
    json_write_string(writer, "state", item_state_name(item->state));
    json_write_string(writer, "reason",
                      item->reason == ITEM_REASON_NONE ? NULL : item_reason_name(item->reason));
    json_write_string(writer, "message", item->message);
    json_write_string(writer, "worked_on_by", worker[0] == '\0' ? NULL : worker);
    write_work(item, writer);
    json_write_time(writer, "claimed", item->claimed_ns);
    json_write_time(writer, "next", item->state == ITEM_RETRY_LATER ? item->next_ns : 0);
    json_write_time(writer, "released_until", item->released_until_ns);
    json_write_time(writer, "updated", item->updated_ns);
    if (wants_history) {
        write_history(item, writer);
    }
}
