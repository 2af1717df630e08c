// SPDX-License-Identifier: Apache-2.0
/* What a queue asks, and how often, when there is much of something or something fails. */
#include "queue_world.h"

#include "issues/request.h"

#include <stdatomic.h>
#include <time.h>

/** Numbers of issues that are more than fit into a pass, or into small tables. */
#define MANY 200

/* ---- The thread ----------------------------------------------------------------------------- */

static atomic_size_t clock_looks;

static int64_t counted_monotonic(const struct clock *clock)
{
    (void)clock;
    clock_looks++;
    return NS_PER_S;
}

static int64_t counted_now(const struct clock *clock)
{
    (void)clock;
    return WORLD_START_NS;
}

/** A queue with its thread, whose forge says that its limit is used up. */
struct limited_queue {
    struct forge_place place;
    struct issue_queue *queue;
};

/** @param parked as in the options of a queue */
static void start_limited(struct queue_world *world, const struct clock *clock,
                          void (*parked)(void *context), struct limited_queue *ret_limited)
{
    struct issue_queue_options options = world->queue->options;
    ret_limited->place = *options.place;
    ret_limited->place.api = memory_dup_string(http_peer_url(world->forge->peer, "/api"));
    options.place = &ret_limited->place;
    options.http = world->forge->http;
    options.clock = clock;
    options.parked = parked;
    http_peer_always(world->forge->peer, 429, "Retry-After: 3000\r\n", "{}");
    assert_int_equal(issue_queue_start(&options, &ret_limited->queue, NULL), 0);
}

static void stop_limited(struct limited_queue *limited)
{
    issue_queue_stop(limited->queue);
    free(limited->place.api);
}

static size_t looks_within(int64_t duration_ns)
{
    size_t before = clock_looks;
    const struct timespec time = {.tv_sec = duration_ns / NS_PER_S,
                                  .tv_nsec = duration_ns % NS_PER_S};
    nanosleep(&time, NULL);
    return clock_looks - before;
}

QUEUE_TEST(while_the_forge_may_not_be_asked_the_thread_sleeps)
{
    struct queue_world *world = *state;
    static const struct clock clock = {.now_ns = counted_now, .monotonic_ns = counted_monotonic};
    struct limited_queue limited;
    start_limited(world, &clock, NULL, &limited);
    http_peer_wait_requests(world->forge->peer, 1);
    size_t looks = 1;
    for (int i = 0; i < 300 && looks > 0; i++) {
        looks =
            looks_within(NS_PER_S / 5); /* until its wait; a loop without one never comes there */
    }
    assert_int_equal(looks, 0);
    assert_int_equal(world_requests(world->forge), 1);
    stop_limited(&limited);
}

static atomic_size_t parked_count;
static atomic_llong parked_now_ns;

static void note_parked(void *context)
{
    (void)context;
    parked_count++;
}

static int64_t parked_monotonic(const struct clock *clock)
{
    (void)clock;
    return parked_now_ns;
}

static void wait_for_parked(size_t count)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    for (int i = 0; i < 600000 && parked_count < count; i++) {
        nanosleep(&pause, NULL);
    }
    assert_int_equal(parked_count, count);
}

QUEUE_TEST(a_thread_without_work_ends_until_it_is_woken_or_due)
{
    struct queue_world *world = *state;
    static const struct clock clock = {.now_ns = counted_now, .monotonic_ns = parked_monotonic};
    struct limited_queue limited;
    parked_now_ns = NS_PER_S;
    start_limited(world, &clock, note_parked, &limited);
    struct issue_queue *queue = limited.queue;
    wait_for_parked(1);
    int64_t due_ns = issue_queue_tend(queue);
    assert_true(due_ns > parked_now_ns + 5 * NS_PER_S && due_ns < INT64_MAX);
    assert_false(queue->has_thread);
    issue_queue_wake(queue, false);
    assert_true(issue_queue_tend(queue) == INT64_MAX);
    wait_for_parked(2); /* It has looked, and nothing was due. */
    assert_int_equal(world_requests(world->forge), 1);
    assert_true(issue_queue_tend(queue) == due_ns);
    parked_now_ns = due_ns;
    assert_true(issue_queue_tend(queue) == INT64_MAX);
    http_peer_wait_requests(world->forge->peer, 2);
    stop_limited(&limited);
}

/* ---- Many issues ---------------------------------------------------------------------------- */

/** Each look at the clock takes a moment, as the requests in between do. */
static int64_t slow_monotonic(const struct clock *clock)
{
    struct forge_world *world = clock->context;
    world->passed_ns += NS_PER_S / 10;
    return NS_PER_S + world->passed_ns;
}

