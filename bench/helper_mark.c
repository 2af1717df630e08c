// SPDX-License-Identifier: Apache-2.0
/*
 * Helper: a worker that notes when it began (CLOCK_MONOTONIC, us) and that it is done.
 *
 *   bench_mark FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    FILE *file = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (file == NULL) {
        return 2;
    }
    fprintf(file, "%lld.%03ld\n", (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000,
            now.tv_nsec % 1000);
    const char *result_path = getenv("RONDO_RESULT_FILE");
    FILE *result = result_path == NULL ? NULL : fopen(result_path, "w");
    if (result != NULL) {
        fputs("{\"finish\":{\"status\":\"completed\"}}\n", result);
        fclose(result);
    }
    return fclose(file) == 0 ? 0 : 2;
}
