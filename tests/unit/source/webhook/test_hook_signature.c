// SPDX-License-Identifier: Apache-2.0
/* Signatures of webhooks: three schemes, what each refuses, and where secrets come from. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/signing.h"
#include "model/key/environment.h"
#include "source/webhook/hook_signature.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define NOW_S INT64_C(1614265330)

static int open_key(const char *trigger, struct hook_key *key, struct rondo_error *err)
{
    struct json_object *parsed = NULL;
    assert_int_equal(json_parse(trigger, strlen(trigger), &parsed, NULL), 0);
    struct dotenv *dotenv = NULL;
    assert_int_equal(dotenv_read(NULL, &dotenv, NULL), 0);
    int r = hook_key_open(parsed, dotenv, key, err);
    dotenv_free(dotenv);
    json_auto_put(&parsed);
    return r;
}

static struct hook_key key_of(const char *trigger)
{
    struct hook_key key = {0};
    assert_int_equal(open_key(trigger, &key, NULL), 0);
    return key;
}

static enum hook_verdict verify(const char *trigger, struct hook_message message)
{
    struct hook_key key = key_of(trigger);
    message.now_s = message.now_s == 0 ? NOW_S : message.now_s;
    message.len = message.len == 0 ? strlen(message.body) : message.len;
    enum hook_verdict verdict = hook_verify(&key, &message);
    hook_key_fini(&key);
    return verdict;
}

static void expect_refused(const char *trigger, const char *reason)
{
    struct hook_key key = {0};
    struct rondo_error err = {0};
    assert_int_equal(open_key(trigger, &key, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, reason));
}

/* ---- Keys ---- */

TEST(a_webhook_without_a_secret_is_refused)
{
    expect_refused("{}", "`unsigned: true`");
    expect_refused("{\"secret\":\"<generated>\"}", "has no secret");
    expect_refused("{\"secret\":\"\"}", "is empty");
}

TEST(a_secret_is_left_out_only_without_one_and_without_unsigned)
{
    static const struct {
        const char *trigger;
        bool is_left_out;
    } rows[] = {
        {"{}", true},
        {"{\"secret\":\"<generated>\"}", true},
        {"{\"secret\":\"\"}", false},
        {"{\"secret\":\"${NOT_SET}\"}", false},
        {"{\"unsigned\":true}", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct json_object *trigger = NULL;
        assert_int_equal(json_parse(rows[i].trigger, strlen(rows[i].trigger), &trigger, NULL), 0);
        assert_int_equal(hook_key_is_left_out(trigger), rows[i].is_left_out);
        json_auto_put(&trigger);
    }
}

TEST(a_webhook_may_be_unsigned_if_it_says_so)
{
    assert_int_equal(verify("{\"unsigned\":true}", (struct hook_message){.body = "{}"}),
                     HOOK_GENUINE);
    expect_refused("{\"unsigned\":true,\"secret\":\"abc\"}", "remove one");
}

TEST(a_variable_in_the_secret_is_expanded)
{
    setenv("HOOK_TEST_SECRET", "s3cret", 1);
    struct hook_key key = {0};
    struct rondo_error err = {0};
    assert_int_equal(open_key("{\"secret\":\"${HOOK_TEST_NOT_SET}\"}", &key, &err),
                     RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "HOOK_TEST_NOT_SET"));
    key = key_of("{\"secret\":\"a${HOOK_TEST_SECRET}\"}");
    assert_string_equal(key.secret.bytes, "as3cret");
    hook_key_fini(&key);
}

