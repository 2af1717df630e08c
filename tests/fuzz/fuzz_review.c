// SPDX-License-Identifier: Apache-2.0
/* What a reviewer says: only the end of it, with the code, is a verdict; findings have a limit. */
#include "fuzz.h"

#include "base/auto.h"
#include "base/limits.h"
#include "work/review.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    auto_buf struct buf why = {0};
    auto_buf struct buf other = {0};
    enum review_verdict verdict = review_read(text, "c0de", &why);
    FUZZ_CHECK(why.len <= (size_t)LIMIT_WORK_OUTPUT_BYTES);
    FUZZ_CHECK(verdict == REVIEW_NONE || strstr(text, "review") != NULL ||
               strstr(text, "\\u") != NULL);
    FUZZ_CHECK(verdict != REVIEW_NONE || why.len > 0);
    FUZZ_CHECK(review_read(text, "\x01", &other) == REVIEW_NONE || strstr(text, "\\u") != NULL ||
               strchr(text, '\x01') != NULL);
    free(text);
    return 0;
}
