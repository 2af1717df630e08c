// SPDX-License-Identifier: Apache-2.0
/* Claims in comments, as a queue keeps them: what strangers write beside them. */
#include "issues/claim_comment.h"
#include "queue_world.h"

#include "base/json/json.h"

#define COMMENTS "/api/repos/acme/shop/issues/1/comments"
#define NONCE    "01890a5d-ac96-774b-bcce-b302099a8057"
#define OTHER    "01890a5d-ac96-774b-bcce-b302099a8058"

/** A comment with a claim that was written now, appended to a list. @param superseded 0 = nothing
 */
static void add_claim(struct buf *list, int64_t id, const char *author, const char *nonce,
                      int64_t superseded)
{
    struct item item = {.number = 1, .state = ITEM_IN_PROGRESS};
    const struct item_report report = {.prefix = "rondo:"};
    auto_buf struct buf status = {0};
    auto_buf struct buf body = {0};
    struct json_writer writer = json_writer(list);
    char owner[] = "somebody";
    struct claim claim = {.number = 1,
                          .owner = owner,
                          .written_ns = WORLD_START_NS,
                          .lease_ns = WORLD_START_NS + CLAIM_LEASE_NS,
                          .superseded = {superseded},
                          .superseded_count = superseded == 0 ? 0 : 1};
    snprintf(claim.nonce, sizeof(claim.nonce), "%s", nonce);
    item_write_comment(&item, &report, &status);
    claim_comment_write(buf_string(&status), &claim, &body);
    buf_append_string(list, list->len == 0 ? "[" : ",");
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "id", id);
    json_begin_object(&writer, "user");
    json_write_string(&writer, "login", author);
    json_end_object(&writer);
    json_write_string(&writer, "author_association", "NONE");
    json_write_string(&writer, "body", buf_string(&body));
    json_write_string(&writer, "created_at", "2026-11-29T15:00:00Z");
    json_write_string(&writer, "updated_at", "2026-11-29T15:00:00Z");
    json_end_object(&writer);
}

/** The claim of this queue is in the comment 5. */
static struct queue_slot *claim_by_comment(struct queue_world *world)
{
    struct queue_slot *slot = world_slot(world, 1, ITEM_IN_PROGRESS);
    world->queue->medium = &queue_comments;
    world->queue->facts.login = memory_dup_string("bot");
    slot->item.comment_id = 5;
    snprintf(slot->item.claim_id, sizeof(slot->item.claim_id), "5");
    return slot;
}

/** Ask whose the claim is, where the comments are these. */
static bool prove(struct queue_world *world, struct queue_slot *slot, struct buf *list)
{
    buf_append_string(list, "]");
    world_answer(world, COMMENTS, 200, "", buf_string(list));
    buf_clear(list);
    slot->proven_ns = 0;
    return queue_prove(world->queue, slot);
}

REMOTE_TEST(strangers_do_not_end_a_claim_that_was_seen_to_be_ours)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = claim_by_comment(world);
    auto_buf struct buf list = {0};
    add_claim(&list, 5, "bot", NONCE, 0);
    assert_true(prove(world, slot, &list));
    add_claim(&list, 4, "eve", OTHER, 0); /* edited: it was no claim before */
    add_claim(&list, 5, "bot", NONCE, 0);
    add_claim(&list, 6, "eve", OTHER, 5);
    assert_true(prove(world, slot, &list));
    add_claim(&list, 5, "bot", NONCE, 0);
    add_claim(&list, 6, "bot", OTHER, 5);
    assert_false(prove(world, slot, &list));
    assert_int_equal(slot->claim, CLAIM_FOREIGN);
}

/** Renew a claim whose last certain renewal was so long ago, and was taken over by a stranger
 * since. */
