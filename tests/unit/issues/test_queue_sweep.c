// SPDX-License-Identifier: Apache-2.0
/* Claims of others that nobody will ever end: which are asked about, how often, and what follows.
 */
#include "queue_world.h"

#define NONCE  "01890a5d-ac96-774b-bcce-b302099a8057"
#define ISSUES "/api/repos/acme/shop/issues"
#define PULLS  "/api/repos/acme/shop/pulls"
/** Long after the lease of a claim of the start. */
#define LATER_NS (2 * 3600 * NS_PER_S)

static void encode(int64_t number, int64_t pull, int64_t released_until_ns, struct buf *ret_text)
{
    char branch[40];
    struct claim claim = {.number = number,
                          .nonce = NONCE,
                          .written_ns = WORLD_START_NS,
                          .lease_ns = WORLD_START_NS + CLAIM_LEASE_NS,
                          .pull = pull,
                          .released_until_ns = released_until_ns,
                          .branch = branch};
    snprintf(branch, sizeof(branch), "rondo/issue-%d", (int)number);
    claim_encode(&claim, ret_text);
}

/** Claims of the issues 101, 102, ..., each with a pull request of a number that is 1000 higher. */
static void know_claims(struct queue_world *world, size_t count, bool has_pulls)
{
    struct git_claims *claims = &world->queue->claims;
    claims->items = memory_new_zero(count, sizeof(*claims->items));
    claims->count = count;
    for (size_t i = 0; i < count; i++) {
        struct buf text = {0};
        auto_buf struct buf name = {0};
        int64_t number = 101 + (int64_t)i;
        encode(number, has_pulls ? 1000 + number : 0, 0, &text);
        buf_printf(&name, "%d", (int)number);
        claims->items[i] =
            (struct git_claim){.name = buf_steal(&name), .id = "c0ffee", .text = buf_steal(&text)};
    }
    world_know_claims(world);
}

/** An answer with a tag that says the pull request is open, or what else it is. */
static void answer_pull(struct queue_world *world, int64_t number, const char *more,
                        const char *head_id)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf body = {0};
    buf_printf(&path, PULLS "/%d", (int)number);
    buf_printf(&body,
               "{\"number\":%d,%s,\"html_url\":\"https://forge.test/p\",\"head\":{\"ref\":"
               "\"rondo/issue-%d\",\"sha\":\"%s\",\"repo\":{\"id\":1}},"
               "\"base\":{\"ref\":\"main\",\"repo\":{\"id\":1}}}",
               (int)number, more, (int)number - 1000, head_id);
    world_answer(world, buf_string(&path), 200, "ETag: \"one\"\r\n", buf_string(&body));
}

static void answer_open_pulls(struct queue_world *world, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        answer_pull(world, 1101 + (int64_t)i, "\"state\":\"open\"",
                    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    }
}

static void answer_issue(struct queue_world *world, const char *state, const char *updated)
{
    auto_buf struct buf body = {0};
    buf_printf(&body,
               "{\"number\":101,\"title\":\"T\",\"body\":\"b\",\"state\":\"%s\",\"html_url\":"
               "\"https://forge.test/i\",\"user\":{\"login\":\"ann\"},\"author_association\":"
               "\"MEMBER\",\"labels\":[{\"name\":\"code\"}],\"assignees\":[],\"comments\":0,"
               "\"created_at\":\"2001-01-01T00:00:00Z\",\"updated_at\":\"%s\"}",
               state, updated);
    world_answer(world, ISSUES "/101", 200, "", buf_string(&body));
}

/** As after a poll. */
static void sweep(struct queue_world *world)
{
    world_know_claims(world);
    queue_sweep(world->queue);
}

static bool is_conditional(struct queue_world *world, size_t request)
{
    return http_peer_header(world->forge->peer, http_peer_request(world->forge->peer, request),
                            "If-None-Match") != NULL;
}