/** Nobody has set the label, as far as the forge knows: all issues are judged, and none is taken.
 */
static void answer_empty_lists(struct queue_world *world, const char *headers)
{
    http_peer_always(world->forge->peer, 200, headers, "[]");
}

static bool take(struct queue_world *world)
{
    world_know_claims(world);
    return queue_take(world->queue);
}

QUEUE_TEST(judging_many_issues_leaves_time_for_claims_to_be_renewed)
{
    struct queue_world *world = *state;
    char number[32];
    world->forge->clock.monotonic_ns = slow_monotonic;
    world_list(world, MANY);
    answer_empty_lists(world, NULL);
    assert_false(take(world));
    size_t first = world_requests(world->forge);
    assert_in_range(first, 2, MANY / 2);
    assert_true(world->queue->is_pass_late);
    assert_true(world->queue->is_pass_cut);
    assert_false(take(world)); /* continues where the first one ended */
    snprintf(number, sizeof(number), "/issues/%zu/", first / 2 + 1);
    assert_non_null(strstr(world_path(world->forge, first), number));
}

QUEUE_TEST(where_many_issues_are_not_ours_each_is_judged_less_often)
{
    struct queue_world *world = *state;
    world_list(world, MANY);
    answer_empty_lists(world, NULL);
    assert_false(take(world));
    assert_int_equal(world_requests(world->forge), 2 * MANY);
    world_pass(world, MANY * QUEUE_COOL_SHARE_NS - NS_PER_S);
    assert_false(take(world));
    assert_int_equal(world_requests(world->forge), 2 * MANY);
    world_pass(world, 2 * NS_PER_S);
    assert_false(take(world));
    assert_int_equal(world_requests(world->forge), 4 * MANY);
}

QUEUE_TEST(the_budget_of_a_day_is_added_up_once_for_many_issues)
{
    struct queue_world *world = *state;
    world->queue->options.day_tokens = 1000;
    world_list(world, MANY);
    for (size_t i = 0; i < MANY; i++) {
        world->queue->issues.items[i].author_trust = FORGE_STRANGER;
    }
    assert_false(take(world));
    assert_int_equal(world->document_reads, 1);
    world_pass(world, QUEUE_DAY_NS - NS_PER_S);
    assert_false(take(world));
    assert_int_equal(world->document_reads, 1);
    world_pass(world, NS_PER_S);
    assert_false(take(world));
    assert_int_equal(world->document_reads, 2);
}

QUEUE_TEST(a_clock_of_the_forge_that_jumps_does_not_keep_an_issue_from_being_judged)
{
    struct queue_world *world = *state;
    world_list(world, 1);
    answer_empty_lists(world, "Date: Sat, 28 Nov 2099 15:00:00 GMT\r\n");
    assert_false(take(world));
    answer_empty_lists(world, "Date: Sun, 29 Nov 2026 15:00:00 GMT\r\n");
    size_t asked = world_requests(world->forge);
    assert_false(take(world));
    assert_int_equal(world_requests(world->forge), asked);
    world_pass(world, QUEUE_COOL_NS + NS_PER_S);
    assert_false(take(world));
    assert_true(world_requests(world->forge) > asked);
}

/* ---- Many items ----------------------------------------------------------------------------- */

/** Requests within an hour for `count` items in review, looked at every 10 seconds. */
static size_t count_looks_at_pulls(struct queue_world *world, size_t count)
{
    size_t before = world_requests(world->forge);
    world->queue->has_issues = false;
    for (size_t i = world->queue->count; i < count; i++) {
        struct queue_slot *slot = world_slot(world, (int64_t)i + 1, ITEM_IN_REVIEW);
        slot->item.pull = (int64_t)i + 1000;
    }
    for (int i = 0; i < 360; i++) {
        for (size_t k = 0; k < count; k++) {
            world->queue->slots[k]->proven_ns = world_clock(world);
            queue_see(world->queue, world->queue->slots[k]);
        }
        world_pass(world, 10 * NS_PER_S);
    }
    return world_requests(world->forge) - before;
}

QUEUE_TEST(many_pull_requests_in_review_do_not_use_up_the_requests_of_an_hour)
{
    struct queue_world *world = *state;
    http_peer_always(world->forge->peer, 200, NULL,
                     "{\"number\":1,\"state\":\"open\",\"merged\":false,\"html_url\":"
                     "\"https://forge.test/1\",\"head\":{\"ref\":\"x\",\"sha\":\"1\"}}");
    assert_int_equal(count_looks_at_pulls(world, 1), 120);
    assert_in_range(count_looks_at_pulls(world, 40), 40, 600);
}

