// SPDX-License-Identifier: Apache-2.0
/* The servers that tests of PostgreSQL use. */
#include "support/postgres.h"
#include "support/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Start servers, or skip the test. */
static struct postgres *begin(const struct postgres_options *options)
{
    struct postgres *postgres = postgres_new(options);
    if (postgres == NULL) {
        skip();
    }
    return postgres;
}

static void assert_answer(struct postgres *postgres, const char *command, const char *answer)
{
    assert_string_equal(postgres_command(postgres, "%s", command), answer);
}

TEST(a_server_answers_and_nothing_of_it_is_left)
{
    struct postgres *postgres = begin(NULL);
    char folder[128];
    const char *at = strstr(postgres_address(postgres), "host=");
    assert_non_null(at);
    snprintf(folder, sizeof(folder), "%.*s", (int)strcspn(at + 5, "&"), at + 5);
    pid_t pid = (pid_t)strtol(postgres_command(postgres, "pid a"), NULL, 10);
    assert_true(pid > 1);
    assert_answer(postgres, "sql a SELECT 1, 2", "1|2");
    assert_answer(postgres, "sql a SHOW fsync", "on");
    assert_int_equal(access(folder, F_OK), 0);
    postgres_free(postgres);
    assert_int_not_equal(access(folder, F_OK), 0);
    assert_int_not_equal(kill(pid, 0), 0);
}

TEST(what_was_committed_is_there_after_a_kill)
{
    struct postgres *postgres = begin(NULL);
    assert_answer(postgres, "sql a CREATE TABLE t AS SELECT 7 AS x", "");
    assert_answer(postgres, "kill a", "");
    assert_answer(postgres, "pid a", "0");
    assert_answer(postgres, "start a", "");
    assert_answer(postgres, "sql a SELECT x FROM t", "7");
    postgres_free(postgres);
}

TEST(a_synchronous_standby_has_what_the_primary_has_committed)
{
    const struct postgres_options options = {.has_tcp = true, .settings = {"work_mem='5MB'"}};
    struct postgres *postgres = begin(&options);
    assert_non_null(strstr(postgres_command(postgres, "standby b a sync"), "postgresql://"));
    assert_answer(postgres, "sql b SELECT pg_is_in_recovery()", "t");
    assert_answer(postgres, "sql b SHOW work_mem", "5MB");
    assert_answer(postgres, "sql a CREATE TABLE t AS SELECT 7 AS x", "");
    assert_answer(postgres, "kill a", "");
    assert_answer(postgres, "promote b", "");
    assert_answer(postgres, "sql b INSERT INTO t VALUES (8)", "");
    assert_answer(postgres, "sql b SELECT x FROM t ORDER BY x", "7;8");
    assert_non_null(strstr(postgres_command(postgres, "tcp b"), "@127.0.0.1:"));
    postgres_free(postgres);
}
