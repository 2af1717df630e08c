// SPDX-License-Identifier: Apache-2.0
#include "issues/claim_comment.h"

#include "base/clock.h"
#include "base/memory.h"
#include "issues/text.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OURS   "01890a5d-ac96-774b-bcce-b302099a8057"
#define THEIRS "01890a5d-ac96-774b-bcce-b302099a8058"
#define NOW    INT64_C(1700000000000000000)
#define MINUTE (60 * NS_PER_S)

/** All comments of an issue, as the forge lists them. */
static struct forge_comment comments[LIMIT_FORGE_COMMENTS + 1];
static struct forge_comments list;
static struct claim_comments found;
static bool is_pull_open;
static size_t pulls_read;

static int set_up(void **state)
{
    (void)state;
    list = (struct forge_comments){.items = comments};
    is_pull_open = false;
    pulls_read = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < list.count; i++) {
        free(comments[i].body);
    }
    claim_comments_fini(&found);
    return 0;
}

#define SCENE(name) TEST_WITH(name, set_up, tear_down)

static bool keeps(void *context, int64_t pull)
{
    (void)context;
    pulls_read++;
    return is_pull_open && pull == 7;
}

static const struct claim_asker us = {.login = "bot", .nonce = OURS, .now_ns = NOW, .keeps = keeps};

static void add_body(int64_t id, char *author, char *body)
{
    comments[list.count++] = (struct forge_comment){
        .id = id, .author = author, .body = body, .created_ns = NOW, .updated_ns = NOW};
}

static void add_claim(int64_t id, char *author, const struct claim *claim)
{
    struct item item = {.number = 12, .state = ITEM_IN_PROGRESS};
    struct item_report report = {.prefix = "rondo:"};
    auto_buf struct buf status = {0};
    struct buf body = {0};
    item_write_comment(&item, &report, &status);
    claim_comment_write(buf_string(&status), claim, &body);
    add_body(id, author, buf_steal(&body));
    comments[list.count - 1].created_ns = claim->written_ns;
    comments[list.count - 1].updated_ns = claim->written_ns;
}

/** A claim that was written so long ago. */
static struct claim claim_of(const char *nonce, int64_t age_ns)
{
    struct claim claim = {.number = 12,
                          .owner = "somebody",
                          .written_ns = NOW - age_ns,
                          .lease_ns = NOW - age_ns + CLAIM_LEASE_NS};
    snprintf(claim.nonce, sizeof(claim.nonce), "%s", nonce);
    return claim;
}

static void add(int64_t id, char *author, const char *nonce, int64_t age_ns)
{
    struct claim claim = claim_of(nonce, age_ns);
    add_claim(id, author, &claim);
}

static enum claim_fact judge(const struct claim_asker *asker)
{
    claim_comments_fini(&found);
    claim_comments_read(12, &list, &found);
    return claim_comments_judge(&found, asker);
}

static int64_t holder(void)
{
    claim_comments_fini(&found);
    claim_comments_read(12, &list, &found);
    const struct claim_comment *holder = claim_comments_holder(&found, &us);
    return holder == NULL ? 0 : holder->id;
}

SCENE(a_claim_is_hidden_in_the_second_line_and_the_state_below_is_read)
{
    add(5, "Bot", OURS, 0);
    assert_non_null(strstr(comments[0].body, "-->\n<!-- rondo:claim {"));
    assert_int_equal(judge(&us), CLAIM_OURS);
    assert_int_equal(found.items[0].state, ITEM_IN_PROGRESS);
    assert_string_equal(found.items[0].claim.owner, "somebody");
}

SCENE(the_lowest_of_those_that_are_alive_has_the_issue)
{
    add(5, "bot", OURS, 0);
    add(6, "eve", THEIRS, 0);
    assert_int_equal(judge(&us), CLAIM_OURS);
    comments[0].id = 7;
    struct forge_comment first = comments[0];
    comments[0] = comments[1];
    comments[1] = first;
    assert_int_equal(judge(&us), CLAIM_FOREIGN);
    assert_int_equal(holder(), 6);
}

