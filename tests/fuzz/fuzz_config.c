// SPDX-License-Identifier: Apache-2.0
/*
 * Configuration files, over a table with one row of every kind. Whatever a file says, values stay
 * in the range of their row, and what the command line gave stays as it is.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "cli/framework/config.h"

#include <string.h>

struct values {
    int64_t flag;
    int64_t number;
    int64_t duration_ns;
    int64_t cost_micro;
    int64_t choice;
    int64_t given;
    char *text;
    char *only;
    char **list;
};

static const struct option_choice choices[] = {{"strict", 1}, {"best-effort", 2}, {0}};

static const struct option_row rows[] = {
    {.name = "quiet", .kind = OPTION_FLAG, .offset = offsetof(struct values, flag)},
    {.name = "max-iterations",
     .kind = OPTION_INT,
     .offset = offsetof(struct values, number),
     .low = 1,
     .high = 1000},
    {.name = "delay", .kind = OPTION_DURATION, .offset = offsetof(struct values, duration_ns)},
    {.name = "max-cost", .kind = OPTION_MONEY, .offset = offsetof(struct values, cost_micro)},
    {.name = "durability",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct values, choice),
     .choices = choices},
    {.name = "max-tokens",
     .kind = OPTION_INT,
     .offset = offsetof(struct values, given),
     .high = INT64_MAX},
    {.name = "agent", .kind = OPTION_TEXT, .offset = offsetof(struct values, text)},
    {.name = "config",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct values, only),
     .is_only_arguments = true},
    {.name = "until", .kind = OPTION_LIST, .offset = offsetof(struct values, list)},
    {0},
};

static void check_values(const struct values *values)
{
    FUZZ_CHECK(values->flag == 0 || values->flag == 1);
    FUZZ_CHECK(values->number >= 1 && values->number <= 1000);
    FUZZ_CHECK(values->duration_ns >= 0 && values->duration_ns <= LIMIT_DURATION_NS);
    FUZZ_CHECK(values->cost_micro >= 0);
    FUZZ_CHECK(values->choice == 1 || values->choice == 2);
    FUZZ_CHECK(values->given == 42);
    FUZZ_CHECK(values->only == NULL);
    size_t count = 0;
    while (values->list != NULL && values->list[count] != NULL) {
        count++;
    }
    FUZZ_CHECK(count <= OPTION_LIST_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct values values = {.number = 10, .choice = 1};
    struct option_set set = {.rows = rows, .values = &values};
    struct rondo_error err = {0};
    int given = option_find(rows, "max-tokens");
    FUZZ_CHECK(given >= 0 && option_set_text(&set, (size_t)given, "42", &err) == 0);
    int r = config_parse(text, size, &set, &err);
    FUZZ_CHECK(r == 0 || r == RONDO_ERR_INVALID || r == RONDO_ERR_LIMIT);
    FUZZ_CHECK(r == 0 || err.message[0] != '\0');
    check_values(&values);
    option_set_fini(&set);
    free(text);
    return 0;
}
