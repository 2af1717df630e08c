// SPDX-License-Identifier: Apache-2.0
/*
 * Work items: issues of forges that this store works on or has worked on. The list is sorted by
 * when they changed, which the store cannot do: an index has their places (answer/work_index.h),
 * and those of the page are read. Titles, messages and notes are text from outside; what is kept of
 * them is bounded.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/text/plain.h"
#include "issues/item.h"
#include "issues/request.h"
#include "issues/trouble.h"
#include "loop/owner.h"
#include "server/api/handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PAGE 50
#define MAX_PAGE     500
/** Repositories that an answer names. */
#define MAX_REPOSITORIES 200
/** In place of the slashes and the number sign of a key, in ids. No forge has it in names. */
#define ID_SEPARATOR '!'

/* ---- Ids ------------------------------------------------------------------------------------ */

/** "github.com!acme!shop!12": a key as one segment of a path. */
static void append_id(const char *key, struct buf *ret_id)
{
    for (const char *at = key; *at != '\0'; at++) {
        buf_append(ret_id, *at == '/' || *at == '#' ? &(char){ID_SEPARATOR} : at, 1);
    }
}

/** The key of an id; of what is no id, a key that no item has. @return owned */
static char *key_of(const char *id)
{
    char *key = memory_dup_string(id);
    char *last = strrchr(key, ID_SEPARATOR);
    for (char *at = key; *at != '\0'; at++) {
        if (*at == ID_SEPARATOR) {
            *at = at == last ? '#' : '/';
        }
    }
    return key;
}

/* ---- One item ------------------------------------------------------------------------------- */

/** The process that works on it, or "". @param ret_text OWNER_DESCRIPTION_SIZE bytes */
static void describe_worker(const struct item *item, char *ret_text)
{
    ret_text[0] = '\0';
    if (item->owner[0] != '\0' && !item_state_is_over(item->state) && !owner_is_dead(item->owner)) {
        owner_name(item->owner, ret_text);
    }
}

static void write_worker(const struct item *item, struct json_writer *writer)
{
    char worker[OWNER_DESCRIPTION_SIZE];
    describe_worker(item, worker);
    json_write_string(writer, "worked_on_by", worker[0] == '\0' ? NULL : worker);
}

/** A text, or null where there is none. */
static void write_text(struct json_writer *writer, const char *name, const char *text)
{
    json_write_string(writer, name, text != NULL && text[0] != '\0' ? text : NULL);
}

/** A number, or null below what can be one. */
static void write_number(struct json_writer *writer, const char *name, int64_t least,
                         int64_t number)
{
    if (number < least) {
        json_write_null(writer, name);
    } else {
        json_write_int(writer, name, number);
    }
}

static void write_identity(const struct item *item, struct json_writer *writer)
{
    auto_buf struct buf id = {0};
    append_id(item->key, &id);
    json_write_string(writer, "id", buf_string(&id));
    json_write_string(writer, "repository", item->repository);
    json_write_int(writer, "number", item->number);
    write_text(writer, "title", item->title);
    write_text(writer, "url", item->url);
}