TEST(the_form_of_the_secret_chooses_the_scheme)
{
    static const struct {
        const char *trigger;
        enum hook_scheme scheme;
    } rows[] = {
        {"{\"secret\":\"abc\"}", HOOK_GITHUB},
        {"{\"secret\":\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"}", HOOK_STANDARD},
        {"{\"secret\":\"whsec_MfKQ\",\"signature\":\"github\"}", HOOK_GITHUB},
        {"{\"secret\":\"abc\",\"signature\":\"bearer\"}", HOOK_BEARER},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hook_key key = key_of(rows[i].trigger);
        assert_int_equal(key.scheme, rows[i].scheme);
        hook_key_fini(&key);
    }
    expect_refused("{\"secret\":\"abc\",\"signature\":\"standard\"}", "whsec_");
    expect_refused("{\"secret\":\"whsec_%%%\"}", "base64");
    expect_refused("{\"secret\":\"whsec_\"}", "base64");
}

static char *trigger_with_secret_of(size_t len)
{
    auto_free char *secret = memory_new_zero(1, len + 1);
    struct buf text = {0};
    memset(secret, 'k', len);
    buf_printf(&text, "{\"secret\":\"%s\"}", secret);
    return buf_steal(&text);
}

TEST(a_secret_has_a_largest_size)
{
    auto_free char *fits = trigger_with_secret_of((size_t)LIMIT_HOOK_SECRET_BYTES);
    auto_free char *too_long = trigger_with_secret_of((size_t)LIMIT_HOOK_SECRET_BYTES + 1);
    struct hook_key key = key_of(fits);
    hook_key_fini(&key);
    expect_refused(too_long, "longer than 1024 bytes");
}

TEST(errors_do_not_show_the_secret)
{
    struct hook_key key = {0};
    struct rondo_error err = {0};
    assert_true(open_key("{\"secret\":\"whsec_hidden!\"}", &key, &err) < 0);
    assert_null(strstr(err.message, "hidden"));
}

/* ---- GitHub: the example of its documentation ---- */

#define GITHUB_TRIGGER   "{\"secret\":\"It's a Secret to Everybody\"}"
#define GITHUB_SIGNATURE "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"

TEST(a_signature_of_github_is_genuine)
{
    struct hook_message message = {.body = "Hello, World!", .hub_signature = GITHUB_SIGNATURE};
    assert_int_equal(verify(GITHUB_TRIGGER, message), HOOK_GENUINE);
}

TEST(a_changed_body_is_forged)
{
    struct hook_message message = {.body = "Hello, World?", .hub_signature = GITHUB_SIGNATURE};
    assert_int_equal(verify(GITHUB_TRIGGER, message), HOOK_FORGED);
    message = (struct hook_message){.body = "Hello, World!x", .hub_signature = GITHUB_SIGNATURE};
    assert_int_equal(verify(GITHUB_TRIGGER, message), HOOK_FORGED);
}

TEST(a_signature_that_is_none_is_missing)
{
    static const char *const texts[] = {
        NULL,
        "",
        "sha256=",
        "sha256=75",
        "sha1=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
        GITHUB_SIGNATURE "0",
        "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct hook_message message = {.body = "Hello, World!", .hub_signature = texts[i]};
        assert_int_equal(verify(GITHUB_TRIGGER, message), HOOK_MISSING);
    }
}

TEST(a_request_cannot_choose_another_scheme)
{
    struct hook_message message = {
        .body = "Hello, World!",
        .authorization = "Bearer It's a Secret to Everybody",
    };
    assert_int_equal(verify(GITHUB_TRIGGER, message), HOOK_MISSING);
    message.hub_signature = GITHUB_SIGNATURE;
    assert_int_equal(
        verify("{\"secret\":\"It's a Secret to Everybody\",\"signature\":\"bearer\"}",
               (struct hook_message){.body = "Hello, World!", .hub_signature = GITHUB_SIGNATURE}),
        HOOK_MISSING);
}

/* ---- Standard Webhooks: the example of its libraries ---- */

#define STANDARD_TRIGGER   "{\"secret\":\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"}"
#define STANDARD_SIGNATURE "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

static const struct hook_message standard = {
    .webhook_id = "msg_p5jXN8AQM9LWM0D4loKWxJek",
    .webhook_timestamp = "1614265330",
    .webhook_signature = STANDARD_SIGNATURE,
    .body = "{\"test\": 2432232314}",
};