static bool renew_after(struct queue_world *world, int64_t age_ns)
{
    static const struct item_action renew = {.act = ITEM_ACT_RENEW};
    struct queue_slot *slot = claim_by_comment(world);
    auto_buf struct buf list = {0};
    add_claim(&list, 5, "bot", NONCE, 0);
    assert_true(prove(world, slot, &list));
    slot->confirmed_ns = WORLD_START_NS - age_ns;
    world_answer(world, "/api/repos/acme/shop/issues/comments/5", 200, "", "{\"id\":5}");
    assert_true(queue_do(world->queue, slot, &renew));
    add_claim(&list, 5, "bot", NONCE, 0);
    add_claim(&list, 6, "eve", OTHER, 5);
    return prove(world, slot, &list);
}

REMOTE_TEST(a_process_frozen_beyond_its_lease_has_lost_the_issue)
{
    assert_false(renew_after(*state, CLAIM_LEASE_NS + NS_PER_S));
}

REMOTE_TEST(a_renewal_in_time_keeps_the_issue)
{
    assert_true(renew_after(*state, CLAIM_LEASE_NS));
}

REMOTE_TEST(a_comment_that_one_list_lacks_was_not_deleted)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = claim_by_comment(world);
    auto_buf struct buf list = {0};
    auto_buf struct buf nothing = {0};
    add_claim(&list, 5, "bot", NONCE, 0);
    buf_append_string(&nothing, "[");
    world_answer(world, COMMENTS, 200, "", "[]");
    assert_true(prove(world, slot, &list));
    world_answer(world, COMMENTS, 200, "", "[]");
    assert_false(prove(world, slot, &nothing));
    assert_int_equal(slot->claim, CLAIM_ABSENT);
}

/** Claim the issue 1, where nobody has, and writing the comment is answered so. */
static bool claim_anew(struct queue_world *world, int status, const char *body)
{
    struct queue_slot *slot = claim_by_comment(world);
    const struct queue_former former = {0};
    slot->item.claim_id[0] = '\0';
    world_answer(world, COMMENTS, 200, "", "[]");
    world_answer(world, COMMENTS, status, "", body);
    http_peer_always(world->forge->peer, 200, "", "[]");
    return queue_claim(world->queue, slot, &former);
}

QUEUE_TEST(a_comment_that_the_forge_refuses_is_told)
{
    struct queue_world *world = *state;
    assert_false(claim_anew(world, 403, "{\"message\":\"Resource not accessible\"}"));
    assert_true(world_said(world, "no comment can be written"));
    assert_true(world_said(world, "Resource not accessible"));
}

QUEUE_TEST(nobody_was_faster_when_the_wait_for_others_is_cut_off)
{
    struct queue_world *world = *state;
    world->queue->is_stopping = true;
    assert_false(claim_anew(world, 201, "{\"id\":6,\"user\":{\"login\":\"bot\"}}"));
    assert_true(world_said(world, "cannot be claimed: the claim cannot be confirmed"));
}

/** The fork, with this number. */
static void answer_fork(struct queue_world *world, int id)
{
    auto_buf struct buf body = {0};
    buf_printf(&body,
               "{\"id\":%d,\"full_name\":\"me/shop\",\"fork\":true,\"parent\":{\"full_name\":"
               "\"acme/shop\"},\"clone_url\":\"https://forge.test/me/shop.git\","
               "\"permissions\":{\"push\":true}}",
               id);
    world_answer(world, "/api/repos/me/shop", 200, "", buf_string(&body));
}

QUEUE_TEST(nothing_is_pushed_to_a_fork_that_has_become_another_repository)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = claim_by_comment(world);
    auto_free char *reason = NULL;
    auto_free char *gone = NULL;
    world->queue->options.fork = "me/shop";
    answer_fork(world, 9);
    assert_ok(queue_fork_open(world->queue, &scene_err));
    assert_string_equal(world->queue->fork_url, "https://forge.test/me/shop.git");
    answer_fork(world, 10);
    assert_int_equal(queue_fork_push(world->queue, slot, &reason), GIT_CLAIM_REFUSED);
    assert_non_null(strstr(reason, "another repository"));
    http_peer_always(world->forge->peer, 404, NULL, "{}");
    assert_int_equal(queue_fork_push(world->queue, slot, &gone), GIT_CLAIM_REFUSED);
    assert_non_null(strstr(gone, "no such repository"));
}
