// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a fuzz target over files and folders given as arguments: the seeds as a test, or one input
 * that a fuzzer has found. Needs no fuzzer and no special compiler. One thread.
 */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>

/** Larger files are no seeds. */
#define INPUT_BYTES (8UL * 1024 * 1024)

static size_t run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    uint8_t *data = malloc(INPUT_BYTES);
    FUZZ_CHECK(data != NULL);
    size_t size = fread(data, 1, INPUT_BYTES, file);
    fclose(file);
    fprintf(stderr, "%s: %zu bytes\n", path, size);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static size_t run_path(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return run_file(path);
    }
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char inner[4096];
        int len = snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && len > 0 && (size_t)len < sizeof(inner)) {
            count += run_file(inner);
        }
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        count += run_path(argv[i]);
    }
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    printf("%zu inputs\n", count);
    return count > 0 ? 0 : 1; /* A target without seeds tests nothing. */
}
