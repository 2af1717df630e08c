// SPDX-License-Identifier: Apache-2.0
/* A set of policies: what parsing one takes, and the memory that it keeps. */
#include "decisions.h"

#include "base/text/utf8.h"
#include "measure.h"

#include <stdlib.h>
#include <string.h>

/** The least that reading a text takes: seeing that it is one. */
static double check_us(const char *text, size_t len)
{
    size_t at = 0;
    double began = now_us();
    while (at < len) {
        size_t step = utf8_sequence_len(text + at, len - at);
        if (step == 0) {
            bench_die("not UTF-8");
        }
        at += step;
    }
    return now_us() - began;
}

static double parse_us(const char *text, size_t *ret_memory)
{
    double began = now_us();
    struct cedar_policies *policies = decisions_parse(text);
    double duration = now_us() - began;
    *ret_memory = cedar_policies_memory(policies);
    cedar_policies_unref(policies);
    return duration;
}

static void measure_count(struct bench *bench, size_t count, const char *parse_name,
                          const char *memory_name)
{
    char *text = decisions_text(count);
    size_t len = strlen(text);
    struct samples parse = {0};
    struct samples check = {0};
    struct samples memory = {0};
    struct samples bytes = {0};
    for (size_t round = 0; round < bench_rounds(bench, 20000 / count + 15); round++) {
        size_t taken = 0;
        samples_add(&parse, parse_us(text, &taken) / (double)count);
        samples_add(&check, check_us(text, len) / (double)count);
        samples_add(&memory, (double)taken / (double)count);
        samples_add(&bytes, (double)len / (double)count);
    }
    bench_row(bench,
              &(struct report_row){.name = parse_name,
                                   .floor_name = "checking that its text is UTF-8",
                                   .unit = "us"},
              &parse, &check);
    bench_row(bench,
              &(struct report_row){.name = memory_name, .floor_name = "its text", .unit = "bytes"},
              &memory, &bytes);
    free(text);
}

void figure_policies(struct bench *bench)
{
    measure_count(bench, 1000, "parse a policy, one of 1,000", "memory of a policy, one of 1,000");
    measure_count(bench, 10000, "parse a policy, one of 10,000",
                  "memory of a policy, one of 10,000");
}
