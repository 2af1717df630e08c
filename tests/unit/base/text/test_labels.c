// SPDX-License-Identifier: Apache-2.0
#include "base/text/labels.h"
#include "rondo/error.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

TEST(a_label_has_63_characters_at_most)
{
    char text[LIMIT_LABEL_LEN + 2];
    memset(text, 'a', sizeof(text));

    assert_true(label_is_valid(text, LIMIT_LABEL_LEN));
    assert_false(label_is_valid(text, LIMIT_LABEL_LEN + 1));
    assert_false(label_is_valid(text, 0));
}

TEST(what_a_shell_or_sql_would_understand_is_no_label)
{
    static const char *const hostile[] = {
        "GPU", "a b", "a'", "a\"", "a;b", "a/b", "a_b", "a\n", "a%", "\xc3\xa4", "a,", ",a", "a,,b",
    };
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        assert_int_equal(labels_check(hostile[i], "pool", NULL), RONDO_ERR_INVALID);
    }
}

TEST(there_are_8_labels_at_most)
{
    char list[LABELS_SIZE + 8] = "a";
    for (int i = 1; i < LIMIT_LABELS; i++) {
        size_t len = strlen(list);
        snprintf(list + len, sizeof(list) - len, ",b%d", i);
    }
    assert_int_equal(labels_check(list, "pool", NULL), 0);
    size_t len = strlen(list);
    snprintf(list + len, sizeof(list) - len, ",c");
    assert_int_equal(labels_check(list, "pool", NULL), RONDO_ERR_LIMIT);
}

TEST(an_empty_list_is_right)
{
    assert_int_equal(labels_check(NULL, "pool", NULL), 0);
    assert_int_equal(labels_check("", "pool", NULL), 0);
    assert_int_equal(labels_check("gpu,linux-6.1", "pool", NULL), 0);
}

TEST(a_list_has_whole_labels_only)
{
    assert_true(labels_have_all("gpu,linux", "linux"));
    assert_true(labels_have_all("gpu,linux", "linux,gpu"));
    assert_true(labels_have_all("gpu", ""));
    assert_true(labels_have_all("", NULL));
    assert_false(labels_have_all("gpu,linux", "lin"));
    assert_false(labels_have_all("gpu", "gpu,linux"));
    assert_false(labels_have_all("", "gpu"));
}
