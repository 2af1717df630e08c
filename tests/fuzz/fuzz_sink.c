// SPDX-License-Identifier: Apache-2.0
/* A sink as somebody may put it: what is taken is whole, stays the same, and shows no secret. */
#include "fuzz.h"

#include "alert/sink_read.h"
#include "base/json/json.h"

#include <json-c/json.h>
#include <string.h>

/** What is shown does not depend on the secret. */
static void check_shown(const struct sink *sink)
{
    auto_buf struct buf shown = {0};
    auto_buf struct buf without = {0};
    struct sink bare = *sink;
    bare.secret = NULL;
    sink_show(sink, &shown);
    sink_show(&bare, &without);
    FUZZ_CHECK(fuzz_is_json(shown.data, shown.len));
    FUZZ_CHECK(strcmp(buf_string(&shown), buf_string(&without)) == 0);
}

static void check_sink(const struct sink *sink)
{
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    struct sink again = {0};
    struct rondo_error err = {0};
    FUZZ_CHECK(strlen(sink->name) <= SINK_NAME_LEN);
    FUZZ_CHECK((sink->url != NULL) == (sink_kind_target(sink->kind) == SINK_HAS_URL));
    FUZZ_CHECK((sink->command != NULL) == (sink_kind_target(sink->kind) == SINK_HAS_COMMAND));
    check_shown(sink);
    sink_encode(sink, &first);
    FUZZ_CHECK(sink_decode(first.data, first.len, &again, &err) == 0);
    sink_encode(&again, &second);
    FUZZ_CHECK(strcmp(buf_string(&first), buf_string(&second)) == 0);
    sink_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *json = fuzz_bytes(data, size);
    auto_json struct json_object *object = NULL;
    struct sink sink = {0};
    struct rondo_error err = {0};
    if (json_parse(json, size, &object, NULL) == 0) {
        if (sink_parse(object, false, &sink, &err) == 0) {
            check_sink(&sink);
            sink_fini(&sink);
        } else {
            FUZZ_CHECK(err.message[0] != '\0');
        }
    }
    free(json);
    return 0;
}