SCENE(a_claim_that_has_expired_is_in_nobodys_way)
{
    add(4, "eve", THEIRS, CLAIM_ENDURES_NS);
    assert_int_equal(holder(), 4);
    list.count = 0;
    free(comments[0].body);
    add(4, "eve", THEIRS, CLAIM_ENDURES_NS + 1);
    add(5, "bot", OURS, 0);
    assert_int_equal(judge(&us), CLAIM_OURS);
    assert_int_equal(holder(), 0);
}

SCENE(a_lease_is_not_longer_than_one_after_the_last_edit)
{
    struct claim claim = claim_of(THEIRS, -24 * 60 * MINUTE);
    add_claim(4, "eve", &claim);
    comments[0].created_ns = comments[0].updated_ns = NOW - CLAIM_ENDURES_NS - 1;
    assert_int_equal(holder(), 0);
    comments[0].updated_ns = NOW;
    assert_int_equal(holder(), 4);
}

/** A later claim, in the comment 8, that names ours in the comment 5. */
static void add_superseding(char *author, int64_t age_ns)
{
    struct claim later = claim_of(THEIRS, age_ns);
    later.superseded[0] = 5;
    later.superseded[1] = 99;
    later.superseded_count = 2;
    add_claim(8, author, &later);
}

SCENE(a_claim_that_its_own_account_has_superseded_is_over_for_ever_also_when_it_is_renewed)
{
    struct claim_asker settled = us;
    settled.is_settled = true;
    add(5, "bot", OURS, 0);
    add_superseding("Bot", 0);
    assert_int_equal(judge(&us), CLAIM_FOREIGN);
    assert_int_equal(judge(&settled), CLAIM_FOREIGN);
    assert_int_equal(holder(), 8);
    free(comments[1].body);
    list.count = 1;
    add_superseding("bot", 60 * MINUTE);
    assert_int_equal(judge(&settled), CLAIM_FOREIGN);
    assert_int_equal(holder(), 0);
}

SCENE(another_account_ends_no_claim_that_is_settled_and_fresh)
{
    struct claim_asker settled = us;
    settled.is_settled = true;
    add(5, "bot", OURS, 0);
    add_superseding("eve", 60 * MINUTE);
    assert_int_equal(judge(&settled), CLAIM_OURS);
    assert_int_equal(judge(&us), CLAIM_FOREIGN); /* nobody knows what was before */
    settled.has_lapsed = true;
    assert_int_equal(judge(&settled), CLAIM_FOREIGN);
}

SCENE(what_another_account_supersedes_is_alive_for_others_while_it_is_fresh)
{
    static const struct claim_asker third = {
        .login = "third", .nonce = "", .now_ns = NOW, .keeps = keeps};
    add(5, "bot", OURS, 0);
    add_superseding("eve", 60 * MINUTE);
    judge(&third);
    const struct claim_comment *found_holder = claim_comments_holder(&found, &third);
    assert_non_null(found_holder);
    assert_int_equal(found_holder->id, 5);
}

SCENE(an_old_comment_that_becomes_a_claim_does_not_evict_who_has_the_issue)
{
    struct claim_asker settled = us;
    settled.is_settled = true;
    add(4, "eve", THEIRS, 0);
    add(5, "bot", OURS, 0);
    assert_int_equal(judge(&us), CLAIM_FOREIGN);
    assert_int_equal(judge(&settled), CLAIM_OURS);
    settled.now_ns += CLAIM_ENDURES_NS + 1; /* Ours is over, and theirs is as well. */
    assert_int_equal(judge(&settled), CLAIM_OURS);
    comments[0].author = "bot"; /* another machine of ours */
    settled.now_ns = NOW;
    assert_int_equal(judge(&settled), CLAIM_FOREIGN);
}

SCENE(only_a_later_claim_supersedes)
{
    struct claim earlier = claim_of(THEIRS, CLAIM_ENDURES_NS + 1);
    earlier.superseded[0] = 5;
    earlier.superseded_count = 1;
    add_claim(4, "eve", &earlier);
    add(5, "bot", OURS, 0);
    assert_int_equal(judge(&us), CLAIM_OURS);
}

