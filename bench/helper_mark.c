// SPDX-License-Identifier: Apache-2.0
/* Helper: a worker that notes when it began (CLOCK_MONOTONIC, us). bench_mark FILE */
#include <stdio.h>
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
    return fclose(file) == 0 ? 0 : 2;
}
