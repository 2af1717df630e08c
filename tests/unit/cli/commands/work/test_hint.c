// SPDX-License-Identifier: Apache-2.0
/* Webhooks of forges: which requests were made with the secret. */
#include "cli/commands/work/hint.h"

#include "base/hmac.h"
#include "source/source.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define BODY   "{\"action\": \"labeled\"}"
#define SECRET "s3cret of hooks"

/** A request with one header. */
struct sent_hint {
    struct source_delivery delivery;
    const char *name, *value;
    size_t looks; /* at headers */
};

static const char *read_header(const struct source_delivery *delivery, const char *name)
{
    struct sent_hint *request = delivery->context;
    request->looks++;
    return strcmp(request->name, name) == 0 ? request->value : NULL;
}

static void init(struct sent_hint *request, const char *name, const char *value)
{
    *request = (struct sent_hint){
        .delivery = {.method = "POST",
                     .header = read_header,
                     .body = BODY,
                     .body_len = sizeof(BODY) - 1,
                     .context = request},
        .name = name,
        .value = value,
    };
}

static bool is_genuine(const char *name, const char *value, const char *secret)
{
    struct sent_hint request;
    init(&request, name, value);
    struct work_hint hint = {.delivery = &request.delivery};
    return work_hint_is_genuine(&hint, secret);
}

/** "PREFIX" and the code of the body. Valid until the next call. */
static const char *signed_with(const char *prefix, const char *secret)
{
    static char text[100];
    unsigned char code[DIGEST_SIZE];
    char digits[DIGEST_HEX_SIZE];
    struct hmac hmac = hmac_begin(secret, strlen(secret));
    hmac_add(&hmac, BODY, sizeof(BODY) - 1);
    hmac_finish(&hmac, code);
    digest_hex(code, digits);
    snprintf(text, sizeof(text), "%s%s", prefix, digits);
    return text;
}

TEST(each_kind_of_forge_proves_that_it_has_the_secret)
{
    assert_true(is_genuine("x-hub-signature-256", signed_with("sha256=", SECRET), SECRET));
    assert_true(is_genuine("x-gitea-signature", signed_with("", SECRET), SECRET));
    assert_true(is_genuine("x-forgejo-signature", signed_with("", SECRET), SECRET));
    assert_true(is_genuine("x-gitlab-token", SECRET, SECRET));
}

TEST(what_was_not_made_with_the_secret_is_not_genuine)
{
    static const char *const wrong[] = {"", "sha256=", "s3cret of hook", "s3cret of hooks ", NULL};
    static const char *const names[] = {"x-hub-signature-256", "x-gitea-signature",
                                        "x-forgejo-signature", "x-gitlab-token"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        for (size_t k = 0; k < COUNT(names); k++) {
            assert_false(is_genuine(names[k], wrong[i], SECRET));
        }
    }
    assert_false(is_genuine("x-hub-signature-256", signed_with("", SECRET), SECRET));
    assert_false(is_genuine("x-hub-signature-256", signed_with("sha1=00", SECRET), SECRET));
    assert_false(is_genuine("x-gitea-signature", signed_with("sha256=", SECRET), SECRET));
    assert_false(is_genuine("x-hub-signature-256", signed_with("sha256=", "another"), SECRET));
    assert_false(is_genuine("x-hub-signature", signed_with("sha256=", SECRET), SECRET));
}

TEST(without_a_secret_nothing_is_genuine)
{
    assert_false(is_genuine("x-gitlab-token", "", ""));
    assert_false(is_genuine("x-gitlab-token", "", NULL));
    assert_false(is_genuine("x-gitea-signature", signed_with("", ""), ""));
}

TEST(a_request_is_checked_once_for_all_queues_with_the_same_secret)
{
    struct sent_hint request;
    static const char same[] = SECRET;
    init(&request, "x-hub-signature-256", signed_with("sha256=", SECRET));
    struct work_hint hint = {.delivery = &request.delivery};
    assert_true(work_hint_is_genuine(&hint, SECRET));
    size_t looks = request.looks;
    assert_true(work_hint_is_genuine(&hint, same));
    assert_int_equal(request.looks, looks);
    assert_false(work_hint_is_genuine(&hint, "another"));
    assert_true(request.looks > looks);
    assert_false(work_hint_is_genuine(&hint, NULL));
    assert_true(work_hint_is_genuine(&hint, SECRET));
}
