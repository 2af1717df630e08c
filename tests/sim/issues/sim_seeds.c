// SPDX-License-Identifier: Apache-2.0
#include "sim_seeds.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "support/sanitizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sim_seeds(int argc, char **argv, void (*run)(uint64_t seed, void *seen, bool is_verbose),
              void *seen)
{
    int64_t first = 1;
    int64_t count = 1;
    bool is_verbose = false;
    for (int i = 1; i < argc; i++) {
        struct rondo_error err = {0};
        bool has_value = i + 1 < argc;
        int r = 0;
        if (strcmp(argv[i], "--seed") == 0 && has_value) {
            r = parse_int(argv[++i], 1, INT64_MAX / 2, &first, &err);
        } else if (strcmp(argv[i], "--count") == 0 && has_value) {
            r = parse_int(argv[++i], 1, INT64_MAX / 2, &count, &err);
        } else {
            is_verbose = true;
        }
        if (r < 0) {
            fprintf(stderr, "%s\n", err.message);
            return 2;
        }
    }
    count = HAS_SANITIZER && count >= 1000 ? count / 4 : count;
    for (int64_t i = 0; i < count; i++) {
        run((uint64_t)(first + i), seen, is_verbose);
    }
    return 0;
}

void sim_print(int64_t now_ns, const char *format, va_list arguments)
{
    printf("%8.1f  ", (double)(now_ns % (1000000 * NS_PER_S)) / 1e9);
    vprintf(format, arguments);
    printf("\n");
}

_Noreturn void sim_violation(const char *program, uint64_t seed, const char *format,
                             va_list arguments)
{
    fflush(stdout);
    fprintf(stderr, "violation: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\nto replay: %s --seed %" PRIu64 " --verbose\n", program, seed);
    exit(1);
}