TEST(a_signature_of_standard_webhooks_is_genuine)
{
    assert_int_equal(verify(STANDARD_TRIGGER, standard), HOOK_GENUINE);
}

TEST(one_of_several_signatures_suffices)
{
    struct hook_message message = standard;
    message.webhook_signature = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= v1a,x v2,y "
                                " v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    assert_int_equal(verify(STANDARD_TRIGGER, message), HOOK_GENUINE);
}

TEST(signatures_past_the_limit_are_ignored)
{
    auto_buf struct buf list = {0};
    for (unsigned i = 1; i < LIMIT_HOOK_SIGNATURES; i++) {
        buf_append_string(&list, "v1,x ");
    }
    auto_buf struct buf longer = {0};
    buf_printf(&longer, "v1,x %s" STANDARD_SIGNATURE, buf_string(&list));
    buf_append_string(&list, STANDARD_SIGNATURE);
    struct hook_message message = standard;
    message.webhook_signature = buf_string(&list);
    assert_int_equal(verify(STANDARD_TRIGGER, message), HOOK_GENUINE);
    message.webhook_signature = buf_string(&longer);
    assert_int_equal(verify(STANDARD_TRIGGER, message), HOOK_FORGED);
}

TEST(an_old_or_future_timestamp_is_stale)
{
    static const struct {
        int64_t now_s;
        enum hook_verdict verdict;
    } rows[] = {
        {NOW_S + SIGNING_TOLERANCE_S, HOOK_GENUINE},
        {NOW_S + SIGNING_TOLERANCE_S + 1, HOOK_STALE},
        {NOW_S - SIGNING_TOLERANCE_S, HOOK_GENUINE},
        {NOW_S - SIGNING_TOLERANCE_S - 1, HOOK_STALE},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hook_message message = standard;
        message.now_s = rows[i].now_s;
        assert_int_equal(verify(STANDARD_TRIGGER, message), rows[i].verdict);
    }
}

TEST(id_timestamp_and_body_are_signed)
{
    struct hook_message message = standard;
    message.webhook_id = "msg_other";
    assert_int_equal(verify(STANDARD_TRIGGER, message), HOOK_FORGED);
    message = standard;
    message.webhook_timestamp = "1614265331";
    assert_int_equal(verify(STANDARD_TRIGGER, message), HOOK_FORGED);
    message = standard;
    message.body = "{}";
    assert_int_equal(verify(STANDARD_TRIGGER, message), HOOK_FORGED);
}

TEST(a_standard_request_needs_all_its_headers)
{
    struct hook_message message = standard;
    message.webhook_id = NULL;
    assert_int_equal(verify(STANDARD_TRIGGER, message), HOOK_MISSING);
    message = standard;
    message.webhook_timestamp = "1614265330.5";
    assert_int_equal(verify(STANDARD_TRIGGER, message), HOOK_MISSING);
    message = standard;
    message.webhook_signature = NULL;
    assert_int_equal(verify(STANDARD_TRIGGER, message), HOOK_MISSING);
    message = standard;
    message.webhook_id = "msg.1614265330";
    assert_int_equal(verify(STANDARD_TRIGGER, message), HOOK_MISSING);
}

/* ---- Bearer ---- */

TEST(a_bearer_secret_is_compared_as_a_whole)
{
    static const struct {
        const char *authorization;
        enum hook_verdict verdict;
    } rows[] = {
        {"Bearer hush", HOOK_GENUINE}, {"bearer hush", HOOK_GENUINE}, {"Bearer hus", HOOK_FORGED},
        {"Bearer hush2", HOOK_FORGED}, {"Bearer ", HOOK_FORGED},      {"Basic hush", HOOK_MISSING},
        {"hush", HOOK_MISSING},        {NULL, HOOK_MISSING},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hook_message message = {.body = "{}", .authorization = rows[i].authorization};
        assert_int_equal(verify("{\"secret\":\"hush\",\"signature\":\"bearer\"}", message),
                         rows[i].verdict);
    }
}
