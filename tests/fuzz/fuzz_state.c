// SPDX-License-Identifier: Apache-2.0
/* The state of a run as a checkpoint stores it: decode(encode(decode(x))) is decode(x). */
#include "fuzz.h"

#include "journal/state.h"

#include <string.h>

static void check_round_trip(const struct run_state *state)
{
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    auto_buf struct buf conditions = {0};
    struct run_state again;
    FUZZ_CHECK(state->condition_count <= LIMIT_CONDITIONS);
    FUZZ_CHECK(run_conditions_met(state) <= state->condition_count);
    run_state_encode(state, &first);
    FUZZ_CHECK(run_state_decode(first.data, first.len, &again, NULL) == 0);
    run_state_encode(&again, &second);
    FUZZ_CHECK(strcmp(buf_string(&first), buf_string(&second)) == 0);
    run_conditions_encode(state, &conditions);
    FUZZ_CHECK(fuzz_is_json(conditions.data, conditions.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *json = fuzz_bytes(data, size);
    struct run_state state;
    struct rondo_error err = {0};
    int r = run_state_decode(json, size, &state, &err);
    if (r == 0) {
        check_round_trip(&state);
    } else {
        FUZZ_CHECK(r == RONDO_ERR_CORRUPT && err.code == r && err.message[0] != '\0');
    }
    free(json);
    return 0;
}
