// SPDX-License-Identifier: Apache-2.0
/*
 * Regular expressions: the first line is one, the rest a text. Any search ends within its limits,
 * and searching and replacing agree.
 */
#include "fuzz.h"

#include "base/error.h"
#include "base/text/pattern.h"

#include <string.h>

static void check(const struct pattern *pattern, const char *text, size_t len)
{
    struct buf same = {0};
    struct buf cut = {0};
    enum pattern_outcome found = pattern_search(pattern, text, len);
    enum pattern_outcome replaced = pattern_replace(pattern, text, len, "", &cut);
    FUZZ_CHECK(found == replaced || replaced == PATTERN_UNDECIDED);
    FUZZ_CHECK(cut.len <= len);
    if (found == PATTERN_ABSENT) {
        FUZZ_CHECK(pattern_replace(pattern, text, len, "x", &same) == PATTERN_ABSENT);
        FUZZ_CHECK(same.len == len && memcmp(buf_string(&same), text, len) == 0);
    }
    buf_fini(&same);
    buf_fini(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = fuzz_bytes(data, size);
    char *line_end = memchr(bytes, '\n', size);
    size_t len = line_end == NULL ? size : (size_t)(line_end - bytes);
    struct pattern *pattern = NULL;
    struct rondo_error err = {0};
    if (pattern_compile(bytes, len, &pattern, &err) == 0) {
        size_t from = line_end == NULL ? size : len + 1;
        check(pattern, bytes + from, size - from);
    } else {
        FUZZ_CHECK(err.message[0] != '\0');
    }
    pattern_free(pattern);
    free(bytes);
    return 0;
}
