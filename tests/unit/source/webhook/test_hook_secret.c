// SPDX-License-Identifier: Apache-2.0
/* Secrets that roles leave out: made once, private, and of one webhook only. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "model/key/secret.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "source/webhook/hook_secret.h"
#include "support/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct kept_secret {
    char *secret;
    char *path;
};

static void made_fini(struct kept_secret *made)
{
    secret_free_string(made->secret);
    free(made->path);
}

static struct kept_secret make(struct hook_owner owner)
{
    struct kept_secret made = {0};
    struct rondo_error err = {0};
    if (hook_secret_keep(&owner, random_system(), &made.secret, &made.path, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return made;
}

#define DEPLOYS                                                \
    {                                                          \
        .folder = "/srv/a", .role = "fixer", .name = "deploys" \
    }

static int home_up(void **state)
{
    char *home = memory_dup_string("/tmp/rondo-hooks-XXXXXX");
    assert_non_null(mkdtemp(home));
    setenv("XDG_STATE_HOME", home, 1);
    *state = home;
    return 0;
}

static int home_down(void **state)
{
    file_remove_tree(*state, NULL);
    free(*state);
    return 0;
}

#define HOME_TEST(name) TEST_WITH(name, home_up, home_down)

HOME_TEST(a_secret_is_made_once)
{
    struct kept_secret first = make((struct hook_owner)DEPLOYS);
    struct kept_secret second = make((struct hook_owner)DEPLOYS);
    (void)state;
    assert_int_equal(strlen(first.secret), 64);
    assert_int_equal(strspn(first.secret, "0123456789abcdef"), 64);
    assert_string_equal(first.secret, second.secret);
    assert_string_equal(first.path, second.path);
    made_fini(&first);
    made_fini(&second);
}

HOME_TEST(only_its_owner_can_read_it)
{
    struct kept_secret made = make((struct hook_owner)DEPLOYS);
    struct stat status;
    (void)state;
    assert_int_equal(stat(made.path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    made_fini(&made);
}

HOME_TEST(another_folder_agent_name_or_signature_has_another_secret)
{
    static const struct hook_owner others[] = {
        {.folder = "/srv/b", .role = "fixer", .name = "deploys"},
        {.folder = "/srv/a", .role = "tester", .name = "deploys"},
        {.folder = "/srv/a", .role = "fixer", .name = "builds"},
        {.folder = "/srv/a", .role = "fixer", .name = "deploys", .is_standard = true},
        {.folder = "/srv/af", .role = "ixer", .name = "deploys"},
        {.folder = NULL, .role = "fixer", .name = "deploys"},
    };
    struct kept_secret one = make((struct hook_owner)DEPLOYS);
    (void)state;
    for (size_t i = 0; i < COUNT(others); i++) {
        struct kept_secret other = make(others[i]);
        assert_string_not_equal(other.secret, one.secret);
        assert_string_not_equal(other.path, one.path);
        made_fini(&other);
    }
    made_fini(&one);
}

HOME_TEST(of_standard_webhooks_it_has_their_form)
{
    struct kept_secret made = make((struct hook_owner){
        .folder = "/srv/a", .role = "fixer", .name = "deploys", .is_standard = true});
    (void)state;
    assert_memory_equal(made.secret, "whsec_", 6);
    assert_int_equal(strlen(made.secret), 6 + 44);
    made_fini(&made);
}

static void expect_refused(enum rondo_code code)
{
    struct kept_secret made = {0};
    struct rondo_error err = {0};
    const struct hook_owner owner = DEPLOYS;
    assert_int_equal(hook_secret_keep(&owner, random_system(), &made.secret, &made.path, &err),
                     code);
    assert_null(made.secret);
}

HOME_TEST(a_file_that_is_no_secret_is_refused)
{
    struct kept_secret made = make((struct hook_owner)DEPLOYS);
    static const char *const wrong[] = {"", "\n", "abc", "abc\ndef\n"};
    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(file_replace_durably(made.path, wrong[i], strlen(wrong[i]), NULL), 0);
        expect_refused(RONDO_ERR_CORRUPT);
    }
    char text[LIMIT_HOOK_SECRET_BYTES + 2];
    memset(text, 'a', sizeof(text));
    text[LIMIT_HOOK_SECRET_BYTES] = '\n';
    assert_int_equal(file_replace_durably(made.path, text, LIMIT_HOOK_SECRET_BYTES + 1, NULL), 0);
    expect_refused(RONDO_ERR_LIMIT);
    made_fini(&made);
}

HOME_TEST(a_folder_that_others_can_write_is_not_used)
{
    char path[128];
    struct kept_secret made = make((struct hook_owner)DEPLOYS);
    snprintf(path, sizeof(path), "%s/rondo/hooks", (const char *)*state);
    assert_int_equal(chmod(path, 0777), 0);
    expect_refused(RONDO_ERR_DENIED);
    made_fini(&made);
}

#define MAKERS 8

static void *make_in_thread(void *context)
{
    *(struct kept_secret *)context = make((struct hook_owner)DEPLOYS);
    return NULL;
}

HOME_TEST(all_that_make_it_at_once_get_the_same)
{
    pthread_t threads[MAKERS];
    struct kept_secret made[MAKERS] = {0};
    (void)state;
    for (int i = 0; i < MAKERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, make_in_thread, &made[i]), 0);
    }
    for (int i = 0; i < MAKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < MAKERS; i++) {
        assert_string_equal(made[i].secret, made[0].secret);
    }
    for (int i = 0; i < MAKERS; i++) {
        made_fini(&made[i]);
    }
}
