// SPDX-License-Identifier: Apache-2.0
/* Mails that are sent: bounds, and what never becomes a header. The rest is in tests/mail. */
#include "base/auto.h"
#include "base/limits.h"
#include "base/memory.h"
#include "support/test.h"
#include "tool/mail/compose.h"

#include <stdlib.h>
#include <string.h>

static struct compose_mail letter(void)
{
    return (struct compose_mail){.from = "ann@example.com",
                                 .to = "bob@example.org",
                                 .cc = "",
                                 .subject = "Hello",
                                 .body = "Hi.",
                                 .reply_to = "",
                                 .key = "run-1-0",
                                 .now_ns = INT64_C(1772445600000000000)};
}

static int make(const struct compose_mail *mail, struct composed_mail *ret_mail)
{
    struct rondo_error err = {0};
    int r = compose(mail, ret_mail, &err);
    assert_true(r == 0 || err.message[0] != '\0');
    return r;
}

static void expect_refused(const struct compose_mail *mail)
{
    struct composed_mail made;
    assert_int_equal(make(mail, &made), RONDO_ERR_INVALID);
    composed_mail_fini(&made);
}

TEST(a_mail_is_these_lines)
{
    struct compose_mail mail = letter();
    struct composed_mail made;
    assert_int_equal(make(&mail, &made), 0);
    assert_string_equal(buf_string(&made.text),
                        "Date: Mon, 02 Mar 2026 10:00:00 +0000\r\nFrom: ann@example.com\r\n"
                        "To: bob@example.org\r\nSubject: Hello\r\n"
                        "Message-ID: <39530f81c42fbaa274191230cca0dbbe@example.com>\r\n"
                        "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
                        "Content-Transfer-Encoding: base64\r\n\r\nSGku\r\n");
    composed_mail_fini(&made);
}

TEST(the_same_call_makes_the_same_message_id)
{
    struct compose_mail mail = letter();
    struct composed_mail first;
    struct composed_mail second;
    struct composed_mail other;
    make(&mail, &first);
    mail.now_ns += 1;
    make(&mail, &second);
    mail.key = "run-2-0";
    make(&mail, &other);
    assert_string_equal(strstr(buf_string(&first.text), "Message-ID"),
                        strstr(buf_string(&second.text), "Message-ID"));
    assert_string_not_equal(strstr(buf_string(&first.text), "Message-ID"),
                            strstr(buf_string(&other.text), "Message-ID"));
    composed_mail_fini(&first);
    composed_mail_fini(&second);
    composed_mail_fini(&other);
}

TEST(recipients_are_bounded)
{
    auto_buf struct buf list = {0};
    struct compose_mail mail = letter();
    struct composed_mail made;
    for (int i = 0; i < LIMIT_MAIL_RECIPIENTS; i++) {
        buf_printf(&list, "%sa%d@example.org", i > 0 ? ", " : "", i);
    }
    mail.to = buf_string(&list);
    assert_int_equal(make(&mail, &made), 0);
    assert_int_equal(made.count, LIMIT_MAIL_RECIPIENTS);
    composed_mail_fini(&made);
    mail.cc = "one@example.org";
    expect_refused(&mail);
}

TEST(a_body_is_bounded)
{
    size_t len = (size_t)LIMIT_MAIL_TEXT_BYTES;
    auto_free char *body = memory_new(len + 2);
    struct compose_mail mail = letter();
    struct composed_mail made;
    memset(body, 'x', len + 1);
    body[len + 1] = '\0';
    mail.body = body;
    expect_refused(&mail);
    body[len] = '\0';
    assert_int_equal(make(&mail, &made), 0);
    composed_mail_fini(&made);
}

TEST(no_control_becomes_a_line)
{
    for (int c = 1; c < 0x80; c++) {
        char text[] = {'a', (char)c, '@', 'b', '\0'};
        char subject[] = {'a', (char)c, 'b', '\0'};
        struct compose_mail mail = letter();
        struct composed_mail made;
        mail.to = text;
        mail.subject = subject;
        if (make(&mail, &made) == 0) {
            assert_true(c >= ' ' && c != 0x7F);
            size_t lines = 0;
            for (size_t i = 0; i < made.text.len; i++) {
                lines += made.text.data[i] == '\n';
            }
            assert_int_equal(lines, 10);
        } else {
            assert_true(c <= ' ' || c == 0x7F || strchr("<>(),;:\\\"[]@", c) != NULL);
        }
        composed_mail_fini(&made);
    }
}

TEST(addresses_are_those_that_can_be_written_to)
{
    static const char *const good[] = {"a@b", "a.b+c@example.org", "a=b@example.org"};
    static const char *const bad[] = {"",      "@",     "a@",    "@b",        "a",
                                      "a@b@c", "a b@c", "a@b\n", "\xC3\xA4@b"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(compose_is_address(good[i]));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(compose_is_address(bad[i]));
    }
}
