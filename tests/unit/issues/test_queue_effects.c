// SPDX-License-Identifier: Apache-2.0
/* What a queue makes sure of before it changes something outside, or believes what it reads. */
#include "queue_world.h"

#include "base/json/json.h"
#include "os/file.h"

#define ISSUES "/api/repos/acme/shop/issues"
#define PULLS  "/api/repos/acme/shop/pulls"
#define NONCE  "01890a5d-ac96-774b-bcce-b302099a8057"
#define OTHER  "01890a5d-ac96-774b-bcce-b302099a8058"
#define COMMIT "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* ---- Claims --------------------------------------------------------------------------------- */

/** Put a claim with a nonce on issue 1 at the remote. */
static void claim_remotely(struct queue_world *world, const char *nonce)
{
    auto_buf struct buf text = {0};
    char owner[] = "somebody";
    struct claim claim = {.number = 1,
                          .owner = owner,
                          .written_ns = WORLD_START_NS,
                          .lease_ns = WORLD_START_NS + CLAIM_LEASE_NS};
    snprintf(claim.nonce, sizeof(claim.nonce), "%s", nonce);
    claim_encode(&claim, &text);
    world_claim_remotely(world, "1", &text);
}

REMOTE_TEST(a_claim_of_another_nonce_is_somebody_elses_also_after_an_old_proof)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = world_slot(world, 1, ITEM_IN_PROGRESS);
    claim_remotely(world, OTHER);
    assert_true(queue_prove(world->queue, slot)); /* as it was a moment ago */
    world_pass(world, QUEUE_PROOF_NS);
    assert_false(queue_prove(world->queue, slot));
    assert_int_equal(slot->claim, CLAIM_FOREIGN);
}

REMOTE_TEST(a_claim_of_our_nonce_is_ours_although_its_answer_was_lost)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = world_slot(world, 1, ITEM_IN_PROGRESS);
    claim_remotely(world, NONCE);
    slot->proven_ns = 0;
    assert_true(queue_prove(world->queue, slot));
    assert_string_equal(slot->item.claim_id,
                        shell_line("git -C far rev-parse refs/rondo/claims/1"));
}

/** Somebody has taken the issue over; that was not noticed yet. The next request to this path takes
 *  longer than a proof is good for. */
static struct queue_slot *lose_during(struct queue_world *world, enum item_state item_state,
                                      const char *path)
{
    struct queue_slot *slot = world_slot(world, 1, item_state);
    slot->item.mirrored = ITEM_STATE_COUNT;
    claim_remotely(world, OTHER);
    world_answer(world, path, 429, "Retry-After: 4\r\n", "{}");
    world_answer(world, path, 429, "Retry-After: 4\r\n", "{}");
    return slot;
}

REMOTE_TEST(no_label_is_added_after_another_took_the_issue)
{
    struct queue_world *world = *state;
    struct queue_slot *slot =
        lose_during(world, ITEM_IN_PROGRESS, "/api/repos/acme/shop/labels/rondo%3Ain-progress");
    http_peer_always(world->forge->peer, 200, NULL, "{\"name\":\"rondo:in-progress\"}");
    assert_false(queue_tell(world->queue, slot));
    assert_int_equal(slot->claim, CLAIM_FOREIGN);
    assert_int_equal(world_count(world, "POST", "/labels"), 0);
}

REMOTE_TEST(no_comment_is_written_after_another_took_the_issue)
{
    struct queue_world *world = *state;
    struct queue_slot *slot =
        lose_during(world, ITEM_CANCELLED, ISSUES "/1/comments"); /* a state without a label */
    world_answer(world, ISSUES "/1", 200, "",
                 "{\"number\":1,\"title\":\"t\",\"state\":\"open\",\"labels\":[]}");
    http_peer_always(world->forge->peer, 200, NULL, "[]");
    assert_false(queue_tell(world->queue, slot));
    assert_int_equal(slot->claim, CLAIM_FOREIGN);
    assert_int_equal(world_count(world, "GET", "/comments"), 0);
    assert_int_equal(world_count(world, "POST", "/comments"), 0);
}

REMOTE_TEST(no_comment_is_edited_after_another_took_the_issue)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = lose_during(world, ITEM_CANCELLED, ISSUES "/1");
    slot->item.comment_id = 5;
    world_answer(world, ISSUES "/1", 200, "",
                 "{\"number\":1,\"title\":\"t\",\"state\":\"open\",\"labels\":[]}");
    http_peer_always(world->forge->peer, 200, NULL, "{}");
    assert_false(queue_tell(world->queue, slot));
    assert_int_equal(slot->claim, CLAIM_FOREIGN);
    assert_int_equal(world_count(world, "PATCH", "/comments/5"), 0);
}

