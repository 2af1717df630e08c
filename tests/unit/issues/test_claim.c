// SPDX-License-Identifier: Apache-2.0
#include "issues/claim.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/memory.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define NONCE "01890a5d-ac96-774b-bcce-b302099a8057"
#define RUN   "01890a5d-ac96-774b-bcce-b302099a8058"
#define NOW   INT64_C(1700000000000000000)

/** A claim as format 1 has it, for ever. */
static const char golden[] =
    "{\"rondo_claim\":1,\"number\":12,\"nonce\":\"" NONCE "\",\"owner\":\"process 8 on b7\","
    "\"run_id\":\"" RUN "\",\"written_ns\":1700000000000000000,\"lease_ns\":1700000600000000000,"
    "\"attempts\":2,\"takeovers\":1,\"pull\":0,\"branch\":\"rondo/issue-12\"}";

static int decode(const char *text, struct claim *ret_claim)
{
    return claim_decode(12, text, ret_claim, NULL);
}

TEST(a_claim_of_format_1_is_read_and_written_as_it_was)
{
    struct claim claim = {0};
    auto_buf struct buf text = {0};
    assert_int_equal(decode(golden, &claim), 0);
    assert_string_equal(claim.owner, "process 8 on b7");
    assert_string_equal(claim.branch, "rondo/issue-12");
    assert_int_equal(claim.attempts, 2);
    assert_int_equal(claim.lease_ns, NOW + CLAIM_LEASE_NS);
    claim_encode(&claim, &text);
    assert_string_equal(buf_string(&text), golden);
    claim_fini(&claim);
}

TEST(blanks_around_a_claim_and_unknown_members_do_not_matter)
{
    struct claim claim = {0};
    auto_buf struct buf text = {0};
    buf_printf(&text, "\n {\"later\":[1],%s \n\n", golden + 1);
    assert_int_equal(decode(buf_string(&text), &claim), 0);
    claim_fini(&claim);
}

/** The golden claim with one text for another. */
static void assert_refused(const char *part, const char *other, const char *reason)
{
    auto_buf struct buf text = {0};
    struct claim claim = {.number = 99};
    struct rondo_error err = {0};
    const char *place = strstr(golden, part);
    assert_non_null(place);
    buf_append(&text, golden, (size_t)(place - golden));
    buf_append_string(&text, other);
    buf_append_string(&text, place + strlen(part));
    int r = claim_decode(12, buf_string(&text), &claim, &err);
    if (r != RONDO_ERR_INVALID || claim.number != 99 || strstr(err.message, reason) == NULL) {
        fail_msg("%s: %d %s", buf_string(&text), r, err.message);
    }
}

TEST(what_is_no_claim_of_the_issue_is_refused_with_what_is_wrong)
{
    assert_refused(golden, "", "not a claim");
    assert_refused(golden, "assigned", "not a claim");
    assert_refused(golden, "[]", "format");
    assert_refused("\"rondo_claim\":1", "\"rondo_claim\":2", "format");
    assert_refused("\"number\":12", "\"number\":13", "number");
    assert_refused("\"number\":12", "\"number\":12,\"number\":12", "not a claim");
    assert_refused(NONCE, "x", "nonce");
    assert_refused("\"nonce\":\"" NONCE "\",", "", "nonce");
    assert_refused(RUN, "--help", "run_id");
    assert_refused("\"attempts\":2", "\"attempts\":-1", "attempts");
    assert_refused("\"attempts\":2", "\"attempts\":\"2\"", "attempts");
    assert_refused("\"pull\":0", "\"pull\":-1", "pull");
    assert_refused("\"written_ns\":1700000000000000000", "\"written_ns\":0", "lease");
    assert_refused("rondo/issue-12", "--force", "branch");
    assert_refused("rondo/issue-12", "a-->b", "branch");
    assert_refused("rondo/issue-12", "../x", "branch");
    assert_refused("rondo/issue-12", "", "branch");
    assert_refused("rondo/issue-12", "main", "branch");
    assert_refused("rondo/issue-12", "rondo/issue-1", "branch");
    assert_refused("rondo/issue-12", "rondo/issue-123", "branch");
    assert_refused("rondo/issue-12", "rondo/issue-12/x", "branch");
    assert_refused("rondo/issue-12", "rondo/issue-12-a/b", "branch");
    assert_refused("rondo/issue-12", "rondo/issue-12-A", "branch");
}

