// SPDX-License-Identifier: Apache-2.0
/* Addresses of PostgreSQL stores: what libpq gets, what people see, what is ours. */
#include "base/auto.h"
#include "store/postgres/address.h"
#include "store/postgres/postgres.h"
#include "support/test.h"

#include <string.h>

TEST(an_address_is_known_by_its_beginning)
{
    assert_true(store_postgres_is_address("postgresql://"));
    assert_true(store_postgres_is_address("postgres://host/db"));
    assert_false(store_postgres_is_address("postgresql:/host"));
    assert_false(store_postgres_is_address("/srv/postgresql://host"));
    assert_false(store_postgres_is_address(""));
    assert_false(store_postgres_is_address(NULL));
}

static void expect_shown(const char *address, const char *expected)
{
    auto_free char *shown = store_postgres_show(address);
    assert_string_equal(shown, expected);
}

TEST(no_password_is_shown)
{
    expect_shown("postgresql://host/db", "postgresql://host/db");
    expect_shown("postgresql://u:secret@host:5433/db?sslmode=require",
                 "postgresql://u@host:5433/db?sslmode=require");
    expect_shown("postgresql://u@h1:1,h2:2/db", "postgresql://u@h1:1,h2:2/db");
    expect_shown("postgresql://u:a?b@host/db?x=1", "postgresql://u@host/db?x=1");
    expect_shown("postgresql://u:a/b@host/db", "postgresql://u@host/db");
    expect_shown("postgresql://u:a/b@c@host/db", "postgresql://u@host/db");
    expect_shown("postgresql://u:a@b@host/db", "postgresql://u@host/db");
    expect_shown("postgresql://u:a@b?c@host/db", "postgresql://u@host/db");
    expect_shown("postgresql://u:a?b/c@host/db", "postgresql://u");
    expect_shown("postgresql://[::1]:5,h:6,[::2]/db", "postgresql://[::1]:5,h:6,[::2]/db");
    expect_shown("postgresql:///db?password=x&user=a", "postgresql:///db?user=a");
    expect_shown("postgresql:///db?user=a&pass%77ord=x&sslpassword=y&passfile=/p",
                 "postgresql:///db?user=a&passfile=/p");
    expect_shown("postgres://", "postgres://");
}

TEST(a_password_that_libpq_would_take_for_a_host_is_refused_unseen)
{
    static const char *const wrong[] = {
        "postgresql://u:sec/ret@host/db",     "postgresql://u:sec@ret@host/db",
        "postgresql://u:sec@ret?ret@host/db", "postgresql://u:sec?ret/ret@host/db",
        "postgresql://sec:ret@host:sec/db",
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct postgres_address address;
        struct rondo_error err = {0};
        assert_int_equal(postgres_address_parse(wrong[i], &address, &err), RONDO_ERR_INVALID);
        assert_null(strstr(err.message, "ret"));
    }
}

TEST(our_parameters_are_taken_out)
{
    struct postgres_address address;
    struct rondo_error err = {0};
    const char *text = "postgresql://u:p@h/db?rondo_schema=te%73t&sslmode=require&"
                       "rondo_connections=64&connect_timeout=3";
    assert_int_equal(postgres_address_parse(text, &address, &err), 0);
    assert_string_equal(address.uri, "postgresql://u:p@h/db?sslmode=require&connect_timeout=3");
    assert_string_equal(address.schema, "test");
    assert_int_equal(address.connections, 64);
    assert_null(strstr(address.shown, ":p@"));
    postgres_address_fini(&address);
    assert_int_equal(postgres_address_parse("postgres://h", &address, &err), 0);
    assert_string_equal(address.uri, "postgres://h");
    assert_string_equal(address.schema, "rondo");
    assert_int_equal(address.connections, POSTGRES_CONNECTIONS_DEFAULT);
    postgres_address_fini(&address);
}

/** One byte more than PostgreSQL keeps of a name. */
#define A_LONG_NAME "a234567890123456789012345678901234567890123456789012345678901234"

TEST(invalid_addresses_are_refused)
{
    static const char *const wrong[] = {
        "host/db",
        "postgresql://h?rondo_schema=",
        "postgresql://h?rondo_schema=A",
        "postgresql://h?rondo_schema=1a",
        "postgresql://h?rondo_schema=pg_rondo",
        "postgresql://h?rondo_schema=a%22b",
        ("postgresql://h?rondo_schema=" A_LONG_NAME),
        "postgresql://h?rondo_connections=1",
        "postgresql://h?rondo_connections=65",
        "postgresql://h?rondo_connections=x",
        "postgresql://h?rondo_tables=x",
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct postgres_address address;
        struct rondo_error err = {0};
        assert_int_equal(postgres_address_parse(wrong[i], &address, &err), RONDO_ERR_INVALID);
        assert_true(err.message[0] != '\0');
    }
}
