// SPDX-License-Identifier: Apache-2.0
/* The options of a run as its first event stores them: what decodes is valid and round-trips. */
#include "fuzz.h"

#include "loop/spec.h"

#include <string.h>

static void check_round_trip(const struct loop_spec *spec)
{
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    struct loop_spec again;
    struct rondo_error err = {0};
    FUZZ_CHECK(loop_spec_check(spec, &err) == 0);
    FUZZ_CHECK(spec->condition_count <= LIMIT_CONDITIONS);
    loop_spec_encode(spec, &first);
    FUZZ_CHECK(fuzz_is_json(first.data, first.len));
    FUZZ_CHECK(loop_spec_decode(first.data, first.len, &again, &err) == 0);
    loop_spec_encode(&again, &second);
    loop_spec_fini(&again);
    FUZZ_CHECK(strcmp(buf_string(&first), buf_string(&second)) == 0);
    struct loop_spec copy = loop_spec_dup(spec);
    loop_spec_fini(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *json = fuzz_bytes(data, size);
    struct loop_spec spec;
    struct rondo_error err = {0};
    if (loop_spec_decode(json, size, &spec, &err) == 0) {
        check_round_trip(&spec);
        loop_spec_fini(&spec);
    } else {
        FUZZ_CHECK(err.message[0] != '\0');
    }
    free(json);
    return 0;
}
