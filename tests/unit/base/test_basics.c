// SPDX-License-Identifier: Apache-2.0
/* Ids, random numbers, cancel tokens, times, errors, statuses. */
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/random.h"
#include "base/status.h"
#include "support/test.h"

#include <errno.h>
#include <string.h>

TEST(ids_are_uuids_of_version_7_and_sort_by_time)
{
    struct random random = random_seeded(1);
    char earlier[ID_SIZE];
    char later[ID_SIZE];
    id_new(INT64_C(1700000000000) * NS_PER_MS, &random, earlier);
    id_new(INT64_C(1700000000001) * NS_PER_MS, &random, later);
    assert_true(id_is_valid(earlier) && id_is_valid(later));
    assert_true(strcmp(earlier, later) < 0);
    assert_int_equal(earlier[14], '7');
    assert_non_null(strchr("89ab", earlier[19]));
    assert_memory_equal(earlier, "018bcfe5-6800", 13);
}

/** The examples of RFC 9562, appendix A.4, and of the space of URLs. */
TEST(a_name_always_has_the_same_id)
{
    char id[ID_SIZE];
    id_from_name("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.example.com", 15, id);
    assert_string_equal(id, "2ed6657d-e927-568b-95e1-2665a8aea6a2");
    id_from_name("6ba7b811-9dad-11d1-80b4-00c04fd430c8", "urn:relaytrace:request:v1", 25, id);
    assert_string_equal(id, "c60e442f-b463-5748-9819-3614d2cd0976");
}

TEST(what_is_no_id_is_noticed)
{
    assert_false(id_is_valid(""));
    assert_false(id_is_valid("018bcfe5-6800-7000-8000-00000000000"));
    assert_false(id_is_valid("018bcfe5-6800-7000-8000-0000000000000"));
    assert_false(id_is_valid("018BCFE5-6800-7000-8000-000000000000"));
    assert_false(id_is_valid("018bcfe5x6800-7000-8000-000000000000"));
    assert_true(id_is_valid("018bcfe5-6800-7000-8000-000000000000"));
}

TEST(a_seed_always_gives_the_same_numbers)
{
    struct random one = random_seeded(42);
    struct random two = random_seeded(42);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(random_u64(&one), random_u64(&two));
        assert_true(random_below(&one, 7) < 7);
        random_below(&two, 7);
    }
}

TEST(a_cancel_token_only_rises)
{
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    assert_false(cancel_is_set(&cancel));
    assert_false(cancel_wait(&cancel, 0));
    cancel_set(&cancel, CANCEL_NOW);
    cancel_set(&cancel, CANCEL_GRACEFUL);
    assert_int_equal(cancel_level(&cancel), CANCEL_NOW);
    assert_true(cancel_wait(&cancel, INT64_MAX / 2));
    assert_int_equal(cancel_level(NULL), CANCEL_NONE);
    cancel_fini(&cancel);
    cancel_fini(&cancel);
}

TEST(times_are_shown_in_utc)
{
    char text[CLOCK_UTC_SIZE];
    clock_format_utc(INT64_C(1795233600123456789), text);
    assert_string_equal(text, "2026-11-21T04:00:00.123Z");
    clock_format_utc(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
}

TEST(errors_keep_their_code_and_grow_in_front)
{
    struct rondo_error err;
    assert_int_equal(error_set(&err, RONDO_ERR_IO, "disk %d", 3), RONDO_ERR_IO);
    error_prefix(&err, "while opening");
    assert_string_equal(err.message, "while opening: disk 3");
    assert_int_equal(err.code, RONDO_ERR_IO);
    assert_int_equal(error_set_errno(&err, RONDO_ERR_SYSTEM, ENOSPC, "write"), RONDO_ERR_FULL);
    assert_int_equal(err.os_errno, ENOSPC);
    assert_string_equal(err.message, "write: No space left on device");
    assert_int_equal(error_set(NULL, RONDO_ERR_IO, "x"), RONDO_ERR_IO);
    error_prefix(NULL, "x");
}

TEST(long_errors_are_cut)
{
    struct rondo_error err;
    char text[2 * RONDO_ERROR_MESSAGE_SIZE];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    error_set(&err, RONDO_ERR_IO, "%s", text);
    assert_int_equal(strlen(err.message), RONDO_ERROR_MESSAGE_SIZE - 1);
    error_prefix(&err, "%s", text);
    assert_int_equal(strlen(err.message), RONDO_ERROR_MESSAGE_SIZE - 1);
}

TEST(every_status_has_a_name_of_its_own_and_only_completed_exits_with_0)
{
    for (int i = 0; i < RONDO_STATUS_COUNT; i++) {
        enum rondo_status status = RONDO_STATUS_COUNT;
        assert_true(status_from_name(rondo_status_name((enum rondo_status)i), &status));
        assert_int_equal(status, i);
        assert_int_equal(rondo_status_exit_code((enum rondo_status)i) == 0, i == RONDO_COMPLETED);
        assert_true(strlen(status_meaning((enum rondo_status)i)) > 0);
    }
    assert_string_equal(rondo_status_name((enum rondo_status)99), "unknown");
}

TEST(every_reason_has_a_name_of_its_own)
{
    for (int i = 0; i < RONDO_REASON_COUNT; i++) {
        enum rondo_condition_reason reason = RONDO_REASON_COUNT;
        const char *name = rondo_condition_reason_name((enum rondo_condition_reason)i);
        assert_true(condition_reason_from_name(name, &reason));
        assert_int_equal(reason, i);
    }
}
