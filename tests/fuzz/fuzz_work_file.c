// SPDX-License-Identifier: Apache-2.0
/*
 * The file of `rondo serve --work`. What is accepted gives every repository values in their ranges,
 * one worker, and absolute paths; what is refused says why.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "cli/commands/work/file.h"

#include <string.h>

static void check_values(const struct queue_values *values)
{
    const struct work_values *work = &values->work;
    FUZZ_CHECK(values->repository != NULL);
    FUZZ_CHECK(
        (work->role_file != NULL) + (work->coding_agent != NULL) + (values->command != NULL) == 1);
    FUZZ_CHECK(values->command == NULL || values->command[0] != NULL);
    FUZZ_CHECK(work->role_file == NULL || work->role_file[0] == '/');
    FUZZ_CHECK(work->role.run.policy == NULL || work->role.run.policy[0] == '/');
    FUZZ_CHECK(values->labels == NULL || values->labels[0] != NULL);
    FUZZ_CHECK(values->attempts >= 1 && values->attempts <= LIMIT_WORK_ATTEMPTS);
    FUZZ_CHECK(values->most_running >= 1 && values->most_running <= LIMIT_WORK_JOBS);
    FUZZ_CHECK(values->attempt_time_ns > 0 && values->poll_ns > 0);
    FUZZ_CHECK(!values->is_once && !values->is_dry_run && values->issue == 0);
    FUZZ_CHECK(work->role.run.store == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct work_file *file = NULL;
    struct rondo_error err = {0};
    int r = work_file_parse("work.yaml", "/etc/rondo", text, size, &file, &err);
    FUZZ_CHECK(r == 0 || err.message[0] != '\0');
    for (size_t i = 0; r == 0 && i < work_file_count(file); i++) {
        struct queue_values values;
        struct option_set set;
        FUZZ_CHECK(work_file_values(file, i, &values, &set, &err) == 0);
        check_values(&values);
        queue_values_fini(&values, &set);
    }
    if (r == 0) {
        FUZZ_CHECK(work_file_count(file) >= 1 && work_file_count(file) <= LIMIT_WORK_QUEUES);
        work_file_free(file);
    }
    free(text);
    return 0;
}