REMOTE_TEST(a_sweep_asks_about_some_claims_and_the_next_one_about_the_rest)
{
    struct queue_world *world = *state;
    const size_t count = QUEUE_SWEEP_LOOKS + 5;
    know_claims(world, count, true);
    answer_open_pulls(world, count);
    world_pass(world, LATER_NS);
    sweep(world);
    assert_int_equal(world_requests(world->forge), QUEUE_SWEEP_LOOKS);
    sweep(world);
    world_pass(world, QUEUE_SWEEP_NS - NS_PER_S);
    sweep(world);
    assert_int_equal(world_requests(world->forge), QUEUE_SWEEP_LOOKS);
    world_pass(world, QUEUE_SWEEP_NS / 2);
    sweep(world);
    assert_int_equal(world_requests(world->forge), count);
    assert_int_equal(world->queue->count, 0);
}

REMOTE_TEST(a_slow_forge_does_not_keep_other_items_from_their_turn)
{
    struct queue_world *world = *state;
    know_claims(world, 3, true);
    for (int i = 0; i < 4; i++) {
        world_answer(world, i < 2 ? PULLS "/1101" : PULLS "/1102", 429, "Retry-After: 4\r\n", "{}");
    }
    answer_open_pulls(world, 3);
    world_pass(world, LATER_NS);
    sweep(world); /* QUEUE_PASS_NS are over with the second one. */
    assert_int_equal(world_count(world, "GET", "/1102"), 3);
    assert_int_equal(world_count(world, "GET", "/1103"), 0);
    world_pass(world, 2 * QUEUE_SWEEP_NS);
    sweep(world);
    assert_int_equal(world_count(world, "GET", "/1103"), 1);
}

REMOTE_TEST(an_open_pull_request_keeps_its_claim_and_is_read_again_with_a_condition)
{
    struct queue_world *world = *state;
    know_claims(world, 2, true);
    answer_open_pulls(world, 2);
    world_pass(world, LATER_NS);
    sweep(world);
    http_peer_always(world->forge->peer, 304, NULL, "");
    world_pass(world, 2 * QUEUE_SWEEP_NS);
    sweep(world);
    assert_int_equal(world_requests(world->forge), 4);
    assert_false(is_conditional(world, 1));
    assert_true(is_conditional(world, 2) && is_conditional(world, 3));
    assert_int_equal(world->queue->count, 0);
}

QUEUE_TEST(claims_of_the_living_of_this_store_and_of_listed_issues_are_left_alone)
{
    struct queue_world *world = *state;
    know_claims(world, 1, false);
    world_pass(world, CLAIM_ENDURES_NS);
    sweep(world); /* The lease and its grace are not over. */
    world->queue->sweep_ns = 0;
    world_pass(world, LATER_NS);
    struct queue_slot *slot = world_slot(world, 101, ITEM_IN_PROGRESS);
    slot->item.claim_id[0] = '\0';
    sweep(world);
    assert_true(queue_save(world->queue, slot));
    world->queue->count = 0; /* It is only in the store now, as if it were another process's. */
    world->queue->sweep_ns = 0;
    sweep(world);
    world_list(world, 1);
    world->queue->issues.items[0].number = 101;
    slot->item.state = ITEM_FENCED;
    assert_true(queue_save(world->queue, slot));
    world->queue->sweep_ns = 0;
    sweep(world);
    assert_int_equal(world_requests(world->forge), 0);
    world->queue->issues.items[0].number = 2;
    world->queue->sweep_ns = 0;
    answer_issue(world, "open", "2001-01-01T00:00:00Z");
    sweep(world);
    assert_int_equal(world_requests(world->forge), 1);
    world->queue->count = 1;
}

QUEUE_TEST(only_queues_that_claim_by_references_sweep)
{
    struct queue_world *world = *state;
    know_claims(world, 1, false);
    world_pass(world, LATER_NS);
    world->queue->medium = &queue_comments;
    sweep(world);
    world->queue->medium = &queue_refs;
    world->queue->facts.can_push = false;
    sweep(world);
    world->queue->facts.can_push = true;
    world->queue->options.number = 5;
    sweep(world);
    assert_int_equal(world_requests(world->forge), 0);
    world->queue->options.number = 0;
    answer_issue(world, "open", "2001-01-01T00:00:00Z");
    sweep(world);
    assert_int_equal(world_requests(world->forge), 1);
}