/** A comment as the forge lists it. */
static void add_status(struct buf *json, int id, const char *nonce)
{
    buf_printf(json,
               "%s{\"id\":%d,\"body\":\"<!-- rondo:status 1 -->\\n<!-- rondo:nonce %s -->\","
               "\"user\":{\"login\":\"u%d\"},\"created_at\":\"2026-11-29T12:00:00Z\","
               "\"updated_at\":\"2026-11-29T12:00:00Z\"}",
               json->len > 1 ? "," : "", id, nonce, id);
}

/** Where a token does not tell its login, only the nonce tells whose a comment is. */
static struct queue_slot *tell_among(struct queue_world *world, const char *nonce)
{
    auto_buf struct buf comments = {0};
    struct queue_slot *slot = world_slot(world, 1, ITEM_CANCELLED);
    slot->item.mirrored = ITEM_STATE_COUNT;
    snprintf(slot->item.comment_nonce, ID_SIZE, "%s", nonce);
    buf_append_string(&comments, "[");
    add_status(&comments, 6, OTHER);
    add_status(&comments, 7, NONCE);
    add_status(&comments, 8, NONCE); /* a copy */
    buf_append_string(&comments, "]");
    world_answer(world, ISSUES "/1/comments", 200, "", buf_string(&comments));
    world_answer(world, ISSUES "/1", 200, "",
                 "{\"number\":1,\"title\":\"t\",\"state\":\"open\",\"labels\":[]}");
    http_peer_always(world->forge->peer, 201, NULL, "{\"id\":9}");
    assert_true(queue_tell(world->queue, slot));
    return slot;
}

REMOTE_TEST(a_comment_of_before_a_crash_is_known_by_its_nonce)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = tell_among(world, NONCE);
    assert_int_equal(slot->item.comment_id, 7);
    assert_int_equal(world_count(world, "PATCH", "/comments/7"), 1);
    assert_int_equal(world_count(world, "POST", "/comments"), 0);
}

REMOTE_TEST(the_mark_alone_makes_no_comment_ours)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = tell_among(world, "");
    assert_int_equal(slot->item.comment_id, 9);
    assert_true(id_is_valid(slot->item.comment_nonce));
    assert_int_equal(world_count(world, "POST", "/comments"), 1);
    struct item stored = {0};
    assert_int_equal(item_load(world->store, slot->item.key, &stored, NULL), 1);
    assert_string_equal(stored.comment_nonce, slot->item.comment_nonce); /* before it was written */
    item_fini(&stored);
}

static bool act(struct queue_world *world, struct queue_slot *slot, enum item_act what)
{
    const struct item_action action = {.act = what};
    return queue_do(world->queue, slot, &action);
}

REMOTE_TEST(no_pull_request_is_opened_after_another_took_the_issue)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = lose_during(world, ITEM_IN_PROGRESS, PULLS "?");
    http_peer_always(world->forge->peer, 200, NULL, "[]");
    act(world, slot, ITEM_ACT_PULL);
    assert_int_equal(slot->claim, CLAIM_FOREIGN);
    assert_int_equal(world_count(world, "POST", "/pulls"), 0);
}

/* ---- Pull requests -------------------------------------------------------------------------- */

/** As GitHub has it, appended. */
static void write_pull(int number, const char *state, const char *commit, struct buf *ret_json)
{
    buf_printf(ret_json,
               "{\"number\":%d,\"state\":\"%s\",\"html_url\":\"https://forge.test/%d\",\"head\":"
               "{\"ref\":\"rondo/issue-1\",\"sha\":\"%s\",\"repo\":{\"id\":5}},\"base\":"
               "{\"ref\":\"main\",\"repo\":{\"id\":5}}}",
               number, state, number, commit);
}

/** Open a pull request where there is one that was closed. @return that of the item */
static int64_t open_beside(struct queue_world *world, const char *closed_commit)
{
    auto_buf struct buf list = {0};
    auto_buf struct buf made = {0};
    struct queue_slot *slot = world_slot(world, 1, ITEM_IN_PROGRESS);
    snprintf(slot->item.commit, sizeof(slot->item.commit), "%s", COMMIT);
    buf_append_string(&list, "[");
    write_pull(7, "closed", closed_commit, &list);
    buf_append_string(&list, "]");
    write_pull(8, "open", COMMIT, &made);
    world_answer(world, PULLS "?", 200, "", buf_string(&list));
    world_answer(world, PULLS, 201, "", buf_string(&made));
    act(world, slot, ITEM_ACT_PULL);
    return slot->item.pull;
}

