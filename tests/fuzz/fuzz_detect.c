// SPDX-License-Identifier: Apache-2.0
/*
 * Detection of verifiers over a generated project: one byte picks the file, the rest is its
 * content. A command is found or a message says how to give one. The folder is made once for each
 * process and lies where temporary files go.
 */
#include "fuzz.h"

#include "loop/detect.h"

#include <string.h>
#include <unistd.h>

static const char *const names[] = {
    "Makefile", "package.json", "pyproject.toml", "Rakefile", "composer.json", "mix.exs",
};
#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

static char folder[64];

static void remove_folder(void)
{
    rmdir(folder);
}

static void make_folder(void)
{
    if (folder[0] == '\0') {
        snprintf(folder, sizeof(folder), "/tmp/rondo-fuzz-XXXXXX");
        FUZZ_CHECK(mkdtemp(folder) != NULL);
        atexit(remove_folder);
    }
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file != NULL);
    FUZZ_CHECK(fwrite(data, 1, size, file) == size);
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const conditions[] = {"all_tests_pass", "build_succeeds", "linting_clean",
                                             "security_scan_clean", "own"};
    if (size == 0) {
        return 0;
    }
    make_folder();
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, names[data[0] % NAME_COUNT]);
    write_file(path, data + 1, size - 1);
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        struct detect_result result = {0};
        struct rondo_error err = {0};
        int r = detect_command(folder, conditions[i], &result, &err);
        FUZZ_CHECK(r <= 0 && (r == 0) == (result.command != NULL));
        FUZZ_CHECK(r == 0 ? result.origin != NULL : err.message[0] != '\0');
    }
    unlink(path);
    return 0;
}