QUEUE_TEST(a_forge_that_fails_is_asked_about_the_same_claim_again)
{
    struct queue_world *world = *state;
    know_claims(world, 1, false);
    world_pass(world, LATER_NS);
    http_peer_always(world->forge->peer, 429, "Retry-After: 60\r\n", "{}");
    sweep(world);
    size_t requests = world_requests(world->forge);
    sweep(world);
    assert_int_equal(world_requests(world->forge), requests);
    world_pass(world, 120 * NS_PER_S);
    sweep(world);
    assert_true(world_requests(world->forge) > requests);
}

/* ---- With a remote -------------------------------------------------------------------------- */

static void claim_remotely(struct queue_world *world, int64_t pull, int64_t released_until_ns)
{
    auto_buf struct buf text = {0};
    encode(101, pull, released_until_ns, &text);
    world_claim_remotely(world, "101", &text);
}

REMOTE_TEST(a_claim_whose_pull_request_was_merged_becomes_an_item_with_the_branch_to_delete)
{
    struct queue_world *world = *state;
    const char *commit = shell_line("git -C repo rev-parse HEAD");
    char head_id[GIT_ID_SIZE];
    snprintf(head_id, sizeof(head_id), "%s", commit);
    claim_remotely(world, 1101, 0);
    world_pass(world, LATER_NS);
    answer_pull(world, 1101, "\"state\":\"closed\",\"merged_at\":\"2001-01-01T00:00:00Z\"",
                head_id);
    answer_issue(world, "closed", "2001-01-01T00:00:00Z");
    queue_sweep(world->queue);
    assert_int_equal(world->queue->count, 1);
    const struct queue_slot *slot = world->queue->slots[0];
    assert_int_equal(slot->item.state, ITEM_IN_REVIEW);
    assert_int_equal(slot->item.pull, 1101);
    assert_string_equal(slot->item.branch, "rondo/issue-101");
    assert_string_equal(slot->item.commit, head_id);
    assert_string_equal(slot->item.claim_id,
                        shell_line("git -C far rev-parse refs/rondo/claims/101"));
    assert_string_not_equal(slot->item.nonce, NONCE);
    assert_int_equal(world->queue->last.number, 0); /* It is not the issue that was taken. */
}

REMOTE_TEST(a_recently_closed_issue_is_left_to_its_owner)
{
    struct queue_world *world = *state;
    claim_remotely(world, 1101, 0);
    world_pass(world, LATER_NS);
    for (int i = 0; i < 2; i++) {
        answer_pull(world, 1101, "\"state\":\"closed\",\"merged_at\":\"2001-01-01T00:00:00Z\"",
                    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        answer_issue(world, "closed", i == 0 ? "2100-01-01T00:00:00Z" : "2001-01-01T00:00:00Z");
    }
    queue_sweep(world->queue);
    assert_int_equal(world->queue->count, 0);
    world_pass(world, CLAIM_ENDURES_NS * 2); /* sooner than the next look is otherwise */
    queue_sweep(world->queue);
    assert_int_equal(world->queue->count, 1);
}

REMOTE_TEST(a_claim_without_pull_request_of_a_closed_issue_is_cancelled)
{
    struct queue_world *world = *state;
    claim_remotely(world, 0, 0);
    world_pass(world, LATER_NS);
    answer_issue(world, "closed", "2001-01-01T00:00:00Z");
    queue_sweep(world->queue);
    assert_int_equal(world->queue->count, 1);
    const struct item *item = &world->queue->slots[0]->item;
    assert_int_equal(item->state, ITEM_CANCELLED);
    assert_int_equal(item->reason, ITEM_ISSUE_CLOSED);
    assert_string_equal(item->commit, "");
}

REMOTE_TEST(a_mark_whose_time_is_over_goes_without_asking_the_forge)
{
    struct queue_world *world = *state;
    claim_remotely(world, 0, WORLD_START_NS + CLAIM_RELEASED_NS);
    queue_sweep(world->queue);
    shell("git -C far rev-parse -q --verify refs/rondo/claims/101");
    world_pass(world, LATER_NS);
    queue_sweep(world->queue);
    shell("! git -C far rev-parse -q --verify refs/rondo/claims/101");
    assert_int_equal(world_requests(world->forge), 0);
    assert_int_equal(world->queue->count, 0);
}
