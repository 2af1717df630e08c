// SPDX-License-Identifier: Apache-2.0
/*
 * A queue without its thread: a test calls its parts. The forge is a scripted server, the remote a
 * bare repository "far", the clock one that a test sets, and the store is in memory and counts.
 */
#pragma once

#include "../forge/forge_world.h"
#include "../git/git_scene.h"
#include "base/auto.h"
#include "base/error.h"
#include "issues/queue/internal.h"
#include "support/store/memory_store.h"

/** Of this process, as far as a queue knows. */
#define WORLD_OWNER "me"

struct queue_world {
    struct forge_world *forge;
    struct store *store;
    struct store_ops store_ops; /**< of the store, but for what is counted */
    const struct store_ops *memory_ops;
    size_t document_reads;
    struct issue_queue *queue;
    struct issue_port port;
    int start_code; /**< what the port answers */
    size_t starts;
    struct buf said; /**< lines */
};

static struct queue_world *queue_world;

static inline int world_read_documents(struct store *store,
                                       const struct store_document_query *query,
                                       store_document_fn *fn, void *context,
                                       struct rondo_error *err)
{
    queue_world->document_reads++;
    return queue_world->memory_ops->read_documents(store, query, fn, context, err);
}

static inline int world_start(void *context, const struct loop_spec *spec, struct rondo_error *err)
{
    struct queue_world *world = context;
    (void)spec;
    world->starts++;
    return world->start_code == 0 ? 0 : error_set(err, world->start_code, "not now");
}

static inline int world_run(void *context, const char *run_id, struct rondo_error *err)
{
    (void)run_id;
    return world_start(context, NULL, err);
}

static inline bool world_is_executing(void *context, const char *run_id)
{
    (void)context;
    (void)run_id;
    return false;
}

static inline void world_log(void *context, const char *line)
{
    struct queue_world *world = context;
    buf_printf(&world->said, "%s\n", line);
}

static inline void world_pass(struct queue_world *world, int64_t duration_ns)
{
    world->forge->passed_ns += duration_ns;
}

static inline int64_t world_clock(const struct queue_world *world)
{
    return clock_monotonic(&world->forge->clock);
}

static inline struct issue_queue *world_make_queue(struct queue_world *world)
{
    static const char *const labels[] = {"code", NULL};
    static const struct forge_place place = {.kind = FORGE_GITHUB,
                                             .host = "forge.test",
                                             .api = "https://forge.test/api",
                                             .owner = "acme",
                                             .name = "shop"};
    static const struct work_spec work;
    static const struct loop_spec run;
    struct issue_queue *queue = memory_new_zero(1, sizeof(*queue));
    queue->options = (struct issue_queue_options){
        .store = world->store,
        .clock = &world->forge->clock,
        .random = &world->forge->random,
        .port = &world->port,
        .owner = WORLD_OWNER,
        .folder = scene_folder,
        .place = &place,
        .repository = scene_repository,
        .access = {.remote = "origin"},
        .filter = {.labels = labels, .prefix = "rondo:", .least_trust = FORGE_MEMBER},
        .item = {.max_attempts = 3,
                 .max_active_ns = 7200 * NS_PER_S,
                 .retry_base_ns = 300 * NS_PER_S,
                 .retry_most_ns = 7200 * NS_PER_S},
        .work = &work,
        .run = &run,
        .most_running = 1,
        .most_per_hour = 10,
        .poll_ns = 30 * NS_PER_S,
        .most_poll_ns = 300 * NS_PER_S,
        .log = world_log,
        .context = world,
    };
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    assert_int_equal(cancel_init(&queue->cancel, NULL), 0);
    queue->repository = memory_dup_string("forge.test/acme/shop");
    queue->base = memory_dup_string("main");
    queue->forge = world->forge->forge;
    queue->medium = &queue_refs;
    queue->git = scene_git;
    queue->has_facts = true;
    queue->facts.can_push = true;
    queue->facts.can_triage = true;
    queue->has_issues = true;
    return queue;
}

static inline void queue_world_open(void **state)
{
    struct queue_world *world = memory_new_zero(1, sizeof(*world));
    void *forge = NULL;
    world_set_up(&forge);
    world->forge = forge;
    world->store = store_memory_new(&world->forge->clock);
    world->memory_ops = world->store->ops;
    world->store_ops = *world->store->ops;
    world->store_ops.read_documents = world_read_documents;
    world->store->ops = &world->store_ops;
    world->port = (struct issue_port){.start = world_start,
                                      .resume = world_run,
                                      .stop = world_run,
                                      .is_executing = world_is_executing,
                                      .context = world};
    queue_world = world;
    world->queue = world_make_queue(world);
    *state = world;
}

/** Without a clone and a remote: git is not asked for anything. */
static inline int queue_world_set_up(void **state)
{
    assert_true(scratch_new(scene_folder, sizeof(scene_folder)));
    scene_git = (struct git){0};
    queue_world_open(state);
    return 0;
}