TEST(a_lease_is_as_long_as_allowed_and_not_longer)
{
    struct claim claim = {0};
    char text[sizeof(golden) + 40];
    const char *lease = strstr(golden, "1700000600000000000");
    snprintf(text, sizeof(text), "%.*s1700000600000000001%s", (int)(lease - golden), golden,
             lease + 19);
    assert_int_equal(decode(text, &claim), RONDO_ERR_INVALID);
    snprintf(text, sizeof(text), "%.*s1699999999999999999%s", (int)(lease - golden), golden,
             lease + 19);
    assert_int_equal(decode(text, &claim), RONDO_ERR_INVALID);
}

/* ---- Marks of a release --------------------------------------------------------------------- */

/** A mark that was written at NOW. @return what decoding it gives */
static int decode_mark(int64_t until_ns, struct claim *ret_claim)
{
    const struct claim mark = {.number = 12,
                               .nonce = NONCE,
                               .written_ns = NOW,
                               .lease_ns = NOW,
                               .released_until_ns = until_ns};
    auto_buf struct buf text = {0};
    claim_encode(&mark, &text);
    return decode(buf_string(&text), ret_claim);
}

TEST(a_mark_of_a_release_has_no_owner_and_ends_by_itself)
{
    struct claim mark = {0};
    assert_int_equal(decode_mark(NOW + CLAIM_RELEASED_NS, &mark), 0);
    assert_string_equal(mark.owner, "");
    assert_int_equal(mark.released_until_ns, NOW + CLAIM_RELEASED_NS);
    assert_true(claim_is_released(&mark, NOW));
    assert_false(claim_is_expired(&mark, NOW));
    assert_true(claim_is_released(&mark, NOW + CLAIM_RELEASED_NS - 1));
    assert_false(claim_is_released(&mark, NOW + CLAIM_RELEASED_NS));
    assert_true(claim_is_expired(&mark, NOW + CLAIM_RELEASED_NS));
    claim_fini(&mark);
}

TEST(a_mark_is_as_long_as_allowed_and_not_longer)
{
    struct claim mark = {0};
    assert_int_equal(decode_mark(NOW, &mark), 0);
    assert_false(claim_is_released(&mark, NOW));
    claim_fini(&mark);
    assert_int_equal(decode_mark(NOW + CLAIM_RELEASED_NS + 1, &mark), RONDO_ERR_INVALID);
    assert_int_equal(decode_mark(NOW - 1, &mark), RONDO_ERR_INVALID);
}

TEST(a_mark_can_be_read_although_the_clock_went_back)
{
    struct claim mark = {.number = 12, .nonce = NONCE};
    struct claim read = {0};
    auto_buf struct buf text = {0};
    claim_make_mark(&mark, NOW - 10000000, NOW + CLAIM_RELEASED_NS);
    claim_encode(&mark, &text);
    assert_int_equal(decode(buf_string(&text), &read), 0);
    assert_int_equal(read.released_until_ns, NOW - 10000000 + CLAIM_RELEASED_NS);
    claim_fini(&read);
}

TEST(a_claim_is_no_mark)
{
    struct claim claim = {0};
    assert_int_equal(decode(golden, &claim), 0);
    assert_false(claim_is_released(&claim, NOW));
    assert_false(claim_is_released(&claim, NOW + CLAIM_RELEASED_NS));
    claim_fini(&claim);
}

TEST(counts_are_bounded)
{
    struct claim claim = {.number = 12,
                          .nonce = NONCE,
                          .written_ns = NOW,
                          .lease_ns = NOW,
                          .attempts = LIMIT_CLAIM_COUNT,
                          .takeovers = LIMIT_CLAIM_COUNT};
    struct claim read = {0};
    auto_buf struct buf text = {0};
    claim_encode(&claim, &text);
    assert_int_equal(decode(buf_string(&text), &read), 0);
    claim_fini(&read);
    claim.takeovers++;
    buf_clear(&text);
    claim_encode(&claim, &text);
    assert_int_equal(decode(buf_string(&text), &read), RONDO_ERR_INVALID);
}

