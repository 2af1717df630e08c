// SPDX-License-Identifier: Apache-2.0
/* Scripts of turns: any bytes are a script or an error, and every turn has a place. */
#include "../fuzz.h"

#include "model/script.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct model_script *script = NULL;
    struct rondo_error err = {0};
    if (script_parse("s", text, size, &script, &err) < 0) {
        FUZZ_CHECK(err.message[0] != '\0' && script == NULL);
    } else {
        for (size_t i = 0; i < script->count; i++) {
            const struct script_turn *turn = &script->turns[i];
            FUZZ_CHECK(turn->first > 0 && turn->first <= turn->last);
            FUZZ_CHECK(script_find(script, turn->first) >= turn);
        }
        script_free(script);
    }
    free(text);
    return 0;
}