static void write_members(const struct item *item, struct json_writer *writer)
{
    auto_buf struct buf cost = {0};
    text_cost_json(item->cost_micro, &cost);
    write_identity(item, writer);
    json_write_string(writer, "state", item_state_name(item->state));
    json_write_string(writer, "reason",
                      item->reason == ITEM_REASON_NONE ? NULL : item_reason_name(item->reason));
    write_text(writer, "message", item->message);
    write_worker(item, writer);
    json_write_int(writer, "attempts", item->attempts);
    json_write_int(writer, "active_ns", item->active_ns);
    write_number(writer, "tokens", 0, item->tokens);
    json_write_raw(writer, "cost", buf_string(&cost));
    write_text(writer, "run_id", item->run_id);
    write_number(writer, "pull", 1, item->pull);
    write_text(writer, "pull_url", item->pull_url);
    json_write_time(writer, "claimed", item->claimed_ns);
    json_write_time(writer, "next", item->state == ITEM_RETRY_LATER ? item->next_ns : 0);
    json_write_time(writer, "released_until", item->released_until_ns);
    json_write_time(writer, "updated", item->updated_ns);
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

static void write_request(const struct item_request *request, struct json_writer *writer)
{
    if (request == NULL) {
        json_write_null(writer, "request");
        return;
    }
    json_begin_object(writer, "request");
    json_write_string(writer, "kind", item_request_name(request->kind));
    json_write_string(writer, "by", request->by);
    json_write_time(writer, "time", request->time_ns);
    json_end_object(writer);
}

/** The item of the path. @return false: the answer is a problem */
static bool find(struct call *call, struct item *ret_item)
{
    struct rondo_error err = {0};
    const char *id = call_value(call, "id");
    auto_free char *key = key_of(id);
    int r = item_load(call_store(call), key, ret_item, &err);
    if (r == 0) {
        call_problem(call, PROBLEM_NOT_FOUND, "there is no work item %s", id);
    } else if (r < 0) {
        call_error(call, &err);
    }
    return r > 0;
}

void handle_work_item(struct call *call)
{
    struct item item = {0};
    struct item_request request;
    struct rondo_error err = {0};
    if (!call_sees_content(call, NULL) || !find(call, &item)) {
        return;
    }
    int r = item_request_read(call_store(call), item.key, &request, &err);
    if (r < 0) {
        call_error(call, &err);
    } else {
        struct json_writer writer = call_json(call, 200);
        json_begin_object(&writer, NULL);
        write_members(&item, &writer);
        write_text(&writer, "branch", item.branch);
        write_text(&writer, "base_branch", item.base_branch);
        write_text(&writer, "base", item.base_id);
        write_text(&writer, "commit", item.commit);
        json_write_bool(&writer, "is_pushed", item.is_pushed);
        json_write_bool(&writer, "is_released", item.is_released);
        json_write_int(&writer, "retries", item.retries);
        json_write_int(&writer, "follow_ups", item.follow_ups);
        write_request(r > 0 ? &request : NULL, &writer);
        write_history(&item, &writer);
        json_end_object(&writer);
    }
    item_fini(&item);
}

/* ---- Requests ------------------------------------------------------------------------------- */

static void make_request(struct call *call, const struct item *item, enum item_request_kind kind)
{
    struct rondo_error err = {0};
    struct item_request request = {.kind = kind, .time_ns = clock_now(clock_system())};
    const char *obstacle = item_request_obstacle(item, kind);
    snprintf(request.by, sizeof(request.by), "%.*s", ITEM_REQUEST_BY_SIZE - 1, call->by);
    if (obstacle != NULL) {
        call_problem(call, PROBLEM_CONFLICT, "%s: %s", item->key, obstacle);
    } else if (item_request_put(call_store(call), item->key, &request, &err) < 0) {
        call_error(call, &err);
    } else {
        struct json_writer writer = call_json(call, 202);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "id", call_value(call, "id"));
        json_write_string(&writer, "request", item_request_name(kind));
        write_worker(item, &writer);
        json_end_object(&writer);
    }
}

static void answer_request(struct call *call, enum item_request_kind kind)
{
    struct item item = {0};
    if ((call->body == NULL || call_check_members(call, call->body, "", NULL)) &&
        find(call, &item)) {
        make_request(call, &item, kind);
        item_fini(&item);
    }
}

void handle_release_work(struct call *call)
{
    answer_request(call, ITEM_REQUEST_RELEASE);
}

void handle_retry_work(struct call *call)
{
    answer_request(call, ITEM_REQUEST_RETRY);
}

/* ---- The list ------------------------------------------------------------------------------- */

/** Where an item is in the list: the one that changed last comes first. */
struct work_row {
    int64_t updated_ns;
    char *key;
};

struct work_list {
    const char *repository; /* NULL = all */
    unsigned states;        /* bits; 0 = all */
    struct work_row after;
    int64_t limit;
    struct work_row *rows;
    size_t count;
    size_t room;
    int64_t counts[ITEM_STATE_COUNT]; /* whatever their state */
    char *repositories[MAX_REPOSITORIES];
    size_t repository_count;
    char *damage; /* why an item cannot be read, or NULL */
};

/** What keeps queues from working, as far as it was written. */
struct trouble_writing {
    const struct work_list *list;
    struct json_writer *writer;
    size_t count;
};

static int compare_rows(const void *left, const void *right)
{
    const struct work_row *a = left;
    const struct work_row *b = right;
    if (a->updated_ns != b->updated_ns) {
        return a->updated_ns > b->updated_ns ? -1 : 1;
    }
    return strcmp(a->key, b->key);
}

/** Items come in the order of their keys, so those of a repository follow each other. */
static void note_repository(struct work_list *list, const char *repository)
{
    size_t count = list->repository_count;
    bool is_known = count > 0 && strcmp(list->repositories[count - 1], repository) == 0;
    if (!is_known && count < MAX_REPOSITORIES) {
        list->repositories[list->repository_count++] = memory_dup_string(repository);
    }
}

static void take_row(const struct work_place *place, void *context)
{
    struct work_list *list = context;
    if (place->damage != NULL) {
        list->damage = list->damage == NULL ? memory_dup_string(place->damage) : list->damage;
        return;
    }
    note_repository(list, place->repository);
    if (list->repository != NULL && strcmp(place->repository, list->repository) != 0) {
        return;
    }
    list->counts[place->state]++;
    struct work_row row = {.updated_ns = place->updated_ns, .key = place->key};
    bool is_of_state = list->states == 0 || (list->states & 1U << place->state) != 0;
    if (is_of_state && (list->after.key == NULL || compare_rows(&row, &list->after) > 0)) {
        row.key = memory_dup_string(place->key);
        if (list->count == list->room) {
            list->room = list->room == 0 ? 64 : list->room * 2;
            list->rows = memory_resize(list->rows, list->room, sizeof(*list->rows));
        }
        list->rows[list->count++] = row;
    }
}

