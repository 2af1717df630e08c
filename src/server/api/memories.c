// SPDX-License-Identifier: Apache-2.0
/*
 * Memories of agents: listed, searched, shown, added, forgotten. A token for some agents reaches
 * theirs only; those that agents share by a name belong to "shared:NAME".
 */
#include "memory/memory.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/text/redact.h"
#include "server/api/handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PAGE 50
#define MAX_PAGE     200
/** What memories that the API adds come from. */
#define API_SOURCE "api"

static const char *const kind_words[] = {"episodic", "semantic", "procedural", NULL};

/** A page while it is written. */
struct memory_page {
    struct call *call;
    struct buf *list;
    bool is_search;
    bool is_before; /* the place after which the page begins is still to come */
    int64_t before;
    int64_t limit;
    int64_t count;
    int64_t last;
    bool is_more;
};

static bool write_one(const struct store_memory *memory, void *context)
{
    struct memory_page *page = context;
    if (page->is_before) {
        page->is_before = memory->id != page->before;
        return true;
    }
    if (!token_grant_covers(&page->call->grant, memory->owner)) {
        return true;
    }
    if (page->count == page->limit) {
        page->is_more = true;
        return false;
    }
    buf_append_string(page->list, page->count++ > 0 ? "," : "");
    memories_write_json(memory, page->is_search ? memory->score : -1, page->list);
    page->last = memory->id;
    return true;
}

static void answer_page(struct call *call, const struct memory_page *page, int r,
                        const struct rondo_error *err)
{
    char next[24];
    if (r < 0) {
        call_error(call, err);
        return;
    }
    snprintf(next, sizeof(next), "%" PRId64, page->last);
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_raw(&writer, "memories", buf_string(page->list));
    json_write_string(&writer, "next", page->is_more && !page->is_search ? next : NULL);
    json_end_object(&writer);
}

/** What the query selects. */
struct memory_selection {
    const char *agent;
    const char *words; /* NULL = no search */
    uint32_t kinds;
    const char *category;
};

static int read_page(const struct memory_selection *selected, struct memory_page *page,
                     struct rondo_error *err)
{
    struct store *store = call_store(page->call);
    const struct memories_question question = {
        .owner = selected->agent,
        .text = selected->words,
        .kinds = selected->kinds,
        .category = selected->category,
        .top = LIMIT_MEMORY_FOUND,
        .now_ns = clock_now(clock_system()),
    };
    const struct store_memory_query query = {
        .owner = selected->agent,
        .kinds = selected->kinds,
        .category = selected->category,
    };
    page->is_search = selected->words != NULL;
    return page->is_search ? memories_recall(store, &question, write_one, page, err)
                           : store->ops->read_memories(store, &query, write_one, page, err);
}

/** An id of the path or of the query. @return whether it is one */
static bool read_id(const char *text, int64_t *ret_id)
{
    return parse_int(text, 1, INT64_MAX - 1, ret_id, NULL) == 0;
}

void handle_memories(struct call *call)
{
    struct rondo_error err = {0};
    auto_buf struct buf list = {0};
    struct memory_page page = {.call = call, .list = &list};
    const char *before = call_query(call, "before");
    int kind = -1;
    struct memory_selection selected = {.agent = call_query(call, "agent"),
                                        .words = call_query(call, "q"),
                                        .category = call_query(call, "category")};
    if (!call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &page.limit) ||
        !call_query_word(call, "kind", kind_words, &kind)) {
        return;
    }
    page.is_before = before != NULL;
    if (before != NULL && (selected.words != NULL || !read_id(before, &page.before))) {
        call_problem(call, PROBLEM_MALFORMED,
                     "the parameter before takes the id of a memory, and is not for searches");
        return;
    }
    selected.kinds = kind < 0 ? 0 : UINT32_C(1) << kind;
    buf_append_string(&list, "[");
    int r = read_page(&selected, &page, &err);
    buf_append_string(&list, "]");
    answer_page(call, &page, r, &err);
}

/* ---- One memory ------------------------------------------------------------------------------ */

/** A memory as JSON, if the caller reaches its agent. */
struct memory_copy {
    const struct call *call;
    struct buf *json;
};

static bool copy_one(const struct store_memory *memory, void *context)
{
    const struct memory_copy *copy = context;
    if (token_grant_covers(&copy->call->grant, memory->owner)) {
        memories_write_json(memory, -1, copy->json);
    }
    return false;
}

