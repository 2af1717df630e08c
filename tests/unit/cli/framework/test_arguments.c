// SPDX-License-Identifier: Apache-2.0
/* What ps shows of a command line with the address of a database. */
#include "cli/framework/arguments.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

TEST(a_password_is_read_and_not_shown)
{
    char name[] = "rondo";
    char option[] = "--store";
    char word[] = "postgresql://me:sesame@db.example/rondo?sslmode=require";
    char joined[] = "--store=postgres://me:sesame@db.example/rondo?password=sesame";
    char plain[] = "postgresql://me@db.example/rondo";
    char file[] = "me:sesame@db.example";
    char *argv[] = {name, option, word, joined, plain, file, NULL};
    size_t len = sizeof(word) - 1;
    assert_true(arguments_hide_passwords(6, argv));
    assert_string_equal(argv[2], "postgresql://me:sesame@db.example/rondo?sslmode=require");
    assert_string_equal(argv[3], "--store=postgres://me:sesame@db.example/rondo?password=sesame");
    assert_string_equal(word, "postgresql://me@db.example/rondo?sslmode=require");
    assert_string_equal(joined, "--store=postgres://me@db.example/rondo");
    for (size_t i = strlen(word); i < len; i++) {
        assert_int_equal(word[i], '\0');
    }
    assert_ptr_equal(argv[4], plain);
    assert_ptr_equal(argv[5], file);
    assert_string_equal(file, "me:sesame@db.example");
    char *others[] = {name, plain, file, NULL};
    assert_false(arguments_hide_passwords(3, others));
    free(argv[2]);
    free(argv[3]);
}

TEST(an_address_after_the_name_of_its_store_is_overwritten_too)
{
    (void)state;
    char name[] = "rondo";
    char word[] = "acme=postgresql://me:sesame@db/a";
    char joined[] = "--store=acme=postgresql://me:sesame@db/a";
    char *argv[] = {name, word, joined, NULL};
    assert_true(arguments_hide_passwords(3, argv));
    assert_string_equal(word, "acme=postgresql://me@db/a");
    assert_string_equal(joined, "--store=acme=postgresql://me@db/a");
    free(argv[1]);
    free(argv[2]);
}