REMOTE_TEST(a_closed_pull_request_of_other_commits_is_not_taken_for_that_of_the_work)
{
    assert_int_equal(open_beside(*state, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"), 8);
}

REMOTE_TEST(a_closed_pull_request_of_these_commits_is_not_opened_again)
{
    assert_int_equal(open_beside(*state, COMMIT), 7);
}

REMOTE_TEST(nothing_is_pushed_onto_a_base_that_was_replaced)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = world_slot(world, 1, ITEM_IN_PROGRESS);
    snprintf(slot->item.base_id, GIT_ID_SIZE, "%s", scene_head());
    snprintf(slot->item.commit, GIT_ID_SIZE, "%s", scene_head());
    shell("cd repo && git checkout -q --orphan other && git commit -qm other && "
          "git push -q --force origin other:main");
    assert_true(act(world, slot, ITEM_ACT_PUSH));
    assert_int_equal(slot->item.state, ITEM_BLOCKED);
    assert_int_equal(slot->item.reason, ITEM_CONFLICT);
    assert_string_equal(shell_line("git -C far for-each-ref --format='%(refname)' | tr '\\n' ' '"),
                        "refs/heads/main ");
}

/* ---- What people say ------------------------------------------------------------------------ */

/** A comment with a command, appended to a list. */
static void add_comment(struct buf *list, int id, const char *author, const char *association,
                        const char *body, const char *time)
{
    buf_printf(list,
               "%s{\"id\":%d,\"user\":{\"login\":\"%s\"},\"author_association\":\"%s\","
               "\"body\":\"%s\",\"created_at\":\"%s\",\"updated_at\":\"%s\"}",
               list->len == 0 ? "[" : ",", id, author, association, body, time, time);
}

static enum item_command hear(struct queue_world *world, struct buf *list, bool skips_old)
{
    struct forge_issue issue = {
        .number = 1, .comments = 1, .updated_ns = (int64_t)world_requests(world->forge) + 1};
    int64_t read_id = 0;
    buf_append_string(list, "]");
    world_answer(world, ISSUES "/1/comments", 200, "", buf_string(list));
    buf_clear(list);
    return queue_hear(world->queue, &issue, skips_old, &read_id);
}

QUEUE_TEST(commands_of_strangers_are_ignored)
{
    struct queue_world *world = *state;
    auto_buf struct buf list = {0};
    add_comment(&list, 1, "sam", "NONE", "/rondo release", "2026-11-20T10:00:00Z");
    add_comment(&list, 2, "sam", "CONTRIBUTOR", "/rondo release", "2026-11-20T10:00:00Z");
    assert_int_equal(hear(world, &list, false), ITEM_NO_COMMAND);
    add_comment(&list, 3, "ann", "MEMBER", "/rondo release", "2026-11-20T10:00:00Z");
    add_comment(&list, 4, "sam", "NONE", "/rondo retry", "2026-11-20T10:00:00Z");
    assert_int_equal(hear(world, &list, false), ITEM_COMMAND_RELEASE);
}

QUEUE_TEST(commands_from_before_the_last_status_were_carried_out)
{
    struct queue_world *world = *state;
    auto_buf struct buf list = {0};
    world->queue->facts.login = memory_dup_string("rondo-bot");
    for (int i = 0; i < 2; i++) {
        const char *time = i == 0 ? "2026-11-20T09:59:59Z" : "2026-11-20T10:00:01Z";
        add_comment(&list, 1, "rondo-bot", "MEMBER", "<!-- rondo:status 1 -->\\nBlocked.",
                    "2026-11-20T10:00:00Z");
        add_comment(&list, 2, "ann", "MEMBER", "/rondo retry", time);
        assert_int_equal(hear(world, &list, true), i == 0 ? ITEM_NO_COMMAND : ITEM_COMMAND_RETRY);
    }
}

/* ---- Which issue ---------------------------------------------------------------------------- */

/** Judge issue 1, of which git is not asked. */
static enum issue_verdict judge(struct queue_world *world)
{
    auto_former struct queue_former former = {0};
    world_know_claims(world);
    return queue_judge(world->queue, &world->queue->issues.items[0], &former);
}

QUEUE_TEST(an_issue_that_waits_for_a_person_is_not_taken)
{
    struct queue_world *world = *state;
    static const char *const labels[] = {"code", "rondo:blocked", NULL};
    world_list(world, 1);
    http_peer_always(world->forge->peer, 200, NULL, "[]");
    memory_free_list(world->queue->issues.items[0].labels);
    world->queue->issues.items[0].labels = memory_dup_list(labels);
    assert_int_equal(judge(world), ISSUE_HAS_STATE);
    assert_int_equal(world_requests(world->forge), 0);
}

QUEUE_TEST(a_claim_that_cannot_be_read_is_waited_for_as_long_as_one_endures)
{
    struct queue_world *world = *state;
    struct git_claims *claims = &world->queue->claims;
    world_list(world, 1);
    http_peer_always(world->forge->peer, 200, NULL, "[]");
    claims->items = memory_new_zero(1, sizeof(*claims->items));
    claims->count = 1;
    claims->items[0] = (struct git_claim){
        .name = memory_dup_string("1"), .id = "c0ffee", .text = memory_dup_string("what?")};
    assert_int_equal(judge(world), ISSUE_CLAIMED);
    world_pass(world, CLAIM_ENDURES_NS);
    assert_int_equal(judge(world), ISSUE_CLAIMED);
    world_pass(world, NS_PER_S);
    assert_int_not_equal(judge(world), ISSUE_CLAIMED);
}

/* ---- The work ------------------------------------------------------------------------------- */

/** Issue 1 with a text, as it is when it is claimed. */
static struct queue_slot *claim_with_text(struct queue_world *world, const char *text)
{
    struct queue_slot *slot = world_slot(world, 1, ITEM_ASSIGNED);
    struct forge_issue issue = world_issue(1);
    char digest[DIGEST_HEX_SIZE];
    free(issue.body);
    issue.body = memory_dup_string(text);
    item_digest(&issue, digest);
    forge_issue_fini(&issue);
    slot->item.content_digest = memory_dup_string(digest);
    snprintf(slot->item.run_id, ID_SIZE, "%s", NONCE);
    return slot;
}

static void answer_issue(struct queue_world *world, const char *text)
{
    auto_buf struct buf body = {0};
    buf_printf(&body,
               "{\"number\":1,\"title\":\"Issue 1\",\"body\":\"%s\",\"state\":\"open\","
               "\"html_url\":\"https://forge.test/1\",\"user\":{\"login\":\"ann\"},"
               "\"author_association\":\"MEMBER\",\"labels\":[{\"name\":\"code\"}]}",
               text);
    world_answer(world, ISSUES "/1", 200, "", buf_string(&body));
}

QUEUE_TEST(sub_issues_of_strangers_are_no_parts_of_the_work)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = claim_with_text(world, "text");
    auto_free char *folder = NULL;
    auto_buf struct buf path = {0};
    auto_buf struct buf prd = {0};
    int64_t count = 0;
    world->queue->options.has_plans = true;
    world_answer(world, ISSUES "/1/comments", 200, "", "[]");
    world_answer(world, ISSUES "/1/sub_issues", 200, "",
                 "[{\"number\":2,\"title\":\"Hers\",\"state\":\"open\",\"author_association\":"
                 "\"MEMBER\",\"user\":{\"login\":\"ann\"}},"
                 "{\"number\":3,\"title\":\"Alien\",\"state\":\"open\",\"author_association\":"
                 "\"NONE\",\"user\":{\"login\":\"sam\"}}]");
    answer_issue(world, "text");
    assert_ok(queue_task_write(world->queue, slot, &folder, &count, &scene_err));
    assert_int_equal(count, 1);
    buf_printf(&path, "%s/prd.json", folder);
    assert_int_equal(file_read(buf_string(&path), 1 << 20, &prd, NULL), 0);
    assert_non_null(strstr(buf_string(&prd), "Hers"));
    assert_null(strstr(buf_string(&prd), "Alien"));
}

