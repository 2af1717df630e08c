// SPDX-License-Identifier: Apache-2.0
/* Regular expressions of role files: a verdict, with a place inside of the text. */
#include "fuzz.h"

#include "role/pattern.h"
#include "role/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    size_t offset = 0;
    uint32_t steps_left = 100000; /* so that an input takes no second */
    const char *problem = pattern_problem(text, size, &steps_left, &offset);
    FUZZ_CHECK(problem == NULL || problem[0] != '\0');
    FUZZ_CHECK(offset <= size);
    free(text);
    return 0;
}