TEST(a_claim_is_read_up_to_its_limit)
{
    struct claim claim = {0};
    auto_buf struct buf text = {0};
    buf_append_string(&text, golden);
    while (text.len < LIMIT_CLAIM_BYTES) {
        buf_append_string(&text, " ");
    }
    assert_int_equal(decode(buf_string(&text), &claim), 0);
    claim_fini(&claim);
    buf_append_string(&text, " ");
    assert_int_equal(decode(buf_string(&text), &claim), RONDO_ERR_INVALID);
}

TEST(an_owner_is_a_plain_short_line_without_markup)
{
    char owner[LIMIT_CLAIM_OWNER_BYTES + 20];
    struct claim claim = {.number = 12, .nonce = NONCE, .written_ns = NOW, .lease_ns = NOW};
    struct claim read = {0};
    auto_buf struct buf text = {0};
    claim.owner = memory_dup_string("--> @all\n<b>#1 \033[31m\"\\");
    claim_encode(&claim, &text);
    assert_null(strstr(buf_string(&text), "-->"));
    assert_int_equal(decode(buf_string(&text), &read), 0);
    assert_string_equal(read.owner, "--   all  b  1   ");
    claim_fini(&claim);
    claim_fini(&read);
    memset(owner, 'x', sizeof(owner));
    owner[sizeof(owner) - 1] = '\0';
    buf_clear(&text);
    buf_printf(&text, "%.*s%s%s", (int)(strstr(golden, "process") - golden), golden, owner,
               strstr(golden, "process 8 on b7") + strlen("process 8 on b7"));
    assert_int_equal(decode(buf_string(&text), &read), 0);
    assert_int_equal(strlen(read.owner), LIMIT_CLAIM_OWNER_BYTES);
    claim_fini(&read);
}

TEST(a_claim_expires_after_lease_and_grace_unless_a_pull_request_keeps_it)
{
    struct claim claim = {.written_ns = NOW, .lease_ns = NOW + CLAIM_LEASE_NS};
    int64_t end_ns = NOW + CLAIM_ENDURES_NS;
    assert_false(claim_is_expired(&claim, NOW));
    assert_false(claim_is_expired(&claim, end_ns));
    assert_true(claim_is_expired(&claim, end_ns + 1));
    claim.pull = 7;
    assert_false(claim_is_expired(&claim, end_ns + 3600 * NS_PER_S));
}

TEST(what_a_claim_supersedes_is_bounded)
{
    auto_buf struct buf most = {0};
    auto_buf struct buf text = {0};
    struct claim claim = {0};
    struct claim again = {0};
    buf_printf(&most, "{\"supersedes\":[3");
    for (size_t i = 1; i < LIMIT_CLAIM_SUPERSEDED; i++) {
        buf_append_string(&most, ",9");
    }
    buf_printf(&text, "%s],%s", buf_string(&most), golden + 1);
    assert_int_equal(decode(buf_string(&text), &claim), 0);
    assert_int_equal(claim.superseded_count, LIMIT_CLAIM_SUPERSEDED);
    buf_clear(&text);
    claim_encode(&claim, &text);
    assert_int_equal(decode(buf_string(&text), &again), 0);
    assert_int_equal(again.superseded[0], 3);
    assert_int_equal(again.superseded_count, LIMIT_CLAIM_SUPERSEDED);
    claim_fini(&claim);
    claim_fini(&again);
    buf_clear(&text);
    buf_printf(&text, "%s,9],%s", buf_string(&most), golden + 1);
    assert_int_equal(decode(buf_string(&text), &claim), RONDO_ERR_INVALID);
    buf_clear(&text);
    buf_printf(&text, "{\"supersedes\":7,%s", golden + 1);
    assert_int_equal(decode(buf_string(&text), &claim), RONDO_ERR_INVALID);
}