static inline int remote_world_set_up(void **state)
{
    scene_set_up(state);
    shell("git init -q --bare far && cd repo && git remote add origin ../far && "
          "git push -q origin main");
    scene_open();
    queue_world_open(state);
    return 0;
}

static inline int queue_world_tear_down(void **state)
{
    struct queue_world *world = *state;
    void *forge = world->forge;
    world->queue->forge = NULL; /* It is the world's. */
    queue_free(world->queue);
    store_close(world->store);
    world_tear_down(&forge);
    buf_fini(&world->said);
    free(world);
    return scene_tear_down(state);
}

#define QUEUE_TEST(test)  TEST_WITH(test, queue_world_set_up, queue_world_tear_down)
#define REMOTE_TEST(test) TEST_WITH(test, remote_world_set_up, queue_world_tear_down)

/** An open issue of a member, with the label. */
static inline struct forge_issue world_issue(int64_t number)
{
    static const char *const labels[] = {"code", NULL};
    static const char *const none[] = {NULL};
    struct buf title = {0};
    buf_printf(&title, "Issue %d", (int)number);
    return (struct forge_issue){
        .number = number,
        .title = buf_steal(&title),
        .body = memory_dup_string("b"),
        .url = memory_dup_string("https://forge.test/acme/shop/issues/1"),
        .author = memory_dup_string("ann"),
        .author_trust = FORGE_MEMBER,
        .labels = memory_dup_list(labels),
        .assignees = memory_dup_list(none),
        .created_ns = WORLD_START_NS,
        .updated_ns = WORLD_START_NS,
        .is_open = true,
    };
}

/** The list of the last poll: issues 1 to `count`. */
static inline void world_list(struct queue_world *world, size_t count)
{
    struct forge_issues *issues = &world->queue->issues;
    forge_issues_fini(issues);
    issues->items = memory_new_zero(count, sizeof(*issues->items));
    issues->count = count;
    for (size_t i = 0; i < count; i++) {
        issues->items[i] = world_issue((int64_t)i + 1);
    }
    world->queue->lists++;
}

/** Claims are known, and there are none: git is not asked. */
static inline void world_know_claims(struct queue_world *world)
{
    world->queue->claims_ns = world_clock(world);
}

/** An item of this queue with a claim that was proven a moment ago. */
static inline struct queue_slot *world_slot(struct queue_world *world, int64_t number,
                                            enum item_state state)
{
    struct item item = {.key = item_key("forge.test/acme/shop", number),
                        .repository = memory_dup_string("forge.test/acme/shop"),
                        .number = number,
                        .title = memory_dup_string("Title"),
                        .url = memory_dup_string("https://forge.test/acme/shop/issues/1"),
                        .owner = WORLD_OWNER,
                        .state = state,
                        .mirrored = state,
                        .nonce = "01890a5d-ac96-774b-bcce-b302099a8057",
                        .claim_id = "c0ffee",
                        .renewed_ns = WORLD_START_NS,
                        .branch = memory_dup_string("rondo/issue-1"),
                        .base_branch = memory_dup_string("main")};
    struct queue_slot *slot = queue_add(world->queue, &item);
    slot->claim = CLAIM_OURS;
    slot->proven_ns = world_clock(world);
    return slot;
}

/** Put a claim with this text at the remote of a REMOTE_TEST. */
static inline void world_claim_remotely(struct queue_world *world, const char *name,
                                        const struct buf *text)
{
    struct git_claim_result result = {0};
    const struct git_claim_change change = {.name = name, .old_id = "", .text = buf_string(text)};
    assert_ok(git_claim_change(&world->queue->git, &world->queue->options.access, &change, &result,
                               &scene_err));
    assert_int_equal(result.end, GIT_CLAIM_DONE);
    git_claim_result_fini(&result);
}

static inline bool world_said(const struct queue_world *world, const char *words)
{
    return strstr(buf_string(&world->said), words) != NULL;
}

/** Answer one request whose path begins so. @param headers lines that end with CRLF, or "" */
static inline void world_answer(struct queue_world *world, const char *path, int status,
                                const char *headers, const char *body)
{
    auto_buf struct buf bytes = {0};
    buf_printf(&bytes,
               "HTTP/1.1 %d Answer\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s"
               "\r\n%s",
               status, strlen(body), headers, body);
    http_peer_reply_raw(world->forge->peer,
                        &(struct peer_reply){.path = path, .bytes = buf_string(&bytes)});
}

/** Requests of this method, with this at the end of the path. */
static inline size_t world_count(struct queue_world *world, const char *method, const char *end)
{
    size_t count = 0;
    for (size_t i = 0; i < world_requests(world->forge); i++) {
        const struct peer_request *request = http_peer_request(world->forge->peer, i);
        size_t path_len = strlen(request->path);
        size_t len = strlen(end);
        count += strcmp(request->method, method) == 0 && path_len >= len &&
                         strcmp(request->path + path_len - len, end) == 0
                     ? 1
                     : 0;
    }
    return count;
}
