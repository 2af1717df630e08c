// SPDX-License-Identifier: Apache-2.0
/* What a remote, to which many may push, says of its claims. */
#include "git/claims/claim_list.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/limits.h"
#include "support/test.h"

#include <stdlib.h>

#define ID     "0123456789abcdef0123456789abcdef01234567"
#define ID_LEN 40

/** The claims in lines have these names, each after a space. */
static void expect_names(const char *lines, const char *only, const char *expected)
{
    auto_buf struct buf names = {0};
    struct git_claims claims = {0};
    git_claim_list_parse(lines, ID_LEN, only, &claims);
    for (size_t i = 0; i < claims.count; i++) {
        buf_printf(&names, " %s", claims.items[i].name);
    }
    git_claims_fini(&claims);
    assert_string_equal(buf_string(&names), expected);
}

TEST(claims_with_usable_names_are_listed_once_each)
{
    static const char lines[] =
        ID "\tnot-for-merge\t'refs/rondo/claims/12' of http://x/y\n" ID
           "\t\t'refs/rondo/claims/7' of http://x/y\n" ID
           "\t\t'refs/rondo/claims/7' of http://x/y\n" ID
           "\t\t'refs/rondo/claims/a..b' of http://x/y\n" ID
           "\t\t'refs/rondo/claims/-x' of http://x/y\n" ID
           "\t\t'refs/rondo/claims/' of http://x/y\n" ID "\t\t'refs/heads/8' of http://x/y\n"
           "0123\t\t'refs/rondo/claims/9' of http://x/y\n" ID
           "\t\t'refs/rondo/claims/10' of http://x/y";
    expect_names(lines, NULL, " 12 7");
    expect_names(lines, "7", " 7");
    expect_names(lines, "8", "");
}

TEST(a_commit_up_to_the_limit_may_be_a_claim)
{
    static const struct {
        const char *type;
        size_t size;
        bool is_one;
    } cases[] = {
        {"commit", GIT_CLAIM_OBJECT_BYTES, true},
        {"commit", GIT_CLAIM_OBJECT_BYTES + 1, false},
        {"commit", SIZE_MAX, false},
        {"tree", 10, false},
        {"tag", 10, false},
        {"blob", 10, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf lines = {0};
        size_t size = 0;
        buf_printf(&lines, ID " %s %zu\nnext", cases[i].type, cases[i].size);
        const char *line = buf_string(&lines);
        assert_int_equal(git_claim_check_parse(&line, ID, &size), cases[i].is_one);
        assert_string_equal(line, "next");
        assert_true(!cases[i].is_one || size == cases[i].size);
    }
}

/** The text of a commit object, or NULL. Valid until the next call. */
static const char *text_of(const char *object, size_t len)
{
    static char *text;
    free(text);
    text = git_claim_text_parse(object, len);
    return text;
}

TEST(a_claim_has_no_parents_and_a_text_without_nul)
{
#define TEXT_OF(object) text_of(object, sizeof(object) - 1)
    assert_string_equal(TEXT_OF("tree " ID "\nauthor A\n\nclaim\n"), "claim");
    assert_null(TEXT_OF("tree " ID "\nparent " ID "\nauthor A\n\nclaim\n"));
    assert_null(TEXT_OF("tree " ID "\n\ncl\0aim\n"));
    assert_null(TEXT_OF("tree " ID "\n\n\n"));
    assert_null(TEXT_OF("tree " ID));
    assert_null(TEXT_OF(""));
}

TEST(a_text_is_read_up_to_its_limit)
{
    for (size_t more = 0; more < 2; more++) {
        auto_buf struct buf object = {0};
        buf_append_string(&object, "tree " ID "\n\n");
        for (size_t i = 0; i < LIMIT_GIT_CLAIM_BYTES + more; i++) {
            buf_append_string(&object, "x");
        }
        assert_int_equal(text_of(object.data, object.len) == NULL, more);
    }
    text_of("", 0);
}