/** The memory of the path. @return false: the answer is a problem */
static bool find(struct call *call, int64_t *ret_id, struct buf *ret_json)
{
    struct rondo_error err = {0};
    const char *text = call_value(call, "id");
    struct memory_copy copy = {.call = call, .json = ret_json};
    struct store_memory_query query = {0};
    int r = 0;
    if (read_id(text, &query.id)) {
        struct store *store = call_store(call);
        r = store->ops->read_memories(store, &query, copy_one, &copy, &err);
    }
    if (r == 0 && ret_json->len == 0) {
        r = error_set(&err, RONDO_ERR_NOT_FOUND, "there is no memory %.32s", text);
    }
    if (r < 0) {
        call_error(call, &err);
    }
    *ret_id = query.id;
    return r == 0;
}

void handle_memory(struct call *call)
{
    auto_buf struct buf json = {0};
    int64_t id = 0;
    if (find(call, &id, &json)) {
        call_json(call, 200);
        buf_append(&call->answer, json.data, json.len);
    }
}

void handle_forget_memory(struct call *call)
{
    auto_buf struct buf json = {0};
    struct rondo_error err = {0};
    int64_t id = 0;
    uint64_t count = 0;
    if (!find(call, &id, &json)) {
        return;
    }
    if (memories_forget(call_store(call), &id, 1, &count, &err) < 0) {
        call_error(call, &err);
        return;
    }
    call->status = 204;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/** A memory that a server which ended meanwhile has added for the same request. */
struct added_before {
    const struct store_memory *wanted;
    int64_t id;
};

static bool compare_added(const struct store_memory *memory, void *context)
{
    struct added_before *before = context;
    bool is_same = strcmp(memory->source, API_SOURCE) == 0 &&
                   strcmp(memory->content, before->wanted->content) == 0;
    before->id = is_same ? memory->id : 0;
    return !is_same;
}

static int find_added(struct store *store, const struct store_memory *wanted, int64_t *ret_id,
                      struct rondo_error *err)
{
    struct added_before before = {.wanted = wanted};
    const struct store_memory_query query = {
        .owner = wanted->owner, .kinds = UINT32_C(1) << wanted->kind, .limit = MAX_PAGE};
    int r = store->ops->read_memories(store, &query, compare_added, &before, err);
    *ret_id = before.id;
    return r;
}

static int add(struct call *call, const struct store_memory *memory, int64_t *ret_id,
               struct rondo_error *err)
{
    struct store *store = call_store(call);
    int r = call->is_again ? find_added(store, memory, ret_id, err) : 0;
    if (r == 0 && *ret_id == 0) {
        struct redact *redact = redact_new((const char *const *)environ);
        r = memories_add(store, redact, memory, MEMORIES_KEPT, ret_id, err);
        redact_free(redact);
    }
    return r;
}

static void answer_added(struct call *call, int64_t id)
{
    struct rondo_error err = {0};
    auto_buf struct buf json = {0};
    struct memory_copy copy = {.call = call, .json = &json};
    struct store *store = call_store(call);
    const struct store_memory_query query = {.id = id};
    if (store->ops->read_memories(store, &query, copy_one, &copy, &err) < 0) {
        call_error(call, &err);
        return;
    }
    call_json(call, 201);
    buf_append(&call->answer, json.data, json.len);
}

void handle_add_memory(struct call *call)
{
    struct rondo_error err = {0};
    const char *kind = NULL;
    int64_t id = 0;
    struct store_memory memory = {
        .kind = STORE_SEMANTIC, .source = API_SOURCE, .created_ns = clock_now(clock_system())};
    if (!call_check_members(call, call->body, "", "agent,content,kind,category") ||
        !call_member_text(call, "agent", true, &memory.owner) ||
        !call_member_text(call, "content", true, &memory.content) ||
        !call_member_text(call, "kind", false, &kind) ||
        !call_member_text(call, "category", false, &memory.category)) {
        return;
    }
    if (kind != NULL && !memories_kind_from_name(kind, &memory.kind)) {
        call_problem(call, PROBLEM_INVALID, "kind takes episodic, semantic or procedural");
    } else if (memory.owner[0] == '\0' || strlen(memory.owner) > LIMIT_MEMORY_OWNER_LEN) {
        call_problem(call, PROBLEM_INVALID, "agent takes a name of 1 to %d bytes",
                     LIMIT_MEMORY_OWNER_LEN);
    } else if (!token_grant_covers(&call->grant, memory.owner)) {
        call_problem(call, PROBLEM_FORBIDDEN, "the token is limited to other agents than %s",
                     memory.owner);
    } else if (add(call, &memory, &id, &err) < 0) {
        call_error(call, &err);
    } else {
        answer_added(call, id);
    }
}
