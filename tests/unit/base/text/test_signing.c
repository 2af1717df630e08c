// SPDX-License-Identifier: Apache-2.0
/* Signatures of messages: the vector of the specification, both versions, several keys, staleness.
 */
#include "base/text/signing.h"

#include "base/ed25519.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define ID     "msg_p5jXN8AQM9LWM0D4loKWxJek"
#define NOW_S  INT64_C(1614265330)
#define BODY   "{\"test\": 2432232314}"
#define VALUE  "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

static struct signing_key key_of(const char *text)
{
    struct signing_key key;
    assert_int_equal(signing_key_read(text, &key, NULL), 0);
    return key;
}

static struct signed_message message_with(const char *signature)
{
    return (struct signed_message){.id = ID,
                                   .timestamp = "1614265330",
                                   .signature = signature,
                                   .body = BODY,
                                   .len = strlen(BODY)};
}

/** A pair of Ed25519. */
static void make_pair(struct signing_key *ret_secret, struct signing_key *ret_public)
{
    *ret_secret = (struct signing_key){.kind = SIGNING_SECRET, .len = ED25519_SECRET_SIZE};
    *ret_public = (struct signing_key){.kind = SIGNING_PUBLIC, .len = ED25519_PUBLIC_SIZE};
    memset(ret_secret->bytes, 7, ED25519_SECRET_SIZE);
    ed25519_public(ret_secret->bytes, ret_public->bytes);
}

TEST(the_vector_of_the_specification_is_signed_and_verified)
{
    struct signing_key key = key_of(SECRET);
    auto_buf struct buf list = {0};
    (void)state;
    signing_sign(&key, ID, NOW_S, BODY, strlen(BODY), &list);
    assert_string_equal(buf_string(&list), VALUE);
    struct signed_message message = message_with(VALUE);
    assert_int_equal(signing_verify(&key, 1, &message, NOW_S), SIGNING_GENUINE);
}

TEST(keys_are_read_and_written_and_others_refused)
{
    char text[SIGNING_TEXT_SIZE];
    struct signing_key secret, public_key, key = key_of(SECRET);
    struct rondo_error err = {0};
    static const char *const wrong[] = {"",
                                        "whsec_",
                                        "whsec_AAAA",
                                        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                        "whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw=",
                                        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa\nSw"};
    (void)state;
    signing_key_write(&key, text);
    assert_string_equal(text, SECRET);
    make_pair(&secret, &public_key);
    signing_key_write(&public_key, text);
    assert_memory_equal(text, "whpk_", 5);
    key = key_of(text);
    assert_memory_equal(key.bytes, public_key.bytes, ED25519_PUBLIC_SIZE);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(signing_key_read(wrong[i], &key, &err), RONDO_ERR_INVALID);
        assert_null(strstr(err.message, "MfKQ"));
    }
}

TEST(a_pair_signs_with_one_half_and_verifies_with_the_other)
{
    struct signing_key keys[2];
    auto_buf struct buf list = {0};
    (void)state;
    make_pair(&keys[0], &keys[1]);
    signing_sign(&keys[0], ID, NOW_S, BODY, strlen(BODY), &list);
    assert_memory_equal(buf_string(&list), "v1a,", 4);
    struct signed_message message = message_with(buf_string(&list));
    assert_int_equal(signing_verify(&keys[1], 1, &message, NOW_S), SIGNING_GENUINE);
    assert_int_equal(signing_verify(keys, 1, &message, NOW_S), SIGNING_FORGED);
    message.body = "{\"test\": 2432232315}";
    assert_int_equal(signing_verify(&keys[1], 1, &message, NOW_S), SIGNING_FORGED);
}

TEST(while_keys_are_replaced_both_sign_and_any_of_them_verifies)
{
    struct random random = random_seeded(1);
    struct signing_key keys[2] = {key_of(SECRET)};
    auto_buf struct buf list = {0};
    (void)state;
    signing_key_new(&random, &keys[1]);
    signing_sign(&keys[0], ID, NOW_S, BODY, strlen(BODY), &list);
    signing_sign(&keys[1], ID, NOW_S, BODY, strlen(BODY), &list);
    struct signed_message message = message_with(buf_string(&list));
    assert_int_equal(signing_verify(&keys[0], 1, &message, NOW_S), SIGNING_GENUINE);
    assert_int_equal(signing_verify(&keys[1], 1, &message, NOW_S), SIGNING_GENUINE);
    message.signature = VALUE;
    assert_int_equal(signing_verify(keys, 2, &message, NOW_S), SIGNING_GENUINE);
    assert_int_equal(signing_verify(&keys[1], 1, &message, NOW_S), SIGNING_FORGED);
    assert_int_equal(signing_verify(keys, 0, &message, NOW_S), SIGNING_FORGED);
}

TEST(what_is_stale_or_lacks_something_is_no_message)
{
    struct signing_key key = key_of(SECRET);
    struct signed_message message = message_with(VALUE);
    (void)state;
    assert_int_equal(signing_verify(&key, 1, &message, NOW_S + SIGNING_TOLERANCE_S),
                     SIGNING_GENUINE);
    assert_int_equal(signing_verify(&key, 1, &message, NOW_S + SIGNING_TOLERANCE_S + 1),
                     SIGNING_STALE);
    assert_int_equal(signing_verify(&key, 1, &message, NOW_S - SIGNING_TOLERANCE_S - 1),
                     SIGNING_STALE);
    message.id = "msg.1614265330";
    assert_int_equal(signing_verify(&key, 1, &message, NOW_S), SIGNING_MISSING);
    message = message_with(NULL);
    assert_int_equal(signing_verify(&key, 1, &message, NOW_S), SIGNING_MISSING);
    message = message_with(VALUE);
    message.timestamp = "soon";
    assert_int_equal(signing_verify(&key, 1, &message, NOW_S), SIGNING_MISSING);
    message.timestamp = "1614265331";
    assert_int_equal(signing_verify(&key, 1, &message, NOW_S), SIGNING_FORGED);
}