QUEUE_TEST(comments_of_many_issues_are_read_once_while_nothing_changes)
{
    struct queue_world *world = *state;
    answer_empty_lists(world, NULL);
    for (int round = 0; round < 2; round++) {
        for (int64_t number = 1; number <= 600; number++) {
            struct forge_issue issue = {
                .number = number, .comments = 1, .updated_ns = WORLD_START_NS};
            int64_t read_id = 0;
            queue_hear(world->queue, &issue, false, &read_id);
        }
        assert_int_equal(world_requests(world->forge), 600);
    }
}

/* ---- Starts that fail ----------------------------------------------------------------------- */

static bool begin(struct queue_world *world, struct queue_slot *slot)
{
    static const struct item_action start = {.act = ITEM_ACT_START};
    slot->claim = CLAIM_OURS;
    slot->proven_ns = world_clock(world);
    return queue_do(world->queue, slot, &start);
}

QUEUE_TEST(a_process_that_ends_or_has_no_room_does_not_block_an_issue)
{
    struct queue_world *world = *state;
    static const int codes[] = {RONDO_ERR_CANCELLED, RONDO_ERR_FULL, RONDO_ERR_BUSY};
    struct queue_slot *slot = world_slot(world, 1, ITEM_IN_PROGRESS);
    slot->outcome.fact = RUN_FACT_IDLE;
    for (size_t i = 0; i < COUNT(codes); i++) {
        world->start_code = codes[i];
        assert_false(begin(world, slot));
        assert_int_equal(slot->item.state, ITEM_IN_PROGRESS);
    }
    assert_int_equal(world->starts, COUNT(codes));
    world->start_code = RONDO_ERR_INVALID;
    assert_true(begin(world, slot));
    assert_int_equal(slot->item.state, ITEM_BLOCKED);
    assert_int_equal(slot->item.reason, ITEM_REFUSED);
}

REMOTE_TEST(a_start_that_fails_again_and_again_is_put_off)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = world_slot(world, 1, ITEM_ASSIGNED);
    shell("cd repo && git remote set-url origin ../gone");
    for (int i = 1; i < QUEUE_FAILED_STARTS; i++) {
        assert_false(begin(world, slot));
        assert_int_equal(slot->item.state, ITEM_ASSIGNED);
    }
    assert_true(begin(world, slot));
    assert_int_equal(slot->item.state, ITEM_RETRY_LATER);
    assert_int_equal(slot->item.reason, ITEM_FORGE_FAILED);
    assert_true(slot->item.next_ns > forge_now(world->queue->forge));
    assert_int_equal(world->starts, 0);
}

/* ---- The store ------------------------------------------------------------------------------ */

QUEUE_TEST(a_request_that_comes_meanwhile_is_not_cleared)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = world_slot(world, 1, ITEM_IN_PROGRESS);
    struct item_request request = {.kind = ITEM_REQUEST_RETRY, .by = "ann"};
    assert_int_equal(item_request_put(world->store, slot->item.key, &request, NULL), 0);
    assert_int_equal(item_request_read(world->store, slot->item.key, &request, NULL), 1);
    slot->request_version = request.version;
    request = (struct item_request){.kind = ITEM_REQUEST_RELEASE, .by = "ben"};
    assert_int_equal(item_request_put(world->store, slot->item.key, &request, NULL), 0);
    queue_clear_request(world->queue, slot);
    assert_int_equal(item_request_read(world->store, slot->item.key, &request, NULL), 1);
    assert_int_equal(request.kind, ITEM_REQUEST_RELEASE);
    slot->request_version = request.version;
    queue_clear_request(world->queue, slot);
    assert_int_equal(item_request_read(world->store, slot->item.key, &request, NULL), 0);
}

/** Store an item with a text in place of another one. */
static void put_changed(struct queue_world *world, int64_t number, const char *text,
                        const char *other)
{
    struct item item = {.key = item_key("forge.test/acme/shop", number),
                        .repository = memory_dup_string("forge.test/acme/shop"),
                        .number = number,
                        .title = memory_dup_string("Title"),
                        .state = ITEM_ASSIGNED,
                        .mirrored = ITEM_STATE_COUNT};
    auto_buf struct buf json = {0};
    auto_buf struct buf changed = {0};
    item_encode(&item, &json);
    const char *at = strstr(buf_string(&json), text);
    assert_non_null(at);
    buf_append(&changed, buf_string(&json), (size_t)(at - buf_string(&json)));
    buf_append_string(&changed, other);
    buf_append_string(&changed, at + strlen(text));
    bool is_applied = false;
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = ITEM_COLLECTION,
                                        .key = item.key,
                                        .data = changed.data,
                                        .data_len = changed.len,
                                        .if_version = STORE_ANY_VERSION};
    assert_int_equal(
        world->store->ops->change_documents(world->store, &change, 1, &is_applied, NULL), 0);
    assert_true(is_applied);
    item_fini(&item);
}

