// SPDX-License-Identifier: Apache-2.0
/* Canonical paths, commands and URLs: canonical ones stay as they are. */
#include "../fuzz.h"

#include "base/buf.h"
#include "tool/canonical.h"

#include <string.h>

static void check_path(const char *text)
{
    struct buf once = {0};
    struct buf twice = {0};
    canonical_path("/nonexistent/base", "/nonexistent/base", text, &once);
    canonical_path("/nonexistent/base", "/nonexistent/base", buf_string(&once), &twice);
    FUZZ_CHECK(strcmp(buf_string(&once), buf_string(&twice)) == 0);
    FUZZ_CHECK(strlen(text) > 4000 || strstr(buf_string(&once), "//") == NULL);
    FUZZ_CHECK(strlen(text) > 4000 || strstr(buf_string(&once), "/../") == NULL);
    buf_fini(&once);
    buf_fini(&twice);
}

static void check_url(const char *text)
{
    struct buf url = {0};
    struct buf path = {0};
    canonical_url(text, &url);
    canonical_url_path(text, &path);
    FUZZ_CHECK(buf_string(&path)[0] == '/');
    size_t len = strcspn(buf_string(&path), "?");
    FUZZ_CHECK(memmem(buf_string(&path), len, "/../", 4) == NULL);
    buf_fini(&url);
    buf_fini(&path);
}

static void check_command(const char *text, bool is_script)
{
    struct canonical_commands commands;
    canonical_command(text, "/nonexistent", is_script, &commands);
    FUZZ_CHECK(commands.count >= 1 && commands.count <= CANONICAL_FORMS_MAX);
    canonical_commands_fini(&commands);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    check_path(text);
    check_url(text);
    check_command(text, false);
    check_command(text, true);
    free(text);
    return 0;
}
