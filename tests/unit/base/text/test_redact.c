// SPDX-License-Identifier: Apache-2.0
/* What is taken out of texts, and what is left in them. */
#include "support/test.h"

#include "base/text/redact.h"

#include <stdio.h>
#include <string.h>

static void expect(const struct redact *redact, const char *text, const char *expected)
{
    auto_buf struct buf out = {0};
    redact_text(redact, text, strlen(text), &out);
    assert_string_equal(buf_string(&out), expected);
}

TEST(values_of_secret_variables_go_wherever_they_stand)
{
    const char *envp[] = {"MY_API_KEY=abcdefgh", "HOME=/home/bob/x", "my_password=abcdefghij",
                          "SHORT_TOKEN=abc",     "BROKEN",           NULL};
    struct redact *redact = redact_new(envp);
    expect(redact, "xabcdefghx", "x[redacted]x");
    expect(redact, "abcdefghij", "[redacted]");
    expect(redact, "/home/bob/x abc", "/home/bob/x abc");
    expect(redact, "abcdefg", "abcdefg");
    redact_free(redact);
}

TEST(well_known_tokens_go_by_their_shape)
{
    expect(NULL, "key sk-abcdefghijklmnop1234.", "key [redacted]");
    expect(NULL, "(ghp_0123456789abcdefghij0123)", "([redacted])");
    expect(NULL, "AKIAIOSFODNN7EXAMPLE", "[redacted]");
    expect(NULL, "Authorization: Bearer abc.def-123456", "Authorization: Bearer [redacted]");
    expect(NULL, "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest",
           "[redacted]\nrest");
}

TEST(ordinary_words_stay)
{
    expect(NULL, "", "");
    expect(NULL, "a task-list and sk-1, basic words", "a task-list and sk-1, basic words");
    expect(NULL, "-----BEGIN CERTIFICATE-----\nabc", "-----BEGIN CERTIFICATE-----\nabc");
}

TEST(known_values_are_bounded)
{
    static char variables[REDACT_MAX_VALUES + 1][32];
    const char *envp[REDACT_MAX_VALUES + 2];
    for (int i = 0; i <= REDACT_MAX_VALUES; i++) {
        snprintf(variables[i], sizeof(variables[i]), "KEY%d=value-%05d", i, i);
        envp[i] = variables[i];
    }
    envp[REDACT_MAX_VALUES + 1] = NULL;
    struct redact *redact = redact_new(envp);
    expect(redact, "value-00255", "[redacted]");
    expect(redact, "value-00256", "value-00256");
    redact_free(redact);
}