QUEUE_TEST(a_text_that_was_changed_since_it_was_judged_is_not_worked_on)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = claim_with_text(world, "text");
    auto_free char *folder = NULL;
    int64_t count = 0;
    world->queue->next_poll_ns = INT64_MAX;
    world_answer(world, ISSUES "/1/comments", 200, "", "[]");
    answer_issue(world, "another text");
    assert_int_equal(queue_task_write(world->queue, slot, &folder, &count, &scene_err),
                     RONDO_ERR_BUSY);
    assert_null(folder);
    assert_int_equal(world->queue->next_poll_ns, 0); /* which finds out what the change means */
}

REMOTE_TEST(no_run_begins_after_another_took_the_issue)
{
    struct queue_world *world = *state;
    struct queue_slot *slot = claim_with_text(world, "text");
    claim_remotely(world, OTHER);
    world_answer(world, ISSUES "/1/comments", 200, "", "[]");
    world_answer(world, ISSUES "/1", 429, "Retry-After: 4\r\n", "{}");
    world_answer(world, ISSUES "/1", 429, "Retry-After: 4\r\n", "{}");
    answer_issue(world, "text");
    act(world, slot, ITEM_ACT_START);
    assert_int_equal(world->starts, 0);
    assert_int_equal(slot->claim, CLAIM_FOREIGN);
}
