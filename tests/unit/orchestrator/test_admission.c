// SPDX-License-Identifier: Apache-2.0
/* How many loops there may be, from numbers. */
#include "base/limits.h"
#include "orchestrator/admission.h"
#include "support/test.h"

#include <sys/resource.h>

static const struct admission_room endless = {-1, -1, -1};

TEST(what_is_asked_for_is_what_there_may_be)
{
    struct admission admission = admission_decide(7, 0, &endless);
    assert_int_equal(admission.max_loops, 7);
    assert_string_equal(admission.limited_by, "option");
}

TEST(without_any_limit_the_process_has_one)
{
    struct admission admission = admission_decide(0, 0, &endless);
    assert_int_equal(admission.max_loops, LIMIT_LOOPS_PER_PROCESS);
    assert_string_equal(admission.limited_by, "process");
    assert_int_equal(admission_decide(LIMIT_LOOPS_PER_PROCESS + 1UL, 0, &endless).max_loops,
                     LIMIT_LOOPS_PER_PROCESS);
}

TEST(descriptors_limit_all_loops_together)
{
    struct admission_room room = endless;
    room.descriptors = ADMISSION_SPARE_DESCRIPTORS + 10 * ADMISSION_LOOP_DESCRIPTORS;
    struct admission admission = admission_decide(100, 4, &room);
    assert_int_equal(admission.max_loops, 10);
    assert_string_equal(admission.limited_by, "descriptors");
}

TEST(free_memory_and_tasks_are_for_further_loops)
{
    struct admission_room room = endless;
    room.free_bytes = ADMISSION_SPARE_BYTES + 3 * ADMISSION_LOOP_BYTES;
    struct admission admission = admission_decide(0, 4, &room);
    assert_int_equal(admission.max_loops, 7);
    assert_string_equal(admission.limited_by, "memory");
    room = endless;
    room.free_tasks = ADMISSION_SPARE_TASKS + 2 * ADMISSION_LOOP_TASKS;
    admission = admission_decide(0, 4, &room);
    assert_int_equal(admission.max_loops, 6);
    assert_string_equal(admission.limited_by, "threads");
}

TEST(one_loop_is_always_admitted)
{
    struct admission_room room = {0, 0, 0};
    assert_int_equal(admission_decide(5, 0, &room).max_loops, 1);
}

TEST(several_orchestrators_share_what_there_is)
{
    struct admission_room room = {.descriptors = 1200, .free_bytes = -1, .free_tasks = 900};
    struct admission_room share = admission_share(room, 3);
    assert_int_equal(share.descriptors, 400);
    assert_int_equal(share.free_bytes, -1);
    assert_int_equal(share.free_tasks, 300);
    assert_int_equal(admission_share(room, 0).descriptors, 1200);
}

TEST(numbers_of_the_kernel_are_read)
{
    static const char text[] = "MemTotal:  100 kB\nMemAvailable:       42 kB\n";
    assert_int_equal(admission_meminfo(text, "MemAvailable"), 42 * 1024);
    assert_int_equal(admission_meminfo(text, "MemFree"), -1);
    assert_int_equal(admission_meminfo("MemAvailable: 99999999999999999999 kB", "MemAvailable"),
                     -1);
    assert_int_equal(admission_group_value("max\n"), -1);
    assert_int_equal(admission_group_value("9223372036854771712\n"), -1);
    assert_int_equal(admission_group_value("1048576\n"), 1048576);
    assert_int_equal(admission_group_value(""), -1);
}

TEST(descriptors_are_raised_to_what_is_allowed)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    struct rlimit low = {.rlim_cur = limit.rlim_max < 256 ? limit.rlim_max : 256,
                         .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);

    admission_raise_descriptors();

    getrlimit(RLIMIT_NOFILE, &low);
    assert_int_equal(low.rlim_cur, low.rlim_max);
    assert_true(admission_look().descriptors != 256);
}