QUEUE_TEST(an_item_that_cannot_be_read_stops_no_others)
{
    struct queue_world *world = *state;
    put_changed(world, 1, "\"format\":1", "\"format\":2");
    put_changed(world, 2, "\"assigned\"", "\"bewildered\"");
    put_changed(world, 3, "Title", "Title");
    queue_adopt(world->queue);
    assert_int_equal(world->queue->fault.code, 0);
    assert_false(queue_is_stopping(world->queue));
    assert_int_equal(world->queue->count, 1);
    assert_int_equal(world->queue->slots[0]->item.number, 3);
    assert_true(world_said(world, "left alone"));
}

/** Issue 1 is work: nothing blocks it, and who labelled it is trusted. */
static void answer_for_work(struct queue_world *world)
{
    static const struct {
        const char *path, *body;
    } answers[] = {
        {"/api/repos/acme/shop/issues/1/dependencies", "[]"},
        {"/api/repos/acme/shop/issues/1/events",
         "[{\"event\":\"labeled\",\"label\":{\"name\":\"code\"},\"actor\":{\"login\":\"ann\"},"
         "\"created_at\":\"2026-11-20T10:00:00Z\"}]"},
        {"/api/repos/acme/shop/collaborators/ann/permission", "{\"permission\":\"admin\"}"},
        {"/api/repos/acme/shop/issues/1",
         "{\"number\":1,\"title\":\"Issue 1\",\"body\":\"b\",\"state\":\"open\",\"html_url\":"
         "\"https://forge.test/1\",\"user\":{\"login\":\"ann\"},\"author_association\":\"MEMBER\","
         "\"labels\":[{\"name\":\"code\"}],\"assignees\":[],\"comments\":0}"},
    };
    for (size_t i = 0; i < COUNT(answers); i++) {
        world_answer(world, answers[i].path, 200, "", answers[i].body);
    }
}

REMOTE_TEST(an_issue_whose_item_cannot_be_read_is_left_alone)
{
    struct queue_world *world = *state;
    put_changed(world, 1, "\"format\":1", "\"format\":2");
    world_list(world, 1);
    answer_for_work(world);
    assert_false(take(world));
    assert_true(world_said(world, "left alone"));
    assert_int_equal(world->queue->fault.code, 0);
    assert_int_equal(world->queue->count, 0);
    assert_string_equal(shell_line("git -C far for-each-ref refs/rondo | wc -l"), "0");
}

/** Have the only issue that was asked for taken, which fails. @return why, as it is told */
static const char *fail_to_take(struct queue_world *world)
{
    world->queue->options.number = 1;
    world_list(world, 1);
    answer_for_work(world);
    assert_false(take(world));
    assert_int_equal(world->queue->fault.code, RONDO_ERR_STATE);
    return world->queue->fault.message;
}

REMOTE_TEST(the_only_issue_is_not_worked_on_because_others_were_faster)
{
    struct queue_world *world = *state;
    world_know_claims(world);
    shell("git -C far update-ref refs/rondo/claims/1 main");
    assert_non_null(strstr(fail_to_take(world), "not worked on: claimed by somebody else"));
}

REMOTE_TEST(the_only_issue_is_not_worked_on_because_its_item_cannot_be_read)
{
    struct queue_world *world = *state;
    put_changed(world, 1, "\"format\":1", "\"format\":2");
    assert_non_null(strstr(fail_to_take(world), "not worked on: its work item"));
}

REMOTE_TEST(an_issue_that_is_work_is_claimed)
{
    struct queue_world *world = *state;
    world_list(world, 1);
    answer_for_work(world);
    answer_for_work(world); /* It is read once more when the claim is there. */
    assert_true(take(world));
    assert_int_equal(world->queue->count, 1);
    assert_int_equal(world->queue->slots[0]->item.state, ITEM_ASSIGNED);
    assert_string_equal(shell_line("git -C far for-each-ref --format='%(refname)' refs/rondo"),
                        "refs/rondo/claims/1");
}

REMOTE_TEST(an_issue_that_was_edited_since_it_was_listed_is_not_claimed)
{
    struct queue_world *world = *state;
    struct forge_issue *listed;
    world_list(world, 1);
    listed = &world->queue->issues.items[0];
    free(listed->body);
    listed->body = memory_dup_string("an older text");
    answer_for_work(world);
    answer_for_work(world);
    assert_false(take(world));
    assert_int_equal(world->queue->count, 0);
    assert_string_equal(shell_line("git -C far for-each-ref refs/rondo | wc -l"), "0");
}