/** @return whether the states of the query are ones; else the answer is a problem */
static bool read_states(struct call *call, unsigned *ret_states)
{
    const char *text = call_query(call, "state");
    char **words = text == NULL ? NULL : call_list_new(text);
    bool is_good = true;
    for (size_t i = 0; words != NULL && words[i] != NULL && is_good; i++) {
        enum item_state state = ITEM_ASSIGNED;
        is_good = item_state_from_name(words[i], &state);
        *ret_states |= 1U << state;
        if (!is_good) {
            call_problem(call, PROBLEM_MALFORMED, "there is no state %.64s", words[i]);
        }
    }
    call_list_free(words);
    return is_good;
}

/** "UPDATED_NS.ID" */
static bool read_cursor(struct call *call, struct work_row *ret_after)
{
    const char *text = call_query(call, "cursor");
    const char *dot = text == NULL ? NULL : strchr(text, '.');
    char number[24] = "";
    if (text == NULL) {
        return true;
    }
    if (dot != NULL) {
        snprintf(number, sizeof(number), "%.*s", (int)(dot - text), text);
    }
    if (dot == NULL || parse_int(number, 0, INT64_MAX, &ret_after->updated_ns, NULL) < 0) {
        call_problem(call, PROBLEM_MALFORMED,
                     "the parameter cursor takes `next_cursor` of an answer");
        return false;
    }
    ret_after->key = key_of(dot + 1);
    return true;
}

static void write_counts(const struct work_list *list, struct json_writer *writer)
{
    json_begin_object(writer, "counts");
    for (int i = 0; i < ITEM_STATE_COUNT; i++) {
        json_write_int(writer, item_state_name((enum item_state)i), list->counts[i]);
    }
    json_end_object(writer);
    json_begin_array(writer, "repositories");
    for (size_t i = 0; i < list->repository_count; i++) {
        json_write_string(writer, NULL, list->repositories[i]);
    }
    json_end_array(writer);
}

static void write_next(const struct work_list *list, size_t shown, struct json_writer *writer)
{
    auto_buf struct buf next = {0};
    if (shown < list->count) {
        buf_printf(&next, "%" PRId64 ".", list->rows[shown - 1].updated_ns);
        append_id(list->rows[shown - 1].key, &next);
    }
    json_write_string(writer, "next_cursor", next.len > 0 ? buf_string(&next) : NULL);
}

static bool write_trouble(const struct work_trouble *trouble, void *context)
{
    struct trouble_writing *writing = context;
    if (writing->list->repository == NULL ||
        strcmp(writing->list->repository, trouble->repository) == 0) {
        json_begin_object(writing->writer, NULL);
        json_write_string(writing->writer, "repository", trouble->repository);
        json_write_string(writing->writer, "message", trouble->message);
        json_write_time(writing->writer, "since", trouble->since_ns);
        json_end_object(writing->writer);
        writing->count++;
    }
    return writing->count < MAX_REPOSITORIES;
}

static int write_troubles(struct call *call, const struct work_list *list,
                          struct json_writer *writer, struct rondo_error *err)
{
    struct trouble_writing writing = {.list = list, .writer = writer};
    json_begin_array(writer, "troubles");
    int r = work_troubles_read(call_store(call), write_trouble, &writing, err);
    json_end_array(writer);
    return r;
}

static int write_list(struct call *call, const struct work_list *list, struct rondo_error *err)
{
    struct json_writer writer = call_json(call, 200);
    size_t shown = 0;
    int r = 0;
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "items");
    for (; shown < list->count && shown < (size_t)list->limit && r >= 0; shown++) {
        struct item item = {0};
        r = item_load(call_store(call), list->rows[shown].key, &item, err);
        if (r > 0) { /* else it was deleted meanwhile */
            json_begin_object(&writer, NULL);
            write_members(&item, &writer);
            json_end_object(&writer);
            item_fini(&item);
        }
    }
    json_end_array(&writer);
    write_next(list, shown, &writer);
    write_counts(list, &writer);
    json_write_string(&writer, "damage", list->damage);
    r = r < 0 ? r : write_troubles(call, list, &writer, err);
    json_end_object(&writer);
    return r < 0 ? r : 0;
}

static void send_list(struct call *call, struct work_list *list)
{
    struct rondo_error err = {0};
    int r = work_index_read(call->server->work_index, call_store(call), take_row, list, &err);
    if (list->count > 0) {
        qsort(list->rows, list->count, sizeof(*list->rows), compare_rows);
    }
    if (r < 0 || write_list(call, list, &err) < 0) {
        call_error(call, &err);
    }
}

void handle_list_work(struct call *call)
{
    struct work_list list = {.repository = call_query(call, "repository")};
    if (call_sees_content(call, NULL) && read_states(call, &list.states) &&
        call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &list.limit) &&
        read_cursor(call, &list.after)) {
        send_list(call, &list);
    }
    for (size_t i = 0; i < list.count; i++) {
        free(list.rows[i].key);
    }
    for (size_t i = 0; i < list.repository_count; i++) {
        free(list.repositories[i]);
    }
    free(list.rows);
    free(list.after.key);
    free(list.damage);
}
