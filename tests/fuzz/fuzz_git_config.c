// SPDX-License-Identifier: Apache-2.0
/* Configurations of git: what counts as harmless stays so, and never has a word of the harmful. */
#include "fuzz.h"

#include "os/sandbox/git_config.h"

#include <string.h>

/** A path is never longer than what it was read from. */
static void take(void *context, const char *path, enum git_named kind)
{
    const size_t *size = context;
    (void)kind;
    FUZZ_CHECK(strlen(path) <= *size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    if (sandbox_git_config_is_harmless(text, size)) {
        char *both = fuzz_bytes(data, size);
        FUZZ_CHECK(memmem(text, size, "\n\tfsmonitor", 11) == NULL);
        FUZZ_CHECK(memmem(text, size, "\n[include]\n\tpath", 16) == NULL);
        FUZZ_CHECK(sandbox_git_config_is_harmless(both, size));
        free(both);
    }
    sandbox_git_config_paths(text, size, take, &size);
    free(text);
    return 0;
}