SCENE(our_expired_claim_is_ours_until_anybody_has_come_after_it)
{
    add(5, "bot", OURS, 60 * MINUTE);
    assert_int_equal(judge(&us), CLAIM_OURS);
    add_body(9, "eve", memory_dup_string("<!-- rondo:status 12 -->\nDone, and given back.\n"));
    assert_int_equal(judge(&us), CLAIM_FOREIGN);
}

SCENE(a_claim_is_gone_with_its_line_its_comment_or_another_nonce)
{
    struct claim_asker other = us;
    add(5, "bot", OURS, 0);
    other.comment_id = 6;
    assert_int_equal(judge(&other), CLAIM_ABSENT);
    other = us;
    other.nonce = THEIRS;
    assert_int_equal(judge(&other), CLAIM_ABSENT);
    other.nonce = "";
    assert_int_equal(judge(&other), CLAIM_ABSENT);
    *strstr(comments[0].body, "rondo:claim") = 'x';
    assert_int_equal(judge(&us), CLAIM_ABSENT);
}

SCENE(a_copy_of_our_claim_by_another_account_is_not_ours)
{
    add(5, "eve", OURS, 0);
    assert_int_equal(judge(&us), CLAIM_ABSENT);
    assert_int_equal(holder(), 5);
}

SCENE(a_claim_is_kept_by_its_pull_request_while_that_is_open)
{
    struct claim claim = claim_of(THEIRS, 60 * MINUTE);
    claim.pull = 7;
    add_claim(4, "eve", &claim);
    add(5, "bot", OURS, 0);
    assert_int_equal(judge(&us), CLAIM_OURS);
    is_pull_open = true;
    assert_int_equal(judge(&us), CLAIM_FOREIGN);
}

SCENE(of_an_account_with_many_claims_one_pull_request_is_read)
{
    struct claim claim = claim_of(THEIRS, 60 * MINUTE);
    for (int64_t i = 1; i <= 20; i++) {
        claim.pull = 100 + i;
        add_claim(i, i % 2 == 0 ? "eve" : "Eve", &claim);
    }
    claim.pull = 7;
    add_claim(30, "ann", &claim);
    is_pull_open = true;
    assert_int_equal(holder(), 30);
    assert_int_equal(pulls_read, 2);
}

SCENE(what_is_quoted_further_down_or_of_another_issue_is_no_claim)
{
    auto_buf struct buf text = {0};
    add(5, "eve", THEIRS, 0);
    buf_printf(&text, "> %s", comments[0].body);
    free(comments[0].body);
    list.count = 0;
    add_body(5, "eve", memory_dup_string(buf_string(&text)));
    assert_int_equal(holder(), 0);
    claim_comments_fini(&found);
    claim_comments_read(13, &list, &found);
    assert_int_equal(found.count, 0);
}

SCENE(a_new_claim_supersedes_the_newest_that_have_expired)
{
    struct claim claim = claim_of(OURS, 0);
    for (int64_t i = 1; i <= LIMIT_CLAIM_SUPERSEDED + 1; i++) {
        add(i, "eve", THEIRS, 60 * MINUTE);
    }
    add(90, "ann", THEIRS, 0);
    assert_int_equal(holder(), 90);
    claim_comments_supersede(&found, &us, &claim);
    assert_int_equal(claim.superseded_count, LIMIT_CLAIM_SUPERSEDED);
    assert_int_equal(claim.superseded[0], LIMIT_CLAIM_SUPERSEDED + 1);
    assert_int_equal(claim.superseded[LIMIT_CLAIM_SUPERSEDED - 1], 2);
}

SCENE(of_more_comments_than_can_be_read_nothing_can_be_told)
{
    for (size_t i = 0; i < LIMIT_FORGE_COMMENTS - 1; i++) {
        add_body((int64_t)i + 1, "eve", memory_dup_string("+1"));
    }
    claim_comments_read(12, &list, &found);
    assert_false(found.is_full);
    add_body(LIMIT_FORGE_COMMENTS, "eve", memory_dup_string("+1"));
    claim_comments_fini(&found);
    claim_comments_read(12, &list, &found);
    assert_true(found.is_full);
}
