// SPDX-License-Identifier: Apache-2.0
#include "handoff/audit/keys.h"

#include "base/memory.h"
#include "os/file_folder.h"
#include "support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *file_path;

static int home_up(void **state)
{
    char *home = memory_dup_string("/tmp/rondo-audit-XXXXXX");
    assert_non_null(mkdtemp(home));
    setenv("XDG_STATE_HOME", home, 1);
    assert_true(asprintf(&file_path, "%s/rondo/audit/keys.json", home) > 0);
    *state = home;
    return 0;
}

static int home_down(void **state)
{
    assert_int_equal(file_remove_tree(*state, NULL), 0);
    free(*state);
    free(file_path);
    return 0;
}

#define TEST_AT_HOME(name) TEST_WITH(name, home_up, home_down)

TEST_AT_HOME(a_key_is_made_once_and_only_its_owner_can_read_it)
{
    unsigned char first[ED25519_SECRET_SIZE];
    unsigned char again[ED25519_SECRET_SIZE];
    struct audit_keys keys = {0};
    struct stat status;
    (void)state;
    assert_int_equal(audit_keys_load(&keys, NULL), 0);
    assert_int_equal(keys.count, 0);
    assert_int_equal(audit_keys_secret(first, NULL), 0);
    assert_int_equal(audit_keys_secret(again, NULL), 0);
    assert_memory_equal(first, again, sizeof(first));
    assert_int_equal(stat(file_path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

TEST_AT_HOME(former_keys_are_trusted_after_a_rotation_up_to_the_limit)
{
    unsigned char first[ED25519_SECRET_SIZE];
    unsigned char public_key[ED25519_PUBLIC_SIZE];
    unsigned char now[ED25519_SECRET_SIZE];
    struct audit_keys keys = {0};
    struct rondo_error err = {0};
    (void)state;
    assert_int_equal(audit_keys_secret(first, NULL), 0);
    ed25519_public(first, public_key);
    for (int i = 1; i < LIMIT_AUDIT_KEYS; i++) {
        assert_int_equal(audit_keys_rotate(NULL), 0);
    }
    assert_int_equal(audit_keys_secret(now, NULL), 0);
    assert_memory_not_equal(first, now, sizeof(first));
    assert_int_equal(audit_keys_load(&keys, NULL), 0);
    assert_int_equal(keys.count, LIMIT_AUDIT_KEYS);
    assert_true(audit_keys_have(&keys, public_key));
    assert_int_equal(audit_keys_rotate(&err), RONDO_ERR_LIMIT);
}

TEST_AT_HOME(a_damaged_file_is_never_replaced_by_a_new_key)
{
    unsigned char secret[ED25519_SECRET_SIZE];
    struct audit_keys keys = {0};
    struct rondo_error err = {0};
    (void)state;
    assert_int_equal(audit_keys_secret(secret, NULL), 0);
    FILE *file = fopen(file_path, "w");
    assert_true(fputs("{\"format\":1,\"secret\":\"AAAA\",\"public\":[]}", file) > 0);
    fclose(file);
    assert_int_equal(audit_keys_secret(secret, &err), RONDO_ERR_CORRUPT);
    assert_int_equal(audit_keys_rotate(&err), RONDO_ERR_CORRUPT);
    assert_int_equal(audit_keys_load(&keys, &err), RONDO_ERR_CORRUPT);
}

static void *make_key(void *ret_secret)
{
    assert_int_equal(audit_keys_secret(ret_secret, NULL), 0);
    return NULL;
}

TEST_AT_HOME(those_that_make_a_key_at_once_get_the_same_one)
{
    unsigned char secrets[8][ED25519_SECRET_SIZE];
    pthread_t threads[8];
    (void)state;
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, make_key, secrets[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_memory_equal(secrets[i], secrets[0], sizeof(secrets[0]));
    }
}

TEST(a_public_key_is_32_bytes)
{
    struct audit_keys keys = {0};
    struct rondo_error err = {0};
    assert_int_equal(audit_keys_add(&keys, "AAAA", &err), RONDO_ERR_INVALID);
    assert_int_equal(audit_keys_add(&keys, "", &err), RONDO_ERR_INVALID);
    assert_int_equal(
        audit_keys_add(&keys, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==", &err),
        RONDO_ERR_INVALID);
    assert_int_equal(audit_keys_add(&keys, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", &err),
                     0);
    assert_int_equal(keys.count, 1);
}
