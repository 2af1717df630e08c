// SPDX-License-Identifier: Apache-2.0
#include "handoff/audit/entry.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define ENTRIES 9

/** A chain, as it would be exported. */
struct chain {
    struct buf entries[ENTRIES];
    struct audit_head head;
};

static struct chain make_chain(void)
{
    struct chain chain = {0};
    for (size_t i = 0; i < ENTRIES; i++) {
        char details[64];
        snprintf(details, sizeof(details), "{\"n\":%zu,\"text\":\"\\u20ac\",\"share\":0.5}", i);
        struct audit_fact fact = {.kind = i % 2 == 0 ? "handoff.requested" : "handoff.approved",
                                  .time_ns = INT64_C(1800000000123456789) + (int64_t)i,
                                  .request_id = "e6a19e20-f630-5f7a-91bd-71be0c3eae0d",
                                  .actor = "olga",
                                  .details = i == 3 ? NULL : details};
        assert_int_equal(audit_append(&chain.head, &fact, &chain.entries[i], NULL), 0);
    }
    return chain;
}

static void free_chain(struct chain *chain)
{
    for (size_t i = 0; i < ENTRIES; i++) {
        buf_fini(&chain->entries[i]);
    }
}

/** @return the number of the first entry that is wrong, or 0 */
static uint64_t check(const struct buf *entries, size_t count, struct audit_head *ret_head)
{
    struct audit_head head = {0};
    struct rondo_error err;
    for (size_t i = 0; i < count; i++) {
        if (audit_check(&head, entries[i].data, entries[i].len, &err) < 0) {
            assert_int_equal(err.code, RONDO_ERR_CORRUPT);
            return head.size + 1;
        }
    }
    if (ret_head != NULL) {
        *ret_head = head;
    }
    return 0;
}

TEST(a_chain_is_checked_to_the_head_that_it_was_made_with)
{
    struct chain chain = make_chain();
    struct audit_head head;
    char made[HANDOFF_DIGEST_SIZE];
    char found[HANDOFF_DIGEST_SIZE];
    assert_int_equal(check(chain.entries, ENTRIES, &head), 0);
    assert_int_equal(head.size, ENTRIES);
    assert_string_equal(head.hash, chain.head.hash);
    audit_root(&chain.head, made);
    audit_root(&head, found);
    assert_string_equal(made, found);
    free_chain(&chain);
}

TEST(every_byte_that_is_changed_is_noticed)
{
    struct chain chain = make_chain();
    struct buf *entry = &chain.entries[4];
    for (size_t i = 0; i < entry->len; i++) {
        entry->data[i] ^= 1;
        assert_int_equal(check(chain.entries, ENTRIES, NULL), 5);
        entry->data[i] ^= 1;
    }
    free_chain(&chain);
}

TEST(an_entry_that_is_removed_added_or_moved_is_noticed)
{
    struct chain chain = make_chain();
    struct buf moved[ENTRIES + 1];
    memcpy(moved, chain.entries, sizeof(chain.entries));
    memmove(&moved[3], &moved[4], (ENTRIES - 4) * sizeof(moved[0]));
    assert_int_equal(check(moved, ENTRIES - 1, NULL), 4);
    memcpy(moved, chain.entries, sizeof(chain.entries));
    moved[6] = chain.entries[7];
    moved[7] = chain.entries[6];
    assert_int_equal(check(moved, ENTRIES, NULL), 7);
    memcpy(moved, chain.entries, sizeof(chain.entries));
    memmove(&moved[3], &moved[2], (ENTRIES - 2) * sizeof(moved[0]));
    assert_int_equal(check(moved, ENTRIES + 1, NULL), 4);
    free_chain(&chain);
}

/** A process that can write the store can make another chain: only a head kept elsewhere shows it.
 */
TEST(another_chain_and_a_shorter_one_have_another_root)
{
    struct chain chain = make_chain();
    struct audit_head shorter;
    char whole[HANDOFF_DIGEST_SIZE];
    char cut[HANDOFF_DIGEST_SIZE];
    assert_int_equal(check(chain.entries, ENTRIES - 1, &shorter), 0);
    audit_root(&chain.head, whole);
    audit_root(&shorter, cut);
    assert_string_not_equal(whole, cut);
    free_chain(&chain);
}

TEST(what_has_no_canonical_form_is_not_appended)
{
    struct audit_head head = {0};
    auto_buf struct buf entry = {0};
    struct audit_fact fact = {.kind = "x", .details = "{\"n\":9007199254740993}"};
    assert_int_equal(audit_append(&head, &fact, &entry, NULL), RONDO_ERR_INVALID);
    assert_int_equal(head.size, 0);
    assert_int_equal(entry.len, 0);
}

TEST(details_cannot_say_who_did_it)
{
    static const char *const texts[] = {"{},\"actor\":\"alice\"", "[1]", "1", "", "{}}"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct audit_head head = {0};
        auto_buf struct buf entry = {0};
        struct audit_fact fact = {.kind = "x", .details = texts[i]};
        assert_int_equal(audit_append(&head, &fact, &entry, NULL), RONDO_ERR_INVALID);
        assert_int_equal(head.size, 0);
        assert_int_equal(entry.len, 0);
    }
}

static void assert_root(const char *const *entries, size_t count, const char *expected)
{
    struct merkle merkle = {0};
    unsigned char root[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    for (size_t i = 0; i < count; i++) {
        merkle_add(&merkle, entries[i], strlen(entries[i]));
    }
    merkle_root(&merkle, root);
    digest_hex(root, hex);
    assert_string_equal(hex, expected);
}

/** Computed by another implementation of RFC 6962. */
TEST(roots_are_those_of_rfc_6962)
{
    static const char *const entries[] = {"a", "b", "c", "d", "e", "f", "g"};
    static const char *const roots[] = {
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "022a6979e6dab7aa5ae4c3e5e45f7e977112a7e63593820dbec1ec738a24f93c",
        "b137985ff484fb600db93107c77b0365c80d78f5b429ded0fd97361d077999eb",
        "36642e73c2540ab121e3a6bf9545b0a24982cd830eb13d3cd19de3ce6c021ec1",
        "33376a3bd63e9993708a84ddfe6c28ae58b83505dd1fed711bd924ec5a6239f0",
        "fe14a5426fbd70c0fa73f52342afed0da0bd23c4838662ccf6b88a3070ead97b",
        "e069fc12e231ccfd4516bf1617945fb3ccd5cc8910d92d6265289f088f777fdd",
        "4ae191939f548d9934740b88dea2c5cb89bb8870fc4505cd79dec6bbfaaee9cb",
    };
    for (size_t i = 0; i < COUNT(roots); i++) {
        assert_root(entries, i, roots[i]);
    }
}
